"""Transforms and sketches of rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ._arrays import (
    REGISTER,
    check_blocks,
    check_power_of_two,
    checked,
    checked_columns,
    first_of,
    padded,
    scratch,
    two_dimensional,
)
from ._library import kernel


class RowParts(NamedTuple):
    """A dense matrix (no indices, no starts) or the parts of a CSR one."""

    values: NDArray[Any]
    indices: NDArray[Any] | None = None
    starts: NDArray[np.int64] | None = None
    columns: int = 0
    """The shape of a CSR matrix; a dense matrix has its own."""


def hadamard(X: NDArray[Any]) -> None:
    r"""Replace every row x of X by :math:`H x`, with H the Walsh-Hadamard matrix of Sylvester's (natural) order.

    H is not normalised: applied twice it multiplies by the width.  All instruction sets give the same bits.

    Parameters
    ----------
    X : ndarray of shape (n_rows, width)
        Overwritten.  C-contiguous, float32 or float64; the width is a power of two.
    """
    rows, width = two_dimensional("X", X)
    transform = kernel("hadamard", X.dtype)
    check_power_of_two("the width of X", width)
    transform(checked("X", X, X.dtype, written=True), rows, width)


def hadamard_sketch(
    rows: RowParts, places: NDArray[np.int32], signs: NDArray[Any], constant: float, scale: float, out: NDArray[Any]
) -> int | None:
    """Write the features of a product of complex count sketches, each under the Walsh-Hadamard transform.

    Parameters
    ----------
    rows : RowParts
        Dense or CSR rows of float32 or float64.
    places : ndarray of shape (degree, n_features + 1), int32
        The bucket of every entry, among 2 size buckets of which the real ones come first.
    signs : ndarray of the same shape, in the type of the rows
        The sign of every entry.
    constant : float
        An additional entry of every row.
    scale : float
        The factor of the features.
    out : ndarray of shape (n_rows, width), in the type of the rows
        The output array; size is the smallest power of two that is at least half the width.

    Returns
    -------
    int or None
        The first row in which a feature overflowed; None if there is none.
    """
    dtype, (degree, columns), (n_rows, width) = rows.values.dtype, signs.shape, two_dimensional("out", out)
    size = 1 << ((width + 1) // 2 - 1).bit_length()
    if places.min() < 0 or places.max() >= 2 * size:
        raise ValueError(f"places must be from 0 to {2 * size - 1}")
    addresses = row_addresses(rows, n_rows, columns - 1)
    room = scratch((4 * size + columns) * 16 // dtype.itemsize, dtype)
    finite = kernel("hadamard_sketch", dtype)(
        *addresses,
        n_rows,
        columns - 1,
        checked("places", places, np.int32, signs.shape),
        checked("signs", signs, dtype, signs.shape),
        degree,
        size,
        constant,
        scale,
        width,
        checked("out", out, dtype, (n_rows, width), True),
        room.ctypes.data,
    )
    return first_of(finite, n_rows)


class SrhtTables(NamedTuple):
    """The parameters as :func:`srht` reads them; made by :func:`srht_tables`."""

    signs: NDArray[Any]
    outputs: NDArray[np.int32]
    columns: int
    size: int
    degree: int
    n_outputs: int


def srht_tables(
    real: NDArray[Any], imaginary: NDArray[Any], outputs: NDArray[np.int32], dtype: DTypeLike
) -> SrhtTables:
    """Pack complex signs and outputs in the order in which the kernel reads them.

    Parameters
    ----------
    real, imaginary : ndarray of shape (n_blocks, degree, n_columns)
        The parts of the signs.
    outputs : ndarray of shape (degree, count), int32
        The output of its block's transform that a feature uses.
    dtype : dtype
        The type of the rows.
    """
    (blocks, degree, columns), count = real.shape, outputs.shape[1]
    size = 1 << (columns - 1).bit_length()
    check_blocks(columns, blocks, size, count)
    if outputs.min() < 0 or outputs.max() >= size:
        raise ValueError(f"outputs must be from 0 to {size - 1}")
    table = np.zeros((blocks, degree, 2, size), dtype=dtype)
    table[:, :, 0, :columns], table[:, :, 1, :columns] = real, imaginary
    # The kernel reads one register beyond the last sign, and beyond the last output of every degree.
    wide = np.zeros((degree, count + REGISTER), dtype=np.int32)
    wide[:, :count] = outputs
    return SrhtTables(padded(table, dtype), wide, columns, size, degree, count)


def srht(
    X: NDArray[Any],
    tables: SrhtTables,
    scale: float,
    out: NDArray[Any],
    constant: float = 0.0,
    scales: NDArray[Any] | None = None,
) -> int | None:
    """Write the features of a product of outputs of transforms H diag(complex signs) x.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features), float32 or float64
        The rows.
    tables : SrhtTables
        The parameters, in the type of X.
    scale : float
        The factor of the features.
    out : ndarray of shape (n_rows, width), in the type of X
        The output array; the width is 2 count or one less. It may consist of columns of a wider array.
    constant : float, default=0.0
        An additional entry of every row, unless it is 0.
    scales : ndarray of shape (n_rows,), optional
        An additional factor for every row.

    Returns
    -------
    int or None
        The first row in which a feature overflowed; None if there is none.
    """
    (rows, n), (_, width), dtype = two_dimensional("X", X), two_dimensional("out", out), X.dtype
    if n + (constant != 0.0) != tables.columns:
        raise ValueError(f"X must have {tables.columns - (constant != 0.0)} columns, got {n}")
    if tables.n_outputs != (width + 1) // 2:
        raise ValueError(f"{tables.n_outputs} outputs make {2 * tables.n_outputs} features or one less, got {width}")
    room = scratch(5 * 16 // dtype.itemsize * max(tables.size, REGISTER), dtype)
    finite = kernel("srht", dtype)(
        checked("X", X, dtype),
        rows,
        n,
        constant,
        checked("signs", tables.signs, dtype),
        tables.degree,
        tables.size,
        checked("outputs", tables.outputs, np.int32),
        tables.outputs.shape[1],
        width,
        scale,
        None if scales is None else checked("scales", scales, dtype, (rows,)),
        *checked_columns("out", out, dtype, rows),
        room.ctypes.data,
    )
    return first_of(finite, rows)


def craft(
    X: NDArray[Any], signs: NDArray[Any], outputs: NDArray[np.int32], scale: float, out: NDArray[Any]
) -> int | None:
    """Write some outputs of H diag(signs) x, times ``scale``, for rows padded to a power of two.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features), float32 or float64
        The rows.
    signs : ndarray of shape (n_features,), in the type of X
        One sign for every column.
    outputs : ndarray of shape (width,), int32
        The indices of the outputs, below the smallest power of two that is at least n_features and at least width.
    scale : float
        The factor of the features.
    out : ndarray of shape (n_rows, width), in the type of X
        The output array.

    Returns
    -------
    int or None
        The first row in which a feature overflowed; None if there is none.
    """
    (rows, n), dtype, width = two_dimensional("X", X), X.dtype, len(outputs)
    size = 1 << (max(n, width) - 1).bit_length()
    if outputs.min() < 0 or outputs.max() >= size:
        raise ValueError(f"outputs must be from 0 to {size - 1}")
    room = scratch(size, dtype)
    finite = kernel("craft", dtype)(
        checked("X", X, dtype),
        rows,
        n,
        checked("signs", signs, dtype, (n,)),
        size,
        checked("outputs", outputs, np.int32),
        width,
        scale,
        checked("out", out, dtype, (rows, width), True),
        room.ctypes.data,
    )
    return first_of(finite, rows)


def row_addresses(rows: RowParts, n_rows: int, columns: int) -> tuple[int, int, int, int]:
    """Return values, indices, the size of an index and starts; all but the first are 0 for dense rows."""
    if rows.indices is None:
        return checked("X", rows.values, rows.values.dtype, (n_rows, columns)), 0, 0, 0
    return csr_addresses(rows, n_rows, columns)


def csr_addresses(rows: RowParts, n_rows: int, columns: int) -> tuple[int, int, int, int]:
    """Return values, indices, the size of an index and starts of CSR rows whose indices are within the columns."""
    indices, starts = rows.indices, rows.starts
    if indices is None or starts is None or indices.dtype not in (np.int32, np.int64):
        raise TypeError("the indices of CSR rows must be int32 or int64")
    if len(indices) and not (indices.min() >= 0 and indices.max() < columns):
        raise ValueError(f"the indices of CSR rows must be from 0 to {columns - 1}")
    if starts[0] < 0 or starts[-1] > len(indices) or (np.diff(starts) < 0).any():
        raise ValueError(f"the starts of CSR rows must rise from 0 to at most {len(indices)}")
    values = checked("X", rows.values, rows.values.dtype, indices.shape)
    addresses = checked("indices", indices, indices.dtype), checked("starts", starts, np.int64, (n_rows + 1,))
    return values, addresses[0], indices.itemsize, addresses[1]
