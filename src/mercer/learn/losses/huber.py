"""The loss of Huber: squares of small residuals, absolute values of large ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..._array import namespace
from .base import TargetLoss
from .row_values import Values, beside, clipped


class Huber(TargetLoss):
    """The function r^2 / 2 up to a residual of delta and linear beyond; ``deltas`` has one value for every column."""

    def __init__(
        self,
        targets: NDArray[np.float64],
        weight: NDArray[np.float64],
        factors: NDArray[np.float64],
        deltas: NDArray[np.float64],
    ):
        super().__init__(targets, weight, factors)
        self.deltas = deltas

    def _residuals(self, F: Values) -> tuple[Values, Values]:
        """Return the residuals of all rows, and their parts within delta."""
        residuals, deltas = self.targets_beside(F) - F, beside(F, self.deltas)
        return residuals, clipped(residuals, -deltas, deltas)

    def terms(self, F: Values) -> Values:
        residuals, within = self._residuals(F)
        return within * (residuals - 0.5 * within)

    def slopes(self, F: Values) -> Values:
        return -self._residuals(F)[1]

    def bends(self, F: Values) -> Values:
        residuals, within = self._residuals(F)
        return namespace(F).astype(residuals == within, F.dtype)
