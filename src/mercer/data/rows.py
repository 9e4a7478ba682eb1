"""What a map, a kernel or a learner may learn from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._random import Stream

BLOCK_ROWS = 4096


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
