"""Products of rows with a matrix that is packed once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ._arrays import checked, first_of, scratch, two_dimensional
from ._fourier import wave_shapes
from ._library import kernel
from ._sketch import RowParts, row_addresses

COLUMNS_TOGETHER = 32
"""Columns are padded to a multiple of this number, on every instruction set."""
SCRATCH_BYTES = 640 * 1024


class Panels(NamedTuple):
    """A matrix in the order in which products read it."""

    numbers: NDArray[Any]
    rows: int
    columns: int


def panels(matrix: NDArray[np.float64], dtype: DTypeLike, origin: NDArray[np.float64] | None = None) -> Panels:
    """Pack a matrix, stored by rows or by columns, for rows of this type; the origin is subtracted from each column."""
    (rows, columns), dtype = two_dimensional("the matrix", matrix), np.dtype(dtype)
    if rows == 0:
        raise ValueError("the matrix must have at least one row, got none")
    by_rows = matrix.flags.c_contiguous
    address = checked("the matrix", matrix if by_rows else matrix.T, np.float64)
    origin = np.zeros(rows) if origin is None else origin
    numbers = scratch(rows * -(-columns // COLUMNS_TOGETHER) * COLUMNS_TOGETHER, dtype)
    steps = (columns, 1) if by_rows else (1, rows)
    shift = checked("the origin", origin, np.float64, (rows,))
    kernel("pack", dtype)(address, rows, columns, *steps, shift, numbers.ctypes.data)
    return Panels(numbers, rows, columns)


def product(X: NDArray[Any], matrix: Panels, out: NDArray[Any]) -> int | None:
    """Write the product of rows with a packed matrix; the bits of a row do not depend on the other rows.

    Parameters
    ----------
    X : ndarray of shape (n_rows, matrix.rows), float32 or float64
        The rows.
    matrix : Panels
        The packed matrix, in the type of X.
    out : ndarray of shape (n_rows, matrix.columns), in the type of X
        The output array.

    Returns
    -------
    int or None
        The first row with a product that is not finite; None if there is none.
    """
    rows, _ = two_dimensional("X", X)
    arguments = checked("X", X, X.dtype, (rows, matrix.rows)), rows, matrix.rows
    panels = checked("the panels", matrix.numbers, X.dtype)
    written = checked("out", out, X.dtype, (rows, matrix.columns), True)
    room = scratch(SCRATCH_BYTES // X.itemsize, X.dtype)
    return first_of(kernel("product", X.dtype)(*arguments, panels, matrix.columns, written, room.ctypes.data), rows)


def matrix_waves(X: RowParts, matrix: Panels, offset: NDArray[Any], scale: float, out: NDArray[Any]) -> NDArray[Any]:
    """Write the features :func:`waves` of the phases that are the products of rows with a packed matrix.

    Parameters
    ----------
    X : RowParts
        Dense or CSR rows of matrix.rows columns, float32 or float64.
    matrix : Panels
        The packed matrix, in the type of X, with one column per phase.
    offset : ndarray
        The offset, as for :func:`waves`.
    scale : float
        The scale, as for :func:`waves`.
    out : ndarray
        The output, as for :func:`waves`.

    Returns
    -------
    ndarray of shape (n_rows,)
        The largest abs(p) of every row, as for :func:`waves`.
    """
    dtype, (rows, _) = X.values.dtype, two_dimensional("out", out)
    period, width = wave_shapes(matrix.columns, offset, out)
    longest, room = np.empty(rows, dtype=dtype), scratch(SCRATCH_BYTES // dtype.itemsize, dtype)
    kernel("matrix_waves", dtype)(
        *row_addresses(X, rows, matrix.rows),
        rows,
        matrix.rows,
        checked("the panels", matrix.numbers, dtype),
        matrix.columns,
        checked("offset", offset, dtype, (period,)),
        period,
        width,
        scale,
        checked("out", out, dtype, (rows, width), True),
        longest.ctypes.data,
        room.ctypes.data,
    )
    return longest
