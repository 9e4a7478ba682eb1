"""Dates, times of day and durations in the columns of any data frame, as NumPy's types and as numbers of days.

A date, with or without a time of day, is the number of days since 1970-01-01, midnight UTC; durations and times of day
are numbers of days too. Missing values are NaT, and NaN among numbers.
"""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

TIMES = ("date", "duration")
"""The kinds of columns that are times: points in time and durations."""
PARTS = ("year", "month", "day", "weekday", "hour")
"""The parts of a date that ``parts`` returns, in this order."""
NUMPY_TIMES = {"date": np.dtype("datetime64[us]"), "duration": np.dtype("timedelta64[us]")}
DAY = 86_400_000_000
"""Microseconds."""


def times(column: Any, kind: str) -> NDArray[Any]:
    """Convert a column of times of any data frame to microseconds, with NaT for missing values and dates in UTC."""
    kept = NUMPY_TIMES[kind]
    if isinstance(column, np.ndarray):
        return column.astype(kept)
    if hasattr(column, "type"):
        return _arrow_times(column, kind)
    if hasattr(column, "iloc"):
        return _pandas_times(column, kind)
    if kind == "date":
        zone = getattr(column.dtype, "time_zone", None)
        plain = column if zone is None else column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return np.asarray(plain.to_numpy()).astype(kept)
    import polars

    return np.asarray(column.cast(polars.Duration("us")).to_numpy()).astype(kept)


def _pandas_times(column: Any, kind: str) -> NDArray[Any]:
    dtype = column.dtype
    if hasattr(dtype, "pyarrow_dtype"):
        import pyarrow as pa

        return _arrow_times(pa.array(column), kind)
    if str(dtype).startswith("period"):
        column = column.dt.to_timestamp()
    elif getattr(dtype, "tz", None) is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    elif dtype.kind not in "mM":  # only missing values
        return np.full(len(column), "NaT", dtype=NUMPY_TIMES[kind])
    return np.asarray(column.to_numpy()).astype(NUMPY_TIMES[kind])


def _arrow_times(column: Any, kind: str) -> NDArray[Any]:
    import pyarrow as pa
    import pyarrow.types as types

    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if kind == "date":
        zone = column.type.tz if types.is_timestamp(column.type) else None
        return np.asarray(column.cast(pa.timestamp("us", tz=zone), safe=False)).astype(NUMPY_TIMES[kind])
    if types.is_time(column.type):
        column = column.cast(pa.time64("us"), safe=False).cast(pa.int64()).cast(pa.duration("us"))
    return np.asarray(column.cast(pa.duration("us"), safe=False)).astype(NUMPY_TIMES[kind])


def of_content(values: NDArray[Any]) -> NDArray[Any] | None:
    """Convert objects that are all dates, or all durations or times of day, to NumPy's types; otherwise return None.

    A missing value is None.
    """
    found = {type(value) for value in values.tolist()} - {type(None)}
    if all(issubclass(one, datetime.date | np.datetime64) for one in found):
        kind = "date"
    elif all(issubclass(one, datetime.timedelta | datetime.time | np.timedelta64) for one in found):
        kind = "duration"
    else:
        return None
    out = np.full(len(values), "NaT", dtype=NUMPY_TIMES[kind])
    for row, value in enumerate(values.tolist()):
        if value is not None:
            out[row] = _plain(value)
    return out


def _plain(value: Any) -> Any:
    """Convert a time to a form that NumPy accepts."""
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return np.datetime64(value.astimezone(datetime.UTC).replace(tzinfo=None), "us")
    if isinstance(value, datetime.time):
        return np.timedelta64(
            ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond, "us"
        )
    is_date = isinstance(value, datetime.date | np.datetime64)
    return np.datetime64(value, "us") if is_date else np.timedelta64(value, "us")


def days_of(matrix: Any) -> Any:
    """Convert a matrix of times to numbers; return any other matrix unchanged."""
    return days(matrix) if isinstance(matrix, np.ndarray) and matrix.dtype.kind in "mM" else matrix


def days(values: NDArray[Any]) -> NDArray[np.float64]:
    """Convert NumPy's dates or durations to numbers of days."""
    kept = values.astype(NUMPY_TIMES["date" if values.dtype.kind == "M" else "duration"])
    return np.where(np.isnat(kept), np.nan, kept.astype(np.int64) / DAY)


def parts(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return the year, month (1 to 12), day of the month (from 1), weekday (Monday is 0) and hour of NumPy's dates.

    Examples
    --------
    >>> import numpy as np
    >>> parts(np.array(["2024-02-29T18:30"], dtype="datetime64[us]")).tolist()
    [[2024.0, 2.0, 29.0, 3.0, 18.0]]
    """
    there = ~np.isnat(values)
    kept = np.where(there, values, np.datetime64(0, "us"))
    year, month, day = (kept.astype(f"datetime64[{unit}]") for unit in "YMD")
    found = (
        year.astype(np.int64) + 1970,
        month.astype(np.int64) % 12 + 1,
        (day - month).astype(np.int64) + 1,
        (day.astype(np.int64) + 3) % 7,  # 1970-01-01 was a Thursday
        (kept.astype(np.int64) % DAY) // (DAY // 24),
    )
    return np.where(there[:, None], np.stack(found, axis=1).astype(np.float64), np.nan)
