"""Products of rows with few columns."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ._arrays import checked, two_dimensional
from ._library import kernel


def few_columns(Z: NDArray[Any], columns: NDArray[Any], out: NDArray[Any]) -> None:
    """Write the products of rows with few columns.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n), float32 or float64
        The rows.
    columns : ndarray of shape (n_columns, n), in the type of Z
        The columns, each of them as a row.
    out : ndarray of shape (n_rows, n_columns), in the type of Z
        Written to.
    """
    (rows, n), (count, _) = two_dimensional("Z", Z), two_dimensional("columns", columns)
    kernel("few_columns", Z.dtype)(
        checked("Z", Z, Z.dtype),
        rows,
        n,
        checked("columns", columns, Z.dtype, (count, n)),
        count,
        checked("out", out, Z.dtype, (rows, count), True),
    )


def add_transposed(Z: NDArray[Any], weights: NDArray[Any], sums: NDArray[Any]) -> None:
    """Add weights' Z to sums, row by row in their order.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n), float32 or float64
        The rows.
    weights : ndarray of shape (n_rows, n_columns), in the type of Z
        What each row is multiplied by.
    sums : ndarray of shape (n_columns, n), in the type of Z
        Added to.
    """
    (rows, n), (_, count) = two_dimensional("Z", Z), two_dimensional("weights", weights)
    kernel("few_columns_transposed", Z.dtype)(
        checked("Z", Z, Z.dtype),
        rows,
        n,
        checked("weights", weights, Z.dtype, (rows, count)),
        count,
        checked("sums", sums, Z.dtype, (count, n), True),
    )
