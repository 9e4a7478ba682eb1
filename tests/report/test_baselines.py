"""Other models compared with a kernel machine."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import metrics
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler

from mercer import KernelClassifier, KernelRegressor, data, report
from mercer.choose import learner_for
from mercer.report import baseline_models
from mercer.report.baseline_models import Sampled, sampled

from .pages import checked

RNG = np.random.default_rng(0)
X = RNG.normal(size=(900, 3))
SUMMED = 2.0 * X[:, 0] - X[:, 1] + 0.1 * RNG.normal(size=900)
KINDS = np.array(["a", "b", "c"])[np.digitize(SUMMED, [-1.5, 0.3])]
WEIGHT = RNG.uniform(0.5, 2.0, 900)


@pytest.fixture(autouse=True)
def without_lightgbm(monkeypatch):
    """The same trees on every machine."""
    monkeypatch.setattr(baseline_models, "find_spec", lambda name: None)


def halves(y, rows=X, weight=None):
    return data.open(rows, target=y, weight=weight).split(0.4, seed=0)


def parts(table):
    blocks = list(table.blocks())
    return np.concatenate([b.X for b in blocks]), np.concatenate([b.y for b in blocks]), blocks[0].weight


def values(one):
    return {score.name: score.value for score in one.scores}


def test_baselines_for_numbers_agree_with_scikit_learn():
    train, test = halves(SUMMED, weight=WEIGHT)
    model = learner_for("regression", n_components=32, random_state=0).fit(train)
    mean, linear, trees = report.baselines(model, train, test, random_state=3)
    (A, y, w), (B, z, v) = parts(train), parts(test)
    constant = np.full(len(z), np.average(y, weights=w))
    assert values(mean)["RMSE"] == pytest.approx(np.sqrt(np.average((z - constant) ** 2, weights=v)))
    assert mean.what == f"always {constant[0]:.4g}"
    prepared = model.preparation_(A)
    scaler = StandardScaler().fit(prepared, sample_weight=w)
    ridge = Ridge().fit(scaler.transform(prepared), y, w)
    told = ridge.predict(scaler.transform(model.preparation_(B)))
    assert values(linear)["R2"] == pytest.approx(metrics.r2_score(z, told, sample_weight=v))
    boosted = HistGradientBoostingRegressor(max_iter=100, early_stopping=False, random_state=3)
    told = boosted.fit(A, y, sample_weight=w).predict(B)
    assert values(trees)["MAE"] == pytest.approx(metrics.mean_absolute_error(z, told, sample_weight=v))
    assert [one.rows for one in (mean, linear, trees)] == [train.n_rows] * 3
    for one in (mean, linear, trees):
        assert one.gain.value == pytest.approx(model.score(test) - values(one)["R2"])
        assert one.gain.low < one.gain.value < one.gain.high
    assert not mean.ahead  # and a line is a line
    assert linear.ahead


def test_baselines_for_classes_have_the_same_measures():
    train, test = halves(KINDS)
    model = learner_for("classification", n_components=32, loss="logistic", random_state=0).fit(train)
    mine = {one.name for one in report.evaluate(model, test, resamples=0)}
    majority, linear, trees = report.baselines(model, train, test)
    (A, y, _), (B, z, _) = parts(train), parts(test)
    labels, counts = np.unique(y, return_counts=True)
    assert all(values(one).keys() == mine for one in (majority, linear, trees))
    assert majority.what == f"always {labels[counts.argmax()]}"
    assert values(majority)["accuracy"] == pytest.approx(np.mean(z == labels[counts.argmax()]))
    assert values(majority)["AUC"] == 0.5
    chances = np.tile(counts / counts.sum(), (len(z), 1))
    assert values(majority)["log loss"] == pytest.approx(metrics.log_loss(z, chances))
    scaler = StandardScaler().fit(model.preparation_(A))
    logistic = LogisticRegression(max_iter=100).fit(scaler.transform(model.preparation_(A)), y)
    told = logistic.predict_proba(scaler.transform(model.preparation_(B)))
    assert values(linear)["log loss"] == pytest.approx(metrics.log_loss(z, told), rel=1e-4)
    assert values(linear)["AUC"] == pytest.approx(metrics.roc_auc_score(z, told, multi_class="ovr"), rel=1e-4)


def test_an_interval_is_of_the_same_rows_for_both():
    """Two nearly equal models differ significantly only if the same rows are drawn for both."""
    y = X[:, 0] + 3.0 * RNG.normal(size=900)
    train, test = halves(y)
    model = KernelRegressor(
        "linear()", n_components=3, map="Nystrom", alpha=1.0, scale="standard", random_state=0, preparation=None
    )
    linear = report.baselines(model.fit(train), train, test)[1]
    apart = max(one.high - one.low for one in linear.scores if one.name == "R2")
    assert linear.gain.high - linear.gain.low < 0.05 * apart


def test_levels_gaps_and_two_classes():
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "town": np.where(X[:, 2] > 0, "oslo", "rome")})
    frame.loc[::7, "a"] = np.nan
    frame.loc[::11, "town"] = None
    table = data.open(frame.assign(y=np.where(SUMMED > 0, "yes", "no")), target="y")
    train, test = table.split(0.4, seed=0)
    model = learner_for("classification", n_components=32, missing="mean", random_state=0).fit(train)
    found = report.baselines(model, train, test)
    assert [one.name for one in found] == ["majority class", "linear model", "boosted trees"]
    assert min(values(one)["accuracy"] for one in found[1:]) > 0.8


def test_classes_with_weights_are_compared_by_balanced_accuracy():
    rare = np.where(SUMMED > 3.0, "rare", "common")
    train, test = halves(rare)
    model = KernelClassifier(
        n_components=32, loss="squared", class_weight="balanced", random_state=0, kernel=None, C=1.0, preparation=None
    ).fit(train)
    majority, linear, _ = report.baselines(model, train, test)
    assert majority.gain.name == "balanced accuracy"
    assert majority.gain.value > 0.3
    assert not report.concerns(model, test, baselines=[majority])
    A, y, _ = parts(train)
    share = np.mean(y == "rare")
    scaler = StandardScaler().fit(A, sample_weight=np.where(y == "rare", 1.0 / share, 1.0 / (1.0 - share)))
    balanced = LogisticRegression(class_weight="balanced").fit(scaler.transform(A), y)
    B, z, _ = parts(test)
    expected = metrics.balanced_accuracy_score(z, balanced.predict(scaler.transform(B)))
    assert values(linear)["balanced accuracy"] == pytest.approx(expected, abs=0.02)


def test_sparse_rows_and_too_many_columns(monkeypatch):
    rows = sp.csr_array(np.where(RNG.uniform(size=(900, 30)) < 0.2, 1.0, 0.0))
    y = rows[:, [0]].toarray()[:, 0] - rows[:, [1]].toarray()[:, 0] + 0.01 * SUMMED
    train, test = halves(y, rows)
    model = learner_for("regression", n_components=32, random_state=0).fit(train)
    _, linear, trees = report.baselines(model, train, test)
    assert min(values(linear)["R2"], values(trees)["R2"]) > 0.9
    monkeypatch.setattr(baseline_models, "MOST_COLUMNS", 20)
    _, linear, trees = report.baselines(model, train, test)
    assert values(linear)["R2"] > 0.9
    assert (trees.scores, trees.why, trees.ahead) == ([], "there are 30 columns, and at most 20 are supported", False)
    dense = data.open(rows.toarray(), target=y).split(0.4, seed=0)
    model = learner_for("regression", n_components=32, random_state=0).fit(dense[0])
    found = report.baselines(model, *dense)
    assert [one.why for one in found[1:]] == ["there are 30 columns, and at most 20 are supported"] * 2
    text = report.training_page("a", model, *dense, scores=report.evaluate(model, dense[1]), baselines=found)
    assert "The boosted trees was left out" not in text
    assert "Left out: boosted trees, since there are 30 columns, and at most 20 are supported." in checked(text).words


def test_rows_are_bounded_by_arithmetic(monkeypatch):
    train, test = halves(KINDS)
    model = learner_for("classification", n_components=16, loss="squared", random_state=0).fit(train)
    found = report.baselines(model, train, test, rows=100)
    assert [one.rows for one in found] == [train.n_rows, 100, 100]
    monkeypatch.setattr(baseline_models, "TREE_WORK", 3 * 3 * 50)  # columns, classes, rows
    monkeypatch.setattr(baseline_models, "MOST_ENTRIES", 3 * 70)
    found = report.baselines(model, train, test)
    assert [one.rows for one in found] == [train.n_rows, 70, 50]
    monkeypatch.setattr(baseline_models, "MOST_CLASSES", 2)
    assert report.baselines(model, train, test)[2].why == "there are 3 classes, and at most 2 are supported"
    with pytest.raises(ValueError, match="rows must be a whole number of at least 1, found 0"):
        report.baselines(model, train, test, rows=0)


def test_drawn_rows_are_rows_of_the_table_by_seed_alone():
    table = data.open(np.column_stack([np.arange(900.0), X]), target=np.arange(900.0))
    for most in (1, 10, 400, 900, 2000):
        block = sampled(table, most, 5)
        numbers = block.X[:, 0]
        assert len(numbers) <= most
        assert len(numbers) > 0.9 * min(most, 900)
        assert (np.diff(numbers) > 0).all()
        np.testing.assert_array_equal(block.y, numbers)
    assert not np.array_equal(sampled(table, 10, 5).y, sampled(table, 10, 6).y)


def test_one_class_among_the_rows_that_were_drawn():
    y = np.where(np.arange(900) == 7, "b", "a")
    table = data.open(X, target=y)
    model = KernelClassifier(n_components=8, loss="squared", random_state=0, kernel=None, C=1.0, preparation=None).fit(
        X, y
    )
    found = report.baselines(model, table, table, rows=5)
    assert [one.why for one in found[1:]] == ["the rows drawn for it all belong to one class"] * 2


def test_lightgbm_is_used_if_it_is_installed(monkeypatch):
    seen = []

    class Made:
        def __init__(self, n_estimators, learning_rate, random_state, verbose, **options):
            seen.append((n_estimators, learning_rate, options))

        def fit(self, X, y, sample_weight):
            self._mean = np.average(y, weights=sample_weight)

        def predict(self, X):
            return np.full(len(X), self._mean)

    monkeypatch.setattr(baseline_models, "find_spec", lambda name: name)
    monkeypatch.setitem(sys.modules, "lightgbm", type("lightgbm", (), {"LGBMRegressor": Made, "LGBMClassifier": None}))
    train, test = halves(SUMMED)
    model = learner_for("regression", n_components=16, random_state=0).fit(train)
    assert report.baselines(model, train, test)[2].what == "LightGBM, 100 rounds"
    assert seen[0] == (100, 0.1, {"n_jobs": 1, "deterministic": True, "force_row_wise": True})


def test_the_simplest_alone_trains_nothing(monkeypatch):
    monkeypatch.setattr(Sampled, "__init__", None)
    train, test = halves(SUMMED)
    model = learner_for("regression", n_components=16, random_state=0).fit(train)
    assert [one.name for one in report.baselines(model, train, test, trained=False)] == ["mean"]
