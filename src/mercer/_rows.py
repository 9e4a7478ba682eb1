"""Rows: what a kernel, a map or a learner may learn from, and the rows of a matrix as such."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._array import is_foreign, to_numpy
from ._random import Stream, as_seed
from .gpu.device import Device

BLOCK_ROWS = 4096
"""Rows of a block; the last one of a table may have fewer."""


class Rows(ABC):
    """The width of rows, a seeded sample of them, and repeatable passes over blocks.

    Parameters
    ----------
    rng : Stream
        Names the sample.
    """

    def __init__(self, rng: Stream):
        self._rng = rng

    @property
    @abstractmethod
    def n_rows(self) -> int: ...

    @property
    @abstractmethod
    def n_features(self) -> int: ...

    @property
    @abstractmethod
    def dtype(self) -> Any: ...

    @abstractmethod
    def take(self, numbers: NDArray[np.int64]) -> Any:
        """The rows of these numbers, which rise."""

    @abstractmethod
    def weighted_blocks(self) -> Iterator[tuple[Any, NDArray[np.float64] | None]]:
        """One pass over all rows in order, with their weights; None where all are 1."""

    @property
    def whole(self) -> Any:
        """All rows where they are in memory as they are, else None."""
        return None

    @property
    def device(self) -> Device | None:
        """The device on which something is to be learned from them; None is the processor."""
        return None

    def where(self, row: int) -> str | None:
        """What a person calls the row of this number, such as a line of a file; None where that is its number."""
        return None

    def blocks(self) -> Iterator[Any]:
        """One pass over all rows in order."""
        for block, _ in self.weighted_blocks():
            yield block

    def choose(self, count: int) -> NDArray[np.int64]:
        """The numbers of at most ``count`` rows without replacement, in order.

        Row i carries the i-th word of the stream and the smallest words win, so the choice does not depend on blocks,
        and a smaller one is part of a larger one.
        """
        if count >= self.n_rows:
            return np.arange(self.n_rows, dtype=np.int64)
        keys = self._rng.words(self.n_rows)
        return np.sort(np.argpartition(keys, count)[:count]).astype(np.int64)

    def sample(self, count: int) -> Any:
        """The rows that ``choose`` names."""
        return self.take(self.choose(count))


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
        self._device = Device.of(X)

    @property
    def device(self) -> Device | None:
        return self._device

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
