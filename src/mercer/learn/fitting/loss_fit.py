"""Minimising the loss of a linear model on the features of all rows, for classifiers and regressors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ..._caller import warn_caller
from ..._tiles import single_threaded_blas
from ...maps import Nystrom
from ..estimates.memory_estimates import Extent, check_after, fit_memory, room_for_features
from ..features.design import Design
from ..features.feature_matrix import FeatureMatrix, HeldFeatures
from ..features.prepared_rows import PreparedRows
from ..left_out.decision_values import coordinates
from ..losses import Loss, SmoothedLoss
from ..protocols import LinearMachine
from ..solvers.choice import expected_cost, has_landmark_values, landmark_cost, works_wide
from ..solvers.conjugate_gradients import pass_cost, solver_for
from ..solvers.landmarks import LandmarkFeatures
from ..solvers.liblinear import check_copies
from ..solvers.newton import Newton, Report, Solution
from ..solvers.wide_newton import SampledFeatures
from ..solvers.wide_ridge import landmark_count
from .landmark_fit import LandmarkFit
from .placement import placement_of

Matrix = NDArray[np.float64]

WIDEST = 0.3
"""The width over which corners are smoothed at first, in units of the targets."""
SHARPER = 5.0
"""The factor by which the smoothing becomes narrower from stage to stage."""
NARROWEST = 30.0
"""The smallest width, in square roots of the rounding error; below it, slopes near a corner are only rounding."""
FIRST, SHARE, REST = 0.05, 0.1, 0.3
"""The tolerance of the first stage; those of later stages as a share of the previous gap and of the final tolerance."""
STAGES = 40
"""The largest number of stages."""
IN_VAIN = 3
"""The number of stages without a smaller gap after which the fit ends."""


def features_of_rows(model: LinearMachine, rows: PreparedRows, columns: int) -> FeatureMatrix:
    """Return the features of all rows, kept if they fit in memory, for ``columns`` columns of decision values."""
    width, itemsize = model.map_.n_components_, rows.dtype.itemsize
    intercept = bool(model.fit_intercept)
    extent = Extent(width, rows.n_rows, columns, itemsize, model.n_jobs)
    memory = rows.passes.context.memory
    needed = fit_memory(model, extent, memory)
    if model.holds_all_features:
        check_copies(extent, model.memory)
        return HeldFeatures.of(rows, model.features_of, width, intercept, model.n_jobs)
    check_after(model, extent, memory)
    place = placement_of(rows.passes)
    streamed = extent.features() > place.room(model, needed.work, memory)
    if streamed:
        design = place.streamed(rows, model.map_, intercept, model.n_jobs)
    else:
        held = place.held(rows, width, intercept, model.n_jobs)
        place.fill(held, rows, model.map_, slice(0, width))
        design = held.first(width)
    if works_wide(model, extent, memory):
        room = room_for_features(model, needed.work, memory) - (0 if streamed else extent.features())
        design.most_sample_bytes = room
        design.near = landmarks_near(model, rows, columns, room)
    return design


def features_of_few(design: Design) -> NDArray[Any]:
    """Return the features of all rows, which are few, or other features with the same products if memory is short."""
    if design.most_sample_bytes is None:
        return design.whole()
    assert isinstance(design, FeatureMatrix)
    make, shape = design.exactly(np.arange(design.n_rows)), (design.n_rows, design.n_features)
    with single_threaded_blas():
        return coordinates(SampledFeatures(make, shape, design.most_sample_bytes, design.n_jobs).gram())


def landmarks_near(
    model: LinearMachine, rows: PreparedRows, columns: int, most_bytes: float
) -> Callable[[], LandmarkFeatures] | None:
    """Return features of a few landmarks of the map's kernel, for ridge regression; None without kernel values."""
    map = model.map_
    few = Nystrom(map.kernel_, n_components=landmark_count(rows.n_rows, map.n_components_, columns))
    if model.loss != "squared" or not has_landmark_values(few):
        return None
    fit = LandmarkFit(rows, map.seed_, False, model.n_jobs, most_bytes)
    return cache(lambda: fit.chosen(few).design)


def minimised(
    model: LinearMachine, design: Design, loss: Loss, start: Matrix | None, advice: str
) -> tuple[Solution, Newton]:
    """Return the minimum, to the tolerance of the model, and its solver; issue a warning if it is not certain.

    ``advice`` says what would help.
    """
    tol, max_iter = float(model.tol), int(model.max_iter)
    if isinstance(loss, SmoothedLoss):
        solution, solver = Sharpening(design, loss, tol, max_iter).minimise()
    else:
        solver = solver_for(design, loss)
        solution = solver.minimise(tol, max_iter, start)
    warn_unless_converged(solution.report, advice)
    return solution._replace(report=counted(solution.report, design, [loss])), solver


def counted(report: Report, design: Design, losses: Sequence[Loss]) -> Report:
    """Return a report with the expected cost of solving these losses, and the actual cost of the passes."""
    passes = design.n_passes
    size = design.n_rows, design.n_features, losses[0].n_columns
    on_landmarks = isinstance(design, LandmarkFeatures)
    return report._replace(
        passes=passes,
        expected=sum(expected_cost(design, loss) for loss in losses),
        operations=landmark_cost(*size, passes) if on_landmarks else passes * pass_cost(*size),
    )


