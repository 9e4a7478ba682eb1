"""Scores compared with scikit-learn's, and intervals with known results."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn import metrics

from mercer import KernelClassifier, KernelRegressor, RandomFourier, data, report

RNG = np.random.default_rng(0)
WEIGHT = RNG.uniform(0.5, 2.0, 300)


def values(found, weight=WEIGHT):
    return {name: metric(weight) for name, metric in found.items()}


def test_regression_scores():
    y = RNG.normal(size=300)
    predicted = y + RNG.normal(size=300)
    found = values(report.regression_metrics(y, predicted))
    assert found["R2"] == pytest.approx(metrics.r2_score(y, predicted, sample_weight=WEIGHT))
    assert found["RMSE"] == pytest.approx(metrics.root_mean_squared_error(y, predicted, sample_weight=WEIGHT))
    assert found["MAE"] == pytest.approx(metrics.mean_absolute_error(y, predicted, sample_weight=WEIGHT))
    for constant in (1.0, 0.1, 1e9 + 0.3):  # whose weighted mean is rounded
        assert math.isnan(values(report.regression_metrics(np.full(300, constant), predicted))["R2"])


def test_scores_of_two_classes():
    codes = RNG.integers(0, 2, 300)
    decisions = np.round(codes - 0.5 + RNG.normal(size=300), 1)  # with ties
    found = values(report.classification_metrics(codes, decisions))
    labels = decisions > 0
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(codes, labels, sample_weight=WEIGHT))
    balanced = metrics.balanced_accuracy_score(codes, labels, sample_weight=WEIGHT)
    assert found["balanced accuracy"] == pytest.approx(balanced)
    assert found["AUC"] == pytest.approx(metrics.roc_auc_score(codes, decisions, sample_weight=WEIGHT))
    assert "log loss" not in found


def test_scores_of_several_classes():
    codes = RNG.integers(0, 3, 300)
    decisions = np.eye(3)[codes] + RNG.normal(size=(300, 3))
    chances = np.exp(decisions) / np.exp(decisions).sum(axis=1, keepdims=True)
    found = values(report.classification_metrics(codes, decisions, chances))
    assert found["accuracy"] == pytest.approx(WEIGHT @ (decisions.argmax(axis=1) == codes) / WEIGHT.sum())
    areas = [metrics.roc_auc_score(codes == k, decisions[:, k], sample_weight=WEIGHT) for k in range(3)]
    assert found["AUC"] == pytest.approx(np.mean(areas))
    assert found["log loss"] == pytest.approx(metrics.log_loss(codes, chances, sample_weight=WEIGHT))


def test_classes_without_rows_and_beyond_the_known():
    decisions = RNG.normal(size=(300, 3))
    found = values(report.classification_metrics(np.zeros(300, dtype=int), decisions))
    assert math.isnan(found["AUC"])
    assert found["balanced accuracy"] == pytest.approx(found["accuracy"])
    two = RNG.integers(1, 3, 300)  # and no row of the first class
    balanced = [WEIGHT[two == k] @ (decisions.argmax(axis=1) == k)[two == k] / WEIGHT[two == k].sum() for k in (1, 2)]
    found = values(report.classification_metrics(two, decisions))
    assert found["balanced accuracy"] == pytest.approx(np.mean(balanced))
    codes = RNG.integers(0, 4, 300)
    known = codes < 3
    chances = np.full((300, 3), 1.0 / 3.0)
    found = values(report.classification_metrics(codes, decisions, chances))
    alone = values(report.classification_metrics(codes[known], decisions[known], chances[known]), WEIGHT[known])
    assert found["AUC"] == pytest.approx(alone["AUC"])
    assert found["log loss"] == pytest.approx(math.log(3.0))
    assert found["accuracy"] == pytest.approx(alone["accuracy"] * WEIGHT[known].sum() / WEIGHT.sum())
    assert found["balanced accuracy"] == pytest.approx(alone["balanced accuracy"] * 3 / 4)


def test_an_interval_is_that_of_the_mean():
    y = RNG.normal(size=2000)
    (score,) = report.bootstrap({"mean": lambda w: float(w @ y / w.sum())}, np.ones(2000), 1000, 0.9)
    half = 1.645 * y.std() / math.sqrt(2000)
    # the ends of 1,000 draws have a standard error of about 0.05 half widths
    assert score.low == pytest.approx(y.mean() - half, abs=0.25 * half)
    assert score.high == pytest.approx(y.mean() + half, abs=0.25 * half)
    again = report.bootstrap({"mean": lambda w: float(w @ y / w.sum())}, np.ones(2000), 1000, 0.9)
    assert again == [score]


def test_bad_arguments():
    with pytest.raises(ValueError, match="resamples must be a whole number of at least 0, found -1"):
        report.bootstrap({}, np.ones(2), -1)
    with pytest.raises(ValueError, match="level must be a probability"):
        report.bootstrap({}, np.ones(2), level=1.0)


def test_evaluate_leaves_weightless_rows_out():
    X = RNG.normal(size=(300, 2))
    y, weight = X[:, 0] > 0, (X[:, 1] > 0).astype(float)
    model = KernelClassifier(n_components=32, random_state=0, kernel=None, C=1.0, preparation=None).fit(X, y)
    found = report.evaluate(model, data.open(X, target=y, weight=weight), resamples=0)
    assert found[0].value == pytest.approx(model.score(X[weight > 0], y[weight > 0]))


def test_labels_that_were_not_learned_count_as_wrong():
    X = RNG.normal(size=(300, 2))
    y = np.where(X[:, 0] > 0, "a", "b")
    model = KernelClassifier(n_components=32, random_state=0, kernel=None, C=1.0, preparation=None).fit(X, y)
    strange = y.copy()
    strange[:30] = "c"
    with pytest.warns(UserWarning, match="30 rows have labels that the model has not learned, such as 'c'"):
        found = report.evaluate(model, data.open(X, target=strange), resamples=0)
    assert found[0].value == pytest.approx(np.mean(model.predict(X) == strange))
    strange[1:30] = y[1:30]
    with pytest.warns(UserWarning, match="1 row has a label that the model has not learned, such as 'c'; counted"):
        report.evaluate(model, data.open(X, target=strange), resamples=0)
    with pytest.raises(ValueError, match=r"unknown label 'c' in row 0; known labels are 'a', 'b'"):
        report.evaluate(model, data.open(X, target=np.full(300, "c")))


def test_models_that_predict_nothing_or_too_much():
    X = RNG.normal(size=(100, 2))
    table = data.open(X)
    with pytest.raises(TypeError, match="found RandomFourier, which predicts no target"):
        report.evaluate(RandomFourier(n_components=4).fit(X), table)
    both = KernelRegressor(n_components=8, random_state=0, kernel=None, alpha=1.0, preparation=None).fit(X, X)
    with pytest.raises(ValueError, match="expected a model that predicts one target, found one that predicts several"):
        report.evaluate(both, table)
    one = KernelRegressor(n_components=8, random_state=0, kernel=None, alpha=1.0, preparation=None).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="must contain y"):
        report.evaluate(one, table)
    with pytest.raises(ValueError, match="only a classifier has decisions"):
        next(report.predictions(one, table, ["decisions"]))
    with pytest.raises(TypeError, match="expected a map or a learner of Mercer"):
        next(report.features(metrics, table))
