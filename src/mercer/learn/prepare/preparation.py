"""From user data to rows of numbers: levels become columns of 0 and 1, dates become days, missing values are filled.

A :class:`Preparation` is learned once, in one pass over blocks, and then frozen: it is part of the model.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ... import _core
from ..._array import dense
from ..._caller import warn_caller
from ...data.block import Block
from ...data.disguised_text import remarks
from ...data.frames import NUMBERS, columns, holds, is_frame, is_missing, kind_of, levels, numbers
from ...data.table_rows import RowError
from ...data.times import TIMES, times
from ...data.times import parts as parts_of_dates
from ..statistics.column_summaries import Summary, joined, summarise
from . import coded_rows
from .coded_rows import ABSENT, UNSEEN, CodedRows, LevelColumn, NumberColumns, without_rare
from .description import description
from .levels import Column, check_hashable, in_order, rare_levels
from .new_entries import NewEntries
from .offsets_and_factors import Spread, back_in_reach, in_precision, offset_and_factor, reach_slopes, within_reach
from .row_kinds import KINDS, recognised
from .tails import SAMPLED, Bent, Tails, heavy_tails, logarithms
from .unit_rows import pull_unit_rows, unit_rows

SCALES = ("auto", "standard", "common", "log", "unit", "minmax", None)
COLUMN_SCALES = ("standard", "common", "log", "minmax")
"""Scales that multiply columns by values learned from them."""
TAMED_SCALES = ("standard", "minmax")
"""Scales with which heavy tails are tamed: they treat every column separately."""
MISSING = ("error", "mean", "indicator", "auto")
UNKNOWN = ("auto", "error", "ignore")
DATES = ("number", "parts")
TAILS = ("keep", "tame")
RARE = ("keep", "pool")
CONSTANT = ("keep", "drop")
GAP = "missing='mean' fills it, and drop=True of mercer.data.open removes such rows"
"""Advice about a missing value, for messages."""
MOST_SORTED = 2**22
"""The approximate number of entries that are sorted for quantiles: with many columns, some rows are enough."""

Vector = NDArray[np.float64]
Places = NDArray[np.int64]


class Found(NamedTuple):
    """The results of the pass over the rows, which are sufficient for any scale.

    ``heavy`` contains the columns with heavy tails, and ``logs`` the logarithms of all columns of numbers.
    """

    total: Summary
    whole: float
    is_sparse: bool
    heavy: Bent | None = None
    logs: Bent | None = None

    def joined(self, later: Found) -> Found:
        """Return what was found in both sets of rows, before tails are examined."""
        return Found(joined(self.total, later.total), self.whole + later.whole, self.is_sparse or later.is_sparse)


class SeenColumns(NamedTuple):
    """The kinds of the columns of frames, and how often each level was seen in columns of levels."""

    kinds: dict[str, str]
    levels: dict[str, Counter[Any] | None]

    @classmethod
    def of(cls, blocks: Iterable[Any]) -> SeenColumns | None:
        """Return the columns of blocks; None if they are not data frames."""
        found: dict[str, Counter[Any] | None] | None = None
        kinds: dict[str, str] = {}
        for block in blocks:
            if not is_frame(block):
                return None
            here = columns(block)
            if found is None:
                kinds = {name: kind_of(column) for name, column in here.items()}
                found = {name: None if kind in (*NUMBERS, *TIMES) else Counter() for name, kind in kinds.items()}
            for name, seen in found.items():
                if seen is not None:
                    there = [level for level in levels(here[name]).tolist() if level is not None]
                    check_hashable(name, there)
                    seen.update(there)
        assert found is not None
        return cls(kinds, found)

    def joined(self, later: SeenColumns) -> SeenColumns:
        """Return the columns of both sets of rows."""
        pairs = ((name, seen, later.levels[name]) for name, seen in self.levels.items())
        return SeenColumns(
            self.kinds, {name: ours + theirs if ours and theirs else ours or theirs for name, ours, theirs in pairs}
        )


class Preparation:
    """The steps that turn rows into numbers, learned from the training rows.

    Data frames with few levels become dense rows. If there are more than ``coded_rows.MOST_DENSE`` levels, which
    :meth:`learn_columns` decides once and for all, rows become CSR. Levels found in fewer than one row in 32 are then
    scaled but not centred, and missing values are not filled with their shares, so that their zeros stay zeros.

    Parameters
    ----------
    scale : "auto", "standard", "common", "log", "unit", "minmax" or None
        In this order: columns of mean 0 and variance 1; all columns multiplied by the same factor, after which their
        variances are 1 on average; the same after numbers have passed through asinh in one unit for all columns; rows
        of norm 1; columns from 0 to 1; or rows as they are. Zeros of sparse rows stay zeros: "standard" divides by the
        deviation, and "minmax" by the largest absolute value. "auto" uses the scale that suits the ``kind`` of the
        rows: "standard" for tables, "common" for images, "unit" for text, None for histograms.
    missing : "error", "mean", "indicator" or "auto"
        What a missing value (NaN or None) becomes: the mean of its column, or the median if its tails are tamed; in a
        column of levels, the share of every (frequent) level. "indicator" also adds a column of 0 and 1 for every
        column that has missing values when it is learned, except for sparse matrices. "auto" does the same, and warns
        about missing values in columns that had none before.
    unknown : "auto", "error" or "ignore"
        Whether a level that ``learn`` did not see is refused ("error") or accepted. An accepted one counts as rare if
        rare levels share a column, and otherwise has zeros in all columns of levels. "auto" warns about such zeros.
    dates : "number" or "parts"
        A date becomes the number of days since 1970-01-01, or this number with its year, month, day of the month,
        weekday and hour.
    names : sequence of str or None
        The names of the columns of a matrix in messages.
    tails : "keep" or "tame"
        Whether columns of numbers with heavy tails pass through asinh before they are scaled by "standard" or "minmax";
        see :mod:`.tails`. With "tame", "standard" also gives variance 1 to a column of levels as a whole, instead of
        each of its levels, and stretches no column beyond 12 units. In new dense rows, entries beyond that grow only
        logarithmically.
    rare : "keep" or "pool"
        Whether rare levels have separate columns or share one, by the rule of :func:`.levels.rare_levels`.
    constant : "keep" or "drop"
        Whether columns with a single value, or none, are dropped; columns of sparse matrices stay.

    Attributes
    ----------
    kind : str or None
        The kind of rows that "auto" has recognised: "table", "histograms", "images" or "text".
    columns : tuple of Column or None
        The columns of data frames.
    tamed : Tails or None
        The columns that pass through asinh.
    kept : ndarray or None
        The columns that are not dropped; None means all of them.
    indicated : ndarray or None
        The columns that have an indicator of missing values; for a column of levels, the first of its columns.
    n_encoded : int or None
        The number of encoded columns, if they were examined.
    offset, factor, filling, column_scales : ndarray or None
        What is subtracted from columns, what they are multiplied by, what missing values become, and the scales of
        :meth:`with_column_scales`.

    Notes
    -----
    Columns are *encoded* when levels and dates have become numbers, and *prepared* when some of them have been dropped
    and indicators have been added. ``tamed``, ``kept``, ``indicated`` and ``filling`` refer to encoded columns, the
    other attributes to prepared ones.
    """

    def __init__(
        self,
        scale: Any,
        missing: str,
        unknown: str,
        dates: str = "number",
        names: Any = None,
        *,
        tails: str = "keep",
        rare: str = "keep",
        constant: str = "keep",
    ):
        self.scale = scale
        self.missing = missing
        self.unknown = unknown
        self.dates = dates
        self.names = names
        self.tails = tails
        self.rare = rare
        self.constant = constant
        self.kind: str | None = None
        self.columns: tuple[Column, ...] | None = None
        self.tamed: Tails | None = None
        self.kept: Places | None = None
        self.indicated: Places | None = None
        self.offset: Vector | None = None
        self.factor: Vector | None = None
        self.filling: Vector | None = None
        self.column_scales: Vector | None = None
        self.n_encoded: int | None = None
        self.sparse_levels = False
        self.new_entries = NewEntries()
        self._found: Found | None = None
        self._numbered: dict[str, dict[Any, int]] = {}

    @classmethod
    def automatic(
        cls,
        scale: Any = "auto",
        missing: str = "auto",
        unknown: str = "auto",
        dates: str = "number",
        names: Any = None,
    ) -> Self:
        """Return the default preparation for tables.

        Rare levels are pooled, constant columns dropped, and heavy tails tamed if the scale is left open.
        """
        tails = "tame" if scale == "auto" else "keep"
        return cls(scale, missing, unknown, dates, names, tails=tails, rare="pool", constant="drop")

    # -- learning ------------------------------------------------------------------------------------------------------

    @property
    def needs_summary(self) -> bool:
        """Whether a pass over the rows is needed for anything besides the levels of data frames."""
        asked = self.missing != "error" or self.tails == "tame" or self.constant == "drop"
        return asked or self.scale in ("auto", *COLUMN_SCALES)

    @property
    def rows_sampled(self) -> int:
        """The largest sample of rows that is examined; 0 if none is."""
        return SAMPLED if self.scale in ("auto", "log") or self.tails == "tame" else 0

    def learn_columns(self, blocks: Iterable[Any]) -> None:
        """Find the kinds of the columns of data frames, and the levels of columns of levels."""
        self.take_columns(SeenColumns.of(blocks))

    def take_columns(self, seen_columns: SeenColumns | None) -> None:
        """Use the columns that were found in all rows; None if these are not data frames."""
        if seen_columns is None:
            return
        kinds, found = seen_columns
        self.columns = tuple(self._column(name, kinds[name], seen) for name, seen in found.items())
        self.sparse_levels = sum(len(column.levels or ()) for column in self.columns) > coded_rows.MOST_DENSE
        self._numbered = {}
        for name, seen in found.items():
            for remark in () if seen is None else remarks(name, in_order(seen), seen.total()):
                warn_caller(remark)

    def _column(self, name: str, kind: str, seen: Counter[Any] | None) -> Column:
        """Return a column in which these levels were seen this often."""
        if seen is None:
            return Column(name, None, kind if kind in TIMES else None)
        rare = rare_levels(seen) if self.rare == "pool" else set()
        return Column(name, in_order(seen.keys() - rare), None, in_order(rare))

    @property
    def levelled(self) -> str | None:
        """The name of the first column of levels, if there is one."""
        return next((column.name for column in self.columns or () if column.levels is not None), None)

    @property
    def most_levels(self) -> Column | None:
        """The column with the most levels, if there is one with levels."""
        levelled = [column for column in self.columns or () if column.levels is not None]
        return max(levelled, key=lambda column: len(column.levels or ()), default=None)

    @property
    def dated(self) -> bool:
        """Whether some columns are dates or durations."""
        return any(column.time is not None for column in self.columns or ())

    def summed_up(self, blocks: Iterable[tuple[Any, Vector | None]]) -> Found:
        """Return means, deviations and ranges of the encoded columns of some rows; blocks come with weights."""
        total: Summary | None = None
        is_sparse, whole = False, 0.0
        for X, weight in blocks:
            is_sparse = is_sparse or sp.issparse(X)
            whole += X.shape[0] if weight is None else float(weight.sum())
            part = self.summary(X, weight)
            total = part if total is None else joined(total, part)
        assert total is not None
        return Found(total, whole, is_sparse)

    def take_scale(self, found: Found, sample: Callable[[], Block] | None = None) -> None:
        """Use the means, deviations and ranges of the encoded columns in all rows.

        ``sample`` returns some of the rows: ``rows_sampled`` of them, or all if there are fewer.
        """
        self._found, self.n_encoded = found, len(found.total.mean)
        if self.rows_sampled:
            assert sample is not None
            self._look_at(sample())
        self._settle()

    def _look_at(self, sample: Block) -> None:
        """Find the kind of the rows and the columns with heavy tails, from a sample."""
        assert self._found is not None
        found, total = self._found, self._found.total
        if self.scale == "auto":
            table = self.levelled is not None or self.dated
            self.kind = "table" if table else recognised(total, self.encode(sample.X))
            self.scale = KINDS[self.kind]
        if self.tails == "tame" or self.scale == "log":
            places, X = self._number_columns(sample.X)
            some = slice(None, None, max(1, math.ceil(X.shape[0] * X.shape[1] / MOST_SORTED)))
            X, weight = X[some], None if sample.weight is None else sample.weight[some]
            here = heavy_tails(X, weight, total.least[places], total.most[places])
            logs = Bent.of(logarithms(X, weight, here.columns), X, weight, places)
            self._found = found._replace(heavy=Bent.of(here, X, weight, places), logs=logs)

    def _number_columns(self, X: Any) -> tuple[Places, Any]:
        """Return the encoded columns of rows that are not levels, and their numbers."""
        if not is_frame(X):
            self._check_frame(X)
            return np.arange(X.shape[1]), X
        parts = [part for part in self._coded(X).parts if isinstance(part, NumberColumns)]
        places = [np.arange(part.first, part.first + part.width) for part in parts]
        nothing = np.zeros((X.shape[0], 0))
        return np.concatenate([*places, np.zeros(0, np.int64)]), np.concatenate(
            [*(p.values for p in parts), nothing], 1
        )

    def _settle(self) -> None:
        """Decide how to treat the columns, given what was found."""
        assert self._found is not None
        found, total = self._found, self._found.total
        bent = self._bent(found)
        self.tamed = None if bent is None else bent.tails
        matrix = found.is_sparse  # whose columns are all kept, since columns of zeros cost nothing
        self.kept = None if matrix or self.constant == "keep" else self._varying(total)
        self.indicated = None if matrix or self.missing not in ("indicator", "auto") else self._gapped(total)
        self.filling = None
        if self.missing != "error":
            self.filling = total.mean.copy()
            if bent is not None:
                self.filling[bent.tails.columns] = bent.filling if self.scale == "log" else bent.tails.centre
        spread = self._spread(found)
        self.offset, self.factor = offset_and_factor(self.scale, spread, found.is_sparse, self.tails == "tame")
        if self.sparse_levels:
            indicators = np.ones(0 if self.indicated is None else len(self.indicated), dtype=bool)
            is_level = np.concatenate([self._of_kept(self.is_level), indicators])
            self.offset = None if self.offset is None else without_rare(self.offset, spread.mean, is_level)
            self.filling = None if self.filling is None else without_rare(self.filling, total.mean, self.is_level)

    def _bent(self, found: Found) -> Bent | None:
        """Return the columns that pass through asinh in this scale; None if there are none."""
        asked = found.heavy if self.tails == "tame" and self.scale in TAMED_SCALES else None
        asked = found.logs if self.scale == "log" else asked
        return None if asked is None or len(asked.tails.columns) == 0 else asked

    @property
    def has_heavy_tails(self) -> bool:
        """Whether columns with heavy tails were looked for while the preparation was learned, and found."""
        heavy = None if self._found is None else self._found.heavy
        return heavy is not None and len(heavy.tails.columns) > 0

    def _varying(self, total: Summary) -> Places | None:
        """Return the columns that vary by more than rounding, at least one; None if all columns do."""
        varying = total.spread > 10.0 * np.finfo(np.float64).eps * np.abs(total.mean)
        if not varying.any():
            varying[np.argmax(total.weight > 0.0)] = True
        return None if varying.all() else np.flatnonzero(varying)

    def _gapped(self, total: Summary) -> Places | None:
        """Return the first encoded column of every column with some but not only missing values; None if none."""
        gapped = (total.gaps > 0) & (total.weight > 0.0)
        if self.columns is not None:
            starts = np.zeros(len(gapped), dtype=bool)
            starts[[first for first, _ in self._places]] = True
            gapped &= starts
        return np.flatnonzero(gapped) if gapped.any() else None

    def _spread(self, found: Found) -> Spread:
        """Return means, deviations and ranges of the prepared columns."""
        total = found.total
        each = [total.mean.copy(), total.spread, total.least.copy(), total.most.copy()]
        bent = self._bent(found)
        if bent is not None:
            here = bent.tails.columns
            after = bent.mean, bent.deviation, *(bent.tails.tamed(one[here]) for one in each[2:])
            for one, values in zip(each, after, strict=True):
                one[here] = values
        gaps = np.zeros(0) if self.indicated is None else 1.0 - total.weight[self.indicated] / found.whole
        indicators = gaps, np.sqrt(gaps * (1.0 - gaps)), np.zeros(len(gaps)), np.ones(len(gaps))
        source, is_level = np.arange(len(total.mean)), np.zeros(len(total.mean), dtype=bool)
        if self.columns is not None:
            source, is_level = np.repeat(np.arange(len(self.columns)), self._widths), self.is_level
        mean, deviation, least, most = (
            np.concatenate([self._of_kept(one), more]) for one, more in zip(each, indicators, strict=True)
        )
        alone = source.max(initial=-1) + 1 + np.arange(len(gaps))
        of_levels = np.concatenate([self._of_kept(is_level), np.zeros(len(gaps), dtype=bool)])
        return Spread(mean, deviation, least, most, np.concatenate([self._of_kept(source), alone]), of_levels)

    def _of_kept(self, vector: NDArray[Any]) -> NDArray[Any]:
        return vector if self.kept is None else vector[self.kept]

    def forget(self) -> None:
        """Discard what only other scales would need; the rest is what a model file contains."""
        self._found = None

    def rescaled(self, scale: str | None) -> Preparation:
        """Return the same columns in another scale, without another pass, for comparisons of scales during a fit."""
        if self._found is None and scale == self.scale:
            return copy(self)  # rows are not changed, so nothing had to be found
        if self._found is None:
            raise ValueError("column summaries are not kept after the fit: learn the preparation again")
        if scale not in SCALES or scale == "auto":
            raise ValueError(f"scale must be one of {SCALES[1:]}, found {scale!r}")
        if scale == "log" and self._found.heavy is None:
            raise ValueError("tails were not examined: create the preparation with tails='tame'")
        other = copy(self)
        other.scale = scale
        other.kind = self.kind if scale == self.scale else None
        other._settle()
        return other

    def with_column_scales(self, scales: Any) -> Preparation:
        """Return this preparation with these column scales, which replace earlier ones."""
        scales = np.array(scales, dtype=np.float64)
        if scales.ndim != 1 or not np.isfinite(scales).all() or (scales < 0.0).any():
            raise ValueError("the scales of columns must be a vector of finite, nonnegative numbers")
        known = next((one for one in (self.column_scales, self.factor) if one is not None), scales)
        if len(known) != len(scales):
            raise ValueError(f"there are {len(known)} prepared columns, found {len(scales)} scales")
        other = copy(self)
        other.column_scales = scales if self.column_scales is None else self.column_scales * scales
        return other

    def summary(self, X: Any, weight: Vector | None) -> Summary:
        """Return means, deviations and ranges of the columns of rows before they are filled and scaled."""
        return self._coded(X).summary(weight) if self.sparse_levels else summarise(self.encode(X), weight)

    @property
    def is_level(self) -> NDArray[np.bool_]:
        """Return which of the encoded columns represent a level."""
        return np.repeat([column.levels is not None for column in self.columns or ()], self._widths)

    # -- use -----------------------------------------------------------------------------------------------------------

    def __call__(self, X: Any) -> Any:
        """Return rows of numbers."""
        if self.sparse_levels:
            return self._sparse_rows(X)
        encoded = self.encode(X)
        if sp.issparse(encoded) and not (self.offset is None and self.kept is None and self.indicated is None):
            encoded = encoded.toarray()  # offsets learned from dense rows would move zeros
        if not (self.tamed is None and self.kept is None and self.indicated is None):
            encoded = self._reshaped(encoded)
        if self.offset is not None and _core.AVAILABLE and not sp.issparse(encoded):
            scaled = self._scaled_at_once(encoded)
            if scaled is not None:
                return self._multiplied(scaled)
        values = encoded.data if sp.issparse(encoded) else encoded
        if np.isnan(values).any():
            encoded = self._filled(encoded)
        return self._multiplied(self._scaled(encoded))

    def _scaled(self, rows: Any) -> Any:
        """Return rows without missing values in the scale that was learned."""
        if self.scale == "unit":
            return unit_rows(rows)
        if self.factor is None:
            return rows
        factor = in_precision(self.factor, rows.dtype)
        if sp.issparse(rows):
            return type(rows)((rows.data * factor[rows.indices], rows.indices, rows.indptr), rows.shape)
        with np.errstate(over="ignore"):
            return (rows if self.offset is None else rows - self.offset.astype(rows.dtype)) * factor

    @property
    def _has_reach(self) -> bool:
        """Whether the range of scaled rows is limited."""
        return self.tails == "tame" and self.offset is not None

    def _multiplied(self, scaled: Any) -> Any:
        """Return scaled rows within the limit, with columns multiplied by the column scales."""
        if self._has_reach and sp.issparse(scaled):
            scaled = type(scaled)((within_reach(scaled.data), scaled.indices, scaled.indptr), scaled.shape)
        elif self._has_reach:
            scaled = within_reach(scaled)
        if self.column_scales is None:
            return scaled
        scales = self.column_scales.astype(scaled.dtype)
        if sp.issparse(scaled):
            return type(scaled)((scaled.data * scales[scaled.indices], scaled.indices, scaled.indptr), scaled.shape)
        return scaled * scales

    def _reshaped(self, encoded: Any) -> Any:
        """Return rows that are filled and tamed, without dropped columns, and with indicators of missing values."""
        values = encoded.data if sp.issparse(encoded) else encoded
        gaps = None if self.indicated is None else np.isnan(encoded[:, self.indicated])
        if np.isnan(values).any():
            encoded = self._filled(encoded)
        if self.tamed is not None:
            encoded = self.tamed.of(encoded)
        if self.kept is not None:
            encoded = encoded[:, self.kept]
        return encoded if gaps is None else np.concatenate([encoded, gaps.astype(encoded.dtype)], axis=1)

    def _scaled_at_once(self, encoded: NDArray[Any]) -> NDArray[Any] | None:
        """Return dense rows by the compiled core, in one pass; None if there are missing values."""
        assert self.offset is not None
        assert self.factor is not None
        encoded, dtype = np.ascontiguousarray(encoded), encoded.dtype
        out = np.empty_like(encoded)
        bad = _core.scaled(encoded, self.offset.astype(dtype), in_precision(self.factor, dtype), out)
        return out if bad is None else None

    def undone(self, rows: NDArray[np.float64], n_columns: int) -> NDArray[np.float64]:
        """Return dense prepared rows of numbers in the units of the columns that they come from.

        Dropped columns have their mean, or NaN if none was learned. The original norms of rows scaled to norm 1 are
        lost.
        """
        if self.column_scales is not None:
            scales = self.column_scales
            rows = np.divide(rows, scales, out=np.zeros_like(rows), where=scales > 0.0)
        if self._has_reach:
            rows = back_in_reach(rows)
        if self.factor is not None:
            rows = rows / self.factor + (0.0 if self.offset is None else self.offset)
        if self.kept is not None or self.indicated is not None:
            kept = np.arange(n_columns) if self.kept is None else self.kept
            found = np.full((len(rows), n_columns), np.nan)
            if self.filling is not None:
                found[:] = self.filling
            found[:, kept] = rows[:, : len(kept)]
            rows = found
        if self.tamed is not None:
            rows = rows.copy()
            rows[:, self.tamed.columns] = self.tamed.untamed(rows[:, self.tamed.columns])
        return rows

    def encode(self, X: Any) -> Any:
        """Return rows before they are filled and scaled: data frames as one dense matrix, missing entries as NaN."""
        self._check_frame(X)
        if not is_frame(X):
            return X
        return self._coded(X).dense()

    def _sparse_rows(self, X: Any) -> Any:
        """Return rows of numbers as CSR."""
        coded = self._coded(X)
        gap = coded.first_gap() if self.filling is None else None
        if gap is not None:
            raise self._gap_error(*gap)
        self._note_gaps(np.array([part.first for part in coded.parts]), [part.gaps.sum() for part in coded.parts])
        width, filling = coded.shape[1], self._fillings
        if self.indicated is not None:  # before gaps are filled
            coded = coded.with_indicators(self.indicated)
        if self.tamed is not None:
            coded = coded.tamed(self.tamed, filling)
        more = coded.shape[1] - width
        places = np.concatenate([np.arange(width) if self.kept is None else self.kept, width + np.arange(more)])
        offset, factor = (spread_over(one, places, coded.shape[1]) for one in (self.offset, self.factor))
        filling = None if filling is None else np.concatenate([filling, np.zeros(more)])
        found = coded.sparse(offset, factor, filling)
        if self.kept is not None:
            found = found[:, places]
        empty = np.isnan(found.data)
        if empty.any():
            raise self._no_mean(int(places[found.indices[np.argmax(empty)]]))
        return self._multiplied(unit_rows(found) if self.scale == "unit" else found)

    def _coded(self, X: Any) -> CodedRows:
        """Return rows of a data frame before their levels become columns."""
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
        """Refuse a matrix in place of a data frame with levels or dates."""
        if not is_frame(X) and (self.levelled is not None or self.dated):
            held = next(column for column in self.columns or () if column.holds != "numbers")
            raise ValueError(
                f"expected a data frame with the columns of fit, since column {held.name!r} contains {held.holds}; "
                "found a matrix without names"
            )

    def _matched(self, X: Any) -> tuple[dict[str, Any], tuple[Column, ...]]:
        """Return the columns of a data frame by name, and the ones that are needed."""
        here = columns(X)
        # learned from a matrix: all columns are numbers, and their names have been checked before
        wanted = tuple(Column(name, None) for name in here) if self.columns is None else self.columns
        missing = next((column.name for column in wanted if column.name not in here), None)
        if missing is not None:
            raise ValueError(f"the data frame has no column {missing!r}; it has {', '.join(map(repr, here))}")
        return here, wanted

    def _numbers(self, column: Column, values: Any) -> NDArray[Any]:
        """Return a column of numbers or times as columns of numbers."""
        if not self._is_as_learned(column, values):
            return np.full((len(values), self.width_of(column)), np.nan)
        if column.time is None:
            return numbers(values)[:, None]
        found = times(values, column.time)
        number = numbers(found)[:, None]
        return number if self.width_of(column) == 1 else np.concatenate([number, parts_of_dates(found)], axis=1)

    @staticmethod
    def _is_as_learned(column: Column, values: Any) -> bool:
        """Return whether a column has the type that it had in fit: False if all is missing, an error otherwise."""
        now = holds(kind_of(values))
        if now != column.holds and kind_of(values) != "empty" and not is_missing(values):
            raise ValueError(f"column {column.name!r} contained {column.holds} in fit, but contains {now} now")
        return now == column.holds

    def _level_codes(self, column: Column, values: Any) -> NDArray[np.int64]:
        """Return the numbers of the levels of a column; raise an error for an unknown level unless ignored."""
        self._is_as_learned(column, values)
        found, numbered = self._codes(column, values)
        if self.unknown == "error" and (numbered == UNSEEN).any():
            row = int(np.argmax(numbered == UNSEEN))
            levels = (column.levels or ()) + column.rare
            known = ", ".join(map(repr, levels[:8])) + (", ..." if len(levels) > 8 else "")
            raise RowError(
                row,
                f"column {column.name!r} has the unknown level {found[row]!r} in {{row}}; known levels are {known}; "
                "unknown='ignore' treats it as " + ("a rare level" if column.rare else "no level at all"),
            )
        if column.rare:
            numbered[numbered == UNSEEN] = len(column.levels or ())
        elif self.unknown == "auto":
            self.new_entries.levels.note([column.name], np.array([np.count_nonzero(numbered == UNSEEN)]))
        return numbered

    def is_unseen(self, column: Column, values: Any) -> NDArray[np.bool_]:
        """Return which rows of a column have a level that was not learned."""
        return self._codes(column, values)[1] == UNSEEN

    def _codes(self, column: Column, values: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return the levels of a column, and their numbers: ``ABSENT`` if missing, ``UNSEEN`` if unknown."""
        found = levels(values)
        check_hashable(column.name, found.tolist())
        # Cached, since creating it takes longer than looking up the levels of a tile.
        if column.name not in self._numbered:
            names = column.levels or ()
            self._numbered[column.name] = {level: code for code, level in enumerate(names)} | dict.fromkeys(
                column.rare, len(names)
            )
        known = self._numbered[column.name]
        # If every level was rare, as in a column of identifiers, a new level says no less than a known one.
        new = 0 if column.rare and not column.levels else UNSEEN
        numbered = [ABSENT if level is None else known.get(level, new) for level in found.tolist()]
        return found, np.array(numbered, dtype=np.int64)

    def _filled(self, encoded: Any) -> Any:
        values = encoded.data if sp.issparse(encoded) else encoded
        gaps = np.isnan(values)
        places = encoded.tocoo().coords if sp.issparse(encoded) else None
        rows, cols = (places[0][gaps], places[1][gaps]) if places is not None else np.nonzero(gaps)
        filling = self._fillings
        if filling is None:
            raise self._gap_error(int(rows[0]), int(cols[0]))
        if np.isnan(filling[cols]).any():
            raise self._no_mean(int(cols[np.argmax(np.isnan(filling[cols]))]))
        if places is None:
            self._note_gaps(np.arange(encoded.shape[1]), np.count_nonzero(gaps, axis=0))
        encoded = encoded.copy()
        (encoded.data if sp.issparse(encoded) else encoded)[gaps] = filling[cols]
        return encoded

    @property
    def _fillings(self) -> Vector | None:
        """Return what missing values become; in dropped columns the value is arbitrary."""
        if self.filling is None or self.kept is None:
            return self.filling
        kept = np.zeros(len(self.filling), dtype=bool)
        kept[self.kept] = True
        return np.where(np.isnan(self.filling) & ~kept, 0.0, self.filling)

    def _note_gaps(self, firsts: Places, counts: Any) -> None:
        """Count missing values in encoded columns that had none when they were learned."""
        if self.missing != "auto":
            return
        new = ~np.isin(firsts, [] if self.indicated is None else self.indicated)
        if self.columns is not None:
            new &= np.isin(firsts, [first for first, _ in self._places])
        if self.kept is not None:
            new &= np.isin(firsts, self.kept)
        self.new_entries.gaps.note([self._name_of(int(first)) for first in firsts[new]], np.asarray(counts)[new])

    def _gap_error(self, row: int, number: int) -> RowError:
        return RowError(row, f"Input X contains NaN: {{row}}, {self._name_of(number)} is missing; {GAP}")

    def _no_mean(self, number: int) -> ValueError:
        return ValueError(f"{self._name_of(number)} is missing in every training row, so it has no mean")

    def _name_of(self, number: int) -> str:
        if self.columns is None and self.names is None:
            return f"column {number}"
        return f"column {self.source_of(number)!r}"

    def encoded_width(self, n_columns: int) -> int:
        """Return the number of columns after levels and dates have become numbers."""
        return n_columns if self.columns is None else sum(self._widths)

    def width(self, n_columns: int) -> int:
        """Return the number of prepared columns for this number of columns."""
        kept = self.encoded_width(n_columns) if self.kept is None else len(self.kept)
        return kept + (0 if self.indicated is None else len(self.indicated))

    def labels(self, n_columns: int) -> list[str]:
        """Return the names of the prepared columns."""
        encoded = self.encoded_labels(n_columns)
        kept = encoded if self.kept is None else [encoded[place] for place in self.kept]
        return kept + [f"{self.source_of(int(place))} is missing" for place in self._indicated]

    def encoded_labels(self, n_columns: int) -> list[str]:
        """Return the names of the encoded columns."""
        if self.columns is None:
            return [self.source_of(place) for place in range(n_columns)]
        return [label for column in self.columns for label in column.labels(self.dates)]

    def source_of(self, number: int) -> str:
        """Return the name of the column from which an encoded column comes."""
        if self.columns is None:
            return str(number if self.names is None else self.names[number])
        return self.columns[int(np.searchsorted(np.cumsum(self._widths), number, side="right"))].name

    def sources(self) -> list[tuple[str, range]]:
        """Return the original columns of the encoded columns that were examined, and which ones these are."""
        if self.columns is None:
            return [(self.source_of(place), range(place, place + 1)) for place in range(self.n_encoded or 0)]
        return [(column.name, range(first, first + self.width_of(column))) for first, column in self._places]

    def column_names(self, n_columns: int) -> list[str]:
        """Return the original names of the columns, or their numbers if they have no names."""
        if self.columns is None:
            return [self.source_of(place) for place in range(n_columns)]
        return [column.name for column in self.columns]

    def encoded_sources(self, n_columns: int) -> Places:
        """Return the numbers of the columns from which encoded columns come."""
        return np.arange(n_columns) if self.columns is None else np.repeat(np.arange(len(self._widths)), self._widths)

    def prepared_sources(self, n_columns: int) -> Places:
        """Return the numbers of the columns from which prepared columns come, including indicators."""
        encoded = self.encoded_sources(n_columns)
        return np.concatenate([self._of_kept(encoded), encoded[self._indicated]])

    def pullback(self, X: Any, G: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the gradients of a function of prepared rows with respect to the encoded columns, by the chain rule.

        Parameters
        ----------
        X : ndarray, CSR matrix or data frame
            The rows, before preparation.
        G : ndarray of shape (n_rows, n_prepared)
            The gradients of the function with respect to the prepared columns.

        Returns
        -------
        ndarray of shape (n_rows, n_encoded)
            The gradients; 0 at missing values, and for dropped columns. Levels are treated as numbers between 0 and 1.
        """
        encoded = self._coded(X).dense() if self.sparse_levels else self.encode(X)
        encoded = np.array(dense(encoded), dtype=np.float64)
        gaps = np.isnan(encoded)
        if gaps.any():
            encoded[gaps] = np.asarray(self._fillings)[np.nonzero(gaps)[1]]
        found, slopes = np.zeros_like(encoded), np.ones_like(encoded)
        tamed = encoded
        if self.tamed is not None:
            slopes[:, self.tamed.columns] = self.tamed.slopes(encoded[:, self.tamed.columns])
            tamed = self.tamed.of(encoded)
        rows = tamed if self.kept is None else tamed[:, self.kept]
        count = rows.shape[1]
        if self.indicated is not None:
            rows = np.concatenate([rows, gaps[:, self.indicated]], axis=1)
        found[:, slice(None) if self.kept is None else self.kept] = self._pull_scaled(rows, G)[:, :count]
        found *= slopes
        found[gaps] = 0.0
        return found

    def _pull_scaled(self, rows: NDArray[np.float64], G: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the gradients with respect to rows before scaling, with their indicators of missing values."""
        if self.column_scales is not None:
            G = G * self.column_scales
        if self.scale == "unit":
            return pull_unit_rows(rows, G)
        if self.factor is None:
            return G
        if self._has_reach:
            G = G * reach_slopes((rows - (0.0 if self.offset is None else self.offset)) * self.factor)
        return G * self.factor

    @property
    def _indicated(self) -> list[int]:
        return [] if self.indicated is None else self.indicated.tolist()

    @property
    def _widths(self) -> list[int]:
        return [self.width_of(column) for column in self.columns or ()]

    @property
    def _places(self) -> list[tuple[int, Column]]:
        """Return the first encoded column of every column that has any."""
        firsts = np.cumsum([0, *self._widths]).tolist()
        return [
            (first, column) for first, column in zip(firsts, self.columns or (), strict=False) if self.width_of(column)
        ]

    def width_of(self, column: Column) -> int:
        """Return how many columns of numbers a column becomes."""
        return column.width(self.dates)

    def describe(self) -> tuple[str, ...]:
        """Describe what is done to columns, in sentences."""
        return description(self)

    def treating_unknown(self, unknown: str) -> Preparation:
        """Return this preparation with another treatment of unknown levels; nothing has to be learned again."""
        other = copy(self)
        other.unknown = unknown
        return other

    def differs(self, other: Preparation) -> str | None:
        """Describe the difference between two preparations."""
        named = (
            "scale",
            "missing",
            "unknown",
            "dates",
            "tails",
            "rare",
            "constant",
            "kind",
            "columns",
            "sparse_levels",
        )
        for name in named:
            if getattr(self, name) != getattr(other, name):
                return f"{name} is {getattr(self, name)!r} here and {getattr(other, name)!r} there"
        for name in ("tamed", "kept", "indicated", "offset", "factor", "filling", "column_scales"):
            if not equal(getattr(self, name), getattr(other, name)):
                return f"the {name} of the columns was learned from different rows"
        return None


def equal(ours: Any, theirs: Any) -> bool:
    """Return whether both are None, equal arrays, or equal tuples of arrays."""
    if ours is None or theirs is None:
        return ours is theirs
    if isinstance(ours, tuple):
        return all(map(equal, ours, theirs))
    return np.array_equal(ours, theirs, equal_nan=ours.dtype.kind == "f")


def spread_over(vector: Vector | None, places: Places, width: int) -> Vector | None:
    """Return a vector of this length with the given entries at these positions and zeros elsewhere."""
    if vector is None:
        return None
    out = np.zeros(width)
    out[places] = vector
    return out


def common_dtype(parts: list[NDArray[Any] | None]) -> np.dtype[Any]:
    """Return the common type of columns of numbers and of levels, which are None here."""
    return np.result_type(*(np.float32 if part is None else part.dtype for part in parts))
