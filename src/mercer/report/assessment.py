"""The quality of a fitted model on held-out rows: its scores, scores of other models, and warnings about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from sklearn.base import BaseEstimator

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
    """The results of a model on held-out rows; the fields are empty if there are no such rows.

    Attributes
    ----------
    held_out : int
        The number of held-out rows.
    scores : list of Score
        The scores of the model on these rows.
    unknown : UnknownLevels
        The number of held-out rows with levels that the model has not learned. Such a level is scored as no level at
        all.
    baselines : list of Baseline
        Other models, scored on the same rows.
    concerns : list of Concern
        What is wrong with the scores.
    imbalance : Imbalance or None
        The sizes of the classes in the training rows, if they are very different.
    interval : Interval or None
        The interval around predictions that holds 90 % of new targets. None for classes and quantiles.
    importances : list of Importance
        The columns by how much they matter, the largest first. Empty if the map has no gradients in closed form.
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
    model: BaseEstimator,
    train: Table,
    test: Table | None,
    *,
    trained: bool = True,
    random_state: RandomState = 0,
    progress: Callable[[str], None] | None = None,
) -> Assessment:
    """Score a fitted learner on held-out rows, compare it with other models, and report what is wrong with it.

    Parameters
    ----------
    model : KernelClassifier or KernelRegressor
        The fitted learner, which predicts one target.
    train : Table
        The rows on which it was trained.
    test : Table or None
        The held-out rows. If None, only the imbalance of classes is reported.
    trained : bool, default=True
        Whether to train other models for comparison. If False, the comparison is with the majority class or the mean
        only.
    random_state : int, Generator or RandomState, default=0
        The seed of the intervals and of the rows that are drawn.
    progress : callable or None, default=None
        A function that is called with one line of text about each of the other models.

    Returns
    -------
    Assessment
        The scores, the other models and the concerns.

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

    # Not strict: the fit has succeeded, and a problem with scores must not make it fail.
    measured = measures(model, test, strict=False, each=each)
    scores = scored(measured, random_state=random_state)
    given: dict[str, Any] = {"trained": trained, "random_state": random_state, "progress": progress}
    others = baselines(model, train, test, measured=measured, totals=totals, **given)
    worries = concerns(model, test, scores=scores, baselines=others)
    interval, important = interval_about(model, measured[1], measured[3], measured[2]), sampler.rows()
    columns = importances_among(model, test, important)
    return Assessment(test.n_rows, scores, strange.found, others, worries, uneven, interval, columns)
