"""The offsets that scales subtract from prepared columns, and the factors by which they multiply them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

WIDEST = 12.0
"""The largest extent of a column of a table if tails are tamed, in units: enough for 100 million normal numbers.

In a column that is 0 except in one row in a million, that row would be 1,000 deviations away.
"""

SMALLEST = float(np.finfo(np.float64).tiny)
"""A number whose reciprocal is finite; many smaller numbers have infinite reciprocals."""

Vector = NDArray[np.float64]


class Spread(NamedTuple):
    """Means, deviations and ranges of prepared columns, the columns that they come from, and which are levels."""

    mean: Vector
    deviation: Vector
    least: Vector
    most: Vector
    source: NDArray[np.int64]
    is_level: NDArray[np.bool_]

    @property
    def size(self) -> Vector:
        """The units of columns where tails are tamed.

        A column of levels as a whole has variance 1, like a column of numbers, however many levels there are. The same
        holds for a date with its parts, of which each has the same share.
        """
        if not len(self.source):
            return self.deviation
        of_levels = np.where(self.is_level, self.deviation, 0.0)  # numbers may have squares that overflow
        variances = np.bincount(self.source, of_levels**2)[self.source]
        varying = np.bincount(self.source, self.deviation > 0.0)[self.source]
        deviation = np.where(self.is_level, np.sqrt(variances), self.deviation * np.sqrt(np.maximum(varying, 1.0)))
        return np.maximum(deviation, self.most / WIDEST - self.least / WIDEST)


def offset_and_factor(
    scale: str | None, found: Spread, is_sparse: bool, tamed: bool
) -> tuple[Vector | None, Vector | None]:
    """Return what a scale subtracts and multiplies by, or None; zeros of sparse rows are never moved."""
    if scale == "standard":
        return scaled_by(found.size if tamed else found.deviation, found.mean, is_sparse)
    if scale == "minmax" and is_sparse:
        return scaled_by(np.maximum(np.abs(found.least), np.abs(found.most)), found.least, is_sparse)
    if scale == "minmax":
        return scaled_by(found.most - found.least, found.least, is_sparse)
    if scale in ("common", "log"):
        varying = found.deviation[found.deviation > 0.0]
        largest = varying.max(initial=0.0)
        unit = largest * np.sqrt(np.mean((varying / largest) ** 2)) if largest > 0.0 else 1.0
        return None, np.full(len(found.deviation), per_unit(unit))
    return None, None


def scaled_by(size: Vector, offset: Vector, is_sparse: bool) -> tuple[Vector | None, Vector]:
    """Return the offset and factor that express columns in these units, starting from these offsets."""
    # A column that is constant up to rounding is left at its offset: it contains no information.
    constant = ~(size > 10.0 * np.finfo(np.float64).eps * np.abs(offset))
    return None if is_sparse else offset, per_unit(np.where(constant, 1.0, size))


def per_unit(size: Any) -> Any:
    """Return 1 / size, but no infinity for numbers that are almost 0."""
    return 1.0 / np.maximum(size, SMALLEST)


def in_precision(factor: Vector, dtype: DTypeLike) -> NDArray[Any]:
    """Return factors in the precision of the rows, the largest number in place of those beyond it."""
    return np.minimum(factor, np.finfo(dtype).max).astype(dtype)


def within_reach(values: NDArray[Any]) -> NDArray[Any]:
    """Return scaled entries unchanged up to ``WIDEST`` units from 0, and growing logarithmically beyond.

    No training row is that far away. A new row may be, and the features of a map would then consist of rounding errors.
    """
    if values.size == 0 or max(values.max(), -values.min()) <= WIDEST:
        return values
    away = np.minimum(np.abs(values), np.finfo(values.dtype).max)
    far = away > WIDEST
    out = values.copy()
    out[far] = np.copysign(WIDEST + np.log1p(away[far] - WIDEST), values[far])
    return out


def reach_slopes(values: Vector) -> Vector:
    """Return the derivatives of :func:`within_reach` at entries."""
    return 1.0 / (1.0 + np.maximum(np.abs(values) - WIDEST, 0.0))


def back_in_reach(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the inverse of :func:`within_reach`."""
    further = np.maximum(np.abs(values) - WIDEST, 0.0)
    with np.errstate(over="ignore"):
        return np.where(further > 0.0, np.copysign(WIDEST + np.expm1(further), values), values)
