"""Groups of rows, each of which is to be covered by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._caller import warn_caller
from .order_statistics import rank

Numbers = NDArray[np.int64]


def learned_groups(groups: Any, n_rows: int) -> tuple[NDArray[Any], Numbers]:
    """The groups that there are, and the number of that of every row; all rows are one group where none are given."""
    if groups is None:
        return np.zeros(1, dtype=np.int64), np.zeros(n_rows, dtype=np.int64)
    groups = np.asarray(groups)
    check_length(groups, n_rows)
    known, codes = np.unique(groups, return_inverse=True)
    return known, codes.astype(np.int64)


def known_codes(groups: Any, known: NDArray[Any], grouped: bool, n_rows: int) -> Numbers:
    """The numbers of the groups of new rows; an error where one of them was not learned."""
    if not grouped:
        if groups is not None:
            raise ValueError("groups were given for new rows, but fit was given none")
        return np.zeros(n_rows, dtype=np.int64)
    if groups is None:
        raise ValueError(f"expected the groups of the rows, among {known.tolist()!r:.200}, found None")
    groups = np.asarray(groups)
    check_length(groups, n_rows)
    places = np.minimum(np.searchsorted(known, groups), len(known) - 1)
    strange = known[places] != groups
    if strange.any():
        row = int(np.argmax(strange))
        raise ValueError(f"expected groups among {known.tolist()!r:.200}, found {groups[row]!r} in row {row}")
    return places.astype(np.int64)


def check_length(groups: NDArray[Any], n_rows: int) -> None:
    """Refuse anything but one group for every row."""
    if groups.shape != (n_rows,):
        raise ValueError(f"expected one group for each of {n_rows} rows, found an array of shape {groups.shape}")


def warn_of_small(known: NDArray[Any], codes: Numbers, coverage: float, grouped: bool) -> None:
    """Say which groups have too few rows for this coverage: what they are promised is everything."""
    counts = np.bincount(codes, minlength=len(known))
    small = [rank(coverage, count) > count for count in counts.tolist()]
    if any(small):
        which = f" of group {known[int(np.argmax(small))].item()!r}" if grouped else ""
        warn_caller(
            f"{counts[int(np.argmax(small))]} rows{which} are too few for a coverage of {coverage:g}: their intervals "
            "are infinite and their sets have every class; lower the coverage, or calibrate on more rows",
        )
