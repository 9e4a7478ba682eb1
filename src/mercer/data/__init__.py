"""Where rows come from."""

from .arrays import ArrayRows, as_rows, is_rows
from .file_table import SourceTable
from .libsvm import write_libsvm
from .open import open
from .rows import Rows
from .sources import SourceError
from .table import ArrayTable, Blocks, Table
from .write import write

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
    "write",
    "write_libsvm",
]
