"""The passes of one fit over the rows of a table: each is reported, and its results may be kept in a checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from functools import reduce
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ...data import PartitionedTable, Table
from ...data.block import Block
from ...data.partitions import Join, Sums, Work, added
from ...data.table_rows import Chunk
from ...gpu.device import Device
from ..context import FitContext
from .progress import Callback, Reporter


class Seeing(Protocol):
    """An observer that is shown the rows of a pass; every partition has a copy, and the copies are joined."""

    def joined(self, later: Self) -> Self:
        """Return what was seen of both sets of rows."""
        ...

    def take_over(self, other: Self) -> None:
        """Replace what was seen by what another has seen."""
        ...


class Watcher(Seeing, Protocol):
    """An observer that is shown the features of a pass. Threads may show it chunks in any order."""

    def watch(self, Z: NDArray[Any], chunk: Chunk) -> None:
        """Show it the features of a chunk."""
        ...

    def fresh(self) -> Self:
        """Return a copy that has seen nothing."""
        ...


class PartSums(NamedTuple):
    """Sums over some rows, and the observers that have seen these rows."""

    sums: Sums
    seen: tuple[Seeing, ...]

    @staticmethod
    def joined(parts: list[PartSums]) -> PartSums:
        """Return the sums over all of these rows; observers of resumed sums have not seen their rows."""
        seen = [part.seen for part in parts if part.seen]
        joined = tuple(reduce(lambda ours, theirs: ours.joined(theirs), one) for one in zip(*seen, strict=True))
        return PartSums(added([part.sums for part in parts]), joined)


class Passes:
    """The passes of one fit over the rows of a table.

    Parameters
    ----------
    table : Table
        The rows.
    context : FitContext
        Progress, checkpoints and memory.
    callbacks : sequence of callables, default=()
        The callbacks of the learner.
    n_jobs : int or None, default=None
        The number of threads, for estimates of time before any was measured.
    device : Device or None, default=None
        Where to compute. None means the CPU.

    Attributes
    ----------
    report : Reporter
        Reports progress to callbacks.
    partitions : PartitionedTable or None
        The table, if its rows are in partitions that are summed where they are.
    """

    def __init__(
        self,
        table: Table,
        context: FitContext,
        callbacks: Sequence[Callback] = (),
        n_jobs: int | None = None,
        device: Device | None = None,
    ):
        self.context = context
        self.device, self.n_jobs = device, n_jobs
        self.partitions = table if isinstance(table, PartitionedTable) else None
        heard = [*callbacks, *([] if context.progress is None else [context.progress])]
        self.report = Reporter(heard, table.n_rows if heard else 0, n_jobs)
        if context.checkpoint is not None:
            context.checkpoint.begin(table)

    def within(self, context: FitContext) -> Passes:
        """Return the passes of the same fit in another context."""
        other = copy(self)
        other.context = context
        return other

    def begin(
        self, what: str, first: int = 0, added: Callable[[int], None] | None = None
    ) -> Callable[[int], None] | None:
        """Start a pass at row number ``first``; return a function that reports the number of finished rows, or None.

        ``added`` is called with that number first.
        """
        checkpoint = self.context.checkpoint
        if checkpoint is None:
            return self.report.begin(what, first) if self.report.is_heard else None

        def keep(rows: int) -> None:
            if added is not None:
                added(rows)
            checkpoint.tick()

        return self.report.begin(what, first, keep)

    def count_read(self) -> None:
        """Record that the table is read once more."""
        self.report.count_read()

    def over(self, what: str, blocks: Iterable[Block]) -> Iterator[Block]:
        """Yield these blocks of one reading of the table, each reported when the next one is requested."""
        self.count_read()
        tell, rows = self.begin(what), 0
        for block in blocks:
            yield block
            rows += block.X.shape[0]
            if tell is not None:
                tell(rows)

    def summed(self, what: str, add: Callable[[int, Any, Any], tuple[Any, ...]]) -> Sums:
        """Return the sums that ``add`` computes in a pass, given the first row, initial sums and a callback."""
        checkpoint = self.context.checkpoint
        if checkpoint is None:
            return add(0, None, self.begin(what))

        def take_up() -> Sums:
            begun = checkpoint.take_up(what)
            return add(begun.rows, begun.sums, self.begin(what, begun.rows, checkpoint.added))

        found = checkpoint.kept(what, take_up)
        self.report.drop(what)  # if the result was known, the pass has not started
        return found

    def folded(
        self,
        what: str,
        work: Work,
        join: Join,
        arguments: Sequence[Any] | None = None,
        held: int = 0,
        is_read: bool = True,
    ) -> Any:
        """Return the results of ``work`` on each partition, combined in a tree, in a pass of this name.

        ``work`` is given a partition and its argument, by default the number of its first row.
        """
        assert self.partitions is not None
        arguments = self.partitions.starts if arguments is None else arguments
        if is_read:
            self.count_read()
        return self.partitions.parts.folded(
            work, join, arguments, held, done=counting(self.begin(what), self.partitions.slices())
        )

    def summed_partitions(
        self, what: str, work: Callable[[Table, int], PartSums], held: int, seen: Sequence[Seeing]
    ) -> Sums:
        """Return the sums over partitions of the results of ``work`` on each, given also the number of its first row.

        The observer ``seen`` is updated. If a checkpoint keeps sums, they are fetched after every group of partitions.
        """
        assert self.partitions is not None
        table = self.partitions
        self.count_read()

        def add(first: int, totals: Any, tell: Callable[[int], None] | None) -> Sums:
            begin, grouped, done = int(np.searchsorted(table.firsts, first)), None, counting(tell, table.slices())
            if self.context.checkpoint is not None:

                def kept(found: PartSums, place: int) -> None:
                    totals[:] = found.sums
                    if tell is not None:
                        tell(int(table.firsts[place]))

                grouped, done = kept, counting(None, table.slices())
            before = PartSums(tuple(totals), ()) if totals else None
            found = table.parts.folded(work, PartSums.joined, table.starts, held, before, begin, done, grouped)
            for ours, theirs in zip(seen, found.seen, strict=bool(found.seen)):
                ours.take_over(theirs)
            return tuple(found.sums)

        return self.summed(what, add)


def counting(tell: Callable[[int], None] | None, slices: list[slice]) -> Callable[[int], None]:
    """Return a function to call with each finished partition, in any order; it reports how many rows are done."""
    rows = 0

    def done(place: int) -> None:
        nonlocal rows
        rows += slices[place].stop - slices[place].start
        if tell is not None:
            tell(rows)

    return done


def limit_of(passes: Passes) -> int | None:
    """Return the largest number of bytes for a fit, or for its device; None means the memory of the machine."""
    if passes.context.memory is not None:
        return passes.context.memory
    return None if passes.device is None else passes.device.memory()


def workers_limit(passes: Passes) -> int | None:
    """Return the bytes that work on a partition may take where it is; None if that is not known, or here."""
    return None if passes.partitions is None else passes.partitions.parts.memory


def after_chunks(tell: Callable[[int], None] | None) -> Callable[[Any], None] | None:
    """Return ``tell`` as a function of chunks, which know the number of finished rows."""
    return None if tell is None else lambda chunk: tell(chunk.stop)
