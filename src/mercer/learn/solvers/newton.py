"""Newton's method for losses of linear models on a design.

The Hessian of a class is I + Z' diag(h) Z, with h the curvature of the loss at every row. It is 0 for the squared hinge
beyond the margin, and almost 0 for the logistic loss if the model is certain, so that only the other rows matter. A
Newton step is found by conjugate gradients, each step of which takes two products with Z, preconditioned by the
Hessians of classes at an earlier point. Those cost as much as many such products, and are computed again only when they
have become poor preconditioners.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from ..._array import to_numpy
from ..._tiles import run_tiles
from ..estimates.time_forecast import (
    PRODUCT_COST,
    USUAL_PRODUCTS,
    USUAL_STEPS,
    Work,
    curvature_works,
    product_work,
    step_works,
    steps_left,
)
from ..features.design import Design
from ..losses import Loss
from ..losses.row_values import beside, column_sums, is_finite, largest, nonzero_rows, summed_products, zeros_beside
from .intercepts import balancing

Matrix = NDArray[np.float64]
Values = NDArray[Any]
Factor = tuple[Values, bool]

NEGLIGIBLE = 1e-3
"""Rows whose curvature is below this share of the mean are left out of a preconditioner."""
LEAST_SHIFT = 1e-7
ROUNDING = 8.0
"""A multiple of the trace, in units of the last place, that exceeds the rounding errors of eigenvalues of sums."""
FORCING = 0.1
"""Conjugate gradients reduce the gradient of a Newton step's model by this factor, in the preconditioner's norm."""
SLOWED = 0.25
"""Steps continue while one lowers the model by more than this share of the average step."""
FARTHEST = 1e3
"""If no row has curvature, an intercept moves this multiple of its largest possible distance from its best value."""
GOOD_SLOPE = 1e-4
"""A full step is accepted if the slope at its end is below this share of the slope halfway."""
SEARCH_STEPS = 60
WHOLE = 0.5
"""The largest difference from 1 of the length of a step that counts as the whole step."""
FORGETTING = 2.0
"""The factor by which the ratio of a Hessian to a preconditioner that was found in an earlier step may have grown."""
NARROW = 1e-9
"""Two lengths that bracket a change of sign count as one if their relative difference is below this value."""
LEVEL = 1e-8
"""A slope below this share of the slope at the start counts as 0."""
LEFT = 1e-14
"""A length is good enough if the remaining gain is below this share of its gain."""
MOST_PRODUCTS = 50
"""The smallest number of conjugate gradient steps with fresh factors: an unfinished Newton step may lead nowhere."""
BALANCED = 0.01
"""The allowed distance of intercepts from their best values, as a share of the gap that ends the steps."""
FOUND = 1e-28
"""A column of a step is finished if less than this share of its initial energy is left, which is rounding errors."""
STILL = 4
"""The number of steps without progress after which the search for a smaller objective ends."""


class Report(NamedTuple):
    """The report of a solver about its convergence."""

    converged: bool
    n_iter: int
    passes: int
    objectives: tuple[float, ...]
    """The objectives at the start and after every step, the last one with the best intercepts."""
    gap: float
    """An upper bound of the distance from the minimum, relative to the minimum; the largest of several tasks.

    It follows from duality: half the squared norm of the gradient, divided by the objective.
    """
    method: str = "newton"
    """"newton", "conjugate gradients" if these were cheaper because of wide features, "landmarks", "wide", "exact", or
    "liblinear", whose passes are not counted.

    For "landmarks" the gap is an estimate from the last Newton step instead of a bound, unless the loss has corners;
    for "wide" it may be an estimate if the loss is quadratic.
    """
    expected: float = 0.0
    """The operations that the choice of the solver expected, in units of products of large matrices."""
    operations: float = 0.0
    """The operations by the passes that were made."""


class Solution(NamedTuple):
    """Coefficients, one column per class, with the intercept as the last row if there is one."""

    W: Matrix
    factors: list[Factor]
    report: Report


class Newton:
    """A minimisation of ||w||^2 / 2 + loss(Z w) over a design.

    Parameters
    ----------
    design : Design
        The features.
    loss : Loss
        The loss to minimise.
    factors : list or None, default=None
        Preconditioners, one for every column of W, from the solution of a similar problem.
    """

    name = "newton"
    tells_objective = True
    """Whether callbacks receive the objective, unless it belongs to another loss than the requested one."""
    forcing = FORCING
    window = 1
    """The number of last gaps for extrapolation: Newton's steps improve from one to the next."""

    def __init__(self, design: Design, loss: Loss, factors: list[Factor] | None = None):
        self.design = design
        self.loss = loss
        self.factors = factors
        self.is_stale = factors is None
        self.is_fresh = False
        """Whether the last step was preconditioned by Hessians at its own start."""
        self.ridge = np.ones((design.width, 1))
        self.ridge[design.n_features :] = 0.0  # the intercept is free
        self.gaps: list[float] = []
        self.products_taken: list[int] = []
        """The number of conjugate gradient steps in every Newton step."""
        self.steps_to_come = 0.0
        self.is_in_model = False
        """Whether the best length of the last step was about 1, as the quadratic model predicts."""
        self.ratios = np.ones(loss.n_columns)
        """How many times the Hessian of every column is as large as its preconditioner where it is the smallest."""
        self.left_over: Matrix | None = None
        """The remaining gradient of the last step's model, in the norm of the inverse Hessian, approximately."""
        together = loss.problems[:, None] == loss.problems
        alone = together.sum(axis=1) == 1
        self.averages = None if alone.all() else together / together.sum(axis=1) * ~alone

    def for_loss(self, loss: Loss) -> Self:
        """Return a solver for another loss of the same rows, with the preconditioners of this one unless stale.

        Checkpoints do not keep stale ones either, so a resumed run takes the same steps.
        """
        other = copy(self)
        other.loss, other.gaps, other.products_taken, other.tells_objective = loss, [], [], False
        other.is_in_model, other.ratios = False, np.ones(loss.n_columns)
        other.factors = None if self.is_stale else self.factors
        other.is_stale = other.factors is None
        return other

    def after(self, loss: Loss) -> Self:
        """Return the solver of the next loss on a path, which takes over from this one and reports in the same way."""
        other = self.for_loss(loss)
        other.tells_objective = self.tells_objective
        return other

    def minimise(self, tol: float, max_iter: int, start: Matrix | None = None) -> Solution:
        """Minimise the objective, to a relative distance of about ``tol``."""
        design, loss = self.design, self.loss
        W = np.zeros((design.width, loss.n_columns)) if start is None else self.centred(start)
        if W.any():
            F = design.decision_values(W, "decision values")
        else:
            F = design.row_values(np.zeros((design.n_rows, loss.n_columns), dtype=design.dtype))
        objectives: list[float] = []
        known = self.known()
        if known is not None:
            W, F, objectives = known
        for iteration in range(len(objectives), max_iter + 1):
            self.foretell(iteration, max_iter, tol)
            self.expect(self.factor_works())
            values = self.values(W, F)
            objectives.append(float(values.sum()))
            if self.tells_objective:
                design.passes.report.objective = objectives[-1]
            gradient = self.gradient(W, F, "gradient")
            self.gaps.append(largest_share(self.distance(gradient), values))
            ends = iteration == max_iter or self.stands_still(objectives)
            if ends or self.gaps[-1] <= tol:
                best, gap, least = self.certified(W, F, gradient, values, tol)
                if ends or gap <= tol:
                    objectives[-1] = least
                    if self.tells_objective:
                        design.passes.report.objective = least
                    break
            step = self.step(F, gradient, self.reach(W, F))
            gap = self.estimated_gap(gradient, step, values)
            if gap <= tol and self.is_trusted:
                best = W
                break
            self.expect([Work("decision values", self.product_work)])
            V = design.row_values(design.kept("decision values", design.decision_values, step, "decision values"))
            length = self.length(F, V, W, step)
            self.is_in_model = bool((np.abs(length - 1.0) <= WHOLE).all())
            if gap <= tol and self.is_trusted:
                best = W
                break
            self.learn_from(length, gap <= tol)
            W = W + length * step
            F = F + beside(F, length) * V
            self.keep(W, F, objectives)
        # The objective has no more digits than its rows; it is never negative, so the distance is at most its value.
        converged = gap <= max(tol, float(np.finfo(design.dtype).eps))
        report = Report(bool(converged), iteration, design.n_passes, tuple(objectives), min(gap, 1.0), self.name)
        return Solution(best, self.factors or [], report)

    # -- where it ends -------------------------------------------------------------------------------------------------

    def values(self, W: Matrix, F: Values) -> Matrix:
        """Return the objective of every task."""
        return 0.5 * self.by_task(self.ridge * W**2) + self.loss.value(F)

    def gradient(self, W: Matrix, F: Values, name: str) -> Matrix:
        """Return the gradient of the objective, in one pass; ``name`` identifies it in checkpoints."""
        slope = self.loss.slope(F)
        return self.ridge * W + self.design.kept(name, self.design.transposed, slope, "gradient", nonzero_rows(slope))

    def distance(self, gradient: Matrix) -> Matrix:
        """Return an upper bound of the distance of every task from its minimum, if its intercepts are the best."""
        return 0.5 * self.by_task(gradient[: self.design.n_features] ** 2)

    def certified(
        self, W: Matrix, F: Values, gradient: Matrix, values: Matrix, tol: float
    ) -> tuple[Matrix, float, float]:
        """Return the better of these coefficients and those with balanced intercepts, its gap and its objective.

        The bound holds for balanced intercepts. Steps do not start from them: going to the best intercepts before every
        step would alternate between intercepts and coefficients, which takes several times as many steps as moving both
        together.
        """
        shift = self.balancing_shift(W, F, tol * float(values.sum()))
        if not shift.any():
            return W, self.gap(W, F, gradient, values), float(values.sum())
        U, G = W.copy(), F + beside(F, shift)
        U[-1] += shift
        self.expect([Work("gradient", self.product_work)])
        levels = self.values(U, G)
        gap = self.gap(U, G, self.gradient(U, G, "balanced gradient"), levels)
        # The bound also holds for the original coefficients if their objective is smaller.
        best, level = (U, levels) if levels.sum() <= values.sum() else (W, values)
        return best, gap, float(level.sum())

    def gap(self, W: Matrix, F: Values, gradient: Matrix, values: Matrix) -> float:
        """Return an upper bound of the relative distance from the minimum; the largest of several tasks.

        The slopes of the loss are a point of the dual problem, and half the squared norm of the gradient is the
        distance between the two objectives there. This holds for intercepts with gradient 0. What remains of their
        gradient beyond the rounding errors of decision values is multiplied by the largest possible distance of an
        intercept from its best value.
        """
        bound = self.distance(gradient)
        if self.design.intercept:
            reach = self.reach(W, F)
            rounding = float(np.finfo(self.design.dtype).eps) * reach * column_sums(self.loss.curvature(F))
            bound = bound + self.by_task((np.maximum(np.abs(gradient[-1]) - rounding, 0.0) * reach)[None])
        return largest_share(bound, values)

    def estimated_gap(self, gradient: Matrix, step: Matrix, values: Matrix) -> float:
        """Return the gap estimated from a step that is found but not taken; infinite if only a bound counts."""
        return np.inf

    @property
    def is_trusted(self) -> bool:
        """Whether the estimated gap can be trusted."""
        return self.is_in_model

    def learn_from(self, length: Matrix, seemed_last: bool) -> None:
        """Prepare for the step after one with these best lengths, which seemed to be the last one or not."""

    def decrement(self, gradient: Matrix, step: Matrix, values: Matrix) -> float:
        """Return the relative decrease that the quadratic model still allows; the largest of several tasks.

        It is infinite if the step leads uphill, or is 0 although there is a slope: then it says nothing.
        """
        found = -0.5 * self.by_task(gradient * step)
        left = found / (1.0 - self.forcing**2)
        if self.left_over is not None:
            left = np.maximum(left, found + 0.5 * self.by_task(self.left_over))
        is_none = (left < 0.0) | ((found == 0.0) & (self.by_task(np.abs(gradient)) > 0.0))
        return largest_share(np.where(is_none, np.inf, left), values)

    def balancing_shift(self, W: Matrix, F: Values, enough: float) -> Matrix:
        """Return the shift to the best intercepts, accurate to a small fraction of ``enough``."""
        if not self.design.intercept:
            return np.zeros(self.loss.n_columns)
        return balancing(self.loss, F, BALANCED * enough / self.loss.n_columns / self.reach(W, F))

    def reach(self, W: Matrix, F: Values) -> Matrix:
        """Return the largest possible distance of an intercept from its best."""
        return 1.0 + largest(F) + np.abs(W[-1])

    def stands_still(self, objectives: list[float]) -> bool:
        """Whether the last steps have not reduced the objective numerically."""
        eps = float(np.finfo(self.design.dtype).eps)
        return len(objectives) > STILL and objectives[-1 - STILL] - objectives[-1] <= eps * abs(objectives[-1])

    # -- what is to come -----------------------------------------------------------------------------------------------

    @property
    def product_work(self) -> float:
        return product_work(self.design.n_rows, self.design.width, self.loss.n_columns)

    @cached_property
    def usual_steps(self) -> float:
        """The expected number of steps, until gaps allow an extrapolation."""
        return USUAL_STEPS

    def foretell(self, iteration: int, max_iter: int, tol: float) -> None:
        """Extrapolate the number of steps after which the gap will be within ``tol``."""
        left = steps_left(self.gaps, tol, self.usual_steps - iteration + len(self.gaps), self.window)
        self.steps_to_come = min(left, max_iter - iteration + 1.0)

    def expect(self, now: list[Work]) -> None:
        """Announce this work, and then the steps to come."""
        if self.design.passes.report.is_heard:
            later = round(self.steps_to_come) * self.works_of_step()
            self.design.passes.report.expect([*now, *later, Work("solution", 0.0)])

    def factor_works(self) -> list[Work]:
        """Return the work of the factors that will be computed before the next step."""
        D, k = self.design.width, self.loss.n_columns
        if not self.is_stale:
            return []
        return curvature_works(self.design.n_rows, D, 1 if self.factors is None else k)

    def works_of_step(self) -> list[Work]:
        products = round(np.mean(self.products_taken[-3:])) if self.products_taken else USUAL_PRODUCTS
        return step_works(self.product_work, products)

    # -- a run that ends early -----------------------------------------------------------------------------------------

    def keep(self, W: Matrix, F: Values, objectives: list[float]) -> None:
        """Record the state from which a run that ends before the next iteration can continue."""
        checkpoint = self.design.passes.context.checkpoint
        if checkpoint is not None:
            checkpoint.anew("iterate", (W, to_numpy(F), np.array(objectives), *self.state()))

    def state(self) -> tuple[Values, ...]:
        """Return what the next step needs in addition to coefficients and decision values."""
        factors = [] if self.is_stale or self.factors is None else [factor for factor, _ in self.factors]
        different = list({id(factor): factor for factor in factors}.values())
        places = [next(place for place, one in enumerate(different) if one is factor) for factor in factors]
        return np.array([self.design.n_passes, *places], dtype=np.int64), *different

    def restore(self, numbers: Values, *different: Values) -> None:
        """Continue from this state."""
        self.design.n_passes, *places = numbers.tolist()
        self.factors = [(different[place], True) for place in places] or None
        self.is_stale = self.factors is None

    def carried(self) -> tuple[Values, ...]:
        """Return what the solver of the next loss on a path takes over, for a run that ends there."""
        return self.state()

    def take_over(self, *carried: Values) -> None:
        """Continue with what another solver has left, as :meth:`after` does."""
        self.restore(*carried)

    def known(self) -> tuple[Matrix, Values, list[float]] | None:
        """Return coefficients, decision values and objectives from which to continue."""
        checkpoint = self.design.passes.context.checkpoint
        if checkpoint is None or "iterate" not in checkpoint.found:
            return None
        W, F, objectives, *state = checkpoint.found["iterate"]
        self.restore(*state)
        return W, self.design.row_values(F), objectives.tolist()

    # -- the step ------------------------------------------------------------------------------------------------------

    def step(self, F: Values, gradient: Matrix, reach: Matrix) -> Matrix:
        """Return - H^-1 g, by conjugate gradients; ``reach`` is how far intercepts may be from their best.

        If no row has curvature, H does not limit the step of an intercept, which would be infinite.
        """
        held = np.repeat(self.ridge, gradient.shape[1], axis=1)
        if not self.loss.is_quadratic:
            held[self.design.n_features :] = np.abs(gradient[self.design.n_features :]) / (FARTHEST * reach)
        is_fresh, worth = self.refresh(F)
        most = max(2 * worth, MOST_PRODUCTS) if is_fresh else 2 * worth  # other factors would not help
        placed = self.design.step_values
        residual, held = placed(-gradient), placed(held)
        step, turned = zeros_beside(residual), self.precondition(residual)
        direction, energy = turned, self.sums(residual * turned)
        goal, negligible = self.forcing**2 * energy, np.maximum(FOUND * energy, np.finfo(np.float64).tiny)
        bend, taken, energies = self.loss.bend(F), 0, [float(energy.max())]
        rows, fallen = nonzero_rows(self.loss.curvature(F)), np.zeros_like(energy)
        lengths: list[Matrix] = []
        shares: list[Matrix] = []
        self.left_over = None
        self.steps_to_come = max(self.steps_to_come - 1.0, 0.0)
        while taken < most:
            what = "conjugate gradients"
            left = min(steps_left(energies, self.forcing**2 * energies[0], USUAL_PRODUCTS), most - taken)
            self.expect(round(left) * [Work(what, 2.0 * self.product_work)])
            bent = self.design.kept(f"{what} {taken}", self.design.curved, direction, bend, what, rows)
            curved = held * direction + placed(bent)
            taken += 1
            with np.errstate(over="ignore", invalid="ignore"):
                is_open = energy > negligible
                length = energy / np.maximum(self.sums(direction * curved), np.finfo(np.float64).tiny) * is_open
                along = beside(step, length)
                further, residual = step + along * direction, residual - along * curved
                turned = self.precondition(residual)
                left_over = column_sums(residual * turned)
                following = self.by_problem(left_over)
            if not (np.isfinite(following).all() and is_finite(further)):
                break  # this precision cannot resolve the Hessian; the current result is a valid step
            step = further
            lengths.append(length)
            # A preconditioner from another point may overestimate the curvature in some directions, and make the
            # remaining gradient there look small. The decrease of the model must therefore be small too (Nash and
            # Sofer, Assessing a search direction within a truncated-Newton method, 1990).
            fallen = fallen + length * energy
            self.left_over = left_over[None]
            is_near = (following <= goal).all()
            if is_near and (self.loss.is_quadratic or (taken * length * energy <= SLOWED * fallen).all()):
                break
            energies.append(float(following.max()))
            share = following / np.where(is_open, energy, 1.0)
            shares.append(share)
            direction = turned + beside(step, share) * direction
            if not is_open.all():
                direction = beside(step, is_open) * direction
            energy = following
        found = least_ratios(lengths, shares)
        self.ratios = found if is_fresh else np.minimum(found, FORGETTING * self.ratios)
        if self.left_over is not None:
            self.left_over = self.left_over / self.ratios
        self.is_stale = taken > worth
        self.products_taken.append(taken)
        return np.asarray(to_numpy(step))

    def sums(self, terms: Values) -> Matrix:
        """Return, for every column, the sum over the columns of the same problem: problems are independent."""
        return self.by_problem(column_sums(terms))

    def by_problem(self, sums: Matrix) -> Matrix:
        """Return, for every column, the sum over the columns of the same problem."""
        problems = self.loss.problems
        return np.bincount(problems, sums).astype(np.float64)[problems]

    def by_task(self, terms: Matrix) -> Matrix:
        """Return the sum for every task."""
        return np.bincount(self.loss.tasks, terms.sum(axis=0)).astype(np.float64)

    def precondition(self, G: Values) -> Values:
        assert self.factors is not None
        G = to_numpy(G)
        turned, factors = np.empty_like(G), self.factors

        def work(one: slice) -> None:
            factor, column = factors[one.start], G[:, one.start]
            # In the precision of the factor, which otherwise would be copied.
            turned[:, one.start] = scipy.linalg.cho_solve(factor, column.astype(factor[0].dtype), check_finite=False)

        run_tiles(work, G.shape[1], 1, self.design.n_jobs)
        return self.design.step_values(self.centred(turned))

    def centred(self, W: Values) -> Values:
        """Return the columns of each problem minus their mean.

        The softmax does not depend on this mean, which is 0 at the minimum, but the Hessians of single classes, which
        are computed independently, would treat it as a direction of large curvature.
        """
        return W if self.averages is None else W - W @ beside(W, self.averages)

    def refresh(self, F: Values) -> tuple[bool, int]:
        """Compute the preconditioner again if it has become a poor one.

        Returns whether it is new, and how many steps of conjugate gradients would take as long as another one.
        """
        self.is_fresh, worth = self.is_stale, self.steps_worth_fresh_factors(F)
        if self.is_fresh:
            self.factors = self.fresh_factors(F)
        return self.is_fresh, worth

    def steps_worth_fresh_factors(self, F: Values) -> int:
        """Return how many steps of conjugate gradients take as long as fresh factors."""
        D, k = self.design.width, self.loss.n_columns
        rows = float(np.count_nonzero(self.preconditioning_curvature(F)))
        return max(3, round((rows * D**2 + k * D**3 / 3.0) / (4.0 * PRODUCT_COST * self.design.n_rows * D * k)))

    def preconditioning_curvature(self, F: Values) -> Values:
        h = to_numpy(self.loss.curvature(F))
        return np.where(h > NEGLIGIBLE * h.mean(axis=0), h, 0)

    def fresh_factors(self, F: Values) -> list[Factor]:
        """Return the factors of I + Z' diag(h) Z for every column of h, with one thread per class."""
        h = self.preconditioning_curvature(F)
        # All classes share one factor, for example, at the start, when all rows have the same curvature.
        if all(np.array_equal(column, h[:, 0]) for column in h.T[1:]):
            return [self.kept_factor(h, 0, alone=True)] * h.shape[1]
        factors: list[Any] = [None] * h.shape[1]

        def work(one: slice) -> None:
            factors[one.start] = self.kept_factor(h, one.start, alone=False)

        run_tiles(work, h.shape[1], 1, self.design.n_jobs)
        return factors

    def kept_factor(self, h: Values, column: int, alone: bool) -> Factor:
        return self.design.kept(f"factor {column}", self.curvature_factor, h[:, column], alone), True

    def curvature_factor(self, h: Values, alone: bool) -> Values:
        return self.factor(self.design.moments(h, alone))[0]

    def factor(self, moments: Values) -> Factor:
        """Return the Cholesky factor of the Hessian, with a slightly larger diagonal if it might not be positive.

        This can happen for an intercept that no row determines, and whenever rounding of the sums could make an
        eigenvalue negative. The factor is only a preconditioner, so the increase changes no solution.
        """
        trace = float(np.trace(moments))
        rounding = ROUNDING * float(np.finfo(moments.dtype).eps) * trace
        # Not more for coefficients, which would slow down convergence if C is large.
        shift = np.where(self.ridge[:, 0] > 0.0, rounding, max(LEAST_SHIFT * (1.0 + trace / len(moments)), rounding))
        moments[np.diag_indices_from(moments)] += np.maximum(self.ridge[:, 0], shift).astype(moments.dtype)
        return scipy.linalg.cho_factor(moments, lower=True, overwrite_a=True, check_finite=False)

    # -- its length ----------------------------------------------------------------------------------------------------

    def length(self, F: Values, V: Values, W: Matrix, step: Matrix) -> Matrix:
        """Return the step length of every column, at which the slope of the objective of its problem is 0.

        It needs no pass, since the decision values are linear in the length.
        """

        held = self.ridge * step
        level, rise = self.sums(held * W), self.sums(held * step)

        def slope(t: Matrix) -> Matrix:
            at = F + beside(F, t) * V
            return level + t * rise + self.by_problem(summed_products(self.loss.slope(at), V))

        low, high = np.zeros(F.shape[1]), np.ones(F.shape[1])
        below, above = slope(low), slope(high)
        flat = LEVEL * np.abs(below)
        half = 0.5 * high
        # Half-way, because the slope at the start says nothing: a little further on, it may be a millionth of that.
        middle = slope(half)
        if (np.abs(above) <= GOOD_SLOPE * np.maximum(-middle, 0.0)).all():
            return high
        falls = middle < 0
        low, below = np.where(falls, half, low), np.where(falls, middle, below)
        high, above = np.where(falls, high, half), np.where(falls, above, middle)
        gain = -below * low
        for _ in range(SEARCH_STEPS):  # the objective is convex: widen until its slope has changed sign
            if (above >= 0).all():
                break
            low, below = np.where(above < 0, high, low), np.where(above < 0, above, below)
            gain = np.maximum(gain, -below * low)
            high = np.where(above < 0, 2.0 * high, high)
            above = slope(high)
        return zero_between(slope, low, below, high, above, gain, flat)


