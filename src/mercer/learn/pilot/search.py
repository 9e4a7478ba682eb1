r"""The search of a pilot: scaling, kernel, bandwidth and penalty, then one scale per column.

Every trial is ridge regression on the features of the map that the learner will have, on rows of the pilot, with the
penalty that has the smallest exact leave-one-out error, or with the learner's own penalty if one is given. Among trials
that do not differ by more than one standard error of their difference, the smoothest is chosen: the widest kernel of
the smoothest family. The steps are:

1. a few kernels in each way of scaling, on some of the rows, decide on the scaling;
2. the kernel and its bandwidth are chosen around the best of these, on all rows that are not held out. Kernels that
   were clearly worse before are not tried again. On few columns, much narrower and rougher ones are tried if nothing
   else explains anything;
3. one scale per column is learned: by leave-one-out on about a thousand rows or, if there are very many columns, from
   the mean squared gradient of the best trial, and then of the trial on columns with these scales, for as long as this
   reduces the error on held-out rows. The scales are used if they reduce the error on rows that were held out of
   everything by more than one standard error, and by a large enough share: if targets are noise, the gain is often
   above its standard error, but tiny;
4. the best trial is repeated with half its features, to see what more features contribute.

The amount of work depends on the sizes below and on the number of columns, never on the clock.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._array import Array
from ..._tiles import single_threaded_blas
from ...kernels import Gaussian, Kernel, Matern
from ...maps import FeatureMap
from ..learned_columns.gradient_scales import GradientSquares
from ..learned_columns.leave_one_out_scales import learn_column_scales
from ..prepare.preparation import Preparation
from .choice import Choice
from .rows import PilotRows
from .trials import RidgeTrial, Trial, clearly_better, not_worse, ridge_trial, smoothest

Matrix = NDArray[np.float64]
MakeMap = Callable[[Kernel, int], FeatureMap]
"""Returns the map for a kernel with this number of features, not fitted."""

FIRST_ROWS, FIRST_FEATURES = 2000, 384
"""The numbers of rows and features of the trials that decide on the scaling."""
FEATURES = 512
"""The largest number of features of the other trials."""
COLUMN_ROWS, COLUMN_STEPS, COLUMN_TOL = 800, 20, 1e-3
"""For learning column scales: the number of rows, the largest number of iterations, and the least gain of each.

The error on this number of rows is itself only known to a few hundredths.
"""
FEWEST_COLUMN_ROWS = 150
"""With fewer rows than this, no column scales are learned."""
MOST_COLUMNS = 256
"""With more columns than this, scales are computed from gradients: learning them would take longer than all trials."""
MOST_GRADIENTS = 16384
"""With more columns than this, no scales are learned."""
ROUNDS = 4
"""The largest number of times that scales are computed from gradients, each time of a machine on the scaled columns."""
FEWEST_ROWS = 16
"""With fewer rows than this, there is no search.

