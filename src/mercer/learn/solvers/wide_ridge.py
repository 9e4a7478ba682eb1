r"""Ridge regression on so many features that a matrix of their second moments does not fit, in the space of rows.

With curvatures c and slopes g of the loss at 0, coefficients are :math:`w = Z^\top C^{1/2} \rho`, where

.. math:: (I + C^{1/2} Z Z^\top C^{1/2})\, \rho = -C^{-1/2} g - C^{1/2} 1\, b
          \quad\text{and}\quad 1^\top C^{1/2} \rho = 0

with an intercept b. This is solved by conjugate gradients, for all targets at once; each step computes the features of
all rows twice, for products with :math:`Z^\top` and with Z, and keeps none of them.

:math:`Z Z^\top` is close to the kernel matrix, which is close to :math:`F F^\top` with features F of landmarks, a
sample of the rows. Therefore the inverse of :math:`I + C^{1/2} F F^\top C^{1/2}`, computed from a factor of :math:`I +
F^\top C F`, preconditions the steps. Compared with wide features, kernel values at landmarks cost almost nothing.

Every step is a point of the dual problem, and half the squared norm of its residual is exactly the difference between
the primal and the dual objective. This bounds the distance from the minimum, and the steps end when it is small enough.
The solution for a similar loss, such as that of the previous penalty on a path, is a point of the dual problem too,
from which they start.
"""

from __future__ import annotations

import math
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..._tiles import run_tiles, single_threaded_blas
from ..estimates.time_forecast import DOUBLE, FEATURE_OPERATIONS, PRODUCT_COST, Work
from ..features.feature_matrix import FeatureMatrix
from ..losses import Loss
from .landmarks import LandmarkFeatures
from .newton import Matrix, Newton, Report, Solution, Values, largest_share
from .triangular import BLOCK, Triangular

PREPARATION_STEPS = 2.0
"""The largest cost of the preconditioner, in steps of conjugate gradients."""
MOST_LANDMARKS = 6144
"""The largest number of landmarks: a larger kernel matrix would use the memory that this method is meant to save."""
STEPS_FOR_ONE = 5
"""The number of steps allowed in place of one step of Newton's method."""
USUAL_STEPS = 12.0
"""The number of steps that typical problems took."""
NEAREST = 30.0
"""The largest total curvature per feature for which products of features are close enough to the kernel.

If features are random, they differ from it by about n / D, which matters relative to the inverse of the curvature.
"""
STILL = 8
"""The number of steps without progress after which the search ends: their residuals are rounding errors."""


def step_cost(n_rows: int, width: int, n_columns: int) -> float:
    """Return the operations of one step: features of all rows twice, and their products."""
    return (2.0 * FEATURE_OPERATIONS + 4.0 * PRODUCT_COST * n_columns) * n_rows * width


def landmark_count(n_rows: int, width: int, n_columns: int) -> int:
    """Return the number of landmarks of the preconditioner: their moments take n s^2 operations in float64."""
    count = math.sqrt(PREPARATION_STEPS * step_cost(1, width, n_columns) / DOUBLE)
    return min(n_rows, MOST_LANDMARKS, max(1, round(count)))


def is_near(design: FeatureMatrix, loss: Loss) -> bool:
    """Whether a quadratic loss is minimised here: this requires products of features close to the kernel."""
    if not loss.is_quadratic or design.near is None:
        return False
    curvature = loss.curvature(np.zeros((design.n_rows, loss.n_columns)))
    return float(curvature.mean(axis=1).sum()) <= NEAREST * design.n_features


def wide_ridge_cost(n_rows: int, width: int, n_columns: int) -> float:
    """Return the operations of a typical solution."""
    count = float(landmark_count(n_rows, width, n_columns))
    moments = DOUBLE * (n_rows * count**2 + count**3)
    return moments + USUAL_STEPS * step_cost(n_rows, width, n_columns)


