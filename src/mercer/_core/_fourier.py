"""Fourier features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._library import check_blocks, checked, kernel, scratch, two_dimensional

SMALLEST_BLOCK = 64
"""The shortest transform that :func:`structured` does: a few registers of the widest instruction set."""


def waves(phases: NDArray[Any], offset: NDArray[Any], scale: float, out: NDArray[Any]) -> NDArray[Any]:
    """Write Fourier features of phases: scale (cos p, sin p) in pairs, scale cos(p + offset) for those without partner.

    Parameters
    ----------
    phases : ndarray of shape (n_rows, count), float32 or float64
    offset : one for all phases without a partner, or one for each
    scale : a number
    out : ndarray of shape (n_rows, width), count <= width <= 2 count
        Written to.  The first width - count phases make pairs.

    Returns
    -------
    longest : the largest abs(p) of every row, NaN where one is NaN
        Beyond 4096 in float32 and 2**22 in float64 the features of a row are worthless.
    """
    (rows, count), (_, width) = two_dimensional("phases", phases), two_dimensional("out", out)
    dtype, longest = phases.dtype, np.empty(rows, dtype=phases.dtype)
    _check_width(count, width)
    singles = 2 * count - width
    period = 1 if len(offset) == 1 else singles
    arguments = checked("phases", phases, dtype), rows, count, checked("offset", offset, dtype, (period,)), period
    kernel("waves", dtype)(
        *arguments, width, scale, checked("out", out, dtype, (rows, width), True), longest.ctypes.data
    )
    return longest


def structured(
    X: NDArray[Any], signs: NDArray[Any], radii: NDArray[Any], offset: NDArray[Any], scale: float, out: NDArray[Any]
) -> NDArray[Any]:
    """Write the features :func:`waves` of phases radii * (H D3 H D2 H D1 x), block by block.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features), float32 or float64
    signs : ndarray of shape (n_blocks, 3, size), of the same type; size is a power of two, at least 64 and n_features
    radii : one for every phase, at most n_blocks size, in half turns: the lengths of the frequencies over pi
    offset : that of the last feature, where the width of ``out`` is odd, in half turns
    scale, out : as for :func:`waves`, the width 2 len(radii) or one less
    """
    (rows, n), dtype, (blocks, _, size) = two_dimensional("X", X), X.dtype, signs.shape
    count, (_, width) = len(radii), two_dimensional("out", out)
    check_blocks(n, blocks, size, count)
    if size < SMALLEST_BLOCK:
        raise ValueError(f"the size of a block must be at least {SMALLEST_BLOCK}, got {size}")
    if count != (width + 1) // 2:
        raise ValueError(f"{count} phases make {2 * count} features or one less, got {width}")
    longest, room = np.empty(rows, dtype=dtype), scratch(max(size, 16384 // dtype.itemsize), dtype)
    kernel("structured", dtype)(
        checked("X", X, dtype),
        rows,
        n,
        checked("signs", signs, dtype, (blocks, 3, size)),
        size,
        checked("radii", radii, dtype),
        checked("offset", offset, dtype, (1,)),
        width,
        scale,
        checked("out", out, dtype, (rows, width), True),
        longest.ctypes.data,
        room.ctypes.data,
    )
    return longest


def fastfood(
    X: NDArray[Any],
    signs: NDArray[Any],
    orders: NDArray[np.int32],
    directions: NDArray[Any],
    radii: NDArray[Any],
    offset: NDArray[Any],
    scale: float,
    out: NDArray[Any],
) -> NDArray[Any]:
    """Write the features :func:`waves` of phases radii * (H G P H B x), block by block.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features), float32 or float64
    signs, orders, directions : ndarrays of shape (n_blocks, size): B and G of the type of X, P a permutation
    radii, offset, scale, out : as for :func:`structured`
    """
    (rows, n), dtype, (blocks, size) = two_dimensional("X", X), X.dtype, signs.shape
    check_blocks(n, blocks, size, len(radii))
    _check_rows(rows, out)
    if orders.min() < 0 or orders.max() >= size:
        raise ValueError(f"orders must be permutations of 0 to {size - 1}")
    longest, room = np.empty(rows, dtype=dtype), scratch((blocks + 1) * size, dtype)
    kernel("fastfood", dtype)(
        checked("X", X, dtype),
        rows,
        n,
        checked("signs", signs, dtype, (blocks, size)),
        checked("orders", orders, np.int32, (blocks, size)),
        checked("directions", directions, dtype, (blocks, size)),
        size,
        *_wave_arguments(radii, offset, scale, out, dtype),
        longest.ctypes.data,
        room.ctypes.data,
    )
    return longest


def _wave_arguments(
    radii: NDArray[Any], offset: NDArray[Any], scale: float, out: NDArray[Any], dtype: Any
) -> tuple[int, int, int, int, float, int]:
    """What kernels that make phases themselves take of the rest of a Fourier map."""
    count, width = len(radii), out.shape[1]
    _check_width(count, width)
    addresses = checked("radii", radii, dtype), checked("offset", offset, dtype, (1,))
    return addresses[0], count, addresses[1], width, scale, checked("out", out, dtype, out.shape, True)


def _check_rows(rows: int, out: Any) -> None:
    if two_dimensional("out", out)[0] != rows:
        raise ValueError(f"out must have {rows} rows, got {out.shape[0]}")


def _check_width(count: int, width: int) -> None:
    if not count <= width <= 2 * count:
        raise ValueError(f"{count} phases make from {count} to {2 * count} features, got {width}")
