"""A description, in sentences, of what a preparation does to columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from ...data.times import PARTS
from .offsets_and_factors import WIDEST
from .row_kinds import WORDS

if TYPE_CHECKING:
    from .preparation import Preparation

MOST_NAMES = 10
"""Names of columns that a sentence lists."""
SCALED = {
    "standard": "columns are shifted and scaled to mean 0 and variance 1",
    "common": "all columns are multiplied by the same factor",
    "log": "all columns are then multiplied by the same factor",
    "unit": "rows are scaled to norm 1",
    "minmax": "columns are shifted and scaled to run from 0 to 1",
    None: "numbers are not scaled",
}


def description(preparation: Preparation) -> tuple[str, ...]:
    """Return the steps of a preparation in words, in the order in which they are applied."""
    found = [] if preparation.kind is None else [f"the rows look like {WORDS[preparation.kind]}"]
    found += [
        *_levels(preparation),
        *_dates(preparation),
        *_left_out(preparation),
        *_gaps(preparation),
        *_tails(preparation),
    ]
    found.append(SCALED[preparation.scale])
    if preparation.tails == "tame" and preparation.scale == "standard":
        found.append(f"no column extends beyond {WIDEST:g} units, and the levels of a column count as one column")
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


def _dates(preparation: Preparation) -> Iterable[str]:
    if preparation.dates == "parts":
        names = [column.name for column in preparation.columns or () if column.time == "date"]
        how = f"whose {', '.join(PARTS[:-1])} and {PARTS[-1]} are used as well"
        yield from counted(names, f"is a date, {how}", f"are dates, {how}")


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
    yield from counted(constant, "is constant and is dropped", "are constant and are dropped")
    yield from counted(empty, "has no entries and is dropped", "have no entries and are dropped")


def _gaps(preparation: Preparation) -> Iterable[str]:
    if preparation.filling is None:
        return
    if preparation.indicated is not None:
        names = [preparation.source_of(place) for place in preparation.indicated.tolist()]
        how = "missing values, marked by a column of 0 and 1"
        yield from counted(names, f"has {how}", f"have {how} for each")
    if preparation.scale == "log":
        yield "a missing value is filled with the logarithmic mean of its column"
        return
    or_median = "" if preparation.tamed is None else ", or its median if it has heavy tails"
    yield f"a missing value is filled with the mean of its column{or_median}"


def _tails(preparation: Preparation) -> Iterable[str]:
    if preparation.tamed is not None and preparation.scale == "log":
        unit = float(preparation.tamed.spread[0])
        yield f"numbers pass through asinh in units of {unit:.3g}, which is logarithmic for larger numbers"
    elif preparation.tamed is not None:
        names = [preparation.source_of(place) for place in preparation.tamed.columns.tolist()]
        yield from counted(names, "has heavy tails, tamed by asinh", "have heavy tails, tamed by asinh")


def counted(names: list[str], one: str, several: str) -> Iterable[str]:
    """Yield a sentence about some columns; nothing if there are none."""
    names = list(dict.fromkeys(names))  # parts of a date have one name
    if len(names) == 1:
        yield f"column {names[0]} {one}"
    elif names:
        more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
        yield f"{len(names):,} columns {several}: {', '.join(names[:MOST_NAMES])}{more}"
