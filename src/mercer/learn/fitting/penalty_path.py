"""One machine with several penalties, on features that are computed once.

The penalties go from the strongest to the weakest. Each fit starts with the coefficients and the preconditioner of the
previous one, so most take only a few steps. The score of each is its mean loss on

- left-out rows (``"loo"``): each row is left out by itself, by a Newton step from the coefficients of all rows, see
  :mod:`mercer.learn.left_out.decision_values`. Of more than 1,000 rows, a sample of 2,048 is left out in this way,
  which takes a factor of the Hessian of every class and penalty. On landmarks and wide features there is no such
  factor: of more than 1,000 rows one in ten, at most 4,096, are left out all at once, and a few steps from the
  coefficients of all rows bring the objective without them close to its minimum.
- held-out rows (``"holdout"``): one in five, by the seed of the map, takes no part in the fits of the path. Finally
  there is a fit to all rows with the chosen penalty, starting from its coefficients without them.

The smallest score is the best; of scores that differ by less than a millionth, the one with the strongest penalty wins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..._checks import check_choice, is_number
from ..._random import Stream
from ..._tiles import run_tiles, single_threaded_blas
from ..argument_types import PenaltyArgument
from ..features.chosen_rows import RowNumbers
from ..features.design import Design
from ..features.feature_matrix import FeatureMatrix
from ..left_out.calibration import KEPT, SAMPLE, SMALL
from ..left_out.decision_values import Curvature, left_out_each, slopes_and_curvatures, without
from ..losses import Loss, SmoothedLoss
from ..passes.checkpoint_state import Unkept
from ..solvers.conjugate_gradients import solver_for
from ..solvers.newton import NEGLIGIBLE, Newton, Report, Solution, Values
from .loss_fit import Sharpening, counted, features_of_few

Matrix = NDArray[np.float64]

LOO: Final = "loo"
HOLDOUT, GCV, EVIDENCE = "holdout", "gcv", "evidence"
STRENGTHS = tuple(np.logspace(-2.0, 3.0, 11).tolist())
"""Weights of the loss relative to ||w||^2 / 2, if penalties are not given."""
HELD_SHARE = 0.2
"""The share of rows that is held out."""
TOGETHER = 10
"""At most one row in this many is left out together with others."""
FORGOTTEN, FORGETTING_STEPS = 0.002, 5
"""The gap at which rows left out together count as forgotten, per share of all rows, and the number of steps."""
EQUAL = 1e-6
"""Scores whose relative difference is at most this value are equal."""
ROUNDED = 0.02
"""The largest rounding error of products relative to the Hessian of ||w||^2 / 2, which is 1; else float64 is used."""
BLOCK = 512
"""The number of rows that are processed at a time when each is left out by itself."""


class PenaltyPath(NamedTuple):
    """The results of fits with several penalties, from the strongest penalty to the weakest.

    Attributes
    ----------
    rule : str
        How scores are found: "loo", "holdout", "gcv" or "evidence".
    penalties : tuple of floats
        The values of C, or of alpha.
    scores : tuple of floats
        The mean loss on rows outside the training rows; the smallest is the best.
    objectives : tuple of floats
        The minimum of the objective for every penalty, in the units of the solver.
    n_iter : tuple of ints
        The number of steps of the solver.
    """

    rule: str
    penalties: tuple[float, ...]
    scores: tuple[float, ...]
    objectives: tuple[float, ...]
    n_iter: tuple[int, ...]


# -- arguments ---------------------------------------------------------------------------------------------------------


def is_several(penalty: PenaltyArgument) -> bool:
    """Return whether a penalty is to be chosen."""
    return not is_number(penalty)


def rule_of(penalty: PenaltyArgument) -> str:
    """Return the rule by which a penalty is chosen; leave-one-out if several penalties are given without a rule."""
    return penalty if isinstance(penalty, str) else LOO


def check_penalty(name: str, penalty: PenaltyArgument, rules: tuple[str, ...]) -> None:
    """Refuse a penalty that is not a positive finite number, several, or a rule."""
    if isinstance(penalty, str):
        check_choice(name, penalty, rules)
        return
    try:
        values = np.asarray(penalty, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.zeros((0, 0))
    given = not isinstance(penalty, bool) and values.ndim <= 1 and values.size > 0
    if not (given and np.isfinite(values).all() and (values > 0.0).all()):
        raise ValueError(f"{name} must be a positive finite number, several, or one of {rules}, found {penalty!r}")


def held_out(seed: int, first: int, count: int) -> NDArray[np.bool_]:
    """Return which of ``count`` rows, starting with number ``first``, are held out."""
    return Stream(seed).child(HOLDOUT).words(count, first) < np.uint64(int(HELD_SHARE * 2.0**64))


def check_both_sides(held: NDArray[np.bool_], weight: Matrix) -> None:
    """Refuse to hold out all rows of positive weight, or none of them."""
    if not ((weight[held] > 0.0).any() and (weight[~held] > 0.0).any()):
        raise ValueError(f"'holdout' leaves no rows to train on or none to score among {len(held)}; use 'loo'")


# -- the path ----------------------------------------------------------------------------------------------------------


class ChosenFit(NamedTuple):
    """The fit with the best penalty, its loss, a solver for similar problems, and the results of the path."""

    solution: Solution
    loss: Loss
    solver: Newton
    place: int
    scores: tuple[float, ...]
    objectives: tuple[float, ...]
    n_iter: tuple[int, ...]

    def path(self, rule: str, penalties: Sequence[float]) -> PenaltyPath:
        """Return the results of the path by penalty, given the penalties that belong to the strengths of the loss."""
        return PenaltyPath(rule, tuple(penalties), self.scores, self.objectives, self.n_iter)


class PathState(NamedTuple):
    """The progress of a path: the fits so far, the best of them, and the starting point of the next."""

    W: Matrix
    best: Matrix
    report: Report
    """Of the best."""
    place: int
    """Of the best."""
    scores: tuple[float, ...]
    objectives: tuple[float, ...]
    n_iter: tuple[int, ...]
    passes: int
    """The number of passes over the rows so far."""
    carried: tuple[Values, ...]
    """What the next solver reuses; nothing for a loss with corners, for which every stage has its own solver."""

    def arrays(self) -> tuple[Values, ...]:
        """Return the arrays that a checkpoint keeps."""
        report = self.report
        numbers = np.array([report.converged, report.n_iter, report.passes, self.place, self.passes], dtype=np.int64)
        method = np.frombuffer(report.method.encode(), dtype=np.uint8).astype(np.int64)
        told = np.array(report.objectives), np.array([report.gap]), numbers, method
        path = np.array(self.scores), np.array(self.objectives), np.array(self.n_iter, dtype=np.int64)
        return self.W, self.best, *told, *path, *self.carried

    @classmethod
    def of(cls, arrays: tuple[Values, ...]) -> PathState:
        """Restore the progress of a path from a checkpoint."""
        W, best, objectives, gap, numbers, method, scores, values, n_iter, *carried = arrays
        converged, steps, passes, place, so_far = numbers.tolist()
        name = bytes(method.astype(np.uint8)).decode()
        report = Report(bool(converged), steps, passes, tuple(objectives.tolist()), float(gap[0]), name)
        path = tuple(scores.tolist()), tuple(values.tolist()), tuple(n_iter.tolist())
        return cls(W, best, report, place, *path, so_far, tuple(carried))


class PathFit:
    """The fits of one loss with several penalties.

    Parameters
    ----------
    design : Design
        The features of all rows.
    loss : Loss
        The loss with weight 1 relative to ||w||^2 / 2.
    weight : ndarray of shape (n_rows,)
        The weights of the rows, without the weights of classes.
    seed : int
        The seed of the map, which determines the rows that are left out and held out.
    tol : float
        The tolerance of every fit.
    max_iter : int
        The largest number of steps of every fit.
    """

    def __init__(self, design: Design, loss: Loss, weight: Matrix, seed: int, tol: float, max_iter: int):
        self.design, self.loss, self.weight, self.seed = design, loss, weight, seed
        self.tol, self.max_iter = tol, max_iter

    def chosen(self, strengths: Sequence[float], rule: str) -> ChosenFit:
        """Return the fit with the best of these strengths of the loss, given in increasing order."""
        held = held_out(self.seed, 0, self.design.n_rows) if rule == HOLDOUT else None
        if held is not None:
            check_both_sides(held, self.weight)
        learned = self.loss if held is None else self.loss.scaled((~held).astype(np.float64))
        losses = [learned.scaled(strength) for strength in strengths]
        checkpoint = self.design.passes.context.checkpoint
        kept = None if checkpoint is None else checkpoint.settled_as("path")
        state = None if kept is None else PathState.of(kept)
        solver = None if state is None else self._solver_after(losses[len(state.scores) - 1], state)
        for loss in losses[0 if state is None else len(state.scores) :]:
            solution, solver = self._fitted(loss, state, solver)
            F = self.design.products(solution.W, "decision values")
            score = self._held_score(F, held) if held is not None else self._left_out_score(solution.W, F, solver)
            state = extended(state, solution, solver, score)
            if checkpoint is not None:
                checkpoint.settle("path", state.arrays())
        assert state is not None
        assert solver is not None
        loss = losses[state.place]
        if held is None:
            solution, solver = Solution(state.best, [], state.report), solver.after(loss)
        else:
            loss = self.loss.scaled(strengths[state.place])
            losses.append(loss)
            solution, solver = self._fitted(loss, state._replace(W=state.best), solver)
        solution = solution._replace(report=counted(solution.report, self.design, losses))
        return ChosenFit(solution, loss, solver, state.place, state.scores, state.objectives, state.n_iter)

    def _fitted(self, loss: Loss, state: PathState | None, before: Newton | None) -> tuple[Solution, Newton]:
        """Return one fit, which continues the path, and its solver."""
        start = None if state is None else state.W
        if isinstance(loss, SmoothedLoss):
            return Sharpening(self.design, loss, self.tol, self.max_iter).minimise(start)
        solver = solver_for(self.design, loss)
        if type(before) is type(solver):
            solver = before.after(loss)
        return solver.minimise(self.tol, self.max_iter, start), solver

    def _solver_after(self, loss: Loss, state: PathState) -> Newton:
        """Return the solver of the last fit of a resumed path, as far as the next fit needs it."""
        solver = solver_for(self.design, loss)
        if state.carried:
            solver.take_over(*state.carried)
        self.design.n_passes = state.passes
        return solver

    # -- scores --------------------------------------------------------------------------------------------------------

    def _held_score(self, F: Values, held: NDArray[np.bool_]) -> float:
        return self._mean_loss(F, np.flatnonzero(held))

    def _mean_loss(self, F: Values, rows: RowNumbers) -> float:
        """Return the loss of some rows, summed over columns."""
        chosen = np.zeros(len(F))
        chosen[rows] = 1.0 / float(self.weight[rows].sum())
        loss = self.loss.scaled(chosen)
        values = loss.exact_value(F) if isinstance(loss, SmoothedLoss) else loss.value(F)
        return float(values.sum())

    def _left_out_score(self, W: Matrix, F: Values, solver: Newton) -> float:
        """Return the mean loss of left-out rows."""
        design, few = self.design, self.design.n_rows <= SMALL
        if few:
            rows = np.flatnonzero(self.weight > 0.0)
            with single_threaded_blas():
                values = left_out_each(features_of_few(design), F, solver.loss, self._copies(), design.intercept)[rows]
        elif isinstance(design, FeatureMatrix) and design.most_sample_bytes is None:
            rows = self._sample(KEPT)
            values = self._each(design, F, solver.loss, rows)
        else:
            rows = self._sample(min(SAMPLE, design.n_rows // TOGETHER + 1))
            values = self._together(W, solver, rows)
        found = F.astype(np.float64)
        found[rows] = values
        return self._mean_loss(found, rows)

    def _copies(self) -> Matrix:
        """Return the part of a row's weight that is left out: one copy of a row that counts as several."""
        return 1.0 / np.maximum(self.weight, 1.0)

    def _sample(self, count: int) -> RowNumbers:
        """Return at most ``count`` of the rows with positive weight, in order."""
        rows = np.flatnonzero(self.weight > 0.0)
        words = Stream(self.seed).child("left out").words(len(self.weight), 0)[rows]
        return np.sort(rows[np.argsort(words, kind="stable")[:count]])

    def _each(self, design: FeatureMatrix, F: Values, loss: Loss, rows: RowNumbers) -> Matrix:
        """Return decision values of these rows, each left out by itself, from the Hessian of all rows."""
        slopes, curvatures, own = slopes_and_curvatures(loss, F)
        found, features = np.empty((len(rows), loss.n_columns)), design.exactly(rows)

        def work(one: slice) -> None:
            h = considerable(curvatures[:, one.start], design.dtype)
            hessian = Curvature.of(curved_chunks(design, h), design.n_features, design.intercept)
            for start in range(0, len(rows), BLOCK):
                some = slice(start, min(start + BLOCK, len(rows)))
                found[some, one.start] = hessian.influences(features(some))

        self.design.n_passes += loss.n_columns
        run_tiles(work, loss.n_columns, 1, design.n_jobs)
        return without(F[rows], slopes[rows], own[rows], found, self._copies()[rows])

    def _together(self, W: Matrix, solver: Newton, rows: RowNumbers) -> Matrix:
        """Return decision values of these rows, left out together, a few steps from the coefficients of all rows."""
        kept = np.ones(self.design.n_rows)
        kept[rows] = 0.0
        enough = max(self.tol, FORGOTTEN * len(rows) / self.design.n_rows)
        with unkept(self.design):
            forgotten = solver.for_loss(solver.loss.scaled(kept)).minimise(enough, FORGETTING_STEPS, W).W
            return self.design.products(forgotten, "decision values")[rows].astype(np.float64)


