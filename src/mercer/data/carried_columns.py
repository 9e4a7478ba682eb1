"""Columns that are carried along unchanged: an id is not a feature, but should stand next to predictions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .columns import missing
from .file_table import SourceTable
from .frames import arrow_columns
from .sources import SourceError


def as_written(table: SourceTable, names: Sequence[str]) -> Iterator[Any]:
    """Yield the columns with these names as they are stored, features or not: Arrow tables of the rows of all blocks.

    Text, integers and dates keep their types; fields of CSV files are text.
    """
    for source in table.sources:
        if not isinstance(source.schema, dict):
            raise SourceError(f"the columns of {source.name} have no names, found {', '.join(map(repr, names))}")
        for name in names:
            if name not in source.schema:
                raise missing(source, name)
    if table.is_shuffled:
        raise ValueError("the columns of a shuffled table are not available as they are stored")
    return _parts(table, tuple(names))


def _parts(table: SourceTable, names: tuple[str, ...]) -> Iterator[Any]:
    for source, rows in table.kept_by_source():
        first = 0
        for frame in source.as_written(names):
            last = first + frame.shape[0]
            part = arrow_columns(frame, names)
            if rows is not None:
                here = rows[np.searchsorted(rows, first) : np.searchsorted(rows, last)]
                part = part.take(here - first)
            first = last
            yield part
