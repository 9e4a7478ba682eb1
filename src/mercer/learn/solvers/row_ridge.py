r"""Exact kernel ridge regression: a coefficient for every row, whose kernel matrix is in memory.

With weights s, :math:`f = K \beta + b` minimises :math:`\sum_i s_i (y_i - f_i)^2 / 2 + \alpha\,\beta^\top K \beta / 2`
if :math:`A \beta = y - b`, with :math:`A = K + \alpha\,\mathrm{diag}(1 / s)`, and the coefficients add up to 0 if there
is an intercept. They are :math:`\beta = P y`, where P is the inverse of A, restricted to vectors that add up to 0 if
there is an intercept. The error of a left-out row is :math:`\beta_i / P_{ii}`.

Any such coefficients are also a point of the dual problem, and the difference of the two objectives, :math:`\sum_i s_i
(y_i - b - (A \beta)_i)^2 / 2`, bounds the distance from the minimum.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..._tiles import run_tiles, single_threaded_blas, tiles
from .ridge import N_ALPHAS, WIDEST_RANGE, RidgeEnd
from .triangular import BLOCK, Triangular

Matrix = NDArray[np.float64]

POWER_STEPS = 8
"""The number of products with the kernel matrix to estimate its largest eigenvalue."""


class RowSolution(NamedTuple):
    """Coefficients, one column per target, intercepts, and the diagonal of P."""

    beta: Matrix
    offset: Matrix
    diagonal: Matrix | None

    def left_out(self) -> Matrix:
        """Return the errors of rows as if each had been left out with all of its weight, one column per target."""
        assert self.diagonal is not None
        with np.errstate(divide="ignore", invalid="ignore"):
            errors = self.beta / self.diagonal[:, None]
        return np.where(self.beta == 0.0, 0.0, errors)

    def leverages(self, alpha: float, weight: Matrix) -> Matrix:
        """The share of every row's own target in its prediction."""
        assert self.diagonal is not None
        return 1.0 - alpha * self.diagonal / weight


class Factor(Protocol):
    """A factor L with L L' = A."""

    def inverse_times(self, B: Matrix) -> Matrix:
        """Return A^-1 B."""
        ...

    def inverse_diagonal(self) -> Matrix:
        """Return the diagonal of A^-1."""
        ...


class KernelMatrix(Protocol):
    """The kernel matrix K of rows, as ridge regression uses it."""

    def __len__(self) -> int: ...

    def factor(self, added: Matrix) -> Factor:
        """Return the factor of K with this added to its diagonal; a LinAlgError if not positive definite."""
        ...

    def times(self, B: Matrix) -> Matrix:
        """Return K B."""
        ...


class HeldKernelMatrix:
    """A kernel matrix in memory.

    Parameters
    ----------
    gram : ndarray of shape (n_rows, n_rows)
        The kernel matrix in float64. Factors overwrite its lower half.
    n_jobs : int or None
    """

    def __init__(self, gram: Matrix, n_jobs: int | None):
        self.gram, self.n_jobs = gram, n_jobs
        self.values = np.diag(gram).copy()
        self._is_whole = True

    def __len__(self) -> int:
        return len(self.gram)

    def factor(self, added: Matrix) -> Triangular:
        """Return the factor of K with this added to its diagonal."""
        self._restore()
        self._is_whole = False
        self.gram[np.diag_indices_from(self.gram)] = self.values + added
        with single_threaded_blas():
            return Triangular.factor(self.gram, self.n_jobs)

    def _restore(self) -> None:
        """Restore the lower half of the kernel matrix from the upper half, which no factor overwrites.

        This is also done before the first factor, so that the bits of a solution do not depend on earlier ones.
        """

        def work(rows: slice) -> None:
            self.gram[rows, : rows.start] = self.gram[: rows.start, rows].T
            corner = np.triu(self.gram[rows, rows])
            self.gram[rows, rows] = corner + np.triu(corner, 1).T

        run_tiles(work, len(self.gram), BLOCK, self.n_jobs)

    def times(self, B: Matrix) -> Matrix:
        """Return K B, from the upper half of K if a factor has overwritten the lower half."""
        if self._is_whole:
            return self.gram @ B
        found = self.values[:, None] * B
        with single_threaded_blas():
            for rows in tiles(len(B), BLOCK):
                upper = np.triu(self.gram[rows, rows.start :], 1)
                found[rows] += upper @ B[rows.start :]
                found[rows.start :] += upper.T @ B[rows]
        return found


