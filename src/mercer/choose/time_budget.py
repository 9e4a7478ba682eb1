"""How long work may take."""

from __future__ import annotations

from time import perf_counter
from typing import Any


class OutOfTimeError(Exception):
    """The time is over; what was under way is not finished."""


class Clock:
    """Counts seconds from when it is made.

    Parameters
    ----------
    seconds : how many there are, or None for as many as it takes
    """

    def __init__(self, seconds: float | None):
        self.seconds = seconds
        self.kept = 0.0
        """How many of them are for what comes afterwards."""
        self._started = perf_counter()

    @property
    def spent(self) -> float:
        """Seconds since the start."""
        return perf_counter() - self._started

    @property
    def left(self) -> float:
        """Seconds that there are still to work; infinity where there is no end to them."""
        return float("inf") if self.seconds is None else max(self.seconds - self.kept - self.spent, 0.0)

    def allows(self, more: float, share: float = 1.0) -> bool:
        """Whether ``more`` seconds from now still lie within this share of the time."""
        return self.seconds is None or self.spent + more <= share * (self.seconds - self.kept)

    def tick(self, _: Any = None) -> None:
        """A callback of learners that ends a fit when the time is over."""
        if not self.allows(0.0):
            raise OutOfTimeError
