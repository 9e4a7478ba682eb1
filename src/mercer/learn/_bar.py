"""A line in a terminal that tells how far a run is."""

from __future__ import annotations

import sys
from time import monotonic
from typing import Self, TextIO

from ._progress import Progress

WIDTH = 24
PAUSE = 0.1
"""Seconds between two states of the line."""


class Bar:
    """A bar of one line for progress, where the stream is a terminal; nothing where it is not.

    Parameters
    ----------
    stream : where the line goes; None is standard error

    Examples
    --------
    >>> from mercer.learn import Progress
    >>> Bar.line(Progress(3, "sums", 40960, 81920, 20480.0, 2.0, 0.25))
    '3 sums       [############            ] 40,960 of 81,920 rows, 20,480/s, 0:02 left, objective 0.25'
    """

    def __init__(self, stream: TextIO | None = None):
        self._stream = sys.stderr if stream is None else stream
        self._shows = self._stream.isatty()
        self._last = -PAUSE
        self._length = 0

    def __call__(self, progress: Progress) -> None:
        """Show this state, unless the one before has only just been shown."""
        now = monotonic()
        if not self._shows or (now - self._last < PAUSE and progress.rows < progress.n_rows):
            return
        self._last = now
        line = self.line(progress)
        self._stream.write("\r" + line.ljust(self._length))
        self._stream.flush()
        self._length = len(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """End the line, where there is one."""
        if self._length:
            self._stream.write("\n")
            self._stream.flush()
            self._length = 0

    @staticmethod
    def line(progress: Progress) -> str:
        """The state as text."""
        done = WIDTH * progress.rows // max(progress.n_rows, 1)
        minutes, seconds = divmod(round(progress.seconds_left), 60)
        parts = [
            f"{progress.number} {progress.what[:20]:<10} [{'#' * done}{' ' * (WIDTH - done)}] "
            f"{progress.rows:,} of {progress.n_rows:,} rows",
            f"{progress.rows_per_second:,.0f}/s",
            f"{minutes}:{seconds:02d} left",
        ]
        if progress.objective is not None:
            parts.append(f"objective {progress.objective:.6g}")
        return ", ".join(parts)