def largest_share(bounds: Matrix, values: Matrix) -> float:
    """Return the largest of the bounds on the objectives of tasks, each relative to its own objective."""
    share = bounds / np.where(values > 0.0, values, 1.0)
    return float(share.max()) if np.isfinite(share).all() else np.inf


def least_ratios(lengths: list[Matrix], shares: list[Matrix]) -> Matrix:
    """Return how many times Hessians are as large as their preconditioners where they are the smallest, at most 1.

    Conjugate gradients are Lanczos' method, whose tridiagonal matrix follows from the ``lengths`` of the steps and from
    the ``shares`` of the directions before that new directions keep. Its smallest eigenvalue approaches the smallest
    one of the preconditioned Hessian from above, one for every column.
    """
    least = np.ones(len(lengths[0]) if lengths else 1)
    for column in range(len(least)):
        inverses = [1.0 / length[column] for length in lengths if length[column] > 0.0]
        kept = [share[column] for share in shares[: len(inverses) - 1]]
        if inverses:
            diagonal = np.array(inverses)
            diagonal[1:] += np.array(kept) * diagonal[:-1]
            beside_it = np.sqrt(kept) * inverses[: len(kept)]
            least[column] = min(1.0, scipy.linalg.eigvalsh_tridiagonal(diagonal, beside_it)[0])
    return np.maximum(least, float(np.finfo(np.float32).eps))


