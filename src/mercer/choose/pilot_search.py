"""The search that starts from the default learner and changes it for as long as that helps and there is time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from .._caller import without_warnings
from .._defaults import LEARNER_WIDTH, WIDEST_LEARNER, WIDEST_SEARCHED
from .._random import as_seed
from ..data import ArrayTable, Table
from ..data.block import Block, rows_of
from ..learn import KernelClassifier, KernelRegressor
from ..learn.context import FitContext
from ..learn.learned_columns.leave_one_out_scales import learn_column_scales
from ..learn.map_choice import width_asked
from ..learn.pilot.search import COLUMN_ROWS, FEWEST_COLUMN_ROWS, MOST_COLUMNS
from ..learn.pilot.trials import clearly_better, not_worse
from ..learn.prepare.preparation import Preparation
from .fit_times import seconds_like, work_of
from .growth import FIT, SURE
from .halving import HELD_OUT, HELD_OUT_ACCURACY, HELD_OUT_BALANCED, Round, Setting, Trial
from .samples import balanced_weights, check_varies, codes_of, drawn, most_rows
from .search import Tuned, check_search
from .time_budget import Clock, OutOfTimeError
from .variants import (
    LOSSES,
    UNITS,
    Variant,
    family_of,
    finer,
    other_bandwidths,
    other_kernels,
    other_losses,
    other_penalties,
)

Matrix = NDArray[np.float64]

HELD, MOST_HELD, FEWEST_HELD = 0.2, 8000, 20
"""The share of the rows on which machines are compared, their largest number, and the least number for a search.

