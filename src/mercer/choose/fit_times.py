"""How long fits will take, judged by finished ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .halving import Trial

ROUNDED = 16
"""Widths between powers of two are multiples of this."""


LEAST_SHARE = 0.25
"""What little work takes at least, as a share of what more took."""


def work_of(rows: int, features: int) -> float:
    """What a trial takes, up to a factor: sums, an eigendecomposition, and the turned features in twice the digits."""
    return 3.0 * rows * features**2 + 10.0 * features**3


def seconds_at(width: int, fits: Sequence[Trial]) -> float:
    """About how long a fit to the same rows takes with this width.

    Sums over rows grow with the square of the width and solutions with its cube. Two fits with the same loss tell how
    much there is of each; of one alone it has to be assumed.
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
    """About how long a fit takes, by the one of these that is nearest to it in work, with the same loss if any has it.

    Some of it does not depend on rows and features, so that less work is expected to take a quarter as long at least.
    """
    alike = [trial for trial in trials if trial.loss == loss] or trials
    work = work_of(rows, features)
    nearest = min(alike, key=lambda trial: abs(math.log(work / work_of(trial.rows, trial.features))))
    return nearest.seconds * max(LEAST_SHARE, work / work_of(nearest.rows, nearest.features))


def widest(fits: Sequence[Trial], most: int, seconds: float) -> int:
    """The widest map expected to be fitted within ``seconds``: at most ``most`` features, and twice the last width.

    That of the last fit where no wider one does.
    """
    last = fits[-1].features
    wider = min(2 * last, most)
    while wider > last and seconds_at(wider, fits) > seconds:
        wider = (wider - 1) // ROUNDED * ROUNDED
    return max(wider, last)
