"""The passes of one fit over the rows of a table: each is told of, and what it finds may be kept in a checkpoint."""

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
    context : FitContext
    callback : callable or None, default=None
        That of the learner.
    n_jobs : int or None, default=None
        Threads, by which the time is estimated before any was measured.
    device : Device or None, default=None
        Where the arithmetic is done; None is the processor.

    Attributes
    ----------
    report : Reporter
        Tells callbacks how far the fit is.
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
        """The same fit in another context."""
        other = copy(self)
        other.context = context
        return other

    def begin(
        self, what: str, first: int = 0, added: Callable[[int], None] | None = None
    ) -> Callable[[int], None] | None:
        """A pass from row number ``first`` on: a function of how many rows are done, or None where nobody asks.

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
        """The table is read once more."""
        self.report.count_read()

    def over(self, what: str, blocks: Iterable[Block]) -> Iterator[Block]:
        """These blocks of one reading of the table, each told of when the next one is asked for."""
        self.count_read()
        tell, rows = self.begin(what), 0
        for block in blocks:
            yield block
            rows += block.X.shape[0]
            if tell is not None:
                tell(rows)

    def summed(self, what: str, add: Callable[[int, Any, Any], tuple[Any, ...]]) -> tuple[Any, ...]:
        """What ``add`` sums in a pass: from this row on, to these sums, told by this function of the rows done."""
        checkpoint = self.context.checkpoint
        if checkpoint is None:
            return add(0, None, self.begin(what))

        def take_up() -> tuple[Any, ...]:
            begun = checkpoint.take_up(what)
            return add(begun.rows, begun.sums, self.begin(what, begun.rows, checkpoint.added))

        found = checkpoint.kept(what, take_up)
        self.report.drop(what)  # where it was known, it has not begun
        return found


def limit_of(passes: Passes) -> int | None:
    """The most bytes that a fit may take where it does its arithmetic; None is what the machine has."""
    if passes.context.memory is not None or passes.device is None:
        return passes.context.memory
    return passes.device.memory()


def after_chunks(tell: Callable[[int], None] | None) -> Callable[[Any], None] | None:
    """``tell`` as a function of chunks, which know how many rows are done with them."""
    return None if tell is None else lambda chunk: tell(chunk.stop)
