"""Products of features with few columns, one for every class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core

FEW = 24
"""Columns up to which rows are read at the speed of memory; BLAS is made for more."""


def is_narrow(Z: NDArray[Any], count: int) -> bool:
    return _core.AVAILABLE and count <= FEW and Z.dtype in (np.float32, np.float64)


def times(Z: NDArray[Any], columns: NDArray[Any]) -> NDArray[Any]:
    """Z times columns, each of which is given as a row."""
    if not is_narrow(Z, len(columns)):
        return Z @ columns.T
    out = np.empty((len(Z), len(columns)), dtype=Z.dtype)
    _core.few_columns(np.ascontiguousarray(Z), columns, out)
    return out


def add_to(sums: NDArray[Any], Z: NDArray[Any], weights: NDArray[Any]) -> None:
    """Add weights' Z."""
    if is_narrow(Z, len(sums)):
        _core.add_transposed(np.ascontiguousarray(Z), np.ascontiguousarray(weights), sums)
    else:
        sums += weights.T @ Z
