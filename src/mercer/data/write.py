"""Writing columns and matrices to files, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._atomic import atomic_write
from .._checks import check_choice
from .._formats import WRITTEN, format_to_write
from .frames import kind_of
from .sources import arrow, implementation

FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""The first characters of text that spreadsheets take for a formula, including full-width characters."""

Columns = dict[str, NDArray[Any]]


def write(target: Any, blocks: Iterable[Any], format: str | None = None, *, spreadsheet_safe: bool = False) -> int:
    """Write blocks of rows to a file, which appears complete or not at all.

    Parameters
    ----------
    target : str, path-like or binary file
        The name of the file, or an open binary file.
    blocks : iterable
        Matrices, or dicts from column names to NumPy or Arrow arrays. ``.npy`` files are written from matrices; in
        other formats, the columns of a matrix are named f0, f1, ...
    format : {"csv", "parquet", "arrow", "npy"} or None, default=None
        The format. None infers it from the file name.
    spreadsheet_safe : bool, default=False
        Whether to put ``'`` before text in CSV that begins with ``=``, ``+``, ``-``, ``@``, a tab or a line break,
        which spreadsheets take for a formula and may run. Column names are treated in the same way; numbers are not
        changed.

    Returns
    -------
    int
        The number of rows written.

    Examples
    --------
    >>> import io
    >>> import numpy as np
    >>> file = io.BytesIO()
    >>> write(file, [{"a": np.array([1, 2]), "b": np.array(["x", "y"])}], format="csv")
    2
    >>> file.getvalue().decode().split()
    ['"a","b"', '1,"x"', '2,"y"']
    """
    is_open = hasattr(target, "write")
    chosen = format or (None if is_open else format_to_write(target, hint=", or give format"))
    check_choice("format", chosen, tuple(WRITTEN))
    writer = implementation(WRITTEN[str(chosen)].writer)
    if spreadsheet_safe and chosen != "csv":
        raise ValueError(f"spreadsheet_safe is for CSV, which spreadsheets read as text, found the format {chosen}")
    blocks = map(without_formulas, blocks) if spreadsheet_safe else blocks
    if is_open:
        return writer(target, iter(blocks))
    with atomic_write(target) as file:
        return writer(file, iter(blocks))


def without_formulas(block: Any) -> Any:
    """Return columns in which no text would be read as a formula by a spreadsheet."""
    if not isinstance(block, dict):
        return block
    return {_as_text(name): _text_column(column) for name, column in block.items()}


def _text_column(column: Any) -> Any:
    """Treat a column of NumPy or Arrow; return it unchanged if it is not text."""
    if kind_of(column) != "text":
        return column
    return np.array([_as_text(item) if isinstance(item, str) else item for item in column.tolist()], dtype=object)


def _as_text(text: str) -> str:
    return f"'{text}" if text.startswith(FORMULAS) else text


def record_batch(block: Any) -> Any:
    """Convert a block to Arrow columns."""
    if not isinstance(block, dict):
        matrix = block.toarray() if sp.issparse(block) else np.asarray(block)
        block = {f"f{place}": column for place, column in enumerate(matrix.T)}
    pa = arrow()
    given = [column if isinstance(column, pa.Array) else pa.array(column) for column in block.values()]
    return pa.RecordBatch.from_arrays(given, names=list(block))


def _write_batches(blocks: Iterator[Any], open_writer: Callable[[Any], Any]) -> int:
    first = next(blocks, None)
    if first is None:
        raise ValueError("there are no rows to write")
    batch = record_batch(first)
    rows, schema = batch.num_rows, batch.schema
    with open_writer(schema) as writer:
        writer.write_batch(batch)
        for block in blocks:
            batch = record_batch(block).cast(schema)
            rows += batch.num_rows
            writer.write_batch(batch)
    return int(rows)


def write_csv(file: BinaryIO, blocks: Iterator[Any]) -> int:
    return _write_batches(blocks, lambda schema: arrow(".csv").CSVWriter(file, schema))


def write_parquet(file: BinaryIO, blocks: Iterator[Any]) -> int:
    return _write_batches(blocks, lambda schema: arrow(".parquet").ParquetWriter(file, schema))


def write_arrow(file: BinaryIO, blocks: Iterator[Any]) -> int:
    return _write_batches(blocks, lambda schema: arrow().ipc.new_file(file, schema))


def write_npy(file: BinaryIO, blocks: Iterator[Any]) -> int:
    """Write one matrix; its header is rewritten, in the room that NumPy leaves, once the number of rows is known."""
    rows = 0
    dtype, width, start = np.dtype(np.float64), 0, 0
    if not file.seekable():
        raise ValueError("an .npy file cannot be written to a pipe: give the name of a file, or write .csv")
    for block in blocks:
        if isinstance(block, dict):
            raise ValueError("an .npy file holds one matrix, found columns with names: write .csv or .parquet")
        matrix = np.ascontiguousarray(block.toarray() if sp.issparse(block) else block)
        if rows == 0:
            dtype, width = matrix.dtype, matrix.shape[1]
            start = _npy_header(file, dtype, (0, width))
        file.write(matrix.astype(dtype, copy=False).tobytes())
        rows += len(matrix)
    if rows == 0:
        raise ValueError("there are no rows to write")
    file.seek(0)
    assert _npy_header(file, dtype, (rows, width)) == start
    return rows


def _npy_header(file: BinaryIO, dtype: Any, shape: tuple[int, int]) -> int:
    """Write a header, and return where it ends."""
    described = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, described)
    return file.tell()
