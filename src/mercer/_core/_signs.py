"""Products of random sign projections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._library import checked, first_of, kernel, two_dimensional
from ._sketch import RowParts, csr_addresses

CHUNK = 2048
"""Factors that are summed before they are multiplied: 128 bytes each, a quarter of a megabyte in all."""
BLOCK = 512
"""Factors whose signs of one column lie together for CSR rows."""
CODE_COLUMNS, BLOCK_CODES = 5, 8
PACKED_ELEMENTS = 1 << 20
"""Signs that are packed at once."""

Negative = Callable[[int, int], NDArray[Any]]
"""Where the signs of the factors from one number to another are negative, a factor a row."""


class SignProducts(NamedTuple):
    """Feature i is weights[i] times the product of the next degrees[i] factors <signs, x>.

    With two columns of weights all these are complex numbers, in parts. Chunks of features begin at ``borders``.
    """

    degrees: NDArray[np.int32]
    weights: NDArray[Any]
    borders: NDArray[np.int64]
    columns: int

    @property
    def starts(self) -> NDArray[np.int64]:
        """The number of the first factor of every chunk, and behind it that of all."""
        return self.weights.shape[1] * np.concatenate([[0], np.cumsum(self.degrees, dtype=np.int64)])[self.borders]

    @property
    def factors(self) -> int:
        return int(self.starts[-1])


def in_chunks(degrees: NDArray[np.int32], weights: NDArray[Any], columns: int) -> SignProducts:
    """Features of rows with so many columns, cut into chunks of at most ``CHUNK`` factors and of at least one feature."""
    if degrees.min(initial=0) < 0 or weights.shape not in [(len(degrees), parts) for parts in (1, 2)]:
        raise ValueError(f"{degrees.shape} degrees of no less than 0 need 1 or 2 weights each, got {weights.shape}")
    ends, borders = weights.shape[1] * np.cumsum(degrees, dtype=np.int64), [0]
    while borders[-1] < len(degrees):
        done = ends[borders[-1] - 1] if borders[-1] else 0
        borders.append(max(borders[-1] + 1, int(np.searchsorted(ends, done + CHUNK, side="right"))))
    return SignProducts(degrees, weights, np.array(borders), columns)


def dense_signs(products: SignProducts, negative: Negative) -> NDArray[np.uint8]:
    """Pack signs for dense rows: codes (block, factor, code), each the signs of five columns in its highest bits."""
    factors, columns = products.factors, products.columns
    blocks = -(-columns // (CODE_COLUMNS * BLOCK_CODES))
    codes, step = np.empty((blocks, factors), dtype=">u8"), max(2, PACKED_ELEMENTS // columns // 2 * 2)
    for start in range(0, factors, step):
        part = slice(start, min(start + step, factors))
        bits = np.zeros((part.stop - start, blocks * BLOCK_CODES * CODE_COLUMNS), dtype=bool)
        bits[:, :columns] = negative(start, part.stop)
        octets = np.zeros((blocks, len(bits), 8), dtype=np.uint8)
        octets[:, :, 3:] = np.packbits(bits, axis=1).reshape(len(bits), blocks, 5).transpose(1, 0, 2)
        codes[:, part] = _spread(octets.view(">u8")[:, :, 0].astype(np.uint64))
    return codes.view(np.uint8).reshape(blocks, factors, BLOCK_CODES)


def _spread(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The eight fives of 40 bits, each moved to the high end of a byte of its own: by halves, quarters, eighths."""
    for bits, kept in ((20, 0xFFFFF), (10, 0x3FF000003FF), (5, 0x1F001F001F001F)):
        low, distance = np.uint64(kept), np.uint64(bits * 8 // 5)
        words = (words & low) | ((words >> np.uint64(bits) & low) << distance)
    return words << np.uint64(3)


def sparse_signs(products: SignProducts, negative: Negative) -> NDArray[Any]:
    """Pack signs for CSR rows: words (block, column, word), factor i of a block in bit i // words of word i % words."""
    itemsize, starts = products.weights.itemsize, products.starts
    words, word = 64 // itemsize, np.dtype(f">u{itemsize}")
    edges = [(start, stop) for start, stop in zip(starts[:-1], starts[1:], strict=True)]
    blocks = [(at, min(at + BLOCK, int(stop))) for start, stop in edges for at in range(int(start), int(stop), BLOCK)]
    packed = np.empty((len(blocks), products.columns, words), dtype=word.newbyteorder("="))
    for place, (start, stop) in enumerate(blocks):
        bits = np.zeros((BLOCK, products.columns), dtype=bool)
        bits[: stop - start] = negative(start, stop)
        octets = np.packbits(bits.reshape(itemsize * 8, -1), axis=0).reshape(itemsize, words, products.columns)
        packed[place] = np.ascontiguousarray(octets.transpose(2, 1, 0)).view(word)[:, :, 0]
    return packed


def sign_products(
    rows: RowParts, signs: NDArray[Any], products: SignProducts, out: NDArray[Any], first: int = 0
) -> int | None:
    """Write products of factors <signs, x>.

    Parameters
    ----------
    rows : the parts of a dense or CSR matrix of float32 or float64
    signs : what :func:`dense_signs`, or for CSR :func:`sparse_signs`, has made of them
    products : the features, weights in the type of the rows
    out : ndarray of shape (n_rows, width), written to from column ``first`` on
        There are as many columns left as features; complex ones have two, of which the last may be missing.

    Returns
    -------
    The first row of which a feature overflowed, None where none did.
    """
    dtype, (n_rows, stride), parts = rows.values.dtype, two_dimensional("out", out), products.weights.shape[1]
    count, chunks, longest = (
        len(products.degrees),
        len(products.borders) - 1,
        int(np.diff(products.starts).max(initial=0)),
    )
    width = stride - first
    if first < 0 or not parts * count - (parts - 1) <= width <= parts * count:
        raise ValueError(f"{count} features of {parts} columns each do not fill {width}")
    target = checked("out", out, dtype, (n_rows, stride), True) + first * dtype.itemsize
    features = (
        checked("degrees", products.degrees, np.int32, (count,)),
        checked("weights", products.weights, dtype, (count, parts)),
        parts,
        checked("borders", products.borders, np.int64, (chunks + 1,)),
        chunks,
    )
    if rows.indices is None:
        X = checked("X", rows.values, dtype, (n_rows, products.columns))
        blocks = -(-products.columns // (CODE_COLUMNS * BLOCK_CODES))
        codes = checked("signs", signs, np.uint8, (blocks, products.factors, BLOCK_CODES))
        scratch = _lines(longest + products.columns + CODE_COLUMNS)
        arguments = X, n_rows, products.columns, codes, *features, products.factors, longest
        finite = kernel("sign_products", dtype)(*arguments, target, stride, width, scratch.ctypes.data)
    else:
        parts_of_rows = csr_addresses(rows, n_rows, products.columns)
        blocks = int((-(-np.diff(products.starts) // BLOCK)).sum())
        shape, word = (blocks, products.columns, 64 // dtype.itemsize), np.dtype(f"u{dtype.itemsize}")
        scratch = _lines(-(-longest // BLOCK) * BLOCK)
        arguments = *parts_of_rows, n_rows, products.columns, checked("signs", signs, word, shape), *features
        finite = kernel("sparse_sign_products", dtype)(*arguments, target, stride, width, scratch.ctypes.data)
    return first_of(finite, n_rows)


def _lines(count: int) -> NDArray[np.uint8]:
    """Room for so many columns of a group of rows, wherever the first cache line begins."""
    return np.empty(64 + 128 * count, dtype=np.uint8)