class RowRidge:
    """Ridge regression on rows whose kernel matrix is in memory.

    Parameters
    ----------
    gram : KernelMatrix
        The kernel matrix of the rows.
    targets : ndarray of shape (n_rows, n_targets)
    weight : ndarray of shape (n_rows,)
        The weights, all positive.
    intercept : bool
    """

    def __init__(self, gram: KernelMatrix, targets: Matrix, weight: Matrix, intercept: bool):
        self.gram, self.targets, self.weight = gram, targets, weight
        self.intercept = intercept

    def solve(self, alpha: float, diagonal: bool) -> RowSolution:
        """Return the solution for one alpha; ``diagonal`` requests the diagonal of P, which takes the same time again.

        Raises
        ------
        numpy.linalg.LinAlgError
            If alpha is too small to distinguish rows.
        """
        factor = self.gram.factor(alpha / self.weight)
        with single_threaded_blas():
            ones = np.ones((len(self.gram), 1))
            solved = factor.inverse_times(np.hstack([self.targets, ones]))
            beta, open_ = solved[:, :-1], solved[:, -1:]
            own = factor.inverse_diagonal() if diagonal else None
        if not self.intercept:
            return RowSolution(beta, np.zeros(beta.shape[1]), own)
        total = float(open_.sum())
        offset = beta.sum(axis=0) / total
        own = None if own is None else own - open_[:, 0] ** 2 / total
        return RowSolution(beta - open_ * offset, offset, own)

    def end(self, alpha: float, found: RowSolution) -> RidgeEnd:
        """Return the objective of the last solution, and its distance from the minimum."""
        fitted = self.gram.times(found.beta)
        errors = self.targets - found.offset - fitted
        apart = errors - alpha * found.beta / self.weight[:, None]
        penalty = alpha * float((found.beta * fitted).sum())
        objective = 0.5 * (float((self.weight @ errors**2).sum()) + penalty)
        return RidgeEnd.of(objective, 0.5 * float((self.weight @ apart**2).sum()))

    # -- several alphas ------------------------------------------------------------------------------------------------

    def alphas(self) -> Matrix:
        """The alphas to try if none are given; must be called before anything is solved."""
        root, vector = np.sqrt(self.weight), np.ones(len(self.gram))
        largest = 1.0
        with single_threaded_blas():
            for _ in range(POWER_STEPS):
                turned = root * self.gram.times((root * vector)[:, None])[:, 0]
                largest = float(np.linalg.norm(turned)) / float(np.linalg.norm(vector)) or 1.0
                vector = turned / largest
                if not vector.any():
                    break
        least = max(WIDEST_RANGE, (4.0 + len(self.gram)) * float(np.finfo(np.float64).eps))
        return largest * np.logspace(np.log10(min(least, 1.0)), 1.0, N_ALPHAS)

    def scores(self, alpha: float) -> Matrix:
        """Return the estimated mean squared errors of an alpha on new rows, one column per target.

        The first row is computed by leaving out rows, the second by generalised cross-validation. The third contains
        the smallest objective, which is alpha beta' y / 2 at the solution. All are infinite if alpha is too small for
        these rows.
        """
        nothing, total = np.full(self.targets.shape[1], np.inf), float(self.weight.sum())
        try:
            found = self.solve(alpha, diagonal=True)
        except np.linalg.LinAlgError:
            return np.stack([nothing, nothing, nothing])
        left = 1.0 - float(found.leverages(alpha, self.weight).sum()) / total
        residuals = alpha * found.beta / self.weight[:, None]
        expected = self.weight @ residuals**2 / total / left**2 if left > 0.0 else nothing
        objectives = 0.5 * alpha * (found.beta * (self.targets - found.offset)).sum(axis=0)
        return np.stack([self.weight @ found.left_out() ** 2 / total, expected, objectives])

    def spread(self) -> Matrix:
        """The sum of squares of every target, centred if there is an intercept."""
        centre = self.weight @ self.targets / self.weight.sum() if self.intercept else 0.0
        return self.weight @ (self.targets - centre) ** 2
