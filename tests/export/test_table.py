"""Every map of the table, and every learner on it, answers in onnxruntime as in Python."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.learn import KernelCCA, KernelClassifier, KernelKMeans, KernelNovelty, KernelPCA, KernelRegressor

from ..tables import ROWS, every_value, first_of_class, obeying
from .running import TOLERANCES, assert_agree, run

DTYPES = ("float32", "float64")
CLASSIFIED = {"label": "predict", "decision_values": "decision_function", "probabilities": "predict_proba"}


def samples(row, dtype):
    """Rows to learn from, and new ones of which some are further out."""
    X, new = row.sample(60, 5), row.sample(25, 5, seed=1)
    return X.astype(dtype), new.astype(dtype)


def numbers(X):
    return np.sin(3.0 * X[:, 0]) + X[:, 1]


def kinds(X):
    return np.array(["few", "some", "many"])[np.digitize(numbers(X), (0.4, 0.9))]


LEARNERS = {
    "regressor": (lambda map, X: KernelRegressor(alpha=0.1, map=map).fit(X, numbers(X)), {"prediction": "predict"}),
    "tasks": (
        lambda map, X: KernelRegressor(alpha=0.1, map=map).fit(X, np.stack([numbers(X), X[:, 2]], axis=1)),
        {"prediction": "predict"},
    ),
    "quantiles": (
        lambda map, X: KernelRegressor(loss="quantile", quantile=(0.1, 0.5, 0.9), alpha=0.1, map=map).fit(
            X, numbers(X)
        ),
        {"prediction": "predict"},
    ),
    "counts": (
        lambda map, X: KernelRegressor(loss="poisson", alpha=0.1, map=map).fit(X, np.floor(np.exp(numbers(X)))),
        {"prediction": "predict"},
    ),
    "hinge": (lambda map, X: KernelClassifier(C=1.0, map=map).fit(X, kinds(X)), CLASSIFIED),
    "logistic": (lambda map, X: KernelClassifier(C=1.0, loss="logistic", map=map).fit(X, kinds(X)), CLASSIFIED),
    "two classes": (lambda map, X: KernelClassifier(C=1.0, map=map).fit(X, numbers(X) > 0.5), CLASSIFIED),
    "components": (lambda map, X: KernelPCA(map=map).fit(X), {"components": "transform"}),
    "clusters": (
        lambda map, X: KernelKMeans(n_clusters=3, n_init=1, map=map).fit(X),
        {"label": "predict", "distances": "transform"},
    ),
    "variates": (lambda map, X: KernelCCA(map=map).fit(X, X[:, :2]), {"variates": "transform"}),
    "novelty": (lambda map, X: KernelNovelty(map=map).fit(X), {"label": "predict", "scores": "score_samples"}),
}


@pytest.mark.parametrize("row", first_of_class(obeying()))
@pytest.mark.parametrize("dtype", DTYPES)
def test_features(row, dtype):
    X, new = samples(row, dtype)
    map = row(48, random_state=0).fit(X)
    assert_agree(run(map, new, dtype)["features"], map.transform(new), dtype)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@every_value(number=range(len(ROWS)), name=LEARNERS, dtype=DTYPES)
def test_learners(number, name, dtype):
    row = ROWS[number]
    X, new = samples(row, dtype)
    make, outputs = LEARNERS[name]
    model = make(row(24, random_state=0), X)
    found = run(model, new, dtype)
    assert set(found) == set(outputs)
    for output, method in outputs.items():
        expected = getattr(model, method)(new)
        if output == "distances":  # small ones are roots of differences of large squares
            np.testing.assert_array_less(
                np.abs(found[output] ** 2 - expected**2),
                TOLERANCES[dtype] * (expected**2 + 2.0 * model.centre_lengths_),
            )
            continue
        assert_agree(found[output], expected, dtype)
