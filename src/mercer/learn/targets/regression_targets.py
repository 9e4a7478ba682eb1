"""Targets of regressors: all of them, checked, and the units in which a loss is minimised."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from ..._array import to_numpy
from ...data.block import Block
from ..passes.scan_plan import Need

Matrix = NDArray[np.float64]

NORMAL = 1.482602218505602
"""The ratio of the standard deviation of a normal distribution to the median of its absolute values."""


def checked_targets(y: Any) -> Matrix:
    """Return targets as float64, with one column per target if there are several."""
    if y is None:
        raise ValueError("the blocks must contain y, found only X")
    y = to_numpy(y)
    if getattr(getattr(y, "dtype", None), "kind", None) in {"m", "M"}:
        raise ValueError(f"expected targets that are numbers, found {y.dtype}: convert them, for example to days")
    try:
        return check_array(y, ensure_2d=False, dtype=np.float64, input_name="y", ensure_min_samples=0)
    except ValueError as error:
        text = next((entry for entry in np.ravel(np.asarray(y, dtype=object)) if isinstance(entry, str)), None)
        if text is None:
            raise
        raise ValueError(
            f"a regressor needs targets that are numbers, found the text {str(text)!r}; for classes, use a classifier"
        ) from error


class AllTargets(Need):
    """The targets and the weights of all rows."""

    needs_features = False

    def begin(self) -> None:
        self._parts: list[tuple[Matrix, Matrix | None]] = []

    def update(self, block: Block, first: int) -> None:
        self._parts.append((checked_targets(block.y), block.weight))

    def join(self, later: Self) -> None:
        self._parts += later._parts

    def found(self) -> tuple[Matrix, Matrix]:
        """Return targets, one column each, and weights, after a scan."""
        y = np.concatenate([y for y, _ in self._parts])
        weight = np.concatenate([np.ones(len(y)) if weight is None else weight for y, weight in self._parts])
        return y.reshape(len(y), -1), weight


def weighted_median(values: Matrix, weight: Matrix) -> Matrix:
    """Return the smallest value of every column that at least half of the weight does not exceed."""
    order = np.argsort(values, axis=0, kind="stable")
    below = np.cumsum(weight[order], axis=0)
    places = np.argmax(below >= 0.5 * below[-1], axis=0)
    columns = np.arange(values.shape[1])
    return values[order[places, columns], columns]


def robust_scale(residuals: Matrix, weight: Matrix) -> Matrix:
    """Return the standard deviation of every column, estimated from the median of absolute values as for a normal one.

    If more than half of them are 0, it is their mean; it is 1 if all are 0.
    """
    sizes = np.abs(residuals)
    scale = NORMAL * weighted_median(sizes, weight)
    mean = weight @ sizes / weight.sum()
    return np.where(scale > 0.0, scale, np.where(mean > 0.0, mean, 1.0))


class Units(NamedTuple):
    """The origin and unit of every target: numbers near 1 preserve the digits of float32 features."""

    centre: Matrix
    spread: Matrix

    @classmethod
    def of(cls, targets: Matrix, weight: Matrix, intercept: bool) -> Units:
        """Return the median, if there is an intercept, and the mean distance from it."""
        centre = weighted_median(targets, weight) if intercept else np.zeros(targets.shape[1])
        spread = weight @ np.abs(targets - centre) / weight.sum()
        return cls(centre, np.where(spread > 0.0, spread, 1.0))

    def within(self, targets: Matrix) -> Matrix:
        """Return targets in these units."""
        return (targets - self.centre) / self.spread
