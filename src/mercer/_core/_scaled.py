"""Rows whose columns are shifted and scaled."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ._arrays import checked, two_dimensional
from ._library import kernel


def scaled(X: NDArray[Any], offset: NDArray[Any], factor: NDArray[Any], out: NDArray[Any]) -> int | None:
    """Write (x - offset) factor for every row x; the first row that is not finite, None where there is none.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns), float32 or float64
    offset, factor : ndarray of shape (n_columns,), of the type of X
    out : ndarray of the shape and type of X, written to
    """
    rows, n = two_dimensional("X", X)
    first = kernel("scaled", X.dtype)(
        checked("X", X, X.dtype),
        rows,
        n,
        checked("offset", offset, X.dtype, (n,)),
        checked("factor", factor, X.dtype, (n,)),
        checked("out", out, X.dtype, (rows, n), True),
    )
    return None if first == rows else int(first)
