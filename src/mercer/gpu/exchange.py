"""Arrays of other libraries that learners accept and return."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from array_api_compat import is_cupy_array, is_torch_array

Method = TypeVar("Method", bound=Callable[..., Any])


def like(X: Any, found: Any) -> Any:
    """Return results for rows X in X's kind of array and on its device; text labels stay as they are.

    Lists and tuples of arrays are converted element by element.
    """
    if isinstance(found, list | tuple):
        return type(found)(like(X, one) for one in found)
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "fiub":
        return found
    if is_torch_array(X):
        import torch

        return torch.tensor(found, device=X.device)
    if is_cupy_array(X):
        import cupy

        with X.device:
            return cupy.asarray(found)
    return found


def in_kind_of_rows(method: Method) -> Method:
    """Make a method return the kind of array in which it receives its rows."""

    @wraps(method)
    def given_back(self: Any, X: Any, *arguments: Any, **named: Any) -> Any:
        return like(X, method(self, X, *arguments, **named))

    return given_back  # type: ignore[return-value]
