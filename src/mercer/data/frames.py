"""The columns of a data frame as NumPy arrays; only this file and ``times`` know pandas, polars and Arrow."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .times import TIMES, days, of_content, times

NUMBERS = ("int", "uint64", "float32", "float64")
"""The kinds of columns that are numbers already."""


@dataclass(frozen=True)
class Frame:
    """Named columns as NumPy arrays of equal length: floats, dates or durations, or levels as objects.

    Missing values are NaN among floats, NaT among times, and None among levels.
    """

    parts: dict[str, NDArray[Any]]

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return len(next(iter(self.parts.values()))), len(self.parts)


def is_arrow(X: Any) -> bool:
    """Return whether X is an Arrow table or record batch; this works without Arrow installed."""
    arrow = sys.modules.get("pyarrow")
    return arrow is not None and isinstance(X, arrow.Table | arrow.RecordBatch)


def is_frame(X: Any) -> bool:
    """Return whether X is a table with named columns, each with its own type."""
    return isinstance(X, Frame) or (hasattr(X, "columns") and (hasattr(X, "iloc") or hasattr(X, "schema")))


def names_of(X: Any) -> list[str]:
    """Return the names of a data frame's columns, which must be distinct."""
    given = X.parts if isinstance(X, Frame) else X.schema.names if is_arrow(X) else X.columns
    names = [str(name) for name in given]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the columns of a frame must have different names, found {twice!r} twice")
    return names


def columns(X: Any) -> dict[str, Any]:
    """Return the columns by name, in order."""
    if isinstance(X, Frame):
        return X.parts
    names = names_of(X)
    if is_arrow(X):
        return dict(zip(names, X.columns, strict=True))
    return {name: X.iloc[:, place] if hasattr(X, "iloc") else X[:, place] for place, name in enumerate(names)}


def arrow_columns(X: Any, names: tuple[str, ...]) -> Any:
    """Return some columns of a data frame as an Arrow table, with categories replaced by their values."""
    import pyarrow as pa

    found = {}
    for name in names:
        column = columns(X)[name]
        column = column if hasattr(column, "type") else column.to_arrow() if hasattr(column, "to_arrow") else column
        held = column if isinstance(column, pa.Array | pa.ChunkedArray) else pa.array(column)
        found[name] = held.cast(held.type.value_type) if pa.types.is_dictionary(held.type) else held
    return pa.table(found)


def frame_rows(X: Any, rows: slice | NDArray[Any]) -> Any:
    """Return some rows of a data frame."""
    if isinstance(X, Frame):
        return Frame({name: part[rows] for name, part in X.parts.items()})
    if is_arrow(X):
        if not isinstance(rows, slice):
            return X.take(rows)
        start, stop, _ = rows.indices(X.num_rows)
        return X.slice(start, max(0, stop - start))
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def row_label(X: Any, row: int) -> str:
    """Return the name of a row in messages: its number, or its index if a data frame has one that is not a range."""
    index = getattr(X, "index", None) if hasattr(X, "iloc") else None
    if index is None or (type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)):
        return f"row {row}"
    return f"the row with the index {index[row : row + 1].tolist()[0]!r}"


def check_infinite(X: Any) -> None:
    """Raise a ValueError if a column of numbers of a data frame contains an infinity."""
    for name, column in columns(X).items():
        if is_numeric(column):
            values = numbers(column)
            with np.errstate(over="ignore", invalid="ignore"):
                if np.isfinite(values.sum()):  # false if any value is infinite, and faster than checking each
                    continue
            wrong = np.isinf(values)
            if wrong.any():
                row = int(np.argmax(wrong))
                place = f"{row_label(X, row)}, column {name!r} is {values[row]}"
                raise ValueError(f"Input X contains infinity or a value too large for its type: {place}")


