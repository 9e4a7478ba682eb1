"""Where rows come from."""

from .arrays import ArrayRows, as_rows, is_rows
from .libsvm import write_libsvm
from .opening import open
from .rows import Rows
from .source_table import SourceTable
from .sources import SourceError
from .tables import ArrayTable, Blocks, Table

__all__ = [
    "ArrayRows",
    "ArrayTable",
    "Blocks",
    "Rows",
    "SourceError",
    "SourceTable",
    "Table",
    "as_rows",
    "is_rows",
    "open",
    "write_libsvm",
]