class RowPreconditioner:
    """The inverse of I + C^1/2 F F' C^1/2, for features F of landmarks.

    Parameters
    ----------
    landmarks : LandmarkFeatures
        Kernel values of all rows, without an intercept.
    roots : ndarray of shape (n_rows,)
        The diagonal of C^1/2.
    """

    def __init__(self, landmarks: LandmarkFeatures, roots: Matrix):
        self.landmarks, self.roots = landmarks, roots[:, None]
        hessian = self._moments(roots**2)
        hessian[np.diag_indices_from(hessian)] += 1.0
        self.factor = Triangular.factor(hessian, landmarks.n_jobs)

    def _moments(self, h: Matrix) -> Matrix:
        """Return F' diag(h) F in float64, only its lower half valid; its digits must match those of F F'."""
        values, root = self.landmarks.values, self.landmarks.root.factor
        count, n_jobs = values.n_features, values.n_jobs
        moments = np.zeros((count, count))
        tell = values.passes.begin("preconditioner")
        for stop, K, mine in values.weighted_chunks(h):
            F = np.empty((len(K), count))

            def whiten(rows: slice, F: Matrix = F, K: Values = K, mine: Matrix = mine) -> None:
                F[rows] = root.solve(K[rows].T).T
                F[rows] *= np.sqrt(mine[rows])[:, None]

            def add(rows: slice, F: Matrix = F) -> None:
                moments[rows, : rows.stop] += F[:, rows].T @ F[:, : rows.stop]

            run_tiles(whiten, len(K), BLOCK, n_jobs)
            run_tiles(add, count, BLOCK, n_jobs)
            if tell is not None:
                tell(stop)
        return moments

    def __call__(self, R: Matrix) -> Matrix:
        G = self.landmarks.transposed(self.roots * R, "preconditioner")
        inner = self.factor.solve_transposed(self.factor.solve(G))
        return R - self.roots * self.landmarks.products(inner, "preconditioner")


