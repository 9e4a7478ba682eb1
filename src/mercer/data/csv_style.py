"""The style in which a CSV file writes numbers: its decimal mark, and its marks for missing values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .frames import NUMBERS, arrow_kind
from .sources import arrow

POINT, COMMA = ".", ","
GAPS = ("?", "-", "--", "---", ".", "*", "**", "None", "none", "<NA>", "na", "missing", "Missing", "unknown", "Unknown")
"""Marks for a missing number, in addition to those that Arrow recognises, such as "NA", "NaN" and "null"."""

NO_THOUSANDS = r"^[-+]?0\d*,|,\d{1,2}([^\d,]|$)|,\d{4}|\d{4},"
"""A number with a comma that cannot be a thousands separator."""


class NumberStyle(NamedTuple):
    """The style in which numbers are written in a file.

    Attributes
    ----------
    decimal : {".", ","}
        The mark between whole numbers and fractions.
    gaps : tuple of str
        Marks of missing values, besides the usual ones.
    first_decimal, first_gap : str
        The first columns that show a decimal comma, and such a mark.
    """

    decimal: str = POINT
    gaps: tuple[str, ...] = ()
    first_decimal: str = ""
    first_gap: str = ""


def check_decimal(decimal: Any, delimiter: str | None) -> str | None:
    """Return the requested decimal mark, or raise a ValueError if it cannot be one."""
    if decimal is not None and decimal not in (POINT, COMMA):
        raise ValueError(f"decimal must be {POINT!r} or {COMMA!r}, found {decimal!r}")
    if decimal is not None and decimal == delimiter:
        raise ValueError(f"decimal and delimiter must differ, found {decimal!r} for both")
    return decimal


def may_have_commas(rows: Any) -> bool:
    """Return whether a column of text contains a comma in the first rows."""
    return rows is not None and any(has(column, COMMA) for _, column in columns_of_text(rows))


def first_with_commas(rows: Any, with_points: Sequence[Any], with_commas: Sequence[Any]) -> str | None:
    """Return the first column that is a column of numbers only if they have decimal commas.

    None if decimal commas are not certain: there is no such column, another one is a column of numbers only if they
    have points, or all commas may be thousands separators.

    Parameters
    ----------
    rows : RecordBatch
        The first rows, read with decimal points.
    with_points, with_commas : sequence of Field
        The columns, as these rows suggest with one decimal mark and with the other.
    """
    numbers = [
        {field.name for field in fields if arrow_kind(field.type) in NUMBERS} for fields in (with_points, with_commas)
    ]
    gained = [(name, column) for name, column in columns_of_text(rows) if name in numbers[1] - numbers[0]]
    if not numbers[0] <= numbers[1] or not any(has(column, NO_THOUSANDS, True) for _, column in gained):
        return None
    return gained[0][0]


def has(column: Any, pattern: str, is_expression: bool = False) -> bool:
    """Return whether an entry of a column contains some text, or matches a regular expression."""
    compute = arrow(".compute")
    search = compute.match_substring_regex if is_expression else compute.match_substring
    return bool(compute.any(search(column, pattern)).as_py())


def marked_gaps(rows: Any, decimal: str) -> tuple[str, tuple[str, ...]]:
    """Return the marks of missing values among numbers in the first rows, and the first column with one."""
    first, marks = "", list[str]()
    for name, column in () if rows is None else columns_of_text(rows):
        found = marks_among_numbers(column, decimal)
        first = first if marks or not found else name
        marks += [mark for mark in found if mark not in marks]
    return first, tuple(marks)


def marks_among_numbers(column: Any, decimal: str) -> list[str]:
    """Return the marks of missing values in a column that otherwise contains only numbers."""
    pa, compute = arrow(), arrow(".compute")
    marked = compute.is_in(column, value_set=pa.array(GAPS))
    if not compute.any(marked).as_py():
        return []
    others = column.filter(compute.invert(marked)).drop_null()
    if decimal != POINT:
        others = compute.replace_substring(others, decimal, POINT)
    try:
        others.cast(pa.float64())
    except pa.ArrowInvalid:
        return []
    return compute.unique(column.filter(marked)).to_pylist() if len(others) else []


def columns_of_text(rows: Any) -> list[tuple[str, Any]]:
    """Return the columns of text in a block, with their names."""
    pairs = zip(rows.schema, rows.columns, strict=True)
    return [(field.name, column) for field, column in pairs if arrow().types.is_string(field.type)]


def some(marks: Sequence[str]) -> str:
    """Return marks in quotes, as words."""
    quoted = [repr(mark) for mark in marks]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)
