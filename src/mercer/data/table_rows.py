"""The rows of a table, prepared for learning: a sample of them, and passes over blocks or chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._array import aligned
from .._random import Stream
from .._rows import BLOCK_ROWS, Rows
from .block import Block, part_of, stacked
from .table import Table


class RowError(ValueError):
    """Raised for the row with this number, whose name replaces ``{row}`` in the message."""

    def __init__(self, row: int, message: str):
        super().__init__(message.replace("{row}", f"row {row}"))
        self.row = row
        self.message = message


class Chunk(NamedTuple):
    """Prepared rows from number ``first`` on, with targets and weights."""

    first: int
    X: Any
    y: Any
    weight: NDArray[np.float64] | None

    @property
    def last(self) -> int:
        """The number of the row after the last."""
        return int(self.first + self.X.shape[0])


class TableRows(Rows):
    """The rows of a table after ``prepare``, which runs anew in every pass."""

    def __init__(self, table: Table, prepare: Callable[[Any], Any], rng: Stream):
        super().__init__(rng)
        self._table = table
        self._prepare = prepare

    @property
    def n_rows(self) -> int:
        return self._table.n_rows

    @cached_property
    def _first(self) -> Any:
        """A few rows, from which common properties are read."""
        return self._prepared(part_of(self._table.head().X, slice(0, 1)), range(1))

    @property
    def n_features(self) -> int:
        return int(self._first.shape[1])

    @property
    def dtype(self) -> Any:
        return self._first.dtype

    def where(self, row: int) -> str | None:
        return self._table.where(row)

    def take(self, numbers: NDArray[np.int64]) -> Any:
        order = np.argsort(numbers, kind="stable")
        parts: list[Any] = []
        rest = numbers[order]
        for part in self._unprepared(rest):
            parts.append(self._prepared(part, rest[: part.shape[0]]))
            rest = rest[part.shape[0] :]
        taken = stacked(parts)
        return taken if (order[1:] > order[:-1]).all() else taken[np.argsort(order)]

    def _unprepared(self, numbers: NDArray[np.int64]) -> list[Any]:
        """Return the unprepared rows with these numbers, in increasing order, in parts."""
        return self._table.take(numbers)

    def _prepared(self, X: Any, numbers: Sequence[int] | NDArray[np.int64]) -> Any:
        return placed(self._table, self._prepare, X, numbers)

    def weighted_blocks(self) -> Iterator[tuple[Any, NDArray[np.float64] | None]]:
        for chunk in self.chunks(BLOCK_ROWS):
            yield chunk.X, chunk.weight

    def chunks(self, rows: int, first: int = 0) -> Iterator[Chunk]:
        """Yield all rows in order, cut at multiples of ``rows``, which must divide the length of a table's blocks.

        With ``first``, which must be one of these cuts, only the rows from that number on.
        """
        skipped = first // BLOCK_ROWS
        for chunk in self._cut(self._table.blocks(skipped), rows, skipped * BLOCK_ROWS):
            if chunk.first >= first:
                yield chunk

    def _cut(self, blocks: Iterable[Block], rows: int, first: int = 0) -> Iterator[Chunk]:
        for block in blocks:
            X = self._prepared(block.X, range(first, first + block.X.shape[0]))
            for start in range(0, X.shape[0], rows):
                part = slice(start, start + rows)
                yield Chunk(first + start, X[part], *(None if item is None else item[part] for item in block[1:]))
            first += X.shape[0]


def placed(table: Table, prepare: Callable[[Any], Any], X: Any, numbers: Sequence[int] | NDArray[np.int64]) -> Any:
    """Apply ``prepare`` to rows; if it refuses one, the error names the row as the user knows it."""
    try:
        return prepare(aligned(X))
    except RowError as error:
        row = int(numbers[error.row])
        raise ValueError(error.message.replace("{row}", table.where(row) or f"row {row}")) from error
