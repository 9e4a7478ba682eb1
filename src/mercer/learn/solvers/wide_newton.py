r"""Linear models on so many features that a matrix of their second moments does not fit in memory.

No D x D matrix is computed. Newton's steps are found by conjugate gradients, for all classes at once, on features that
are computed again in every pass if they are not kept. A sample of s rows, with features S and the curvature C that its
rows represent, preconditions the steps by :math:`P = I + S^\top C S`, which is close to the Hessian in the directions
of large curvature. Only the kernel matrix of the sample is factored:

.. math:: P^{-1} r = r - S^\top C^{1/2} M^{-1} C^{1/2} S\, r \quad\text{with}\quad
          M = I + C^{1/2} S S^\top C^{1/2}

If the curvature is large, the difference is much smaller than its two terms. Therefore all of this is in float64,
whatever the precision of the rows; the sample is only a small share of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..._tiles import run_tiles, single_threaded_blas, sum_in_order, tiles
from ..estimates.time_forecast import DOUBLE, FEATURE_OPERATIONS, PRODUCT_COST, Work
from ..features.chosen_rows import ChosenRows
from ..features.feature_matrix import FeatureMatrix
from ..losses import Loss
from .newton import Matrix, Newton, Solution, Values
from .sampling import sampled
from .triangular import Triangular

GRAM_PASSES = 1.0
"""The largest cost of the sample's kernel matrix, in passes over all rows."""
BLOCK_BYTES, LEAST_BLOCK, LARGEST_BLOCK = 64 * 2**20, 8, 512
"""The number of features of the sample that a thread computes at a time, and the limits for its number of rows."""
LEAST_BLOCKS = 4
"""The smallest number of blocks that are multiplied with all others at once."""
INNER_STEPS = 12
"""The number of conjugate gradient steps per Newton step, half of the maximum: active rows change before more would pay
off."""
QUADRATIC_STEPS = 60
QUADRATIC_SHARE, LATER_FORCING = 0.005, 0.1
"""The energy of a quadratic loss that its step may leave, as a share of the tolerance.

If that was not enough, another step has to reduce it by this factor only.
"""
EVEN = 0.1
"""The least curvature of a row of the sample, as a share of the mean, since rows become active from step to step."""
SAFETY = 2.0
"""The largest factor by which the preconditioner is assumed to overestimate the curvature, in the estimate of a
distance."""


def sample_size(n_rows: int, n_columns: int) -> int:
    """Return the number of sample rows, whose products with each other take no longer than a pass over all rows."""
    pass_work = n_rows * (FEATURE_OPERATIONS + 4.0 * PRODUCT_COST * n_columns)
    return min(n_rows, max(1, round(math.sqrt(GRAM_PASSES * pass_work / DOUBLE))))


