"""Exact kernel ridge regression of one fit: every row of positive weight has a coefficient."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...maps import FeatureMap
from ..argument_types import PenaltyArgument
from ..left_out.gcv_check import GcvCheck
from ..passes.fit_passes import Passes
from ..solvers.ridge import RidgeEnd, best_of
from ..solvers.row_ridge import RowRidge, RowSolution
from .exact_rows import ExactRows
from .placement import placement_of

Matrix = NDArray[np.float64]


class TriedAlphas(NamedTuple):
    """Alphas, their scores, one column per target, and their least objectives."""

    alphas: Matrix
    scores: Matrix
    objectives: Matrix


class ExactRidge(NamedTuple):
    """The solution on all rows of positive weight."""

    map: FeatureMap
    numbers: NDArray[np.int64]
    solution: RowSolution
    alpha: float
    tried: TriedAlphas | None
    """The values among which alpha was chosen."""
    end: RidgeEnd
    spread: Matrix
    """The sum of squares of every target."""


def exact_ridge(
    rows: ExactRows, targets: Matrix, weight: Matrix, alpha: PenaltyArgument, intercept: bool, left_out: bool
) -> ExactRidge:
    """Return ridge regression on the kernel matrix of all rows.

    Parameters
    ----------
    rows : ExactRows
        The rows.
    targets : ndarray of shape (n_rows, n_targets)
        The targets.
    weight : ndarray of shape (n_rows,)
        The weights. Rows of weight 0 have no coefficient.
    alpha : float, sequence of floats, "gcv" or "loo"
        The penalty. The best of several is chosen by leaving out rows or by generalised cross-validation.
    intercept : bool
        Whether there is an intercept.
    left_out : bool
        Whether left-out rows are needed afterwards.

    Returns
    -------
    ExactRidge
        The solution.
    """
    numbers = np.flatnonzero(weight > 0.0)
    passes, map = rows.rows.passes, rows.map_at(numbers)
    gram = placement_of(passes).kernel_matrix(rows, map)
    passes.report.done("kernel matrix")
    ridge = RowRidge(gram, targets[numbers], weight[numbers], intercept)
    tried = left_out_all = None
    if isinstance(alpha, str) or np.ndim(alpha):
        alphas = ridge.alphas() if isinstance(alpha, str) else np.asarray(alpha, dtype=np.float64)
        by_rows = isinstance(alpha, str) and alpha == "loo"
        errors = np.stack([kept_scores(passes, ridge, place, one) for place, one in enumerate(alphas.tolist())])
        scores, objectives = errors[:, 0 if by_rows else 1], errors[:, 2].sum(axis=1)
        if not np.isfinite(scores).all(axis=1).any():
            raise ValueError("all values of alpha are too small for these rows, or the targets overflow: raise alpha")
        place = best_of(scores, ridge.spread())
        taken, tried = float(alphas[place]), TriedAlphas(alphas, scores, objectives)
        left_out_all = None if by_rows else errors[:, 0]
    else:
        taken = float(np.asarray(alpha))
    try:
        solution = ridge.solve(taken, left_out or left_out_all is not None)
    except np.linalg.LinAlgError:
        raise ValueError(
            f"alpha={taken:g} is too small for {len(numbers)} rows, some of which are equal or nearly equal: raise "
            "alpha"
        ) from None
    if tried is not None and left_out_all is not None:
        leverages, total = solution.leverages(taken, weight[numbers]), float(weight.sum())
        variance, mean = ridge.spread() / total, float(leverages.sum()) / total
        check = GcvCheck(left_out_all, tried.scores, variance, len(numbers), mean, float(leverages.max()))
        check.warn("alpha", tried.alphas, place)
    return ExactRidge(map, numbers, solution, taken, tried, ridge.end(taken, solution), ridge.spread())


def kept_scores(passes: Passes, ridge: RowRidge, place: int, alpha: float) -> Matrix:
    """Return the scores of an alpha, unless they are known already."""

    def make() -> tuple[Matrix]:
        tell = passes.begin("alphas")
        found = ridge.scores(alpha)
        if tell is not None:
            tell(len(ridge.gram))
        return (found,)

    checkpoint = passes.context.checkpoint
    return (make() if checkpoint is None else checkpoint.kept(f"alpha {place}", make))[0]
