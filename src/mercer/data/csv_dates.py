"""Dates in CSV files that are not written as in ISO 8601, but leave no doubt."""

from __future__ import annotations

from typing import Any

from .csv_style import columns_of_text
from .sources import arrow

DATES = tuple(day + time for day in ("%Y/%m/%d", "%d.%m.%Y") for time in ("", " %H:%M", " %H:%M:%S"))
"""Forms of dates that are read in addition to ISO 8601; with other marks, days and months could be confused."""
FORMS = (r"^\d{4}/\d{1,2}/\d{1,2}", r"^\d{1,2}\.\d{1,2}\.\d{4}")
TIME = r"( \d{1,2}:\d{2}(:\d{2})?)?$"


def named_dates(rows: Any) -> list[str]:
    """Return the columns of text in which all first rows are dates in one of these forms, with years of four digits."""
    return [] if rows is None else [name for name, column in columns_of_text(rows) if are_dates(column.drop_null())]


def are_dates(texts: Any) -> bool:
    """Return whether all texts are dates in one form, of days that exist."""
    pa, compute = arrow(), arrow(".compute")
    if len(texts) == 0:
        return False
    place = next((place for place, form in enumerate(FORMS) if matches(texts, form + TIME)), None)
    if place is None:
        return False
    day = DATES[3 * place]
    days = compute.replace_substring_regex(texts, " .*$", "")
    try:
        compute.strptime(days, format=day, unit="s")
    except pa.ArrowInvalid:
        return False
    return True


def matches(texts: Any, form: str) -> bool:
    """Return whether all texts match a regular expression."""
    compute = arrow(".compute")
    return bool(compute.all(compute.match_substring_regex(texts, form)).as_py())
