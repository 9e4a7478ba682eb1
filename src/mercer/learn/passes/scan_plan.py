"""The pass planner: what the steps of a fit need from the rows, served by as few scans of the table as possible.

A step states its needs with :meth:`ScanPlan.add`, and the next scan that another step makes serves them along the way.
The table is scanned again only if a step depends on the results of another one: for instance, the scales of levels
depend on which levels there are. If only targets are needed, the features are not read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy, deepcopy
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..._random import Stream
from ...data import PartitionedTable, Table
from ...data.block import BLOCK_ROWS, Block, concatenated, part_of, rows_of
from .fit_passes import Passes

if TYPE_CHECKING:
    from ..pilot.settled_arguments import Settled

Found = TypeVar("Found")


class Need(ABC):
    """The need of a step for a scan of the rows, which passes every block to it, in order."""

    needs_features = True
    """Whether the step uses features, and not only targets and weights."""

    @abstractmethod
    def begin(self) -> None:
        """Start with a new scan; the results of an earlier one that was not completed are discarded."""

    @abstractmethod
    def update(self, block: Block, first: int) -> None:
        """Process the next block, whose first row has this number."""

    def join(self, later: Self) -> None:
        """Take over what another has found in the partitions that follow."""
        raise NotImplementedError(f"{type(self).__name__} cannot be found in partitions")


EMPTY: Mapping[str, Need] = MappingProxyType({})


class ScanPlan:
    """Scans of one table, each of which serves all needs that are pending when it starts.

    Parameters
    ----------
    table : Table
        The rows.
    passes : Passes
        Reports every scan.
    needs : mapping of str to Need, default={}
        The needs that the first scan serves, by name.

    Attributes
    ----------
    settled : Settled or None
        What a pilot on these rows has chosen and learned, if there was one.
    """

    def __init__(self, table: Table, passes: Passes, needs: Mapping[str, Need] = EMPTY):
        self.table = table
        self.passes = passes
        self.settled: Settled | None = None
        self._waiting: dict[str, Need] = dict(needs)

    def add(self, what: str, need: Need) -> None:
        """Let the next scan serve this need."""
        self._waiting[what] = need

    def scan(self, what: str) -> Iterator[Block]:
        """Yield all blocks, for the step with this name and for all pending needs."""
        return self._served([what, *self._waiting], self.table.blocks())

    def found(
        self, what: str, look: Callable[[Iterable[Block]], Found], join: Callable[[Found, Found], Found]
    ) -> Found:
        """Return what ``look`` finds in all blocks, for the step with this name; the scan also serves pending needs.

        Partitions are examined where they are, and the results are joined in the order of the partitions.
        """
        if not isinstance(self.table, PartitionedTable):
            return look(self.scan(what))
        return self._found_apart(what, self.table, look, join, whole=True)

    def _found_apart(
        self, what: str, table: PartitionedTable, look: Callable[[Iterable[Block]], Any], join: Any, whole: bool
    ) -> Any:
        needs = list(self._waiting.values())
        for need in needs:
            need.begin()
        self.passes.count_read()
        tell = self.passes.begin(" and ".join(dict.fromkeys([what, *self._waiting])))
        found, rows = None, 0
        looking = partial(looked_at, look=look, needs=deepcopy(needs), whole=whole)
        for here, seen in table.parts.each(looking, table.starts):
            found = here if rows == 0 else join(found, here)
            for need, part in zip(needs, seen, strict=True):
                need.join(part)
            rows = int(table.firsts[np.searchsorted(table.firsts, rows, side="right")])
            if tell is not None:
                tell(rows)
        self._waiting = {}
        return found

    def finish(self) -> None:
        """Scan for all pending needs, if there are any: only the targets if they are sufficient."""
        if self._waiting:
            whole = any(need.needs_features for need in self._waiting.values())
            if isinstance(self.table, PartitionedTable):
                names = list(self._waiting)
                self._found_apart(names[0], self.table, all_of, lambda ours, theirs: None, whole)
                return
            for _ in self._served(list(self._waiting), self.table.blocks() if whole else self.table.targets()):
                pass

    def _served(self, names: list[str], blocks: Iterator[Block]) -> Iterator[Block]:
        needs, first = list(self._waiting.values()), 0
        for need in needs:
            need.begin()
        for block in self.passes.over(" and ".join(names), blocks):
            for need in needs:
                need.update(block, first)
            yield block
            first += block.X.shape[0]
        self._waiting = {}  # not earlier, since a scan that ends early has not served any need


def looked_at(
    table: Table, first: int, look: Callable[[Iterable[Block]], Any], needs: list[Need], whole: bool
) -> tuple[Any, list[Need]]:
    """Return what is found in one partition, whose first row has this number, with the needs that it has served."""

    def served() -> Iterator[Block]:
        row = first
        for block in table.blocks() if whole else table.targets():
            for need in needs:
                need.update(block, row)
            yield block
            row += block.X.shape[0]

    needs = [copy(need) for need in needs]
    for need in needs:
        need.begin()
    return look(served()), needs


def all_of(blocks: Iterable[Block]) -> None:
    """Consume all blocks, for the side effects of reading them."""
    for _ in blocks:
        pass


class RowSample(Need):
    """The rows that :meth:`mercer.data.Rows.choose` returns, before any preparation.

    Row i has the i-th word of a stream, and the rows with the smallest words are chosen, so that the number of rows
    need not be known. A smaller sample is part of a larger one.

    Parameters
    ----------
    rng : Stream
        Determines the sample.
    count : int
        The largest number of rows in it.
    """

    def __init__(self, rng: Stream, count: int):
        self._rng, self._count = rng, count
        self.begin()

    def begin(self) -> None:
        self._words = np.zeros(0, dtype=np.uint64)
        self._numbers = np.zeros(0, dtype=np.int64)
        self._parts: list[tuple[NDArray[np.int64], Block]] = []
        self._below: int | None = None

    def update(self, block: Block, first: int) -> None:
        words = self._rng.words(block.X.shape[0], first)
        chosen = np.arange(len(words)) if self._below is None else np.flatnonzero(words < self._below)
        if len(chosen):
            self._parts.append((first + chosen, rows_of(block, chosen)))
            self._words = np.concatenate([self._words, words[chosen]])
            self._numbers = np.concatenate([self._numbers, first + chosen])
        spare = max(self._count // 4, BLOCK_ROWS)  # avoids dropping rows after every block, which takes time
        if len(self._words) > self._count + spare:
            self._drop_largest()

    def join(self, later: Self) -> None:
        self._parts += later._parts
        self._words = np.concatenate([self._words, later._words])
        self._numbers = np.concatenate([self._numbers, later._numbers])
        if len(self._words) > self._count:
            self._drop_largest()

    def _drop_largest(self) -> None:
        kept = np.sort(np.argpartition(self._words, self._count)[: self._count])
        self._words, self._numbers = self._words[kept], self._numbers[kept]
        self._below = int(self._words.max())
        self._parts = [(numbers, block) for numbers, block in map(self._among_kept, self._parts) if len(numbers)]

    def _among_kept(self, part: tuple[NDArray[np.int64], Block]) -> tuple[NDArray[np.int64], Block]:
        numbers, block = part
        places = np.flatnonzero(np.isin(numbers, self._numbers, assume_unique=True))
        return part if len(places) == len(numbers) else (numbers[places], rows_of(block, places))

    def holds(self, numbers: NDArray[np.int64]) -> bool:
        """Return whether all rows of these numbers are in the sample."""
        return bool(np.isin(numbers, self._numbers).all())

    def take(self, numbers: NDArray[np.int64]) -> list[Any]:
        """Return the rows with these increasing numbers, one part per block that has some."""
        return [part_of(block.X, places) for block, places in self._places(numbers)]

    def numbers(self, count: int) -> NDArray[np.int64]:
        """Return the increasing numbers of at most ``count`` rows: a smaller sample than this one, or all of it."""
        if len(self._numbers) <= count:
            return self._numbers
        return np.sort(self._numbers[np.argpartition(self._words, count)[:count]])

    def block(self, count: int) -> Block:
        """Return the rows of a sample of this size, with their targets and weights."""
        return concatenated([rows_of(block, places) for block, places in self._places(self.numbers(count))])

    def _places(self, numbers: NDArray[np.int64]) -> Iterator[tuple[Block, NDArray[np.int64]]]:
        for held, block in self._parts:
            here = numbers[np.searchsorted(numbers, held[0]) : np.searchsorted(numbers, held[-1], side="right")]
            if len(here):
                yield block, np.searchsorted(held, here)
