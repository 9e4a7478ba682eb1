"""Tables of rows from files and from memory, read block by block."""

from .._rows import ArrayRows, Rows, as_rows, is_rows
from .file_table import SourceTable
from .in_memory import ArrayTable, Blocks
from .libsvm import write_libsvm
from .open import open
from .partitioned_table import PartitionedTable
from .partitions import Parts
from .sources import SourceError
from .table import Table
from .write import write

__all__ = [
    "ArrayRows",
    "ArrayTable",
    "Blocks",
    "PartitionedTable",
    "Parts",
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
