"""Rows with missing or infinite values, found in a block as it was read."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .block import Block
from .frames import Frame, absent


class Fault(NamedTuple):
    """An unusable row of a block, and what is wrong with it, in words."""

    row: int
    what: str


def first_fault(block: Block, names: tuple[str, ...] | None) -> Fault | None:
    """Find the first row with an infinite feature, or without a usable target or weight.

    Missing features are left to learners, which may impute them.
    """
    faults = [fault for fault in (_feature(block.X, names), _target(block.y), _weight(block.weight)) if fault]
    return min(faults, default=None)


def _feature(X: Any, names: tuple[str, ...] | None) -> Fault | None:
    if isinstance(X, Frame):
        found = [(name, infinite(part)) for name, part in X.parts.items() if part.dtype.kind == "f"]
        return min(
            (Fault(int(rows[0]), f"column {name!r} is infinite") for name, rows in found if len(rows)), default=None
        )
    values = X.data if sp.issparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):  # false if any value is infinite, and faster than checking each
            return None
    places = infinite(values.ravel())
    if len(places) == 0:
        return None
    if sp.issparse(X):
        row, column = int(np.searchsorted(X.indptr, places[0], side="right")) - 1, int(X.indices[places[0]])
    else:
        row, column = divmod(int(places[0]), X.shape[1])
    return Fault(row, f"column {column if names is None else names[column]!r} is infinite")


def infinite(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return where values are infinite."""
    return np.flatnonzero(np.isinf(values))


def _target(y: Any) -> Fault | None:
    if y is None:
        return None
    wrong = ~_finite(y)
    return Fault(int(np.argmax(wrong)), "the target is missing or infinite; remove such rows") if wrong.any() else None


def _weight(weight: Any) -> Fault | None:
    if weight is None or np.isfinite(weight).all():
        return negative_weight(weight)
    return Fault(int(np.argmin(np.isfinite(weight))), "the weight is missing or infinite")


def negative_weight(weight: Any) -> Fault | None:
    """Find the first row with a negative weight."""
    if weight is None or not (weight < 0.0).any():
        return None
    row = int(np.argmax(weight < 0.0))
    return Fault(row, f"the weight must not be negative, found {weight[row]:g}")


def sound_rows(block: Block) -> NDArray[np.bool_]:
    """Return which rows have neither missing nor infinite values."""
    X = block.X
    if isinstance(X, Frame):
        sound = np.logical_and.reduce([_finite(part) for part in X.parts.values()])
    elif sp.issparse(X):
        wrong = np.searchsorted(X.indptr, np.flatnonzero(~np.isfinite(X.data)), side="right") - 1
        sound = np.ones(X.shape[0], dtype=bool)
        sound[wrong] = False
    else:
        sound = np.isfinite(X).all(axis=1)
    for part in block[1:]:
        sound = sound if part is None else sound & _finite(part)
    return sound


def _finite(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which entries, or rows of several, are present and finite."""
    if values.dtype.kind not in "fmMO":
        return np.ones(len(values), dtype=bool)
    found: NDArray[Any] = ~absent(values) if values.dtype.kind == "O" else np.isfinite(values)
    return np.asarray(found.reshape(len(values), -1).all(axis=1))


def bytes_of(block: Block) -> int:
    """Estimate the memory that a block takes."""
    X = block.X
    if isinstance(X, Frame):
        return sum(part.nbytes * (8 if part.dtype == object else 1) for part in X.parts.values())
    return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sp.issparse(X) else X.nbytes)
