"""The loss whose minimum is at a quantile, known as the pinball loss."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._array import namespace
from .row_values import Values, beside, clipped, zeros_beside
from .smoothed import SmoothedLoss


class Quantile(SmoothedLoss):
    """The function level r for residuals above 0, and (level - 1) r below; ``levels`` has one per column."""

    def __init__(
        self,
        targets: NDArray[np.float64],
        weight: NDArray[np.float64],
        factors: NDArray[np.float64],
        levels: NDArray[np.float64],
    ):
        super().__init__(targets, weight, factors)
        self.levels = levels

    def _ends(self, F: Values) -> tuple[Values, Values]:
        """Return the interval of prices."""
        return beside(F, self.levels - 1.0), beside(F, self.levels)

    def exact(self, residuals: Values) -> Values:
        low, high = self._ends(residuals)
        return namespace(residuals).maximum(low * residuals, high * residuals)

    def conjugate(self, q: Values) -> Values:
        return zeros_beside(q)

    def _best(self, pull: Values) -> Values:
        return clipped(pull, *self._ends(pull))

    def _turns(self, pull: Values) -> Any:
        low, high = self._ends(pull)
        return (pull > low) & (pull < high)
