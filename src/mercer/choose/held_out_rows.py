"""Rows from which some are left out, on which maps fitted to the others are judged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._random import Stream
from .._rows import Rows


class RowsWithout(Rows):
    """All rows except some; the others keep their numbers.

    Parameters
    ----------
    rows : Rows
        All rows.
    left_out : ndarray of int
        The numbers of the rows to leave out.
    rng : Stream
        Determines the sample.
    """

    def __init__(self, rows: Rows, left_out: NDArray[np.int64], rng: Stream):
        super().__init__(rng)
        self._rows = rows
        there = np.ones(rows.n_rows, dtype=bool)
        there[left_out] = False
        self._there = there

    @property
    def n_rows(self) -> int:
        return int(np.count_nonzero(self._there))

    @property
    def n_features(self) -> int:
        return int(self._rows.n_features)

    @property
    def dtype(self) -> Any:
        return self._rows.dtype

    def where(self, row: int) -> str | None:
        return self._rows.where(row)

    def choose(self, count: int) -> NDArray[np.int64]:
        """Return the numbers of at most ``count`` of the remaining rows."""
        return np.flatnonzero(self._there)[super().choose(count)].astype(np.int64)

    def take(self, numbers: NDArray[np.int64]) -> Any:
        return self._rows.take(numbers)

    def weighted_blocks(self) -> Iterator[tuple[Any, NDArray[np.float64] | None]]:
        first = 0
        for block, weight in self._rows.weighted_blocks():
            here = np.flatnonzero(self._there[first : first + block.shape[0]])
            first += block.shape[0]
            if len(here) == block.shape[0]:
                yield block, weight
            elif len(here):
                yield block[here], None if weight is None else weight[here]
