"""Rows of data frames whose levels are codes, as dense rows or as CSR.

A CSR row stores its numbers and one entry per column of levels, however many levels there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..statistics.column_summaries import NOTHING, Summary, summarise
from .tails import Tails

MOST_DENSE = 512
"""With more levels than this, in all columns together, prepared rows are CSR."""
FREQUENT = 1.0 / 32.0
"""A level in at least this share of rows is frequent: there are at most 32 such levels in a column."""
ABSENT, UNSEEN = -1, -2
"""Codes for a missing level, and for an unknown one."""

Vector = NDArray[np.float64]
Entries = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
"""Rows, columns and values of a sparse matrix."""


class NumberColumns(NamedTuple):
    """Columns of numbers, from this prepared column on, with NaN for gaps."""

    first: int
    values: NDArray[Any]

    @property
    def width(self) -> int:
        return int(self.values.shape[1])

    @property
    def gaps(self) -> NDArray[np.bool_]:
        """The rows that have entries."""
        return np.isnan(self.values).any(axis=1)

    def summary(self, weight: Vector | None) -> Summary:
        """Return the summary of the entries of these rows."""
        return summarise(self.values, weight)

    def entries(
        self, moved: NDArray[np.bool_], filling: NDArray[Any] | None, dtype: np.dtype[Any]
    ) -> Iterator[Entries]:
        """Yield all entries, with their rows and columns.

        Yields
        ------
        tuple of ndarrays
            Rows, columns and values.
        """
        values = self.values.astype(dtype)
        values = values if filling is None else np.where(np.isnan(values), filling, values)
        rows, columns = np.indices(values.shape)
        yield rows.ravel(), columns.ravel(), values.ravel()


class LevelColumn(NamedTuple):
    """A column of levels: its prepared columns, ``width`` from ``first`` on, and the number of each row's level."""

    first: int
    width: int
    codes: NDArray[np.int64]

    @property
    def gaps(self) -> NDArray[np.bool_]:
        """The rows without a level; a column that had no levels in fit has nothing to fill."""
        return (self.codes == ABSENT) & (self.width > 0)

    def summary(self, weight: Vector | None) -> Summary:
        """Return what :func:`summarise` finds in the dense columns of 0 and 1."""
        known, seen = self.codes[self.codes != ABSENT], self.codes >= 0
        rows = np.bincount(self.codes[seen], minlength=self.width)
        if weight is None:
            inside, total = rows.astype(np.float64), float(len(known))
        else:
            inside = np.bincount(self.codes[seen], weight[seen], minlength=self.width).astype(np.float64)
            total = float(weight[self.codes != ABSENT].sum())
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = inside / total
        deviation = inside * (1.0 - mean) ** 2 + np.maximum(total - inside, 0.0) * mean**2
        some, all_of_them = rows > 0, rows == len(known)
        least = np.where(all_of_them, 1.0, 0.0) if len(known) else np.full(self.width, np.inf)
        most = np.where(some, 1.0, 0.0) if len(known) else np.full(self.width, -np.inf)
        exponent = np.where(some, 0, NOTHING).astype(np.int64)
        gaps = np.full(self.width, len(self.codes) - len(known))
        return Summary(np.full(self.width, total), mean, np.nan_to_num(deviation), least, most, exponent, gaps)

    def entries(
        self, moved: NDArray[np.bool_], filling: NDArray[Any] | None, dtype: np.dtype[Any]
    ) -> Iterator[Entries]:
        """Yield the entries that are not zero, and all of the columns that are moved, with their rows and columns.

        Yields
        ------
        tuple of ndarrays
            Rows, columns and values.
        """
        everywhere = np.flatnonzero(moved)
        values = (self.codes[:, None] == everywhere).astype(dtype)
        if filling is not None:
            values[self.gaps] = filling[everywhere]
        rows, columns = np.indices(values.shape)
        yield rows.ravel(), everywhere[columns.ravel()], values.ravel()
        rows = np.flatnonzero(self.codes >= 0)
        rows = rows[~moved[self.codes[rows]]]
        yield rows, self.codes[rows], np.ones(len(rows), dtype=dtype)
        if filling is not None:
            shares = np.flatnonzero(~moved & (filling != 0.0))
            rows = np.repeat(np.flatnonzero(self.gaps), len(shares))
            columns = np.tile(shares, np.count_nonzero(self.gaps))
            yield rows, columns, filling[columns]


