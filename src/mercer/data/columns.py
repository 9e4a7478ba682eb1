"""Which columns are features, targets and weights: matched by name between files, and widened."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from .block import Block
from .frames import NUMBERS, Frame, absent, columns, levels, numbers
from .sources import MissingColumnError, Source, SourceError
from .times import TIMES, days_of, times

PLAIN = (*NUMBERS, "empty")
"""The kinds that are numbers already, or may become any kind."""
LEVELS = ("text", "bool", "int levels", "uint64 levels", "float levels")
WHOLE = {"int": np.int64, "uint64": np.uint64}
LABELS = {"bool": bool, "text": str, "int levels": np.int64, "uint64 levels": np.uint64, "float levels": np.float64}
"""The types of targets that are levels."""
MOST_LISTED = 20
"""The largest number of columns that a message lists."""


class Roles(NamedTuple):
    """The columns that are not features: targets, weights, and the column that divides rows into groups."""

    target: Any = None
    weight: Any = None
    group: Any = None

    def all(self) -> tuple[Any, ...]:
        """Return every column that has a role."""
        targets = self.target if isinstance(self.target, tuple) else (self.target,)
        return tuple(dict.fromkeys(name for name in (*targets, self.weight, self.group) if name is not None))


class Columns(ABC):
    """The conversion of a raw block to a block."""

    names: tuple[str, ...] | None
    """The names of the features, or None."""
    width: int
    roles: Roles
    dtype: Any
    levels: tuple[str, ...] = ()
    """The features that are text or truth values."""
    times: dict[str, str]
    """The features that are dates or durations, and which of these they are."""
    others: tuple[str, ...] = ()
    """Columns of the first source that were not requested and may hold anything."""
    sources: list[Source]
    notes: tuple[str, ...] = ()

    def widened(self, width: int) -> Columns | None:
        """Return these columns padded with zeros to ``width`` features, or None if they cannot be padded."""
        return None

    def without(self, places: Sequence[Any], width: int) -> Columns | None:
        """Return these columns without the given features, or padded to ``width``; None if neither fits."""
        return self.widened(width)

    def framed(self) -> Columns:
        """Return columns that give data frames if columns have names, even if all of them are numbers."""
        return self

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns that must be read: features, then columns with a role."""
        return tuple(dict.fromkeys((*(self.names or ()), *self.roles.all())))

    @property
    def features(self) -> tuple[Any, ...] | None:
        """The names of the features or, without names, their numbers; None means all columns."""
        return self.names

    @property
    def looked_at(self) -> tuple[Any, ...]:
        """The columns in which a row may have missing values: features in any order, targets and weight."""
        return frozenset(self.names or ()), self.roles.target, self.roles.weight

    @abstractmethod
    def block(self, raw: Any) -> Block:
        """Convert a raw block to features, targets and weights; missing entries are NaN or None."""

    @abstractmethod
    def groups(self, raw: Any) -> NDArray[Any]:
        """Return the entries of a raw block in the column that divides rows into groups."""

    @abstractmethod
    def apart(self, column: Any) -> Self:
        """Return the same columns, with this one dividing rows into groups instead of being a feature."""

    def without_gaps(self, y: Any) -> Any:
        """Return targets after the rows in which they are missing have been dropped."""
        return y

    @abstractmethod
    def only(self, names: Sequence[str] | None, roles: Roles) -> Self:
        """Return the columns with these features, in this order, and these roles."""


