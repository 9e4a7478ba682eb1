"""How good a fitted model is on rows held out: its scores beside other models', and what a user should know first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .._random import RandomState
from ..data import Table
from ..learn import KernelClassifier
from .baselines import Baseline, baselines
from .column_importances import Importance, RowSampler, importances_among
from .concerns import Concern, concerns
from .evaluation import measures, scored
from .imbalance import Imbalance, imbalance_of
from .interval import Interval, interval_about
from .scores import Score
from .target_totals import TargetTotals
from .unknown_levels import UnknownCounter, UnknownLevels, treating_unknown


class Assessment(NamedTuple):
    """What is known of a model once it has met the rows held out; empty where there are none.

    ``held_out`` is the number of these rows, and ``unknown`` counts those with levels that were not learned, which are
    scored as having none. ``imbalance`` describes classes of very different sizes among the rows learned from.
    ``interval`` is what holds nine new targets of a regressor in ten, and ``importances`` are the columns by how much
    they matter, the largest first; there are none for maps without gradients in closed form.
    """

    held_out: int
    scores: list[Score]
    unknown: UnknownLevels
    baselines: list[Baseline]
    concerns: list[Concern]
    imbalance: Imbalance | None
    interval: Interval | None
    importances: list[Importance]


def assess(
    model: Any,
    train: Table,
    test: Table | None,
    *,
    trained: bool = True,
    random_state: RandomState = 0,
    progress: Callable[[str], None] | None = None,
) -> Assessment:
    """Score a fitted learner on rows held out, set it beside other models, and say what is wrong with it.

    Parameters
    ----------
    model : KernelClassifier or KernelRegressor
        Fitted, with one target.
    train : Table
        The rows it has learned from.
    test : Table or None
        Rows that were held out; None leaves out everything but the imbalance of classes.
    trained : bool, default=True
        Whether to train the other models; without it there is only the majority class or the mean.
    random_state : int, default=0
        Seed of the intervals and of the rows that are drawn.
    progress : callable or None, default=None
        Called with a line about each other model.

    Returns
    -------
    Assessment

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> train, test = mercer.data.open(X, target=np.sin(X[:, 0])).split(test=0.25)
    >>> model = mercer.KernelRegressor(n_components=64, alpha="loo", random_state=0).fit(train)
    >>> found = mercer.report.assess(model, train, test, trained=False)
    >>> found.held_out, [score.name for score in found.scores], found.concerns
    (92, ['R2', 'RMSE', 'MAE'], [])
    """
    are_labels = isinstance(model, KernelClassifier)
    totals = TargetTotals.of(train, are_labels) if are_labels or test is not None else None
    uneven = imbalance_of(totals) if totals is not None and are_labels else None
    if test is None:
        return Assessment(0, [], UnknownLevels(0, 0, {}), [], [], uneven, None, [])
    strange, model = UnknownCounter(model.preparation_), treating_unknown(model)
    sampler = RowSampler(test.n_rows)

    def each(X: Any) -> None:
        strange.update(X)
        sampler.update(X)

    # Not strict: the fit is done, and its scores are not to end it.
    measured = measures(model, test, strict=False, each=each)
    scores = scored(measured, random_state=random_state)
    given: dict[str, Any] = {"trained": trained, "random_state": random_state, "progress": progress}
    others = baselines(model, train, test, measured=measured, totals=totals, **given)
    worries = concerns(model, test, scores=scores, baselines=others)
    interval, important = interval_about(model, measured[1], measured[3], measured[2]), sampler.rows()
    columns = importances_among(model, test, important)
    return Assessment(test.n_rows, scores, strange.found, others, worries, uneven, interval, columns)
