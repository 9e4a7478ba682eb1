"""What a preparation does to columns, in sentences."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from .offsets_and_factors import WIDEST
from .row_kinds import WORDS

if TYPE_CHECKING:
    from .preparation import Preparation

MOST_NAMES = 10
"""Names of columns that a sentence lists."""
SCALED = {
    "standard": "columns are shifted and scaled to mean 0 and variance 1",
    "common": "all columns are multiplied by the same factor",
    "unit": "rows are scaled to norm 1",
    "minmax": "columns are shifted and scaled to run from 0 to 1",
    None: "numbers are taken as they are, without scaling",
}


def description(preparation: Preparation) -> tuple[str, ...]:
    """What is done, in the order in which it is done."""
    found = [] if preparation.kind is None else [f"the rows look like {WORDS[preparation.kind]}"]
    found += [*_levels(preparation), *_left_out(preparation), *_gaps(preparation), *_tails(preparation)]
    found.append(SCALED[preparation.scale])
    if preparation.tails == "tame" and preparation.scale == "standard":
        found.append(
            f"no column reaches over more than {WIDEST:g} units, and the levels of a column count as one column"
        )
    if preparation.column_scales is not None:
        scales = preparation.column_scales
        found.append(
            f"prepared columns are then multiplied by scales from {scales.min(initial=np.inf):.3g} to "
            f"{scales.max(initial=0.0):.3g}"
        )
    return tuple(found)


def _levels(preparation: Preparation) -> Iterable[str]:
    for column in preparation.columns or ():
        if column.rare:
            count = len(column.levels or ()) + len(column.rare)
            yield f"column {column.name} has {count:,} levels, of which {len(column.rare):,} rare ones share one column"


def _left_out(preparation: Preparation) -> Iterable[str]:
    if preparation.kept is None:
        return
    empty: list[str] = []
    constant: list[str] = []
    kept = set(preparation.kept.tolist())
    for name, places in preparation.sources():
        if kept.isdisjoint(places):
            filling = preparation.filling
            is_empty = filling is not None and bool(np.isnan(filling[list(places)]).all())
            (empty if is_empty else constant).append(name)
    yield from counted(constant, "is constant and is left out", "are constant and are left out")
    yield from counted(empty, "has no entries and is left out", "have no entries and are left out")


def _gaps(preparation: Preparation) -> Iterable[str]:
    if preparation.filling is None:
        return
    if preparation.indicated is not None:
        names = [preparation.source_of(place) for place in preparation.indicated.tolist()]
        how = "gaps, which a column of 0 and 1 marks"
        yield from counted(names, f"has {how}", f"have {how} for each")
    or_median = "" if preparation.tamed is None else ", or its median where it has heavy tails"
    yield f"a gap is filled with the mean of its column{or_median}"


def _tails(preparation: Preparation) -> Iterable[str]:
    if preparation.tamed is not None:
        names = [preparation.source_of(place) for place in preparation.tamed.columns.tolist()]
        yield from counted(names, "has heavy tails and passes through asinh", "have heavy tails and pass through asinh")


def counted(names: list[str], one: str, several: str) -> Iterable[str]:
    """What is said of some columns; nothing where there are none."""
    names = list(dict.fromkeys(names))  # parts of a date have one name
    if len(names) == 1:
        yield f"column {names[0]} {one}"
    elif names:
        more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
        yield f"{len(names):,} columns {several}: {', '.join(names[:MOST_NAMES])}{more}"
