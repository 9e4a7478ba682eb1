"""A line in a terminal that shows the progress of a fit, and one that summarises it."""

from __future__ import annotations

import shutil
import sys
import threading
from time import monotonic
from typing import Any, Self, TextIO

from sklearn.base import BaseEstimator

from ..._figures import seconds as in_words
from .progress import Progress

WIDTH = 24
PAUSE = 0.1
"""The seconds between two states of the line."""
TICK = 0.5
"""The seconds after which its clock advances by itself, for example while coefficients are computed."""


class Line:
    """A line that is overwritten and advances by itself if the stream is a terminal; otherwise nothing is shown.

    Parameters
    ----------
    stream : text file or None, default=None
        Where the line goes. None means standard error. The output of a notebook counts as a terminal.
    shows : bool, default=True
        Whether to show it, if this is a terminal.
    """

    def __init__(self, stream: TextIO | None = None, shows: bool = True):
        self._stream = sys.stderr if stream is None else stream
        self._shows = shows and (self._stream.isatty() or is_notebook(self._stream))
        self._shown = -PAUSE
        self._length = 0
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._ticking: threading.Thread | None = None

    def text(self) -> str:
        """Return the current text; nothing is shown if it is empty."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        if self._shows:
            self._ticking = threading.Thread(target=self._tick, daemon=True)
            self._ticking.start()
        return self

    def __exit__(self, *error: object) -> None:
        """End the line, if there is one."""
        self._ended.set()
        if self._ticking is not None:
            self._ticking.join()
        if self._length:
            self._stream.write("\n")
            self._stream.flush()
            self._length = 0

    def say(self, line: str) -> None:
        """Show another line after this one has ended."""
        if self._shows:
            self._stream.write(line + "\n")
            self._stream.flush()

    def show(self) -> None:
        """Write the current text."""
        # A line wider than the terminal would wrap, and could not be overwritten.
        line = self.text()[: shutil.get_terminal_size().columns - 1]
        if self._shows and line:
            self._shown = monotonic()
            self._stream.write("\r" + line.ljust(self._length))
            self._stream.flush()
            self._length = len(line)

    def _tick(self) -> None:
        """Let the clock of the line advance when nothing is reported."""
        while not self._ended.wait(TICK):
            with self._lock:
                if monotonic() - self._shown >= TICK:
                    self.show()


class Bar(Line):
    """A progress bar for a whole fit, if the stream is a terminal; otherwise nothing is shown.

    It shows the share that is done, the time since the start and the remaining time, which also advance between two
    reports.

    Parameters
    ----------
    stream : text file or None, default=None
        Where the line goes. None means standard error.

    Examples
    --------
    >>> from mercer.learn import Progress
    >>> Bar.line(Progress(3, "sums", 40960, 81920, 20480.0, 2.0, 0.25, share=0.5, seconds=61.0, total_seconds_left=59))
    '[############            ]  50 %, 1:01, 0:59 left; pass 3, sums: 40,960 of 81,920 rows, objective 0.25'
    """

    def __init__(self, stream: TextIO | None = None):
        super().__init__(stream)
        self.last: Progress | None = None
        """The last report; None if there was none or nothing is shown."""
        self._told = 0.0

    def __call__(self, progress: Progress) -> None:
        """Show this state, unless the previous one was shown a moment ago."""
        if not self._shows:
            return
        with self._lock:
            self.last, self._told = progress, monotonic()
            if self._told - self._shown >= PAUSE or progress.share >= 1.0:
                self.show()

    def text(self) -> str:
        last = self.last
        if last is None:
            return ""
        waited = 0.0 if last.share >= 1.0 else monotonic() - self._told
        left = max(last.total_seconds_left - waited, 0.0)
        return self.line(last._replace(seconds=last.seconds + waited, total_seconds_left=left))

    @staticmethod
    def line(progress: Progress) -> str:
        """Return the state as text."""
        text = (
            f"{bar_of(progress.share)}, {clock(progress.seconds)}, {clock(progress.total_seconds_left)} left; "
            f"pass {progress.number}, {progress.what}: {progress.rows:,} of {progress.n_rows:,} rows"
        )
        return text if progress.objective is None else f"{text}, objective {progress.objective:.6g}"


class ProgressBar:
    """A progress bar in a terminal or a notebook, as the ``callback`` of any learner.

    With scikit-learn 1.9 or later, its own can be used too, which also shows pipelines and searches:
    ``model.set_callbacks(sklearn.callback.ProgressBar())``.

    Parameters
    ----------
    stream : text file or None, default=None
        Where the bar goes. None means standard error. Nothing is shown if it is not a terminal.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.learn import KernelPCA, ProgressBar
    >>> X = np.random.default_rng(0).normal(size=(5000, 3))
    >>> model = KernelPCA(n_components=32, random_state=0, callback=ProgressBar()).fit(X)
    """

    def __init__(self, stream: TextIO | None = None):
        self.stream = stream
        self._bar: Bar | None = None

    def __call__(self, progress: Progress) -> None:
        """Show the state of a fit; after its end, the next call begins another bar."""
        if self._bar is None:
            self._bar = Bar(self.stream)
        self._bar(progress)
        if progress.share >= 1.0:
            self._bar.__exit__()
            self._bar = None

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return type(self)(self.stream)  # for the copies of a learner, none of which has begun

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()  # a stream stays in its process


def is_notebook(stream: TextIO) -> bool:
    """Return whether a stream shows lines in a notebook, which can be overwritten as in a terminal."""
    return type(stream).__module__.partition(".")[0] == "ipykernel"


def bar_of(share: float) -> str:
    """Return a share as a bar, and in percent."""
    done = int(WIDTH * share)
    return f"[{'#' * done}{' ' * (WIDTH - done)}] {100 * share:3.0f} %"


def clock(seconds: float) -> str:
    """Return minutes and seconds, with hours if there are any."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def fit_line(model: BaseEstimator, last: Progress) -> str:
    """Return a summary of a fit in one line, from its last report.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.learn import KernelPCA
    >>> seen = []
    >>> model = KernelPCA(n_components=32, callback=seen.append).fit(np.eye(40))
    >>> fit_line(model, seen[-1]._replace(seconds=2.5))
    'fitted in 2.5 s: 3 passes over 40 rows'
    """
    passes = last.number - 1  # the last report is about the solution
    parts = [f"{passes} {'pass' if passes == 1 else 'passes'} over {last.n_rows:,} rows"]
    report = getattr(model, "convergence_", None)
    if report is not None:
        kind = "step of conjugate gradients" if report.method == "conjugate gradients" else "Newton step"
        parts.append(f"{report.n_iter} {kind if report.n_iter == 1 else kind.replace('step', 'steps')}")
        parts.append(f"gap {report.gap:.1g}")
    return f"fitted in {in_words(last.seconds)}: {', '.join(parts)}"
