"""CSV files, plain or compressed: a first pass counts the rows and determines the types of the columns."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from .csv_dates import DATES, named_dates
from .csv_places import Place, found_places
from .csv_style import (
    COMMA,
    GAPS,
    POINT,
    NumberStyle,
    check_decimal,
    first_with_commas,
    marked_gaps,
    may_have_commas,
    some,
)
from .csv_text import check_encoding, check_marks, found_delimiter, line_of, not_utf8
from .csv_types import LateColumn, WholeNumbers, failed_column, has_large, is_fine, is_whole, wider
from .frames import NUMBERS, arrow_kind, numbers
from .sources import FileSource, Reading, SourceError, arrow, recut_frames

READ_BYTES = 1 << 23
"""The number of bytes read at once; the types of columns are guessed from the first of these blocks."""


class Survey(NamedTuple):
    """The results of the first pass: the types with which to read columns, their kinds, and the number of rows.

    ``unsigned`` are the integer columns without negative values, and ``style`` is how numbers are written.
    """

    types: dict[str, Any]
    kinds: dict[str, str]
    n_rows: int
    unsigned: frozenset[str] = frozenset()
    style: NumberStyle = NumberStyle()


class CsvFile(FileSource):
    """One CSV file with a header."""

    format = "CSV"

    def __init__(
        self, path: Path, delimiter: str | None = None, encoding: str | None = None, decimal: str | None = None
    ):
        super().__init__(path)
        self._asked = delimiter
        self._encoding = check_encoding(encoding)
        self._asked_decimal = check_decimal(decimal, delimiter)

    @classmethod
    def of(cls, path: Path, reading: Reading) -> CsvFile:
        return cls(path, reading.delimiter, reading.encoding, reading.decimal)

    @cached_property
    def _delimiter(self) -> str:
        """The delimiter, as requested or as found in the first lines."""
        if self._asked is not None:
            return self._asked
        with self.reading():
            check_marks(self.path, self._encoding)
            return found_delimiter(self.path, self._encoding, self._usual)

    @property
    def _usual(self) -> str:
        return "\t" if self.path.name.lower().removesuffix(".gz").endswith(".tsv") else ","

    @property
    def notes(self) -> tuple[str, ...]:
        if self._stamp.size == 0:
            return ()
        found = []
        if self._asked is None and self._delimiter != self._usual:
            found.append(
                f"{self.name} is read with the delimiter {self._delimiter!r}; if this is wrong, give "
                f"delimiter={self._usual!r}"
            )
        style = self._survey.style
        if style.decimal != self._asked_decimal and style.decimal != POINT:
            found.append(
                f"{self.name} is read with decimal commas, as in column {style.first_decimal!r}; if this is wrong, "
                f"give decimal={POINT!r}"
            )
        if style.gaps:
            found.append(
                f"{self.name} has {some(style.gaps)} among the numbers of column {style.first_gap!r}, which stand "
                "for missing values in all columns"
            )
        return tuple(found)

    def place(self, row: int) -> str:
        with self.reading():
            line = line_of(self.path, self._encoding, self._delimiter, row)
        return super().place(row) if line is None else f"line {line}"

    @property
    def schema(self) -> dict[str, str]:
        return self._survey.kinds

    @property
    def n_rows(self) -> int:
        return self._survey.n_rows

    @property
    def unsigned(self) -> frozenset[str]:
        return self._survey.unsigned

    @cached_property
    def _places(self) -> tuple[Place, ...]:
        with self.reading():
            return found_places(self.path, self._encoding, self._delimiter, self.n_rows) if self.n_rows else ()

    def find_places(self) -> None:
        self._places  # noqa: B018  cached from now on

    def _open(
        self,
        types: dict[str, Any],
        style: NumberStyle,
        names: tuple[str, ...] = (),
        gaps: bool = True,
        offset: int | None = None,
    ) -> Any:
        """Open a reader of all rows, or of those from a position in bytes on, where there is no header."""
        csv = arrow(".csv")
        null_values = [*csv.ConvertOptions().null_values, *style.gaps]
        file, header = str(self.path), None
        if offset is not None:
            file, header = arrow().OSFile(file), list(self._survey.types)
            file.seek(offset)
        return csv.open_csv(
            file,
            # Threads would lose the number of a row.
            read_options=csv.ReadOptions(
                use_threads=False, block_size=READ_BYTES, encoding=self._encoding, column_names=header
            ),
            # Without this option, a block that ends inside quotes would split a row in two; it costs no time.
            parse_options=csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                column_types=types,
                include_columns=list(names),
                strings_can_be_null=gaps,
                null_values=null_values,
                decimal_point=style.decimal,
                timestamp_parsers=[csv.ISO8601, *(DATES if types else ())],
            ),
        )

    @cached_property
    def _survey(self) -> Survey:
        with self.reading():
            if self._stamp.size == 0:
                return Survey({}, {}, 0)
            check_marks(self.path, self._encoding)
            try:
                return self._surveyed()
            except arrow().ArrowInvalid as error:
                if "UTF8" in str(error):
                    raise not_utf8(self.path) from error
                if "straddl" in str(error):
                    raise SourceError(
                        f"{self.name} has a field of more than {READ_BYTES:,} bytes: is a closing quote missing?"
                    ) from error
                raise

    def _surveyed(self) -> Survey:
        style, fields, head = self._style()
        names = [field.name for field in fields]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise SourceError(f"{self.name} has two columns named {twice!r}")
        types = {field.name: arrow().string() if arrow().types.is_null(field.type) else field.type for field in fields}
        kinds = {field.name: arrow_kind(field.type) for field in fields}
        dates = {name: arrow().timestamp("s") for name in named_dates(head)}
        return self._widened(types | dates, kinds | dict.fromkeys(dates, "date"), style)

    def _style(self) -> tuple[NumberStyle, list[Any], Any]:
        """Return how numbers are written in the first block, with the columns and their types, and this block."""
        asked = self._asked_decimal
        style = NumberStyle(POINT if asked is None else asked)
        fields, head = self._fields(style)
        if asked is None and self._delimiter != COMMA and may_have_commas(head):
            with_points, with_commas = (self._fields(NumberStyle(mark, GAPS))[0] for mark in (POINT, COMMA))
            first = first_with_commas(head, with_points, with_commas)
            if first is not None:
                style = NumberStyle(COMMA, first_decimal=first)
                fields, head = self._fields(style)
        name, gaps = marked_gaps(head, style.decimal)
        if gaps:
            style = style._replace(gaps=gaps, first_gap=name)
            fields, head = self._fields(style)
        return style, fields, head

    def _widened(self, types: dict[str, Any], kinds: dict[str, str], style: NumberStyle) -> Survey:
        """Return the survey, with wider types for columns whose first rows suggest types too narrow for later ones."""
        steps = {name: wider(held) for name, held in types.items()}
        while True:
            try:
                return self._counted(types, dict(kinds), style)
            except arrow().ArrowInvalid as error:  # fractions may follow integers, or times of day may follow dates
                number = failed_column(error)
                failed = None if number is None else list(types)[number]
                if failed is None or not steps[failed]:
                    raise
                # All columns that lose nothing are widened as well, so that each does not take a separate pass.
                going = [name for name, left in steps.items() if left and not is_fine(types[name])]
                types = types | {name: steps[name].pop(0) for name in {failed, *going}}

    def _fields(self, style: NumberStyle) -> tuple[list[Any], Any]:
        """Return the columns and their types, as the first rows suggest, and these rows; None if there are none."""
        try:
            with self._open({}, style) as reader:
                fields, head = list(reader.schema), next(iter(reader), None)
            for field in fields:
                if arrow().types.is_binary(field.type):
                    raise not_utf8(self.path, f", by its column {field.name!r}")
        except UnicodeError as error:
            raise not_utf8(self.path) from error
        return fields, head

    def _counted(self, types: dict[str, Any], kinds: dict[str, str], style: NumberStyle) -> Survey:
        """Count rows, and check the columns that were guessed to be numbers or empty."""
        rows = 0
        large: set[str] = set()
        late = {name: LateColumn() for name, kind in kinds.items() if kind == "empty"}
        whole = {name: WholeNumbers() for name, kind in kinds.items() if kind in NUMBERS}
        with self._open(types, style) as reader:
            for frame in reader:
                rows += frame.num_rows
                for name, column in zip(types, frame.columns, strict=True):
                    if name in late:
                        late[name].see(column)
                    if name in whole:
                        whole[name].see(column)
                    if name not in late and kinds[name] == "int" and arrow_kind(column.type) != "int":
                        values = numbers(column)
                        kinds[name] = "int" if is_whole(values) else "float64"
                        large |= {name} if has_large(values) else set()
        exact = {name: arrow().int64() for name in large if kinds[name] == "int"}  # floats would round them
        found = {name: column.type for name, column in late.items()}
        kinds |= {name: column.kind for name, column in late.items()}
        whole |= {name: column.whole for name, column in late.items() if column.kind in NUMBERS}
        asked = [name for name, one in whole.items() if one.may_be_unsigned and one.beyond_signed]
        beyond = [name for name in asked if self._reads_as_unsigned(name, style)]
        kinds |= dict.fromkeys(beyond, "uint64")
        unsigned = {name for name, one in whole.items() if one.may_be_unsigned and kinds[name] in ("int", "uint64")}
        exact |= {name: arrow().uint64() for name in beyond}
        return Survey(types | found | exact, kinds, rows, frozenset(unsigned), style)

    def _reads_as_unsigned(self, name: str, style: NumberStyle) -> bool:
        """Return whether all entries of a column are integers below 2^64, which takes another pass to find out."""
        try:
            with self._open({name: arrow().uint64()}, style, (name,)) as reader:
                for _ in reader:
                    pass
        except arrow().ArrowInvalid:  # a fraction, or 2^64 itself
            return False
        return True

    def read(self, start: int, names: tuple[str, ...]) -> Iterator[Any]:
        types = {name: self._survey.types[name] for name in names}
        place = next((place for place in reversed(self._places) if place.row <= start), None) if start else None
        offset, skipped = (None, start) if place is None else (place.offset, start - place.row)
        with self.reading(), self._open(types, self._survey.style, names, offset=offset) as reader:
            yield from recut_frames(iter(reader), skipped, len(names))

    def as_written(self, names: tuple[str, ...]) -> Iterator[Any]:
        """Return every field as text, because a field that looks like a number may be a code with leading zeros."""
        text = {name: arrow().string() for name in names}
        with self.reading(), self._open(text, self._survey.style, names, gaps=False) as reader:
            yield from recut_frames(iter(reader), 0, len(names))
