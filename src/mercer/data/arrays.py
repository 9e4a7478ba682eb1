"""Rows that are already in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._array import is_foreign, to_numpy
from .._random import Stream, as_seed

BLOCK_ROWS = 4096


class ArrayRows:
    """What a map or a kernel may learn from: the width, a seeded sample, and repeatable passes over blocks.

    Parameters
    ----------
    X : dense or CSR matrix, already validated
    rng : Stream
        Names the sample.
    """

    def __init__(self, X: Any, rng: Stream):
        self._X = to_numpy(X) if is_foreign(X) else X
        self._rng = rng

    @property
    def n_rows(self) -> int:
        return int(self._X.shape[0])

    @property
    def n_features(self) -> int:
        return int(self._X.shape[1])

    def sample(self, count: int) -> Any:
        """At most ``count`` rows without replacement, in row order.

        Row i carries the i-th word of the stream and the smallest words win, so the choice does not depend on blocks.
        """
        if count >= self.n_rows:
            return self._X
        keys = self._rng.words(self.n_rows)
        return self._X[np.sort(np.argpartition(keys, count)[:count])]

    def blocks(self) -> Iterator[Any]:
        """One pass over all rows in order."""
        for start in range(0, self.n_rows, BLOCK_ROWS):
            yield self._X[start : start + BLOCK_ROWS]


def is_rows(X: Any) -> bool:
    """Whether X already offers what ``ArrayRows`` does."""
    return hasattr(X, "blocks") and hasattr(X, "sample")


def as_rows(X: Any, random_state: Any = None) -> ArrayRows:
    """The validated matrix X as rows, its sample named by the seed or the stream."""
    rng = random_state if isinstance(random_state, Stream) else Stream(as_seed(random_state))
    return ArrayRows(X, rng.child("rows"))
