"""The columns that go to each place of a count sketch, as ``cuda/count_sketch.cuh`` reads them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

NEGATIVE = np.uint32(1 << 31)


class SketchEntries(NamedTuple):
    """Columns with their signs, the places of the first turns, and where turns begin."""

    entries: NDArray[np.int32]
    places: NDArray[np.int32]
    starts: NDArray[np.int32]

    @property
    def turns(self) -> int:
        """The largest number of columns of a place."""
        return self.starts.shape[1] - 1


def sketch_entries(places: NDArray[np.int32], negative: NDArray[np.bool_]) -> SketchEntries:
    """Return the entries of sketches of several degrees.

    Parameters
    ----------
    places, negative : ndarray of shape (degree, n_columns)
        The place of every column, and whether its sign is negative.
    """
    turns = max(int(np.bincount(row).max()) for row in places)
    entries, kept, starts, first = [], [], [], 0
    for row, signs in zip(places, negative, strict=True):
        counts = np.bincount(row)
        order = np.argsort(row, kind="stable")  # by place, then by column
        turn = np.empty(len(row), dtype=np.int64)
        turn[order] = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        begins = [first]
        for k in range(turns):
            columns = np.flatnonzero(turn == k)
            columns = columns[np.lexsort((row[columns], -counts[row[columns]]))]
            entries.append(columns.astype(np.uint32) | np.where(signs[columns], NEGATIVE, np.uint32(0)))
            kept.append(row[columns])
            begins.append(begins[-1] + len(columns))
        starts.append(begins)
        first = begins[-1]
    words = np.concatenate(entries).astype(np.uint32).view(np.int32)
    return SketchEntries(words, np.concatenate(kept).astype(np.int32), np.array(starts, dtype=np.int32))
