"""Transforms and sketches of rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._library import check_blocks, check_power_of_two, checked, first_of, kernel, two_dimensional


class RowParts(NamedTuple):
    """A dense matrix (no indices, no starts) or the parts of a CSR one."""

    values: NDArray[Any]
    indices: NDArray[Any] | None = None
    starts: NDArray[np.int64] | None = None
    columns: int = 0
    """Of a CSR matrix; a dense one has them as its shape."""


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
    rows : the parts of a dense or CSR matrix of float32 or float64
    places : ndarray of shape (degree, n_features + 1): where an entry goes among 2 size buckets, real ones first
    signs : ndarray of that shape, in the type of the rows: what it is multiplied by
    constant : one more entry of every row
    scale : what the features are multiplied by
    out : ndarray of shape (n_rows, width), written to; size is the power of two from half the width on

    Returns
    -------
    The first row of which a feature overflowed, None where none did.
    """
    dtype, (degree, columns), (n_rows, width) = rows.values.dtype, signs.shape, two_dimensional("out", out)
    size = 1 << ((width + 1) // 2 - 1).bit_length()
    if places.min() < 0 or places.max() >= 2 * size:
        raise ValueError(f"places must be from 0 to {2 * size - 1}")
    indices = starts = 0
    if rows.indices is None:
        values = checked("X", rows.values, dtype, (n_rows, columns - 1))
    else:
        values, indices = checked("X", rows.values, dtype), checked("indices", rows.indices, rows.indices.dtype)
        starts = checked("starts", rows.starts, np.int64, (n_rows + 1,))
        check_csr(rows, columns - 1)
    scratch = np.empty(4 * size, dtype=dtype)
    finite = kernel("hadamard_sketch", dtype)(
        values,
        indices,
        0 if rows.indices is None else rows.indices.itemsize,
        starts,
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
        scratch.ctypes.data,
    )
    return first_of(finite, n_rows)


def srht(
    X: NDArray[Any], signs: NDArray[Any], outputs: NDArray[np.int32], scale: float, out: NDArray[Any]
) -> int | None:
    """Write the features of a product of outputs of transforms H diag(complex signs) x.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features), float32 or float64
    signs : ndarray of shape (n_blocks, degree, 2, n_features), of the same type: real and imaginary parts
    outputs : ndarray of shape (degree, count): which output of its block's transform a feature takes
    scale : what the features are multiplied by
    out : ndarray of shape (n_rows, width), width 2 count or one less, written to

    Returns
    -------
    The first row of which a feature overflowed, None where none did.
    """
    (rows, n), (_, width) = two_dimensional("X", X), two_dimensional("out", out)
    dtype, (blocks, degree, _, _), count = X.dtype, signs.shape, outputs.shape[1]
    size = 1 << (n - 1).bit_length()
    check_blocks(n, blocks, size, count)
    if count != (width + 1) // 2:
        raise ValueError(f"{count} outputs make {2 * count} features or one less, got {width}")
    if outputs.min() < 0 or outputs.max() >= size:
        raise ValueError(f"outputs must be from 0 to {size - 1}")
    scratch = np.empty(2 * size + 4 * count, dtype=dtype)
    finite = kernel("srht", dtype)(
        checked("X", X, dtype),
        rows,
        n,
        checked("signs", signs, dtype, (blocks, degree, 2, n)),
        degree,
        size,
        checked("outputs", outputs, np.int32, (degree, count)),
        width,
        scale,
        checked("out", out, dtype, (rows, width), True),
        scratch.ctypes.data,
    )
    return first_of(finite, rows)


def check_csr(rows: RowParts, columns: int) -> None:
    """Refuse indices that would read or write elsewhere."""
    indices, starts = rows.indices, rows.starts
    if indices is None or starts is None or indices.dtype not in (np.int32, np.int64):
        raise TypeError("the indices of CSR rows must be int32 or int64")
    if len(indices) and not (indices.min() >= 0 and indices.max() < columns):
        raise ValueError(f"the indices of CSR rows must be from 0 to {columns - 1}")
    if starts[0] < 0 or starts[-1] > len(indices) or (np.diff(starts) < 0).any():
        raise ValueError(f"the starts of CSR rows must rise from 0 to at most {len(indices)}")
