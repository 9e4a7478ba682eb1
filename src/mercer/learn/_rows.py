"""Prepared rows: what the map of a learner is fitted on, and what its statistics are summed over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._random import Stream
from ..data import Table
from ..data.block import BLOCK_ROWS
from ..data.training_rows import Chunk, TableRows
from ._preparation import Preparation
from .passes import Passes

__all__ = ["Chunk", "PreparedRows"]


class PreparedRows(TableRows):
    """The rows of a table after its preparation."""

    def __init__(self, table: Table, preparation: Preparation, rng: Stream, passes: Passes):
        super().__init__(table, preparation, rng)
        self.passes = passes

    def weighted_blocks(self) -> Iterator[tuple[Any, NDArray[np.float64] | None]]:
        for chunk in self._cut(self.passes.over("map", self._table.blocks()), BLOCK_ROWS):
            yield chunk.X, chunk.weight
