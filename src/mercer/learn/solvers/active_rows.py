r"""The exact kernel machine of the squared hinge, on rows whose kernel matrix is held.

A machine :math:`f = K \alpha + b` minimises :math:`\alpha^\top K \alpha / 2 + \sum_i c_i \max(0, 1 - y_i f_i)^2`. Rows
beyond the margin have no coefficient; on the others, the *active* rows, the optimum solves the linear system
:math:`(K_{aa} + \mathrm{diag}(1 / 2 c_a))\,\alpha_a = y_a - b` with coefficients that add up to 0 where there is an
intercept. Each of Newton's steps solves it for the rows that are active now (Chapelle, Training a support vector
machine in the primal, 2007), and the last one has the right ones: usually after some ten steps. Classes are independent
of each other, and each has few active rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .newton import zero_between

Matrix = NDArray[np.float64]
Values = NDArray[Any]

RESIDUAL = 1e-5
"""What is left of the right-hand side when conjugate gradients end; less would be lost in the rounding of float32."""
MOST_PRODUCTS = 500


class Margins(NamedTuple):
    """One class against the rest, on rows whose kernel matrix is held.

    Parameters
    ----------
    gram : ndarray of shape (n_rows, n_rows)
        Kernel values of the rows.
    signs : ndarray of shape (n_rows,)
        1 for rows of the class and -1 for others.
    weight : ndarray of shape (n_rows,)
        What the loss of a row counts, the constant C included.
    intercept : bool
    """

    gram: Values
    signs: Matrix
    weight: Matrix
    intercept: bool

    def minimise(self, alpha: Matrix, offset: float, tol: float, max_iter: int) -> MarginSolution:
        """The coefficients of least objective, from these on."""
        f = self.product(alpha)
        active = np.zeros(0, dtype=np.int64)
        objective, gap = np.inf, np.inf
        for step in range(max_iter + 1):
            excess = np.maximum(1.0 - self.signs * (f + offset), 0.0)
            objective = 0.5 * float(alpha @ f) + float(self.weight @ excess**2)
            duals = 2.0 * self.weight * self.signs * excess
            before, active = active, np.flatnonzero(excess > 0.0)
            apart = alpha - duals
            if step == max_iter or np.array_equal(before, active):
                gap = 0.5 * float(apart @ self.product(apart)) / max(objective, np.finfo(np.float64).tiny)
                if step == max_iter or gap <= tol:
                    break
            goal, level = self.solved(active, alpha, offset)
            way, rise = goal - alpha, level - offset
            ahead = self.product(way)
            length = self.length(alpha, f, offset, way, ahead, rise)
            alpha, f, offset = alpha + length * way, f + length * ahead, offset + length * rise
        return MarginSolution(alpha, offset, f + offset, objective, gap, step)

    def product(self, alpha: Matrix) -> Matrix:
        """K alpha, from the columns that count."""
        used = np.flatnonzero(alpha)
        if len(used) > len(alpha) // 2:
            return (self.gram @ alpha.astype(self.gram.dtype)).astype(np.float64)
        # Rows of a symmetric matrix are its columns, and lie together.
        return (alpha[used].astype(self.gram.dtype) @ self.gram[used]).astype(np.float64)

    def solved(self, active: NDArray[np.int64], alpha: Matrix, offset: float) -> tuple[Matrix, float]:
        """The coefficients that are best if these rows are the active ones, and the intercept."""
        goal = np.zeros_like(alpha)
        if len(active) == 0:
            return goal, offset
        active = active[self.weight[active] > 0.0]
        corner = self.gram[np.ix_(active, active)]
        corner[np.diag_indices(len(active))] += (0.5 / self.weight[active]).astype(corner.dtype)
        ones = np.ones(len(active))
        if not self.intercept:
            goal[active] = conjugate_gradients(corner, self.signs[active][:, None], alpha[active][:, None])[:, 0]
            return goal, 0.0
        # With K u = y and K v = 1: alpha = u - b v adds up to 0 for b = sum u / sum v.
        targets = np.column_stack([self.signs[active] - offset, ones])
        first = np.column_stack([alpha[active], np.zeros_like(ones)])
        u, v = conjugate_gradients(corner, targets, first).T
        rise = float(u.sum() / v.sum())
        goal[active] = u - rise * v
        return goal, offset + rise

    def length(self, alpha: Matrix, f: Matrix, offset: float, way: Matrix, ahead: Matrix, rise: float) -> float:
        """How far to go: to where the slope of the objective is 0, no further than to the end of the step."""

        def slope(t: Matrix) -> Matrix:
            values = f + offset + t * (ahead + rise)
            excess = np.maximum(1.0 - self.signs * values, 0.0)
            penalty = float(alpha @ ahead) + float(t[0]) * float(way @ ahead)
            return np.array([penalty - 2.0 * float((self.weight * self.signs * excess) @ (ahead + rise))])

        low, high = np.zeros(1), np.ones(1)
        below, above = slope(low), slope(high)
        if above[0] <= 0.0:
            return 1.0
        return float(zero_between(slope, low, below, high, above, 1e-6 * np.abs(below))[0])


class MarginSolution(NamedTuple):
    """Coefficients, the intercept, decision values, and how far the objective is from the least one, relative to it."""

    alpha: Matrix
    offset: float
    values: Matrix
    objective: float
    gap: float
    n_iter: int


def conjugate_gradients(matrix: Values, targets: Matrix, start: Matrix) -> Matrix:
    """The solution of a positive definite system for several right-hand sides, from ``start`` on."""
    found = start.copy()
    residual = targets - (matrix @ start.astype(matrix.dtype)).astype(np.float64)
    direction, energy = residual, (residual**2).sum(axis=0)
    goal = RESIDUAL**2 * (targets**2).sum(axis=0)
    for _ in range(MOST_PRODUCTS):
        if (energy <= goal).all():
            break
        product = (matrix @ direction.astype(matrix.dtype)).astype(np.float64)
        length = energy / np.maximum((direction * product).sum(axis=0), np.finfo(np.float64).tiny)
        found, residual = found + length * direction, residual - length * product
        following = (residual**2).sum(axis=0)
        direction = residual + following / np.maximum(energy, np.finfo(np.float64).tiny) * direction
        energy = following
    return found
