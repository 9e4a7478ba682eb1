"""Exact kernel ridge regression: against its normal equations, scikit-learn, and rows that are left out one by one."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.kernel_ridge import KernelRidge

import mercer
from mercer.data import Blocks
from mercer.kernels import Gaussian, Matern
from mercer.learn import KernelClassifier, KernelRegressor
from mercer.learn.estimates.memory_estimates import Extent
from mercer.learn.solvers import row_ridge, triangular
from mercer.learn.solvers.row_ridge import HeldKernelMatrix, RowRidge
from mercer.learn.solvers.triangular import Triangular

from .test_landmarks import problem

KERNEL = Gaussian(0.4)


def numbers(n=150):
    X, _ = problem(n=n)
    rng = np.random.default_rng(1)
    return X, np.column_stack([np.sin(X[:, 0]), 5.0 + X[:, 1] ** 2]) + 0.1 * rng.normal(size=(n, 2))


def exact(**arguments):
    return KernelRegressor(
        KERNEL, **({"alpha": 1.0, "preparation": None} | {"map": "exact", "random_state": 0} | arguments)
    )


def brute_force(K, Y, weight, alpha, intercept):
    """Coefficients with the intercept last, by the system of all optimality conditions at once."""
    n = len(Y)
    system = np.zeros((n + 1, n + 1))
    system[:n, :n] = K + alpha * np.diag(1.0 / weight)
    system[:n, n] = system[n, :n] = float(intercept)
    system[n, n] = float(not intercept)
    return np.linalg.solve(system, np.vstack([Y, np.zeros((1, Y.shape[1]))]))


@pytest.mark.parametrize("alpha", [1e-3, 1.0])
def test_exact_ridge_regression_agrees_with_scikit_learn(alpha):
    X, Y = numbers()
    model = exact(alpha=alpha, fit_intercept=False).fit(X, Y)
    other = KernelRidge(alpha=alpha, kernel="rbf", gamma=0.4).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), other.predict(X), atol=1e-8)
    np.testing.assert_allclose(model.coef_.T, other.dual_coef_, atol=1e-8)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kernel", [KERNEL, Matern(nu=1.5, length_scale=2.0)])
def test_coefficients_solve_the_system(kernel, intercept, monkeypatch):
    monkeypatch.setattr(triangular, "BLOCK", 32)
    X, Y = numbers()
    weight = np.random.default_rng(2).uniform(0.2, 2.0, len(X))
    model = KernelRegressor(kernel, map="exact", alpha=0.3, fit_intercept=intercept, preparation=None).fit(X, Y, weight)
    expected = brute_force(kernel(X), Y, weight, 0.3, intercept)
    np.testing.assert_allclose(model.coef_.T, expected[:-1], atol=1e-9)
    np.testing.assert_allclose(model.intercept_, expected[-1] * intercept, atol=1e-9)


def test_the_objective_is_that_of_features_on_all_rows():
    X, Y = numbers()
    model = exact(alpha=0.5).fit(X, Y)
    whole = exact(alpha=0.5, map="nystrom", n_components=150).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), whole.predict(X), atol=1e-6)


def test_weights_count_as_repetitions():
    X, Y = numbers()
    weight = np.arange(len(X)) % 3
    weighted = exact(alpha=0.5).fit(X, Y, weight.astype(float))
    repeated = exact(alpha=0.5).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-9)
    assert weighted.map_.n_components_ == np.count_nonzero(weight)


@pytest.mark.parametrize("intercept", [True, False])
def test_errors_are_those_of_rows_left_out(intercept, monkeypatch):
    monkeypatch.setattr(triangular, "BLOCK", 16)
    monkeypatch.setattr(row_ridge, "BLOCK", 16)
    X, Y = numbers(40)
    weight = np.random.default_rng(2).uniform(0.2, 2.0, len(X))
    ridge = RowRidge(HeldKernelMatrix(KERNEL(X), 2), Y, weight, intercept)
    ridge.solve(3.0, False)  # after which the kernel matrix is restored
    found = ridge.solve(0.2, True).left_out()
    for row in range(len(X)):
        rest = np.delete(np.arange(len(X)), row)
        beta = brute_force(KERNEL(X[rest]), Y[rest], weight[rest], 0.2, intercept)
        predicted = KERNEL(X[[row]], X[rest]) @ beta[:-1] + beta[-1] * intercept
        np.testing.assert_allclose(found[row], Y[row] - predicted[0], atol=1e-9)


@pytest.mark.parametrize("rule", ["loo", "gcv", [1e-3, 0.1, 10.0]])
def test_alphas_are_chosen_as_with_features(rule):
    X, Y = numbers()
    model = exact(alpha=rule).fit(X, Y)
    whole = exact(alpha=rule, map="nystrom", n_components=150).fit(X, Y)
    assert model.scores_.shape == (len(model.alphas_), 2)
    assert model.alpha_ in model.alphas_
    if isinstance(rule, list):
        assert model.alpha_ == whole.alpha_
        np.testing.assert_allclose(model.scores_, whole.scores_, rtol=1e-4)
    else:
        assert np.abs(np.log10(model.alpha_ / whole.alpha_)) < 1.0
        assert model.scores_.sum(axis=1).min() == pytest.approx(whole.scores_.sum(axis=1).min(), rel=0.05)


def test_float32_sparse_rows_blocks_and_files(tmp_path):
    X, Y = numbers()
    model = exact().fit(X, Y)
    for rows in (X.astype(np.float32), sp.csr_array(X)):
        np.testing.assert_allclose(exact().fit(rows, Y).predict(rows), model.predict(X), atol=1e-4)
    blocks = Blocks([(X[:64], Y[:64]), (X[64:], Y[64:])])
    np.testing.assert_allclose(exact().fit(blocks).predict(X), model.predict(X), atol=1e-9)
    mercer.save(model, tmp_path / "model")
    np.testing.assert_array_equal(mercer.load(tmp_path / "model").predict(X), model.predict(X))


@pytest.mark.parametrize("alpha", [1.0, "loo"])
def test_bits_do_not_depend_on_threads(alpha, monkeypatch):
    monkeypatch.setattr(triangular, "BLOCK", 32)
    X, Y = numbers()
    one, two = (exact(n_jobs=jobs, alpha=alpha).fit(X, Y) for jobs in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_what_does_not_fit_is_refused_before_anything_is_read():
    X = np.zeros((300_000, 1), dtype=np.float32)
    with pytest.raises(MemoryError, match="map='exact' with 300000 rows"):
        exact().fit(X, X[:, 0])
    extent = Extent(1024, 20_000, n_jobs=1)
    assert 8 * 20_000**2 < exact().bytes_needed(extent) < 1.2 * 8 * 20_000**2


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"loss": "huber"}, "loss='huber'"),
        ({"solver": "landmarks"}, "solver='landmarks'"),
        ({"keep_statistics": True}, "keep_statistics=True"),
        ({"alpha": 0.0}, "raise alpha"),
        ({"alpha": [0.0]}, "raise alpha"),
        ({"kernel": "precomputed"}, "a kernel of mercer.kernels"),
    ],
)
def test_unsupported_arguments_are_refused(arguments, named):
    X = np.ones((5, 5))
    with pytest.raises(ValueError, match=named):
        KernelRegressor(
            **({"kernel": None, "alpha": 1.0, "preparation": None} | {"kernel": KERNEL, "map": "exact"} | arguments)
        ).fit(X, np.arange(5.0))
    assert not hasattr(exact(), "partial_fit")


@pytest.mark.parametrize("classes", [2, 4])
def test_least_squares_on_signs_are_those_of_features_on_all_rows(classes):
    X, y = problem(n=200, classes=classes)
    weight = np.random.default_rng(2).integers(0, 3, len(y)).astype(float)
    arguments = {"loss": "squared", "C": 3.0, "random_state": 0, "class_weight": "balanced"}
    model = KernelClassifier(KERNEL, map="exact", **({"C": 1.0, "preparation": None} | arguments)).fit(X, y, weight)
    whole = KernelClassifier(
        KERNEL, map="nystrom", n_components=200, solver="newton", **({"C": 1.0, "preparation": None} | arguments)
    ).fit(X, y, weight)
    np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-3)
    assert not hasattr(model, "partial_fit")


def test_tasks_of_least_squares_share_one_factor(tmp_path):
    X, y = problem(n=100)
    both = KernelClassifier(KERNEL, map="exact", loss="squared", C=1.0, preparation=None).fit(
        X, np.column_stack([y, X[:, 0] > 0])
    )
    alone = KernelClassifier(KERNEL, map="exact", loss="squared", C=1.0, preparation=None).fit(X, y)
    np.testing.assert_allclose(both.decision_function(X)[0], alone.decision_function(X), atol=1e-9)
    mercer.save(both, tmp_path / "model")
    np.testing.assert_array_equal(mercer.load(tmp_path / "model").predict_proba(X)[1], both.predict_proba(X)[1])


@pytest.mark.parametrize("n", [1, 8, 9, 30])
def test_the_diagonal_of_an_inverse(n, monkeypatch):
    monkeypatch.setattr(triangular, "BLOCK", 8)
    root = np.random.default_rng(n).normal(size=(n, n + 3))
    A = root @ root.T + np.eye(n)
    np.testing.assert_allclose(Triangular.factor(A.copy(), 2).inverse_diagonal(), np.diag(np.linalg.inv(A)), atol=1e-9)


def test_the_solver_is_reported():
    X, Y = numbers(40)
    values, factor = 50.0 * 40**2, 4.0 * 2.0 * 40**3 / 3.0
    assert exact(alpha=0.5).fit(X, Y).solver_ == ("exact", *[pytest.approx(values + factor)] * 2)
    several = exact(alpha=[0.1, 1.0]).fit(X, Y).solver_  # each with the diagonal of an inverse
    assert several.operations == pytest.approx(values + (2 + 1) * 2.0 * factor)
    signs = KernelClassifier(KERNEL, map="exact", loss="squared", C=2.0, preparation=None).fit(X, Y[:, 0] > 0.0)
    assert signs.solver_ == ("exact", *[pytest.approx(values + 2.0 * factor)] * 2)
    assert signs.C_ == 2.0


def test_a_holdout_is_refused():
    with pytest.raises(ValueError, match="map='exact' leaves out every row by itself"):
        exact(alpha="holdout").fit(*numbers(20))
