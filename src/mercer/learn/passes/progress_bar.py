"""A line in a terminal that tells how far a fit is, and one that says what it did."""

from __future__ import annotations

import shutil
import sys
import threading
from time import monotonic
from typing import Any, Self, TextIO

from ..._figures import seconds as in_words
from .progress import Progress

WIDTH = 24
PAUSE = 0.1
"""Seconds between two states of the line."""
TICK = 0.5
"""Seconds after which its clock goes on by itself, as while coefficients are solved for."""


class Line:
    """A line that is written over, where the stream is a terminal, and goes on by itself; nothing where it is not.

    Parameters
    ----------
    stream : where the line goes; None is standard error
    shows : whether it is shown, where that is a terminal
    """

    def __init__(self, stream: TextIO | None = None, shows: bool = True):
        self._stream = sys.stderr if stream is None else stream
        self._shows = shows and self._stream.isatty()
        self._shown = -PAUSE
        self._length = 0
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._ticking: threading.Thread | None = None

    def text(self) -> str:
        """What is to be seen now; nothing is shown where that is empty."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        if self._shows:
            self._ticking = threading.Thread(target=self._tick, daemon=True)
            self._ticking.start()
        return self

    def __exit__(self, *error: object) -> None:
        """End the line, where there is one."""
        self._ended.set()
        if self._ticking is not None:
            self._ticking.join()
        if self._length:
            self._stream.write("\n")
            self._stream.flush()
            self._length = 0

    def say(self, line: str) -> None:
        """Another line, after this one has ended."""
        if self._shows:
            self._stream.write(line + "\n")
            self._stream.flush()

    def show(self) -> None:
        """Write what is to be seen now."""
        # A line that is wider than the terminal would go on in the next one, and could not be written over.
        line = self.text()[: shutil.get_terminal_size().columns - 1]
        if self._shows and line:
            self._shown = monotonic()
            self._stream.write("\r" + line.ljust(self._length))
            self._stream.flush()
            self._length = len(line)

    def _tick(self) -> None:
        """Let the clock of the line go on while nothing is told."""
        while not self._ended.wait(TICK):
            with self._lock:
                if monotonic() - self._shown >= TICK:
                    self.show()


class Bar(Line):
    """One bar for a whole fit, where the stream is a terminal; nothing where it is not.

    It shows the share that is done, the time since the start and the time that is left, which go on between two
    messages too.

    Parameters
    ----------
    stream : where the line goes; None is standard error

    Examples
    --------
    >>> from mercer.learn import Progress
    >>> Bar.line(Progress(3, "sums", 40960, 81920, 20480.0, 2.0, 0.25, share=0.5, seconds=61.0, total_seconds_left=59))
    '[############            ]  50 %, 1:01, 0:59 left; pass 3, sums: 40,960 of 81,920 rows, objective 0.25'
    """

    def __init__(self, stream: TextIO | None = None):
        super().__init__(stream)
        self.last: Progress | None = None
        """The last message, None where there was none or nobody looks."""
        self._told = 0.0

    def __call__(self, progress: Progress) -> None:
        """Show this state, unless the one before has only just been shown."""
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
        """The state as text."""
        text = (
            f"{bar_of(progress.share)}, {clock(progress.seconds)}, {clock(progress.total_seconds_left)} left; "
            f"pass {progress.number}, {progress.what}: {progress.rows:,} of {progress.n_rows:,} rows"
        )
        return text if progress.objective is None else f"{text}, objective {progress.objective:.6g}"


def bar_of(share: float) -> str:
    """A share as a bar, and in percent."""
    done = int(WIDTH * share)
    return f"[{'#' * done}{' ' * (WIDTH - done)}] {100 * share:3.0f} %"


def clock(seconds: float) -> str:
    """Minutes and seconds, with hours where there are any."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def fit_line(model: Any, last: Progress) -> str:
    """What a fit did, in one line, from the last thing that it told.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.learn import KernelPCA
    >>> seen = []
    >>> model = KernelPCA(n_components=32, callback=seen.append).fit(np.eye(40))
    >>> fit_line(model, seen[-1]._replace(seconds=2.5))
    'fitted in 2.5 s: 3 passes over 40 rows'
    """
    passes = last.number - 1  # the last message is of the solution
    parts = [f"{passes} {'pass' if passes == 1 else 'passes'} over {last.n_rows:,} rows"]
    report = getattr(model, "convergence_", None)
    if report is not None:
        kind = "step of conjugate gradients" if report.method == "conjugate gradients" else "Newton step"
        parts.append(f"{report.n_iter} {kind if report.n_iter == 1 else kind.replace('step', 'steps')}")
        parts.append(f"gap {report.gap:.1g}")
    return f"fitted in {in_words(last.seconds)}: {', '.join(parts)}"
