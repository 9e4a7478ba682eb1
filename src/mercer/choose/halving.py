"""Successive halving: many kernels on few rows with few features, then the best of them on more with more."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .candidates import Candidate
from .clocks import Clock
from .learners import learner_for

FIRST_ROWS, FIRST_WIDTH = 2000, 256
MORE_ROWS, MORE_WIDTH = 4, 2
KEPT = 4
"""One of so many goes on to the next round."""
SEARCHED = 0.5
"""The share of the time after which no round begins."""
ENDED = 0.65
"""The share after which a round that is under way is cut short."""
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
        if found and (rows, width) == found[-1][1:3]:
            break
        found.append(Round(number + 1, rows, width, max(2, math.ceil(candidates / KEPT**number))))
    return [found[0]._replace(candidates=candidates), *found[1:]]


def halved(candidates: Sequence[Candidate], rounds: Sequence[Round], sample: Sample, setting: Setting) -> Halved:
    """The best candidates, from round to round fewer of them; of each the best is joined by its neighbours."""
    trials: list[Trial] = []
    notes: list[str] = []
    ranked: list[tuple[Candidate, Trial]] = []
    entered = list(candidates)
    for one in rounds:
        if ranked:
            entered = promoted(ranked, one.candidates)
            cost = sum(trial.seconds for _, trial in ranked) / len(ranked) * growth(ranked[0][1], one) * len(entered)
            if not setting.clock.allows(cost, SEARCHED):
                notes.append(f"round {one.number} of {len(rounds)} was left out for lack of time")
                break
        setting.told(f"round {one.number} of {len(rounds)}: {len(entered)} kernels, {one.rows:,} rows, "
                     f"{one.features:,} features")  # fmt: skip
        found = list(tried(entered, one, sample, setting))
        trials += [trial for _, trial in found]
        if len(found) < len(entered):
            notes.append(f"round {one.number} ended after {len(found)} of {len(entered)} kernels for lack of time")
        served = [pair for pair in found if not math.isnan(pair[1].score)]
        ranked = sorted(served, key=lambda pair: -pair[1].score) or ranked
        if len(found) < len(entered):
            break
    return Halved(ranked, trials, notes)


def promoted(ranked: list[tuple[Candidate, Trial]], count: int) -> list[Candidate]:
    """The best of a round, and the neighbours of the first that are not among them."""
    kept = [candidate for candidate, _ in ranked[:count]]
    names = {candidate.name for candidate, _ in ranked}
    return kept + [one for one in kept[0].neighbours() if one.name not in names]


def growth(trial: Trial, one: Round) -> float:
    """How much longer a trial of a round takes: sums grow as rows times features squared."""
    return max(1.0, one.rows / trial.rows) * (one.features / trial.features) ** 2


def tried(
    entered: Sequence[Candidate], one: Round, sample: Sample, setting: Setting
) -> Iterator[tuple[Candidate, Trial]]:
    """The trials of a round, as far as there is time; the first candidate always has its turn."""
    for place, candidate in enumerate(entered):
        if place and not setting.clock.allows(0.0, ENDED):
            return
        yield candidate, least_squares(candidate, one, sample, setting)


def least_squares(candidate: Candidate, one: Round, sample: Sample, setting: Setting) -> Trial:
    """Ridge regression on the first rows, whose alpha and score leave-one-out errors tell without another fit."""
    began, rows = setting.clock.spent, slice(one.rows)
    X, Y = sample.X[candidate.family.scale][rows], sample.Y[rows]
    weight = None if sample.weight is None else sample.weight[rows]
    learner = learner_for(
        "regression",
        kernel=candidate.kernel,
        map=setting.map,
        n_components=one.features,
        scale=None,
        alpha="loo",
        random_state=setting.seed,
        n_jobs=setting.n_jobs,
    )
    alpha = score = math.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is tried may well be unfit: the score tells
        try:
            learner.fit(X, Y, weight)
        except (ValueError, np.linalg.LinAlgError) as refusal:
            setting.told(f"{candidate.kernel!r} is left out: {refusal}")
        else:
            alpha, score = learner.alpha_, determined(learner, Y, weight)
    seconds = setting.clock.spent - began
    found = repr(candidate.kernel), candidate.family.scale, "squared", alpha, one.rows, one.features
    return Trial(one.number, *found, LEAVE_ONE_OUT, score, seconds)


def determined(learner: Any, Y: NDArray[np.float64], weight: NDArray[np.float64] | None) -> float:
    """The share of the targets' variance that leave-one-out predictions explain, the mean over targets."""
    errors = learner.scores_[int(np.flatnonzero(learner.alphas_ == learner.alpha_)[0])]
    spread = np.average((Y - np.average(Y, axis=0, weights=weight)) ** 2, axis=0, weights=weight)
    return float(np.mean(1.0 - errors[spread > 0.0] / spread[spread > 0.0])) if spread.any() else math.nan
