"""Rows with their targets and weights, before anything is prepared: a matrix, a frame, or a stream of blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array

from .fingerprints import digest, hashed
from .frames import (
    check_infinite,
    columns,
    frame_rows,
    holds,
    is_frame,
    is_missing,
    kind_of,
    names_of,
    row_label,
    settled,
    stacked_frames,
)
from .rows import BLOCK_ROWS
from .times import days_of


class Block(NamedTuple):
    """Consecutive rows; ``y`` and ``weight`` are None where there are none."""

    X: Any
    y: Any = None
    weight: NDArray[np.float64] | None = None


def part_of(X: Any, rows: Any) -> Any:
    """Some rows of a matrix or a frame."""
    if is_frame(X):
        return frame_rows(X, rows)
    if sp.issparse(X) and isinstance(rows, slice):  # which SciPy would copy
        first, last, _ = rows.indices(X.shape[0])
        begin, end = int(X.indptr[first]), int(X.indptr[max(first, last)])
        starts = X.indptr[first : max(first, last) + 1] - begin
        return type(X)((X.data[begin:end], X.indices[begin:end], starts), shape=(len(starts) - 1, X.shape[1]))
    return X[rows]


def without_duplicates(X: Any) -> Any:
    """A matrix whose entries are stored once: those of CSR that are stored twice add up, as statistics do not know."""
    if not sp.issparse(X) or X.has_canonical_format:
        return X
    summed = X.copy()
    summed.sum_duplicates()
    return X if summed.nnz == X.nnz else summed


def rows_of(block: Block, rows: Any) -> Block:
    """Some rows of a block."""
    return Block(part_of(block.X, rows), *(None if item is None else item[rows] for item in block[1:]))


def joined(blocks: list[Block]) -> Block:
    """Consecutive blocks as one; weights of 1 where only some blocks have weights."""
    if len(blocks) == 1:
        return blocks[0]
    X = stacked([block.X for block in blocks])
    y = None if blocks[0].y is None else stacked([block.y for block in blocks])
    if all(block.weight is None for block in blocks):
        return Block(X, y)
    return Block(X, y, stacked([np.ones(b.X.shape[0]) if b.weight is None else b.weight for b in blocks]))


def without_weightless(block: Block) -> Block:
    """The rows whose weight is not 0: one of weight 0 is none."""
    if block.weight is None or block.weight.all():
        return block
    return rows_of(block, np.flatnonzero(block.weight))


def recut(parts: Iterable[Block]) -> Iterator[Block]:
    """Blocks of ``BLOCK_ROWS`` rows, but for the last, of blocks of any size."""
    waiting: list[Block] = []
    count = 0
    for block in parts:
        start = 0
        while start < block.X.shape[0]:
            waiting.append(rows_of(block, slice(start, start + BLOCK_ROWS - count)))
            taken = waiting[-1].X.shape[0]
            start, count = start + taken, count + taken
            if count == BLOCK_ROWS:
                yield joined(waiting)
                waiting, count = [], 0
    if waiting:
        yield joined(waiting)


class Table(ABC):
    """Blocks of rows in a fixed order, as often as they are asked for."""

    @abstractmethod
    def blocks(self, start: int = 0) -> Iterator[Block]:
        """One pass over all rows in order, from block number ``start`` on.

        Blocks have ``BLOCK_ROWS`` rows, but for the last. Cuts do not hang on how rows arrive, so that sums over them
        have the same bits.
        """

    @property
    @abstractmethod
    def n_rows(self) -> int: ...

    def fingerprint(self) -> str:
        """A short text that other rows do not share; it takes a pass over them where they are not files."""
        return digest(*(hashed(part) for block in self.blocks() for part in block))

    def head(self) -> Block:
        """The first block; an error where there are no rows."""
        block = next(iter(self.blocks()), None)
        if block is None:
            raise ValueError("the table has no rows")
        return block

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the columns, None where they have none."""
        X = self.head().X
        return tuple(names_of(X)) if is_frame(X) else None

    @property
    def target_name(self) -> str | int | tuple[str, ...] | None:
        """The column of the targets, None where it has no name or number."""
        return None

    @property
    def weight_name(self) -> str | int | None:
        """The column of the weights, None where it has no name or number."""
        return None

    def features(self) -> Table:
        """The table without targets and weights, where that is another one."""
        return self

    def targets(self) -> Iterator[Block]:
        """One pass over targets and weights; X may be whatever is cheapest to give."""
        return self.blocks()

    def where(self, row: int) -> str | None:
        """What a person calls the row of this number, such as a line of a file; None where that is its number."""
        return None

    def take(self, numbers: NDArray[np.int64]) -> list[Any]:
        """The rows of these numbers, which rise, in parts."""
        parts, first = [], 0
        for block in self.blocks():
            last = first + block.X.shape[0]
            here = numbers[np.searchsorted(numbers, first) : np.searchsorted(numbers, last)]
            if len(here):
                parts.append(part_of(block.X, here - first))
            first = last
        return parts


