"""The projections with which :class:`Compressed` reduces the many features of a map to a few."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .. import _core
from .._array import Array, first_overflow, hadamard, namespace, pad
from .._memory import check_memory
from .._random import Stream
from .._rows import Rows
from .._tiles import cut_at_multiples, sum_in_order
from .complex_sketch import padded_width
from .construction import Native

Matrix = NDArray[np.float64]

CHUNK_BYTES = 16 * 2**20
"""The number of wide features that each thread holds at a time."""
MOST_ROWS = 2048
STREAM_ROWS = 64
"""The number of random rows drawn from one stream; a chunk of rows is a multiple of it."""
NEGLIGIBLE = 1e-13
"""Directions with singular values below this fraction of the largest are rounding errors."""


class CraftParameters(NamedTuple):
    """The inner map's parameters, then the signs and the selected outputs of the projection."""

    map: Any
    signs: NDArray[np.int8]
    outputs: NDArray[np.int32]

    @property
    def _padded(self) -> int:
        """The width of the transform, at least that of the output even if few rows made the inner map narrower."""
        return padded_width(max(self.signs.shape[0], self.outputs.shape[0]))

    def project(self, wide: Array) -> Array:
        """Compute D rows of H diag(signs) z / sqrt(D)."""
        xp = namespace(wide)
        turned = hadamard(pad(wide * xp.astype(self.signs, wide.dtype), self._padded))
        return xp.take(turned, self.outputs, axis=1) / math.sqrt(self.outputs.shape[0])

    def native(self, dtype: DTypeLike) -> Native:
        """Return ``project`` by the compiled core."""
        signs, scale = _core.aligned(self.signs, dtype), 1.0 / math.sqrt(self.outputs.shape[0])
        return lambda wide, out: _core.craft(wide, signs, self.outputs, scale, out)

    def fold(self, coef: NDArray[Any]) -> NDArray[Any]:
        """Apply the transpose of ``project``."""
        scattered = np.zeros((*coef.shape[:-1], self._padded), dtype=coef.dtype)
        scattered[..., self.outputs] = coef
        return hadamard(scattered)[..., : len(self.signs)] * self.signs / math.sqrt(len(self.outputs))


class TefmParameters(NamedTuple):
    """The inner map's parameters, and the orthonormal columns on which its features are projected."""

    map: Any
    projection: Matrix

    def project(self, wide: Array) -> Array:
        """Compute F Q."""
        return wide @ self.projection

    def native(self, dtype: DTypeLike) -> Native:
        """Return ``project`` without a temporary array."""

        def write(wide: NDArray[Any], out: NDArray[Any]) -> int | None:
            with np.errstate(over="ignore", invalid="ignore"):
                np.matmul(wide, self.projection, out=out)
            return first_overflow(out)

        return write

    def fold(self, coef: NDArray[Any]) -> NDArray[Any]:
        """Compute w' = Q w."""
        return coef @ self.projection.T.astype(coef.dtype)


def draw_craft(rng: Stream, inner: Any, wide: int, width: int) -> CraftParameters:
    """Draw the projection of CRAFT, which does not depend on the rows."""
    outputs = rng.child("outputs").permutation(padded_width(max(wide, width)))[:width]
    return CraftParameters(inner, rng.child("signs").signs((wide,)), outputs)


class Tefm(NamedTuple):
    """Learns the projection of TEFM; ``features(X, first_row)`` computes the ``wide`` features F of rows."""

    features: Callable[[Array, int], Matrix]
    rows: Rows
    wide: int
    n_jobs: int | None

    @property
    def chunk_rows(self) -> int:
        """The size of a chunk, a power of two that does not depend on the blocks in which rows arrive."""
        rows = min(MOST_ROWS, padded_width(self.rows.n_rows))
        while rows > STREAM_ROWS and rows * self.wide * 8 > CHUNK_BYTES:
            rows //= 2
        return rows

    def learn(self, rng: Stream, method: str, power: int, width: int) -> tuple[Matrix, float | None]:
        """Return the orthonormal columns Q and, if it is known, a lower bound of ||F Q||^2 / ||F||^2.

        If F is no wider than the output, Q copies it and columns of zeros fill the rest.
        """
        check_memory((self.wide, width), 8, "the projection")
        if self.wide <= width:  # few rows made the inner map narrower than the output: nothing to project
            return np.eye(self.wide, width), 1.0
        exact = self.rows.n_rows <= width
        make = gaussian_sketch if method == "tefm-g" else hadamard_sketch
        sketch = make(rng, self.rows.n_rows, self.chunk_rows, width)
        (Y,) = self._sum(lambda F, first: (sketch(F, first),), width)
        Q, captured = orthonormal(Y, rng.child("rest"), width), 1.0 if exact else None
        for _ in range(0 if exact else power):
            Y, trace = self._sum(_power_of(Q), width)
            captured = _captured(Q, Y) / (float(trace[0]) or 1.0)
            Q = orthonormal(Y, rng.child("rest"), width)
        return Q, captured

    def _sum(self, part: Callable[[Matrix, int], tuple[Matrix, ...]], width: int) -> tuple[Matrix, ...]:
        """Add up what ``part`` computes from each chunk of features, in one pass over all rows."""

        def work(item: tuple[int, Array]) -> tuple[Matrix, ...]:
            first, X = item
            return part(self.features(X, first), first)

        chunks = cut_at_multiples(self.rows.blocks(), self.chunk_rows)
        return sum_in_order(work, chunks, self.n_jobs, held=8 * self.wide * width)


