"""Checks that rows are acceptable to a learner: matrices and data frames in memory, and the columns of files."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from ..._array import to_numpy
from ...data import SourceTable
from ...data.block import without_duplicates
from ...data.frames import check_infinite, columns, is_frame, is_numeric, settled
from ...data.times import days_of
from ...maps.row_checks import validated
from .gaps import told_where
from .preparation import Preparation


def refuse_path(X: object) -> None:
    """Refuse the name of a file in place of its rows."""
    if isinstance(X, str | os.PathLike):
        name = os.fsdecode(X)
        raise TypeError(f"expected rows, found the path {name!r}: open it with mercer.data.open({name!r}, target=...)")


def checked_rows(machine: Any, X: Any, reset: bool) -> Any:
    """Return X as scikit-learn validates it; data frames with levels or dates unchanged, tensors as NumPy arrays."""
    refuse_path(X)
    X = to_numpy(X)
    if is_frame(X):
        X = settled(X)
        framed = not reset and machine.preparation_.columns is not None
        if framed or not all(map(is_numeric, columns(X).values())):
            check_infinite(X)
            return validate_data(machine, X, skip_check_array=True, reset=reset)
    X, gaps = days_of(X), True if machine.asked_missing == "error" else "allow-nan"
    with told_where(X):
        return without_duplicates(
            validated(
                machine, X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=gaps, reset=reset
            )
        )


def as_in_fit(table: SourceTable, preparation: Preparation) -> SourceTable:
    """Return a table whose columns have the types that they had in fit, or are empty; otherwise raise an error."""
    wanted = {column.name: column.holds for column in preparation.columns or ()}
    found = dict.fromkeys(table.levels, "levels") | {name: f"{kind}s" for name, kind in table.times.items()}
    for name in sorted(table.names or ()):
        before, now = wanted.get(name, "numbers"), found.get(name, "numbers")
        if before == now:
            continue
        if not table.is_missing(name):
            raise ValueError(f"column {name!r} contained {before} in fit, but contains {now} now")
        table = table.framed()  # in a matrix the missing column could not be identified
    return table
