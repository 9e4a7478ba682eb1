"""Fitting a machine on landmarks: which rows become landmarks, and their kernel values at all rows.

Landmarks that a rule of :class:`mercer.Nystrom` chooses do not know the targets. Where the rule is left to the machine,
a quarter of the landmarks are rows at random, on which a first machine is fitted; the others are drawn in proportion to
the slope of its loss, so that they lie where the first machine errs. The values of the first landmarks are used again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from .._random import Stream
from .._tiles import TILE, run_tiles, single_threaded_blas
from ..kernels import Kernel
from ..maps import FeatureMap, Nystrom
from ..maps.executor import features
from ..maps.nystrom_parameters import restored
from ..maps.row_checks import check_rows
from .feature_matrix import FeatureMatrix, HeldFeatures, StreamedFeatures
from .losses import Loss
from .prepared_rows import PreparedRows
from .solvers.landmarks import LandmarkFeatures, LandmarkNewton, LandmarkRoot
from .solvers.newton import Report

Matrix = NDArray[np.float64]

PILOT_SHARE = 4
"""One landmark in so many is a row at random."""
LEAST_PILOT = 256
PILOT_TOL = 0.03
"""How well the first machine is fitted, relative to its objective."""
EVEN = 0.1
"""The share of the mean slope that is added to that of every row, so that no row is out of the question."""


class LandmarkMachine(NamedTuple):
    """The map of kernel values at the landmarks, coefficients with the intercepts as the last row, and their report."""

    map: FeatureMap
    coefficients: Matrix
    report: Report


class LandmarkFit(NamedTuple):
    """How landmarks and kernel values are made for one fit.

    Parameters
    ----------
    rows : PreparedRows
    seed : int
        That of the map.
    intercept : bool
    n_jobs : int or None
    streamed : bool
        Whether kernel values are made again in every pass.
    """

    rows: PreparedRows
    seed: int
    intercept: bool
    n_jobs: int | None
    streamed: bool

    def fit(self, asked: Nystrom, grows: bool, loss: Loss, tol: float, max_iter: int) -> LandmarkMachine:
        """The machine of least loss.

        Parameters
        ----------
        asked : Nystrom
            The map that the machine asks for, not fitted.
        grows : bool
            Whether the rule for landmarks is left to the machine.
        loss : Loss
        tol : float
        max_iter : int
        """
        whole = clone(asked).set_params(whiten=False)
        count = min(int(whole.n_components), self.rows.n_rows)
        first = max(count // PILOT_SHARE, LEAST_PILOT)
        if not grows or first >= count:
            whole.fit_rows(self.rows, self.seed)
            return self.solved(whole, self.kernel_values(whole), loss, tol, max_iter, None)
        pilot = clone(whole).set_params(n_components=first).fit_rows(self.rows, self.seed)
        whole.set_params(kernel=pilot.kernel_)  # whose bandwidth is learned once
        pilot_values = self.kernel_values(pilot)
        start, slopes = self.piloted(pilot, pilot_values, loss, max_iter)
        numbers = pilot.parameters_.indices
        further = self.drawn(slopes, numbers, count - first)
        rest = clone(whole).set_params(landmarks=further).fit_rows(self.rows, self.seed)
        whole = whole.set_params(landmarks=np.concatenate([numbers, rest.parameters_.indices]))
        whole.fit_rows(self.rows, self.seed)
        values = self.kernel_values(whole, beside(pilot_values, rest))
        return self.solved(whole, values, loss, tol, max_iter, start)

    def kernel_values(self, map: FeatureMap, made: Callable[[Any, int], NDArray[Any]] | None = None) -> FeatureMatrix:
        """The kernel values of all rows, held or streamed; ``made`` makes them from what is known of some already."""
        arguments = int(map.n_components_), self.intercept, self.n_jobs
        if self.streamed:
            return StreamedFeatures(self.rows, values_of(map), *arguments)
        return HeldFeatures.of(self.rows, made or values_of(map), *arguments)

    def solved(
        self, map: FeatureMap, values: FeatureMatrix, loss: Loss, tol: float, max_iter: int, start: Matrix | None
    ) -> LandmarkMachine:
        """The machine on these landmarks; ``start`` has coefficients of the first of them."""
        with single_threaded_blas():  # beside our own threads, so that bits do not depend on their number
            design = LandmarkFeatures(values, self.root(map, values))
            if start is not None:
                A = np.zeros((values.width, loss.n_columns))
                known = len(start) - self.intercept
                A[:known], A[values.n_features :] = start[:known], start[known:]
                start = design.root.weights(A)
            solution = LandmarkNewton(design, loss).minimise(tol, max_iter, start)
            return LandmarkMachine(map, design.root.coefficients(solution.W), solution.report)

    def piloted(
        self, map: FeatureMap, values: FeatureMatrix, loss: Loss, max_iter: int
    ) -> tuple[Matrix, NDArray[np.float64]]:
        """Coefficients of the first machine, and the size of the slope of its loss at every row."""

        def make() -> tuple[NDArray[Any], ...]:
            found = self.solved(map, values, loss, PILOT_TOL, max_iter, None).coefficients
            F = values.products(found, "decision values")
            return found, np.abs(loss.slope(F)).sum(axis=1, dtype=np.float64)

        checkpoint = self.rows.passes.context.checkpoint
        coefficients, slopes = make() if checkpoint is None else checkpoint.settled("pilot", make)
        return coefficients, slopes

    def drawn(self, slopes: NDArray[np.float64], known: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        """So many further rows, without repeats, with probabilities that grow with their slopes."""
        chances = slopes + EVEN * slopes.mean()
        if not chances.any():
            chances = np.ones_like(slopes)
        uniform = Stream(self.seed).child("landmarks by loss").uniforms((len(slopes),))
        with np.errstate(divide="ignore"):
            keys = np.log(uniform) / chances  # the largest keys are such a sample (Efraimidis and Spirakis)
        keys[known] = -np.inf
        return np.sort(np.argpartition(-keys, count - 1)[:count])

    def root(self, map: FeatureMap, values: FeatureMatrix) -> LandmarkRoot:
        """The factor of the landmarks' kernel matrix."""
        kernel: Kernel = map.kernel_
        landmarks = restored(map.parameters_.landmarks, map.n_features_in_)
        gram, at_landmarks = np.empty((landmarks.shape[0],) * 2), kernel.single_core_gram_against(landmarks)

        def work(some: slice) -> None:
            gram[some] = at_landmarks(landmarks[some])

        run_tiles(work, len(gram), TILE, self.n_jobs)
        return LandmarkRoot(gram, float(np.finfo(values.dtype).eps), self.n_jobs)


def values_of(map: FeatureMap) -> Callable[[Any, int], NDArray[Any]]:
    """The features of prepared rows by a fitted map."""

    def values(X: Any, first: int) -> NDArray[Any]:
        check_rows(map.kernel_, X, first)
        return features(map.fitted_, X, 1, first)

    return values


def beside(known: FeatureMatrix, rest: FeatureMap) -> Callable[[Any, int], NDArray[Any]] | None:
    """Kernel values that are held already with those of further landmarks beside them."""
    if not isinstance(known, HeldFeatures):
        return None
    held, others = known.Z, values_of(rest)
    return lambda X, first: np.hstack([held[first : first + X.shape[0]], others(X, first)])
