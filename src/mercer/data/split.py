"""Parts of a table: rows by lot, or by what a column says."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._random import Stream


class Share(NamedTuple):
    """Rows by lot: row i has the i-th word of a stream, and a small word holds it out.

    That depends on the row's number among all rows of all files alone, not on blocks nor on rows that are dropped.
    """

    test: float
    seed: int
    depth: int
    """How many times the table was split before, so that the same seed draws other lots."""
    held_out: bool

    def mask(self, first: int, count: int) -> NDArray[np.bool_]:
        """Which of these rows are in the part."""
        words = Stream(self.seed, "split", self.depth).words(count, first)
        return (words < np.uint64(int(self.test * 2.0**64))) == self.held_out


class Group(NamedTuple):
    """Rows that have one of some values in the column of that role, or the others."""

    values: tuple[Any, ...]
    held_out: bool

    def mask(self, found: NDArray[Any]) -> NDArray[np.bool_]:
        """Which rows, of which these are the values, are in the part."""
        if found.dtype.kind in "mM":  # of which there are several classes, and text
            inside = np.isin(found, np.array(self.values, dtype=found.dtype))
        else:
            inside = np.array([value in self.values for value in found.tolist()], dtype=bool)
        return inside == self.held_out
