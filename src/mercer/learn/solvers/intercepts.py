"""Intercepts that are best for the decision values as they are.

The objective does not hold them back, so a gradient that is left in them says nothing about how far the least objective
may be. Finding the best ones takes no pass over the features.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..._array import namespace
from ..losses import Loss, Values
from ..losses.row_values import beside, column_sums

Matrix = NDArray[np.float64]

STEPS = 30
"""At most: each bracket is halved at least."""
ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
"""Slopes that add up to less than this share of their sizes add up to nothing, as far as numbers can tell."""
TOGETHER = 4
"""Steps for classes that share a problem, where no bracket tells how far is too far."""


def balancing(loss: Loss, F: Values, enough: Matrix) -> Matrix:
    """What to add to every column of decision values, so that slopes add up to no more than ``enough``."""
    count = np.bincount(loss.problems)[loss.problems]
    # Of classes that share a problem each moves the others: right where all are as likely, and a good step elsewhere.
    alone, whole = count == 1, np.where(count == 1, 1.0, 1.0 - 1.0 / count)
    shift = np.zeros(F.shape[1])
    low, high, reach = np.full_like(shift, -np.inf), np.full_like(shift, np.inf), np.ones_like(shift)
    for step in range(STEPS):
        at = F + beside(F, shift)
        each = loss.slope(at)
        slopes = column_sums(each)
        rounding = ROUNDING * column_sums(namespace(each).abs(each))
        open_ = (np.abs(slopes) > np.maximum(enough, rounding)) & (alone | (step < TOGETHER))
        if not open_.any():
            break
        low, high = np.where(slopes < 0.0, shift, low), np.where(slopes > 0.0, shift, high)
        bend = column_sums(loss.curvature(at))
        newton = shift - whole * np.divide(slopes, bend, out=np.zeros_like(shift), where=bend > 0.0)
        # A slope that turns only further away is looked for in growing steps, and between two ends in the middle.
        away = np.where(slopes < 0.0, shift + reach, shift - reach)
        between = np.isfinite(low) & np.isfinite(high)
        middle = np.where(between, 0.5 * (np.where(between, low, 0.0) + np.where(between, high, 0.0)), away)
        inside = (newton > low) & (newton < high) & (bend > 0.0) & (np.abs(newton - shift) <= reach)
        bounded = np.clip(newton, shift - reach, shift + reach)  # where nothing bends, a Newton step has no end
        shift = np.where(open_, np.where(alone, np.where(inside, newton, middle), bounded), shift)
        reach = np.where(inside, reach, 2.0 * reach)
    if not alone.all() and loss.value(F + beside(F, shift)).sum() > loss.value(F).sum():
        shift[~alone] = 0.0
    return shift
