"""The best intercepts for given decision values.

The objective does not regularise them, so a remaining gradient of intercepts says nothing about the distance from the
minimum. Finding the best ones needs no pass over the features.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..._array import namespace
from ..losses import Loss, Values
from ..losses.row_values import beside, column_sums

Matrix = NDArray[np.float64]

STEPS = 30
"""The largest number of steps: each at least halves the bracket."""
ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
"""If slopes add up to less than this share of their magnitudes, the sum is numerically zero."""
TOGETHER = 4
"""The number of steps for classes that share a problem, for which there are no brackets."""


def balancing(loss: Loss, F: Values, enough: Matrix) -> Matrix:
    """Return what to add to every column of decision values so that slopes add up to at most ``enough``."""
    count = np.bincount(loss.problems)[loss.problems]
    # Classes that share a problem affect each other: exact if all are equally likely, and a good step otherwise.
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
        # If the slope changes sign further away, steps grow; between two ends, the middle is used.
        away = np.where(slopes < 0.0, shift + reach, shift - reach)
        between = np.isfinite(low) & np.isfinite(high)
        middle = np.where(between, 0.5 * (np.where(between, low, 0.0) + np.where(between, high, 0.0)), away)
        inside = (newton > low) & (newton < high) & (bend > 0.0) & (np.abs(newton - shift) <= reach)
        bounded = np.clip(newton, shift - reach, shift + reach)  # without curvature, a Newton step is unbounded
        shift = np.where(open_, np.where(alone, np.where(inside, newton, middle), bounded), shift)
        reach = np.where(inside, reach, 2.0 * reach)
    if not alone.all() and loss.value(F + beside(F, shift)).sum() > loss.value(F).sum():
        shift[~alone] = 0.0
    return shift
