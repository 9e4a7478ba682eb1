"""The rows that a map, a kernel or a learner learns from: a sample of them, and passes over blocks or chunks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._array import aligned, is_foreign, to_numpy
from .._random import Stream, as_seed
from .block import BLOCK_ROWS, Block, part_of, stacked
from .table import Table


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


class RowError(ValueError):
    """What is wrong with the row of this number, which stands for ``{row}`` in the message."""

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
        """The number of the row after them."""
        return int(self.first + self.X.shape[0])


class TableRows(Rows):
    """The rows of a table as ``prepare`` makes them, anew in every pass."""

    def __init__(self, table: Table, prepare: Callable[[Any], Any], rng: Stream):
        super().__init__(rng)
        self._table = table
        self._prepare = prepare

    @property
    def n_rows(self) -> int:
        return self._table.n_rows

    @cached_property
    def _first(self) -> Any:
        """A few rows, for what all have in common."""
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
        for part in self._table.take(rest):
            parts.append(self._prepared(part, rest[: part.shape[0]]))
            rest = rest[part.shape[0] :]
        taken = stacked(parts)
        return taken if (order[1:] > order[:-1]).all() else taken[np.argsort(order)]

    def _prepared(self, X: Any, numbers: Sequence[int] | NDArray[np.int64]) -> Any:
        return placed(self._table, self._prepare, X, numbers)

    def weighted_blocks(self) -> Iterator[tuple[Any, NDArray[np.float64] | None]]:
        for chunk in self.chunks(BLOCK_ROWS):
            yield chunk.X, chunk.weight

    def chunks(self, rows: int, first: int = 0) -> Iterator[Chunk]:
        """All rows in order, cut at multiples of ``rows``, which divides the length of a table's blocks.

        Or those from number ``first`` on, where one of these cuts is.
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
    """What ``prepare`` makes of rows; where it refuses one, the error says which, as a person counts."""
    try:
        return prepare(aligned(X))
    except RowError as error:
        row = int(numbers[error.row])
        raise ValueError(error.message.replace("{row}", table.where(row) or f"row {row}")) from error
