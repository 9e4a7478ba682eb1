"""Conjugate gradients for losses of linear models on a wide design.

The Hessians of classes, which precondition Newton's method, take as long as hundreds of passes if there are many
features. Here a single factor preconditions the gradients of all classes: the factor of the Hessian of a sample of
rows, with the curvature averaged over classes. Directions are conjugate by the rule of Polak and Ribiere, and every
step goes to the minimum along its direction; finding it needs no pass, since decision values are linear in the length
of a step.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Self

import numpy as np
import scipy.linalg

from ..estimates.time_forecast import PRODUCT_COST, Work, curvature_works, step_works
from ..features.design import Design
from ..features.feature_matrix import FeatureMatrix
from ..losses import Loss, SmoothedLoss
from .landmarks import LandmarkFeatures, LandmarkHessians, LandmarkNewton
from .newton import Factor, Matrix, Newton, Solution, Values
from .sampling import sampled
from .wide_newton import WideNewton
from .wide_ridge import WideRidge, is_near

ROWS_A_FEATURE = 4
"""The number of rows in the sample: enough to distinguish directions of high curvature from flat ones."""
PATIENCE = 25
"""The smallest number of steps before another factor, after which directions start from the beginning."""
STEPS, NEWTON_PASSES, ACTIVE = 25, 35, 0.125
"""Typical numbers: steps here, passes of Newton's method, and the share of rows in a class's Hessian.

Steps grow with the square root of the curvature, which measures how badly conditioned the problem is.
"""
MARGIN = 1.5
"""The factor by which this method must seem cheaper to be used, since its number of steps is less certain."""
STEPS_FOR_ONE = 5
"""The number of steps allowed in place of one step of Newton's method."""


class Descent(Newton):
    """A minimisation of the same objective as :class:`Newton`, by nonlinear conjugate gradients.

    Parameters
    ----------
    design : FeatureMatrix
        The features.
    loss : Loss
        The loss to minimise.
    """

    name = "conjugate gradients"
    design: FeatureMatrix
    window = 3

    def __init__(self, design: FeatureMatrix, loss: Loss):
        super().__init__(design, loss)
        self.factor_of_all: Factor | None = None
        self.steps_since = 0
        """The number of steps since the factor was computed."""
        self.before: tuple[Matrix, Matrix, Matrix] | None = None
        """Gradient, direction and energy of the last step."""

    def for_loss(self, loss: Loss) -> Self:
        other = super().for_loss(loss)
        other.steps_since, other.before = 0, None
        return other

    def minimise(self, tol: float, max_iter: int, start: Matrix | None = None) -> Solution:
        return super().minimise(tol, STEPS_FOR_ONE * max_iter, start)

    # -- what is to come -----------------------------------------------------------------------------------------------

    @cached_property
    def usual_steps(self) -> float:
        return usual_steps(start_curvature(self.design, self.loss))

    def factor_works(self) -> list[Work]:
        D = self.design.width
        rows = sample_size(self.design.n_rows, D)
        return curvature_works(rows, D, 1) if self.factor_of_all is None else []

    def works_of_step(self) -> list[Work]:
        return step_works(self.product_work, 0)

    # -- a run that ends early -----------------------------------------------------------------------------------------

    def state(self) -> tuple[Values, ...]:
        assert self.before is not None
        assert self.factor_of_all is not None
        numbers = np.array([self.design.n_passes, self.steps_since], dtype=np.int64)
        return numbers, *self.before, self.factor_of_all[0]

    def restore(self, numbers: Values, *arrays: Values) -> None:
        self.design.n_passes, self.steps_since = numbers.tolist()
        gradient, direction, energy, factor = arrays
        self.before = gradient, direction, energy
        self.factor_of_all = np.asfortranarray(factor), True

    def carried(self) -> tuple[Values, ...]:
        factor = () if self.factor_of_all is None else (self.factor_of_all[0],)
        return np.array([self.design.n_passes], dtype=np.int64), *factor

    def take_over(self, *carried: Values) -> None:
        numbers, *factor = carried
        self.design.n_passes = int(numbers[0])
        self.factor_of_all = (np.asfortranarray(factor[0]), True) if factor else None

    # -- the step ------------------------------------------------------------------------------------------------------

    def step(self, F: Values, gradient: Matrix, reach: Matrix) -> Matrix:
        if self.factor_of_all is None or self.steps_since >= self.steps_worth_a_factor():
            self.factor_of_all = self.design.kept("factor", self.average_factor, F), True
            self.steps_since, self.before = 0, None
        return self.direction(gradient, self.precondition(gradient))

    def direction(self, gradient: Matrix, turned: Matrix) -> Matrix:
        """Return the direction of the next step, whose length is found afterwards."""
        energy, direction = self.sums(gradient * turned), -turned
        if self.before is not None:
            last, way, least = self.before
            share = self.sums((gradient - last) * turned) / np.maximum(least, np.finfo(np.float64).tiny)
            conjugate = direction + np.maximum(share, 0.0) * way
            direction = np.where(self.sums(gradient * conjugate) < 0.0, conjugate, direction)
        self.before = gradient, direction, energy
        self.steps_since += 1
        return direction

    def precondition(self, G: Matrix) -> Matrix:
        assert self.factor_of_all is not None
        factor = self.factor_of_all[0]
        return self.centred(
            scipy.linalg.cho_solve((factor, True), G.astype(factor.dtype), check_finite=False).astype(np.float64)
        )

    def average_factor(self, F: Values) -> Values:
        """Return the factor of I + Z' diag(h) Z, with h the mean over classes, from a sample of rows."""
        h = self.loss.curvature(F).mean(axis=1)
        weights, curved = np.zeros_like(h), np.flatnonzero(h)
        if len(curved):
            rows = curved[sampled(len(curved), sample_size(len(curved), self.design.width))]
            weights[rows] = h[rows] * (len(curved) / len(rows))
        # The transpose of the upper half is the lower half in LAPACK's order, which saves a copy.
        return self.factor(self.design.half_moments(weights).T)[0]

    def steps_worth_a_factor(self) -> int:
        """Return the number of steps that take as long as a factor."""
        n, D, k = self.design.n_rows, self.design.width, self.loss.n_columns
        return max(PATIENCE, round(factor_cost(sample_size(n, D), D) / pass_cost(n, D, k)))


