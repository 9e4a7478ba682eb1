"""Products of rows with few columns; rows are selected by their numbers and read in place.

Rows are float32, float64 or 16-bit integers, which take half the memory of float32. Factors and sums are then float32
or float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._arrays import checked, checked_columns, readable_columns, two_dimensional
from ._library import kernel


def few_columns(Z: NDArray[Any], rows: NDArray[np.int64], columns: NDArray[Any], out: NDArray[Any]) -> None:
    """Write the products of rows with few columns.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n), float32, float64 or uint16
        The rows, which may be adjacent columns of a larger array.
    rows : ndarray of shape (n_chosen,), int64
        The numbers of the rows to multiply.
    columns : ndarray of shape (n_columns, n), in the type of Z unless that is uint16
        The columns, each of them as a row.
    out : ndarray of shape (n_chosen, n_columns), in the type of the columns
        The output array.
    """
    (count, _), (_, n) = two_dimensional("columns", columns), two_dimensional("Z", Z)
    dtype = columns.dtype
    kernel(named("few_columns", Z, dtype), dtype)(
        *chosen(Z, rows),
        checked("columns", columns, dtype, (count, n)),
        count,
        checked("out", out, dtype, (len(rows), count), True),
    )


def add_transposed(Z: NDArray[Any], rows: NDArray[np.int64], weights: NDArray[Any], sums: NDArray[Any]) -> None:
    """Add weights' Z to sums, row by row in their order; weights that are 0 cost nothing.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n), float32, float64 or uint16
        The rows, which may be adjacent columns of a larger array.
    rows : ndarray of shape (n_chosen,), int64
        The numbers of the rows to add.
    weights : ndarray of shape (n_chosen, n_columns), in the type of Z unless that is uint16
        The factor of each row.
    sums : ndarray of shape (n_columns, n), in the type of the weights
        The sums, updated in place.
    """
    _, count = two_dimensional("weights", weights)
    dtype = weights.dtype
    kernel(named("few_columns_transposed", Z, dtype), dtype)(
        *chosen(Z, rows),
        checked("weights", weights, dtype, (len(rows), count)),
        count,
        checked("sums", sums, dtype, (count, Z.shape[1]), True),
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
    Z : ndarray of shape (n_rows, n), float32, float64 or uint16
        The rows, which may be adjacent columns of a larger array.
    rows : ndarray of shape (n_chosen,), int64
        The numbers of the rows to include.
    curvature : ndarray of shape (n_chosen, n_columns), in the type of Z unless that is uint16
        Products are made only where it is not 0.
    columns : ndarray of shape (n_columns, n), in the type of the curvature
        The columns, each of them as a row.
    offsets : ndarray of shape (n_columns,), in the type of the curvature
        Added to the products.
    sums : ndarray of shape (n_columns, n), in the type of the curvature
        The sums, updated in place.

    Returns
    -------
    ndarray of shape (n_chosen, n_columns)
        R.
    """
    (_, count), n, dtype = two_dimensional("curvature", curvature), Z.shape[1], curvature.dtype
    weights = np.empty((len(rows), count), dtype=dtype)
    kernel(named("few_columns_curved", Z, dtype), dtype)(
        *chosen(Z, rows),
        checked("curvature", curvature, dtype, (len(rows), count)),
        checked("columns", columns, dtype, (count, n)),
        checked("offsets", offsets, dtype, (count,)),
        count,
        checked("weights", weights, dtype),
        checked("sums", sums, dtype, (count, n), True),
    )
    return weights


def chosen(Z: NDArray[Any], rows: NDArray[np.int64]) -> tuple[int, int, int, int, int]:
    """Return the arguments that describe chosen rows to a kernel: address, stride, length, count and numbers."""
    n_rows, n = two_dimensional("Z", Z)
    address, stride = readable_columns("Z", Z, Z.dtype)
    which = checked("rows", rows, np.int64, (rows.size,))
    if rows.size and (rows.min() < 0 or rows.max() >= n_rows):
        raise ValueError(f"rows must be from 0 to {n_rows - 1}, got {rows.min()} to {rows.max()}")
    return address, stride, n, which, len(rows)


def named(name: str, Z: NDArray[Any], dtype: np.dtype[Any]) -> str:
    """Return the name of the kernel for rows of one type and numbers of another."""
    if Z.dtype == np.uint16:
        return f"fixed_{name}"
    if Z.dtype != dtype:
        raise TypeError(f"rows in {Z.dtype} are multiplied by numbers in {Z.dtype}, got {dtype}")
    return name


def to_fixed(values: NDArray[Any], units: float, out: NDArray[np.uint16]) -> None:
    """Write values times units, rounded to 16-bit integers.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n), float32 or float64
        From 0 to 65535 / units.
    units : float
        The number of integer units in 1.
    out : ndarray of shape (n_rows, n), uint16
        The output array; may be adjacent columns of a larger array.
    """
    rows, n = two_dimensional("values", values)
    address, stride = checked_columns("out", out, np.uint16, rows)
    if out.shape[1] != n:
        raise ValueError(f"out must have {n} columns, got {out.shape[1]}")
    kernel("to_fixed", values.dtype)(checked("values", values, values.dtype), rows, n, units, address, stride)