class NamedColumns(Columns):
    """Columns with names, of numbers or of levels."""

    def __init__(
        self,
        sources: list[Source],
        names: Sequence[str] | None,
        roles: Roles,
        dtype: DTypeLike,
        excluded: Sequence[str] = (),
        framed: bool = False,
    ):
        self.sources, self._dtype, self._framed = sources, dtype, framed
        schemas = [source.schema for source in sources]
        first = schemas[0]
        assert isinstance(first, dict)
        self.roles = roles
        for name in excluded:
            if name not in first:
                raise missing(sources[0], name)
        check_excluded(excluded, roles)
        apart = (*roles.all(), *excluded)
        chosen = first if names is None else names
        self.names = tuple(name for name in chosen if name not in (apart if names is None else excluded))
        self.width = len(self.names)
        if names is None and not self.names:
            raise ValueError(f"{sources[0].name} has no columns except {', '.join(map(repr, apart))}")
        self.kinds: dict[str, str] = {name: "empty" for name in self.needed}
        self.others = tuple(name for name in first if name not in self.kinds)
        extra: dict[str, str] = {}
        for source in sources:
            self._merge(source)
            assert isinstance(source.schema, dict)
            extra |= {name: source.name for name in source.schema if name not in (*self.kinds, *excluded, *extra)}
        self._settle_unsigned()
        if names is None:
            self.notes = tuple(
                f"column {name!r} of {where} is ignored, because {sources[0].name} does not have it"
                for name, where in extra.items()
            )
        single = all(self.kinds[name] == "float32" for name in self.names if self.kinds[name] in PLAIN)
        self.dtype = np.dtype(dtype if dtype is not None else np.float32 if single else np.float64)
        self.levels = tuple(name for name in self.names if self.kinds[name] in LEVELS)
        self.times = {name: self.kinds[name] for name in self.names if self.kinds[name] in TIMES}

    def _merge(self, source: Source) -> None:
        """Widen the kinds of columns to hold another source."""
        schema = source.schema
        assert isinstance(schema, dict)
        for name, kind in self.kinds.items():
            if name not in schema:
                raise missing(source, name)
            here = schema[name]
            if here not in (*PLAIN, *LEVELS, *TIMES):
                raise SourceError(
                    f"column {name!r} of {source.name} has type {here}, which is neither numbers nor text nor dates"
                )
            self.kinds[name] = wider(kind, here)
            if not self.kinds[name]:
                before = self.sources[0].name
                raise SourceError(f"column {name!r} is {here} in {source.name} and {kind} in {before}")

    def _settle_unsigned(self) -> None:
        """Settle integer columns of several files if some values exceed 2^63 in a file without types.

        They are unsigned if no file has a negative value, and floats otherwise, as they would be in a single such file.
        """
        for name, kind in self.kinds.items():
            found = [(source.schema[name], name in source.unsigned) for source in self.sources]  # type: ignore[index]
            if kind == "int" and ("uint64", True) in found:
                self.kinds[name] = "float64" if ("int", False) in found else "uint64"

    def only(self, names: Sequence[str] | None, roles: Roles) -> NamedColumns:
        return NamedColumns(
            self.sources, self.names if names is None else names, roles, self._dtype, framed=self._framed
        )

    def framed(self) -> NamedColumns:
        return NamedColumns(self.sources, self.names, self.roles, self._dtype, framed=True)

    def apart(self, column: Any) -> NamedColumns:
        return self.only([name for name in self.names or () if name != column], self.roles._replace(group=column))

    def block(self, raw: Any) -> Block:
        given = columns(raw)
        assert self.names is not None
        if self._framed or self.levels or self.times:
            X: Any = Frame({name: self._feature(given[name], name) for name in self.names})
        else:
            X = np.empty((raw.shape[0], self.width), dtype=self.dtype)
            for place, name in enumerate(self.names):
                X[:, place] = numbers(given[name])
        target, weight = self.roles.target, self.roles.weight
        if isinstance(target, tuple):
            y: Any = side_by_side([self._target(given[name], name) for name in target])
        else:
            y = None if target is None else self._target(given[target], target)
        return Block(X, y, None if weight is None else numbers(given[weight]).astype(np.float64))

    def _feature(self, column: Any, name: str) -> NDArray[Any]:
        kind = self.kinds[name]
        if kind in TIMES:
            return times(column, kind)
        return levels(column) if kind in LEVELS else numbers(column).astype(self.dtype, copy=False)

    def _target(self, column: Any, name: str) -> NDArray[Any]:
        """Return targets as integers, floats, truth values or text, or as floats or objects if some are missing."""
        kind = self.kinds[name]
        if kind in LEVELS:
            found = levels(column)
            return found if absent(found).any() else found.astype(LABELS[kind])
        found = numbers(column).astype(np.float64, copy=False)
        gaps = np.isnan(found)
        if kind in WHOLE and gaps.any() and (np.abs(found) >= 2.0**53).any():  # floats would round these
            listed = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
            return np.array([None if gap else int(one) for one, gap in zip(listed, gaps, strict=True)], dtype=object)
        if kind not in WHOLE or gaps.any():
            return found
        whole = np.asarray(column)  # not via floats, which would round labels beyond 2^53
        if kind == "int" and whole.dtype == np.uint64 and (whole >= 2**63).any():
            raise SourceError(
                f"column {name!r} has whole numbers from 2^63 on in one file, and other whole numbers in another, "
                "which no type of integers holds: write them as text"
            )
        return whole.astype(WHOLE[kind])

    def without_gaps(self, y: Any) -> Any:
        target = self.roles.target
        kind = self.kinds.get(target) if isinstance(target, str) else None
        # Convert every block, so that labels do not depend on where blocks are cut.
        return y.astype(WHOLE[kind]) if kind in WHOLE else y

    def groups(self, raw: Any) -> NDArray[Any]:
        column, kind = columns(raw)[self.roles.group], self.kinds[self.roles.group]
        if kind in TIMES:
            return times(column, kind)
        return levels(column) if kind in LEVELS else numbers(column)


