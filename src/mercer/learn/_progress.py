"""What a learner tells of its passes over the rows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from .._random import as_seed
from ..data import Table
from ..data.tables import Block

if TYPE_CHECKING:
    from ._keeping import Keeper

Callback = Callable[["Progress"], None]


class Progress(NamedTuple):
    """What a callback is told after every block of rows.

    Passes are counted from 1 in every ``fit``, those that prepare included. Curvatures of several classes are found by
    passes side by side. Only the pass that counts the rows of :class:`mercer.data.Blocks`, and those that take some
    of them as a sample, are not told of.

    Attributes
    ----------
    number : the pass
    what : what it is for
    rows, n_rows : the rows gone through in this pass, and all rows
    rows_per_second : in this pass so far
    seconds_left : until this pass has ended, if it goes on like that
    objective : the last value of what is minimised, None where nothing is, or before it is known

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.learn import KernelClassifier
    >>> X = np.random.default_rng(0).normal(size=(5000, 2))
    >>> seen = []
    >>> model = KernelClassifier(n_components=32, random_state=0, callback=seen.append).fit(X, X[:, 0] > 0)
    >>> seen[0][:4]
    (1, 'labels', 4096, 5000)
    >>> seen[-1].what, seen[-1].objective < 5000
    ('conjugate gradients', True)
    """

    number: int
    what: str
    rows: int
    n_rows: int
    rows_per_second: float = 0.0
    seconds_left: float = 0.0
    objective: float | None = None


class Watch:
    """Tells a callback and a keeper, where there are any, of the passes over the rows of a table.

    ``objective`` is for the learner to keep up to date.
    """

    def __init__(self, callback: Callback | None, table: Table, keeper: Keeper | None = None):
        self.objective: float | None = None
        self.keeper = keeper
        progress = None if keeper is None else keeper.progress
        self._callbacks = [one for one in (callback, progress) if one is not None]
        self._n_rows = table.n_rows if self._callbacks else 0
        if keeper is not None:
            keeper.begin(table)
        self._number = 0
        self._lock = threading.Lock()  # passes may run side by side, and the callback is called once at a time

    def seed(self, random_state: Any) -> int:
        """The integer that names the randomness of the next map."""
        return as_seed(random_state) if self.keeper is None else self.keeper.seed(lambda: as_seed(random_state))

    def summed(self, what: str, add: Callable[[int, Any, Any], tuple[Any, ...]]) -> tuple[Any, ...]:
        """What ``add`` sums in a pass: from this row on, to these sums, told by this function of the rows done."""
        keeper = self.keeper
        if keeper is None:
            return add(0, None, self.begin(what))

        def take_up() -> tuple[Any, ...]:
            begun = keeper.take_up(what)
            return add(begun.rows, begun.sums, self.begin(what, begun.rows, keeper.added))

        return keeper.kept(what, take_up)

    def begin(
        self, what: str, first: int = 0, added: Callable[[int], None] | None = None
    ) -> Callable[[int], None] | None:
        """A pass from row number ``first`` on: a function of how many rows are done, or None where nobody asks.

        ``added`` is told first.
        """
        keeper, started, number = self.keeper, perf_counter(), 0
        if keeper is None and not self._callbacks:
            return None

        def tell(rows: int) -> None:
            nonlocal number
            with self._lock:
                if number == 0:  # not before: a pass may end before its first block does
                    number = self._number = self._number + 1
                if added is not None:
                    added(rows)
                if keeper is not None:
                    keeper.tick()
                speed = (rows - first) / max(perf_counter() - started, 1e-9)
                left = (self._n_rows - rows) / max(speed, 1e-9)
                for callback in self._callbacks:
                    callback(Progress(number, what, rows, self._n_rows, speed, left, self.objective))

        return tell

    def over(self, what: str, blocks: Iterable[Block]) -> Iterator[Block]:
        """These blocks, each told of when the next one is asked for."""
        tell, rows = self.begin(what), 0
        for block in blocks:
            yield block
            rows += block.X.shape[0]
            if tell is not None:
                tell(rows)


def after_parts(tell: Callable[[int], None] | None) -> Callable[[Any], None] | None:
    """The same as a function of parts, whose first entry are consecutive rows."""
    return None if tell is None else lambda part: tell(part[0].stop)
