"""Arrays of other libraries that learners are given and give back."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from array_api_compat import is_cupy_array, is_torch_array

Method = TypeVar("Method", bound=Callable[..., Any])


def like(X: Any, found: Any) -> Any:
    """What was found for rows X, in the kind of array that X is and where it is; labels that are text stay as they are.

    Lists and tuples of arrays are gone through.
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
    """Let a method give back the kind of array that it is given rows in."""

    @wraps(method)
    def given_back(self: Any, X: Any, *arguments: Any, **named: Any) -> Any:
        return like(X, method(self, X, *arguments, **named))

    return given_back  # type: ignore[return-value]
