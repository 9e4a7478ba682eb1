"""The loss of support vector regression: residuals within a tube cost nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._array import namespace
from .row_values import Values, beside, clipped
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
        return clipped(namespace(residuals).abs(residuals) - beside(residuals, self.epsilons), 0, None)

    def conjugate(self, q: Values) -> Values:
        return beside(q, self.epsilons) * namespace(q).abs(q)

    def _beyond(self, pull: Values) -> Values:
        """Return how far a pull exceeds the tube."""
        return namespace(pull).abs(pull) - beside(pull, self.epsilons / self.width)

    def _best(self, pull: Values) -> Values:
        return namespace(pull).copysign(clipped(self._beyond(pull), 0, 1), pull)

    def _turns(self, pull: Values) -> Any:
        beyond = self._beyond(pull)
        return (beyond > 0) & (beyond < 1)
