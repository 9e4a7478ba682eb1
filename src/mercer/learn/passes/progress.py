"""What a learner tells of its passes over the rows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

from ..estimates.time_forecast import Forecast, Work

Callback = Callable[["Progress"], None]


class Progress(NamedTuple):
    """What a callback is told after every block of rows, and once more when the coefficients are found.

    Passes are counted from 1 in every ``fit``, those that prepare included. Where one scan of the rows serves several
    steps, ``what`` names all of them, as in "scales and labels". Curvatures of several classes are found by passes side
    by side. Passes that only count rows, or that fetch a sample which no scan could take along, are not reported. The
    last call, whose ``what`` is "solution", comes before anything is fitted, so that an error raised there leaves
    nothing fitted either.

    The time left is estimated from the speed so far and from the passes that are still to come. Sums over rows take a
    known number of them; how many steps a solver still needs is extrapolated from how fast its gap has fallen.

    Attributes
    ----------
    number : int
        The pass.
    what : str
        What the pass is for.
    rows : int
        How many rows this pass has gone through.
    n_rows : int
        How many rows there are.
    rows_per_second : float
        The speed of this pass so far.
    seconds_left : float
        How long this pass will still take at that speed.
    objective : float or None
        The last value of what is minimised; None where nothing is, or before it is known.
    share : float
        How much of the whole fit is done, by time, from 0 to 1. It never falls: where more turns out to be left than
        was thought, it stands still. A fit that resumes an earlier one counts from where it goes on.
    seconds : float
        The time since the fit began.
    total_seconds_left : float
        How long the whole fit will still take, as estimated now.
    reads : int
        How many times the table has been read so far, this time included. A scan that serves several steps counts once,
        and a pass over features that are held in memory reads nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.learn import KernelClassifier
    >>> X = np.random.default_rng(0).normal(size=(5000, 2))
    >>> seen = []
    >>> model = KernelClassifier("gaussian", C=1.0, preparation=None, n_components=32, random_state=0)
    >>> model = model.set_params(callback=seen.append).fit(X, X[:, 0] > 0)
    >>> seen[0][:4]
    (1, 'labels', 4096, 5000)
    >>> seen[-1].what, seen[-1].objective < 5000
    ('solution', True)
    >>> all(0.0 < one.share <= 1.0 for one in seen), seen[-1].share, seen[-1].total_seconds_left
    (True, 1.0, 0.0)
    """

    number: int
    what: str
    rows: int
    n_rows: int
    rows_per_second: float = 0.0
    seconds_left: float = 0.0
    objective: float | None = None
    share: float = 0.0
    seconds: float = 0.0
    total_seconds_left: float = 0.0
    reads: int = 0


class Reporter:
    """Tells callbacks how far a fit over ``n_rows`` rows is.

    Parameters
    ----------
    callbacks : sequence of callables
    n_rows : int
    n_jobs : int or None, default=None
        Threads, by which the time is estimated before any was measured.

    Attributes
    ----------
    objective : float or None
        The last value of what is minimised, which the solver keeps up to date.
    """

    def __init__(self, callbacks: Sequence[Callback], n_rows: int, n_jobs: int | None = None):
        self.objective: float | None = None
        self._callbacks = callbacks
        self._n_rows = n_rows
        self._number = 0
        self._reads = 0
        self._lock = threading.Lock()  # passes may run side by side, and the callback is called once at a time
        self._forecast = Forecast(perf_counter(), n_jobs)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_callbacks": [], "_lock": None}  # who is told is here, and not where it is sent

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())

    @property
    def is_heard(self) -> bool:
        """Whether anybody is told."""
        return bool(self._callbacks)

    def count_read(self) -> None:
        """The table is read once more."""
        with self._lock:
            self._reads += 1

    def expect(self, works: Sequence[Work]) -> None:
        """What is still to come from here on, in place of what was expected before."""
        with self._lock:
            self._forecast.plan(works)

    def drop(self, what: str) -> None:
        """The next work of this kind is not to be expected any more."""
        with self._lock:
            self._forecast.drop(what)

    def done(self, what: str) -> None:
        """Work that goes through no rows, such as a decomposition, has ended."""
        with self._lock:
            self._forecast.done(what, perf_counter())

    def end(self) -> None:
        """The coefficients are found: the last thing that is told."""
        if not self._callbacks:
            return
        with self._lock:
            forecast, now = self._forecast, perf_counter()
            seconds, rows = now - forecast.began, self._n_rows
            self._number += 1
            told = Progress(self._number, "solution", rows, rows, rows / max(seconds, 1e-9), 0.0, self.objective)
            for callback in self._callbacks:
                callback(told._replace(share=1.0, seconds=seconds, reads=self._reads))

    def begin(self, what: str, first: int = 0, keep: Callable[[int], None] | None = None) -> Callable[[int], None]:
        """A pass from row number ``first`` on: a function of how many rows are done.

        ``keep`` is called with that number before anybody is told.
        """
        started, number, before = perf_counter(), 0, first
        n_rows, forecast = max(self._n_rows, 1), self._forecast
        with self._lock:
            token = forecast.begin(what, 1.0 - first / n_rows)

        def tell(rows: int) -> None:
            nonlocal number, before
            with self._lock:
                if number == 0:  # not before: a pass may end before its first block does
                    number = self._number = self._number + 1
                if keep is not None:
                    keep(rows)
                now = perf_counter()
                speed = (rows - first) / max(now - started, 1e-9)
                left = (self._n_rows - rows) / max(speed, 1e-9)
                forecast.advance(token, what, (rows - before) / n_rows, (n_rows - rows) / n_rows, now)
                before = rows
                all_left = forecast.seconds_left(0.0 if forecast.is_planned(what) else left)
                whole = forecast.share_with(all_left, now), now - forecast.began, all_left, self._reads
                for callback in self._callbacks:
                    callback(Progress(number, what, rows, self._n_rows, speed, left, self.objective, *whole))

        return tell
