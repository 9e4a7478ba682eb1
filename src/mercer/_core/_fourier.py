"""Fourier features."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ._arrays import REGISTER, check_blocks, check_power_of_two, checked, padded, scratch, two_dimensional
from ._library import kernel

SMALLEST_BLOCK = 64
"""The length of the shortest transform of :func:`structured`: a few registers of the widest instruction set."""


def waves(phases: NDArray[Any], offset: NDArray[Any], scale: float, out: NDArray[Any]) -> NDArray[Any]:
    """Write Fourier features of phases: pairs scale (cos p, sin p), and single features scale cos(p + offset).

    Parameters
    ----------
    phases : ndarray of shape (n_rows, count), float32 or float64
        The phases p.
    offset : ndarray of shape (1,) or (2 count - width,), in the type of the phases
        One offset for all single features, or one for each.
    scale : float
        The factor of the features.
    out : ndarray of shape (n_rows, width), in the type of the phases, count <= width <= 2 count
        Written to. The first width - count phases give pairs, the others single features.

    Returns
    -------
    ndarray of shape (n_rows,)
        The largest abs(p) of every row, NaN if one is NaN. Beyond 4096 in float32 and 2**22 in float64 the features of
        a row are worthless.
    """
    (rows, count), (period, width) = two_dimensional("phases", phases), wave_shapes(phases.shape[-1], offset, out)
    dtype, longest = phases.dtype, np.empty(rows, dtype=phases.dtype)
    arguments = checked("phases", phases, dtype), rows, count, checked("offset", offset, dtype, (period,)), period
    kernel("waves", dtype)(
        *arguments, width, scale, checked("out", out, dtype, (rows, width), True), longest.ctypes.data
    )
    return longest


def wave_shapes(count: int, offset: NDArray[Any], out: NDArray[Any]) -> tuple[int, int]:
    """Return the numbers of offsets and of features of ``count`` phases."""
    _, width = two_dimensional("out", out)
    if not count <= width <= 2 * count:
        raise ValueError(f"{count} phases make from {count} to {2 * count} features, got {width}")
    return 1 if len(offset) == 1 else 2 * count - width, width


def structured(
    X: NDArray[Any], signs: NDArray[Any], radii: NDArray[Any], offset: NDArray[Any], scale: float, out: NDArray[Any]
) -> NDArray[Any]:
    """Write the features :func:`waves` of phases radii * (H D3 H D2 H D1 x), block by block.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features), float32 or float64
        The rows.
    signs : ndarray of shape (n_blocks, 3, size), in the type of X
        The diagonals D1, D2 and D3; size is a power of two, at least 64 and at least n_features.
    radii : ndarray of shape (count,), in the type of X
        One for every phase, at most n_blocks size, in half turns: the lengths of the frequencies divided by pi.
    offset : ndarray of shape (1,), in the type of X
        The offset of the last feature, if the width of ``out`` is odd, in half turns.
    scale : float
        The factor of the features.
    out : ndarray of shape (n_rows, width), in the type of X
        The output array; the width is 2 count or one less.

    Returns
    -------
    ndarray of shape (n_rows,)
        The largest abs(p) of every row, as for :func:`waves`.
    """
    (rows, n), dtype, (blocks, _, size) = two_dimensional("X", X), X.dtype, signs.shape
    check_blocks(n, blocks, size, len(radii))
    if size < SMALLEST_BLOCK:
        raise ValueError(f"the size of a block must be at least {SMALLEST_BLOCK}, got {size}")
    longest, room = np.empty(rows, dtype=dtype), scratch(max(size, 16384 // dtype.itemsize), dtype)
    kernel("structured", dtype)(
        checked("X", X, dtype),
        rows,
        n,
        checked("signs", signs, dtype, (blocks, 3, size)),
        size,
        *_wave_arguments(rows, radii, offset, scale, out, dtype),
        longest.ctypes.data,
        room.ctypes.data,
    )
    return longest


class FastfoodTables(NamedTuple):
    """The parameters as :func:`fastfood` reads them; made by :func:`fastfood_tables`."""

    signs: NDArray[Any]
    orders: NDArray[np.int32]
    directions: NDArray[Any]
    blocks: int
    size: int


def fastfood_tables(
    signs: NDArray[Any], orders: NDArray[np.int32], directions: NDArray[Any], dtype: DTypeLike
) -> FastfoodTables:
    """Pack the diagonals B and G and the permutation P of every block, arrays of shape (n_blocks, size)."""
    blocks, size = signs.shape
    check_power_of_two("the size of a block", size)
    if orders.shape != signs.shape or directions.shape != signs.shape:
        raise ValueError(f"signs, orders and directions must have one shape, got {orders.shape}, {directions.shape}")
    if orders.min() < 0 or orders.max() >= size:
        raise ValueError(f"orders must be permutations of 0 to {size - 1}")
    return FastfoodTables(padded(signs, dtype), padded(orders, np.int32), padded(directions, dtype), blocks, size)


def fastfood(
    X: NDArray[Any],
    tables: FastfoodTables,
    radii: NDArray[Any],
    offset: NDArray[Any],
    scale: float,
    out: NDArray[Any],
) -> NDArray[Any]:
    """Write the features :func:`waves` of phases radii * (H G P H B x), block by block.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features), float32 or float64
        The rows.
    tables : FastfoodTables
        The parameters, in the type of X.
    radii : ndarray
        The radii, as for :func:`structured`.
    offset : ndarray
        The offset, as for :func:`structured`.
    scale : float
        The scale, as for :func:`structured`.
    out : ndarray
        The output, as for :func:`structured`.

    Returns
    -------
    ndarray of shape (n_rows,)
        The largest abs(p) of every row, as for :func:`waves`.
    """
    (rows, n), dtype = two_dimensional("X", X), X.dtype
    check_blocks(n, tables.blocks, tables.size, len(radii))
    longest, room = np.empty(rows, dtype=dtype), scratch(48 // dtype.itemsize * max(tables.size, REGISTER), dtype)
    kernel("fastfood", dtype)(
        checked("X", X, dtype),
        rows,
        n,
        checked("signs", tables.signs, dtype),
        checked("orders", tables.orders, np.int32),
        checked("directions", tables.directions, dtype),
        tables.size,
        *_wave_arguments(rows, radii, offset, scale, out, dtype),
        longest.ctypes.data,
        room.ctypes.data,
    )
    return longest


def _wave_arguments(
    rows: int, radii: NDArray[Any], offset: NDArray[Any], scale: float, out: NDArray[Any], dtype: np.dtype[Any]
) -> tuple[int, int, int, float, int]:
    """Return the other arguments of a kernel that computes its phases itself."""
    count, (_, width) = len(radii), two_dimensional("out", out)
    if count != (width + 1) // 2:
        raise ValueError(f"{count} phases make {2 * count} features or one less, got {width}")
    addresses = checked("radii", radii, dtype), checked("offset", offset, dtype, (1,))
    return *addresses, width, scale, checked("out", out, dtype, (rows, width), True)
