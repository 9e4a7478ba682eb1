"""The minimum of a support vector machine with the squared hinge, by a primal-dual interior-point method.

It shares nothing with the solvers of the package, and needs some 20 steps whatever the weight of the loss.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

STEPS, TOL, INSIDE = 200, 1e-9, 0.99


def squared_hinge_bounds(Z: Matrix, signs: Matrix, C: float) -> tuple[float, float]:
    """Bounds from below and above of the minimum of ||w||^2 / 2 + C sum max(0, 1 - y (Z w + b))^2.

    With slacks xi and prices a of the constraints y (Z w + b) >= 1 - xi, the best slacks are a / (2 C), and the dual
    objective is sum a - sum a^2 / (4 C) - ||Z' (y a)||^2 / 2 if the prices of both classes add up to the same.
    """
    A = np.column_stack([Z, np.ones(len(Z))]) * signs[:, None]
    n, width = A.shape
    ridge = np.ones(width)
    ridge[-1] = 0.0
    w, prices, distances = np.zeros(width), np.ones(n), np.ones(n)
    for _ in range(STEPS):
        margins, pulled = A @ w, A.T @ prices
        above = 0.5 * (ridge * w) @ w + C * (np.maximum(0.0, 1.0 - margins) ** 2).sum()
        below = prices.sum() - (prices**2).sum() / (4.0 * C) - 0.5 * (ridge * pulled) @ pulled
        if abs(above - below) <= TOL * above and abs(pulled[-1]) <= 1e-6 * prices.sum():
            return below, above
        short, uphill = margins + prices / (2.0 * C) - distances - 1.0, ridge * w - pulled
        curvature = 1.0 / (0.5 / C + distances / prices)
        hessian = (A * curvature[:, None]).T @ A
        hessian[np.diag_indices(width)] += ridge + 1e-14 * np.trace(hessian) / width
        factor = scipy.linalg.cho_factor(hessian)

        product, goal = distances @ prices / n, np.zeros(n)
        for _ in range(2):  # a step to products of 0, and then one that makes up for what this neglects
            wanted = (goal - distances * prices) / prices - short
            dw = scipy.linalg.cho_solve(factor, A.T @ (curvature * wanted) - uphill)
            da = curvature * (wanted - A @ dw)
            ds = A @ dw + da / (2.0 * C) + short
            reached = (distances + longest(distances, ds) * ds) @ (prices + longest(prices, da) * da) / n
            goal = (reached / product) ** 3 * product - ds * da
        length = min(longest(distances, ds), longest(prices, da))
        w, prices, distances = w + length * dw, prices + length * da, distances + length * ds
    raise AssertionError("the interior-point method did not converge")


def longest(values: Matrix, change: Matrix) -> float:
    """The share of a change, at most 1, after which all values are still positive."""
    falls = change < 0.0
    return min(1.0, float(np.min(-INSIDE * values[falls] / change[falls], initial=1.0)))
