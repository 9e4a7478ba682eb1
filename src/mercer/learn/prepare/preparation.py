"""From what users have to rows of numbers: levels become columns of 0 and 1, dates days, gaps are filled.

A :class:`Preparation` is learned once, in one pass over blocks, and then frozen: it is part of the model.
"""

from __future__ import annotations

import reprlib
import warnings
from collections.abc import Iterable
from copy import copy
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ... import _core
from ..._array import squares
from ...data.disguised_text import remarks
from ...data.frames import NUMBERS, columns, holds, is_frame, is_missing, kind_of, levels, numbers
from ...data.table_rows import RowError
from ...data.times import PARTS, TIMES, times
from ...data.times import parts as parts_of_dates
from ..statistics.column_summaries import Summary, joined, summarise
from . import coded_rows
from .coded_rows import ABSENT, UNSEEN, CodedRows, LevelColumn, NumberColumns, without_rare

SCALES = ("standard", "unit", "minmax", None)
MISSING = ("error", "mean")
UNKNOWN = ("error", "ignore")
DATES = ("number", "parts")
GAP = "missing='mean' fills it, and drop=True of mercer.data.open leaves such rows out"
"""What to do about a gap."""

Vector = NDArray[np.float64]


class Column(NamedTuple):
    """A column of a frame: of numbers, of levels, each of which becomes a column of 0 and 1, or of times.

    ``time`` is "date" or "duration", which become numbers of days, or None.
    """

    name: str
    levels: tuple[Any, ...] | None
    time: str | None = None

    @property
    def holds(self) -> str:
        """What the column has: "levels", "numbers", "dates" or "durations"."""
        return f"{self.time}s" if self.time is not None else "numbers" if self.levels is None else "levels"


