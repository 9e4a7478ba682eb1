"""The search for a kernel, its bandwidth and the penalty for a table, and the fit of the resulting model."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

import numpy as np

from .._checks import check_choice, check_positive, check_whole
from .._defaults import SEARCH_ROUNDS, WIDEST_SEARCHED
from .._random import RandomState, as_seed
from ..data import Table
from ..learn.argument_types import ClassWeightArgument, MapArgument, MemoryArgument
from .candidates import Candidate, Family, families_of, grid, scales_of, some_rows
from .growth import Growth, Loss
from .halving import FIRST_ROWS, MORE_ROWS, SEARCHED, Halving, Round, Sample, Setting, Trial, rounds_of
from .learner_choice import TASKS, check_class_weight, learner_for
from .samples import sample_of
from .time_budget import Clock

APART, MOST_APART = 0.2, 20_000
"""The share of the rows, and their largest number, on which classifiers are compared."""
STEP, MOST_TRIED = 4.0, 5
"""The ratio of two successive values of C, and the largest number of values to try."""
BENT = {"squared": 1.0, "squared_hinge": 1.0, "logistic": 8.0}
"""The factor by which C is larger for losses with less curvature."""
COMPARED = (6000, 1024)
"""The largest numbers of rows and features with which losses are compared."""
DECIDED = 0.7
"""The share of the time after which no other C is tried."""


class Tuned(NamedTuple):
    """The result of a search.

    Attributes
    ----------
    model : KernelClassifier or KernelRegressor
        The best model, fitted to all rows.
    trials : list of Trial
        What was tried, in order.
    fits : list of Trial
        The fits of the model, each with more features than the previous one, or with another kernel or loss.
    notes : list of str
        The steps that were left out for lack of time, in words.
    """

    model: Any
    trials: list[Trial]
    fits: list[Trial]
    notes: list[str]

    def in_order(self) -> list[Trial]:
        """Return trials by round, the best first, then the losses that were compared, and then the fits.

        Returns
        -------
        list of Trial
            The trials and fits.
        """

        def place(one: Trial) -> tuple[float, bool, float]:
            return (math.inf if one.round is None else one.round, math.isnan(one.score), -one.score)

        return sorted(self.trials, key=place) + self.fits


class Search(Growth):
    """A search by successive halving for the best of given kernels, its bandwidth and penalty; it also fits the model.

    If you have no kernels in mind, :class:`PilotSearch`, which starts from the default learner, is better.

    Parameters
    ----------
    table : Table
        The rows, with a target.
    task : {"classification", "regression"}
        The kind of prediction.
    kernels : sequence of Kernel or str
        Kernels, or texts that describe them. A bandwidth "median" or "scale" is searched, from an eighth of that length
        to eight times; numbers are kept.
    map : str, default="auto"
        "auto" or the name of a map.
    scale : {"auto", "standard", "unit", "minmax"} or None, default="auto"
        How columns are scaled. "auto" tries "standard" and "minmax", and uses None for kernels that accept no negative
        values.
    loss : {"auto", "squared", "squared_hinge", "logistic"}, default="auto"
        The loss of a classifier. "auto" fits models with "squared", which leaves time for about twice the features, and
        ends with "squared_hinge" if that was better on the rows set aside and there is time for it.
    class_weight : {"balanced"} or None, default=None
        With "balanced", trials are scored and the model is fitted with equal weight on each class.
    features : int, default=8192
        The largest number of features.
    rounds : int, default=4
        The largest number of rounds.
    seconds : float or None, default=None
        The largest total time. A round that would leave no time for the widest model is skipped unless it ends in half
        the time, and is made up for at the end if there is time; the last map is as wide as time allows. The time of a
        fit is estimated before it starts.
    missing : {"auto", "error", "mean", "indicator"}, default="auto"
        How missing values are treated; see :class:`mercer.KernelClassifier`.
    unknown : {"auto", "error", "ignore"}, default="auto"
        How levels that ``fit`` has not seen are treated; see :class:`mercer.KernelClassifier`.
    dates : {"auto", "number", "parts"}, default="auto"
        How dates become numbers; see :class:`mercer.KernelClassifier`.
    memory : int, str or None, default=None
        The largest amount of memory for features; see :class:`mercer.KernelClassifier`.
    random_state : int, Generator, RandomState or None, default=0
        The seed of the sample and of the maps.
    n_jobs : int or None, default=None
        The number of threads; see :class:`mercer.KernelClassifier`.
    progress : callable or None, default=None
        A function that is called with a line about each round and each fit.
    ending : callable or None, default=None
        A function that is given a :class:`Trial` that describes a fit of the model, and returns how many of the seconds
        to reserve for what the caller does with such a model.

    Notes
    -----
    Many kernels are tried on few rows with few features, a fifth of them on three times the rows with twice the
    features, and so on; the neighbours of the best kernel of a round join the next one. A trial is one ridge
    regression, also for classes, which are coded as 1 and -1. Its eigendecomposition gives the leave-one-out
    predictions for 25 values of alpha at once, and so both the penalty and the score (R2, or the accuracy for classes)
    without another fit. For a loss other than "squared", the best kernel is then tried with several values of C on rows
    that were set aside.

    The model is fitted to all rows, with twice the features as long as there is time. If a wider map starts with the
    features of the narrower one, as Fourier maps do, its fit starts from the coefficients of the narrower one.

    Equal arguments and an equal seed lead to the same choice, unless time cuts the search short.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> table = mercer.data.open(X, target=np.abs(X).sum(axis=1))
    >>> search = mercer.choose.Search(table, "regression", kernels=["gaussian('median')"], rounds=2, features=64)
    >>> [(one.rows, one.features, one.candidates) for one in search.plan()]
    [(300, 64, 14)]
    >>> found = search.run()
    >>> len(found.trials), found.model.n_components
    (14, 64)
    """

    def __init__(
        self,
        table: Table,
        task: str,
        *,
        kernels: Sequence[Any],
        map: MapArgument = "auto",
        scale: str | None = "auto",
        loss: str = "auto",
        class_weight: Any = None,
        features: int = WIDEST_SEARCHED,
        rounds: int = SEARCH_ROUNDS,
        seconds: float | None = None,
        missing: str = "auto",
        unknown: str = "auto",
        dates: str = "auto",
        memory: MemoryArgument = None,
        random_state: RandomState = 0,
        n_jobs: int | None = None,
        progress: Callable[[str], None] | None = None,
        ending: Callable[[Trial], float] | None = None,
    ):
        check_search(task, map, loss, class_weight, features, rounds, seconds)
        self.table, self.task, self.loss, self.features, self.rounds = table, task, loss, features, rounds
        self.class_weight = class_weight
        self.kernels, self.scale, self.memory = families_of(kernels), scale, memory
        self.asked_missing = missing
        self.preparing: dict[str, Any] = {"missing": missing, "unknown": unknown, "dates": dates}
        self.ending = ending or (lambda fit: 0.0)
        self.foreseen: float | None = None
        """The expected end if no time is given, which is known after the first round."""
        clock = Clock(None if seconds is None else float(seconds))
        self.setting = Setting(map, as_seed(random_state), n_jobs, clock, progress or (lambda line: None))

    # -- what is to be done --------------------------------------------------------------------------------------------

    @property
    def apart(self) -> int:
        """The number of rows of the sample that are set aside to compare classifiers."""
        needed = self.task == "classification" and self.loss != "squared"
        return min(MOST_APART, int(APART * self.table.n_rows)) if needed else 0

    @property
    def scales(self) -> list[str | None]:
        """The distinct scales that kernels request."""
        return list(dict.fromkeys(scale for kernel in self.kernels for scale in scales_of(kernel, self.scale)))

    def plan(self, n_rows: int | None = None) -> list[Round]:
        """Return the rounds, provided that there is time for all of them.

        Parameters
        ----------
        n_rows : int or None, default=None
            The largest number of rows of a round. None means all.

        Returns
        -------
        list of Round
            The rounds.
        """
        n_rows = self.table.n_rows - self.apart if n_rows is None else n_rows
        pairs = [(kernel, scale) for kernel in self.kernels for scale in scales_of(kernel, self.scale)]
        count = sum(len(grid(Family(kernel, scale, np.eye(2), 0))) for kernel, scale in pairs)
        return rounds_of(n_rows, count, self.features, self.rounds)

    @cached_property
    def sample(self) -> Sample:
        """The rows for the search; the last ones are set aside."""
        wanted = FIRST_ROWS * MORE_ROWS ** (self.rounds - 1) + self.apart
        balanced = self.class_weight == "balanced"
        given = self.table, wanted, self.task, self.scales, self.setting.seed, self.memory
        return sample_of(*given, balanced=balanced, **self.preparing)

    def candidates(self) -> list[Candidate]:
        """Return the kernels of the first round.

        Returns
        -------
        list of Candidate
            The kernels.
        """
        some, seed = {scale: some_rows(X, self.setting.seed) for scale, X in self.sample.X.items()}, self.setting.seed
        return [
            candidate
            for kernel in self.kernels
            for scale in scales_of(kernel, self.scale)
            for candidate in grid(Family(kernel, scale, some[scale], seed))
        ]

    # -- the search ----------------------------------------------------------------------------------------------------

    def run(self) -> Tuned:
        """Search, and fit the model to all rows.

        Returns
        -------
        Tuned
            The fitted model, and what was tried.
        """
        rounds = self.plan(max(1, self.sample.n_rows - self.apart))
        halving = Halving(self.candidates(), rounds, self.sample, self.setting)
        halving.step()
        while not halving.is_over and self._has_time_for(halving):
            halving.step()
        if not halving.ranked:
            self._refuse()
        best, trial = halving.ranked[0]
        growing, last, more = self._decided(best, trial) if self.apart else (self._least(trial), None, [])
        model, fits, notes = self._grown(best, trial, growing)
        while not halving.is_over and self._allows(halving.expected + fits[-1].seconds):  # there is time left
            halving.step(until=1.0 - fits[-1].seconds / (self.setting.clock.seconds or math.inf))
            other, tried = halving.ranked[0]
            if other.name != best.name:
                ratio = trial.regularisation / tried.regularisation
                growing = growing._replace(C=growing.C * ratio)
                last = None if last is None else last._replace(C=last.C * ratio)
                best, trial = other, tried
                model, fits = self._renewed(best, growing, model, fits)
        if last is not None:
            model, fits, notes = self._ended(best, last, model, fits, notes)
        return Tuned(model, halving.trials + more, fits, [*halving.left_out(), *notes])

    # -- time ----------------------------------------------------------------------------------------------------------

    def _has_time_for(self, halving: Halving) -> bool:
        """Whether the next round ends in half the time, or leaves enough for the widest model."""
        if not halving.ranked:
            return True
        trial, clock = halving.ranked[0][1], self.setting.clock
        fits = [self._fit_alike(trial, self.features)]
        while fits[-1].features > 2 * trial.features:
            fits.append(self._fit_alike(trial, fits[-1].features // 2))
        model = sum(fit.seconds for fit in fits) + self.ending(fits[0])
        self.foreseen = clock.spent + halving.expected + model
        return clock.allows(halving.expected, SEARCHED) or clock.allows(halving.expected + model)

    @property
    def seconds_left(self) -> float | None:
        """The remaining time in seconds, or None if it is not known."""
        clock = self.setting.clock
        end = self.foreseen if clock.seconds is None else clock.seconds
        return None if end is None else max(end - clock.spent, 0.0)

    def _refuse(self) -> NoReturn:
        """Raise the learner's error about the rows, with their numbers, if no kernel could be tried."""
        kernel = self.kernels[0]
        learner_for(
            self.task, kernel=kernel, n_components=1, scale=scales_of(kernel, self.scale)[0], **self.preparing
        ).fit(self.table)
        raise ValueError(f"no kernel could be tried on these rows, not even {kernel!r}")

    def _least(self, trial: Trial) -> Loss:
        """Return least squares with the penalty of a trial."""
        return Loss("squared", 0.5 / trial.regularisation)

    def _decided(self, best: Candidate, trial: Trial) -> tuple[Loss, Loss | None, list[Trial]]:
        """Return the loss with which the model grows, another with which it ends or None, and what was tried."""
        least = self._least(trial)
        rows, features = (min(pair) for pair in zip(COMPARED, (trial.rows, trial.features), strict=True))
        trial = trial._replace(rows=rows, features=features)
        name = "squared_hinge" if self.loss == "auto" else self.loss
        first = Loss(name, least.C * BENT[name])
        if not self.setting.clock.allows(trial.seconds, DECIDED):
            return (first, None, []) if self.loss != "auto" else (least, None, [])
        chosen, tried = self._climbed(best, trial, first)
        if self.loss != "auto":
            return chosen, None, tried
        plain = self._compared(best, trial, least)
        better = max(one.score for one in tried) > plain.score
        return least, chosen if better else None, [plain, *tried]

    def _climbed(self, best: Candidate, trial: Trial, middle: Loss) -> tuple[Loss, list[Trial]]:
        """Return the best C on the rows set aside, found in steps of four as long as they help."""
        tried = [self._compared(best, trial, middle)]
        for step in (STEP, 1.0 / STEP):
            better, ahead = tried[0], middle.C * step
            while len(tried) < MOST_TRIED and self.setting.clock.allows(tried[-1].seconds, DECIDED):
                tried.append(self._compared(best, trial, middle._replace(C=ahead)))
                if tried[-1].score <= better.score:
                    break
                better, ahead = tried[-1], ahead * step
            if better is not tried[0]:
                return middle._replace(C=better.regularisation), tried
        return middle, tried

    def _compared(self, best: Candidate, trial: Trial, loss: Loss) -> Trial:
        """Return a classifier on the rows of a trial, scored on the rows set aside."""
        sample, clock = self.sample, self.setting.clock
        X, codes = sample.X[best.family.scale], labels_of(sample.Y)
        rows, apart = (
            (X[part], codes[part], None if sample.weight is None else sample.weight[part])
            for part in (slice(trial.rows), slice(sample.n_rows - self.apart, None))
        )
        self.setting.told(f"{loss.name}, C = {loss.C:.4g}: {trial.rows:,} rows, {trial.features:,} features")
        began, learner = clock.spent, self._learner(best, trial.features, scale=None, loss=loss.name, C=loss.C)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            score = learner.fit(*rows).score(*apart)
        measure = "accuracy" if self.class_weight is None else "balanced accuracy"  # through the weights of the sample
        found = {"loss": loss.name, "regularisation": loss.C, "measure": measure, "score": score}
        return trial._replace(round=None, seconds=clock.spent - began, **found)


def labels_of(Y: Any) -> Any:
    """Return the numbers of the classes, from codes of 1 and -1."""
    return (Y[:, 0] > 0.0).astype(np.int64) if Y.shape[1] == 1 else Y.argmax(axis=1)


def check_search(
    task: str,
    map: MapArgument,
    loss: str,
    class_weight: ClassWeightArgument,
    features: Any,
    rounds: Any,
    seconds: float | None,
) -> None:
    """Refuse arguments that are invalid for any search."""
    check_choice("task", task, TASKS[1:])
    if not isinstance(map, str):
        raise TypeError(f"map must be 'auto' or the name of a map, since its kernel is searched, found {map!r}")
    check_choice("loss", loss, ("auto", *BENT))
    check_whole("features", features)
    if rounds is not None:
        check_whole("rounds", rounds)
    if seconds is not None:
        check_positive("seconds", seconds)
    check_choice("class_weight", class_weight, ("balanced", None))
    check_class_weight(task, class_weight)
