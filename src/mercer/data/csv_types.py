"""Types of CSV columns: what the first rows do not show, and wider types for later rows."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from .frames import NUMBERS, arrow_kind, numbers
from .sources import arrow

FAILED = re.compile(r"In CSV column #(\d+): .*conversion error", re.DOTALL)
LARGE = 2.0**53
"""From this number on, floats do not represent every integer."""


class WholeNumbers:
    """Whether a column may hold only integers from 0 to 2^64, judging by the blocks of floats seen so far.

    Arrow reads integers from 2^63 on as floats, which round them: only a reader of integers can tell for certain.

    Attributes
    ----------
    may_be_unsigned : bool
        Whether there are no other numbers.
    beyond_signed : bool
        Whether some are too large for signed 64-bit integers.
    """

    def __init__(self) -> None:
        self.may_be_unsigned = True
        self.beyond_signed = False

    def see(self, column: Any) -> None:
        """Take the next block into account."""
        if not self.may_be_unsigned:
            return
        values = numbers(column)
        there = values[~np.isnan(values)]
        self.may_be_unsigned = bool(((there == np.floor(there)) & (there >= 0.0) & (there <= 2.0**64)).all())
        self.beyond_signed = self.beyond_signed or bool((there >= 2.0**63).any())


class LateColumn:
    """The type of a column that is empty in the first rows, judging by the blocks of text seen so far.

    Attributes
    ----------
    kind : str
        The kind of the column, as returned by ``arrow_kind``; "empty" before there are entries.
    whole : WholeNumbers
        Which integers it holds, if it holds numbers.
    """

    def __init__(self) -> None:
        self.kind = "empty"
        self.whole = WholeNumbers()
        self._held = arrow().string()
        self._large = False

    @property
    def type(self) -> Any:
        """Return the Arrow type with which to read the column."""
        return arrow().int64() if self.kind == "int" and self._large else self._held

    def see(self, column: Any) -> None:
        """Take the next block into account: widen the type if necessary, or treat the whole column as text."""
        entries = column.drop_null()
        if len(entries) == 0 or self.kind == "text":
            return
        for held in (None,) if self.kind == "empty" else (self._held, *wider(self._held)):
            try:
                found = parsed(entries, held)
            except arrow().ArrowInvalid:
                continue
            self._held = found.type
            if self.kind == "empty":
                self.kind = arrow_kind(found.type)
            if arrow_kind(found.type) in NUMBERS:
                self.whole.see(found)
            if self.kind == "int":
                values = numbers(found)
                self.kind = "int" if is_whole(values) else "float64"
                self._large = self._large or has_large(values)
            return
        self.kind, self._held = "text", arrow().string()


def parsed(entries: Any, held: Any = None) -> Any:
    """Parse texts like a CSV column of this type; None means the type that a file of them would have."""
    pa, csv = arrow(), arrow(".csv")
    text = pa.BufferOutputStream()
    csv.write_csv(pa.table({"column": entries}), text)
    options = csv.ConvertOptions(
        quoted_strings_can_be_null=False, column_types={} if held is None else {"column": held}
    )
    parsing = csv.ParseOptions(newlines_in_values=True)
    return csv.read_csv(pa.BufferReader(text.getvalue()), parse_options=parsing, convert_options=options).column(0)


def failed_column(error: Exception) -> int | None:
    """Return the number of the column with an entry that does not fit its type, or None for any other error."""
    found = FAILED.search(str(error))
    return None if found is None else int(found[1])


def wider(given: Any) -> list[Any]:
    """Return the types to try in turn if one does not hold an entry.

    Nanoseconds end in the year 2262, and microseconds have six digits, so neither holds all values of the other.
    """
    pa = arrow()
    if arrow_kind(given) == "int":
        return [pa.float64()]
    if arrow_kind(given) == "date":
        zone = given.tz if pa.types.is_timestamp(given) else None
        units = ("us",) if is_fine(given) else ("us", "ns")
        return [pa.timestamp(unit, tz=zone) for unit in units]
    return []


def is_fine(given: Any) -> bool:
    """Return whether a type has fractions of seconds, so that the next wider one may hold fewer digits."""
    return bool(arrow().types.is_timestamp(given) and given.unit in ("us", "ns"))


def is_whole(values: Any) -> bool:
    """Return whether all numbers present are integers, and none is too large for an integer type."""
    there = values[~np.isnan(values)]
    return bool((there == np.floor(there)).all() and (np.abs(there) < 2.0**63).all())


def has_large(values: Any) -> bool:
    """Return whether floats would round integers of this size."""
    return bool((np.abs(values) >= LARGE).any())
