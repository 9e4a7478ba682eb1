"""Rows in an order that a seed draws, without all of them in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._random import Stream
from .block import BLOCK_ROWS, Block, concatenated, rows_of
from .table import Table

MIXED = 16
"""Blocks from anywhere whose rows are mixed."""


class Window(NamedTuple):
    """Some blocks by number, and the rows of these, counted from the first of them, in their new order."""

    blocks: list[int]
    order: NDArray[np.int32]

    def row(self, place: int, n_rows: int) -> int:
        """The number of the row that comes to a place."""
        sizes = [min(BLOCK_ROWS, n_rows - block * BLOCK_ROWS) for block in self.blocks]
        ends = np.cumsum(sizes)
        old = int(self.order[place])
        block = int(np.searchsorted(ends, old, side="right"))
        return self.blocks[block] * BLOCK_ROWS + old - int(ends[block]) + sizes[block]


def windows(n_rows: int, seed: int) -> Iterator[Window]:
    """All blocks in the order that a seed draws, a few at a time, with an order of their rows."""
    rng = Stream(seed, "shuffle")
    blocks = rng.permutation(-(-n_rows // BLOCK_ROWS)).tolist()
    for first in range(0, len(blocks), MIXED):
        some = blocks[first : first + MIXED]
        count = sum(min(BLOCK_ROWS, n_rows - block * BLOCK_ROWS) for block in some)
        yield Window(some, rng.child(first // MIXED).permutation(count))


def shuffled(table: Table, seed: int) -> Iterator[Block]:
    """The rows of a table in another order, which is mixed among a few blocks at a time."""
    for window in windows(table.n_rows, seed):
        yield rows_of(concatenated([next(table.blocks(block)) for block in window.blocks]), window.order)


def old_number(place: int, n_rows: int, seed: int) -> int:
    """Which row comes to a place."""
    for window in windows(n_rows, seed):
        if place < len(window.order):
            return window.row(place, n_rows)
        place -= len(window.order)
    raise IndexError(f"there are {n_rows} rows, found number {place} beyond them")
