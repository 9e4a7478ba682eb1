"""The quality of predictions, with bootstrap intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._checks import check_probability, check_whole
from .._random import RandomState, Stream, as_seed

Vector = NDArray[np.float64]
Metric = Callable[[Vector], float]
"""A score as a function of the weights of the rows, which are all that resampling changes."""


class Score(NamedTuple):
    """A score and its interval.

    Attributes
    ----------
    name : str
        The name of the score.
    value : float
        The score on all rows.
    low : float
        The lower end of the interval; NaN if there is none.
    high : float
        The upper end of the interval; NaN if there is none.
    """

    name: str
    value: float
    low: float
    high: float


def bootstrap(
    metrics: dict[str, Metric], weight: Vector, resamples: int = 200, level: float = 0.95, random_state: RandomState = 0
) -> list[Score]:
    """Return scores with percentile intervals, from draws of as many rows with replacement.

    Parameters
    ----------
    metrics : dict of str to callable
        The scores by name, each a function of the weights of all rows.
    weight : ndarray of shape (n_rows,)
        The weights of the rows before they are drawn.
    resamples : int, default=200
        The number of draws. With 0 there are no intervals.
    level : float, default=0.95
        The share of draws inside the interval.
    random_state : int, Generator or RandomState, default=0
        The seed of the draws.

    Returns
    -------
    list of Score
        The scores, with the ends of their intervals.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([1.0, 2.0, 4.0])
    >>> bootstrap({"mean": lambda w: float(w @ y / w.sum())}, np.ones(3), resamples=0)
    [Score(name='mean', value=2.3333333333333335, low=nan, high=nan)]
    """
    check_whole("resamples", resamples, 0)
    check_probability("level", level)
    n, rng = len(weight), Stream(as_seed(random_state), "bootstrap")
    drawn: list[list[float]] = []
    for number in range(resamples):
        counts = np.bincount(rng.child(number).buckets(n, (n,)), minlength=n)
        drawn.append([metric(weight * counts) if (weight * counts).any() else math.nan for metric in metrics.values()])
    ends = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
    scores = []
    for place, (name, metric) in enumerate(metrics.items()):
        values = np.array([row[place] for row in drawn if not math.isnan(row[place])])
        low, high = np.quantile(values, ends).tolist() if len(values) else (math.nan, math.nan)
        scores.append(Score(name, metric(weight), low, high))
    return scores


def regression_metrics(y: NDArray[Any], predicted: NDArray[Any]) -> dict[str, Metric]:
    """Return R2, the root mean squared error and the mean absolute error as functions of the weights of rows.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        The targets.
    predicted : array-like of shape (n_rows,)
        The predictions.

    Returns
    -------
    dict of str to callable
        The scores by name, for :func:`mercer.report.bootstrap`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.report import regression_metrics
    >>> scores = regression_metrics([1.0, 2.0, 3.0], [1.0, 2.0, 4.0])
    >>> {name: round(float(score(np.ones(3))), 3) for name, score in scores.items()}
    {'R2': 0.5, 'RMSE': 0.577, 'MAE': 0.333}
    """
    y = np.asarray(y, dtype=np.float64)
    errors = y - np.asarray(predicted, dtype=np.float64)
    squares, sizes = errors**2, np.abs(errors)

    def r2(w: Vector) -> float:
        counted = y[w > 0.0]
        if counted.size == 0 or counted.min() == counted.max():  # otherwise rounding of the mean would count as spread
            return math.nan
        spread = float(w @ (y - w @ y / w.sum()) ** 2)
        return 1.0 - float(w @ squares) / spread if spread > 0.0 else math.nan

    return {
        "R2": r2,
        "RMSE": lambda w: math.sqrt(w @ squares / w.sum()),
        "MAE": lambda w: float(w @ sizes / w.sum()),
    }


def classification_metrics(codes: NDArray[Any], values: NDArray[Any], probabilities: Any = None) -> dict[str, Metric]:
    """Return accuracy, balanced accuracy, AUC and possibly the log loss as functions of the weights of rows.

    AUC is the area under the ROC curve; for several classes it is the mean over each class against the rest. Classes
    without rows do not count. Rows of an unknown class count as wrong, and do not enter AUC and log loss.

    Parameters
    ----------
    codes : array-like of shape (n_rows,)
        The numbers of the true classes.
    values : array-like of shape (n_rows,) or (n_rows, n_classes)
        The decision values.
    probabilities : array-like of shape (n_rows, n_classes) or None, default=None
        The predicted probabilities. If None, there is no log loss.

    Returns
    -------
    dict of str to callable
        The scores by name, for :func:`mercer.report.bootstrap`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.report import classification_metrics
    >>> scores = classification_metrics([0, 1, 1, 0], [-1.0, 2.0, -0.5, -2.0])
    >>> {name: float(score(np.ones(4))) for name, score in scores.items()}
    {'accuracy': 0.75, 'balanced accuracy': 0.75, 'AUC': 1.0}
    """
    codes, values = np.asarray(codes), np.asarray(values, dtype=np.float64)
    found = (values > 0.0).astype(np.int64) if values.ndim == 1 else values.argmax(axis=1)
    correct = (found == codes).astype(np.float64)
    n_classes = 2 if values.ndim == 1 else values.shape[1]

    known = codes < n_classes

    def balanced(w: Vector) -> float:
        rows, hits = np.bincount(codes, w), np.bincount(codes, w * correct)
        return float((hits[rows > 0.0] / rows[rows > 0.0]).mean())

    if values.ndim == 1:
        areas = [area(values, codes == 1)]
    else:
        areas = [area(values[:, code], codes == code) for code in range(n_classes)]
    metrics: dict[str, Metric] = {
        "accuracy": lambda w: float(w @ correct / w.sum()),
        "balanced accuracy": balanced,
        "AUC": lambda w: mean_of([one(w * known) for one in areas]),
    }
    if probabilities is not None:
        mine = np.asarray(probabilities, dtype=np.float64)[np.arange(len(codes)), codes * known]
        losses = -np.log(np.maximum(mine, np.finfo(np.float64).tiny))
        metrics["log loss"] = lambda w: float((w * known) @ losses / (w @ known)) if (w * known).any() else math.nan
    return metrics


def mean_of(values: list[float]) -> float:
    """Return the mean of the values that are not NaN."""
    there = [value for value in values if not math.isnan(value)]
    return sum(there) / len(there) if there else math.nan


def area(values: Vector, positive: NDArray[np.bool_]) -> Metric:
    """Return the area under the ROC curve: how often a positive row has the larger value, with ties counted as half."""
    _, place = np.unique(values, return_inverse=True)
    size = int(place.max()) + 1

    def of(w: Vector) -> float:
        ours = np.bincount(place, w * positive, minlength=size)
        theirs = np.bincount(place, w * ~positive, minlength=size)
        pairs = float(ours.sum() * theirs.sum())
        below = np.cumsum(theirs) - 0.5 * theirs
        return float(ours @ below) / pairs if pairs > 0.0 else math.nan

    return of