class NumberedColumns(Columns):
    """Columns without names, identified by their numbers."""

    names = None
    times: dict[str, str] = {}  # noqa: RUF012  a matrix holds numbers already

    def __init__(
        self,
        sources: list[Source],
        columns: Sequence[int] | None,
        roles: Roles,
        dtype: DTypeLike,
        excluded: Sequence[int] = (),
    ):
        widths = {source.schema for source in sources if isinstance(source.schema, int)}
        if len(widths) != 1:
            first, other = next((a, b) for a, b in pairwise(sources) if a.schema != b.schema)
            raise SourceError(f"{other.name} has {other.schema} columns, but {first.name} has {first.schema}")
        self.sources, (self._all,), self._dtype = sources, widths, dtype
        self.roles = Roles(*(None if place is None else self._place(place) for place in roles))
        apart = [self._place(place) for place in excluded]
        check_excluded(apart, self.roles)
        taken = {*self.roles.all(), *apart}
        if columns is None:
            self._columns = None if not taken else [place for place in range(self._all) if place not in taken]
        else:
            self._columns = [place for place in map(self._place, columns) if place not in apart]
        self.width = self._all if self._columns is None else len(self._columns)
        self.dtype = None if dtype is None else np.dtype(dtype)

    def _place(self, column: Any) -> int:
        if isinstance(column, str) and column.removeprefix("-").isdecimal():  # for example from a command line
            column = int(column)
        if not isinstance(column, int | np.integer) or not -self._all <= column < self._all:
            raise MissingColumnError(
                f"{self.sources[0].name} has columns 0 to {self._all - 1} without names, found {column!r}", column
            )
        return int(column) % self._all

    @property
    def features(self) -> tuple[int, ...] | None:
        return None if self._columns is None else tuple(self._columns)

    @property
    def looked_at(self) -> tuple[Any, ...]:
        places = range(self._all) if self._columns is None else self._columns
        return frozenset(places), self.roles.target, self.roles.weight

    def only(self, names: Sequence[str] | None, roles: Roles) -> NumberedColumns:
        return NumberedColumns(self.sources, self._columns, roles, self._dtype)  # a former role is not a feature now

    def apart(self, column: Any) -> NumberedColumns:
        place = self._place(column)
        kept = [one for one in (range(self._all) if self._columns is None else self._columns) if one != place]
        return NumberedColumns(self.sources, kept, self.roles._replace(group=place), self._dtype)

    def widened(self, width: int) -> NumberedColumns | None:
        wider = [source.widened(width) for source in self.sources] if self._columns is None else [None]
        sources = [source for source in wider if source is not None]
        return NumberedColumns(sources, None, self.roles, self._dtype) if len(sources) == len(wider) else None

    def without(self, places: Sequence[Any], width: int) -> NumberedColumns | None:
        kept = [one for one in range(self._all) if one not in places]
        if self._columns is None and len(kept) == width:
            return NumberedColumns(self.sources, kept, self.roles, self._dtype)
        return self.widened(width)

    def block(self, raw: Block) -> Block:
        X = raw.X if self._columns is None else raw.X[:, self._columns]
        X = days_of(X)
        kept = self.dtype or (np.float32 if X.dtype == np.float32 else np.float64)
        X = X.astype(kept, copy=False) if sp.issparse(X) else np.array(X, dtype=kept, order="C", copy=None)
        y = raw.y if self.roles.target is None else self._column(raw.X, self.roles.target)
        weight = None if self.roles.weight is None else self._column(raw.X, self.roles.weight).astype(np.float64)
        return Block(X, y, weight)

    @staticmethod
    def _column(X: Any, place: int) -> NDArray[Any]:
        return X[:, [place]].toarray()[:, 0] if sp.issparse(X) else np.asarray(days_of(X[:, place]))

    def groups(self, raw: Block) -> NDArray[Any]:
        return self._column(raw.X, self.roles.group)


def check_excluded(excluded: Sequence[Any], roles: Roles) -> None:
    """Refuse to exclude a column that is needed."""
    for name in excluded:
        if name in roles.all():
            raise ValueError(f"column {name!r} is excluded, but it is the target, the weight or the column of groups")


def missing(source: Source, name: str) -> MissingColumnError:
    """Make the error for a source without a column of this name."""
    assert isinstance(source.schema, dict)
    return MissingColumnError(f"{source.name} has no column {name!r}; {nearest(name, list(source.schema))}", name)


def nearest(name: Any, known: list[str]) -> str:
    """Return a hint at what was meant: the nearest name, or some of the existing names."""
    near = difflib.get_close_matches(str(name).lower(), [one.lower() for one in known], n=1)
    if near:
        return f"did you mean {next(one for one in known if one.lower() == near[0])!r}?"
    return f"it has {', '.join(map(repr, known[:MOST_LISTED]))}{', ...' if len(known) > MOST_LISTED else ''}"


def side_by_side(targets: list[NDArray[Any]]) -> NDArray[Any]:
    """Combine columns of targets in one array, of objects if text or truth values are combined with others."""
    kinds = {column.dtype.kind for column in targets}
    alike = len(kinds) == 1 or kinds <= {"i", "f"}
    return np.stack([column if alike else column.astype(object) for column in targets], axis=1)


def wider(one: str, other: str) -> str:
    """Return the kind that holds both, or "" if there is none."""
    if one == other or "empty" in (one, other):
        return other if one == "empty" else one
    if {one, other} == {"int", "uint64"}:
        return "int"
    return "float64" if one in NUMBERS and other in NUMBERS else ""  # dates, durations and numbers do not mix
