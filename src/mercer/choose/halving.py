"""Successive halving: many kernels on few rows with few features, then the best of them with more of both."""

from __future__ import annotations

import math
import statistics
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from .._tiles import n_threads, run_tiles
from ..learn.context import FitContext
from .candidates import Candidate
from .fit_times import work_of
from .learner_choice import learner_for
from .time_budget import Clock

FIRST_ROWS, FIRST_WIDTH = 2000, 512
MORE_ROWS, MORE_WIDTH = 3, 2
KEPT = 5
"""One candidate in this many reaches the next round."""
SEARCHED = 0.5
"""The share of the time after which no round starts."""
ENDED = 0.65
"""The share of the time after which a running round is cut short."""
LARGER = 0.7
"""The time per operation of larger work relative to smaller work, since products of larger matrices are faster."""
LEAVE_ONE_OUT, LEFT_OUT_ACCURACY = "leave-one-out R2", "leave-one-out accuracy"
LEFT_OUT_BALANCED = "leave-one-out balanced accuracy"
HELD_OUT, HELD_OUT_ACCURACY, HELD_OUT_BALANCED = "held-out R2", "held-out accuracy", "held-out balanced accuracy"


class Round(NamedTuple):
    """One round of a search.

    Attributes
    ----------
    number : int
        Its number, starting with 1.
    rows : int
        The number of rows.
    features : int
        The number of features.
    candidates : int
        The number of candidates.
    """

    number: int
    rows: int
    features: int
    candidates: int


class Trial(NamedTuple):
    """A machine that was tried, and its result.

    Attributes
    ----------
    round : int or None
        The number of the round; None for comparisons after the rounds and for fits of the model.
    kernel : str
        The kernel.
    scale : str or None
        How columns were scaled.
    loss : str
        The loss.
    regularisation : float
        The alpha of least squares, or the C of a classifier; ``loss`` determines which.
    rows : int
        The number of rows.
    features : int
        The number of features.
    measure : str
        The name of the score.
    score : float
        The score; NaN if a map refused the kernel or the rows.
    seconds : float
        The time of the trial.
    learned_columns : bool
        Whether columns were multiplied by learned scales.
    """

    round: int | None
    kernel: str
    scale: str | None
    loss: str
    regularisation: float
    rows: int
    features: int
    measure: str
    score: float
    seconds: float
    learned_columns: bool = False

    @property
    def is_held_out(self) -> bool:
        """Whether it was scored on held-out rows; such trials differ in more than their kernel."""
        return self.measure in (HELD_OUT, HELD_OUT_ACCURACY, HELD_OUT_BALANCED)

    @property
    def scaling(self) -> str:
        """The scaling of columns, in words."""
        return (self.scale or "none") + (", learned" if self.learned_columns else "")


class Sample(NamedTuple):
    """Rows in an order that a seed drew: for every n, the first n are a subsample.

    ``X`` contains the rows prepared with every scale, ``Y`` the targets as numbers, one column each; classes are 1 and
    -1.
    """

    X: dict[str | None, Any]
    Y: NDArray[np.float64]
    weight: NDArray[np.float64] | None
    is_classes: bool = False
    is_balanced: bool = False
    """Whether the weights make all classes count equally."""

    @property
    def n_rows(self) -> int:
        return len(self.Y)


class Setting(NamedTuple):
    """The settings that all trials have in common."""

    map: Any
    seed: int
    n_jobs: int | None
    clock: Clock
    told: Callable[[str], None]


def rounds_of(n_rows: int, candidates: int, features: int, rounds: int) -> list[Round]:
    """Return the rounds of a search, up to ``n_rows`` rows and ``features`` features; one candidate gets one round."""
    found: list[Round] = []
    for number in range(rounds):
        rows = min(n_rows, FIRST_ROWS * MORE_ROWS**number)
        width = min(features, FIRST_WIDTH * MORE_WIDTH**number)
        before = found[-1] if found else None
        # With as many features as rows a map is exact, and more features would change nothing.
        if before and rows == before.rows and (width == before.features or before.features >= rows):
            break
        found.append(Round(number + 1, rows, width, max(2, math.ceil(candidates / KEPT**number))))
    return [found[0]._replace(candidates=candidates), *found[1:]]


