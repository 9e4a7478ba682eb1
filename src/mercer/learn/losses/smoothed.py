r"""Losses with corners, which a solver sees smoothed.

A loss of the residual r = y - f is :math:`\ell(r) = \max_q q r - \ell^*(q)`. Its prices q, the slopes of its tangents,
lie in an interval. The smoothed loss is

.. math:: \max_q\; q r - \ell^*(q) - \tfrac{\mu}{2} (q - \lambda)^2,

whose slope changes over a width of :math:`\mu` around the corners. If :math:`\lambda` are the prices of an earlier
solution, this is a step of the method of multipliers: solutions converge to the solution of the loss itself although
:math:`\mu` does not go to 0. In any case the prices are a feasible point of the dual problem, so they bound the
distance from the minimum of the loss itself.
"""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..._array import namespace
from .base import TargetLoss
from .row_values import Values, weighted_sums


class SmoothedLoss(TargetLoss):
    """A loss with corners, smoothed over ``width`` about ``prices``, one for every row and column."""

    width: float = 1.0
    prices: Values | float = 0.0

    def about(self, prices: Values, width: float) -> Self:
        """Return the same loss, smoothed over another width about other prices."""
        other = copy(self)
        other.width, other.prices = width, prices
        return other

    def residuals(self, F: Values) -> Values:
        """Return y - f."""
        return self.targets_beside(F) - F

    def price(self, F: Values) -> Values:
        """Return the best q of every row and column."""
        return self._best(self._pull(F))

    def _pull(self, F: Values) -> Values:
        return self.residuals(F) / self.width + self._near(F)

    @abstractmethod
    def exact(self, residuals: Values) -> Values:
        """Return the loss itself."""

    @abstractmethod
    def conjugate(self, q: Values) -> Values:
        """Return its conjugate at feasible prices."""

    @abstractmethod
    def _best(self, pull: Values) -> Values:
        """Return the best q if r divided by the width, plus the price of the smoothing, equals this."""

    @abstractmethod
    def _turns(self, pull: Values) -> Any:
        """Return where the best q changes with the pull."""

    def terms(self, F: Values) -> Values:
        # Larger than the formula above by mu lambda^2 / 2, so that it is never negative.
        residuals, q = self._exactly(F)
        return q * residuals - self.conjugate(q) - self.width * q * (0.5 * q - self._near(q))

    def slopes(self, F: Values) -> Values:
        return -self.price(F)

    def bends(self, F: Values) -> Values:
        return namespace(F).astype(self._turns(self._pull(F)), F.dtype) / self.width

    def exact_value(self, F: Values) -> NDArray[np.float64]:
        """Return the loss itself, one number per column."""
        return self.factors * weighted_sums(self.weight, self.exact(self._exactly(F)[0]))

    def excess(self, F: Values) -> NDArray[np.float64]:
        """Return how far the loss itself is above its dual at the prices, one number per column."""
        residuals, q = self._exactly(F)
        return self.factors * weighted_sums(self.weight, self.exact(residuals) + self.conjugate(q) - q * residuals)

    def _near(self, F: Values) -> Values:
        """Return the prices at the centre of the smoothing, in the precision of F and in the same place."""
        return self.beside(F, self.prices) if isinstance(self.prices, np.ndarray) else self.prices

    def _exactly(self, F: Values) -> tuple[Values, Values]:
        """Return residuals and prices in float64."""
        xp = namespace(F)
        return xp.astype(self.residuals(F), xp.float64), xp.astype(self.price(F), xp.float64)
