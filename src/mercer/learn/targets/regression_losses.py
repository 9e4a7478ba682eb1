"""The losses of a regressor as a solver minimises them, in units of the targets."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._checks import check_positive, check_probability, is_number
from ..losses import EpsilonInsensitive, Huber, Poisson, Quantile, SmoothedLoss, Squared, TargetLoss
from .regression_targets import Matrix, Units, robust_scale

LOSSES = ("squared", "huber", "quantile", "epsilon_insensitive", "poisson")
DELTA = 1.35
"""The delta of Huber's loss, in standard deviations: on normal noise, it then needs 5 % more rows than squares."""


class Columns(NamedTuple):
    """The columns of decision values of a regression: their loss, and their conversion to the targets' own units."""

    loss: TargetLoss
    centre: Matrix
    spread: Matrix
    alpha: float

    def own(self, W: Matrix, width: int, intercept: bool) -> tuple[Matrix, Matrix]:
        """Return coefficients, one row per column, and intercepts, in the targets' own units."""
        offset = W[width] if intercept else np.zeros(W.shape[1])
        return np.ascontiguousarray((W[:width] * self.spread).T), offset * self.spread + self.centre

    def objective(self, W: Matrix, width: int, F: NDArray[Any]) -> float:
        """Return the objective in the targets' own units, summed over columns."""
        loss = self.loss.exact_value(F) if isinstance(self.loss, SmoothedLoss) else self.loss.value(F)
        return float((self.alpha * self.spread**2) @ (0.5 * (W[:width] ** 2).sum(axis=0) + loss))

    def residuals(self, F: NDArray[Any]) -> Matrix:
        """Return the decision values of all rows, in the targets' own units."""
        return (self.loss.targets - F) * self.spread


def check_loss_arguments(delta: Any, quantile: Any, epsilon: Any) -> None:
    """Refuse arguments that no loss can have."""
    if delta is not None:
        check_positive("delta", delta, " or None")
    for level in np.atleast_1d(np.asarray(quantile, dtype=object)).tolist():
        check_probability("quantile", level)
    if np.ndim(quantile) > 1 or np.size(quantile) == 0:
        raise ValueError(f"quantile must be a number or a list of numbers, found {quantile!r}")
    if not is_number(epsilon) or not 0.0 <= float(epsilon) < np.inf:
        raise ValueError(f"epsilon must be a finite number of at least 0, found {epsilon!r}")


def check_counts(targets: Matrix, weight: Matrix, alone: bool) -> None:
    """Refuse targets that a Poisson distribution cannot produce."""
    if (targets < 0.0).any():
        row, column = np.argwhere(targets < 0.0)[0].tolist()
        where = "" if alone else f", column {column}"
        raise ValueError(
            f"loss='poisson' requires targets of at least 0, found {targets[row, column]:g} in row {row}{where}"
        )
    if not (weight @ targets > 0.0).all():
        raise ValueError("loss='poisson' requires at least one target above 0, since a mean of 0 has no logarithm")


def columns_of_loss(
    loss: str,
    targets: Matrix,
    weight: Matrix,
    alpha: float,
    intercept: bool,
    *,
    delta: Matrix,
    quantile: Any,
    epsilon: float,
) -> Columns:
    """Return what a solver minimises: ||w||^2 / 2 and the loss divided by alpha, in units of the targets' spread."""
    counts, counted = weight / alpha, weight > 0.0
    if loss == "poisson":
        mean = weight @ targets / weight.sum() if intercept else np.ones(targets.shape[1])
        return Columns(Poisson(targets / mean, counts, mean), np.log(mean), np.ones_like(mean), alpha)
    levels = np.atleast_1d(np.asarray(quantile, dtype=np.float64)) if loss == "quantile" else np.zeros(1)
    units = Units.of(targets[counted], weight[counted], intercept)
    within, spread = (np.repeat(part, len(levels), axis=-1) for part in (units.within(targets), units.spread))
    centre = np.repeat(units.centre, len(levels))
    if loss == "squared":
        return Columns(Squared(within, counts, np.ones_like(spread)), centre, spread, alpha)
    if loss == "huber":
        return Columns(Huber(within, counts, np.ones_like(spread), delta / spread), centre, spread, alpha)
    if loss == "quantile":
        each = np.tile(levels, targets.shape[1])
        return Columns(Quantile(within, counts, 1.0 / spread, each), centre, spread, alpha)
    return Columns(EpsilonInsensitive(within, counts, 1.0 / spread, epsilon / spread), centre, spread, alpha)


def default_delta(residuals: Matrix, weight: Matrix) -> Matrix:
    """Return the delta of Huber's loss for residuals like these, one for every column."""
    counted = weight > 0.0
    return DELTA * robust_scale(residuals[counted], weight[counted])