def stacked_frames(frames: list[Any]) -> Any:
    """Concatenate the rows of data frames with the same columns."""
    if isinstance(frames[0], Frame):
        return Frame({name: np.concatenate([frame.parts[name] for frame in frames]) for name in frames[0].parts})
    if is_arrow(frames[0]):
        import pyarrow as pa

        tables = [frame if isinstance(frame, pa.Table) else pa.Table.from_batches([frame]) for frame in frames]
        return pa.concat_tables(tables, promote_options="permissive")
    if hasattr(frames[0], "iloc"):
        import pandas

        return pandas.concat(frames, ignore_index=True)
    import polars

    return polars.concat(frames, how="vertical_relaxed")


def kind_of(column: Any) -> str:
    """Return the kind of a column's entries: numbers, truth values, text or times, or the name of a type.

    The kinds are "int", "uint64" (if "int" is too small), "float32" and "float64"; "bool"; "date", with or without a
    time of day; and "duration", also for a time of day. Categories are levels, even if they are numbers: "int levels",
    "uint64 levels", "float levels". Everything else is "text". A column with only missing entries is "empty" and may
    be anything. Objects are distinguished by :func:`settled`.
    """
    if hasattr(column, "type"):
        return arrow_kind(column.type)
    dtype = column.dtype
    name = str(dtype).lower()
    if hasattr(dtype, "is_numeric"):  # polars
        if dtype.is_integer():
            return name if name == "uint64" else "int"
        if dtype.is_numeric():
            return name if name == "float32" else "float64"
        if dtype.is_temporal():
            return "date" if name.startswith("date") else "duration"
        known = {"boolean": "bool", "null": "empty"}
        return known.get(name, "text" if name.startswith(("string", "categorical", "enum", "object")) else name)
    if hasattr(dtype, "categories"):  # pandas, whose kind is the kind of an object
        if str(dtype.categories.dtype).lower() == "uint64":
            return "uint64 levels"
        return {"i": "int levels", "u": "int levels", "f": "float levels", "b": "bool"}.get(
            getattr(dtype.categories.dtype, "kind", "O"), "text"
        )
    kind = getattr(dtype, "kind", "O")
    if hasattr(dtype, "pyarrow_dtype") and kind not in "iufb":
        return arrow_kind(dtype.pyarrow_dtype)
    if kind in "mM" or name.startswith("period"):
        return "duration" if kind == "m" else "date"
    if kind in "iuf":
        return name if name in ("uint64", "float32") else "int" if kind in "iu" else "float64"
    return "bool" if kind == "b" else "text" if kind in "OUTS" else name


def arrow_kind(given: Any) -> str:
    """Return ``kind_of`` for an Arrow type."""
    import pyarrow.types as types

    if types.is_dictionary(given):
        kind = arrow_kind(given.value_type)
        known = {"int": "int levels", "uint64": "uint64 levels", "float32": "float levels", "float64": "float levels"}
        return known.get(kind, kind)
    if types.is_integer(given):
        return "uint64" if types.is_uint64(given) else "int"
    if types.is_floating(given) or types.is_decimal(given):
        return "float32" if types.is_float32(given) else "float64"
    if types.is_date(given) or types.is_timestamp(given):
        return "date"
    if types.is_time(given) or types.is_duration(given):
        return "duration"
    if types.is_boolean(given) or types.is_null(given):
        return "bool" if types.is_boolean(given) else "empty"
    return "text" if str(given) in ("string", "large_string", "string_view") else str(given)


def is_numeric(column: Any) -> bool:
    """Return whether the entries of a column are numbers; text, categories and truth values are levels."""
    return kind_of(column) in NUMBERS


def holds(kind: str) -> str:
    """Return, in a word, what a column of a kind holds: levels, numbers, dates or durations."""
    return f"{kind}s" if kind in TIMES else "numbers" if kind in NUMBERS else "levels"


def plain(column: Any) -> NDArray[Any]:
    """Convert a column to NumPy: numbers to floats, dates and durations as such, and everything else to levels."""
    kind = kind_of(column)
    if kind in TIMES:
        return times(column, kind)
    return numbers(column) if kind in NUMBERS else levels(column)


def is_missing(column: Any) -> bool:
    """Return whether all entries of a column are missing."""
    found = plain(column)
    return bool(absent(found).all() if found.dtype == object else np.isnan(found).all())


