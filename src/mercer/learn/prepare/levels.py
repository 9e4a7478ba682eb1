"""The levels of columns of data frames: which become separate columns, and which are rare and share one."""

from __future__ import annotations

import reprlib
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from ...data.times import PARTS

MANY = 20
"""A column with more levels than this may have rare ones."""
RARE_ROWS, RARE_SHARE = 10, 1.0 / 200.0
"""A level is rare if it has only one row, or fewer rows than the smaller of this number and this share of all rows."""


class Column(NamedTuple):
    """A column of a data frame: of numbers, of levels, each of which becomes a column of 0 and 1, or of times.

    ``time`` is "date" or "duration", which become numbers of days, or None. Levels that are ``rare`` share one column,
    after the columns of ``levels``.
    """

    name: str
    levels: tuple[Any, ...] | None
    time: str | None = None
    rare: tuple[Any, ...] = ()

    @property
    def holds(self) -> str:
        """The content of the column: "levels", "numbers", "dates" or "durations"."""
        return f"{self.time}s" if self.time is not None else "numbers" if self.levels is None else "levels"

    def width(self, dates: str) -> int:
        """Return the number of columns of numbers that it becomes."""
        if self.time == "date" and dates == "parts":
            return 1 + len(PARTS)
        return 1 if self.levels is None else len(self.levels) + bool(self.rare)

    def labels(self, dates: str) -> list[str]:
        """Return the names of these columns."""
        if self.levels is None:
            return [self.name, *(f"{self.name}: {part}" for part in PARTS)][: self.width(dates)]
        return [f"{self.name}={level}" for level in self.levels] + [f"{self.name}: rare levels"] * bool(self.rare)


def in_order(levels: Any) -> tuple[Any, ...]:
    """Return levels of any types, sorted."""
    return tuple(sorted(levels, key=lambda level: (str(type(level)), level)))


def rare_levels(counts: Counter[Any]) -> set[Any]:
    """Return the levels that share a column: none if there are few levels, or if only one is rare."""
    filled = counts.total()
    least = max(2.0, min(RARE_ROWS, RARE_SHARE * filled))
    found = {level for level, count in counts.items() if count < least}
    return found if len(counts) > MANY and len(found) > 1 else set()


def check_hashable(name: str, found: list[Any]) -> None:
    """Refuse entries that cannot be levels, such as lists and complex numbers."""
    for kind in {type(one) for one in found}:
        if kind.__hash__ is None or issubclass(kind, complex | np.complexfloating):
            row = next(row for row, one in enumerate(found) if type(one) is kind)
            raise TypeError(
                f"column {name!r} has {reprlib.repr(found[row])} of type {kind.__name__}; expected numbers, text, "
                "truth values or dates: exclude the column, or convert it to one of these"
            )
