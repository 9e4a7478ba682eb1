"""Products of the Fourier transforms of count sketches."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._arrays import checked, first_of, scratch, two_dimensional
from ._library import kernel, named
from ._sketch import RowParts, csr_addresses

LANES_BYTES = 64
"""The width of the widest register; a group has as many rows as it holds numbers."""


class Spectrum(NamedTuple):
    """The tables for transforms of real rows of one width, which ``csrc/fft.h`` and ``csrc/tensor.cpp`` describe."""

    width: int
    radices: NDArray[np.int32]
    turns: NDArray[Any]
    halves: NDArray[Any]
    order: NDArray[np.int32]


@lru_cache(maxsize=16)
def spectrum(width: int, dtype: Any) -> Spectrum | None:
    """Return the tables for rows of this width, or None if it is odd or half of it has a prime factor above 5."""
    radices = _radices(width // 2)
    if width % 2 or width == 0 or radices is None:
        return None
    turns, length = [np.zeros((0, 2))], width // 2
    for radix in radices:
        fractions = np.outer(np.arange(length // radix), np.arange(1, radix)) / length
        turns.append(_parts(-2.0 * math.pi * fractions.ravel()))
        length //= radix
    halves = _parts(-2.0 * math.pi * (np.arange(width // 4 + 1) / width + 0.25)) / 2.0
    powers = np.concatenate(turns)
    return Spectrum(
        width, np.array(radices, dtype=np.int32), powers.astype(dtype), halves.astype(dtype), _order(radices)
    )


def _parts(angles: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def _radices(length: int) -> list[int] | None:
    """Return the radices of the passes: fours, fives, threes, and a last eight if a two would be left over."""
    radices: list[int] = []
    for factor in (5, 3):
        while length % factor == 0 and length > 0:
            radices.append(factor)
            length //= factor
    if length & (length - 1) or length == 0:
        return None
    bits = length.bit_length() - 1
    if bits % 2:
        return [4] * (bits // 2 - 1) + radices + [8] if bits > 1 else [*radices, 2]
    return [4] * (bits // 2) + radices


def _order(radices: list[int]) -> NDArray[np.int32]:
    """Return where frequency k ends up after the passes: the digits of k in the mixed radix, reversed."""
    order = np.zeros(1, dtype=np.int32)
    for radix in reversed(radices):
        order = (order[:, None] + len(order) * np.arange(radix, dtype=np.int32)).ravel()
    return order


def tensor_sketch(
    factors: Sequence[RowParts],
    places: NDArray[np.int32],
    signs: NDArray[Any],
    constants: Sequence[float],
    tables: Spectrum,
    in_time: bool,
    scale: float,
    out: NDArray[Any],
) -> int | None:
    """Write the convolution of count sketches, or its half spectrum as real features.

    Parameters
    ----------
    factors : sequence of RowParts
        Dense or CSR matrices with equally many rows, float32 or float64.
    places : ndarray of shape (degree, n_columns + 1 or more), int32
        The bucket of every entry.
    signs : ndarray of the same shape, in the type of the rows
        The sign of every entry.
    constants : sequence of float
        An additional entry, after those of the rows, for every factor.
    tables : Spectrum
        The tables made by :func:`spectrum`.
    in_time : bool
        Whether to write the convolution rather than its spectrum.
    scale : float
        The factor of the features.
    out : ndarray of shape (n_rows, width), in the type of the rows
        The output array.

    Returns
    -------
    int or None
        The first row in which a feature overflowed; None if there is none.
    """
    dtype, (degree, stride), (rows, width) = signs.dtype, signs.shape, two_dimensional("out", out)
    if width != tables.width or len(factors) != degree or len(constants) != degree:
        raise ValueError(f"expected {degree} factors and tables for width {width}, got {len(factors)}, {tables.width}")
    if places.min() < 0 or places.max() >= width:
        raise ValueError(f"places must be from 0 to {width - 1}")
    structs = (named("mercer_rows") * degree)(
        *(_fields(rows, *pair, stride, dtype) for pair in zip(factors, constants, strict=True))
    )
    lanes = LANES_BYTES // dtype.itemsize
    room = scratch((2 * width + max(struct.columns for struct in structs)) * lanes, dtype)
    finite = kernel("tensor_sketch", dtype)(
        ctypes.addressof(structs),
        degree,
        rows,
        checked("places", places, np.int32, signs.shape),
        checked("signs", signs, dtype, signs.shape),
        stride,
        width,
        checked("radices", tables.radices, np.int32),
        checked("turns", tables.turns, dtype),
        checked("halves", tables.halves, dtype),
        checked("order", tables.order, np.int32),
        in_time,
        scale / (width // 2 if in_time else 1),
        checked("out", out, dtype, (rows, width), True),
        room.ctypes.data,
    )
    return first_of(finite, rows)


def _fields(n_rows: int, rows: RowParts, constant: float, stride: int, dtype: np.dtype[Any]) -> tuple[Any, ...]:
    """Return the fields of ``mercer_rows``; the columns of the rows, and the constant, must have hashes."""
    if rows.indices is None:
        columns = two_dimensional("X", rows.values)[1]
        addresses: tuple[int | None, ...] = checked("X", rows.values, dtype, (n_rows, columns)), None, 0, None
    elif rows.values.dtype != dtype:
        raise TypeError(f"X must be {dtype.name} like the signs, got {rows.values.dtype}")
    else:
        columns = rows.columns
        addresses = csr_addresses(rows, n_rows, columns)
    if columns >= stride:
        raise ValueError(f"X must have fewer columns than there are hashes, {stride}, got {columns}")
    return *addresses, columns, constant
