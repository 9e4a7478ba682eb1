"""Rows that are already in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._array import is_foreign, to_numpy
from .._random import Stream, as_seed
from .rows import BLOCK_ROWS, Rows


class ArrayRows(Rows):
    """The rows of a matrix.

    Parameters
    ----------
    X : dense or CSR matrix, or a one-dimensional array of objects, already validated
    rng : Stream
        Names the sample.
    """

    def __init__(self, X: Any, rng: Stream):
        super().__init__(rng)
        self._X = to_numpy(X) if is_foreign(X) else X

    @property
    def n_rows(self) -> int:
        return int(self._X.shape[0])

    @property
    def n_features(self) -> int:
        return int(self._X.shape[1]) if self._X.ndim == 2 else 1

    @property
    def dtype(self) -> Any:
        return self._X.dtype

    @property
    def whole(self) -> Any:
        return self._X

    def take(self, numbers: NDArray[np.int64]) -> Any:
        return self._X[numbers]

    def sample(self, count: int) -> Any:
        """The rows that ``choose`` names: all of them, not copied, where there are no more."""
        return self._X if count >= self.n_rows else super().sample(count)

    def weighted_blocks(self) -> Iterator[tuple[Any, None]]:
        for start in range(0, self.n_rows, BLOCK_ROWS):
            yield self._X[start : start + BLOCK_ROWS], None


def is_rows(X: Any) -> bool:
    """Whether X already offers what ``Rows`` does."""
    return hasattr(X, "blocks") and hasattr(X, "sample")


def as_rows(X: Any, random_state: Any = None) -> ArrayRows:
    """The validated matrix X as rows, its sample named by the seed or the stream."""
    rng = random_state if isinstance(random_state, Stream) else Stream(as_seed(random_state))
    return ArrayRows(X, rng.child("rows"))
