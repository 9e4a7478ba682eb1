"""The fit of a loss of numbers: which alphas are tried, the delta of Huber's loss, and the coefficients."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..features.design import Design
from ..losses import TargetLoss
from ..protocols import LinearRegressor
from ..solvers.choice import WITH_CORNERS
from ..solvers.conjugate_gradients import solver_for
from ..solvers.newton import Solution
from ..targets.regression_losses import Columns, columns_of_loss, default_delta
from ..targets.regression_targets import Units
from .loss_fit import minimised, warn_unless_converged
from .penalty_path import HOLDOUT, LOO, STRENGTHS, PathFit, PenaltyPath, is_several, rule_of

Matrix = NDArray[np.float64]

ADVICE = "raise max_iter, tol or alpha"


class TargetFit(NamedTuple):
    """The coefficients with the smallest loss, and what was settled on the way.

    Attributes
    ----------
    solution : Solution
        The coefficients.
    columns : Columns
        The columns of decision values, with the alpha that was used.
    delta : ndarray of shape (n_targets,)
        The delta of Huber's loss for every target.
    path : PenaltyPath or None
        The results of several alphas; None if there was only one.
    """

    solution: Solution
    columns: Columns
    delta: Matrix
    path: PenaltyPath | None


def least_target_loss(model: LinearRegressor, design: Design, targets: Matrix, weight: Matrix) -> TargetFit:
    """Return the coefficients with the smallest loss, for the given alpha or the best of several."""
    if not is_several(model.alpha):
        alpha = float(np.asarray(model.alpha))
        delta, start = _delta_and_start(model, design, targets, weight, alpha)
        columns = _columns(model, targets, weight, delta, alpha)
        return TargetFit(minimised(model, design, columns.loss, start, ADVICE)[0], columns, delta, None)
    alphas = alphas_to_try(model, targets, weight)
    rule = HOLDOUT if rule_of(model.alpha) == HOLDOUT else LOO
    delta, _ = _delta_and_start(model, design, targets, weight, alphas[len(alphas) // 2])
    columns = _columns(model, targets, weight, delta, 1.0)
    fit = PathFit(design, columns.loss, weight, model.map_.seed_, float(model.tol), int(model.max_iter))
    found = fit.chosen([1.0 / alpha for alpha in alphas], rule)
    warn_unless_converged(found.solution.report, ADVICE)
    assert isinstance(found.loss, TargetLoss)
    columns = columns._replace(loss=found.loss, alpha=alphas[found.place])
    return TargetFit(found.solution, columns, delta, found.path(rule, alphas))


def alphas_to_try(model: LinearRegressor, targets: Matrix, weight: Matrix) -> tuple[float, ...]:
    """Return the alphas to choose from, in decreasing order; the alphas of a rule are in the units of the loss."""
    if not isinstance(model.alpha, str):
        return tuple(np.unique(np.asarray(model.alpha, dtype=np.float64))[::-1].tolist())
    unit = 1.0
    if model.loss == "poisson":
        unit = float((weight @ targets / weight.sum()).mean())
    elif model.loss in WITH_CORNERS:
        unit = 1.0 / float(Units.of(targets, weight, bool(model.fit_intercept)).spread.mean())
    return tuple(unit / strength for strength in STRENGTHS)


def _columns(model: LinearRegressor, targets: Matrix, weight: Matrix, delta: Matrix, alpha: float) -> Columns:
    intercept, epsilon = bool(model.fit_intercept), float(model.epsilon)
    return columns_of_loss(
        model.loss, targets, weight, alpha, intercept, delta=delta, quantile=model.quantile, epsilon=epsilon
    )


def _delta_and_start(
    model: LinearRegressor, design: Design, targets: Matrix, weight: Matrix, alpha: float
) -> tuple[Matrix, Matrix | None]:
    """Return Huber's delta of every target and, if a first fit determines it, the coefficients of that fit."""
    if model.loss != "huber" or model.delta is not None:
        return np.full(targets.shape[1], 0.0 if model.delta is None else float(model.delta)), None

    def make() -> tuple[Matrix, ...]:
        centre = Units.of(targets[weight > 0.0], weight[weight > 0.0], bool(model.fit_intercept)).centre
        first = _columns(model, targets, weight, default_delta(targets - centre, weight), alpha)
        W = solver_for(design, first.loss).minimise(float(model.tol), int(model.max_iter)).W
        delta = default_delta(first.residuals(design.products(W, "decision values")), weight)
        return delta, W, np.array([design.n_passes])

    checkpoint = design.passes.context.checkpoint
    delta, W, passes = make() if checkpoint is None else checkpoint.settled("delta", make)
    design.n_passes = int(passes[0])
    return delta, W
