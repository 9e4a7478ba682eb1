"""A sample of rows with their features, which grows with the rows and can be merged."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..._array import Array, to_numpy
from ..._random import Stream
from ...data.table_rows import Chunk

Matrix = NDArray[np.float64]

KEPT = 1024
"""The largest number of rows in the sample."""


class KeptSample(NamedTuple):
    """The rows with the smallest random numbers, regardless of the order and the parts in which rows arrive.

    Attributes
    ----------
    keys : ndarray of shape (n_kept,)
        The random numbers of these rows, between 0 and 1, in increasing order.
    features : ndarray of shape (n_kept, D)
    left : ndarray of shape (n_kept,)
        The part of k(x, x) that the features miss.

    Examples
    --------
    >>> Z, rng = np.arange(6.0)[:, None], Stream(0)
    >>> none = lambda X, Z: np.zeros(len(Z))
    >>> whole = KeptSample.of(Z, Z, none, rng, 0, most=3)
    >>> parts = KeptSample.of(Z[:2], Z[:2], none, rng, 0), KeptSample.of(Z[2:], Z[2:], none, rng, 2)
    >>> bool((parts[0].plus(parts[1], most=3).features == whole.features).all())
    True
    """

    keys: Matrix
    features: Matrix
    left: Matrix

    @classmethod
    def of(
        cls,
        X: Array,
        Z: Array,
        left: Callable[[Array, NDArray[Any]], NDArray[Any]],
        rng: Stream,
        first: int,
        without: NDArray[np.int64] | None = None,
        most: int = KEPT,
    ) -> Self:
        """Return the sample of rows X with features Z from number ``first`` on, without the rows with these numbers."""
        words = rng.words(len(Z), first)
        order = np.argsort(words, kind="stable")
        if without is not None and len(without):
            order = order[~np.isin(order + first, without)]
        order = order[:most]
        X, features = to_numpy(X[order]), to_numpy(Z[order])
        keys = (words[order] >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return cls(keys, features.astype(np.float64), np.asarray(left(X, features), dtype=np.float64))

    def plus(self, other: Self, most: int = KEPT) -> Self:
        """Return the sample of the rows of both."""
        keys = np.concatenate([self.keys, other.keys])
        order = np.argsort(keys, kind="stable")[:most]
        parts = (np.concatenate(pair)[order] for pair in zip(self[1:], other[1:], strict=True))
        return type(self)(keys[order], *parts)


class Sampling:
    """Takes a sample of the rows whose features it is shown.

    Parameters
    ----------
    rng : Stream
        Determines the sample.
    first : int
        The number of the first row that it is shown.
    without : ndarray of int or None
        The numbers of rows to leave out.
    left : callable
        Returns the part of k(x, x) that features miss, given prepared rows and their features.

    Attributes
    ----------
    kept : KeptSample or None
        The sample so far.
    seen : dict of int to int
        The number of rows of every chunk that was shown, by the number of its first row.
    """

    def __init__(
        self,
        rng: Stream,
        first: int,
        without: NDArray[np.int64] | None,
        left: Callable[[Array, NDArray[Any]], NDArray[Any]],
    ):
        self._made_of = rng, first, without, left
        self._lock = threading.Lock()
        self.kept: KeptSample | None = None
        self.seen: dict[int, int] = {}

    @property
    def n_seen(self) -> int:
        """The number of rows that were shown."""
        return sum(self.seen.values())

    def watch(self, Z: Array, chunk: Chunk) -> None:
        """Keep the rows of a chunk that belong to the sample."""
        rng, first, without, left = self._made_of
        more = KeptSample.of(chunk.X, Z, left, rng, first + chunk.first, without)
        with self._lock:
            self.seen[chunk.first] = len(Z)
            self.kept = more if self.kept is None else self.kept.plus(more)

    def fresh(self) -> Self:
        """Return an observer that collects the same sample and has seen nothing."""
        return type(self)(*self._made_of)

    def joined(self, later: Self) -> Self:
        """Return the sample of the rows of both."""
        both = self.fresh()
        both.seen = self.seen | later.seen
        both.kept = self.kept.plus(later.kept) if self.kept and later.kept else self.kept or later.kept
        return both

    def take_over(self, other: Self) -> None:
        """Replace the sample by another one."""
        self.kept, self.seen = other.kept, other.seen

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self._made_of, self.kept, self.seen)


def _again(kind: type[Sampling], made_of: tuple[Any, ...], kept: KeptSample | None, seen: dict[int, int]) -> Sampling:
    """Rebuild a sampling from a pickle, with a new lock."""
    other = kind(*made_of)
    other.kept, other.seen = kept, seen
    return other