class Preparation:
    """How rows become numbers.

    Frames of few levels become dense rows. Where there are more than ``coded_rows.MOST_DENSE`` levels, as
    :meth:`learn_columns` decides once and for all, rows become CSR. Levels that fewer than one row in 32 has are then
    scaled but not centred, and a gap is not filled with their shares, so that their zeros stay zeros.

    Parameters
    ----------
    scale : "standard", "unit", "minmax" or None
        Columns of mean 0 and variance 1, rows of norm 1, columns from 0 to 1, or rows as they are. Zeros of sparse rows
        stay zeros: "standard" divides them by the deviation, "minmax" by the largest absolute value.
    missing : "error" or "mean"
        What a gap (NaN or None) becomes; the mean of a column of levels is the share of every (frequent) level.
    unknown : "error" or "ignore"
        What a level that ``learn`` did not see becomes: zeros in all columns of its levels, where ignored.
    dates : "number" or "parts"
        A date becomes the days since 1970-01-01, or these with its year, month, day of the month, weekday and hour.
    names : sequence of str or None
        What messages call the columns of a matrix.
    """

    def __init__(self, scale: Any, missing: str, unknown: str, dates: str = "number", names: Any = None):
        self.scale = scale
        self.missing = missing
        self.unknown = unknown
        self.dates = dates
        self.names = names
        self.columns: tuple[Column, ...] | None = None
        self.offset: Vector | None = None
        self.factor: Vector | None = None
        self.filling: Vector | None = None
        self.sparse_levels = False
        self._numbered: dict[str, dict[Any, int]] = {}

    # -- learning ------------------------------------------------------------------------------------------------------

    @property
    def needs_summary(self) -> bool:
        """Whether a pass over the rows has more to find than the levels of frames."""
        return self.scale in ("standard", "minmax") or self.missing == "mean"

    def learn_columns(self, blocks: Iterable[Any]) -> None:
        """Find the kinds of the columns of frames, and the levels of those that have some."""
        found: dict[str, set[Any] | None] | None = None
        kinds: dict[str, str] = {}
        filled: dict[str, int] = {}
        for block in blocks:
            if not is_frame(block):
                return
            here = columns(block)
            if found is None:
                kinds = {name: kind_of(column) for name, column in here.items()}
                found = {name: None if kind in (*NUMBERS, *TIMES) else set() for name, kind in kinds.items()}
                filled = dict.fromkeys(found, 0)
            for name, seen in found.items():
                if seen is not None:
                    there = [level for level in levels(here[name]).tolist() if level is not None]
                    check_hashable(name, there)
                    seen.update(there)
                    filled[name] += len(there)
        assert found is not None
        self.columns = tuple(
            Column(
                name,
                None if seen is None else tuple(sorted(seen, key=lambda level: (str(type(level)), level))),
                kinds[name] if kinds[name] in TIMES else None,
            )
            for name, seen in found.items()
        )
        self.sparse_levels = sum(len(column.levels or ()) for column in self.columns) > coded_rows.MOST_DENSE
        self._numbered = {}
        for column in self.columns:
            for remark in remarks(column.name, column.levels or (), filled[column.name]):
                warnings.warn(remark, UserWarning, stacklevel=5)

    @property
    def levelled(self) -> str | None:
        """The name of the first column of levels, where there is one."""
        return next((column.name for column in self.columns or () if column.levels is not None), None)

    @property
    def most_levels(self) -> Column | None:
        """The column with the most levels, where one has some."""
        levelled = [column for column in self.columns or () if column.levels is not None]
        return max(levelled, key=lambda column: len(column.levels or ()), default=None)

    @property
    def dated(self) -> bool:
        """Whether some columns are dates or durations."""
        return any(column.time is not None for column in self.columns or ())

    def learn_scale(self, blocks: Iterable[tuple[Any, Vector | None]]) -> None:
        """Find the means, deviations and ranges of the encoded columns; blocks come with the weights of their rows."""
        if not self.needs_summary:
            return
        total: Summary | None = None
        is_sparse = False
        for X, weight in blocks:
            is_sparse = is_sparse or sp.issparse(X)
            part = self.summary(X, weight)
            total = part if total is None else joined(total, part)
        assert total is not None
        self.filling = total.mean if self.missing == "mean" else None
        if self.scale == "standard":
            self._scale_by(total.spread, total.mean, is_sparse)
        elif self.scale == "minmax" and is_sparse:
            self._scale_by(np.maximum(np.abs(total.least), np.abs(total.most)), total.least, is_sparse)
        elif self.scale == "minmax":
            self._scale_by(total.most - total.least, total.least, is_sparse)
        if self.sparse_levels:
            for name in ("filling", "offset"):
                found = getattr(self, name)
                setattr(self, name, None if found is None else without_rare(found, total.mean, self.is_level))

    def summary(self, X: Any, weight: Vector | None) -> Summary:
        """Means, deviations and ranges of the columns of rows before they are filled and scaled."""
        return self._coded(X).summary(weight) if self.sparse_levels else summarise(self.encode(X), weight)

    def _scale_by(self, size: Vector, offset: Vector, is_sparse: bool) -> None:
        # A column that is constant but for rounding is left at its offset: it carries nothing.
        constant = ~(size > 10.0 * np.finfo(np.float64).eps * np.abs(offset))
        self.factor = 1.0 / np.where(constant, 1.0, size)
        self.offset = None if is_sparse else offset

    @property
    def is_level(self) -> NDArray[np.bool_]:
        """Which of the prepared columns stand for a level."""
        return np.repeat([column.levels is not None for column in self.columns or ()], self._widths)

    # -- use -----------------------------------------------------------------------------------------------------------

    def __call__(self, X: Any) -> Any:
        """Rows of numbers."""
        if self.sparse_levels:
            return self._sparse_rows(X)
        encoded = self.encode(X)
        if self.offset is not None and _core.AVAILABLE and not sp.issparse(encoded):
            scaled = self._scaled_at_once(encoded)
            if scaled is not None:
                return scaled
        values = encoded.data if sp.issparse(encoded) else encoded
        if np.isnan(values).any():
            encoded = self._filled(encoded)
        if self.scale == "unit":
            return unit_rows(encoded)
        if self.factor is None:
            return encoded
        factor = self.factor.astype(encoded.dtype)
        if sp.issparse(encoded):
            return type(encoded)(
                (encoded.data * factor[encoded.indices], encoded.indices, encoded.indptr), encoded.shape
            )
        return (encoded if self.offset is None else encoded - self.offset.astype(encoded.dtype)) * factor

    def _scaled_at_once(self, encoded: NDArray[Any]) -> NDArray[Any] | None:
        """Dense rows by the compiled core, in one pass; None where there are gaps to fill or to refuse."""
        assert self.offset is not None
        assert self.factor is not None
        encoded, dtype = np.ascontiguousarray(encoded), encoded.dtype
        out = np.empty_like(encoded)
        bad = _core.scaled(encoded, self.offset.astype(dtype), self.factor.astype(dtype), out)
        return out if bad is None else None

    def encode(self, X: Any) -> Any:
        """Rows before they are filled and scaled: frames as one dense matrix, missing entries as NaN."""
        self._check_frame(X)
        if not is_frame(X):
            return X
        return self._coded(X).dense()

    def _sparse_rows(self, X: Any) -> Any:
        """Rows of numbers as CSR."""
        coded = self._coded(X)
        gap = coded.first_gap() if self.filling is None else None
        if gap is not None:
            raise self._gap_error(*gap)
        found = coded.sparse(self.offset, self.factor, self.filling)
        empty = np.isnan(found.data)
        if empty.any():
            raise self._no_mean(int(found.indices[np.argmax(empty)]))
        return unit_rows(found) if self.scale == "unit" else found

    def _coded(self, X: Any) -> CodedRows:
        """Rows of a frame before their levels become columns."""
        self._check_frame(X)
        here, wanted = self._matched(X)
        numbers = [None if column.levels is not None else self._numbers(column, here[column.name]) for column in wanted]
        parts: list[NumberColumns | LevelColumn] = []
        first = 0
        for column, values in zip(wanted, numbers, strict=True):
            if values is None:
                codes = self._level_codes(column, here[column.name])
                parts.append(LevelColumn(first, self.width_of(column), codes))
            else:
                parts.append(NumberColumns(first, values))
            first += self.width_of(column)
        return CodedRows((X.shape[0], first), common_dtype(numbers), parts)

    def _check_frame(self, X: Any) -> None:
        """Refuse a matrix in place of a frame with levels or dates."""
        if not is_frame(X) and (self.levelled is not None or self.dated):
            held = next(column for column in self.columns or () if column.holds != "numbers")
            raise ValueError(
                f"expected a frame with the columns of fit, as column {held.name!r} has {held.holds}; "
                "found a matrix without names"
            )

    def _matched(self, X: Any) -> tuple[dict[str, Any], tuple[Column, ...]]:
        """The columns of a frame by name, and those that are wanted of it."""
        here = columns(X)
        # learned from a matrix, all columns are numbers; that their names are those of then was seen to before
        wanted = tuple(Column(name, None) for name in here) if self.columns is None else self.columns
        missing = next((column.name for column in wanted if column.name not in here), None)
        if missing is not None:
            raise ValueError(f"the frame has no column {missing!r}; it has {', '.join(map(repr, here))}")
        return here, wanted

    def _numbers(self, column: Column, values: Any) -> NDArray[Any]:
        """A column of numbers or times as columns of numbers."""
        if not self._is_as_learned(column, values):
            return np.full((len(values), self.width_of(column)), np.nan)
        if column.time is None:
            return numbers(values)[:, None]
        found = times(values, column.time)
        number = numbers(found)[:, None]
        return number if self.width_of(column) == 1 else np.concatenate([number, parts_of_dates(found)], axis=1)

    @staticmethod
    def _is_as_learned(column: Column, values: Any) -> bool:
        """Whether a column has the type that it had in fit: False if all of it is missing, and an error otherwise."""
        now = holds(kind_of(values))
        if now != column.holds and kind_of(values) != "empty" and not is_missing(values):
            raise ValueError(f"column {column.name!r} had {column.holds} in fit and has {now} now")
        return now == column.holds

    def _level_codes(self, column: Column, values: Any) -> NDArray[np.int64]:
        """The numbers of the levels of a column; an error where one was not learned and is not to be ignored."""
        self._is_as_learned(column, values)
        found, numbered = self._codes(column, values)
        if self.unknown == "error" and (numbered == UNSEEN).any():
            row = int(np.argmax(numbered == UNSEEN))
            known = ", ".join(map(repr, (column.levels or ())[:8])) + (", ..." if len(column.levels or ()) > 8 else "")
            raise RowError(
                row,
                f"column {column.name!r} has the level {found[row]!r} in {{row}}; known are {known}; "
                "unknown='ignore' lets it stand for none",
            )
        return numbered

    def is_unseen(self, column: Column, values: Any) -> NDArray[np.bool_]:
        """Which rows of a column have a level that was not learned."""
        return self._codes(column, values)[1] == UNSEEN

    def _codes(self, column: Column, values: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The levels of a column, and their numbers: ``ABSENT`` for a gap, ``UNSEEN`` for one that was not learned."""
        found = levels(values)
        check_hashable(column.name, found.tolist())
        if column.name not in self._numbered:  # kept: making it takes longer than looking up the levels of a tile
            self._numbered[column.name] = {level: code for code, level in enumerate(column.levels or ())}
        known = self._numbered[column.name]
        numbered = [ABSENT if level is None else known.get(level, UNSEEN) for level in found.tolist()]
        return found, np.array(numbered, dtype=np.int64)

    def _filled(self, encoded: Any) -> Any:
        values = encoded.data if sp.issparse(encoded) else encoded
        gaps = np.isnan(values)
        places = encoded.tocoo().coords if sp.issparse(encoded) else None
        rows, cols = (places[0][gaps], places[1][gaps]) if places is not None else np.nonzero(gaps)
        if self.filling is None:
            raise self._gap_error(int(rows[0]), int(cols[0]))
        if np.isnan(self.filling[cols]).any():
            raise self._no_mean(int(cols[np.argmax(np.isnan(self.filling[cols]))]))
        encoded = encoded.copy()
        (encoded.data if sp.issparse(encoded) else encoded)[gaps] = self.filling[cols]
        return encoded

    def _gap_error(self, row: int, number: int) -> RowError:
        return RowError(row, f"Input X contains NaN: {{row}}, {self._name_of(number)} is missing; {GAP}")

    def _no_mean(self, number: int) -> ValueError:
        return ValueError(f"{self._name_of(number)} is missing in every row that was learned from: it has no mean")

    def _name_of(self, number: int) -> str:
        if self.columns is None:
            return f"column {number if self.names is None else str(self.names[number])!r}"
        place = int(np.searchsorted(np.cumsum(self._widths), number, side="right"))
        return f"column {self.columns[place].name!r}"

    def width(self, n_columns: int) -> int:
        """How many columns of numbers become of so many columns."""
        return n_columns if self.columns is None else sum(self._widths)

    @property
    def _widths(self) -> list[int]:
        return [self.width_of(column) for column in self.columns or ()]

    def width_of(self, column: Column) -> int:
        """How many columns of numbers one becomes."""
        if column.time == "date" and self.dates == "parts":
            return 1 + len(PARTS)
        return 1 if column.levels is None else len(column.levels)

    def treating_unknown(self, unknown: str) -> Preparation:
        """The same with another treatment of unknown levels, for which nothing needs to be learned."""
        other = copy(self)
        other.unknown = unknown
        return other

    def differs(self, other: Preparation) -> str | None:
        """What tells two preparations apart, in words."""
        for name in ("scale", "missing", "unknown", "dates", "columns", "sparse_levels"):
            if getattr(self, name) != getattr(other, name):
                return f"{name} is {getattr(self, name)!r} here and {getattr(other, name)!r} there"
        for name in ("offset", "factor", "filling"):
            ours, theirs = getattr(self, name), getattr(other, name)
            if (ours is None) != (theirs is None) or not (ours is None or np.array_equal(ours, theirs, equal_nan=True)):
                return f"the {name} of the columns was learned from other rows"
        return None


def check_hashable(name: str, found: list[Any]) -> None:
    """Refuse entries that are no levels, such as lists and complex numbers."""
    for kind in {type(one) for one in found}:
        if kind.__hash__ is None or issubclass(kind, complex | np.complexfloating):
            row = next(row for row, one in enumerate(found) if type(one) is kind)
            raise TypeError(
                f"column {name!r} has {reprlib.repr(found[row])} of type {kind.__name__}; expected numbers, text, "
                "truth values or dates: leave the column out, or turn it into such"
            )


def common_dtype(parts: list[NDArray[Any] | None]) -> np.dtype[Any]:
    """The type that holds columns of numbers, and of levels, which are None here."""
    return np.result_type(*(np.float32 if part is None else part.dtype for part in parts))


def unit_rows(X: Any) -> Any:
    """Rows of norm 1; a row of zeros stays one."""
    limits = np.finfo(X.dtype)
    with np.errstate(over="ignore"):
        found = squares(X)
    odd = ~((found > limits.tiny / limits.eps) & np.isfinite(found))  # a square has overflowed, or has no digits
    if odd.any():  # by their largest entry first; not by a factor, as that of a small one may overflow in its turn
        largest = np.asarray(abs(X).max(axis=1).toarray()).ravel() if sp.issparse(X) else np.abs(X).max(axis=1)
        X = divided_rows(X, np.where(odd & (largest > 0.0), largest, 1.0))
        found = squares(X)
    norms = np.sqrt(found)
    norms[norms == 0.0] = 1.0
    return scaled_rows(X, 1.0 / norms)


def divided_rows(X: Any, divisors: NDArray[Any]) -> Any:
    """Every row divided by a number."""
    if sp.issparse(X):
        data = X.data / np.repeat(divisors, np.diff(X.indptr)).astype(X.dtype)
        return type(X)((data, X.indices, X.indptr), X.shape)
    return X / divisors[:, None].astype(X.dtype)


def scaled_rows(X: Any, factors: NDArray[Any]) -> Any:
    """Every row times its factor."""
    if sp.issparse(X):
        data = X.data * np.repeat(factors, np.diff(X.indptr)).astype(X.dtype)
        return type(X)((data, X.indices, X.indptr), X.shape)
    return X * factors[:, None].astype(X.dtype)