class ArrayTable(Table):
    """A matrix or a frame in memory, already validated.

    Rows of weight 0 are left out unless ``square`` says that the matrix is one of kernel values between its rows; they
    then have the target of another row.
    """

    def __init__(self, X: Any, y: Any = None, weight: NDArray[np.float64] | None = None, square: bool = False):
        self._given, self._numbers = X, None
        if square and y is not None and weight is not None:
            y = y[np.where(weight > 0.0, np.arange(len(weight)), np.argmax(weight > 0.0))]
        elif weight is not None and not weight.all():
            self._numbers = np.flatnonzero(weight)
        self._all = Block(X, y, weight) if square else without_weightless(Block(X, y, weight))

    @property
    def n_rows(self) -> int:
        return int(self._all.X.shape[0])

    def blocks(self, start: int = 0) -> Iterator[Block]:
        for first in range(start * BLOCK_ROWS, self.n_rows, BLOCK_ROWS):
            yield rows_of(self._all, slice(first, first + BLOCK_ROWS))

    def where(self, row: int) -> str | None:
        return row_label(self._given, row if self._numbers is None else int(self._numbers[row]))

    def fingerprint(self) -> str:
        return digest(*map(hashed, self._all))

    def take(self, numbers: NDArray[np.int64]) -> list[Any]:
        return [part_of(self._all.X, numbers)]


class Blocks(Table):
    """Rows that come block by block, as from files of your own, in as many passes as a learner asks for.

    Parameters
    ----------
    source : iterable, or function that returns one
        Each time it is gone through it gives the same blocks: X, or (X, y), or (X, y, weights), with X a matrix (dense
        or CSR) or a frame. An iterator, which can be gone through only once, is refused: give the function that makes
        it.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data import Blocks
    >>> def read():
    ...     for number in range(3):
    ...         X = np.random.default_rng(number).normal(size=(100, 4))
    ...         yield X, X[:, 0] ** 2
    >>> Blocks(read).n_rows
    300
    """

    def __init__(self, source: Iterable[Any] | Callable[[], Iterable[Any]]):
        if not callable(source) and iter(source) is source:
            raise TypeError(
                "the source of Blocks must be gone through several times, found an iterator: give the function that "
                "makes it, or a list"
            )
        self._source = source
        self._n_rows: int | None = None

    @property
    def n_rows(self) -> int:
        if self._n_rows is None:
            self._n_rows = sum(block.X.shape[0] for block in self.blocks())
        return self._n_rows

    def blocks(self, start: int = 0) -> Iterator[Block]:
        source = self._source() if callable(self._source) else self._source
        return islice(recut(map(without_weightless, alike(map(as_block, source)))), start, None)


def alike(blocks: Iterable[Block]) -> Iterator[Block]:
    """Blocks as they are; an error where a column of frames is not what it was in the first of them."""
    first: dict[str, str] | None = None
    for block in blocks:
        if is_frame(block.X):
            here = {name: holds(kind_of(column)) for name, column in columns(block.X).items()}
            first = here if first is None else first
            for name in [name for name in first if here.get(name) != first[name]]:
                if name not in here:
                    raise ValueError(f"a block has no column {name!r}; it has {', '.join(map(repr, here))}")
                if not is_missing(columns(block.X)[name]):
                    raise ValueError(
                        f"column {name!r} has {first[name]} in the first block and {here[name]} in a later one"
                    )
        yield block


def checked_weights(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weights of a block, where each is a number that is not negative."""
    wrong = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0.0)))
    if len(wrong):
        row = int(wrong[0])
        raise ValueError(f"weights must be finite numbers of at least 0, found {weight[row]} in row {row} of a block")
    return weight


def as_block(item: Any) -> Block:
    """One item of a source, its rows checked for what every learner needs."""
    parts = item if isinstance(item, tuple) else (item,)
    if not 1 <= len(parts) <= 3:
        raise ValueError(f"a block must be X, (X, y) or (X, y, weights), found a tuple of {len(parts)}")
    X, y, weight = (*parts, None, None, None)[:3]
    if is_frame(X):
        X = settled(X)
        check_infinite(X)
    else:
        X = without_duplicates(
            check_array(
                days_of(X),
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                ensure_all_finite="allow-nan",
                ensure_min_samples=0,
            )
        )
    y = None if y is None else np.asarray(y)
    weight = None if weight is None else checked_weights(np.asarray(weight, dtype=np.float64))
    for name, part in (("y", y), ("weights", weight)):
        if part is not None and part.shape[0] != X.shape[0]:
            raise ValueError(f"a block of {X.shape[0]} rows has {part.shape[0]} {name}")
    return Block(X, y, weight)


def stacked(parts: list[Any]) -> Any:
    """Matrices or frames one below the other."""
    if len(parts) == 1:
        return parts[0]
    if is_frame(parts[0]):
        return stacked_frames(parts)
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)
