"""Every learner learns the same from the same rows, whatever their type."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from mercer import RandomFourier
from mercer.data import Blocks
from mercer.kernels import Gaussian
from mercer.learn import KernelCCA, KernelClassifier, KernelKMeans, KernelPCA, KernelRegressor
from mercer.learn.solvers import liblinear

LEARNERS = [
    KernelRegressor(kernel=None, alpha=1.0, preparation=None),
    KernelRegressor(alpha=(0.01, 1.0, 100.0), kernel=None, preparation=None),
    KernelClassifier(tol=1e-8, kernel=None, C=1.0, preparation=None),
    KernelClassifier(loss="logistic", tol=1e-8, kernel=None, C=1.0, preparation=None),
    KernelClassifier(loss="squared", kernel=None, C=1.0, preparation=None),
    KernelClassifier(solver="liblinear", kernel=None, C=1.0, preparation=None),
    KernelPCA(),
    KernelCCA(n_components_y=8, n_directions=1),
    KernelKMeans(n_clusters=3, n_init=1),
]

LEVELS = np.array(["low", "mid", "top"])


def problem(n=300):
    """Two columns of numbers, and three of 0 and 1 that represent a column of levels."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, size=n)
    X = np.column_stack([rng.normal(size=(n, 2)), codes[:, None] == np.arange(3)])
    return X, codes, (X[:, 0] + codes > 1.0).astype(int), rng.integers(1, 4, size=n).astype(float)


def frame(kind, X, codes):
    return kind({"a": X[:, 0], "b": X[:, 1], "level": LEVELS[codes]})


def fitted(learner, X, y=None, weight=None):
    features = RandomFourier(Gaussian(0.3), n_components=30, random_state=0)
    model = clone(learner).set_params(map=features)
    return model.fit(X, y) if weight is None else model.fit(X, y, sample_weight=weight)


def answers(model, X):
    for use in ("decision_function", "transform", "predict"):
        if hasattr(model, use):
            return getattr(model, use)(X)
    raise AssertionError(model)


def blocks(X, y, weight=None, size=70):
    parts = [slice(start, start + size) for start in range(0, len(y), size)]
    return Blocks([(X[rows], y[rows]) if weight is None else (X[rows], y[rows], weight[rows]) for rows in parts])


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_every_learner_takes_every_form(learner):
    X, codes, y, _ = problem()
    expected = answers(fitted(learner, X, y), X)
    single = X.astype(np.float32)
    atol = 1e-5 * np.abs(expected).max()
    for given, tolerance in (
        (sp.csr_array(X), atol),
        (sp.csr_array(single), 300 * atol),
        (single, 300 * atol),
        (frame(pd.DataFrame, X, codes), atol),
        (frame(pl.DataFrame, X, codes), atol),
    ):
        found = answers(fitted(learner, given, y), given)
        np.testing.assert_allclose(found, expected, atol=tolerance, err_msg=type(given).__name__)
        is_single = getattr(given, "dtype", None) == np.float32 and not isinstance(learner, KernelRegressor)
        assert found.dtype == (np.float32 if is_single else np.float64)
        streamed = answers(fitted(learner, blocks(given, y)), given)
        np.testing.assert_allclose(streamed, found, atol=tolerance, err_msg=type(given).__name__)


@pytest.mark.parametrize("learner", LEARNERS[:-1], ids=repr)
def test_every_learner_takes_weights(learner):
    X, codes, y, weight = problem()
    times = weight.astype(int)
    expected = answers(fitted(learner, np.repeat(X, times, axis=0), np.repeat(y, times)), X)
    atol = (1e-2 if getattr(learner, "solver", None) == "liblinear" else 1e-5) * np.abs(expected).max()
    for given in (X, sp.csr_array(X), frame(pd.DataFrame, X, codes)):
        np.testing.assert_allclose(answers(fitted(learner, given, y, weight), given), expected, atol=atol)
        np.testing.assert_allclose(answers(fitted(learner, blocks(given, y, weight)), given), expected, atol=atol)


def test_clusters_take_no_weights():
    X, _, y, weight = problem()
    with pytest.raises(ValueError, match="KernelKMeans does not support weights, found blocks with weights"):
        KernelKMeans().fit(blocks(X, y, weight))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_liblinear_is_refused_before_features_are_held(dtype, monkeypatch):
    X, _, y, _ = problem()
    X = X.astype(dtype)
    model = KernelClassifier(
        n_components=64, map="RandomFourier", solver="liblinear", random_state=0, kernel=None, C=1.0, preparation=None
    )
    needed = 300 * 64 * (4 + 8 + 16 if dtype == np.float32 else 8 + 16)
    model.set_params(memory=needed).fit(X, y)
    monkeypatch.setattr("mercer.learn.features.feature_matrix.HeldFeatures.of", lambda *arguments: pytest.fail("held"))
    with pytest.raises(
        MemoryError, match=r"keeps all features and a copy in memory: 300 x 64 need .* but memory allows"
    ):
        model.set_params(memory=needed - 1).fit(X, y)
    monkeypatch.setattr(liblinear, "physical_memory", lambda: needed - 1)
    with pytest.raises(
        MemoryError, match=r"this machine has .* GiB; solver='newton' can compute them again in every pass"
    ):
        model.set_params(memory=None).fit(X, y)


def test_targets_of_text_are_refused_by_regressors():
    message = "a regressor needs targets that are numbers, found the text 'top'; for classes, use a classifier"
    with pytest.raises(ValueError, match=message):
        KernelRegressor().fit(np.eye(3), ["top", "low", "mid"])


@pytest.mark.parametrize("learner", [KernelRegressor(), KernelClassifier(), KernelPCA()], ids=str)
def test_paths_are_refused_as_rows(learner):
    message = r"found the path 'rows\.csv': open it with mercer\.data\.open\('rows\.csv', target=\.\.\.\)"
    with pytest.raises(TypeError, match=message):
        learner.fit("rows.csv")
