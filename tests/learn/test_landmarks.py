"""Machines on landmarks without whitened features: the same optimum as on whitened ones, for every loss."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import mercer
from mercer import Nystrom
from mercer.kernels import Gaussian
from mercer.learn import KernelClassifier, KernelRegressor, landmark_fit
from mercer.learn.solvers import choice, triangular
from mercer.learn.solvers.triangular import Triangular

from ..tables import every_value

KERNEL = Gaussian(0.4)


def problem(n=400, d=3, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (np.linalg.norm(X, axis=1) * classes / 3.0).astype(int).clip(0, classes - 1)


def landmarks(count=40, **arguments):
    return Nystrom(KERNEL, n_components=count, random_state=0, **arguments)


def penalised(model, X, y):
    """The objective of a classifier on landmarks, from its coefficients alone."""
    gram, alpha = KERNEL(model.map_.parameters_.landmarks), model.coef_
    values = model.decision_function(X).reshape(len(X), -1)
    codes = np.searchsorted(model.classes_, y)
    signs = np.where(codes[:, None] == (np.arange(alpha.shape[0]) if len(alpha) > 1 else [1]), 1.0, -1.0)
    return 0.5 * np.sum(alpha @ gram * alpha) + model.C * (np.maximum(1.0 - signs * values, 0.0) ** 2).sum()


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_the_optimum_is_that_of_whitened_features(loss, classes):
    X, y = problem(classes=classes)
    arguments = {"map": landmarks(), "loss": loss, "C": 3.0, "tol": 1e-12}
    whitened = KernelClassifier(solver="newton", **arguments).fit(X, y)
    plain = KernelClassifier(solver="landmarks", **arguments).fit(X, y)
    assert plain.convergence_.method == "landmarks"
    assert plain.map_.whiten is False
    assert plain.convergence_.objectives[-1] == pytest.approx(whitened.convergence_.objectives[-1], rel=1e-8)
    np.testing.assert_allclose(plain.decision_function(X), whitened.decision_function(X), atol=1e-4)


def test_the_objective_told_is_that_of_the_coefficients():
    X, y = problem()
    model = KernelClassifier(map=landmarks(), solver="landmarks", C=3.0, tol=1e-9).fit(X, y)
    assert penalised(model, X, y) == pytest.approx(model.convergence_.objectives[-1], rel=1e-8)


@pytest.mark.parametrize("loss", ["quantile", "epsilon_insensitive"])
def test_losses_with_corners_keep_to_features(loss):
    X, _ = problem()
    with pytest.raises(ValueError, match="corners"):
        KernelRegressor(map=landmarks(), solver="landmarks", loss=loss).fit(X, X[:, 0])
    assert not KernelRegressor(map="nystrom", n_components=1024, loss=loss)._takes_landmarks(Nystrom(KERNEL), 10**6)


@pytest.mark.parametrize("loss", ["squared", "huber", "poisson"])
def test_regressors_agree_with_whitened_features(loss):
    X, _ = problem()
    y = np.column_stack([np.abs(np.sin(X[:, 0]) + X[:, 1]), np.exp(0.3 * X[:, 1])])
    arguments = {"map": landmarks(), "alpha": 0.3, "loss": loss, "tol": 1e-6, "delta": 0.5}
    whitened = KernelRegressor(solver="features", **arguments).fit(X, y)
    plain = KernelRegressor(solver="landmarks", **arguments).fit(X, y)
    np.testing.assert_allclose(plain.predict(X), whitened.predict(X), atol=0.02)
    if loss != "squared":
        assert plain.objective_ == pytest.approx(whitened.objective_, rel=3e-6)


def test_ridge_is_the_solution_of_its_normal_equations():
    X, _ = problem()
    y = np.sin(X[:, 0])
    model = KernelRegressor(map=landmarks(), solver="landmarks", alpha=0.5, tol=1e-12, fit_intercept=False).fit(X, y)
    L = model.map_.parameters_.landmarks
    K, gram = KERNEL(X, L), KERNEL(L)
    expected = K @ np.linalg.solve(K.T @ K + 0.5 * gram, K.T @ y)
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-6)


@every_value(memory=[None, 1000], dtype=[np.float32, np.float64])
def test_bits_do_not_depend_on_threads(dtype, memory):
    X, y = problem(n=700)
    X = X.astype(dtype)
    one, two = (
        KernelClassifier(KERNEL, map="nystrom", n_components=300, solver="landmarks", memory=memory, random_state=0)
        .set_params(n_jobs=n_jobs)
        .fit(X, y)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.map_.component_indices_, two.map_.component_indices_)


def test_streamed_values_give_the_bits_of_held_ones():
    X, y = problem(n=500)
    held = KernelClassifier(map=landmarks(), solver="landmarks").fit(X, y)
    streamed = KernelClassifier(map=landmarks(), solver="landmarks", memory=1000).fit(X, y)
    np.testing.assert_array_equal(held.coef_, streamed.coef_)


@pytest.mark.parametrize("rule", ["uniform", "kmeans", "rpcholesky", "leverage"])
def test_every_rule_for_landmarks(rule):
    X, y = problem()
    model = KernelClassifier(map=landmarks(landmarks=rule), solver="landmarks").fit(X, y)
    assert model.score(X, y) > 0.9


def test_sparse_rows_and_float32_agree():
    X, y = problem()
    dense = KernelClassifier(map=landmarks(), solver="landmarks", tol=1e-8).fit(X, y)
    sparse = KernelClassifier(map=landmarks(), solver="landmarks", tol=1e-8).fit(sp.csr_array(X), y)
    single = KernelClassifier(map=landmarks(), solver="landmarks", tol=1e-6).fit(X.astype(np.float32), y)
    np.testing.assert_allclose(sparse.decision_function(X), dense.decision_function(X), atol=1e-5)
    np.testing.assert_allclose(single.decision_function(X), dense.decision_function(X), atol=2e-2)


def test_weights_are_repeated_rows():
    X, y = problem(n=200)
    L = X[:30].copy()
    weight = 1.0 + (np.arange(len(X)) % 3 == 0)
    twice = np.repeat(np.arange(len(X)), weight.astype(int))
    arguments = {"map": Nystrom(KERNEL, landmarks=L, random_state=0), "solver": "landmarks", "tol": 1e-12}
    weighted = KernelClassifier(**arguments).fit(X, y, sample_weight=weight)
    repeated = KernelClassifier(**arguments).fit(X[twice], y[twice])
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-6)


def test_equal_landmarks_do_no_harm():
    X, y = problem()
    twice = np.vstack([X[:30], X[:30]])
    model = KernelClassifier(map=Nystrom(KERNEL, landmarks=twice), solver="landmarks", tol=1e-8).fit(X, y)
    once = KernelClassifier(map=Nystrom(KERNEL, landmarks=X[:30]), solver="landmarks", tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), once.decision_function(X), atol=1e-3)


def test_landmarks_grow_where_the_loss_is_steep(monkeypatch):
    monkeypatch.setattr(landmark_fit, "LEAST_PILOT", 16)
    X = np.random.default_rng(3).uniform(-10.0, 10.0, size=(3000, 2))
    inside = np.abs(X).max(axis=1) < 2.5
    y = np.where(inside, (np.floor(X[:, 0]) + np.floor(X[:, 1])) % 2 == 0, False).astype(int)
    arguments = {"solver": "landmarks", "C": 10.0, "tol": 1e-6}
    grown = KernelClassifier(KERNEL, map="nystrom", n_components=64, random_state=0, **arguments).fit(X, y)
    uniform = KernelClassifier(map=landmarks(64), **arguments).fit(X, y)
    assert grown.convergence_.objectives[-1] < uniform.convergence_.objectives[-1]
    numbers = grown.map_.component_indices_
    assert len(set(numbers.tolist())) == 64
    np.testing.assert_array_equal(np.sort(numbers[:16]), np.sort(landmarks(16).fit(X).component_indices_))
    assert penalised(grown, X, y) == pytest.approx(grown.convergence_.objectives[-1], rel=1e-6)


def test_rows_of_no_weight_are_no_landmarks_by_loss(monkeypatch):
    monkeypatch.setattr(landmark_fit, "LEAST_PILOT", 8)
    fit = landmark_fit.LandmarkFit(None, 5, True, 1, False)
    slopes = np.zeros(1000)
    slopes[:100] = 1.0
    drawn = fit.drawn(slopes, np.arange(10), 50)
    assert len(drawn) == 50
    assert not np.isin(drawn, np.arange(10)).any()
    # A row with a slope is 101 times as likely as one without: the first hundred carry nine tenths of all chances.
    assert 35 <= np.count_nonzero(drawn < 100) < 50


def test_a_model_is_the_same_out_of_its_file(tmp_path):
    X, y = problem()
    model = KernelClassifier(map=landmarks(), solver="landmarks").fit(X, y)
    mercer.save(model, tmp_path / "model")
    again = mercer.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.convergence_ == model.convergence_
    assert (tmp_path / "model").stat().st_size < 16 * model.coef_.size + 40_000


@pytest.mark.parametrize(
    ("map", "n_rows", "width", "taken"),
    [
        (Nystrom(KERNEL), 10_000, 1024, True),
        (Nystrom(KERNEL), 10_000, 256, False),
        (Nystrom(KERNEL), 1000, 1024, False),
        (Nystrom(KERNEL, rank=10), 10_000, 1024, False),
        (Nystrom("precomputed"), 10_000, 1024, False),
        (mercer.RandomFourier(KERNEL), 10_000, 1024, False),
    ],
)
def test_the_choice_is_by_arithmetic(map, n_rows, width, taken):
    assert choice.takes_landmarks(map, n_rows, width, 3) is taken


@pytest.mark.parametrize("learner", [KernelClassifier, KernelRegressor])
@pytest.mark.parametrize("map", [mercer.RandomFourier(KERNEL), Nystrom(KERNEL, rank=3)])
def test_maps_without_such_landmarks_are_refused(learner, map):
    X, y = problem(n=60)
    with pytest.raises(ValueError, match="solver='landmarks' is for Nystrom"):
        learner(map=map, solver="landmarks").fit(X, y)


def test_what_it_costs_is_told():
    X, y = problem()
    report = KernelClassifier(map=landmarks(), solver="landmarks").fit(X, y).convergence_
    assert report.expected > 0.0
    assert report.operations > 0.0


@pytest.mark.parametrize("n", [1, 7, 8, 9, 30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_of_a_factor(n, dtype, monkeypatch):
    monkeypatch.setattr(triangular, "BLOCK", 8)
    rng = np.random.default_rng(n)
    root = rng.normal(size=(n, n + 3))
    A = (root @ root.T + np.eye(n)).astype(dtype)
    L = np.linalg.cholesky(A.astype(np.float64))
    factor = Triangular.factor(A.copy(), 2)
    B, eps = rng.normal(size=(n, 2)), 100 * n * np.finfo(dtype).eps
    np.testing.assert_allclose(np.tril(factor.lower), L, atol=eps * np.abs(L).max())
    np.testing.assert_allclose(factor.solve(B), np.linalg.solve(L, B), atol=100 * eps)
    np.testing.assert_allclose(factor.solve_transposed(B), np.linalg.solve(L.T, B), atol=100 * eps)
    np.testing.assert_allclose(factor.times(B), L @ B, atol=eps * np.abs(L).max())
    np.testing.assert_allclose(factor.transposed_times(B), L.T @ B, atol=eps * np.abs(L).max())
    np.testing.assert_allclose(np.tril(factor.gram(dtype)), np.tril(L.T @ L), atol=eps * np.abs(A).max() * 10)
    with pytest.raises(np.linalg.LinAlgError):
        Triangular.factor(-np.eye(n, dtype=dtype), 1)
