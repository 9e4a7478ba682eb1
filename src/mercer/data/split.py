"""Parts of a table: rows chosen at random, or by the values of a column."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._random import Stream


class Share(NamedTuple):
    """Rows chosen at random: row i has the i-th word of a stream, and a small word holds it out.

    The choice depends only on the row's number among all rows of all files, not on blocks or on rows that are dropped.
    """

    test: float
    seed: int
    depth: int
    """The number of earlier splits, so that the same seed gives a different choice."""
    held_out: bool

    def mask(self, first: int, count: int) -> NDArray[np.bool_]:
        """Return which of these rows are in the part."""
        words = Stream(self.seed, "split", self.depth).words(count, first)
        return (words < np.uint64(int(self.test * 2.0**64))) == self.held_out


class Group(NamedTuple):
    """Rows with one of some values in the column of that role, or the other rows."""

    values: tuple[Any, ...]
    held_out: bool

    def mask(self, found: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which rows are in the part, given their values."""
        if found.dtype.kind in "mM":  # times, which have several classes and may be given as text
            inside = np.isin(found, np.array(self.values, dtype=found.dtype))
        else:
            inside = np.array([value in self.values for value in found.tolist()], dtype=bool)
        return inside == self.held_out
