"""Products of rows with a matrix that is packed once."""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._fourier import wave_shapes
from ._library import checked, first_of, kernel, scratch, two_dimensional

COLUMNS_TOGETHER = 32
"""Columns are filled up to a multiple of so many, on any instruction set."""
SCRATCH_BYTES = 512 * 1024


class Panels(NamedTuple):
    """A matrix in the order in which products read it."""

    numbers: NDArray[Any]
    rows: int
    columns: int


_kept: dict[tuple[int, Any, bool], tuple[Any, Any, Panels]] = {}


def panels(matrix: NDArray[np.float64], dtype: Any) -> Panels:
    """A matrix packed for rows of this type."""
    (rows, columns), dtype = two_dimensional("the matrix", matrix), np.dtype(dtype)
    if rows == 0:
        raise ValueError("the matrix must have a row at least, got none")
    numbers = scratch(rows * -(-columns // COLUMNS_TOGETHER) * COLUMNS_TOGETHER, dtype)
    kernel("pack", dtype)(checked("the matrix", matrix, np.float64), rows, columns, numbers.ctypes.data)
    return Panels(numbers, rows, columns)


def kept_panels(matrix: NDArray[np.float64], dtype: Any, transposed: bool = False) -> Panels:
    """The panels of a matrix, or of its transpose, that stays as it is: kept as long as that lives, and made once.

    Packing costs as much as the product of a few dozen rows. The matrix becomes read-only, since its panels would not
    follow a change.
    """
    pack, key = kernel("pack", np.dtype(dtype)), (id(matrix), np.dtype(dtype), transposed)
    found = _kept.get(key)
    if found is None or found[0]() is not matrix or found[1] is not pack:
        matrix.flags.writeable = False
        made = panels(np.ascontiguousarray(matrix.T if transposed else matrix), dtype)
        found = _kept[key] = weakref.ref(matrix, lambda _: _kept.pop(key, None)), pack, made
    return found[2]


def product(X: NDArray[Any], matrix: Panels, out: NDArray[Any]) -> int | None:
    """Write the product of rows with a packed matrix; the bits of a row do not hang on those beside it.

    Parameters
    ----------
    X : ndarray of shape (n_rows, matrix.rows), float32 or float64
    matrix : panels in the type of X
    out : ndarray of shape (n_rows, matrix.columns), written to

    Returns
    -------
    row : the first row with a number that is not finite, or None
    """
    arguments, rows = _rows_and_panels(X, matrix)
    written = checked("out", out, X.dtype, (rows, matrix.columns), True)
    room = scratch(SCRATCH_BYTES // X.itemsize, X.dtype)
    return first_of(kernel("product", X.dtype)(*arguments, written, room.ctypes.data), rows)


def matrix_waves(
    X: NDArray[Any], matrix: Panels, offset: NDArray[Any], scale: float, out: NDArray[Any]
) -> NDArray[Any]:
    """Write the features :func:`waves` of the phases that are the products of rows with a packed matrix.

    Parameters
    ----------
    X : ndarray of shape (n_rows, matrix.rows), float32 or float64
    matrix : panels in the type of X, a column for every phase
    offset, scale, out : as for :func:`waves`

    Returns
    -------
    longest : as of :func:`waves`
    """
    arguments, rows = _rows_and_panels(X, matrix)
    period, width = wave_shapes(matrix.columns, offset, out)
    longest, room = np.empty(rows, dtype=X.dtype), scratch(SCRATCH_BYTES // X.itemsize, X.dtype)
    kernel("matrix_waves", X.dtype)(
        *arguments,
        checked("offset", offset, X.dtype, (period,)),
        period,
        width,
        scale,
        checked("out", out, X.dtype, (rows, width), True),
        longest.ctypes.data,
        room.ctypes.data,
    )
    return longest


def _rows_and_panels(X: NDArray[Any], matrix: Panels) -> tuple[tuple[int, ...], int]:
    """What kernels take of both, and the number of rows."""
    rows, _ = two_dimensional("X", X)
    address = checked("X", X, X.dtype, (rows, matrix.rows))
    return (address, rows, matrix.rows, checked("the panels", matrix.numbers, X.dtype), matrix.columns), rows
