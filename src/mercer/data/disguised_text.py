"""Columns of text that probably mean something else: formatted numbers, dates, and identifiers."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

FEWEST_ROWS = 50
"""With at least this many rows, distinct values in every other row suggest an identifier."""
LOOKED_AT = 1000
"""The largest number of levels of a column that are examined."""
ALIKE = 0.95
"""The share of these levels that must look alike; a few may be remarks such as "n/a"."""
MOST_CODES = 20
"""Plain numbers written as text, with no more levels than this, may well be the names of groups."""
MOST_UNITS = 2
LONGEST = 64
"""A level with more characters is text, whatever it contains."""
TEXT = "text"

DIGITS = r"\d{1,3}(?:[.,'\u00a0\u202f ]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?(?:[eE][+-]?\d+)?|[.,]\d+"
CURRENCY = r"[$€£¥₹]|USD|EUR|GBP|CHF|JPY|kr|zł|Fr\.?"
NUMBER = re.compile(
    rf"\s*(?P<before>[-+(]?\s*(?:{CURRENCY})?)\s*[-+]?(?P<digits>{DIGITS})\s*(?P<after>[^\W\d_]{{1,4}}[²³23]?|%|‰|°\w?|[$€£¥₹])?\)?\s*"
)
DATE = re.compile(r"\s*(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2}))(?:[T ].*)?\s*")
CODE = re.compile(r"0\d+")


def remarks(name: str, levels: Collection[Any], n_rows: int) -> list[str]:
    """Return remarks on a column that deserves a second look, one sentence each.

    Parameters
    ----------
    name : str
        The name of the column.
    levels : collection
        The distinct entries.
    n_rows : int
        The number of rows in which the column is not missing.

    Returns
    -------
    list of str
        The remarks.

    Examples
    --------
    >>> remarks("price", ["$1,200.50", "$80", "$7,000"], 3)[0].split(":")[0]
    "column 'price' is text that looks like numbers, such as '$1,200.50'"
    >>> remarks("town", ["Oslo", "Rome"], 100)
    []
    """
    text = [level for level in levels if isinstance(level, str)]
    if not text or len(text) < len(levels):
        return []
    what = disguise(text[:LOOKED_AT])
    if what is not None:
        return [f"column {name!r} is text that looks like {what}; otherwise every distinct text is a separate category"]
    if n_rows >= FEWEST_ROWS and 2 * len(levels) > n_rows:
        return [
            f"column {name!r} has {len(levels):,} different texts in {n_rows:,} rows: if it is an identifier, leave it "
            "out with exclude= of mercer.data.open"
        ]
    return []


def disguise(levels: list[str]) -> str | None:
    """Describe what text seems to mean, with an example and advice; return None if it is ordinary text."""
    # Only short texts, because longer ones are text and would take the patterns a long time.
    filled = [level if len(level) <= LONGEST else TEXT for level in levels if level.strip()]
    dates = [level for level in filled if DATE.fullmatch(level)]
    if filled and len(dates) >= ALIKE * len(filled):
        forms = "all in one form, such as 2024-12-31 or 2024-12-31T18:30:00"
        return f"dates, such as {dates[0]!r}: to have them read as dates, write them {forms}"
    found = [match for match in map(NUMBER.fullmatch, filled) if match]
    if len(found) < max(1.0, ALIKE * len(filled)):
        return None
    units = {match["after"].lower() for match in found if match["after"]}
    dressed = next((match[0] for match in found if is_dressed(match)), None)
    if len(units) > MOST_UNITS or any(CODE.fullmatch(match[0]) for match in found):
        return None
    if dressed is None and len(levels) <= MOST_CODES:
        return None
    if dressed is not None:
        advice = "write them like 1234.5, without spaces, currencies, units or thousands separators"
        return f"numbers, such as {dressed!r}: to have them read as numbers, {advice}"
    others = [level for level in filled if not NUMBER.fullmatch(level)]
    if others:
        return f"numbers, such as {found[0][0]!r}, but for some entries, such as {others[0]!r}: leave these empty"
    return f"numbers, such as {found[0][0]!r}: convert the column to numbers, for example with pandas.to_numeric"


def is_dressed(match: re.Match[str]) -> bool:
    """Return whether a number contains more than digits, a point and a sign."""
    return bool(match["after"]) or re.fullmatch(r"[-+]?[0-9.eE+-]+", match[0]) is None