def warn_unless_converged(report: Report, advice: str) -> None:
    """Issue a warning if a solver has ended before its objective was close enough to the minimum."""
    if not report.converged:
        warn_caller(
            f"after {report.n_iter} steps the objective may be {report.gap:.1g} of itself above its minimum: {advice}",
            ConvergenceWarning,
        )


class Stage(NamedTuple):
    """The start of a stage: its coefficients, the prices and width of its smoothing, and what preceded it."""

    W: Matrix
    prices: NDArray[Any]
    width: float
    n_iter: int
    passes: int
    gaps: tuple[float, ...]
    objectives: tuple[float, ...]

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Return the arrays that a checkpoint keeps."""
        numbers = np.array([self.n_iter, self.passes], dtype=np.int64)
        return self.W, self.prices, np.array([self.width]), numbers, np.array(self.gaps), np.array(self.objectives)

    @classmethod
    def of(cls, arrays: tuple[NDArray[Any], ...]) -> Stage:
        """Restore the start of a stage from the arrays that a checkpoint has kept."""
        W, prices, width, numbers, gaps, objectives = arrays
        n_iter, passes = numbers.tolist()
        return cls(W, prices, float(width[0]), n_iter, passes, tuple(gaps.tolist()), tuple(objectives.tolist()))


class Sharpening:
    """Minimises a loss with corners by means of smooth losses that become sharper and sharper.

    A stage minimises the smoothed loss, starting from the coefficients and prices of the previous one. It ends the fit
    if the objective of the loss itself is certain to be within ``tol`` of its minimum. The bound is the gap of the
    smooth problem, plus the difference between the loss itself and its dual at the prices.

    Parameters
    ----------
    design : Design
        The features.
    loss : SmoothedLoss
        The loss.
    tol : float
        The gap at which it ends.
    max_iter : int
        The largest number of steps of one stage.
    """

    def __init__(self, design: Design, loss: SmoothedLoss, tol: float, max_iter: int):
        self.design, self.loss, self.tol, self.max_iter = design, loss, tol, max_iter
        self.eps = float(np.finfo(design.dtype).eps)
        self.checkpoint = design.passes.context.checkpoint

    def minimise(self, start: Matrix | None = None) -> tuple[Solution, Newton]:
        """Return the solution, whose report has the objective of the loss itself after every stage.

        ``start`` contains the coefficients of a similar problem. Its prices would not help: for rows that change sides
        they are so far off that they cost more stages than they save.
        """
        stage = self._first(start)
        while True:
            smooth = self.loss.about(stage.prices, stage.width)
            solver = solver_for(self.design, smooth)
            inner = max(REST * self.tol, min(FIRST, SHARE * min(stage.gaps, default=1.0)))
            solution = solver.minimise(inner, self.max_iter, stage.W)
            W = solution.W
            F = self.design.kept("stage values", self.design.products, W, "decision values")
            penalty = 0.5 * (W[: self.design.n_features] ** 2).sum(axis=0)
            values, smoothed = penalty + smooth.exact_value(F), penalty + smooth.value(F)
            bound = solution.report.gap * np.where(smoothed > 0.0, smoothed, 1.0) + smooth.excess(F)
            gap = float((bound / np.where(values > 0.0, values, 1.0)).max())
            gaps, objectives = (*stage.gaps, gap), (*stage.objectives, float(values.sum()))
            n_iter = stage.n_iter + solution.report.n_iter
            if gap <= max(self.tol, self.eps) or self._in_vain(gaps):
                break
            width = max(stage.width / SHARPER, NARROWEST * float(np.sqrt(self.eps)))
            stage = Stage(W, smooth.price(F), width, n_iter, self.design.n_passes, gaps, objectives)
            if self.checkpoint is not None:
                self.checkpoint.begin_stage(stage.arrays())
        converged = gap <= max(self.tol, self.eps)
        report = Report(converged, n_iter, self.design.n_passes, objectives, min(gap, 1.0), solution.report.method)
        return solution._replace(report=report), solver

    def _first(self, start: Matrix | None) -> Stage:
        held = None if self.checkpoint is None else self.checkpoint.stage
        if held is not None:
            stage = Stage.of(held)
            self.design.n_passes = stage.passes
            return stage
        shape = self.design.n_rows, self.loss.n_columns
        W = np.zeros((self.design.width, self.loss.n_columns)) if start is None else start
        return Stage(W, np.zeros(shape, dtype=self.design.dtype), WIDEST, 0, 0, (), ())

    @staticmethod
    def _in_vain(gaps: tuple[float, ...]) -> bool:
        """Return whether the last stages have not reduced the gap any further."""
        return len(gaps) >= STAGES or (len(gaps) > IN_VAIN and min(gaps[-IN_VAIN:]) >= min(gaps[:-IN_VAIN]))
