"""CSV files, plain or compressed: a first pass counts the rows and finds what the columns hold."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .frames import arrow_kind, numbers
from .sources import FileSource, SourceError, arrow, portions

READ_BYTES = 1 << 23
"""How much is read at once; the types of columns are guessed from the first of it."""


class Survey(NamedTuple):
    """What the first pass finds: the types to read columns as, their kinds, and the number of rows."""

    types: dict[str, Any]
    kinds: dict[str, str]
    n_rows: int


class CsvFile(FileSource):
    """One CSV file with a line of names."""

    format = "CSV"

    def __init__(self, path: Path, delimiter: str | None = None):
        super().__init__(path)
        tabs = path.name.lower().removesuffix(".gz").endswith(".tsv")
        self._delimiter = delimiter or ("\t" if tabs else ",")

    @property
    def schema(self) -> dict[str, str]:
        return self._survey.kinds

    @property
    def n_rows(self) -> int:
        return self._survey.n_rows

    def _open(self, types: dict[str, Any], names: tuple[str, ...] = (), gaps: bool = True) -> Any:
        csv = arrow(".csv")
        return csv.open_csv(
            str(self.path),
            read_options=csv.ReadOptions(use_threads=False, block_size=READ_BYTES),  # threads lose the number of a row
            parse_options=csv.ParseOptions(delimiter=self._delimiter),
            convert_options=csv.ConvertOptions(
                column_types=types, include_columns=list(names), strings_can_be_null=gaps
            ),
        )

    @cached_property
    def _survey(self) -> Survey:
        with self.reading():
            if self._stamp.size == 0:
                return Survey({}, {}, 0)
            with self._open({}) as reader:
                fields = list(reader.schema)
            names = [field.name for field in fields]
            if len(set(names)) < len(names):
                twice = next(name for name in names if names.count(name) > 1)
                raise SourceError(f"{self.name} has two columns of the name {twice!r}")
            types = {
                field.name: arrow().string() if arrow().types.is_null(field.type) else field.type for field in fields
            }
            kinds = {field.name: arrow_kind(field.type) for field in fields}
            try:
                return self._counted(types, dict(kinds))
            except arrow().ArrowInvalid:  # perhaps fractions follow whole numbers
                wide = {name: arrow().float64() if kinds[name] == "int" else held for name, held in types.items()}
                return self._counted(wide, kinds)

    def _counted(self, types: dict[str, Any], kinds: dict[str, str]) -> Survey:
        """Count rows, and see what columns hold that were guessed to be whole numbers or empty."""
        rows = 0
        large: set[str] = set()
        with self._open(types) as reader:
            for batch in reader:
                rows += batch.num_rows
                for name, column in zip(types, batch.columns, strict=True):
                    if kinds[name] == "int" and arrow_kind(column.type) != "int":
                        values = numbers(column)
                        kinds[name] = "int" if is_whole(values) else "float64"
                        large |= {name} if (np.abs(values) >= 2.0**53).any() else set()
                    elif kinds[name] == "empty" and column.null_count < len(column):
                        kinds[name] = "text"
        exact = {name: arrow().int64() for name in large if kinds[name] == "int"}  # floats would round them
        return Survey(types | exact, kinds, rows)

    def batches(self, start: int, names: tuple[str, ...]) -> Iterator[Any]:
        types = {name: self._survey.types[name] for name in names}
        with self.reading(), self._open(types, names) as reader:
            yield from portions(iter(reader), start, len(names))

    def as_written(self, names: tuple[str, ...]) -> Iterator[Any]:
        """Every field as its text: what looks like a number may be a code with zeros before it."""
        text = {name: arrow().string() for name in names}
        with self.reading(), self._open(text, names, gaps=False) as reader:
            yield from portions(iter(reader), 0, len(names))


def is_whole(values: Any) -> bool:
    """Whether all numbers that are there are whole, and none is too large for an integer."""
    there = values[~np.isnan(values)]
    return bool((there == np.floor(there)).all() and (np.abs(there) < 2.0**63).all())
