"""Groups of rows, each of which is covered separately."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._caller import warn_caller
from .order_statistics import rank

Numbers = NDArray[np.int64]


def learned_groups(groups: Any, n_rows: int) -> tuple[NDArray[Any], Numbers]:
    """Return the groups, and the number of the group of every row; without groups, all rows are one group."""
    if groups is None:
        return np.zeros(1, dtype=np.int64), np.zeros(n_rows, dtype=np.int64)
    groups = as_groups(groups, n_rows)
    known, codes = np.unique(groups, return_inverse=True)
    return known, codes.astype(np.int64)


def known_codes(groups: Any, known: NDArray[Any], grouped: bool, n_rows: int) -> Numbers:
    """Return the numbers of the groups of new rows; raise an error if one of them was not learned."""
    if not grouped:
        if groups is not None:
            raise ValueError("groups were given for new rows, but fit was given none")
        return np.zeros(n_rows, dtype=np.int64)
    if groups is None:
        raise ValueError(f"fit was given the groups {known.tolist()!r:.200}, so new rows need groups, found None")
    groups = as_groups(groups, n_rows)
    if (groups.dtype.kind == "U") != (known.dtype.kind == "U"):
        raise ValueError(f"expected groups among {known.tolist()!r:.200}, found {groups[:1].tolist()!r:.200} in row 0")
    places = np.minimum(np.searchsorted(known, groups), len(known) - 1)
    strange = known[places] != groups
    if strange.any():
        row = int(np.argmax(strange))
        raise ValueError(f"expected groups among {known.tolist()!r:.200}, found {groups[row].item()!r} in row {row}")
    return places.astype(np.int64)


def as_groups(groups: Any, n_rows: int) -> NDArray[Any]:
    """Return groups as an array of numbers or of text; refuse anything other than one group per row."""
    groups = np.asarray(groups)
    if groups.shape != (n_rows,):
        raise ValueError(f"expected one group for each of {n_rows} rows, found an array of shape {groups.shape}")
    if groups.dtype == object:
        entries = groups.tolist()
        kinds = {str if isinstance(one, str) else float if isinstance(one, Real) else type(one) for one in entries}
        if len(kinds) > 1 or not kinds <= {str, float}:
            names = " and ".join(sorted("text" if one is str else one.__name__ for one in kinds))
            raise TypeError(f"expected groups that are all text or all numbers, found {names}")
        groups = np.array(entries)
    if groups.dtype.kind == "f" and np.isnan(groups).any():
        raise ValueError(f"expected a group for every row, found nan in row {int(np.isnan(groups).argmax())}")
    return groups


def warn_of_small(known: NDArray[Any], codes: Numbers, coverage: float, grouped: bool) -> None:
    """Issue a warning about groups with too few rows for this coverage, whose sets and intervals contain everything."""
    counts = np.bincount(codes, minlength=len(known))
    small = [rank(coverage, count) > count for count in counts.tolist()]
    if any(small):
        which = f" of group {known[int(np.argmax(small))].item()!r}" if grouped else ""
        warn_caller(
            f"{counts[int(np.argmax(small))]} rows{which} are too few for a coverage of {coverage:g}: their intervals "
            f"are infinite and their sets contain every class; lower the coverage, or calibrate on more rows",
        )
