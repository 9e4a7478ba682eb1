"""Shifting and scaling the columns of rows."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ._arrays import checked, two_dimensional
from ._library import kernel


def scaled(X: NDArray[Any], offset: NDArray[Any], factor: NDArray[Any], out: NDArray[Any]) -> int | None:
    """Write (x - offset) factor for every row x.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns), float32 or float64
        The rows.
    offset, factor : ndarray of shape (n_columns,), in the type of X
        The numbers subtracted from every row, and the factors applied next.
    out : ndarray of the shape and type of X
        The output array.

    Returns
    -------
    int or None
        The first row of X with a number that is not finite; None if there is none.
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
