"""The loss whose minimum is at a quantile, known as the pinball loss."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .base import Values
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

    def _ends(self, dtype: Any) -> tuple[Values, Values]:
        """Return the interval of prices."""
        return (self.levels - 1.0).astype(dtype), self.levels.astype(dtype)

    def exact(self, residuals: Values) -> Values:
        low, high = self._ends(residuals.dtype)
        return np.maximum(low * residuals, high * residuals)

    def conjugate(self, q: Values) -> Values:
        return np.zeros_like(q)

    def _best(self, pull: Values) -> Values:
        return np.clip(pull, *self._ends(pull.dtype))

    def _turns(self, pull: Values) -> Any:
        low, high = self._ends(pull.dtype)
        return (pull > low) & (pull < high)