class CodedRows(NamedTuple):
    """Rows of a data frame in which every level is still a code."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    parts: list[NumberColumns | LevelColumn]

    def summary(self, weight: Vector | None) -> Summary:
        """Return the summary of every prepared column."""
        found = [part.summary(weight) for part in self.parts]
        return Summary(*(np.concatenate(one) for one in zip(*found, strict=True)))

    def first_gap(self) -> tuple[int, int] | None:
        """Return the row and the first prepared column of the first gap, if there is one."""
        return min(((int(np.argmax(part.gaps)), part.first) for part in self.parts if part.gaps.any()), default=None)

    def tamed(self, tails: Tails, filling: Vector | None) -> CodedRows:
        """Return rows whose numbers are filled, and tamed if required."""
        return self._replace(parts=[self._tamed(part, tails, filling) for part in self.parts])

    @staticmethod
    def _tamed(part: NumberColumns | LevelColumn, tails: Tails, filling: Vector | None) -> NumberColumns | LevelColumn:
        here = tails.among(np.arange(part.first, part.first + part.width))
        if isinstance(part, LevelColumn) or len(here.columns) == 0:
            return part
        fills = None if filling is None else filling[part.first : part.first + part.width]
        values = part.values if fills is None else np.where(np.isnan(part.values), fills, part.values)
        return part._replace(values=here.of(values.astype(part.values.dtype)))

    def with_indicators(self, firsts: NDArray[np.int64]) -> CodedRows:
        """Return rows with additional columns that are 1 for missing values in the parts starting there."""
        gaps = {part.first: part.gaps for part in self.parts}
        rows, width = self.shape
        more = [
            LevelColumn(width + place, 1, np.where(gaps[int(first)], 0, UNSEEN)) for place, first in enumerate(firsts)
        ]
        return CodedRows((rows, width + len(more)), self.dtype, [*self.parts, *more])

    def dense(self) -> NDArray[Any]:
        """Return dense rows: a column of 0 and 1 for every level, NaN in all of them for a missing value."""
        out = np.empty(self.shape, dtype=self.dtype)  # once: levels may be many
        for part in self.parts:
            if isinstance(part, NumberColumns):
                out[:, part.first : part.first + part.values.shape[1]] = part.values
                continue
            columns = out[:, part.first : part.first + part.width]
            columns[:] = 0.0
            columns[part.codes == ABSENT] = np.nan
            rows = np.flatnonzero(part.codes >= 0)
            columns[rows, part.codes[rows]] = 1.0
        return out

    def sparse(self, offset: Vector | None, factor: Vector | None, filling: Vector | None) -> Any:
        """Return rows as CSR, filled, moved and scaled; a column that is moved is stored in every row."""
        places = np.arange(self.shape[1])
        offset = np.zeros(self.shape[1]) if offset is None else offset
        factor = np.ones(self.shape[1]) if factor is None else factor
        entries = []
        for part in self.parts:
            here = slice(part.first, part.first + part.width)
            moves, multiplies = offset[here].astype(self.dtype), factor[here].astype(self.dtype)
            fills = None if filling is None else filling[here].astype(self.dtype)
            for rows, columns, values in part.entries(moves != 0.0, fills, self.dtype):
                entries.append((rows, places[here][columns], (values - moves[columns]) * multiplies[columns]))
        rows, columns, values = (np.concatenate(one) for one in zip(*entries, strict=True))
        return sp.coo_array((values, (rows, columns)), shape=self.shape).tocsr()


def without_rare(found: Vector, shares: Vector, is_level: NDArray[np.bool_]) -> Vector:
    """Return the summary of every column, with 0 for levels that are not frequent."""
    return np.where(is_level & (shares < FREQUENT), 0.0, found)