def block_rows(width: int) -> int:
    """Return the number of sample rows whose features a thread computes at a time; it depends only on the width."""
    return max(LEAST_BLOCK, min(LARGEST_BLOCK, BLOCK_BYTES // (8 * width)))


class SampledFeatures:
    """The features S of a sample of rows in float64, kept if they fit in memory, and otherwise computed again.

    Parameters
    ----------
    make : callable
        Returns the features of some rows of the sample.
    shape : tuple of int
        The number of rows of the sample, and of features.
    most_bytes : float
        The memory that they may take.
    n_jobs : int or None
        The number of threads.
    """

    def __init__(self, make: Callable[[slice], Matrix], shape: tuple[int, int], most_bytes: float, n_jobs: int | None):
        self.n_rows, self.width = shape
        self.n_jobs = n_jobs
        self.block = block_rows(self.width)
        self._make = make
        room = int(most_bytes // (8 * self.width * self.block))
        self.panel = self.block * max(room, LEAST_BLOCKS)
        """The number of rows whose features are in memory at once."""
        self._held: Matrix | None = None
        if self.n_rows <= self.panel:
            self._held = self._made(slice(0, self.n_rows))

    def features(self, rows: slice) -> Matrix:
        """Return the features of some rows."""
        return self._make(rows) if self._held is None else self._held[rows]

    def _made(self, panel: slice) -> Matrix:
        Z = np.empty((panel.stop - panel.start, self.width))

        def work(rows: slice) -> None:
            Z[rows] = self._make(slice(panel.start + rows.start, panel.start + rows.stop))

        run_tiles(work, len(Z), self.block, self.n_jobs)
        return Z

    def gram(self) -> Matrix:
        """Return S S', of which only the lower half is valid."""
        K = np.zeros((self.n_rows, self.n_rows))
        for panel in tiles(self.n_rows, self.panel):
            Z = self._made(panel) if self._held is None else self._held[panel]

            def work(rows: slice, panel: slice = panel, Z: Matrix = Z) -> None:
                there = slice(panel.start + rows.start, panel.start + rows.stop)
                K[there, panel] = (Z[rows] if rows.start < len(Z) else self.features(there)) @ Z.T

            run_tiles(work, self.n_rows - panel.start, self.block, self.n_jobs)
        return K

    def products(self, W: Matrix) -> Matrix:
        """Return S W."""
        F, columns = np.empty((self.n_rows, W.shape[1])), np.ascontiguousarray(W.T)

        def work(rows: slice) -> None:
            F[rows] = ChosenRows.all(self.features(rows)).times(columns)

        run_tiles(work, self.n_rows, self.block, self.n_jobs)
        return F

    def transposed(self, R: Matrix) -> Matrix:
        """Return S' R."""

        def work(rows: slice) -> tuple[Matrix]:
            sums = np.zeros((R.shape[1], self.width))
            ChosenRows.all(self.features(rows)).add_to(sums, R[rows])
            return (sums,)

        blocks = tiles(self.n_rows, self.block)
        return sum_in_order(work, blocks, self.n_jobs, 8 * self.width * R.shape[1])[0].T


class WideNewton(Newton):
    """Newton's method for so many features that a matrix of their second moments does not fit in memory.

    It stops by the bound of Newton's method on features, since the Newton decrement cannot be trusted here: where few
    rows have curvature, the preconditioner overestimates it, and hides what is left of the gradient. If the loss is
    quadratic, its curvature is known everywhere, and the norm of the gradient given by the preconditioner is enough.

    Parameters
    ----------
    design : FeatureMatrix
    loss : Loss
    most_bytes : float
        The memory that the features of the sample may take.
    """

    name = "wide"
    design: FeatureMatrix
    forcing = 0.3  # whole steps with the wrong active rows gain little

    def __init__(self, design: FeatureMatrix, loss: Loss, most_bytes: float):
        super().__init__(design, loss)
        self.most_bytes = most_bytes
        self.rows = sampled(design.n_rows, sample_size(design.n_rows, loss.n_columns))
        self.sample: SampledFeatures | None = None
        self.gram: Matrix | None = None
        self.roots: NDArray[np.float64] | None = None
        """The square roots of the curvature that rows of the sample represent."""
        self.factor_of_sample: Triangular | None = None
        self.border: Matrix | None = None
        """M^-1 C^1/2 1, by which the intercept enters."""

    def minimise(self, tol: float, max_iter: int, start: Matrix | None = None) -> Solution:
        if self.loss.is_quadratic:  # a single step suffices if it is accurate
            self.forcing = math.sqrt(QUADRATIC_SHARE * min(max(tol, float(np.finfo(self.design.dtype).eps)), 1.0))
        with single_threaded_blas():  # our own threads run in parallel, so that bits do not depend on their number
            return super().minimise(tol, max_iter, start)

    def after(self, loss: Loss) -> Self:
        other = super().after(loss)
        other.roots = other.factor_of_sample = other.border = None  # the kernel matrix of the sample stays
        return other

    def step(self, F: Values, gradient: Matrix, reach: Matrix) -> Matrix:
        step = super().step(F, gradient, reach)
        if self.loss.is_quadratic:
            self.forcing = LATER_FORCING
        return step

    # -- the preconditioner --------------------------------------------------------------------------------------------

    def refresh(self, F: Values) -> tuple[bool, int]:
        design = self.design
        if self.sample is None or self.gram is None:
            shape = len(self.rows), design.n_features
            self.sample = SampledFeatures(design.exactly(self.rows), shape, self.most_bytes, design.n_jobs)
            self.gram = self.sample.gram()
        mine = self.loss.curvature(F)[self.rows].mean(axis=1, dtype=np.float64)
        curvature = (mine + EVEN * mine.mean()) * (design.n_rows / len(self.rows) / (1.0 + EVEN))
        roots = np.sqrt(np.maximum(curvature, float(np.finfo(np.float32).tiny)))
        if self.roots is None or not np.array_equal(roots, self.roots):
            self._precondition_by(roots)
        return False, QUADRATIC_STEPS if self.loss.is_quadratic else INNER_STEPS

    def _precondition_by(self, roots: NDArray[np.float64]) -> None:
        assert self.gram is not None
        self.factor_of_sample = self.border = None  # frees memory for the next one
        M = self.gram * roots[:, None]
        M *= roots
        M[np.diag_indices_from(M)] += 1.0
        self.roots, self.factor_of_sample = roots, Triangular.factor(M, self.design.n_jobs)
        self.border = self._solved(roots[:, None])

    def _solved(self, B: Matrix) -> Matrix:
        """Return M^-1 B."""
        assert self.factor_of_sample is not None
        return self.factor_of_sample.inverse_times(B)

    def precondition(self, G: Matrix) -> Matrix:
        assert self.sample is not None
        assert self.roots is not None
        assert self.border is not None
        D, root = self.design.n_features, self.roots[:, None]
        inner = self._solved(root * self.sample.products(G[:D]))
        turned = np.empty_like(G)
        if self.design.intercept:
            # The Schur complement of the intercept, which is not regularised, is 1' C^1/2 M^-1 C^1/2 1.
            complement = float(self.roots @ self.border[:, 0]) + float(np.finfo(np.float64).tiny)
            turned[D] = (G[D] - self.roots @ inner) / complement
            inner += self.border * turned[D]
        np.subtract(G[:D], self.sample.transposed(root * inner), out=turned[:D])
        return self.centred(turned)

    # -- where it ends -------------------------------------------------------------------------------------------------

    def distance(self, gradient: Matrix) -> Matrix:
        bound = super().distance(gradient)
        if not self.loss.is_quadratic or self.factor_of_sample is None:
            return bound
        return np.minimum(bound, 0.5 * SAFETY * self.by_task(gradient * self.precondition(gradient)))

    def certified(
        self, W: Matrix, F: Values, gradient: Matrix, values: Matrix, tol: float
    ) -> tuple[Matrix, float, float]:
        if self.loss.is_quadratic:
            return W, self.gaps[-1], float(values.sum())  # for which the intercept is a coefficient like the others
        return super().certified(W, F, gradient, values, tol)

    # -- what is to come, and a run that ends early --------------------------------------------------------------------

    def factor_works(self) -> list[Work]:
        if self.gram is not None:
            return []
        return [Work("preconditioner", preconditioner_cost(self.design.n_features, len(self.rows)))]

    def state(self) -> tuple[Values, ...]:
        return np.array([self.design.n_passes]), np.zeros(0)

    def restore(self, numbers: Values, *different: Values) -> None:
        self.design.n_passes = int(numbers[0])
        if self.loss.is_quadratic:  # otherwise the preconditioner is computed again in every step
            self.forcing = LATER_FORCING
            self.refresh(np.zeros((self.design.n_rows, self.loss.n_columns), dtype=self.design.dtype))


def preconditioner_cost(width: int, sample: int) -> float:
    """Return the operations of the kernel matrix of a sample and of its factor."""
    return DOUBLE * (float(sample) ** 2 * width + float(sample) ** 3 / 3.0)


def wide_cost(n_rows: int, width: int, n_columns: int, passes: float) -> float:
    """Return the operations of ``passes`` passes, each of which computes the features again, and of the sample."""
    sample = sample_size(n_rows, n_columns)
    one = (FEATURE_OPERATIONS + 4.0 * PRODUCT_COST * n_columns) * width
    return passes * one * (n_rows + 2.0 * DOUBLE * sample) + preconditioner_cost(width, sample)
