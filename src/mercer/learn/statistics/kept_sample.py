"""A sample of rows with their features, which grows with the rows and can be merged."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..._random import Stream

Matrix = NDArray[np.float64]

KEPT = 1024
"""The most rows in the sample."""


class KeptSample(NamedTuple):
    """The rows that carry the smallest random numbers, whatever the order or the parts in which rows arrive.

    Attributes
    ----------
    keys : ndarray of shape (n_kept,)
        Their random numbers between 0 and 1, which rise.
    features : ndarray of shape (n_kept, D)
    left : ndarray of shape (n_kept,)
        What features leave of k(x, x).

    Examples
    --------
    >>> Z, rng = np.arange(6.0)[:, None], Stream(0)
    >>> whole = KeptSample.of(Z, np.zeros(6), rng, 0, most=3)
    >>> parts = KeptSample.of(Z[:2], np.zeros(2), rng, 0), KeptSample.of(Z[2:], np.zeros(4), rng, 2)
    >>> bool((parts[0].plus(parts[1], most=3).features == whole.features).all())
    True
    """

    keys: Matrix
    features: Matrix
    left: Matrix

    @classmethod
    def of(
        cls,
        Z: NDArray[Any],
        left: NDArray[Any],
        rng: Stream,
        first: int,
        without: NDArray[np.int64] | None = None,
        most: int = KEPT,
    ) -> Self:
        """The sample of rows from number ``first`` on, without those of these numbers."""
        words = rng.words(len(Z), first)
        order = np.argsort(words, kind="stable")
        if without is not None and len(without):
            order = order[~np.isin(order + first, without)]
        order = order[:most]
        features = Z[order].astype(np.float64)
        keys = (words[order] >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return cls(keys, features, np.asarray(left, dtype=np.float64)[order])

    def plus(self, other: Self, most: int = KEPT) -> Self:
        """The sample of the rows of both."""
        keys = np.concatenate([self.keys, other.keys])
        order = np.argsort(keys, kind="stable")[:most]
        parts = (np.concatenate(pair)[order] for pair in zip(self[1:], other[1:], strict=True))
        return type(self)(keys[order], *parts)
