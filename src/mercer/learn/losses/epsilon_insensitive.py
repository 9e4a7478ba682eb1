"""The loss of support vector regression: residuals within a tube cost nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .base import Values
from .smoothed import SmoothedLoss


class EpsilonInsensitive(SmoothedLoss):
    """The function max(0, abs(r) - epsilon); ``epsilons`` has one value for every column."""

    def __init__(
        self,
        targets: NDArray[np.float64],
        weight: NDArray[np.float64],
        factors: NDArray[np.float64],
        epsilons: NDArray[np.float64],
    ):
        super().__init__(targets, weight, factors)
        self.epsilons = epsilons

    def exact(self, residuals: Values) -> Values:
        return np.maximum(np.abs(residuals) - self.epsilons, 0.0)

    def conjugate(self, q: Values) -> Values:
        return self.epsilons * np.abs(q)

    def _beyond(self, pull: Values) -> Values:
        """Return how far a pull exceeds the tube."""
        return np.abs(pull) - (self.epsilons / self.width).astype(pull.dtype)

    def _best(self, pull: Values) -> Values:
        return np.copysign(np.clip(self._beyond(pull), 0, 1), pull)

    def _turns(self, pull: Values) -> Any:
        beyond = self._beyond(pull)
        return (beyond > 0) & (beyond < 1)
