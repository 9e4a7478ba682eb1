"""Prepared rows, on which the map of a learner is fitted and over which its statistics are summed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._random import Stream
from ...data import ArrayTable, Table
from ...data.block import BLOCK_ROWS
from ...data.table_rows import Chunk, TableRows
from ...gpu.device import Device
from ..context import FitContext
from ..passes.fit_passes import Passes
from ..passes.scan_plan import RowSample
from ..training_rows.region import Extremes
from .kept_features import KeptFeatures

__all__ = ["Chunk", "PartRows", "PreparedRows"]


class PartRows(NamedTuple):
    """Prepares the rows of one partition of a table, in whatever process the partition is."""

    prepare: Callable[[Any], Any]
    rng: Stream
    context: FitContext
    device: Device | None
    n_jobs: int | None
    has_extremes: bool
    numbers: Callable[[Any], Any] | None

    def of(self, table: Table) -> PreparedRows:
        """Return the rows of a partition."""
        passes = Passes(table, self.context, (), self.n_jobs, self.device)
        extremes = Extremes(self.numbers) if self.has_extremes else None
        return PreparedRows(table, self.prepare, self.rng, passes, None, extremes)


def prepared_in_float64(prepare: Callable[[Any], Any], X: Any) -> Any:
    """Prepared rows in float64."""
    return prepare(X).astype(np.float64, copy=False)


def extremes_of(rows: PartRows, table: Table, first: int) -> Extremes:
    """Return the prepared rows of a partition."""
    return rows.of(table).found_extremes()


def joined_extremes(several: list[Extremes]) -> Extremes:
    """Return the prepared rows of several partitions."""
    whole = several[0]
    for more in several[1:]:
        whole = whole.joined(more)
    return whole


class PreparedRows(TableRows):
    """The rows of a table after its preparation.

    Parameters
    ----------
    table : Table
    preparation : callable
        A :class:`Preparation`, or another function that makes rows of numbers.
    rng : Stream
        Names samples.
    passes : Passes
        Records the passes that a map makes, and counts all passes that read the table.
    sample : RowSample or None, default=None
        Rows that an earlier scan has kept: if they contain a sample, it is not read again.
    extremes : Extremes or None, default=None
        Watches the rows of passes over chunks.

    Attributes
    ----------
    kept_features : KeptFeatures or None
        Keeps the features of a pass for the next one; None if there is no next pass.
    """

    def __init__(
        self,
        table: Table,
        preparation: Callable[[Any], Any],
        rng: Stream,
        passes: Passes,
        sample: RowSample | None = None,
        extremes: Extremes | None = None,
    ):
        super().__init__(table, preparation, rng)
        self.passes = passes
        self._sample = sample
        self.extremes = extremes
        self.kept_features: KeptFeatures | None = None

    @property
    def device(self) -> Device | None:
        return self.passes.device

    def in_float64(self) -> PreparedRows:
        """Return the same rows in float64."""
        prepare = partial(prepared_in_float64, self._prepare)
        return PreparedRows(self._table, prepare, self._rng, self.passes, self._sample, self.extremes)

    def apart(self, n_jobs: int | None) -> PartRows:
        """Return how the rows of one partition are prepared, wherever it is, for this number of threads."""
        assert self.passes.partitions is not None
        passes = self.passes
        context = FitContext(memory=passes.context.memory, counts_hits=passes.context.counts_hits)
        numbers = None if self.extremes is None else self.extremes.numbers
        threads = self.passes.partitions.parts.threads(n_jobs)
        return PartRows(self._prepare, self._rng, context, passes.device, threads, self.extremes is not None, numbers)

    def weighted_blocks(self) -> Iterator[tuple[Any, NDArray[np.float64] | None]]:
        for chunk in self._cut(self.passes.over("map", self._table.blocks()), BLOCK_ROWS):
            yield chunk.X, chunk.weight

    def chunks(self, rows: int, first: int = 0) -> Iterator[Chunk]:
        self.passes.count_read()
        chunks = super().chunks(rows, first)
        return chunks if self.extremes is None else self.extremes.watched(chunks)

    def found_extremes(self) -> Extremes:
        """Return the extremes of all rows, after passes over them; rows that a resumed pass missed are read again."""
        assert self.extremes is not None
        if self.extremes.saw(self.n_rows):
            return self.extremes
        if self.passes.partitions is not None:
            self.extremes.take_over(
                self.passes.folded("region", partial(extremes_of, self.apart(None)), joined_extremes)
            )
        else:
            for _ in self.chunks(BLOCK_ROWS):
                pass
        return self.extremes

    def first_chunks(self) -> Iterator[Chunk]:
        """Yield chunks of the size of a block; the first comes from the cached head, without a read."""
        head = self._table.head()
        yield from self._cut([head], BLOCK_ROWS)
        if head.X.shape[0] == BLOCK_ROWS:
            self.passes.count_read()
            yield from self._cut(self._table.blocks(1), BLOCK_ROWS, BLOCK_ROWS)

    def sampled_chunks(self) -> Iterator[Chunk]:
        """Yield the rows that an earlier scan of a file has kept, without a read; their numbers are not given."""
        if self._sample is not None and not isinstance(self._table, ArrayTable):
            numbers = self._sample.numbers(self.n_rows)
            block = self._sample.block(self.n_rows)
            yield Chunk(0, self._prepared(block.X, numbers), block.y, block.weight)

    def _unprepared(self, numbers: NDArray[np.int64]) -> list[Any]:
        if self._sample is not None and self._sample.holds(numbers):
            return self._sample.take(numbers)
        if not isinstance(self._table, ArrayTable):
            self.passes.count_read()
        return super()._unprepared(numbers)