def curved_chunks(design: FeatureMatrix, h: Values) -> Iterator[tuple[Values, Values]]:
    """Yield the features of the rows with curvature, some at a time, with their curvature, in a reported pass."""
    tell = design.passes.begin("left-out rows")
    for stop, Z, some in design.weighted_chunks(h):
        yield Z, some
        if tell is not None:
            tell(stop)


def considerable(h: Matrix, dtype: DTypeLike) -> Values:
    """Return curvatures without those near 0, in the precision of the features if that is sufficient."""
    told = float(np.finfo(dtype).eps) * float(h.sum()) < ROUNDED
    return np.where(h > NEGLIGIBLE * h.mean(), h, 0.0).astype(dtype if told else np.float64)


def extended(state: PathState | None, solution: Solution, solver: Newton, score: float) -> PathState:
    """Return the path with one more fit and its score."""
    report, carried = solution.report, () if isinstance(solver.loss, SmoothedLoss) else solver.carried()
    if state is None:
        first = (score,), (report.objectives[-1],), (report.n_iter,)
        return PathState(solution.W, solution.W, report, 0, *first, solver.design.n_passes, carried)
    longer = state._replace(
        W=solution.W,
        scores=(*state.scores, score),
        objectives=(*state.objectives, report.objectives[-1]),
        n_iter=(*state.n_iter, report.n_iter),
        passes=solver.design.n_passes,
        carried=carried,
    )
    if score < (1.0 - EQUAL) * state.scores[state.place]:
        return longer._replace(best=solution.W, report=report, place=len(state.scores))
    return longer


@contextmanager
def unkept(design: Design) -> Iterator[None]:
    """Return a context whose checkpoint keeps nothing of passes that are quickly repeated."""
    passes = design.passes
    context = passes.context
    if context.checkpoint is not None:
        design.passes = passes.within(replace(context, checkpoint=Unkept(context.checkpoint)))
    try:
        yield
    finally:
        design.passes = passes
