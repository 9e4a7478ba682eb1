"""Files in partitions: ranges of blocks of one table, each read by the process that works on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .block import BLOCK_ROWS, Block
from .file_table import SourceTable
from .partitioned_table import PartitionedTable
from .partitions import Parts
from .table import Table

PARTITION_BYTES = 2**26
"""About how many bytes the rows of a partition take as numbers in float64."""


class BlockRange(Table):
    """Some consecutive blocks of a table of files.

    Parameters
    ----------
    source : SourceTable
        The table.
    first : int
        The number of the first block.
    stop : int
        The number of the block after the last.
    """

    def __init__(self, source: SourceTable, first: int, stop: int):
        self.source, self.first, self.stop = source, first, stop

    @classmethod
    def apart(cls, source: SourceTable, first: int, stop: int) -> BlockRange:
        """Return a range that shares no changing state with others, so that they can be read at the same time.

        Parameters
        ----------
        source : SourceTable
            The table.
        first : int
            The number of the first block.
        stop : int
            The number of the block after the last.

        Returns
        -------
        BlockRange
            The range.
        """
        return cls(source.apart(), first, stop)

    @property
    def n_rows(self) -> int:
        return min(self.stop * BLOCK_ROWS, self.source.n_rows) - self.first * BLOCK_ROWS

    def blocks(self, start: int = 0) -> Iterator[Block]:
        return islice(self.source.blocks(self.first + start), self.stop - self.first - start)

    def fingerprint(self) -> str:
        return f"{self.source.fingerprint()} {self.first} {self.stop}"

    def where(self, row: int) -> str | None:
        return self.source.where(self.first * BLOCK_ROWS + row)

    def take(self, numbers: NDArray[np.int64]) -> list[Any]:
        if not len(numbers):
            return []
        skipped = int(numbers[0]) // BLOCK_ROWS  # blocks before the first of these rows are not read
        rest = BlockRange(self.source, self.first + skipped, self.first + int(numbers[-1]) // BLOCK_ROWS + 1)
        return Table.take(rest, numbers - skipped * BLOCK_ROWS)


class PartitionedFiles(PartitionedTable):
    """A table of files whose rows are read in partitions, each by the process that works on it.

    Parameters
    ----------
    source : SourceTable
        The table.
    spread : callable
        Makes the parts of the tables of all partitions.
    """

    def __init__(self, source: SourceTable, spread: Callable[[Sequence[BlockRange]], Parts]):
        count = -(-source.n_rows // BLOCK_ROWS)
        step = max(1, PARTITION_BYTES // (8 * BLOCK_ROWS * max(1, source.width)))
        if count > step:
            source.for_ranges()
        ranges = [BlockRange(source, first, min(first + step, count)) for first in range(0, count, step)]
        super().__init__(spread(ranges), [part.n_rows for part in ranges], range(len(ranges)))
        self.source = source

    @property
    def names(self) -> tuple[str, ...] | None:
        return self.source.names

    @property
    def target_name(self) -> str | int | tuple[str, ...] | None:
        return self.source.target_name

    @property
    def weight_name(self) -> str | int | None:
        return self.source.weight_name

    @property
    def files(self) -> tuple[Path, ...]:
        """The files from which the rows are read."""
        return self.source.files

    def head(self) -> Block:
        return self.source.head()

    def fingerprint(self) -> str:
        return self.source.fingerprint()

    def where(self, row: int) -> str | None:
        return self.source.where(row)
