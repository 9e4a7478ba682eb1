"""The loss of least squares."""

from __future__ import annotations

from .base import TargetLoss
from .row_values import Values


class Squared(TargetLoss):
    """The function r^2 / 2 of a residual r."""

    is_quadratic = True

    def terms(self, F: Values) -> Values:
        return 0.5 * (self.targets_beside(F) - F) ** 2

    def slopes(self, F: Values) -> Values:
        return F - self.targets_beside(F)

    def bends(self, F: Values) -> Values:
        return 1 + 0 * F
