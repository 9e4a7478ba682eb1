"""Heavy tails of columns: which columns have them, and the function that tames them.

A column of numbers is measured from its median, in units of a spread that a few large entries do not affect. If its
range extends beyond ``HEAVY`` such units, it passes through asinh, which is linear near the median and logarithmic far
away: the order of the entries is preserved, and no entry, however large, exceeds 711 afterwards.

Columns of numbers can also pass through asinh all together, measured from 0 in one unit, the size of their small
entries. Equal ratios of entries then become equal differences in every column, which suits counts and amounts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..statistics.column_summaries import summarise

HEAVY = 10.0
"""A column has heavy tails if it extends further than this many spreads from its median; a million normal numbers stay
within 5."""
SAMPLED = 2048
"""The number of rows from which medians and spreads are computed."""
RANGES = ((0.25, 0.75, 1.349), (0.1, 0.9, 2.5631), (0.05, 0.95, 3.2897), (0.01, 0.99, 4.6527))
"""Pairs of quantiles, and their distance in a normal distribution with deviation 1.

The first pair that differs is used: the quartiles are equal if half of the entries or more are.
"""

SMALL = 0.02
"""The share of the entries of a column that are not 0 and lie below the unit of its logarithm."""

Vector = NDArray[np.float64]


class Tails(NamedTuple):
    """The columns that pass through asinh((x - centre) / spread), by number, in order."""

    columns: NDArray[np.int64]
    centre: Vector
    spread: Vector

    def tamed(self, values: Any, places: Any = slice(None)) -> Vector:
        """Return entries of these columns, or of some of them (``places``), after taming, in float64."""
        largest = np.finfo(np.float64).max
        with np.errstate(over="ignore"):
            away = (values.astype(np.float64) - self.centre[places]) / self.spread[places]
        return np.arcsinh(np.clip(away, -largest, largest))

    def slopes(self, values: Vector) -> Vector:
        """Return the derivatives of taming at entries of these columns, one column each."""
        with np.errstate(over="ignore"):
            return 1.0 / (self.spread * np.hypot(1.0, (values - self.centre) / self.spread))

    def untamed(self, values: Any) -> Vector:
        """Return the entries of these columns before taming, given the entries after it."""
        with np.errstate(over="ignore"):
            return self.centre + self.spread * np.sinh(values)

    def of(self, X: Any) -> Any:
        """Return rows, dense or CSR, with these columns tamed and others unchanged."""
        if not sp.issparse(X):
            out = X.copy()
            out[:, self.columns] = self.tamed(X[:, self.columns])
            return out
        places = np.full(X.shape[1], -1)
        places[self.columns] = np.arange(len(self.columns))
        places = places[X.indices]
        data, here = X.data.copy(), places >= 0
        data[here] = self.tamed(data[here], places[here])
        return type(X)((data, X.indices, X.indptr), X.shape)

    def among(self, columns: NDArray[np.int64]) -> Tails:
        """Return the tails of some columns, given in increasing order, with their positions among these."""
        here = np.isin(self.columns, columns)
        return Tails(np.searchsorted(columns, self.columns[here]), self.centre[here], self.spread[here])


class Bent(NamedTuple):
    """Columns that pass through asinh, and their means and deviations afterwards."""

    tails: Tails
    mean: Vector
    deviation: Vector

    @classmethod
    def of(cls, tails: Tails, X: Any, weight: Vector | None, places: NDArray[np.int64]) -> Bent:
        """Return the tails found in a sample of rows; ``places`` contains the numbers of its columns."""
        after = summarise(tails.of(X)[:, tails.columns], weight)
        return cls(tails._replace(columns=places[tails.columns]), after.mean, after.spread)

    @property
    def filling(self) -> Vector:
        """Return what missing values become: the entry whose asinh is the mean of all."""
        with np.errstate(over="ignore"):
            return self.tails.centre + self.tails.spread * np.sinh(self.mean)


def heavy_tails(X: Any, weight: Vector | None, least: Vector, most: Vector) -> Tails:
    """Return the columns of a sample of rows whose range, over all rows, is too wide.

    If the sample is CSR, only columns with median 0 are returned, so that zeros stay zeros.
    """
    if X.shape[0] == 0:
        return Tails(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))
    centre, spread = centre_and_spread(X, weight)
    known = np.isfinite(centre) & np.isfinite(least) & np.isfinite(most)
    with np.errstate(invalid="ignore", over="ignore"):
        widest = np.maximum(most - centre, centre - least)
        heavy = known & (spread > 0.0) & np.isfinite(spread) & (widest > HEAVY * spread)
    columns = np.flatnonzero(heavy & (centre == 0.0) if sp.issparse(X) else heavy)
    return Tails(columns, centre[columns], spread[columns])


def logarithms(X: Any, weight: Vector | None, heavy: NDArray[np.int64]) -> Tails:
    """Return all columns of a sample, measured from 0 in one unit, which columns with heavy tails determine if any."""
    columns = np.arange(X.shape[1])
    asked = X[:, heavy] if len(heavy) else X
    small = _distances(asked, weight, np.zeros(asked.shape[1]), SMALL) if asked.shape[0] else np.zeros(0)
    small = small[np.isfinite(small) & (small > 0.0)]
    unit = float(np.median(small)) if len(small) else 1.0
    return Tails(columns, np.zeros(len(columns)), np.full(len(columns), unit))


def centre_and_spread(X: Any, weight: Vector | None) -> tuple[Vector, Vector]:
    """Return the median of every column, and its spread, which is 1 for normal entries with deviation 1.

    If nearly all entries are equal, the spread is the median distance of the others.
    """
    wanted = sorted({0.5, *(share for low, high, _ in RANGES for share in (low, high))})
    found = dict(zip(wanted, quantiles(X, weight, wanted), strict=True))
    centre = found[0.5]
    spread = np.zeros(X.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        for low, high, normal in RANGES:
            spread = np.where(spread > 0.0, spread, found[high] / normal - found[low] / normal)
    equal = np.flatnonzero(~(spread > 0.0) & np.isfinite(centre))
    if len(equal):
        spread[equal] = np.nan_to_num(_distances(X[:, equal], weight, centre[equal], 0.5))
    return centre, spread


def _distances(X: Any, weight: Vector | None, centre: Vector, share: float) -> Vector:
    """Return the quantile of the distances of entries that are not at the centre; NaN if there are none."""
    if sp.issparse(X):  # the centre is 0 for all columns that matter
        X = X.tocsr(copy=True)
        X.data = np.abs(X.data)
        X.eliminate_zeros()
        return _sparse_quantiles(X, weight, [share], implicit=False)[0]
    with np.errstate(over="ignore"):
        away = np.abs(X.astype(np.float64) - centre)
    return quantiles(np.where(away > 0.0, away, np.nan), weight, [share])[0]


def quantiles(X: Any, weight: Vector | None, shares: list[float]) -> NDArray[np.float64]:
    """Return quantiles of columns, one row for each: the smallest entry that this share of the weight does not exceed.

    Each is an entry of the column, and a row of weight 2 is the same as that row twice. Missing entries do not count; a
    column without any other entries has NaN.
    """
    if sp.issparse(X):
        return _sparse_quantiles(X, weight, shares)
    columns = np.ascontiguousarray(X.T, dtype=np.float64)  # contiguous, since they are sorted
    known = np.count_nonzero(~np.isnan(columns), axis=1)
    if weight is None:
        columns, total = np.sort(columns, axis=1), known.astype(np.float64)
        places = [np.ceil(share * total).astype(np.int64) - 1 for share in shares]
    else:
        order = np.argsort(columns, axis=1, kind="stable")
        columns = np.take_along_axis(columns, order, axis=1)
        sums = np.cumsum(np.where(np.isnan(columns), 0.0, weight[order]), axis=1)
        total = sums[:, -1]
        places = [np.count_nonzero(sums < share * total[:, None], axis=1) for share in shares]
    places = [np.clip(one, 0, np.maximum(known - 1, 0)) for one in places]
    return np.stack([columns[np.arange(len(columns)), one] for one in places])


def _sparse_quantiles(X: Any, weight: Vector | None, shares: list[float], implicit: bool = True) -> NDArray[np.float64]:
    """Return quantiles of CSR rows, in time linear in their entries; others count as zeros or not at all."""
    width, X = X.shape[1], X.tocoo()
    rows, columns = X.coords
    values, weight = X.data.astype(np.float64), np.ones(X.shape[0]) if weight is None else weight
    known = ~np.isnan(values)
    gaps = np.bincount(columns[~known], weight[rows[~known]], minlength=width)
    order = np.flatnonzero(known)[np.lexsort((values[known], columns[known]))]
    values, columns, counted = values[order], columns[order], weight[rows[order]]
    stored = np.bincount(columns, counted, minlength=width)
    total = weight.sum() - gaps if implicit else stored
    below, zeros = np.bincount(columns, counted * (values < 0.0), minlength=width), total - stored
    ends = np.cumsum(np.bincount(columns, minlength=width))
    starts = np.concatenate([[0], ends[:-1]])
    sums = np.concatenate([[0.0], np.cumsum(counted)])
    out = np.full((len(shares), width), np.nan)
    for found, share in zip(out, shares, strict=True):
        wanted = share * total
        found[total > 0.0] = 0.0
        for among, target in ((wanted <= below, wanted), (wanted > below + zeros, wanted - zeros)):
            here = np.flatnonzero(among & (ends > starts))
            place = np.searchsorted(sums[1:], sums[starts[here]] + target[here], side="left")
            found[here] = values[np.clip(place, starts[here], ends[here] - 1)]
    return out
