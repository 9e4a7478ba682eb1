r"""The exact kernel machine of the squared hinge, on rows whose kernel matrix is in memory.

A machine :math:`f = K \alpha + b` minimises :math:`\alpha^\top K \alpha / 2 + \sum_i c_i \max(0, 1 - y_i f_i)^2`. Rows
beyond the margin have no coefficient; on the others, the *active* rows, the optimum solves the linear system
:math:`(K_{aa} + \mathrm{diag}(1 / 2 c_a))\,\alpha_a = y_a - b`, with coefficients that add up to 0 if there is an
intercept. Each Newton step solves it for the currently active rows (Chapelle, Training a support vector machine in the
primal, 2007), and the last step has the correct ones, usually after some ten steps. Classes are independent of each
other, and each has few active rows, so a factor of its system costs little.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from ..._tiles import TILE, run_tiles, single_threaded_blas
from ..estimates.time_forecast import product_work
from ..features.chosen_rows import ChosenRows
from .newton import zero_between

Matrix = NDArray[np.float64]
Values = NDArray[Any]
RowNumbers = NDArray[np.int64]

USUAL_STEPS = 10.0
"""The number of steps that typical problems took."""


class MarginSolution(NamedTuple):
    """Coefficients and intercepts, one column per class, decision values, and how far each is from its optimum."""

    alpha: Matrix
    offset: Matrix
    values: Matrix
    objectives: Matrix
    gaps: Matrix
    """An upper bound of the distance from the minimum, relative to the objective, by duality."""
    n_iter: int
    operations: float
    """The operations of its steps, as :func:`step_cost` counts them."""


def step_cost(n_rows: int, active: NDArray[Any]) -> float:
    """Return the operations of a step: factors for the active rows, and products with the kernel matrix."""
    factors = float((np.asarray(active, dtype=np.float64) ** 3).sum()) / 3.0
    return factors + product_work(n_rows, n_rows, len(active))


class Margins(NamedTuple):
    """Classes against the rest, on rows whose kernel matrix is in memory.

    Parameters
    ----------
    gram : ndarray of shape (n_rows, n_rows)
        Kernel values of the rows.
    signs : ndarray of shape (n_rows, n_columns)
        1 for rows of the class and -1 for others.
    weight : ndarray of shape (n_rows,)
        The weights of the rows, including the constant C.
    intercept : bool
        Whether there is an intercept.
    n_jobs : int or None
        The number of threads.
    """

    gram: Values
    signs: Matrix
    weight: Matrix
    intercept: bool
    n_jobs: int | None

    def minimise(
        self, alpha: Matrix, offset: Matrix, is_active: NDArray[np.bool_] | None, tol: float, max_iter: int
    ) -> MarginSolution:
        """Return the coefficients that minimise the objective.

        Parameters
        ----------
        alpha : ndarray of shape (n_rows, n_columns)
            The initial coefficients.
        offset : ndarray of shape (n_columns,)
            The initial intercepts.
        is_active : ndarray of shape (n_rows, n_columns) or None
            Rows that are active in the first step. None means those that are active at the start.
        tol : float
            The gap at which a class is finished.
        max_iter : int
            The largest number of steps.

        Returns
        -------
        MarginSolution
            The solution.
        """
        f, count = self.products(alpha), alpha.shape[1]
        objectives, gaps = np.zeros(count), np.full(count, np.inf)
        before, operations = np.zeros_like(self.signs, dtype=bool), 0.0
        for step in range(max_iter + 1):
            excess = np.maximum(1.0 - self.signs * (f + offset), 0.0)
            objectives = 0.5 * (alpha * f).sum(axis=0) + self.weight @ excess**2
            active = (excess > 0.0) & (self.weight > 0.0)[:, None]
            settled = (active == before).all(axis=0)
            if settled.any() or step == max_iter:
                # The slopes of the loss are a point of the dual problem, which bounds the distance of the coefficients.
                apart = alpha - 2.0 * self.weight[:, None] * self.signs * excess
                bound = 0.5 * (apart * self.products(apart)).sum(axis=0)
                gaps = bound / np.maximum(objectives, np.finfo(np.float64).tiny)
            is_open = gaps > tol
            if step == max_iter or not is_open.any():
                break
            before = active
            if step == 0 and is_active is not None:
                active = is_active & (self.weight > 0.0)[:, None]
            operations += step_cost(len(self.gram), np.count_nonzero(active[:, is_open], axis=0))
            way, rise = np.zeros_like(alpha), np.zeros(count)
            for column in np.flatnonzero(is_open).tolist():
                rows = np.flatnonzero(active[:, column])
                goal, rise[column] = self.solved(rows, column, offset[column])
                way[:, column] -= alpha[:, column]
                way[rows, column] += goal
            ahead = self.products(way)
            length = self.lengths(alpha, f + offset, way, ahead, rise)
            alpha, f, offset = alpha + length * way, f + length * ahead, offset + length * rise
        return MarginSolution(alpha, offset, f + offset, objectives, gaps, step, operations)

    def products(self, alpha: Matrix) -> Matrix:
        """Return K alpha."""
        columns = np.ascontiguousarray(alpha.T, dtype=self.gram.dtype)
        found = np.empty(alpha.shape)

        def work(rows: slice) -> None:
            found[rows] = ChosenRows(self.gram, np.arange(rows.start, rows.stop)).times(columns)

        run_tiles(work, len(self.gram), TILE, self.n_jobs)
        return found

    def solved(self, rows: RowNumbers, column: int, offset: float) -> tuple[Matrix, float]:
        """Return the best coefficients if these rows are the active ones, and the change of the intercept."""
        if len(rows) == 0:
            return np.zeros(0), 0.0
        system = self.gram[np.ix_(rows, rows)]
        system[np.diag_indices(len(rows))] += (0.5 / self.weight[rows]).astype(system.dtype)
        # With S u = y - b and S v = 1, u - r v adds up to 0 for the rise r = sum u / sum v of the intercept.
        targets = np.column_stack([self.signs[rows, column] - offset, np.ones(len(rows))])
        with single_threaded_blas():
            try:
                factor = scipy.linalg.cho_factor(system.T, lower=True, overwrite_a=True, check_finite=False)
            except np.linalg.LinAlgError:
                raise ValueError(
                    f"the kernel matrix of {len(rows)} rows is not positive definite in {system.dtype}, although "
                    "0.5 / C is added to its diagonal: lower C, or use rows in float64"
                ) from None
            u, v = scipy.linalg.cho_solve(factor, targets.astype(system.dtype), check_finite=False).T.astype(np.float64)
        if not self.intercept:
            return u, 0.0
        rise = float(u.sum() / v.sum())
        return u - rise * v, rise

    def lengths(self, alpha: Matrix, values: Matrix, way: Matrix, ahead: Matrix, rise: Matrix) -> Matrix:
        """Return the step length of every class: to a slope of 0 of its objective, or to the end of the step."""
        fixed, growing, change = (alpha * ahead).sum(axis=0), (way * ahead).sum(axis=0), ahead + rise
        weighted = 2.0 * self.weight[:, None] * self.signs * change

        def slope(t: Matrix) -> Matrix:
            excess = np.maximum(1.0 - self.signs * (values + t * change), 0.0)
            return fixed + t * growing - (weighted * excess).sum(axis=0)

        low, high = np.zeros(alpha.shape[1]), np.ones(alpha.shape[1])
        below, above = slope(low), slope(high)
        if (above <= 0.0).all():
            return high
        found = zero_between(slope, low, below, high, above, np.zeros_like(low), 1e-6 * np.abs(below))
        return np.where(above <= 0.0, high, found)
