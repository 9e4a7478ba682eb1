"""A clock that limits the time of a search."""

from __future__ import annotations

from time import perf_counter
from typing import Any


class OutOfTimeError(Exception):
    """Raised when the time is over; the current work is not finished."""


class Clock:
    """A clock that counts seconds from its creation.

    Parameters
    ----------
    seconds : float or None
        The available time; None means no limit.
    """

    def __init__(self, seconds: float | None):
        self.seconds = seconds
        self.kept = 0.0
        """The part of this time that is reserved for what comes afterwards."""
        self._started = perf_counter()

    @property
    def spent(self) -> float:
        """The seconds since the start."""
        return perf_counter() - self._started

    @property
    def left(self) -> float:
        """The remaining seconds for work; infinity if there is no limit."""
        return float("inf") if self.seconds is None else max(self.seconds - self.kept - self.spent, 0.0)

    def allows(self, more: float, share: float = 1.0) -> bool:
        """Return whether ``more`` seconds from now are still within this share of the time."""
        return self.seconds is None or self.spent + more <= share * (self.seconds - self.kept)

    def tick(self, _: Any = None) -> None:
        """End a fit when the time is over; a callback for learners."""
        if not self.allows(0.0):
            raise OutOfTimeError
