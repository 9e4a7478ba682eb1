"""Prepared rows: what the map of a learner is fitted on, and what its statistics are summed over."""

from __future__ import annotations

from .._random import Stream
from ..data import Table
from ..data.table_rows import Chunk, TableRows
from ._preparation import Preparation

__all__ = ["Chunk", "PreparedRows"]


class PreparedRows(TableRows):
    """The rows of a table after its preparation."""

    def __init__(self, table: Table, preparation: Preparation, rng: Stream):
        super().__init__(table, preparation, rng)