def settled(X: Any) -> Any:
    """Convert columns of objects to the types of their content, if that is the same type in all rows.

    Python's numbers and decimals become floats, and dates and durations become NumPy's; text and mixed columns are left
    unchanged.
    """
    if isinstance(X, Frame) or is_arrow(X):
        return X
    held: dict[int, NDArray[Any]] = {}
    for place, column in enumerate(columns(X).values()):
        if str(column.dtype).lower() == "object":
            found = _content(levels(column))
            if found is not None:
                held[place] = found
    if not held:
        return X
    if hasattr(X, "iloc"):
        X = X.copy(deep=False)
        for place, found in held.items():
            X.isetitem(place, found)
        return X
    import polars

    return X.with_columns([polars.Series(X.columns[place], found) for place, found in held.items()])


def _content(values: NDArray[Any]) -> NDArray[Any] | None:
    """Convert objects to numbers or times if all that are present are such."""
    found = {type(value) for value in values.tolist()} - {type(None)}
    if found and all(issubclass(one, Real | Decimal) and not issubclass(one, bool | np.bool_) for one in found):
        return np.array([np.nan if value is None else value for value in values.tolist()], dtype=np.float64)
    if str in found:  # the usual case, which needs no further look
        return None
    there = values.copy()
    there[[isinstance(value, float) and value != value for value in values.tolist()]] = None
    return of_content(there) if found else None


def numbers(column: Any) -> NDArray[Any]:
    """Convert a numeric column to floats, with NaN for missing entries; float32 stays float32, and times are days."""
    kind = kind_of(column)
    kept = np.float32 if kind == "float32" else np.float64
    if kind in TIMES:
        return days(times(column, kind))
    if isinstance(column, np.ndarray):
        return column.astype(kept, copy=False)
    if hasattr(column, "type"):
        import pyarrow as pa

        # "unsafe" rounds integers beyond 2^53, as in every other kind of data frame
        return np.asarray(column.cast(pa.from_numpy_dtype(kept), safe=False))
    if hasattr(column, "iloc"):
        return np.asarray(column.to_numpy(dtype=kept, na_value=np.nan))
    return np.asarray(column.cast(_polars_float(kept)).fill_null(float("nan")).to_numpy())


def _polars_float(kept: Any) -> Any:
    import polars

    return polars.Float32 if kept is np.float32 else polars.Float64


def absent(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where levels, or numbers among them, are missing."""
    # The missing value of pandas' own types does not say whether it differs from itself.
    found = [value is None or type(value).__name__ == "NAType" or value != value for value in values.ravel().tolist()]
    return np.array(found, dtype=bool).reshape(values.shape)


def levels(column: Any) -> NDArray[Any]:
    """Convert a column of text, categories or truth values to objects, with None for missing entries."""
    if isinstance(column, np.ndarray):
        found = column.astype(object)
        if column.dtype.kind in "fmM":
            found[np.isnan(column)] = None
        return found
    if hasattr(column, "type"):
        return _arrow_levels(column)
    if hasattr(column.dtype, "categories") and hasattr(column.cat, "codes"):  # pandas; a missing value has the code -1
        return np.array([*column.cat.categories.tolist(), None], dtype=object)[column.cat.codes.to_numpy()]
    values = np.asarray(column.to_numpy() if not hasattr(column, "iloc") else column.to_numpy(dtype=object))
    missing = np.asarray(column.isna() if hasattr(column, "isna") else column.is_null().to_numpy())
    found = values.astype(object)
    found[missing] = None
    return found


def _arrow_levels(column: Any) -> NDArray[Any]:
    import pyarrow.types as types

    plain = column.cast(column.type.value_type) if types.is_dictionary(column.type) else column
    if plain.null_count == 0 or arrow_kind(plain.type) not in NUMBERS:
        return np.asarray(plain).astype(object)
    found = np.asarray(plain.fill_null(0)).astype(object)  # NumPy cannot mix integers and missing values
    found[np.asarray(plain.is_null())] = None
    return found
