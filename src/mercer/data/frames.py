"""The only file that knows pandas and polars: the columns of a frame as NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def is_frame(X: Any) -> bool:
    """Whether X is a table with named columns, each of its own type."""
    return hasattr(X, "columns") and (hasattr(X, "iloc") or hasattr(X, "schema"))


def columns(X: Any) -> dict[str, Any]:
    """The columns by name, in order."""
    found = {str(name): X.iloc[:, place] if hasattr(X, "iloc") else X[:, place] for place, name in enumerate(X.columns)}
    if len(found) < len(X.columns):
        names = [str(name) for name in X.columns]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the columns of a frame must have different names, found {twice!r} twice")
    return found


def frame_rows(X: Any, rows: slice | NDArray[Any]) -> Any:
    """Some rows of a frame."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def stacked_frames(frames: list[Any]) -> Any:
    """Frames with the same columns one below the other."""
    if hasattr(frames[0], "iloc"):
        import pandas

        return pandas.concat(frames, ignore_index=True)
    import polars

    return polars.concat(frames, how="vertical_relaxed")


def is_numeric(column: Any) -> bool:
    """Whether the entries of a column are numbers: text, categories and truth values are levels."""
    dtype = column.dtype
    if hasattr(dtype, "is_numeric"):  # polars
        return bool(dtype.is_numeric())
    # pandas' categories have a kind too, that of an object
    kind = getattr(dtype, "kind", "O")
    return kind in "iuf" and not hasattr(dtype, "categories")


def numbers(column: Any) -> NDArray[Any]:
    """A numeric column as floats, missing entries as NaN; float32 stays float32."""
    kept = np.float32 if str(column.dtype).lower() == "float32" else np.float64
    if hasattr(column, "iloc"):
        return np.asarray(column.to_numpy(dtype=kept, na_value=np.nan))
    return np.asarray(column.cast(_polars_float(kept)).fill_null(float("nan")).to_numpy())


def _polars_float(kept: Any) -> Any:
    import polars

    return polars.Float32 if kept is np.float32 else polars.Float64


def levels(column: Any) -> NDArray[Any]:
    """A column of text, categories or truth values as objects, missing entries as None."""
    values = np.asarray(column.to_numpy() if not hasattr(column, "iloc") else column.to_numpy(dtype=object))
    missing = np.asarray(column.isna() if hasattr(column, "isna") else column.is_null().to_numpy())
    found = values.astype(object)
    found[missing] = None
    return found
