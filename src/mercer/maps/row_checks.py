"""Checks of rows before they are mapped: all at once in ``fit``, tile by tile in ``transform``."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.utils.validation import validate_data

from .._array import Array, aligned, as_stored, first_overflow, has_kernels, on_gpu
from .._rows import Rows
from ..data.frames import columns, is_frame, kind_of
from ..data.times import TIMES
from ..kernels import Kernel

Check = Callable[[Array], None]


def is_plain(X: Array, fitted: Any) -> bool:
    """Return whether a fitted map can take X as it is, once its entries have been checked."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype in (np.float32, np.float64)
        and X.flags.aligned
        and X.shape[0] > 0
        and X.shape[1] == fitted.n_features_in_
        and not hasattr(fitted, "feature_names_in_")
        and not fitted.takes_objects(X, reset=False)
    )


def validated(estimator: Any, X: Array, **options: Any) -> Any:
    """Validate X like scikit-learn does, in a form that the compiled core can read."""
    refuse_times(X)
    return aligned(validate_data(estimator, as_stored(X), **options))


def refuse_times(X: Any) -> None:
    """Raise a ValueError for dates and durations, whose missing values would become large negative numbers."""
    if is_frame(X):
        found = [(name, kind) for name, column in columns(X).items() if (kind := kind_of(column)) in TIMES]
        if found:
            name, kind = found[0]
            raise ValueError(
                f"expected columns of numbers, found {kind}s in {name!r}: convert them, for example to days"
            )
    elif getattr(getattr(X, "dtype", None), "kind", "") in ("m", "M"):
        raise ValueError(f"expected numbers, found {X.dtype}: convert them to numbers of days")


def row_check(X: Array, check_rows: Check, check_all: Callable[[], Any]) -> Check:
    """Return a function that checks a tile of X: its entries must be finite and pass ``check_rows``.

    This way a tile is read from memory once, and threads share the work. If a tile fails, ``check_all`` examines all
    rows and raises an error that counts them from the first one.
    """
    finite = not get_config()["assume_finite"]  # read here, because other threads have their own configuration
    if not has_kernels(X):  # on a device it is cheaper to check the domain once
        check_rows(X)
        if not (on_gpu(X) and finite):  # other rows have been checked already
            return lambda tile: None

    def is_fine(tile: Array) -> bool:
        try:
            if has_kernels(tile):
                check_rows(tile)
        except ValueError:
            return False
        return not finite or first_overflow(tile) is None

    def check(tile: Array) -> None:
        if not is_fine(tile):
            check_all()

    return check


def check_domain(kernel: Kernel, rows: Rows) -> None:
    """Raise a ValueError that names the first row outside the kernel's domain, if there is one."""
    if kernel.takes_every_row:
        return
    if rows.whole is not None:  # rows are then counted from the first one
        return kernel.check_rows(rows.whole)
    first = 0
    for block in rows.blocks():
        check_rows(kernel, block, first, rows.where)
        first += block.shape[0]


def check_rows(kernel: Kernel, X: Array, first_row: int, where: Callable[[int], str | None] = lambda row: None) -> None:
    """Check rows, the first of which has number ``first_row``; ``where`` names a row for users, as a line of a file."""
    try:
        kernel.check_rows(X)
    except ValueError as error:

        def counted(found: re.Match[str]) -> str:
            row = first_row + int(found[1])
            return where(row) or f"row {row}"

        raise ValueError(re.sub(r"\brow (\d+)", counted, str(error), count=1)) from error