class WideRidge(Newton):
    """Least squares on so many features that a matrix of their second moments does not fit in memory.

    Parameters
    ----------
    design : FeatureMatrix
    loss : Loss
        A quadratic loss, whose columns are separate problems.
    landmarks : LandmarkFeatures
        Features of a few landmarks, whose products are close to the products of the design, without an intercept.
    """

    name = "wide"
    design: FeatureMatrix

    def __init__(self, design: FeatureMatrix, loss: Loss, landmarks: LandmarkFeatures):
        super().__init__(design, loss)
        self.landmarks = landmarks
        self.dual: Matrix | None = None
        """The products C^1/2 rho of the last solution."""
        self._aim_at(loss)

    def for_loss(self, loss: Loss) -> Self:
        other = super().for_loss(loss)
        other._aim_at(loss)
        return other

    def _aim_at(self, loss: Loss) -> None:
        """Get the curvature of the rows and the right-hand sides from a loss."""
        design = self.design
        flat = np.zeros((design.n_rows, loss.n_columns))
        curvature = loss.curvature(flat).astype(np.float64)
        self.roots = np.sqrt(curvature)
        with np.errstate(divide="ignore", invalid="ignore"):
            goal = -loss.slope(flat) / self.roots
        self.goal = np.where(curvature > 0.0, goal, 0.0)
        self.mean_roots = np.sqrt(curvature.mean(axis=1))
        """The mean curvature, for one preconditioner of all columns."""

    def minimise(self, tol: float, max_iter: int, start: Matrix | None = None) -> Solution:
        """Minimise the objective to a relative tolerance of ``tol``, starting from the last solution of this solver.

        The coefficients ``start`` are ignored: they are no point of the dual problem.
        """
        with single_threaded_blas():  # our own threads run in parallel, so that bits do not depend on their number
            return self._descended(tol, STEPS_FOR_ONE * max_iter)

    def _descended(self, tol: float, most: int) -> Solution:
        self.expect([Work("preconditioner", wide_ridge_cost(self.design.n_rows, 0, 0))])
        solved = RowPreconditioner(self.landmarks, self.mean_roots)
        tiny = float(np.finfo(np.float64).tiny)
        border = solved(self.roots) if self.design.intercept else None
        rho, F, W, direction, energy, objectives = self._begun()
        while True:
            residual, offset = self._balanced(self.goal - rho - self.roots * F)
            values = self._objective(W, F, offset)
            objectives.append(float(values.sum()))
            self.design.passes.report.objective = objectives[-1]
            self.gaps.append(largest_share(0.5 * self.by_task(residual**2), values))
            done = len(objectives) - 1
            if self.gaps[-1] <= tol or done == most or self._in_vain():
                break
            self.foretell(done, most, tol)
            turned, following, lost = self._turned(residual, solved, border)
            share = np.where(lost, 0.0, following / np.maximum(energy, tiny)) if done else 0.0
            direction, energy = turned + share * direction, following
            self.expect([])
            weighted = self.roots * direction
            V = self.design.kept("row sums", self.design.transposed, weighted, "gradient")[: self.design.n_features]
            bent = self.design.kept("decision values", self._values, V).astype(np.float64)
            length = energy / np.maximum((direction * (direction + self.roots * bent)).sum(axis=0), tiny)
            if not np.isfinite(length).all():
                break  # no further progress is possible in this precision
            rho, F, W = rho + length * direction, F + length * bent, W + length * V
            self._keep(objectives, rho, F, W, direction, energy)
        gap, self.dual = self.gaps[-1], self.roots * rho
        if self.design.intercept:
            W = np.vstack([W, offset])
        converged = bool(gap <= max(tol, float(np.finfo(self.design.dtype).eps)))
        report = Report(converged, done, self.design.n_passes, tuple(objectives), min(gap, 1.0), self.name)
        return Solution(W, [], report)

    def _turned(
        self, residual: Matrix, solved: RowPreconditioner, border: Matrix | None
    ) -> tuple[Matrix, Matrix, NDArray[np.bool_]]:
        """Return preconditioned residuals, their products with the residuals, and the columns to be restarted.

        These are the columns where rounding has left a product that is not positive: kernel values in float32 do not
        resolve the inverse along directions of large eigenvalues. The residual itself is a descent direction.
        """
        turned = self._balancing(solved(residual), border)
        following = (residual * turned).sum(axis=0)
        lost = following <= 0.0
        if lost.any():
            turned = np.where(lost, residual, turned)
            following = np.where(lost, (residual**2).sum(axis=0), following)
        return turned, following, lost

    def _values(self, V: Matrix) -> Values:
        """Return Z V."""
        padded = np.vstack([V, np.zeros((1, V.shape[1]))]) if self.design.intercept else V
        return self.design.products(padded, "decision values")

    def _objective(self, W: Matrix, F: Matrix, offset: Matrix) -> Matrix:
        """Return the objective of every task."""
        return 0.5 * self.by_task(W**2) + self.loss.value(F + offset)

    def _balanced(self, residual: Matrix) -> tuple[Matrix, Matrix]:
        """Return residuals with the intercepts that minimise them, and these intercepts."""
        if not self.design.intercept:
            return residual, np.zeros(residual.shape[1])
        total = np.maximum((self.roots**2).sum(axis=0), float(np.finfo(np.float64).tiny))
        offset = (self.roots * residual).sum(axis=0) / total
        return residual - self.roots * offset, offset

    def _balancing(self, turned: Matrix, border: Matrix | None) -> Matrix:
        """Remove from preconditioned residuals the part that would keep coefficients of rows from adding up to 0."""
        if border is None:
            return turned
        total = np.maximum((self.roots * border).sum(axis=0), float(np.finfo(np.float64).tiny))
        return turned - border * ((self.roots * turned).sum(axis=0) / total)

    def _in_vain(self) -> bool:
        """Return whether the last steps have no longer reduced the gap, up to rounding."""
        eps = float(np.finfo(self.design.dtype).eps)
        return len(self.gaps) > STILL and self.gaps[-1] <= eps and self.gaps[-1] >= min(self.gaps[:-STILL])

    # -- what is to come, and a run that ends early --------------------------------------------------------------------

    @property
    def usual_steps(self) -> float:
        return USUAL_STEPS

    def works_of_step(self) -> list[Work]:
        return [Work("gradient", self.product_work), Work("decision values", self.product_work)]

    def _keep(self, objectives: list[float], *arrays: Matrix) -> None:
        checkpoint = self.design.passes.context.checkpoint
        if checkpoint is not None:
            numbers = np.array([float(self.design.n_passes)])
            kept = (*arrays, np.array(objectives), np.array(self.gaps), numbers)
            checkpoint.anew("iterate", kept)

    def carried(self) -> tuple[Values, ...]:
        assert self.dual is not None
        return np.array([self.design.n_passes], dtype=np.int64), self.dual

    def take_over(self, *carried: Values) -> None:
        numbers, self.dual = carried
        self.design.n_passes = int(numbers[0])

    def _begun(self) -> tuple[Matrix, Matrix, Matrix, Matrix, Matrix, list[float]]:
        """Return the state from which steps start or continue: coefficients of rows, decision values and so on."""
        n, k = self.goal.shape
        checkpoint = self.design.passes.context.checkpoint
        if checkpoint is None or "iterate" not in checkpoint.found:
            rho, F, W = self._started()
            return rho, F, W, np.zeros((n, k)), np.ones(k), []
        rho, F, W, direction, energy, objectives, gaps, numbers = checkpoint.found["iterate"]
        self.gaps, self.design.n_passes = gaps.tolist(), int(numbers[0])
        return rho, F, W, direction, energy, objectives.tolist()

    def _started(self) -> tuple[Matrix, Matrix, Matrix]:
        """The point of the dual problem closest to the last solution; 0 if there is none."""
        if self.dual is None:
            return (
                np.zeros_like(self.goal),
                np.zeros_like(self.goal),
                np.zeros((self.design.n_features, len(self.goal.T))),
            )
        with np.errstate(divide="ignore", invalid="ignore"):
            rho = np.where(self.roots > 0.0, self.dual / self.roots, 0.0)
        rho, _ = self._balanced(rho) if self.design.intercept else (rho, None)
        weighted = self.roots * rho
        W = self.design.kept("first row sums", self.design.transposed, weighted, "gradient")[: self.design.n_features]
        return rho, self.design.kept("first decision values", self._values, W).astype(np.float64), W
