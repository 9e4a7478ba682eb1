"""Gaps and infinities in rows that are in memory: which row, which column, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.frames import columns, is_frame, numbers, row_label
from ._preparation import GAP


@contextmanager
def told_where(X: Any) -> Iterator[None]:
    """Let an error about NaN or infinity in a matrix or a frame of numbers say where the first one is."""
    try:
        yield
    except ValueError as error:
        found = _first(X) if "NaN" in str(error) or "infinity" in str(error) else None
        if found is None:
            raise
        row, column, value = found
        if np.isnan(value):
            raise ValueError(f"Input X contains NaN: {row}, {column} is missing; {GAP}") from error
        raise ValueError(
            f"Input X contains infinity or a value too large for its type: {row}, {column} is {value}"
        ) from error


def _first(X: Any) -> tuple[str, str, float] | None:
    """The row, the column and the value of the first entry that is not finite, by row."""
    if is_frame(X):
        parts = {name: numbers(part) for name, part in columns(X).items()}
        wrong = {name: int(np.argmin(np.isfinite(part))) for name, part in parts.items() if not np.isfinite(part).all()}
        if not wrong:
            return None
        name = min(wrong, key=lambda one: wrong[one])
        return row_label(X, wrong[name]), f"column {name!r}", float(parts[name][wrong[name]])
    values = X.data if sp.issparse(X) else X
    if not isinstance(values, np.ndarray) or values.dtype.kind != "f" or X.ndim != 2 or np.isfinite(values).all():
        return None
    if sp.issparse(X):
        X = X.tocoo()
        places = np.flatnonzero(~np.isfinite(X.data))
        first = places[np.lexsort((X.coords[1][places], X.coords[0][places]))[0]]
        return f"row {X.coords[0][first]}", f"column {X.coords[1][first]}", float(X.data[first])
    row, column = np.argwhere(~np.isfinite(X))[0]
    return f"row {row}", f"column {column}", float(X[row, column])