def _power_of(Q: Matrix) -> Callable[[Matrix, int], tuple[Matrix, Matrix]]:
    """Return the contributions of a chunk to F'F Q and to the squared norm of F."""
    return lambda F, first: (F.T @ (F @ Q), np.array([np.vdot(F, F)]))


def _captured(Q: Matrix, Y: Matrix) -> float:
    """Compute a lower bound, trace((Q'AQ)^-1 Q'A^2 Q), of the part of trace(A) that the columns of Y = A Q capture.

    With M_i = Q'A^i Q, they capture trace(M_2^-1 M_3). The block matrix (M_1, M_2; M_2, M_3) is positive semi-definite,
    so M_3 is at least M_2 M_1^-1 M_2. Omitting terms lowers the bound.
    """
    values, vectors = np.linalg.eigh(Q.T @ Y)
    kept = values > math.sqrt(NEGLIGIBLE) * values[-1]
    turned = Y @ vectors[:, kept]
    return float(((turned * turned).sum(axis=0) / values[kept]).sum())


def orthonormal(Y: Matrix, rng: Stream, width: int) -> Matrix:
    """Return ``width`` orthonormal columns that span the columns of Y, with random ones if Y has lower rank."""
    Q, R = np.linalg.qr(Y)
    diagonal = np.abs(np.diag(R))
    if len(diagonal) != width or diagonal.min() <= NEGLIGIBLE * diagonal.max():
        U, sizes, _ = np.linalg.svd(R)
        spanned = Q @ U[:, sizes > NEGLIGIBLE * sizes[0]]
        rest = rng.normals((Y.shape[0], width - spanned.shape[1]))
        Q, _ = np.linalg.qr(np.concatenate([spanned, rest], axis=1))
    # LAPACK leaves the signs undetermined.
    return Q * np.sign(Q[np.abs(Q).argmax(axis=0), np.arange(width)])


def gaussian_rows(rng: Stream, first: int, count: int, width: int) -> Matrix:
    """Return rows of the standard normal matrix Theta; ``first`` is a multiple of ``STREAM_ROWS``."""
    return np.concatenate([block.normals((rows, width)) for block, rows in _streams(rng.child("theta"), first, count)])


def sign_rows(rng: Stream, first: int, count: int) -> NDArray[np.int8]:
    """Return the random signs of ``count`` rows from row ``first`` on."""
    return np.concatenate([block.signs((rows,)) for block, rows in _streams(rng.child("signs"), first, count)])


def _streams(rng: Stream, first: int, count: int) -> list[tuple[Stream, int]]:
    """Return the streams of consecutive blocks of rows, each with the number of its rows that are needed."""
    starts = range(first, first + count, STREAM_ROWS)
    return [(rng.child(start // STREAM_ROWS), min(STREAM_ROWS, first + count - start)) for start in starts]


def gaussian_sketch(rng: Stream, n_rows: int, chunk_rows: int, width: int) -> Callable[[Matrix, int], Matrix]:
    """Return the contribution of a chunk to F' Theta, with Theta standard normal."""
    return lambda F, first: F.T @ gaussian_rows(rng, first, len(F), width)


def hadamard_columns(rng: Stream, n_rows: int, width: int) -> NDArray[np.int64]:
    """Choose the columns of the Hadamard matrix in Theta: all of them unless there are more rows than the width."""
    size = padded_width(n_rows)
    return rng.child("columns").subset(size.bit_length() - 1, width if n_rows > width else size)


def hadamard_sketch(rng: Stream, n_rows: int, chunk_rows: int, width: int) -> Callable[[Matrix, int], Matrix]:
    """Return the contribution of a chunk to F' Theta, Theta = diag(signs) H[:, columns] / sqrt(number of columns).

    Row ``first + i`` of H is row ``first`` times row i, and they depend on the high and the low bits of a column
    number, respectively: one transform of the chunk gives all columns up to a sign.
    """
    columns = hadamard_columns(rng, n_rows, width)
    low, high, scale = columns % chunk_rows, columns // chunk_rows, 1.0 / math.sqrt(len(columns))

    def part(F: Matrix, first: int) -> Matrix:
        signed = np.multiply(F.T, sign_rows(rng, first, len(F)), order="C")
        picked = np.take(hadamard(pad(signed, chunk_rows)), low, axis=1)
        odd = np.bitwise_count(high & (first // chunk_rows)) % 2
        picked *= np.where(odd, -scale, scale)
        return picked

    return part
