"""What compiled paths of maps around other maps are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._array import first_overflow
from ._base import FeatureMap, Native


def writer(map: FeatureMap, params: Any, dtype: Any) -> Native:
    """The compiled path of a map inside that of another; where there is none, a copy of what ``_apply`` returns."""
    native = map._native(params, dtype)
    if native is not None:
        return native

    def write(X: Any, out: NDArray[Any]) -> int | None:
        with np.errstate(over="ignore", invalid="ignore"):
            out[...] = map._apply(params, X)
        return first_overflow(out)

    return write


def earliest(*reports: int | None) -> int | None:
    """The first row that one of several compiled paths has reported, if any."""
    return min((row for row in reports if row is not None), default=None)
