"""Products of rows with few columns; the rows are read where they stand, by their numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._arrays import checked, readable_columns, two_dimensional
from ._library import kernel


def few_columns(Z: NDArray[Any], rows: NDArray[np.int64], columns: NDArray[Any], out: NDArray[Any]) -> None:
    """Write the products of rows with few columns.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n), float32 or float64
        The rows, which may be adjacent columns of a larger array.
    rows : ndarray of shape (n_chosen,), int64
        The numbers of the rows that are multiplied.
    columns : ndarray of shape (n_columns, n), in the type of Z
        The columns, each of them as a row.
    out : ndarray of shape (n_chosen, n_columns), in the type of Z
        Written to.
    """
    (count, _), (_, n) = two_dimensional("columns", columns), two_dimensional("Z", Z)
    kernel("few_columns", Z.dtype)(
        *chosen(Z, rows),
        checked("columns", columns, Z.dtype, (count, n)),
        count,
        checked("out", out, Z.dtype, (len(rows), count), True),
    )


def add_transposed(Z: NDArray[Any], rows: NDArray[np.int64], weights: NDArray[Any], sums: NDArray[Any]) -> None:
    """Add weights' Z to sums, row by row in their order; weights that are 0 cost nothing.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n), float32 or float64
        The rows, which may be adjacent columns of a larger array.
    rows : ndarray of shape (n_chosen,), int64
        The numbers of the rows that are added.
    weights : ndarray of shape (n_chosen, n_columns), in the type of Z
        What each row is multiplied by.
    sums : ndarray of shape (n_columns, n), in the type of Z
        Added to.
    """
    _, count = two_dimensional("weights", weights)
    kernel("few_columns_transposed", Z.dtype)(
        *chosen(Z, rows),
        checked("weights", weights, Z.dtype, (len(rows), count)),
        count,
        checked("sums", sums, Z.dtype, (count, Z.shape[1]), True),
    )


def add_curved(
    Z: NDArray[Any],
    rows: NDArray[np.int64],
    curvature: NDArray[Any],
    columns: NDArray[Any],
    offsets: NDArray[Any],
    sums: NDArray[Any],
) -> NDArray[Any]:
    """Add Z' R to sums, with R = curvature * (Z columns' + offsets); return R.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n), float32 or float64
        The rows, which may be adjacent columns of a larger array.
    rows : ndarray of shape (n_chosen,), int64
        The numbers of the rows that count.
    curvature : ndarray of shape (n_chosen, n_columns), in the type of Z
        Products are made only where it is not 0.
    columns : ndarray of shape (n_columns, n), in the type of Z
        The columns, each of them as a row.
    offsets : ndarray of shape (n_columns,), in the type of Z
        Added to the products.
    sums : ndarray of shape (n_columns, n), in the type of Z
        Added to.

    Returns
    -------
    ndarray of shape (n_chosen, n_columns)
        R.
    """
    (_, count), n = two_dimensional("curvature", curvature), Z.shape[1]
    weights = np.empty((len(rows), count), dtype=Z.dtype)
    kernel("few_columns_curved", Z.dtype)(
        *chosen(Z, rows),
        checked("curvature", curvature, Z.dtype, (len(rows), count)),
        checked("columns", columns, Z.dtype, (count, n)),
        checked("offsets", offsets, Z.dtype, (count,)),
        count,
        checked("weights", weights, Z.dtype),
        checked("sums", sums, Z.dtype, (count, n), True),
    )
    return weights


def chosen(Z: NDArray[Any], rows: NDArray[np.int64]) -> tuple[int, int, int, int, int]:
    """Return what a kernel is told of rows by their numbers: where they are, how far apart, how long, and which."""
    n_rows, n = two_dimensional("Z", Z)
    address, stride = readable_columns("Z", Z, Z.dtype)
    which = checked("rows", rows, np.int64, (rows.size,))
    if rows.size and not (0 <= rows.min() and rows.max() < n_rows):
        raise ValueError(f"rows must be from 0 to {n_rows - 1}, got {rows.min()} to {rows.max()}")
    return address, stride, n, which, len(rows)
