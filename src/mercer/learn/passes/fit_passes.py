"""The passes of one fit over the rows of a table: each is reported, and its results may be kept in a checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from typing import Any

from ...data import Table
from ...data.block import Block
from ...gpu.device import Device
from ..context import FitContext
from .progress import Callback, Reporter


class Passes:
    """The passes of one fit over the rows of a table.

    Parameters
    ----------
    table : Table
        The rows.
    context : FitContext
        Progress, checkpoints and memory.
    callback : callable or None, default=None
        The callback of the learner.
    n_jobs : int or None, default=None
        The number of threads, for estimates of time before any was measured.
    device : Device or None, default=None
        Where to compute. None means the CPU.

    Attributes
    ----------
    report : Reporter
        Reports progress to callbacks.
    """

    def __init__(
        self,
        table: Table,
        context: FitContext,
        callback: Callback | None = None,
        n_jobs: int | None = None,
        device: Device | None = None,
    ):
        self.context = context
        self.device = device
        callbacks = [one for one in (callback, context.progress) if one is not None]
        self.report = Reporter(callbacks, table.n_rows if callbacks else 0, n_jobs)
        if context.checkpoint is not None:
            context.checkpoint.begin(table)

    def within(self, context: FitContext) -> Passes:
        """Return the same fit in another context."""
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

    def summed(self, what: str, add: Callable[[int, Any, Any], tuple[Any, ...]]) -> tuple[Any, ...]:
        """Return the sums that ``add`` computes in a pass, given the first row, initial sums and a callback."""
        checkpoint = self.context.checkpoint
        if checkpoint is None:
            return add(0, None, self.begin(what))

        def take_up() -> tuple[Any, ...]:
            begun = checkpoint.take_up(what)
            return add(begun.rows, begun.sums, self.begin(what, begun.rows, checkpoint.added))

        found = checkpoint.kept(what, take_up)
        self.report.drop(what)  # if the result was known, the pass has not started
        return found


def limit_of(passes: Passes) -> int | None:
    """Return the largest number of bytes for a fit where it computes; None means the memory of the machine."""
    if passes.context.memory is not None or passes.device is None:
        return passes.context.memory
    return passes.device.memory()


def after_chunks(tell: Callable[[int], None] | None) -> Callable[[Any], None] | None:
    """Return ``tell`` as a function of chunks, which know the number of finished rows."""
    return None if tell is None else lambda chunk: tell(chunk.stop)