class Halving:
    """Rounds of trials with fewer and fewer candidates; the neighbours of the best kernel of a round join the next one.

    Parameters
    ----------
    candidates : sequence of Candidate
        The candidates of the first round.
    rounds : sequence of Round
        The rounds.
    sample : Sample
        The rows of the trials.
    setting : Setting
        The settings that all trials have in common.
    """

    def __init__(self, candidates: Sequence[Candidate], rounds: Sequence[Round], sample: Sample, setting: Setting):
        self.rounds, self.sample, self.setting = rounds, sample, setting
        self.trials: list[Trial] = []
        self.ranked: list[tuple[Candidate, Trial]] = []
        """The candidates of the last round with their trials, the best first."""
        self.notes: list[str] = []
        self._entered, self._done = list(candidates), 0

    @property
    def is_over(self) -> bool:
        """Whether there are no more rounds."""
        return self._done == len(self.rounds)

    @property
    def expected(self) -> float:
        """The expected time of the next round in seconds."""
        if not self.ranked or self.is_over:
            return 0.0
        return expected(self.ranked, self.rounds[self._done], len(self._entered), self.setting.n_jobs)

    def step(self, until: float = ENDED) -> None:
        """Run the next round, which is cut short after this share of the time."""
        one, entered, setting = self.rounds[self._done], self._entered, self.setting
        self._done += 1
        shape = f"{one.rows:,} rows, {one.features:,} features"
        setting.told(f"round {one.number} of {len(self.rounds)}: {len(entered)} kernels, {shape}")
        found = tried(entered, one, self.sample, setting, until)
        self.trials += [trial for _, trial, _ in found]
        served = [one for one in found if not math.isnan(one[1].score)]
        # Among kernels that classify equally many rows correctly, prefer the one closer to their codes.
        ranked = sorted(served, key=lambda one: (-one[1].score, -one[2]))
        self.ranked = [(candidate, trial) for candidate, trial, _ in ranked] or self.ranked
        if len(found) < len(entered):
            note = f"round {one.number} ended after {len(found)} of {len(entered)} kernels for lack of time"
            self.notes.append(note)
            self._done = len(self.rounds)
        elif self.ranked and not self.is_over:
            self._entered = promoted(self.ranked, self.rounds[self._done].candidates)

    def left_out(self) -> list[str]:
        """Return what was left out for lack of time, in words."""
        if self.is_over:
            return self.notes
        number, last = self.rounds[self._done].number, len(self.rounds)
        which = f"round {number}" if number == last else f"rounds {number} to {last}"
        return [*self.notes, f"{which} of {last} {'was' if number == last else 'were'} left out for lack of time"]


def promoted(ranked: list[tuple[Candidate, Trial]], count: int) -> list[Candidate]:
    """Return the best of a round, and the neighbours of the first that were not in it."""
    kept = [candidate for candidate, _ in ranked[:count]]
    names = {candidate.name for candidate, _ in ranked}
    return kept + [one for one in kept[0].neighbours() if one.name not in names]


def expected(ranked: list[tuple[Candidate, Trial]], one: Round, count: int, n_jobs: int | None) -> float:
    """Estimate how long a round takes from the previous round, in seconds."""
    each = statistics.median(trial.seconds for _, trial in ranked[:count])
    grown = work_of(one.rows, one.features) / work_of(ranked[0][1].rows, ranked[0][1].features)
    return each * count / n_threads(n_jobs) * max(1.0, LARGER * grown)


def tried(
    entered: Sequence[Candidate], one: Round, sample: Sample, setting: Setting, until: float
) -> list[tuple[Candidate, Trial, float]]:
    """Run the trials of a round, one per thread, as long as there is time; the first candidate always runs.

    The number with each trial is R2, which decides between equal scores.
    """
    found: list[tuple[Trial, float] | None] = [None] * len(entered)

    def work(place: slice) -> None:
        if place.start == 0 or setting.clock.allows(0.0, until):
            found[place.start] = least_squares(entered[place.start], one, sample, setting)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about unsuitable candidates are not needed: their scores show it
        run_tiles(work, len(entered), 1, setting.n_jobs)
    return [(candidate, *trial) for candidate, trial in zip(entered, found, strict=True) if trial is not None]


def least_squares(candidate: Candidate, one: Round, sample: Sample, setting: Setting) -> tuple[Trial, float]:
    """Fit ridge regression to the first rows; leave-one-out errors give its alpha and score without another fit.

    For classes the score is the share of rows that are classified correctly when left out. The second result is R2 of
    the targets, or of the codes of classes.
    """
    began, rows, scale = setting.clock.spent, slice(one.rows), candidate.family.scale
    Y, weight = sample.Y[rows], None if sample.weight is None else sample.weight[rows]
    learner: Any = learner_for(
        "regression",
        kernel=candidate.kernel,
        map=setting.map,
        n_components=one.features,
        scale=None,
        alpha="loo",
        random_state=setting.seed,
        n_jobs=1,
    )
    context = FitContext(counts_hits=sample.is_classes)
    alpha = score = determination = math.nan
    try:
        learner.fit_table(learner.table_to_fit(sample.X[scale][rows], Y, weight), context)
    except (ValueError, np.linalg.LinAlgError):
        pass  # a missing score ranks last; if no kernel has one, the search says why
    else:
        alpha, determination = learner.alpha_, determined(learner, Y, weight)
        score = accuracy(learner) if sample.is_classes else determination
    seconds = setting.clock.spent - began
    found = repr(candidate.kernel), scale, "squared", alpha, one.rows, one.features
    right = LEFT_OUT_BALANCED if sample.is_balanced else LEFT_OUT_ACCURACY
    measure = right if sample.is_classes else LEAVE_ONE_OUT
    return Trial(one.number, *found, measure, score, seconds), determination


def determined(learner: BaseEstimator, Y: NDArray[np.float64], weight: NDArray[np.float64] | None) -> float:
    """Return the share of the targets' variance that leave-one-out predictions explain, averaged over targets."""
    errors = learner.scores_[taken(learner)]
    spread = np.average((Y - np.average(Y, axis=0, weights=weight)) ** 2, axis=0, weights=weight)
    return float(np.mean(1.0 - errors[spread > 0.0] / spread[spread > 0.0])) if spread.any() else math.nan


def accuracy(learner: BaseEstimator) -> float:
    """Return the share of rows whose class is predicted correctly by the fit without them."""
    return float(learner.hits_[taken(learner)])


def taken(learner: BaseEstimator) -> int:
    """Return the position of the chosen alpha among those that a learner tried."""
    return int(np.flatnonzero(learner.alphas_ == learner.alpha_)[0])