def zero_between(
    slope: Callable[[Matrix], Matrix],
    low: Matrix,
    below: Matrix,
    high: Matrix,
    above: Matrix,
    gain: Matrix,
    flat: Matrix,
) -> Matrix:
    """Return where increasing functions, ``below`` at ``low`` and ``above`` at ``high``, are close enough to 0.

    They are slopes of convex functions, and ``gain`` is how far these are known to decrease from 0 to ``low``. The
    search ends when the possible further decrease is negligible, or when a slope is at most ``flat``. Slopes of losses
    with corners bend sharply, and can be millions of times as steep at the start as shortly after it, so that a secant
    hardly moves one of the ends; if it does not halve the bracket, the next step does. After the last step, ``low`` is
    returned, which is not beyond the minimum.
    """
    is_slow = np.zeros(low.shape, dtype=bool)
    for _ in range(SEARCH_STEPS):
        width = high - low
        if ((width <= NARROW * np.abs(high)) | (-below * width <= LEFT * gain)).all():
            break
        t = low - below * width / np.where(above == below, 1.0, above - below)
        t = np.where(is_slow | (t <= low) | (t >= high), low + 0.5 * width, t)
        here = slope(t)
        found = np.abs(here) <= flat  # otherwise the sign of a rounding error would decide where t goes
        left, right = (here < 0) | found, (here >= 0) | found
        low, below = np.where(left, t, low), np.where(left, here, below)
        high, above = np.where(right, t, high), np.where(right, here, above)
        gain = np.maximum(gain, -below * low)
        is_slow = high - low > 0.5 * width
    return low
