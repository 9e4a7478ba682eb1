"""Prepared rows: what the map of a learner is fitted on, and what its statistics are summed over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._random import Stream
from ..data import Rows, Table
from ..data.rows import BLOCK_ROWS
from ..data.tables import Block, part_of, stacked
from ._preparation import Preparation
from ._progress import Watch


class Chunk(NamedTuple):
    """Prepared rows from number ``first`` on, with targets and weights."""

    first: int
    X: Any
    y: Any
    weight: NDArray[np.float64] | None

    @property
    def last(self) -> int:
        """The number of the row after them."""
        return int(self.first + self.X.shape[0])


class PreparedRows(Rows):
    """The rows of a table after its preparation, prepared anew in every pass."""

    def __init__(self, table: Table, preparation: Preparation, rng: Stream, watch: Watch):
        super().__init__(rng)
        self.watch = watch
        self._table = table
        self._preparation = preparation

    @property
    def n_rows(self) -> int:
        return self._table.n_rows

    @cached_property
    def _first(self) -> Any:
        """A few rows, for what all have in common."""
        block = next(self._table.blocks())
        return self._preparation(part_of(block.X, slice(0, 1)))

    @property
    def n_features(self) -> int:
        return int(self._first.shape[1])

    @property
    def dtype(self) -> Any:
        return self._first.dtype

    def take(self, numbers: NDArray[np.int64]) -> Any:
        order = np.argsort(numbers, kind="stable")
        taken = stacked([self._preparation(part) for part in self._table.take(numbers[order])])
        return taken if (order[1:] > order[:-1]).all() else taken[np.argsort(order)]

    def weighted_blocks(self) -> Iterator[tuple[Any, NDArray[np.float64] | None]]:
        for chunk in self._prepared(self.watch.over("map", self._table.blocks()), BLOCK_ROWS):
            yield chunk.X, chunk.weight

    def chunks(self, rows: int, first: int = 0) -> Iterator[Chunk]:
        """All rows in order, cut at multiples of ``rows``, which divides the length of a table's blocks.

        Or those from number ``first`` on, where one of these cuts is.
        """
        skipped = first // BLOCK_ROWS
        for chunk in self._prepared(self._table.blocks(skipped), rows, skipped * BLOCK_ROWS):
            if chunk.first >= first:
                yield chunk

    def _prepared(self, blocks: Iterable[Block], rows: int, first: int = 0) -> Iterator[Chunk]:
        for block in blocks:
            X = self._preparation(block.X, first)
            for start in range(0, X.shape[0], rows):
                part = slice(start, start + rows)
                yield Chunk(first + start, X[part], *(None if item is None else item[part] for item in block[1:]))
            first += X.shape[0]
