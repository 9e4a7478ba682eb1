"""Missing and infinite values in rows: which row, which column, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...data import Table
from ...data.frames import absent, columns, is_frame, plain, row_label
from .preparation import GAP


@contextmanager
def told_where(X: Any) -> Iterator[None]:
    """Make an error about NaN or infinity in a matrix or a data frame say where the first one is."""
    try:
        yield
    except ValueError as error:
        found = first_wrong(X) if "NaN" in str(error) or "infinity" in str(error) else None
        if found is None:
            raise
        row, column, value = found
        place = f"{row_label(X, row)}, {column}"
        if np.isnan(value):
            raise ValueError(f"Input X contains NaN: {place} is missing; {GAP}") from error
        raise ValueError(f"Input X contains infinity or a value too large for its type: {place} is {value}") from error


def check_complete(table: Table) -> None:
    """Raise an error if a feature of some row of a table is missing, in one pass, before hours of work are lost."""
    table, first = table.features(), 0
    for block in table.blocks():
        found = first_wrong(block.X, table.names)
        if found is not None:
            row, column, _ = found
            place = table.where(first + row) or f"row {first + row}"
            raise ValueError(f"Input X contains NaN: {place}, {column} is missing; {GAP}")
        first += block.X.shape[0]


def first_wrong(X: Any, names: Sequence[str] | None = None) -> tuple[int, str, float] | None:
    """Return the row, the column and the value of the first entry that is missing or infinite, by row."""
    if is_frame(X):
        wrong = {name: place for name, part in columns(X).items() if (place := _first_row(plain(part))) is not None}
        if not wrong:
            return None
        name = min(wrong, key=lambda one: wrong[one][0])
        return wrong[name][0], f"column {name!r}", wrong[name][1]
    if isinstance(X, list | tuple) or getattr(getattr(X, "dtype", None), "kind", "") == "O":
        X = np.asarray(X, dtype=np.float64)  # as scikit-learn returns it, or it would not have found NaN
    values = X.data if sp.issparse(X) else X
    if not isinstance(values, np.ndarray) or values.dtype.kind != "f" or X.ndim != 2 or np.isfinite(values).all():
        return None
    if sp.issparse(X):
        X = X.tocoo()
        places = np.flatnonzero(~np.isfinite(X.data))
        first = places[np.lexsort((X.coords[1][places], X.coords[0][places]))[0]]
        row, column, value = X.coords[0][first], X.coords[1][first], X.data[first]
    else:
        row, column = np.argwhere(~np.isfinite(X))[0]
        value = X[row, column]
    return int(row), f"column {int(column) if names is None else names[column]!r}", float(value)


def _first_row(part: Any) -> tuple[int, float] | None:
    """Return the first row of a column that is missing or infinite, with its value."""
    wrong = absent(part) if part.dtype == object else ~np.isfinite(part)
    if not wrong.any():
        return None
    row = int(np.argmax(wrong))
    return row, float(part[row]) if part.dtype.kind == "f" else float("nan")