Trials on 18 rows find a bandwidth and a penalty that explain much more than fixed ones. They would on 8 rows, too, but
there it matters that a row of weight 2 is left out with all of its weight, and of two equal rows only one.
"""
CLEARLY = 2.5
"""A kernel that is worse than another one by this many standard errors is not tried again."""
WORTH = 0.02
"""The share by which column scales must reduce the error. At most one in 25 tables of noise then gets some."""


class Family(NamedTuple):
    """Kernels that differ only in their bandwidths, and how rough their functions are."""

    roughness: int
    make: Callable[[float], Kernel]


def matern(nu: float) -> Callable[[float], Kernel]:
    """Return a function that makes Matern kernels from the inverse of their squared length scale."""
    return lambda gamma: Matern(nu=nu, length_scale=1.0 / math.sqrt(gamma))


GAUSSIAN, MATERN_3, MATERN_1 = Family(0, Gaussian), Family(1, matern(1.5)), Family(2, matern(0.5))
FIRST = ((GAUSSIAN, (1 / 16, 1 / 4)), (MATERN_3, (1 / 16,)))
"""The kernels that decide on the scaling; bandwidths are in units of 1 over the total variance of the columns."""
SECOND = ((GAUSSIAN, (1 / 16, 1 / 4, 1.0)), (MATERN_3, (1 / 16, 1 / 4)))
"""The kernels that are tried next."""
ROUGH = ((MATERN_3, (4.0, 16.0)), (MATERN_1, (1 / 4,)))
"""The kernels that are tried if none of these explains anything: targets may change quickly along a column."""
UNEXPLAINED, FEW_COLUMNS = 0.9, 4
"""A trial that leaves at least the first share of the variance of the targets explains nothing. With more columns than
the second number, rows are too far apart for narrow kernels."""
FARTHER = 4
"""The largest number of steps beyond the narrowest bandwidth, for as long as they clearly help."""
WITH_COLUMNS = ((MATERN_3, (0.5, 1.0)), (MATERN_1, (0.25,)))
"""The kernels that are tried on learned columns, in units of the bandwidth with which these were learned."""


class Candidate(NamedTuple):
    """A kernel with a scaling, and its place between smooth and rough."""

    scale: str | None
    kernel: Kernel
    family: Family | None = None
    gamma: float = 0.0

    @property
    def smoothness(self) -> tuple[int, float]:
        """A key that increases from smooth to rough."""
        return (0 if self.family is None else self.family.roughness), self.gamma

    def times(self, factor: float) -> Candidate:
        """Return the kernel of the same family with this many times the gamma."""
        assert self.family is not None
        gamma = self.gamma * factor
        return Candidate(self.scale, self.family.make(gamma), self.family, gamma)


class Pilot:
    """The search on one sample of rows.

    Parameters
    ----------
    preparation : Preparation
        The preparation, already learned, so that it can be rescaled.
    X : matrix or frame
        The sample before preparation.
    Y : ndarray of shape (n_rows, n_targets)
        Targets, or codes of classes.
    rows : PilotRows
        The rows of the sample that are used.
    make_map : callable
        Returns the map for a kernel and a number of features.
    width : int
        The number of features that the learner will have.
    penalties : ndarray of shape (n_penalties,), default=None
        The ridge penalties that the learner may use; None chooses them from the rows. A kernel that is good with its
        own best penalty can be bad with a given one.
    """

    def __init__(
        self,
        preparation: Preparation,
        X: Array,
        Y: Matrix,
        rows: PilotRows,
        make_map: MakeMap,
        width: int,
        penalties: Matrix | None = None,
    ):
        self.preparation, self.make_map, self.width, self.penalties = preparation, make_map, width, penalties
        self._X, self._rows = X, rows
        self.Y, self.weight = Y[rows.numbers], rows.weight
        self.trials: list[Trial] = []
        self._prepared: dict[str | None, Any] = {}
        self._out_of_question: set[Kernel] = set()

    def run(
        self, scales: Sequence[str | None], kernels: Sequence[Kernel] | None, columns: str | None
    ) -> tuple[Choice, Matrix | None, float]:
        """Return the choice, the column scales if used, and the share by which doubling the features reduces the error.

        Parameters
        ----------
        scales : sequence of str or None
            The scalings to choose from, the preferred one first.
        kernels : sequence of Kernel or None
            The kernels to choose from, with numbers for bandwidths; with None, the pilot chooses.
        columns : "auto", "learned" or None
            Whether column scales may be learned, and whether they are then used in any case.
        """
        with single_threaded_blas():
            by_scale = self._by_scale(scales, kernels)
            scale = self._scale(scales, by_scale)
            best, trial = self._kernel(scale, kernels)
            held = self._held(trial, scale, None)
            gate = None if held is None else float(held.sum())
            count = len(self.weight)
            choice = Choice(repr(best.kernel), scale, trial.alpha, False, self.width, count, gate, None, ())
            learned = None
            if held is not None and columns is not None and self._can_learn_columns(best, scale):
                # Column scales may contribute more than the scaling that is better without them.
                begins = [(best, trial), *self._rivals(scales, by_scale, scale)]
                choice, learned, best, trial = self._columns(begins, held, choice, columns)
            gain = self._gain(best, trial, learned)
            return choice._replace(trials=tuple(self.trials)), learned, gain

    # -- rows ----------------------------------------------------------------------------------------------------------

    def _all(self, scale: str | None) -> Any:
        """Return all rows of the pilot with a scaling."""
        if scale not in self._prepared:
            prepared = self.preparation.rescaled(scale)(self._X)[self._rows.numbers]
            self._prepared[scale] = prepared.astype(np.float64)
        return self._prepared[scale]

    @property
    def _searched(self) -> slice:
        """Return the rows that are not held out."""
        return slice(self._rows.n_held, None)

    def _tried(self, candidate: Candidate, rows: slice, features: int, scales: Matrix | None = None) -> RidgeTrial:
        """Run one trial and record it."""
        X, Y, weight = self._all(candidate.scale)[rows], self.Y[rows], self.weight[rows]
        X = X if scales is None else X * scales
        map = self.make_map(candidate.kernel, min(features, self.width))
        found = ridge_trial(map, X, Y, weight, self.penalties)
        noted = candidate.scale, repr(candidate.kernel), scales is not None, len(Y), found.features.map.n_components_
        self.trials.append(Trial(*noted, found.alpha, found.error))
        return found

    def _held(self, trial: RidgeTrial, scale: str | None, scales: Matrix | None) -> Matrix | None:
        """Return errors of the held-out rows relative to the spread of all targets; None if there are none."""
        count = self._rows.n_held
        if count == 0:
            return None
        X = self._all(scale)[:count]
        Y, weight = self.Y[:count], self.weight[:count]
        spread = float((weight[:, None] * (Y - weight @ Y / weight.sum()) ** 2).sum())
        return trial.held_out(X if scales is None else X * scales, Y, weight) / (spread or 1.0)

    # -- decisions -----------------------------------------------------------------------------------------------------

    def _candidates(self, scale: str | None, of: Iterable[tuple[Family, Iterable[float]]]) -> list[Candidate]:
        """Return kernels with bandwidths in units of 1 over the total variance of the columns, from smooth to rough."""
        return kernels_of(scale, of, 1.0 / total_variance(self._all(scale)[self._searched]))

    def _by_scale(
        self, scales: Sequence[str | None], kernels: Sequence[Kernel] | None
    ) -> dict[str | None, tuple[Candidate, RidgeTrial]]:
        """Return the best kernel for every scaling, on some of the rows; nothing if there is only one scaling."""
        if len(scales) == 1:
            return {}
        rows = slice(self._rows.n_held, self._rows.n_held + FIRST_ROWS)
        found = {}
        for scale in scales:
            given = [Candidate(scale, kernel) for kernel in kernels or ()] or self._candidates(scale, FIRST)
            tried = [self._tried(one, rows, FIRST_FEATURES) for one in given]
            best, least = min(zip(given, tried, strict=True), key=lambda pair: pair[1].error)
            found[scale] = best._replace(kernel=least.features.map.kernel_), least
            if kernels is None:
                worse = [clearly_better(least.errors, trial.errors, CLEARLY) for trial in tried]
                self._out_of_question.update(one.kernel for one, is_worse in zip(given, worse, strict=True) if is_worse)
        return found

    @staticmethod
    def _scale(scales: Sequence[str | None], found: Mapping[str | None, tuple[Candidate, RidgeTrial]]) -> str | None:
        """Return the scaling: the preferred one unless another is better by more than a standard error."""
        if not found:
            return scales[0]
        best = min(scales, key=lambda scale: found[scale][1].error)
        return scales[0] if not_worse(found[scales[0]][1].errors, found[best][1].errors) else best

    @staticmethod
    def _rivals(
        scales: Sequence[str | None], found: Mapping[str | None, tuple[Candidate, RidgeTrial]], scale: str | None
    ) -> list[tuple[Candidate, RidgeTrial]]:
        """Return another scaling in which to learn column scales, if the preferred one was not chosen.

        This is the next best if it is worse by less than a standard error, and otherwise the preferred one.
        """
        if scale == scales[0]:
            return []
        others = [one for one in scales if one != scale]
        following = min(others, key=lambda one: found[one][1].error)
        is_alike = not_worse(found[following][1].errors, found[scale][1].errors)
        return [found[following if is_alike else scales[0]]]

    def _kernel(self, scale: str | None, kernels: Sequence[Kernel] | None) -> tuple[Candidate, RidgeTrial]:
        """Return the kernel and its bandwidth, chosen on all rows that are not held out."""
        if kernels is not None:
            known = tried = [Candidate(scale, kernel) for kernel in kernels]
        else:
            known = self._candidates(scale, SECOND)
            tried = [one for one in known if one.kernel not in self._out_of_question]
        found = [self._tried(one, self._searched, FEATURES) for one in tried]
        if kernels is None:

            def try_also(candidate: Candidate) -> RidgeTrial:
                tried.append(candidate)
                found.append(self._tried(candidate, self._searched, FEATURES))
                return found[-1]

            explains = min(trial.error for trial in found) < UNEXPLAINED
            if not explains and self._all(scale).shape[1] <= FEW_COLUMNS:
                rough = self._candidates(scale, ROUGH)
                known = [*known, *rough]
                for one in rough:
                    try_also(one)
            place = min(range(len(found)), key=lambda place: found[place].error)
            best, least = tried[place], found[place]  # twice as far if the best is the last of its family
            assert best.family is not None
            alike = [one.gamma for one in known if one.family == best.family]
            if best.gamma == min(alike):
                try_also(best.times(1 / 4))
            for _ in range(FARTHER if best.gamma == max(alike) else 0):
                best, before = best.times(4.0), least
                least = try_also(best)
                if not clearly_better(least.errors, before.errors):
                    break
            order = sorted(range(len(tried)), key=lambda place: tried[place].smoothness)
            tried, found = [tried[place] for place in order], [found[place] for place in order]
        place = smoothest(found)
        return tried[place]._replace(kernel=found[place].features.map.kernel_), found[place]

    def _gain(self, best: Candidate, trial: RidgeTrial, scales: Matrix | None) -> float:
        """Return the share by which the error of a trial falls from half its features to all; 0 if it has few."""
        features = trial.features.map.n_components_
        if features < FEATURES:
            return 0.0
        half = self._tried(best, self._searched, features // 2, scales)
        return 1.0 - trial.error / half.error if half.error > 0.0 else 0.0

    def _can_learn_columns(self, best: Candidate, scale: str | None) -> bool:
        X = self._all(scale)
        enough = X.shape[0] - self._rows.n_held >= FEWEST_COLUMN_ROWS
        return enough and not sp.issparse(X) and 2 <= X.shape[1] <= MOST_GRADIENTS and best.kernel.has_gradient

    def _columns(
        self, begins: Sequence[tuple[Candidate, RidgeTrial]], plain_errors: Matrix, plain: Choice, columns: str
    ) -> tuple[Choice, Matrix | None, Candidate, RidgeTrial]:
        """Return the choice with or without learned scales, which held-out rows decide unless scales are requested.

        The scales, the candidate and the trial are returned as well. Scales are learned from each of ``begins``, the
        first of which is the choice without scales.
        """
        learned = [self._with_columns(*one) for one in begins if self._can_learn_columns(one[0], one[0].scale)]
        place = len(learned) - 1
        if place and not clearly_better(learned[place][1].errors, learned[0][1].errors):
            place = 0
        candidate, trial, scales = learned[place]
        if self._takes_gradients(candidate.scale, trial):
            trial, scales = self._further_rounds(candidate, trial, scales)
        errors = self._held(trial, candidate.scale, scales)
        assert errors is not None
        if columns == "auto" and not is_gain(errors, plain_errors):
            return plain._replace(other_error=float(errors.sum())), None, *begins[0]
        chosen = plain._replace(
            kernel=repr(candidate.kernel),
            scale=candidate.scale,
            alpha=trial.alpha,
            learned_columns=True,
            held_error=float(errors.sum()),
            other_error=plain.held_error,
        )
        return chosen, scales, candidate, trial

    def _with_columns(self, best: Candidate, trial: RidgeTrial) -> tuple[Candidate, RidgeTrial, Matrix]:
        """Return the best kernel on columns with learned scales, its trial, and the scales."""
        scale = best.scale
        # A rough kernel shows which columns matter, while a smooth one may blur this.
        begin = best if best.family is None else Candidate(scale, MATERN_3.make(best.gamma), MATERN_3, best.gamma)
        scales = self._learned_scales(begin, best, trial)
        after = [begin] if begin.family is None else kernels_of(scale, WITH_COLUMNS, begin.gamma)
        found = [self._tried(one, self._searched, FEATURES, scales) for one in after]
        place = min(range(len(found)), key=lambda place: found[place].error)
        return after[place], found[place], scales

    def _further_rounds(self, candidate: Candidate, trial: RidgeTrial, scales: Matrix) -> tuple[RidgeTrial, Matrix]:
        """Return the trial and the scales after as many rounds of gradients as reduce the error on the held-out rows.

        Leave-one-out errors would be misleading: rows that are left out of a trial have taken part in learning its
        scales.
        """
        errors = self._held(trial, candidate.scale, scales)
        for _ in range(1, ROUNDS):
            steeper = self._steeper(candidate, trial, scales)
            again = self._tried(candidate, self._searched, FEATURES, steeper)
            found = self._held(again, candidate.scale, steeper)
            if errors is None or found is None or not is_gain(found, errors):
                break
            trial, scales, errors = again, steeper, found
        return trial, scales

    def _steeper(self, candidate: Candidate, trial: RidgeTrial, scales: Matrix) -> Matrix:
        """Return scales from the gradients of a trial on scaled columns; rows keep their mean squared distance."""
        spread = self._all(candidate.scale)[self._searched].var(axis=0)
        steeper = scales * self._gradient_scales(candidate, trial, scales)
        return steeper * np.sqrt((spread @ scales**2) / ((spread @ steeper**2) or 1.0))

    def _takes_gradients(self, scale: str | None, trial: RidgeTrial) -> bool:
        """Whether there are too many columns to learn their scales by leave-one-out."""
        return self._all(scale).shape[1] > MOST_COLUMNS and trial.features.factor is not None

    def _learned_scales(self, begin: Candidate, best: Candidate, trial: RidgeTrial) -> Matrix:
        """Return one scale per column: by leave-one-out or, for very many columns, from gradients of the best trial."""
        X = self._all(best.scale)
        if self._takes_gradients(best.scale, trial):
            return self._gradient_scales(best, trial)
        rows = slice(self._rows.n_held, self._rows.n_held + COLUMN_ROWS)
        learned = learn_column_scales(
            X[rows], self.Y[rows], begin.kernel, weight=self.weight[rows], max_iter=COLUMN_STEPS, tol=COLUMN_TOL
        )
        return learned.scales

    def _gradient_scales(self, candidate: Candidate, trial: RidgeTrial, scales: Matrix | None = None) -> Matrix:
        """Return one scale per column from the gradients of a trial, in addition to the scales that its columns had."""
        rows = slice(self._rows.n_held, self._rows.n_held + COLUMN_ROWS)
        X = self._all(candidate.scale)[rows]
        coefficients, landmarks = trial.features.at_landmarks(trial.coef), trial.features.landmarks
        X = X if scales is None else X * scales
        return GradientSquares.of(X, candidate.kernel, landmarks, coefficients, self.weight[rows]).scales()


def is_gain(errors: Matrix, before: Matrix) -> bool:
    """Whether errors of held-out rows are below others by a standard error, and by a large enough share."""
    return bool(errors.sum() <= (1.0 - WORTH) * before.sum()) and clearly_better(errors, before)


def kernels_of(scale: str | None, of: Iterable[tuple[Family, Iterable[float]]], unit: float) -> list[Candidate]:
    """Return kernels with bandwidths in this unit, from smooth to rough."""
    made = [Candidate(scale, family.make(unit * step), family, unit * step) for family, steps in of for step in steps]
    return sorted(made, key=lambda one: one.smoothness)


def total_variance(X: Array) -> float:
    """Return the sum of the variances of the columns; 1 if no column varies by more than rounding."""
    if sp.issparse(X):
        X = X.astype(np.float64)
        squares, means = np.asarray(X.multiply(X).mean(axis=0)), np.asarray(X.mean(axis=0))
        variances, rounding = squares - means**2, 1e-14 * squares
    else:
        variances, rounding = X.var(axis=0, dtype=np.float64), 1e-28 * X.mean(axis=0, dtype=np.float64) ** 2
    return float(variances[variances > rounding].sum()) or 1.0
