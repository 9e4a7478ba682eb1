"""Where rows come from."""

from .arrays import ArrayRows, as_rows, is_rows
from .rows import Rows
from .tables import ArrayTable, Blocks, Table

__all__ = ["ArrayRows", "ArrayTable", "Blocks", "Rows", "Table", "as_rows", "is_rows"]
