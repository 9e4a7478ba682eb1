"""Preparations of columns as a record (JSON) and arrays, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.times import TIMES
from ..learn.prepare.levels import Column
from ..learn.prepare.preparation import (
    COLUMN_SCALES,
    CONSTANT,
    DATES,
    MISSING,
    RARE,
    SCALES,
    TAILS,
    TAMED_SCALES,
    UNKNOWN,
    Preparation,
)
from ..learn.prepare.row_kinds import KINDS
from ..learn.prepare.tails import Tails
from ..maps.array_layouts import Leaf, floats
from .json_values import NotStoredError, non_finite, number
from .map_records import ArraySink, ArraySource, put_tree, take_tree
from .validation import as_dict, as_list, as_text, check_names, refuse

STORED_SCALES = SCALES[1:]
"""Entries whose value "auto" has been replaced by its meaning once there is a model."""
ALWAYS = {"scale": STORED_SCALES, "missing": MISSING, "unknown": UNKNOWN, "dates": DATES}
"""Entries that every record has, and their possible values; older files have no dates."""
OTHERWISE = {"tails": TAILS, "rare": RARE, "constant": CONSTANT, "kind": (None, *KINDS)}
"""Entries that a record has unless their value is the first of these."""


def layouts(encoded: int | None = None, prepared: int | None = None) -> dict[str, Any]:
    """Return the arrays of a preparation, of any length if the numbers of columns are not given."""
    places: Any = Leaf(("int64",), (None,), 0, np.inf if encoded is None else encoded - 1)
    return {
        "tamed": Tails(places, floats(None), floats(None, least=0.0, zero=False)),
        "kept": places,
        "indicated": places,
        "offset": floats(prepared),
        "factor": floats(prepared),
        "filling": floats(encoded, finite=False),
        "column_scales": floats(prepared, least=0.0),
    }


# -- writing -----------------------------------------------------------------------------------------------------------


def write_preparation(preparation: Preparation, target: ArraySink, path: str) -> dict[str, Any]:
    """Return the record of a preparation; the names of its arrays start with ``path``."""
    for name, layout in layouts().items():
        value = getattr(preparation, name)
        if value is not None:
            put_tree(layout, value, target, f"{path}.{name}")
    columns = preparation.columns
    record = {name: getattr(preparation, name) for name in ALWAYS}
    record["columns"] = None if columns is None else [_write_column(column) for column in columns]
    for name, choices in OTHERWISE.items():
        if getattr(preparation, name) != choices[0]:
            record[name] = getattr(preparation, name)
    return record | ({"sparse_levels": True} if preparation.sparse_levels else {})


def _write_column(column: Column) -> list[Any]:
    if column.levels is None:
        return [column.name, None if column.time is None else {"time": column.time}]
    for level in (*column.levels, *column.rare):
        if type(level) not in (str, bool, int, float):
            raise NotStoredError(
                f"column {column.name!r} has the level {level!r} of type {type(level).__name__}, which a model file "
                "cannot contain; convert it to text"
            )
    levels, rare = (
        [number(level) if isinstance(level, float) else level for level in some]
        for some in (column.levels, column.rare)
    )
    return [column.name, {"levels": levels, "rare": rare} if rare else levels]


# -- reading -----------------------------------------------------------------------------------------------------------


def read_preparation(record: Any, columns: int, names: Any, taken: int, source: ArraySource, path: str) -> Preparation:
    """Return the preparation in a record, checked against the number and names of columns and the width of the map."""
    record = {"dates": DATES[0]} | as_dict(record, "preparation")
    check_names(record, (*ALWAYS, *OTHERWISE, "columns", "sparse_levels"), "preparation")
    record = {name: choices[0] for name, choices in OTHERWISE.items()} | record
    for name, choices in (ALWAYS | OTHERWISE).items():
        value = record.get(name)
        if not (value is None or isinstance(value, str)) or value not in choices:
            refuse(f"{name} of the preparation must be one of {choices}, found {value!r:.40}")
    asked = {name: record[name] for name in ("tails", "rare", "constant")}
    preparation = Preparation(
        record.get("scale"), record["missing"], record["unknown"], record["dates"], names, **asked
    )
    preparation.kind = record["kind"]
    if record.get("columns") is not None:
        found = [_read_column(column) for column in as_list(record["columns"], "columns of the preparation")]
        if len(found) != columns or len({column.name for column in found}) != columns:
            refuse(f"the preparation must have {columns} columns with different names, found {len(found)}")
        preparation.columns = tuple(found)
    preparation.sparse_levels = record.get("sparse_levels", False)  # models in older files have dense rows
    if preparation.sparse_levels is not False and (preparation.sparse_levels is not True or not preparation.levelled):
        refuse("sparse_levels of the preparation must be true, and only if columns have levels")
    encoded = preparation.encoded_width(columns)
    for name in ("tamed", "kept", "indicated"):
        _take(preparation, name, layouts(encoded)[name], source, path)
    prepared = preparation.width(columns)
    if prepared != taken:
        refuse(f"{columns} columns are prepared as {prepared}, but the map expects {taken}")
    for name in ("offset", "factor", "filling", "column_scales"):
        _take(preparation, name, layouts(encoded, prepared)[name], source, path)
    _check_places(preparation)
    if preparation.kind is not None or preparation.needs_summary:
        preparation.n_encoded = encoded
    if (preparation.scale in COLUMN_SCALES) != (preparation.factor is not None) or (preparation.missing != "error") != (
        preparation.filling is not None
    ):
        refuse("the preparation must have factors if it scales columns, and fill values if it fills gaps")
    return preparation


def _take(preparation: Preparation, name: str, layout: Any, source: ArraySource, path: str) -> None:
    if source.has(f"{path}.{name}"):
        setattr(preparation, name, take_tree(layout, source, f"{path}.{name}"))


def _check_places(preparation: Preparation) -> None:
    """Refuse columns that are listed twice or out of order, and those that no argument asks for."""
    tamed, kept, indicated = preparation.tamed, preparation.kept, preparation.indicated
    for name, places in (("tamed", None if tamed is None else tamed.columns), ("kept", kept), ("indicated", indicated)):
        if places is not None and (len(places) == 0 or (np.diff(places) <= 0).any()):
            refuse(f"the columns that are {name} must be at least one, in increasing order")
    if tamed is not None and not len(tamed.columns) == len(tamed.centre) == len(tamed.spread):
        refuse("each tamed column needs a centre and a spread")
    may_be_tamed = preparation.tails == "tame" and preparation.scale in TAMED_SCALES
    if tamed is not None and not may_be_tamed and preparation.scale != "log":
        refuse("columns are tamed although the preparation keeps tails or does not scale columns")
    if kept is not None and preparation.constant != "drop":
        refuse("columns are dropped although the preparation keeps constant ones")
    if indicated is not None and preparation.missing not in ("indicator", "auto"):
        refuse("gaps are marked although the preparation does not ask for it")
    if tamed is not None and _are_levels(preparation, tamed.columns):
        refuse("columns of levels cannot be tamed")
    if indicated is not None and preparation.columns is not None:
        firsts = [places.start for _, places in preparation.sources()]
        if not np.isin(indicated, firsts).all():
            refuse("gaps must be marked in the first of the columns into which a column was split")


def _are_levels(preparation: Preparation, places: NDArray[np.int64]) -> bool:
    return preparation.columns is not None and bool(preparation.is_level[places].any())


def _read_column(record: object) -> Column:
    pair = as_list(record, "a column")
    if len(pair) != 2:
        refuse("a column must have a name and its levels")
    name, held = as_text(pair[0], "the name of a column"), pair[1]
    if held is None:
        return Column(name, None)
    if isinstance(held, dict) and "rare" in held:
        check_names(held, ("levels", "rare"), f"column {name!r:.40}")
        levels, rare = (_read_levels(held.get(part), name) for part in ("levels", "rare"))
        if not rare or len({*levels, *rare}) != len(levels) + len(rare):
            refuse(f"column {name!r:.40} must have rare levels, and each level only once")
        return Column(name, levels, None, rare)
    if isinstance(held, dict):
        check_names(held, ("time",), f"column {name!r:.40}")
        if held.get("time") not in TIMES:
            refuse(f"column {name!r:.40} must be one of {TIMES}, found {held.get('time')!r:.40}")
        return Column(name, None, held["time"])
    return Column(name, _read_levels(held, name))


def _read_levels(record: object, name: str) -> tuple[Any, ...]:
    levels = []
    for level in as_list(record, f"the levels of column {name!r:.40}"):
        level = non_finite(level.get("float"), name) if isinstance(level, dict) else level
        if type(level) not in (str, bool, int, float):
            refuse(f"column {name!r:.40} has a level that is neither text nor a number: {level!r:.40}")
        levels.append(level)
    return tuple(levels)
