"""The search for a kernel, its bandwidth and the regularisation of a table, and for the model that has them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

import numpy as np

from .._checks import check_choice, check_positive, check_whole
from .._random import as_seed
from ..data import Table
from .candidates import Candidate, Family, families_of, grid, scales_of, some_rows
from .clocks import Clock, OutOfTimeError
from .halving import FIRST_ROWS, MORE_ROWS, Round, Sample, Setting, Trial, halved, rounds_of
from .learners import TASKS, learner_for
from .samples import sample_of

ROUNDS = 4
APART, MOST_APART = 0.2, 20_000
"""The share of the rows, and how many at most, on which classifiers are compared."""
STEP, MOST_TRIED = 4.0, 5
"""What is between two values of C, and how many are tried at most."""
BENT = {"squared": 1.0, "squared_hinge": 1.0, "logistic": 8.0}
"""How many times as large C is for losses that are bent less."""
SLOWER = {"classification": 3.5, "regression": 6.0}
"""How many times as long a fit with twice the features takes, at best: it is ended where it takes longer."""
ITERATED = 2.5
"""How many times as long a fit takes that iterates, at best."""
COMPARED = (6000, 1024)
"""Rows and features with which losses are compared, at most."""
DECIDED = 0.7
"""The share of the time after which no other C is tried."""
FIT = "fit"
DEPENDENT = "the features are linearly dependent"
"""How a warning begins of least squares whose alpha is too small for its features."""


class Loss(NamedTuple):
    """The loss of a classifier, and its C."""

    name: str
    C: float


class Tuned(NamedTuple):
    """What a search has found.

    ``model`` is fitted to all rows; ``trials`` has what was tried, in order; ``fits`` those of the model, each with
    more features than the one before; ``notes`` tell in words what was left out for lack of time.
    """

    model: Any
    trials: list[Trial]
    fits: list[Trial]
    notes: list[str]

    def in_order(self) -> list[Trial]:
        """Trials by round, the best first, and then the fits."""
        return sorted(self.trials, key=lambda one: (one.round, math.isnan(one.score), -one.score)) + self.fits


class Search:
    """Finds a kernel, its bandwidth and the regularisation by successive halving, and fits the model that has them.

    Many kernels are tried on few rows with few features, a fifth of them on three times the rows with twice the
    features, and so on; the best of a round is joined by its neighbours. A trial is one ridge regression, of
    classes as 1 and -1 too: its eigendecomposition gives the leave-one-out errors of 25 alphas at once, and so both
    the regularisation and the score without another fit. For a loss other than "squared" the best kernel is then tried
    with several values of C on rows that were kept apart. The model is fitted to all rows, with twice the features as
    long as there is time; where a wider map starts with the features of the narrower one, as Fourier maps do, its fit
    starts with the coefficients of the narrower one's.

    Equal arguments and an equal seed make the same choice, unless time cuts the search short.

    Parameters
    ----------
    table : Table with a target
    task : "classification" or "regression"
    kernels : kernels or texts that describe them, or None
        A bandwidth that is "median" or "scale" is searched, from an eighth of that length to eight times; numbers stay
        as they are. None is Gaussian, Laplacian, Matern and polynomial kernels.
    map : "auto" or the name of a map
    scale : "auto", "standard", "unit", "minmax" or None
        "auto" tries "standard" and "minmax", and takes None for kernels that take no negative values.
    loss : of a classifier, "auto", "squared", "squared_hinge" or "logistic"
        "auto" grows with "squared", which leaves time for about twice the features, and ends with "squared_hinge" where
        that did better on the rows apart and there is time for it.
    features : the width of the last map, at most
    rounds : how many rounds there are, at most
    seconds : how long all of it may take, about, or None
        A round that would not end in half the time is left out, and the last map is as wide as time allows.
    missing, unknown, dates, memory, random_state, n_jobs : see :class:`mercer.KernelClassifier`
    progress : function that is called with a line about each round and each fit, or None

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
        kernels: Sequence[Any] | None = None,
        map: Any = "auto",
        scale: str | None = "auto",
        loss: str = "auto",
        features: int = 8192,
        rounds: int = ROUNDS,
        seconds: float | None = None,
        missing: str = "error",
        unknown: str = "error",
        dates: str = "number",
        memory: Any = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
        progress: Callable[[str], None] | None = None,
    ):
        check_choice("task", task, TASKS[1:])
        check_choice("loss", loss, ("auto", *BENT))
        check_whole("features", features)
        check_whole("rounds", rounds)
        if seconds is not None:
            check_positive("seconds", seconds)
        self.table, self.task, self.loss, self.features, self.rounds = table, task, loss, features, rounds
        self.kernels, self.scale, self.memory = families_of(kernels), scale, memory
        self.missing = missing
        self.preparing: dict[str, Any] = {"missing": missing, "unknown": unknown, "dates": dates}
        clock = Clock(None if seconds is None else float(seconds))
        self.setting = Setting(map, as_seed(random_state), n_jobs, clock, progress or (lambda line: None))

    # -- what is to be done --------------------------------------------------------------------------------------------

    @property
    def apart(self) -> int:
        """Rows of the sample that are kept apart, to compare classifiers on."""
        needed = self.task == "classification" and self.loss != "squared"
        return min(MOST_APART, int(APART * self.table.n_rows)) if needed else 0

    @property
    def scales(self) -> list[str | None]:
        """Every scale that some kernel asks for, once."""
        return list(dict.fromkeys(scale for kernel in self.kernels for scale in scales_of(kernel, self.scale)))

    def plan(self, n_rows: int | None = None) -> list[Round]:
        """The rounds, if there is time for all of them; ``n_rows`` is how many rows they have at most."""
        n_rows = self.table.n_rows - self.apart if n_rows is None else n_rows
        pairs = [(kernel, scale) for kernel in self.kernels for scale in scales_of(kernel, self.scale)]
        count = sum(len(grid(Family(kernel, scale, np.eye(2), 0))) for kernel, scale in pairs)
        return rounds_of(n_rows, count, self.features, self.rounds)

    @cached_property
    def sample(self) -> Sample:
        """Rows to search on; the last of them are those apart."""
        wanted = FIRST_ROWS * MORE_ROWS ** (self.rounds - 1) + self.apart
        return sample_of(self.table, wanted, self.task, self.scales, self.setting.seed, self.memory, **self.preparing)

    def candidates(self) -> list[Candidate]:
        """The kernels of the first round."""
        some, seed = {scale: some_rows(X, self.setting.seed) for scale, X in self.sample.X.items()}, self.setting.seed
        return [
            candidate
            for kernel in self.kernels
            for scale in scales_of(kernel, self.scale)
            for candidate in grid(Family(kernel, scale, some[scale], seed))
        ]

    # -- the search ----------------------------------------------------------------------------------------------------

    def run(self) -> Tuned:
        """Search, and fit the model to all rows."""
        rounds = self.plan(max(1, self.sample.n_rows - self.apart))
        found = halved(self.candidates(), rounds, self.sample, self.setting)
        if not found.ranked:
            self._refuse()
        best, trial = found.ranked[0]
        growing, ending, more = self._decided(best, trial) if self.apart else (self._least(trial), None, [])
        number = trial.round + (2 if more else 1)
        model, fits, notes = self._grown(best, trial._replace(round=number), growing)
        if ending is not None:
            model, fits, notes = self._ended(best, ending, model, fits, notes)
        return Tuned(model, found.trials + more, fits, [*found.notes, *notes])

    def _refuse(self) -> NoReturn:
        """Raise what a learner says of the rows, with their numbers, where no kernel could be tried."""
        kernel = self.kernels[0]
        learner_for(
            self.task, kernel=kernel, n_components=1, scale=scales_of(kernel, self.scale)[0], **self.preparing
        ).fit(self.table)
        raise ValueError(f"no kernel could be tried on these rows, {kernel!r} not either")

    def _learner(self, best: Candidate, width: int, **options: Any) -> Any:
        setting, scale = self.setting, best.family.scale
        common = {"map": setting.map, "n_components": width, "random_state": setting.seed, "n_jobs": setting.n_jobs}
        return learner_for(self.task, kernel=best.kernel, **({"scale": scale} | common | options))

    def _least(self, trial: Trial) -> Loss:
        """Least squares as strong as in a trial."""
        return Loss("squared", 0.5 / trial.regularisation)

    def _decided(self, best: Candidate, trial: Trial) -> tuple[Loss, Loss | None, list[Trial]]:
        """The loss that the model grows with, another that it ends with or None, and what was tried on rows apart."""
        least = self._least(trial)
        rows, features = (min(pair) for pair in zip(COMPARED, (trial.rows, trial.features), strict=True))
        trial = trial._replace(rows=rows, features=features)
        name = "squared_hinge" if self.loss == "auto" else self.loss
        chosen, tried = self._climbed(best, trial, Loss(name, least.C * BENT[name]))
        if self.loss != "auto":
            return chosen, None, tried
        plain = self._compared(best, trial, least)
        better = max(one.score for one in tried) > plain.score
        return least, chosen if better else None, [plain, *tried]

    def _climbed(self, best: Candidate, trial: Trial, middle: Loss) -> tuple[Loss, list[Trial]]:
        """The C that does best on the rows apart, in steps of four as long as they help."""
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
        """A classifier on the rows of a trial, scored on the rows apart."""
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
        found = {"loss": loss.name, "regularisation": loss.C, "measure": "accuracy", "score": score}
        return trial._replace(round=trial.round + 1, seconds=clock.spent - began, **found)

    # -- the model -----------------------------------------------------------------------------------------------------

    def _grown(self, best: Candidate, trial: Trial, loss: Loss) -> tuple[Any, list[Trial], list[str]]:
        """The model with twice the features as long as there is time, and at least that of the last round."""
        clock, width = self.setting.clock, trial.features
        model: Any = None
        fits: list[Trial] = []
        while True:
            began = clock.spent
            try:
                model = self._fitted(best, width, loss, model)
            except (OutOfTimeError, UserWarning) as end:
                why = "did not end in time" if isinstance(end, OutOfTimeError) else "needs more regularisation"
                note = f"the fit with {width:,} features {why}: the model has {model.n_components:,}"
                return model, fits, [note]
            took = clock.spent - began
            fits.append(self._fit_of(model, best, trial.round, took))
            wider = min(2 * width, self.features)
            if wider == width or width >= self.table.n_rows:  # as many features as rows are exact
                return model, fits, []
            if not clock.allows(took * SLOWER[self.task] * (wider / width / 2) ** 2):
                return model, fits, [f"there was no time for more than {width:,} of {self.features:,} features"]
            width = wider

    def _ended(
        self, best: Candidate, loss: Loss, model: Any, fits: list[Trial], notes: list[str]
    ) -> tuple[Any, list[Trial], list[str]]:
        """The model with another loss, from where it is, if there is time."""
        clock, began = self.setting.clock, self.setting.clock.spent
        missed = [*notes, f"there was no time for the loss {loss.name!r}, which did better on few rows"]
        if not clock.allows(fits[-1].seconds * ITERATED):
            return model, fits, missed
        try:
            other = self._fitted(best, model.n_components, loss, model)
        except OutOfTimeError:
            return model, fits, missed
        return other, [*fits, self._fit_of(other, best, fits[-1].round, clock.spent - began)], notes

    def _fitted(self, best: Candidate, width: int, loss: Loss, start: Any) -> Any:
        """A learner fitted to all rows; one that starts from another may be ended by time or dependent features."""
        self.setting.told(f"fit: {self.table.n_rows:,} rows, {width:,} features, {loss.name}")
        given = {"loss": loss.name, "C": loss.C, "alpha": "loo", "memory": self.memory, **self.preparing}
        learner = self._learner(best, width, **given)
        if start is None:
            return learner.fit(self.table)
        learner.set_params(callback=self.setting.clock.tick)
        learner._narrower = start
        with warnings.catch_warnings():
            warnings.filterwarnings("error", DEPENDENT)  # what would follow takes far longer than there is time for
            learner.fit(self.table)
        del learner._narrower
        return learner.set_params(callback=None)

    def _fit_of(self, model: Any, best: Candidate, number: int, seconds: float) -> Trial:
        loss, strength = (model.loss, model.C) if self.task == "classification" else ("squared", model.alpha_)
        width, found = model.map_.n_components_, (repr(best.kernel), best.family.scale, loss, strength)
        return Trial(number, *found, self.table.n_rows, width, FIT, math.nan, seconds)


def labels_of(Y: Any) -> Any:
    """The numbers of the classes, from 1 and -1."""
    return (Y[:, 0] > 0.0).astype(np.int64) if Y.shape[1] == 1 else Y.argmax(axis=1)
