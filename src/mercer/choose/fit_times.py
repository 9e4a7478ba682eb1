"""Estimates of how long fits will take, from finished ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .halving import Trial

ROUNDED = 16
"""Widths between powers of two are multiples of this."""


LEAST_SHARE = 0.25
"""The least time of a smaller task, as a share of the time of a larger one."""


def work_of(rows: int, features: int) -> float:
    """Return the work of a trial, up to a factor: sums, an eigendecomposition, and the rotated features in float64."""
    return 3.0 * rows * features**2 + 10.0 * features**3


def seconds_at(width: int, fits: Sequence[Trial]) -> float:
    """Estimate how long a fit to the same rows takes with this width.

    Sums over rows grow with the square of the width and solutions with its cube. Two fits with the same loss determine
    the share of each; with only one, the share has to be assumed.
    """
    last = fits[-1]
    alike = [fit for fit in fits[:-1] if fit.loss == last.loss and fit.features < last.features]
    if not alike:
        return last.seconds * work_of(last.rows, width) / work_of(last.rows, last.features)
    before, (d, D) = alike[-1], (alike[-1].features, last.features)
    cubic = (last.seconds / D**2 - before.seconds / d**2) / (D - d)
    cubic = min(max(cubic, 0.0), last.seconds / D**3)
    square = last.seconds / D**2 - cubic * D
    return square * width**2 + cubic * width**3


def seconds_like(trials: Sequence[Trial], rows: int, features: int, loss: str) -> float:
    """Estimate how long a fit takes from the trial that is closest to it in work, with the same loss if there is one.

    Part of the time does not depend on rows and features, so a smaller fit is expected to take at least a quarter as
    long.
    """
    alike = [trial for trial in trials if trial.loss == loss] or trials
    work = work_of(rows, features)
    nearest = min(alike, key=lambda trial: abs(math.log(work / work_of(trial.rows, trial.features))))
    return nearest.seconds * max(LEAST_SHARE, work / work_of(nearest.rows, nearest.features))


def widest(fits: Sequence[Trial], most: int, seconds: float) -> int:
    """Return the largest width expected to be fitted in time: at most ``most``, and at most twice the last width.

    If no wider map fits in the time, this is the width of the last fit.
    """
    last = fits[-1].features
    wider = min(2 * last, most)
    while wider > last and seconds_at(wider, fits) > seconds:
        wider = (wider - 1) // ROUNDED * ROUNDED
    return max(wider, last)