The same number of rows is used only for the final confirmation of the result.
"""
LAPS = 3
"""The largest number of times that a search starts again on other rows and uses the confirmation rows."""
STRICTER = 0.5
"""The number of standard errors by which every further use of the confirmation rows raises the required gain."""
CANDIDATES = 2
"""The largest number of machines that are compared in each of these uses."""
SEARCHED = 50_000
"""The largest number of rows for the search, including those held out."""
FIRST_WIDTH = LEARNER_WIDTH
"""The largest number of features with which changes are tried at first."""
FIRST_STEP, LAST_STEP = 2.0, 2.0**0.25
"""The first factor by which bandwidths are changed (its square for penalties), and the smallest such factor."""
BEGUN = 0.4
"""The search starts only if the default learner is fitted within this share of the time."""
AS_IT_IS = "the model is the default learner"
COLUMN_STEPS, MOST_COLUMN_ROWS = 40, 4 * COLUMN_ROWS
"""The iterations of learning column scales, and the largest number of rows from which they are learned."""
CONFIRMED = "nothing was better than the default learner"
COLUMN_SHARE = 1.0 / 3.0
"""The share of its time that the default learner is assumed to have spent on column scales."""


class Tried(NamedTuple):
    """A machine that was tried."""

    variant: Variant
    trial: Trial
    errors: Matrix
    """The contribution of each held-out row to the error."""


def better_in_both_halves(errors: Matrix, other: Matrix, by: float) -> bool:
    """Return whether errors are below others by this many standard errors, and below them in both halves of the rows.

    If targets have heavy tails, a few rows cause most of an error and of its standard error, and they must not decide
    by being in one of the halves.
    """
    half = len(errors) // 2
    parts = slice(half), slice(half, None)
    return clearly_better(errors, other, by) and all(errors[part].sum() < other[part].sum() for part in parts)


def chosen(default: Tried, others: Sequence[Tried]) -> Tried:
    """Return the machine with which a search ends: the default learner unless another is better by a standard error.

    Among the better machines that are at most a standard error worse than the best of them, it is the narrowest; among
    equally narrow ones, the best.
    """
    better = [one for one in others if clearly_better(one.errors, default.errors)]
    if not better:
        return default
    best = min(better, key=lambda one: one.errors.sum())
    alike = [one for one in better if one is best or not_worse(one.errors, best.errors)]
    return min(alike, key=lambda one: (one.trial.features, one.errors.sum()))


class PilotSearch:
    """A search that changes the default learner step by step, judged by held-out rows, and fits the best machine.

    Parameters
    ----------
    table : Table
        The rows, with a target.
    task : {"classification", "regression"}
        The kind of prediction.
    map : str, default="auto"
        "auto" or the name of a map.
    scale : {"auto", "standard", "unit", "minmax"} or None, default="auto"
        How columns are scaled. "auto" leaves it to the pilot.
    loss : {"auto", "squared", "squared_hinge", "logistic"}, default="auto"
        The loss of a classifier. "auto" starts with the loss of the default learner and tries the others.
    class_weight : {"balanced"} or None, default=None
        With "balanced", machines are scored and fitted with equal weight on each class.
    features : int, default=8192
        The largest number of features.
    rounds : int or None, default=None
        The largest number of rounds. None means as many as there is time for.
    seconds : float or None, default=None
        The largest total time. None means no limit.
    missing : {"auto", "error", "mean", "indicator"}, default="auto"
        How missing values are treated; see :class:`mercer.KernelClassifier`.
    unknown : {"auto", "error", "ignore"}, default="auto"
        How levels that ``fit`` has not seen are treated; see :class:`mercer.KernelClassifier`.
    dates : {"auto", "number", "parts"}, default="auto"
        How dates become numbers; see :class:`mercer.KernelClassifier`.
    memory : int, str or None, default=None
        The largest amount of memory for features; see :class:`mercer.KernelClassifier`.
    random_state : int, Generator, RandomState or None, default=0
        The seed of the split and of the maps.
    n_jobs : int or None, default=None
        The number of threads; see :class:`mercer.KernelClassifier`.
    progress : callable or None, default=None
        A function that is called with a line about each trial and each fit.
    ending : callable or None, default=None
        A function that is given a :class:`Trial` that describes a fit of the model, and returns how many of the seconds
        to reserve for what the caller does with such a model.

    Notes
    -----
    Rows are split by the seed into rows for training, rows held out for comparisons, and as many rows held out for
    confirmation. The default learner, which lets a pilot choose, is fitted first, and all others are compared with it.
    One property of the best machine so far is changed at a time, starting with 1,024 features: its kernel, its
    bandwidth, the scales of its columns, its penalty, its loss and, last in every round because everything after it
    takes longer, its number of features. A change is kept if it reduces the error on the rows for comparisons by more
    than one standard error; otherwise the cheaper machine stays. Rounds continue while there is time, with smaller
    steps when none has helped.

    The best machine is then fitted, like the default learner, to all rows except those for confirmation, which have had
    no influence until then. It replaces the default learner only if it is better on them too, by a standard error and
    in both halves. While there is time, the search starts again from the best machine with other rows for comparisons.
    Finally the best machine is fitted to all rows, for which time is reserved; this is the default learner if nothing
    was better.

    The same number of rounds and the same seed lead to the same choice, unless time cuts the search short.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> table = mercer.data.open(X, target=np.abs(X).sum(axis=1))
    >>> found = mercer.choose.PilotSearch(table, "regression", rounds=1, features=64).run()
    >>> found.trials[0].rows, max(one.score for one in found.trials) >= found.trials[0].score
    (180, True)
    """

    kernels: tuple[Any, ...] = ()
    """The given kernels; there are none."""

    def __init__(
        self,
        table: Table,
        task: str,
        *,
        map: Any = "auto",
        scale: str | None = "auto",
        loss: str = "auto",
        class_weight: Any = None,
        features: int = WIDEST_SEARCHED,
        rounds: int | None = None,
        seconds: float | None = None,
        missing: str = "auto",
        unknown: str = "auto",
        dates: str = "auto",
        memory: Any = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
        progress: Callable[[str], None] | None = None,
        ending: Callable[[Trial], float] | None = None,
    ):
        check_search(task, map, loss, class_weight, features, rounds, seconds)
        self.table, self.task, self.features, self.rounds = table, task, features, rounds
        self.is_classes = task == "classification"
        self.loss, self.class_weight, self.memory = loss, class_weight, memory
        self.asked_missing = missing
        self.preparing: dict[str, Any] = {"scale": scale, "missing": missing, "unknown": unknown, "dates": dates}
        self.ending = ending or (lambda fit: 0.0)
        clock = Clock(None if seconds is None else float(seconds))
        self.setting = Setting(map, as_seed(random_state), n_jobs, clock, progress or (lambda line: None))
        self.trials: list[Trial] = []
        self.columns: list[Matrix | None] = [None]
        """The scales of columns to which variants refer."""
        self._column_seconds: tuple[int, float] | None = None
        self._tried: list[Tried] = []
        self._names: set[Any] = set()
        self._missed, self._widens, self._lap = 0, True, 0
        self._asked: Matrix | None = None
        """The contributions of the confirmation rows to the error of the best machine so far."""

    # -- sizes and plans --------------------------------------------------------------------------------------------

    @property
    def n_drawn(self) -> int:
        """The number of rows for the search, including those held out."""
        return min(self.table.n_rows, SEARCHED, most_rows(self.table, self.memory))

    @property
    def n_held(self) -> int:
        """The number of rows on which machines are compared; the same number is used for confirmation."""
        return min(int(HELD * self.n_drawn), MOST_HELD)

    @property
    def n_searched(self) -> int:
        """The number of rows from which machines learn."""
        return self.n_drawn - 2 * self.n_held

    def plan(self) -> list[Round]:
        """Return the first round, if there is time for all of it.

        Returns
        -------
        list of Round
            One round, or none if there are too few rows.
        """
        changes = len(UNITS) - 1 + 2 + 1 + 2 + 1 + (len(LOSSES) - 1 if self._tries_losses else 0)
        return [Round(1, self.n_searched, self.features, 1 + changes)]

    @property
    def seconds_left(self) -> float | None:
        """The remaining time in seconds, or None if it is not known."""
        clock = self.setting.clock
        return None if clock.seconds is None else max(clock.seconds - clock.spent, 0.0)

    @property
    def _tries_losses(self) -> bool:
        return self.is_classes and self.loss == "auto"

    # -- rows ----------------------------------------------------------------------------------------------------------

    @cached_property
    def _drawn(self) -> Block:
        """Rows in the order of the seed; the last of them are the confirmation rows."""
        return drawn(self.table, self.n_drawn, self.setting.seed)[0]

    @property
    def _held_numbers(self) -> NDArray[np.int64]:
        """The rows on which machines are compared, different ones in every lap."""
        return self._lap * self.n_held + np.arange(self.n_held)

    @property
    def _searched_numbers(self) -> NDArray[np.int64]:
        return np.setdiff1d(np.arange(self.n_drawn - self.n_held), self._held_numbers)

    @cached_property
    def _searched(self) -> ArrayTable:
        return ArrayTable(*rows_of(self._drawn, self._searched_numbers))

    @cached_property
    def _held(self) -> Block:
        return rows_of(self._drawn, self._held_numbers)

    @cached_property
    def _all_but_last(self) -> ArrayTable:
        return ArrayTable(*rows_of(self._drawn, np.arange(self.n_drawn - self.n_held)))

    @cached_property
    def _last(self) -> Block:
        return rows_of(self._drawn, np.arange(self.n_drawn - self.n_held, self.n_drawn))

    @cached_property
    def _columns_of_all(self) -> Preparation:
        """The facts about the columns of all rows, above all their levels, that are found without using targets."""
        learner = self._default()
        with without_warnings():
            return learner.columns_learned(learner.table_to_fit(self.table))

    def _errors(self, model: BaseEstimator, held: Block) -> Matrix:
        """Return how much each held-out row contributes to the error: 1 - R2, or the share of wrong predictions."""
        y = np.asarray(held.y)
        with without_warnings():
            told = np.asarray(model.predict(ArrayTable(held.X))).reshape(len(y), -1)
        y = y.reshape(len(y), -1)
        weight = np.ones(len(y)) if held.weight is None else held.weight
        if self.is_classes:
            weight = balanced_weights(held.y, weight) if self.class_weight == "balanced" else weight
            return weight * (told != y).any(axis=1) / weight.sum()
        numbers = y.astype(np.float64)
        spread = np.average((numbers - np.average(numbers, axis=0, weights=weight)) ** 2, axis=0, weights=weight)
        squares = (numbers - told) ** 2 / np.where(spread > 0.0, spread, 1.0)
        return weight * squares.mean(axis=1) / weight.sum()

    # -- machines ------------------------------------------------------------------------------------------------------

    def _learner(self, **arguments: Any) -> Any:
        common = {"random_state": self.setting.seed, "n_jobs": self.setting.n_jobs, "memory": self.memory}
        if not self.is_classes:
            return KernelRegressor(**common, **self.preparing | arguments)
        return KernelClassifier(class_weight=self.class_weight, **common, **self.preparing | arguments)

    def _default(self) -> Any:
        """Return the default learner, limited to the allowed number of features."""
        width = None if self.features >= WIDEST_LEARNER else min(self.features, LEARNER_WIDTH)
        loss = {} if self.loss == "auto" or not self.is_classes else {"loss": self.loss}
        return self._learner(map=self.setting.map, n_components=width, **loss)

    def _machine(self, variant: Variant) -> Any:
        """Return the learner of a variant, which leaves nothing to a pilot."""
        name = "C" if self.is_classes else "alpha"
        return self._learner(
            kernel=variant.kernel,
            map="Nystrom" if self.setting.map == "auto" else self.setting.map,
            n_components=variant.features,
            loss=variant.loss,
            columns=None,
            scale=self._plain.scale,
            dates=self._plain.dates,
            **{name: variant.penalty},
        )

    def _prepared(self, variant: Variant) -> Preparation:
        scales = self.columns[variant.columns]
        return self._plain if scales is None else self._plain.with_column_scales(scales)

    # -- the search ----------------------------------------------------------------------------------------------------

    def run(self) -> Tuned:
        """Search, and fit the best machine to all rows.

        Returns
        -------
        Tuned
            The fitted model, and what was tried.
        """
        if not self.is_classes:
            check_varies(np.asarray(self._drawn.y, dtype=np.float64))
        variant, notes = self._best()
        return self._ended(variant, notes)

    def _best(self) -> tuple[Variant | None, list[str]]:
        """Return the best machine, or None for the default learner, and remarks about the search."""
        if self.n_held < FEWEST_HELD:
            return None, [f"there are too few rows to hold some out: {AS_IT_IS}"]
        try:
            default = self._begun()
        except OutOfTimeError:
            return None, [f"there was no time to search: {AS_IT_IS}"]
        except ValueError:  # the fit to all rows raises it again, with the right row numbers, or succeeds
            return None, [f"training on a part of the rows failed: {AS_IT_IS}"]
        number, winner = 0, None
        for self._lap in range(LAPS):
            if self._lap:
                again = self._again(default, winner)
                if again is None:
                    break
                default = again
            number = self._searched_through(default, number)
            confirmed = self._confirmed(default, winner)
            winner = winner if confirmed is None else confirmed
            if self.rounds is not None and number >= self.rounds:
                break
        notes = [CONFIRMED] if winner is None else []
        if self._missed:
            notes.append(f"{self._missed} changes were left out for lack of time")
        return winner, notes

    def _searched_through(self, default: Tried, number: int) -> int:
        """Run rounds of changes until none helps any more, after this many rounds; return the new number of rounds."""
        best = default
        for self._widens in (True, False):  # a change with no time for the default width may fit with fewer features
            best, step = self._narrowed(default) if best is default else best, FIRST_STEP
            while step >= LAST_STEP and (self.rounds is None or number < self.rounds):
                number += 1
                before, self._missed = best, 0
                best = self._round(best, number, step)
                if best is before:
                    step = finer(step)
        return number

    def _again(self, default: Tried, winner: Variant | None) -> Tried | None:
        """Return the best machine so far, on other rows; None if there is no time for more."""
        if self.rounds is None and self.setting.clock.seconds is None:
            return None  # as long as it takes: until no change helps
        first = default.variant if winner is None else winner
        for name in ("_searched", "_held", "_plain_rows"):
            self.__dict__.pop(name, None)
        self._names, self._tried = set(), []
        return self._fitted(default._replace(variant=first), first, self.trials[-1].round or 1)

    # -- confirmation -------------------------------------------------------------------------------------------------

    def _confirmed(self, default: Tried, winner: Variant | None) -> Variant | None:
        """Return the machine of this lap that is better than the best so far on rows that the search has not used."""
        first = chosen(default, self._tried)
        if first is default:
            return None
        better = sorted(self._tried, key=lambda one: one.errors.sum())
        candidates = [first, *(one for one in better if one is not first)][:CANDIDATES]
        if self._asked is None:
            self._asked = self._answer(self._default(), None, default.trial)
        found, best = None, self._asked
        for one in candidates:
            errors = None if best is None else self._answer(self._machine(one.variant), one.variant, one.trial)
            if best is None or errors is None:
                self._missed += 1
                break
            if better_in_both_halves(errors, best, 1.0 + STRICTER * self._lap):
                found, best = one.variant, errors
        self._asked = best
        return found

    def _answer(self, learner: BaseEstimator, variant: Variant | None, trial: Trial) -> Matrix | None:
        """Return the confirmation rows' contributions to the error of a learner of all others; None if out of time."""
        clock = self.setting.clock
        clock.kept = self._kept(trial)
        if not clock.allows(self._answer_seconds(trial)):
            return None
        self.setting.told(f"confirmation: {self._all_but_last.n_rows:,} rows, {trial.features:,} features")
        preparation = self._columns_of_all if variant is None else self._prepared(variant)
        context = FitContext(progress=clock.tick, preparation=preparation)
        try:
            with without_warnings():
                model = learner.fit_table(learner.table_to_fit(self._all_but_last), context)
        except (OutOfTimeError, ValueError, MemoryError, np.linalg.LinAlgError):
            return None
        return self._errors(model, self._last)

    def _begun(self) -> Tried:
        """Return the default learner, fitted to the rows for training."""
        clock, learner = self.setting.clock, self._default()
        self.setting.told(f"the default learner: {self._searched.n_rows:,} rows")
        began = clock.spent

        def tick(_: Any) -> None:
            if not clock.allows(0.0, BEGUN):
                raise OutOfTimeError

        context = FitContext(progress=tick, preparation=self._columns_of_all)
        with without_warnings():  # the fit to all rows issues its own warnings
            model = learner.fit_table(learner.table_to_fit(self._searched), context)
        tick(None)
        self._plain = self._columns_of_all.rescaled(model.preparation_.scale)
        scales = model.preparation_.column_scales
        self.columns = [None] if scales is None else [None, scales]
        errors = self._errors(model, self._held)
        self.width = min(width_asked(learner) if model.choice_ is None else model.choice_.n_components, self._widest)
        trial = self._trial(model, 1, errors, clock.spent - began, scales is not None)._replace(features=self.width)
        self.trials.append(trial)
        kernel, strength = family_of(model.map_.kernel_), trial.regularisation
        default = Variant(*kernel, self.width, trial.loss, strength, len(self.columns) - 1)
        self._names.add(default.name)
        return Tried(default, trial, errors)

    def _narrowed(self, default: Tried) -> Tried:
        """Return the start of the search: the default learner, or a narrower one, whose changes take less time."""
        width = min(default.variant.features, FIRST_WIDTH)
        return self._fitted(default, default.variant._replace(features=width), 1) or default

    def _round(self, best: Tried, number: int, step: float) -> Tried:
        """Try every kind of change in turn, each again as long as it helps."""
        for change in (other_kernels, other_bandwidths, self._other_columns, other_penalties, self._other_losses):
            before = None
            while before is not best:
                before = best
                for other in change(before.variant, step):
                    best = self._compared(best, other, number)
        # A machine found with fewer features than the default learner must still be compared with it at full width.
        width = best.variant.features
        wider = self.width if width < self.width else 2 * width
        return self._compared(best, best.variant._replace(features=min(wider, self._widest)), number)

    @property
    def _widest(self) -> int:
        return min(self.features, self._searched.n_rows)

    def _compared(self, best: Tried, other: Variant, number: int) -> Tried:
        """Return the better of two, if there is time to try the other."""
        tried = self._fitted(best, other, number)
        return tried if tried is not None and clearly_better(tried.errors, best.errors) else best

    def _fitted(self, best: Tried, other: Variant, number: int) -> Tried | None:
        """Fit another machine to the rows for training; return None if it does not exist or there is no time."""
        if other.name in self._names:
            return None
        if not self._has_time_for(best, other):
            self._missed += 1
            return None
        self._names.add(other.name)
        clock = self.setting.clock
        self.setting.told(f"round {number}: {other.kernel!r}, {other.loss}, {other.features:,} features")
        began = clock.spent
        clock.kept = self._kept(best.trial) + self._answer_seconds(best.trial)
        clock.kept += self._answer_seconds(self.trials[0]) if self._asked is None else 0.0
        learner = self._machine(other)
        context = FitContext(progress=clock.tick, preparation=self._prepared(other))
        try:
            with without_warnings():  # a variant may well be unsuitable, which its score shows
                model = learner.fit_table(learner.table_to_fit(self._searched), context)
        except OutOfTimeError:
            self._missed += 1
            return None
        except (ValueError, MemoryError, np.linalg.LinAlgError):
            return None  # a variant that cannot be fitted is not better
        errors = self._errors(model, self._held)
        trial = self._trial(model, number, errors, clock.spent - began, other.columns > 0)
        trial = trial._replace(features=other.features)
        self.trials.append(trial)
        self._tried.append(Tried(other, trial, errors))
        return self._tried[-1]

    def _other_losses(self, best: Variant, step: float) -> Iterator[Variant]:
        return other_losses(best, step) if self._tries_losses else iter(())

    def _other_columns(self, best: Variant, step: float) -> Iterator[Variant]:
        """Yield the machine with column scales learned from more rows, and without the scales of the pilot."""
        scales, X = self.columns[best.columns], self._plain_rows
        if X is None:
            return
        are_of_pilot = scales is not None and len(self.columns) == 2
        learned = self._learned(best, scales, X)
        if learned is not None:
            self.columns.append(learned)
            yield best._replace(columns=len(self.columns) - 1)
        if scales is not None and are_of_pilot:  # with a bandwidth that keeps the distances between rows
            spread = X.var(axis=0)
            yield best._replace(columns=0, gamma=best.gamma * float(scales**2 @ spread / spread.sum()))

    @cached_property
    def _plain_rows(self) -> Matrix | None:
        """Prepared rows from which to learn column scales; None if they are too few or unsuitable."""
        most = min(MOST_COLUMN_ROWS, self._searched.n_rows)
        block = rows_of(self._drawn, self._searched_numbers[:most])
        X = self._plain(block.X)
        enough = most >= FEWEST_COLUMN_ROWS and isinstance(X, np.ndarray) and 2 <= X.shape[1] <= MOST_COLUMNS
        return X.astype(np.float64) if enough and X.var(axis=0).any() else None

    def _learned(self, best: Variant, scales: Matrix | None, X: Matrix) -> Matrix | None:
        """Return column scales learned with the current kernel, from twice the rows of the last time."""
        last, took = self._column_seconds or (COLUMN_ROWS, COLUMN_SHARE * self.trials[0].seconds)
        rows = min(2 * last, len(X))
        name = best._replace(columns=-rows).name
        if name in self._names or (rows == last and self._column_seconds is not None):
            return None
        clock, kept = self.setting.clock, self._kept(self.trials[-1])
        if not clock.allows(took * max(1.0, (rows / last) ** 3) + kept):
            self._missed += 1
            return None
        self._names.add(name)
        self.setting.told(f"columns: {rows:,} rows")
        began = clock.spent
        block = rows_of(self._drawn, self._searched_numbers[:rows])
        Y = codes_of(block.y) if self.is_classes else standard(np.asarray(block.y, dtype=np.float64))
        found = learn_column_scales(
            X[:rows], Y, best.kernel, weight=block.weight, start=scales, max_iter=COLUMN_STEPS
        ).scales
        self._column_seconds = rows, clock.spent - began
        return found

    # -- time ----------------------------------------------------------------------------------------------------------

    def _has_time_for(self, best: Tried, other: Variant) -> bool:
        """Return whether there is time to try another machine and then to fit the better of the two to all rows.

        A machine that is narrower than the default learner must also be tried at the width of the default learner.
        """
        width = max(other.features, self.width) if self._widens else other.features
        seconds = self._expected(other.features, other.loss)
        if other.features < width:
            seconds += self._expected(width, other.loss)
        like = best.trial._replace(features=width, loss=other.loss, seconds=self._expected(width, other.loss))
        clock = self.setting.clock
        seconds += self._answer_seconds(max(best.trial, like, key=lambda one: one.seconds))
        if self._asked is None:
            seconds += self._answer_seconds(self.trials[0])
        return (
            clock.seconds is None or clock.spent + seconds + max(map(self._kept, (best.trial, like))) <= clock.seconds
        )

    def _expected(self, features: int, loss: str) -> float:
        """Return the expected seconds of a machine on the rows for training."""
        return seconds_like(self.trials, self._searched.n_rows, features, loss)

    def _answer_seconds(self, trial: Trial) -> float:
        """Return about how many seconds the confirmation of a machine like this takes."""
        grown = work_of(self.n_drawn - self.n_held, trial.features) / work_of(self.n_searched, trial.features)
        return SURE * trial.seconds * max(1.0, grown)

    def _kept(self, trial: Trial) -> float:
        """Return the seconds to reserve for a fit like a trial to all rows, and for what follows."""
        grown = work_of(self.table.n_rows, trial.features) / work_of(trial.rows, trial.features)
        fit = trial._replace(round=None, rows=self.table.n_rows, measure=FIT, seconds=trial.seconds * max(1.0, grown))
        return SURE * fit.seconds + self.ending(fit)

    # -- the model -----------------------------------------------------------------------------------------------------

    def _ended(self, variant: Variant | None, notes: list[str]) -> Tuned:
        """Fit a machine, or the default learner, to all rows."""
        learner = self._default() if variant is None else self._machine(variant)
        preparation = None if variant is None else self._prepared(variant)
        what = "the default learner" if variant is None else f"{variant.features:,} features, {variant.loss}"
        self.setting.told(f"fit: {self.table.n_rows:,} rows, {what}")
        began = self.setting.clock.spent
        model = learner.fit_table(learner.table_to_fit(self.table), FitContext(preparation=preparation))
        learned = model.preparation_.column_scales is not None
        fit = self._trial(model, None, None, self.setting.clock.spent - began, learned)
        return Tuned(model, self.trials, [fit._replace(rows=self.table.n_rows)], notes)

    def _trial(
        self, model: BaseEstimator, number: int | None, errors: Matrix | None, seconds: float, learned: bool
    ) -> Trial:
        score = math.nan if errors is None else 1.0 - float(errors.sum())
        measure = HELD_OUT_ACCURACY if self.is_classes else HELD_OUT
        if self.class_weight == "balanced":
            measure = HELD_OUT_BALANCED
        return Trial(
            number,
            repr(model.map_.kernel_),
            model.preparation_.scale,
            model.loss,
            float(model.C_ if self.is_classes else np.mean(model.alpha_)),
            self._searched.n_rows,
            int(model.map_.n_components_),
            FIT if errors is None else measure,
            score,
            seconds,
            learned,
        )


def standard(Y: Matrix) -> Matrix:
    """Return targets of equal spread, one column each."""
    Y = Y.reshape(len(Y), -1)
    spread = Y.std(axis=0)
    return (Y - Y.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
