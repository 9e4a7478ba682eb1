"""Products of random sign projections."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._arrays import checked, first_of, two_dimensional
from ._library import kernel
from ._sketch import RowParts, csr_addresses

STRETCH = 2048
"""The number of factors summed before they are multiplied; at 128 bytes each, they take a quarter of a megabyte."""
BLOCK = 512
"""The number of factors whose signs of a column are adjacent, for CSR rows."""
CODE_COLUMNS, BLOCK_CODES = 5, 8
PACKED_ELEMENTS = 1 << 18
"""The number of signs packed at once."""

Negative = Callable[[int, int], NDArray[Any]]
"""Which signs are negative, for the factors from one number to another: one row per factor."""


class SignProducts(NamedTuple):
    """Feature i is weights[i] times the product of the next degrees[i] factors <signs, x>.

    With two columns of weights all these are complex numbers, in parts. Stretch c begins with feature ``borders[c]``
    and with factor ``starts[c]``. :func:`in_stretches` makes it.
    """

    degrees: NDArray[np.int32]
    weights: NDArray[Any]
    columns: int
    borders: NDArray[np.int64]
    starts: tuple[int, ...]

    @property
    def longest(self) -> int:
        """The largest number of factors in a stretch."""
        return max((stop - start for start, stop in pairwise(self.starts)), default=0)

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """The ranges of factors whose signs are adjacent for CSR rows."""
        stretches = pairwise(self.starts)
        return [(at, min(at + BLOCK, stop)) for start, stop in stretches for at in range(start, stop, BLOCK)]


def in_stretches(degrees: NDArray[np.int32], weights: NDArray[Any], columns: int) -> SignProducts:
    """Cut the features of rows with these columns into stretches of at most ``STRETCH`` factors, or of one feature."""
    if degrees.min(initial=0) < 0 or weights.shape not in [(len(degrees), parts) for parts in (1, 2)]:
        raise ValueError(f"{degrees.shape} degrees of no less than 0 need 1 or 2 weights each, got {weights.shape}")
    factors = weights.shape[1] * np.concatenate([[0], np.cumsum(degrees, dtype=np.int64)])
    borders = [0]
    while borders[-1] < len(degrees):
        last = int(np.searchsorted(factors, factors[borders[-1]] + STRETCH, side="right")) - 1
        borders.append(max(borders[-1] + 1, last))
    return SignProducts(degrees, weights, columns, np.array(borders), tuple(factors[borders].tolist()))


def dense_signs(products: SignProducts, negative: Negative) -> NDArray[np.uint8]:
    """Pack signs for dense rows: codes (block of 40 columns, factor, code), five signs in the highest bits of each."""
    factors, columns = products.starts[-1], products.columns
    codes = np.empty((-(-columns // (CODE_COLUMNS * BLOCK_CODES)), factors, BLOCK_CODES), dtype=np.uint8)
    step = max(2, PACKED_ELEMENTS // columns // 2 * 2)
    for start in range(0, factors, step):
        bits = negative(start, min(start + step, factors))
        address = checked("negative", bits, bool, (len(bits), columns))
        # Both types have the same codes.
        kernel("pack_signs", np.dtype(np.float32))(address, len(bits), columns, codes[:, start:].ctypes.data, factors)
    return codes


def sparse_signs(products: SignProducts, negative: Negative) -> NDArray[Any]:
    """Pack signs for CSR rows: words (block, column, word), factor i of a block in bit i // words of word i % words."""
    itemsize, columns, blocks = products.weights.itemsize, products.columns, products.blocks
    words, word = 64 // itemsize, np.dtype(f"u{itemsize}")
    packed = np.empty((len(blocks), columns, words), dtype=word)
    for place, (start, stop) in enumerate(blocks):
        turned = np.zeros((words, columns), dtype=word)
        for first in range(start, start + BLOCK, 8 * words):  # a byte of every word, the highest first
            bits, octets = np.zeros((8 * words, columns), dtype=bool), np.zeros((words, columns), dtype=np.uint8)
            if first < stop:
                bits[: stop - first] = negative(first, min(first + 8 * words, stop))
            for bit in bits.reshape(8, words, columns):
                octets += octets  # NumPy's additions are faster than its shifts
                octets += bit
            turned <<= 8
            turned |= octets
        packed[place] = turned.T
    return packed


def sign_products(
    rows: RowParts, signs: NDArray[Any], products: SignProducts, out: NDArray[Any], first: int = 0
) -> int | None:
    """Write products of factors <signs, x>.

    Parameters
    ----------
    rows : RowParts
        Dense or CSR rows of float32 or float64.
    signs : ndarray
        The signs as packed by :func:`dense_signs`, or for CSR rows by :func:`sparse_signs`.
    products : SignProducts
        The features, with weights in the type of the rows.
    out : ndarray of shape (n_rows, width), in the type of the rows
        The output array, written from column ``first`` on, with one column per feature; complex features take two, of
        which the very last may be missing.
    first : int, default=0
        The column of the first feature.

    Returns
    -------
    int or None
        The first row in which a feature overflowed; None if there is none.
    """
    dtype, (n_rows, stride), columns = rows.values.dtype, two_dimensional("out", out), products.columns
    (count, parts), width = products.weights.shape, stride - first
    if first < 0 or not parts * count - (parts - 1) <= width <= parts * count:
        raise ValueError(f"{count} features of {parts} columns each do not fill {width}")
    features = _feature_arguments(products, dtype)
    target = checked("out", out, dtype, (n_rows, stride), True) + first * dtype.itemsize, stride, width
    if rows.indices is None:
        shape = -(-columns // (CODE_COLUMNS * BLOCK_CODES)), products.starts[-1], BLOCK_CODES
        codes, scratch = checked("signs", signs, np.uint8, shape), _lines(products.longest + columns + CODE_COLUMNS)
        X = checked("X", rows.values, dtype, (n_rows, columns))
        sizes = products.starts[-1], products.longest
        finite = kernel("sign_products", dtype)(
            X, n_rows, columns, codes, *features, *sizes, *target, scratch.ctypes.data
        )
    else:
        shape = len(products.blocks), columns, 64 // dtype.itemsize
        bits, scratch = checked("signs", signs, f"u{dtype.itemsize}", shape), _lines(products.longest + BLOCK)
        addresses = csr_addresses(rows, n_rows, columns)
        finite = kernel("sparse_sign_products", dtype)(
            *addresses, n_rows, columns, bits, *features, *target, scratch.ctypes.data
        )
    return first_of(finite, n_rows)


def _feature_arguments(products: SignProducts, dtype: np.dtype[Any]) -> tuple[int, int, int, int, int]:
    """Return the arguments that describe the features to both kernels."""
    (count, parts), stretches = products.weights.shape, len(products.starts) - 1
    degrees = checked("degrees", products.degrees, np.int32, (count,))
    weights = checked("weights", products.weights, dtype, (count, parts))
    return degrees, weights, parts, checked("borders", products.borders, np.int64, (stretches + 1,)), stretches


def _lines(count: int) -> NDArray[np.uint8]:
    """Return memory for this many columns of a group of rows, with room to start at a cache line."""
    return np.empty(64 + 128 * count, dtype=np.uint8)
