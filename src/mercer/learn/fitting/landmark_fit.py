"""Fitting a machine on landmarks: which rows become landmarks, and their kernel values at all rows.

Landmarks chosen by a rule of :class:`mercer.Nystrom` do not depend on the targets. If the rule is left to the machine,
a quarter of the landmarks are random rows, on which a first machine is fitted; the others are drawn in proportion to
the slope of its loss, so that they lie where the first machine errs. The values of the first landmarks are reused.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ..._memory import check_room
from ..._random import Stream
from ...maps import FeatureMap
from ...maps.nystrom_parameters import restored
from ..estimates.memory_estimates import Extent, known_width
from ..features.feature_matrix import FeatureMatrix
from ..features.prepared_rows import PreparedRows
from ..losses import Loss
from ..passes.fit_passes import limit_of
from ..protocols import LinearMachine
from ..solvers.choice import WITH_CORNERS
from ..solvers.landmarks import ROUNDING, LandmarkFeatures, LandmarkNewton
from .placement import Placement, is_on_processor, placement_of

Matrix = NDArray[np.float64]

PILOT_SHARE = 4
"""One landmark in this many is a row drawn at random."""
LEAST_PILOT = 256
PILOT_TOL, PILOT_STEPS = 0.03, 20
"""The relative tolerance of the first machine, and its largest number of Newton steps."""
MEASURED = 256
"""The number of landmarks from whose kernel matrix the largest eigenvalue of the full one is estimated."""
EVEN = 0.01
"""The share of the mean slope that is added to the slope of every row, so that every row can be drawn."""


class LandmarkStart(NamedTuple):
    """The map of kernel values at the landmarks, their features for a solver, and coefficients to start from."""

    map: FeatureMap
    design: LandmarkFeatures
    start: Matrix | None


class LandmarkFit(NamedTuple):
    """The choice of landmarks and the computation of kernel values for one fit.

    Parameters
    ----------
    rows : PreparedRows
    seed : int
        The seed of the map.
    intercept : bool
    n_jobs : int or None
    most_bytes : float
        The memory that kernel values may take; if they take more, they are computed again in every pass.
    alpha : float
        The penalty relative to the total weight of the rows, for the squared loss; infinity for other losses.
    """

    rows: PreparedRows
    seed: int
    intercept: bool
    n_jobs: int | None
    most_bytes: float
    alpha: float = np.inf

    @classmethod
    def of(
        cls, model: LinearMachine, rows: PreparedRows, seed: int, columns: int, alpha: float = np.inf
    ) -> LandmarkFit:
        """Return the fit of a machine; kernel values are kept if they fit in memory, and landmarks must fit."""
        width, memory = min(known_width(model), rows.n_rows), rows.passes.context.memory
        extent = Extent(width, rows.n_rows, columns, rows.dtype.itemsize, model.n_jobs)
        work = extent.landmarks(model.loss in WITH_CORNERS)
        check_room(work, f"the kernel matrix of {width} landmarks and its factors", limit_of(rows.passes))
        most = placement_of(rows.passes).room(model, work, memory)
        return cls(rows, seed, bool(model.fit_intercept), model.n_jobs, most, alpha)

    def in_digits_for(self, map: FeatureMap) -> LandmarkFit:
        """Return the same fit, with kernel values in float64 if alpha is no larger than their float32 rounding errors.

        Steps use the factor of the landmarks' kernel matrix, whose diagonal is increased by ``ROUNDING`` times the
        precision of kernel values, and which multiplies their rounding errors by the inverse of its square root.
        """
        if not np.isfinite(self.alpha) or self.rows.dtype == np.float64:
            return self
        landmarks = restored(map.parameters_.landmarks, map.n_features_in_)[:MEASURED].astype(np.float64)
        gram = map.kernel_.gram(landmarks, landmarks)
        largest = float(np.linalg.norm(gram, 2)) / len(gram)
        if self.alpha > math.sqrt(float(np.finfo(self.rows.dtype).eps) / ROUNDING) * largest:
            return self
        return self._replace(rows=self.rows.in_float64())

    def chosen(self, asked: FeatureMap) -> LandmarkStart:
        """Return the start with the landmarks that the map, not yet fitted, chooses itself."""
        map = clone(asked).set_params(whiten=False).fit_rows(self.rows, self.seed)
        fit = self.in_digits_for(map)
        values = fit.kernel_values(map, fit.room(map, int(map.n_components_)))
        return LandmarkStart(map, fit.design(map, values), None)

    def grown(self, asked: FeatureMap, loss: Loss) -> LandmarkStart:
        """Return the start with landmarks where a first machine, on fewer of them, has the steepest loss.

        Landmarks that are given, such as every distinct row of a table with many repeats, are used as they are.
        """
        if not isinstance(asked.landmarks, str):
            return self.chosen(asked)
        whole = clone(asked).set_params(whiten=False)
        count = min(int(whole.n_components), self.rows.n_rows)
        first = max(count // PILOT_SHARE, LEAST_PILOT)
        if first >= count:
            return self.chosen(asked)
        pilot = clone(whole).set_params(n_components=first).fit_rows(self.rows, self.seed)
        whole.set_params(kernel=pilot.kernel_)  # so that the bandwidth is learned only once
        fit = self.in_digits_for(pilot)
        room, numbers = fit.room(pilot, count), pilot.parameters_.indices
        known, slopes = fit.piloted(pilot, fit.kernel_values(pilot, room), loss)
        further = self.drawn(slopes, numbers, count - first)
        rest = clone(whole).set_params(landmarks=further).fit_rows(self.rows, self.seed)
        whole.set_params(landmarks=np.concatenate([numbers, further])).fit_rows(self.rows, self.seed)
        values = fit.kernel_values(whole, None) if room is None else fit.kernel_values(rest, room, first)
        design = fit.design(whole, values)
        start = np.zeros((design.width, loss.n_columns))
        start[:first], start[count:] = known[:first], known[first:]
        return LandmarkStart(whole, design, design.root.weights(start))

    @property
    def place(self) -> Placement:
        """The device on which to compute."""
        return placement_of(self.rows.passes)

    def room(self, map: FeatureMap, count: int) -> Any:
        """Return memory for the kernel values of all rows at ``count`` landmarks, or None if they are streamed."""
        return self.place.held_values(self.rows, map.kernel_, count, self.intercept, self.n_jobs, self.most_bytes)

    def kernel_values(self, map: FeatureMap, room: Any, known: int = 0) -> FeatureMatrix:
        """Return the kernel values of all rows, streamed or kept in ``room``, where ``known`` columns exist already."""
        if room is None:
            return self.place.streamed(self.rows, map, self.intercept, self.n_jobs)
        count = known + int(map.n_components_)
        self.place.fill(room, self.rows, map, slice(known, count))
        return room.first(count)

    def design(self, map: FeatureMap, values: FeatureMatrix) -> LandmarkFeatures:
        """Return the features of a map of kernel values, for a solver."""
        design = self.place.landmark_features(map, values, self.n_jobs)
        held = float(values.n_rows) * values.n_features * values.dtype.itemsize
        if is_on_processor(self.place) and held < self.most_bytes:  # so that they are not computed again in every pass
            design.spare_bytes = self.most_bytes - held
        return design

    def piloted(self, map: FeatureMap, values: FeatureMatrix, loss: Loss) -> tuple[Matrix, NDArray[np.float64]]:
        """Return the coefficients of the first machine, and the size of the slope of its loss at every row."""

        def make() -> tuple[NDArray[Any], ...]:
            design = self.design(map, values)
            W = LandmarkNewton(design, loss).minimise(PILOT_TOL, PILOT_STEPS).W
            F = design.products(W, "decision values")
            return design.coefficients(W), np.abs(loss.slope(F)).sum(axis=1, dtype=np.float64)

        checkpoint = self.rows.passes.context.checkpoint
        coefficients, slopes = make() if checkpoint is None else checkpoint.settled("pilot", make)
        return coefficients, slopes

    def drawn(self, slopes: NDArray[np.float64], known: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        """Draw ``count`` further rows without repeats, with probabilities that grow with their slopes."""
        chances = slopes + EVEN * slopes.mean()
        if not chances.any():
            chances = np.ones_like(slopes)
        uniform = Stream(self.seed).child("landmarks by loss").uniforms((len(slopes),))
        with np.errstate(divide="ignore"):
            keys = np.log(uniform) / chances  # the largest keys are such a sample (Efraimidis and Spirakis)
        keys[known] = -np.inf
        return np.sort(np.argpartition(-keys, count - 1)[:count])
