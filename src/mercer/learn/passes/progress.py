"""The reports of a learner about its passes over the rows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

from ..estimates.time_forecast import Forecast, Work

Callback = Callable[["Progress"], None]


class Progress(NamedTuple):
    """The state of a fit, for callbacks: after every block of rows, and once more when the coefficients are known.

    Attributes
    ----------
    number : int
        The number of the pass.
    what : str
        The purpose of the pass.
    rows : int
        The number of rows that this pass has processed.
    n_rows : int
        The number of all rows.
    rows_per_second : float
        The speed of this pass so far.
    seconds_left : float
        The remaining time of this pass at that speed.
    objective : float or None
        The last value of the objective; None if there is none, or it is not yet known.
    share : float
        The share of the whole fit that is done, by time, from 0 to 1. It never decreases: if more work is left than
        expected, it stands still. A fit that resumes an earlier one counts from where it continues.
    seconds : float
        The time since the start of the fit.
    total_seconds_left : float
        The estimated remaining time of the whole fit.
    reads : int
        The number of times that the table has been read, including this one. A scan that serves several steps counts
        once, and a pass over features in memory reads nothing.

    Notes
    -----
    Passes are counted from 1 in every ``fit``, including those that prepare. If one scan of the rows serves several
    steps, ``what`` names all of them, as in "scales and labels". Curvatures of several classes are found by passes that
    run at the same time. Passes that only count rows, or that fetch a sample which no scan could take along, are not
    reported. The last call, whose ``what`` is "solution", comes before anything is fitted, so that an error raised
    there leaves nothing fitted.

    The remaining time is estimated from the speed so far and from the passes that are still to come. Sums over rows
    take a known number of them; the number of steps that a solver still needs is extrapolated from how fast its gap
    decreases.

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
    """Reports to callbacks how far a fit over ``n_rows`` rows is.

    Parameters
    ----------
    callbacks : sequence of callables
        The callbacks.
    n_rows : int
        The number of rows.
    n_jobs : int or None, default=None
        The number of threads, for estimates of time before any was measured.

    Attributes
    ----------
    objective : float or None
        The last value of the objective, which the solver updates.
    """

    def __init__(self, callbacks: Sequence[Callback], n_rows: int, n_jobs: int | None = None):
        self.objective: float | None = None
        self._callbacks = callbacks
        self._n_rows = n_rows
        self._number = 0
        self._reads = 0
        self._lock = threading.Lock()  # passes may run in parallel, but callbacks are called one at a time
        self._forecast = Forecast(perf_counter(), n_jobs)

    def __getstate__(self) -> dict[str, Any]:
        # Callbacks exist only in this process, not where the object is sent.
        return {**vars(self), "_callbacks": [], "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())

    @property
    def is_heard(self) -> bool:
        """Whether there are any callbacks."""
        return bool(self._callbacks)

    def count_read(self) -> None:
        """Record that the table is read once more."""
        with self._lock:
            self._reads += 1

    def expect(self, works: Sequence[Work]) -> None:
        """Replace the expected remaining work."""
        with self._lock:
            self._forecast.plan(works)

    def drop(self, what: str) -> None:
        """Remove the next work of this kind from the expected work."""
        with self._lock:
            self._forecast.drop(what)

    def done(self, what: str) -> None:
        """Record the end of work that passes over no rows, such as a decomposition."""
        with self._lock:
            self._forecast.done(what, perf_counter())

    def end(self) -> None:
        """Report that the coefficients are known; this is the last report."""
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
        """Start a pass at row number ``first``; return a function that reports the number of finished rows.

        ``keep`` is called with that number before any callback.
        """
        started, number, before = perf_counter(), 0, first
        n_rows, forecast = max(self._n_rows, 1), self._forecast
        with self._lock:
            token = forecast.begin(what, 1.0 - first / n_rows)

        def tell(rows: int) -> None:
            nonlocal number, before
            with self._lock:
                if number == 0:  # not earlier, since a pass may end before its first block
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
