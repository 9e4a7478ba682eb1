"""A check of generalised cross-validation, which assumes that all rows have the same leverage.

The error of a left-out row is its residual divided by 1 - h, where h is its leverage; generalised cross-validation uses
the mean leverage in place of h. If alpha is small, rows far from all others have leverages near 1 and almost no
residuals, so generalised cross-validation regards them as well explained and chooses almost no penalty.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._caller import warn_caller
from ..solvers.ridge import best_of, relative

Matrix = NDArray[np.float64]

WORSE = 1.1
"""The largest error of the chosen penalty, as a multiple of the smallest error, without a warning."""
NOTICEABLE = 0.01
"""The smallest difference of two errors that causes a warning, as a share of the standard deviation of the targets."""


class GcvCheck(NamedTuple):
    """The errors, by leaving out rows one by one, of the penalties among which generalised cross-validation chooses.

    Parameters
    ----------
    errors, expected : ndarray of shape (n_alphas, n_targets)
        The mean squared errors of left-out rows, and the errors that generalised cross-validation expects.
    variance : ndarray of shape (n_targets,)
        The variance of the targets.
    rows : int
        The number of rows that were left out.
    mean, largest : float
        The mean leverage of a unit of weight, and the largest leverage of a row with its weight, for the chosen
        penalty.
    """

    errors: Matrix
    expected: Matrix
    variance: Matrix
    rows: int
    mean: float
    largest: float

    def warn(self, name: str, penalties: Matrix, place: int) -> None:
        """Issue a warning if the penalty at this position has a far larger error than another one."""
        known = np.where(np.isfinite(self.errors), self.errors, np.finfo(np.float64).max / self.errors.size)
        found, expected = (np.sqrt(relative(one, self.variance) / len(self.variance)) for one in (known, self.expected))
        best = best_of(known, self.variance)
        if not (found[place] > WORSE * found[best] and found[place] - found[best] > NOTICEABLE):
            return
        warn_caller(
            f"{name}='gcv' is unreliable on these rows: it chooses {name} = {penalties[place]:.3g} and expects an "
            f"error of {expected[place]:.3g} standard deviations of the targets, but leaving out {self.rows:,} rows "
            f"one by one gives {found[place]:.3g}, and {found[best]:.3g} with {name} = {penalties[best]:.3g}. It "
            f"assumes that every leverage is {self.mean:.2g}, but the largest is {self.largest:.2g}: give "
            f"{name}='loo'",
        )
