"""Prepared rows: what the map of a learner is fitted on, and what its statistics are summed over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._random import Stream
from ..data import ArrayTable, Table
from ..data.block import BLOCK_ROWS
from ..data.table_rows import Chunk, TableRows
from .passes import Passes
from .prepare.preparation import Preparation
from .scan_plan import RowSample

__all__ = ["Chunk", "PreparedRows"]


class PreparedRows(TableRows):
    """The rows of a table after its preparation.

    Parameters
    ----------
    table : Table
    preparation : Preparation
    rng : Stream
        Names samples.
    passes : Passes
        Told of the passes that a map makes, and counts all that read the table.
    sample : RowSample or None, default=None
        Rows that an earlier scan has taken along: a sample among them is not read again.
    """

    def __init__(
        self, table: Table, preparation: Preparation, rng: Stream, passes: Passes, sample: RowSample | None = None
    ):
        super().__init__(table, preparation, rng)
        self.passes = passes
        self._sample = sample

    def weighted_blocks(self) -> Iterator[tuple[Any, NDArray[np.float64] | None]]:
        for chunk in self._cut(self.passes.over("map", self._table.blocks()), BLOCK_ROWS):
            yield chunk.X, chunk.weight

    def chunks(self, rows: int, first: int = 0) -> Iterator[Chunk]:
        self.passes.count_read()
        return super().chunks(rows, first)

    def first_chunks(self) -> Iterator[Chunk]:
        """Chunks of the size of a block. The first comes from the cached head, without a read."""
        head = self._table.head()
        yield from self._cut([head], BLOCK_ROWS)
        if head.X.shape[0] == BLOCK_ROWS:
            self.passes.count_read()
            yield from self._cut(self._table.blocks(1), BLOCK_ROWS, BLOCK_ROWS)

    def _unprepared(self, numbers: NDArray[np.int64]) -> list[Any]:
        if self._sample is not None and self._sample.holds(numbers):
            return self._sample.take(numbers)
        if not isinstance(self._table, ArrayTable):
            self.passes.count_read()
        return super()._unprepared(numbers)
