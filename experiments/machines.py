"""The machines of the papers: a map and LIBLINEAR, exact machines within a limit of time, and Mercer's own."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from cells import Numbers, timed
from datasets import Split
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

BLOCK = 500
"""The number of rows mapped at a time if features are not kept: memory for all would take longer to allocate."""
FEW = 200
"""The number of rows per class in a first, untimed run, which loads what is loaded on first use."""


def liblinear(C: float = 1.0, seed: int = 0) -> LinearSVC:
    """LIBLINEAR with its default settings: the dual of the squared hinge, tolerance 0.1, at most 1,000 iterations."""
    return LinearSVC(C=C, dual=True, tol=0.1, max_iter=1000, random_state=seed)


def few(split: Split) -> tuple[Any, Any]:
    """Choose some training rows, of every class if there are classes."""
    if np.issubdtype(split.y.dtype, np.floating):
        return split.X[:FEW], split.y[:FEW]
    rows = np.concatenate([np.flatnonzero(split.y == label)[:FEW] for label in np.unique(split.y)])
    return split.X[rows], split.y[rows]


def mapped(sketch: Any, learner: Any, split: Split) -> Numbers:
    """Measure a map and a linear learner: processor seconds for features, training and testing, and the score in %."""
    X, y = few(split)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # LIBLINEAR's limit; iterations are recorded
        warnings.filterwarnings("ignore", "n_components > n_samples")  # of the few rows
        learner.fit(sketch.fit(X).transform(X), y)
        features: list[Any] = []
        mapping = timed(lambda: features.append(sketch.fit(split.X).transform(split.X)))
        training = timed(lambda: learner.fit(features[0], split.y))
    return {
        "mapping": mapping["processor"],
        "training": training["processor"],
        "processor": mapping["processor"] + training["processor"],
        "seconds": mapping["seconds"] + training["seconds"],
        "iterations": float(np.max(learner.n_iter_)),
    } | tested(lambda: accuracy(sketch, learner, split))


def accuracy(sketch: Any, learner: Any, split: Split) -> float:
    blocks = range(0, len(split.X_test), BLOCK)
    labels = [learner.predict(sketch.transform(split.X_test[start : start + BLOCK])) for start in blocks]
    return float(np.mean(np.concatenate(labels) == split.y_test))


def tested(score: Callable[[], float]) -> Numbers:
    """Return the score in %, and the processor seconds that it took."""
    found: list[float] = []
    testing = timed(lambda: found.append(score()))
    return {"testing": testing["processor"], "score": 100.0 * found[0]}


def fitted(machine: Any, split: Split) -> Numbers:
    """Measure a machine that takes rows: seconds to train and to test, and the score in %."""
    X, y = few(split)
    machine.fit(X, y)
    training = timed(lambda: machine.fit(split.X, split.y))
    return training | tested(lambda: machine.score(split.X_test, split.y_test))


def exact(make: Callable[[], Any], split: Split, limit: float) -> Numbers:
    """An exact machine, unless it would take longer than the limit, in seconds.

    Then only ``predicted``, its forecast, and ``score of part``, that of a machine on the first ``rows``. The forecast
    is by the growth from an eighth to a quarter of the rows, at least that of the rows themselves.
    """
    n, times = len(split.X), []
    for part in (n // 8, n // 4):
        trained = fitted(make(), split._replace(X=split.X[:part], y=split.y[:part]))
        times.append(max(1e-3, trained["processor"]))
        power = max(1.0, math.log2(times[-1] / times[0])) if len(times) == 2 else 2.0
        predicted = times[-1] * (n / part) ** power
        if predicted > limit and (len(times) == 2 or predicted > 4.0 * limit):
            return {"predicted": predicted, "rows": float(part), "score of part": trained["score"]}
    return fitted(make(), split)
