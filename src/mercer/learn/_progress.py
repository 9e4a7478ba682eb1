"""What a learner tells of its passes over the rows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from time import perf_counter
from typing import Any, NamedTuple

from ..data import Table
from ..data.tables import Block

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
    """Tells a callback, where there is one, of the passes over the rows of a table.

    ``objective`` is for the learner to keep up to date.
    """

    def __init__(self, callback: Callback | None, table: Table):
        self.objective: float | None = None
        self._callback = callback
        self._n_rows = 0 if callback is None else table.n_rows
        self._number = 0
        self._lock = threading.Lock()  # passes may run side by side, and the callback is called once at a time

    def begin(self, what: str) -> Callable[[int], None] | None:
        """A pass: a function of how many rows are done, or None where nobody asks."""
        callback, started, number = self._callback, perf_counter(), 0
        if callback is None:
            return None

        def tell(rows: int) -> None:
            nonlocal number
            with self._lock:
                if number == 0:  # not before: a pass may end before its first block does
                    number = self._number = self._number + 1
                speed = rows / max(perf_counter() - started, 1e-9)
                left = (self._n_rows - rows) / max(speed, 1e-9)
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
