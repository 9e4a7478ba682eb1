"""The features of all rows, kept from one pass for the next if they need little memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray

from ...data.table_rows import Chunk

MOST_BYTES = 2**27
"""The largest memory for features that are kept although they can be computed again: little for a fit."""


class KeptFeatures:
    """The features of chunks of rows, with their targets and weights.

    Parameters
    ----------
    n_rows : int
        The total number of rows.
    n_bytes : int
        The memory that their features take.
    room : float
        The bytes that they may take; if they take more, nothing is kept.
    """

    def __init__(self, n_rows: int, n_bytes: int, room: float):
        self._n_rows, self._fit = n_rows, n_bytes <= min(room, MOST_BYTES)
        self._chunks: dict[int, Chunk] = {}

    def add(self, chunk: Chunk, Z: NDArray[Any]) -> None:
        """Keep the features of a chunk. Threads may add chunks in any order."""
        if self._fit:
            self._chunks[chunk.first] = chunk._replace(X=Z)

    @property
    def are_complete(self) -> bool:
        """Whether the features of all rows are kept."""
        return sum(len(chunk.X) for chunk in self._chunks.values()) == self._n_rows

    def chunks(self, first: int) -> Iterator[Chunk]:
        """Yield chunks from this row on, in order, with features in place of rows."""
        for place in sorted(self._chunks):
            if place >= first:
                yield self._chunks[place]