def sample_size(n_rows: int, width: int) -> int:
    return min(n_rows, ROWS_A_FEATURE * width)


def factor_cost(n_rows: int, width: int) -> float:
    """Return the operations of second moments of rows and their factor."""
    return n_rows * float(width) ** 2 + float(width) ** 3 / 3.0


def pass_cost(n_rows: int, width: int, n_columns: int) -> float:
    """Return the operations of two products with all features, which are slower with few columns."""
    return 4.0 * PRODUCT_COST * n_rows * width * n_columns


def usual_steps(curvature: float) -> float:
    """Return the number of steps of typical problems with this initial curvature of rows."""
    return STEPS * (1.0 + math.sqrt(curvature))


def is_cheaper(n_rows: int, width: int, n_columns: int, curvature: float) -> bool:
    """Whether conjugate gradients are expected to take less time than Newton's method.

    ``curvature`` is the curvature of a row before the first step.
    """
    return MARGIN * descent_cost(n_rows, width, n_columns, curvature) < newton_cost(n_rows, width, n_columns)


def newton_cost(n_rows: int, width: int, n_columns: int) -> float:
    """Return the operations that Newton's method is expected to take."""
    own = n_columns * factor_cost(round(ACTIVE * n_rows), width)
    return factor_cost(n_rows, width) + own + NEWTON_PASSES * pass_cost(n_rows, width, n_columns)


def descent_cost(n_rows: int, width: int, n_columns: int, curvature: float) -> float:
    """Return the operations that conjugate gradients are expected to take."""
    steps = usual_steps(curvature) * pass_cost(n_rows, width, n_columns)
    return factor_cost(sample_size(n_rows, width), width) + steps


def start_curvature(design: Design, loss: Loss) -> float:
    """Return the average curvature of a row before the first step."""
    return float(loss.curvature(np.zeros((design.n_rows, loss.n_columns))).mean())


def solver_for(design: Design, loss: Loss) -> Newton:
    """Return the solver that is expected to finish first."""
    if isinstance(design, LandmarkFeatures):
        return LandmarkHessians(design, loss) if isinstance(loss, SmoothedLoss) else LandmarkNewton(design, loss)
    assert isinstance(design, FeatureMatrix)
    if design.most_sample_bytes is not None:
        if design.near is not None and is_near(design, loss):
            return WideRidge(design, loss, design.near())
        return WideNewton(design, loss, design.most_sample_bytes)
    curvature = start_curvature(design, loss)
    kind = Descent if is_cheaper(design.n_rows, design.width, loss.n_columns, curvature) else Newton
    return kind(design, loss)
