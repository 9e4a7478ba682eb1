"""Fits of a search's model to all rows, with more and more features as long as there is time."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from sklearn.base import BaseEstimator

from .._tiles import n_threads
from ..data import Table
from ..learn.context import FitContext
from .candidates import Candidate
from .fit_times import seconds_at, widest, work_of
from .halving import Setting, Trial
from .learner_choice import learner_for
from .time_budget import OutOfTimeError

FIRST_FIT = 0.4
"""The share of the remaining time that the first fit may take; trials predict its time only roughly."""
LEAST_WIDTH = 64
"""The first fit has at least this many features, however little time there is."""
SURE = 1.15
"""A fit starts only if it would end in time even if it took this many times as long as expected."""
WORTH = 1.2
"""Another fit is worthwhile only if the map is wider by at least this factor."""
ITERATED = 2.5
"""The time of an iterative fit relative to least squares, at best."""
FIT = "fit"
DEPENDENT = "the features are linearly dependent"
"""The start of the warning of least squares whose alpha is too small for its features."""


class Loss(NamedTuple):
    """The loss of a classifier, and its C."""

    name: str
    C: float


class Growth:
    """Fits models to all rows of a table, each starting from the previous one."""

    table: Table
    task: str
    features: int
    memory: Any
    class_weight: str | None
    preparing: dict[str, Any]
    setting: Setting
    ending: Callable[[Trial], float]
    """The seconds that the caller needs after the search, for a model that was fitted like this."""

    def _learner(self, best: Candidate, width: int, **options: Any) -> Any:
        setting, scale = self.setting, best.family.scale
        common = {"map": setting.map, "n_components": width, "random_state": setting.seed, "n_jobs": setting.n_jobs}
        return learner_for(self.task, kernel=best.kernel, **({"scale": scale} | common | options))

    def _fit_alike(self, trial: Trial, width: int) -> Trial:
        """Return the fit of the model with this width that trials predict."""
        work = work_of(self.table.n_rows, width) / work_of(trial.rows, trial.features)
        seconds = trial.seconds * work / n_threads(self.setting.n_jobs)
        return trial._replace(round=None, rows=self.table.n_rows, features=width, measure=FIT, seconds=seconds)

    def _allows(self, seconds: float) -> bool:
        """Return whether there is time for work that is expected to take this long."""
        return self.setting.clock.allows(SURE * seconds)

    def _grown(self, best: Candidate, trial: Trial, loss: Loss) -> tuple[Any, list[Trial], list[str]]:
        """Return the model after doubling the features of the last round for as long as there is time."""
        clock, width = self.setting.clock, self._first_width(trial)
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
            fits.append(self._fit_of(model, best, clock.spent - began))
            clock.kept = self.ending(fits[-1])
            if width >= self.features or width >= self.table.n_rows:  # a map with as many features as rows is exact
                return model, fits, []
            wider = self._wider(fits, width)
            if wider < min(WORTH * width, self.features):
                return model, fits, [f"there was no time for more than {width:,} of {self.features:,} features"]
            width = wider

    def _first_width(self, trial: Trial) -> int:
        """Return the width of the last round, or less if there is little time."""
        clock, width = self.setting.clock, min(trial.features, self.features)
        while True:
            fit = self._fit_alike(trial, width)
            clock.kept = self.ending(fit)
            if width <= LEAST_WIDTH or fit.seconds <= FIRST_FIT * clock.left:
                return width
            width = max(width // 2, LEAST_WIDTH)

    def _wider(self, fits: list[Trial], width: int) -> int:
        """Return twice the width, or as much as there is time for, including what follows with such a model."""
        clock = self.setting.clock
        wider = min(2 * width, self.features)
        while wider > width:
            # What follows takes longer for a wider model as well.
            end = self.ending(fits[-1]._replace(features=wider, seconds=seconds_at(wider, fits)))
            time = math.inf if clock.seconds is None else clock.seconds - end - clock.spent
            found = widest(fits, wider, time / SURE)
            if found == wider:
                break
            wider = found
        return wider

    def _renewed(self, best: Candidate, loss: Loss, model: BaseEstimator, fits: list[Trial]) -> tuple[Any, list[Trial]]:
        """Return the model with another kernel and the same width, or unchanged if that does not end in time."""
        began = self.setting.clock.spent
        try:
            other = self._fitted(best, model.n_components, loss, model)
        except (OutOfTimeError, UserWarning):
            return model, fits
        return other, [*fits, self._fit_of(other, best, self.setting.clock.spent - began)]

    def _ended(
        self, best: Candidate, loss: Loss, model: BaseEstimator, fits: list[Trial], notes: list[str]
    ) -> tuple[Any, list[Trial], list[str]]:
        """Return the model with another loss, starting from its coefficients, if there is time."""
        clock, began = self.setting.clock, self.setting.clock.spent
        missed = [*notes, f"there was no time for the loss {loss.name!r}, which was better on few rows"]
        if not clock.allows(fits[-1].seconds * ITERATED):
            return model, fits, missed
        try:
            other = self._fitted(best, model.n_components, loss, model)
        except OutOfTimeError:
            return model, fits, missed
        return other, [*fits, self._fit_of(other, best, clock.spent - began)], notes

    def _fitted(self, best: Candidate, width: int, loss: Loss, start: Any) -> Any:
        """Return a learner fitted to all rows; lack of time or dependent features may end a warm start."""
        self.setting.told(f"fit: {self.table.n_rows:,} rows, {width:,} features, {loss.name}")
        given = {"loss": loss.name, "C": loss.C, "memory": self.memory, **self.preparing}
        learner = self._learner(best, width, class_weight=self.class_weight, **given)
        if start is None:
            return learner.fit(self.table)
        context = FitContext(progress=self.setting.clock.tick, warm_start=start)
        with warnings.catch_warnings():
            warnings.filterwarnings("error", DEPENDENT)  # continuing would take far longer than there is time for
            return learner.fit_table(learner.table_to_fit(self.table), context)

    def _fit_of(self, model: BaseEstimator, best: Candidate, seconds: float) -> Trial:
        loss, strength = (model.loss, model.C_) if self.task == "classification" else ("squared", model.alpha_)
        width, found = model.map_.n_components_, (repr(best.kernel), best.family.scale, loss, strength)
        return Trial(None, *found, self.table.n_rows, width, FIT, math.nan, seconds)
