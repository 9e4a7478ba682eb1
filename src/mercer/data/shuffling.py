"""Rows in a random order, without holding all of them in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._random import Stream
from .block import BLOCK_ROWS, Block, concatenated, rows_of
from .table import Table

MIXED = 16
"""The number of blocks from anywhere in the table whose rows are mixed."""


class Window(NamedTuple):
    """The numbers of some blocks, and the new order of their rows, which are counted from the first of them."""

    blocks: list[int]
    order: NDArray[np.int32]

    def row(self, place: int, n_rows: int) -> int:
        """Return the number of the row that moves to a place."""
        sizes = [min(BLOCK_ROWS, n_rows - block * BLOCK_ROWS) for block in self.blocks]
        ends = np.cumsum(sizes)
        old = int(self.order[place])
        block = int(np.searchsorted(ends, old, side="right"))
        return self.blocks[block] * BLOCK_ROWS + old - int(ends[block]) + sizes[block]


def windows(n_rows: int, seed: int) -> Iterator[Window]:
    """Yield all blocks in an order drawn from the seed, a few at a time, with an order of their rows."""
    rng = Stream(seed, "shuffle")
    blocks = rng.permutation(-(-n_rows // BLOCK_ROWS)).tolist()
    for first in range(0, len(blocks), MIXED):
        some = blocks[first : first + MIXED]
        count = sum(min(BLOCK_ROWS, n_rows - block * BLOCK_ROWS) for block in some)
        yield Window(some, rng.child(first // MIXED).permutation(count))


def shuffled(table: Table, seed: int) -> Iterator[Block]:
    """Yield the rows of a table in another order, mixed within a few blocks at a time."""
    for window in windows(table.n_rows, seed):
        yield rows_of(concatenated([next(table.blocks(block)) for block in window.blocks]), window.order)


def old_number(place: int, n_rows: int, seed: int) -> int:
    """Return the original number of the row that moves to a place."""
    for window in windows(n_rows, seed):
        if place < len(window.order):
            return window.row(place, n_rows)
        place -= len(window.order)
    raise IndexError(f"there are {n_rows} rows, found number {place}")
