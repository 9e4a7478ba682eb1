"""Other models on the same rows: the majority class or the mean, a linear model, and boosted trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from .._checks import check_whole
from .._random import RandomState, as_seed
from ..data import Table
from ..learn import KernelClassifier
from .baseline_models import BoostedTrees, LeftOutError, LinearModel, Sampled, Told, of_table
from .evaluation import Measured, check_predicts, measures
from .scores import Metric, Score, bootstrap, classification_metrics, regression_metrics
from .target_totals import TargetTotals
from .unknown_levels import treating_unknown

MOST_ROWS = 20_000
"""The largest number of rows on which a linear model and boosted trees are trained."""
SIMPLEST = ("majority class", "mean")
NOTHING = Score("", float("nan"), float("nan"), float("nan"))


class Baseline(NamedTuple):
    """Another model, compared with a kernel machine on the same held-out rows.

    Attributes
    ----------
    name : str
        The name of the model.
    what : str
        A description of the model.
    rows : int
        The number of rows on which it was trained.
    scores : list of Score
        Its scores; empty if it was left out.
    gain : Score
        The advantage of the kernel machine in the first of the scores, or in balanced accuracy if its classes have
        weights, with an interval from the same bootstrap draws for both models. If it is above 0, the kernel machine is
        ahead.
    why : str
        The reason why the model was left out; empty if it was not.
    """

    name: str
    what: str
    rows: int
    scores: list[Score]
    gain: Score
    why: str = ""

    @property
    def is_simplest(self) -> bool:
        """Whether the model ignores all columns: the majority class, or the mean."""
        return self.name in SIMPLEST

    @property
    def ahead(self) -> bool:
        """Whether the model is better than the kernel machine by more than chance explains."""
        return bool(self.gain.high < 0.0)


def baselines(
    model: BaseEstimator,
    train: Table,
    test: Table,
    *,
    trained: bool = True,
    rows: int = MOST_ROWS,
    resamples: int = 200,
    level: float = 0.95,
    random_state: RandomState = 0,
    progress: Callable[[str], None] | None = None,
    measured: Measured | None = None,
    totals: TargetTotals | None = None,
) -> list[Baseline]:
    """Score other models on the held-out rows, for comparison with a fitted learner.

    These models are the majority class or the mean of the training rows; a linear model (logistic or ridge regression
    of scikit-learn, on the rows as the learner prepares them, with columns of variance 1); and boosted trees (LightGBM
    if it is installed, otherwise scikit-learn's, on the columns before they are scaled or filled). All of them weight
    rows and classes as the learner does. Time and memory have bounds that do not depend on the number of rows: the
    linear model and the trees learn from at most ``rows`` of the training rows, and from fewer if there are many
    columns or classes.

    Parameters
    ----------
    model : KernelClassifier or KernelRegressor
        The fitted learner, which predicts one target.
    train : Table
        The rows on which it was trained.
    test : Table
        The held-out rows, with targets.
    trained : bool, default=True
        Whether to train the linear model and the trees. If False, there is only the majority class or the mean.
    rows : int, default=20_000
        The largest number of rows on which the linear model and the trees are trained; they are drawn with the seed.
    resamples : int, default=200
        The number of bootstrap draws; see :func:`mercer.report.bootstrap`.
    level : float, default=0.95
        The level of the intervals; see :func:`mercer.report.bootstrap`.
    random_state : int, Generator or RandomState, default=0
        The seed of the intervals and of the rows that are drawn.
    progress : callable or None, default=None
        A function that is called with a description of each step before it starts.
    measured : tuple or None, default=None
        What ``mercer.report.evaluation.measures`` returned for the held-out rows, if it was called before.
    totals : TargetTotals or None, default=None
        Sums over the targets of the training rows, if they were computed before.

    Returns
    -------
    list of Baseline
        The other models, starting with the majority class or the mean.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).normal(size=(600, 2))
    >>> train, test = mercer.data.open(X, target=np.sin(2 * X[:, 0] + 2 * X[:, 1])).split(test=0.5)
    >>> model = mercer.KernelRegressor("gaussian(1)", n_components=256, alpha="loo", random_state=0).fit(train)
    >>> [(one.name, one.ahead) for one in mercer.report.baselines(model, train, test)]
    [('mean', False), ('linear model', False), ('boosted trees', False)]
    """
    check_predicts(model)
    model = treating_unknown(model)  # held-out rows may have levels that the training rows lack
    check_whole("rows", rows)
    told, seed = progress or (lambda what: None), as_seed(random_state)
    mine, y, weight, _ = measures(model, test) if measured is None else measured
    contest = Contest(model, mine, y, (np.ones(len(y)) if weight is None else weight, resamples, level, seed))
    found = [contest.simplest(totals or TargetTotals.of(train, isinstance(model, KernelClassifier)))]
    for kind in (LinearModel, BoostedTrees) if trained else ():
        told(f"report: {kind.name}")
        try:
            other = kind(Sampled(model, train, rows, seed))
        except LeftOutError as reason:
            found.append(Baseline(kind.name, "", 0, [], NOTHING, str(reason)))
        else:
            found.append(contest.entry(kind.name, other.what, other.rows, of_table(other, model, test)))
    return found


class Contest:
    """The scores of a kernel machine, with which other models are compared on the same rows."""

    def __init__(
        self, model: BaseEstimator, mine: dict[str, Metric], y: NDArray[Any], drawing: tuple[Any, int, float, int]
    ):
        self.model, self.mine, self.y, self.drawing = model, mine, y, drawing
        self.first = first_score(model)

    def entry(self, name: str, what: str, rows: int, told: Told) -> Baseline:
        """Return another model with its scores and the advantage of the kernel machine over it."""
        return self._beside(name, what, rows, self._metrics(told))

    def simplest(self, totals: TargetTotals) -> Baseline:
        """Return the most frequent class, or the mean, of all training rows."""
        n = len(self.y)
        if not isinstance(self.model, KernelClassifier):
            mean = totals.total / totals.weight
            return self.entry(SIMPLEST[1], f"always {mean:.4g}", totals.rows, Told(np.full(n, mean)))
        labels = np.asarray(self.model.classes_).tolist()
        shares = np.array([totals.by_label.get(label, 0.0) for label in labels]) / totals.weight
        most = int(np.argmax(shares))
        values = np.zeros(len(labels))
        values[most] = 1.0
        chances = np.broadcast_to(shares, (n, len(labels)))
        shown = Told(
            np.full(n, 2.0 * values[1] - 1.0) if len(labels) == 2 else np.broadcast_to(values, chances.shape), chances
        )
        # If all rows have the same value, the area is 1/2; computing it would take long for many classes.
        metrics = {**self._metrics(shown), "AUC": lambda w: 0.5}
        return self._beside(SIMPLEST[0], f"always {labels[most]}", totals.rows, metrics)

    def _metrics(self, told: Told) -> dict[str, Metric]:
        if not isinstance(self.model, KernelClassifier):
            return regression_metrics(self.y, told.values)
        return classification_metrics(self.y, told.values, told.chances if "log loss" in self.mine else None)

    def _beside(self, name: str, what: str, rows: int, metrics: dict[str, Metric]) -> Baseline:
        ours, theirs = self.mine[self.first], metrics[self.first]
        (gain,) = bootstrap({self.first: lambda w: ours(w) - theirs(w)}, *self.drawing)
        return Baseline(name, what, rows, bootstrap(metrics, *self.drawing), gain)


def first_score(model: BaseEstimator) -> str:
    """Return the score by which models are compared: balanced accuracy if classes were given weights."""
    if not isinstance(model, KernelClassifier):
        return "R2"
    return "accuracy" if model.class_weight is None else "balanced accuracy"
