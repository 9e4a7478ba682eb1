"""Successive halving: many kernels on few rows with few features, then the best of them on more with more."""

from __future__ import annotations

import math
import statistics
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._tiles import n_threads, run_tiles
from .candidates import Candidate
from .clocks import Clock
from .learners import learner_for

FIRST_ROWS, FIRST_WIDTH = 2000, 512
MORE_ROWS, MORE_WIDTH = 3, 2
KEPT = 5
"""One of so many goes on to the next round."""
SEARCHED = 0.5
"""The share of the time after which no round begins."""
ENDED = 0.65
"""The share after which a round that is under way is cut short."""
LARGER = 0.7
"""How much of its time work keeps where it is larger, as products of larger matrices are faster."""
LEAVE_ONE_OUT = "leave-one-out R2"


class Round(NamedTuple):
    """One round of a search: its number from 1 on, its rows and its features, and how many candidates it has."""

    number: int
    rows: int
    features: int
    candidates: int


class Trial(NamedTuple):
    """What was tried, and what came of it.

    ``regularisation`` is the alpha of least squares or the C of a classifier, whose ``loss`` tells which; ``score`` is
    NaN where a map refused the kernel or the rows, and ``measure`` tells what it is.
    """

    round: int
    kernel: str
    scale: str | None
    loss: str
    regularisation: float
    rows: int
    features: int
    measure: str
    score: float
    seconds: float


class Sample(NamedTuple):
    """Rows in an order that a seed drew: the first n are a subsample for every n.

    ``X`` has them prepared in the way of every scale, ``Y`` the targets as numbers, a column each.
    """

    X: dict[str | None, Any]
    Y: NDArray[np.float64]
    weight: NDArray[np.float64] | None

    @property
    def n_rows(self) -> int:
        return len(self.Y)


class Setting(NamedTuple):
    """What all trials have in common."""

    map: Any
    seed: int
    n_jobs: int | None
    clock: Clock
    told: Callable[[str], None]


class Halved(NamedTuple):
    """The last round that was finished: its candidates, the best first, with their trials; all trials, and notes."""

    ranked: list[tuple[Candidate, Trial]]
    trials: list[Trial]
    notes: list[str]


def rounds_of(n_rows: int, candidates: int, features: int, rounds: int) -> list[Round]:
    """The rounds of a search over so many rows, to at most so many features; one alone decides where there is one."""
    found: list[Round] = []
    for number in range(rounds):
        rows = min(n_rows, FIRST_ROWS * MORE_ROWS**number)
        width = min(features, FIRST_WIDTH * MORE_WIDTH**number)
        before = found[-1] if found else None
        # With as many features as rows a map is exact, and there is nothing to be had from more.
        if before and rows == before.rows and (width == before.features or before.features >= rows):
            break
        found.append(Round(number + 1, rows, width, max(2, math.ceil(candidates / KEPT**number))))
    return [found[0]._replace(candidates=candidates), *found[1:]]


def halved(candidates: Sequence[Candidate], rounds: Sequence[Round], sample: Sample, setting: Setting) -> Halved:
    """The best candidates, from round to round fewer of them; the best of a round is joined by its neighbours."""
    trials: list[Trial] = []
    notes: list[str] = []
    ranked: list[tuple[Candidate, Trial]] = []
    entered = list(candidates)
    for one in rounds:
        if ranked:
            entered = promoted(ranked, one.candidates)
            if not setting.clock.allows(expected(ranked, one, len(entered), setting.n_jobs), SEARCHED):
                notes.append(f"round {one.number} of {len(rounds)} and what follows were left out for lack of time")
                break
        shape = f"{one.rows:,} rows, {one.features:,} features"
        setting.told(f"round {one.number} of {len(rounds)}: {len(entered)} kernels, {shape}")
        found = tried(entered, one, sample, setting)
        trials += [trial for _, trial in found]
        served = [pair for pair in found if not math.isnan(pair[1].score)]
        ranked = sorted(served, key=lambda pair: -pair[1].score) or ranked
        if len(found) < len(entered):
            notes.append(f"round {one.number} ended after {len(found)} of {len(entered)} kernels for lack of time")
            break
    return Halved(ranked, trials, notes)


def promoted(ranked: list[tuple[Candidate, Trial]], count: int) -> list[Candidate]:
    """The best of a round, and the neighbours of the first that were not in it."""
    kept = [candidate for candidate, _ in ranked[:count]]
    names = {candidate.name for candidate, _ in ranked}
    return kept + [one for one in kept[0].neighbours() if one.name not in names]


def expected(ranked: list[tuple[Candidate, Trial]], one: Round, count: int, n_jobs: int | None) -> float:
    """About how many seconds a round takes, by those of the one before."""
    each = statistics.median(trial.seconds for _, trial in ranked[:count])
    grown = work_of(one.rows, one.features) / work_of(ranked[0][1].rows, ranked[0][1].features)
    return each * count / n_threads(n_jobs) * max(1.0, LARGER * grown)


def work_of(rows: int, features: int) -> float:
    """What a trial takes, up to a factor: sums, an eigendecomposition, and the turned features in twice the digits."""
    return 3.0 * rows * features**2 + 10.0 * features**3


def tried(entered: Sequence[Candidate], one: Round, sample: Sample, setting: Setting) -> list[tuple[Candidate, Trial]]:
    """The trials of a round, on a thread each, as far as there is time; the first candidate always has its turn."""
    found: list[Trial | None] = [None] * len(entered)

    def work(place: slice) -> None:
        if place.start == 0 or setting.clock.allows(0.0, ENDED):
            found[place.start] = least_squares(entered[place.start], one, sample, setting)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is tried may well be unfit: the score tells
        run_tiles(work, len(entered), 1, setting.n_jobs)
    return [(candidate, trial) for candidate, trial in zip(entered, found, strict=True) if trial is not None]


def least_squares(candidate: Candidate, one: Round, sample: Sample, setting: Setting) -> Trial:
    """Ridge regression on the first rows, whose alpha and score leave-one-out errors tell without another fit."""
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
    alpha = score = math.nan
    try:
        learner.fit(sample.X[scale][rows], Y, weight)
    except (ValueError, np.linalg.LinAlgError):
        pass  # a score that is not there is the last one; where no kernel has one, the search says why
    else:
        alpha, score = learner.alpha_, determined(learner, Y, weight)
    seconds = setting.clock.spent - began
    found = repr(candidate.kernel), scale, "squared", alpha, one.rows, one.features
    return Trial(one.number, *found, LEAVE_ONE_OUT, score, seconds)


def determined(learner: Any, Y: NDArray[np.float64], weight: NDArray[np.float64] | None) -> float:
    """The share of the targets' variance that leave-one-out predictions explain, the mean over targets."""
    errors = learner.scores_[int(np.flatnonzero(learner.alphas_ == learner.alpha_)[0])]
    spread = np.average((Y - np.average(Y, axis=0, weights=weight)) ** 2, axis=0, weights=weight)
    return float(np.mean(1.0 - errors[spread > 0.0] / spread[spread > 0.0])) if spread.any() else math.nan
