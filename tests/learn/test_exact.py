"""The exact support vector machine, found by the rows near its margin, against the one on all rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

import mercer
from mercer import Nystrom
from mercer.kernels import Gaussian, Matern
from mercer.learn import KernelClassifier, KernelPCA, KernelRegressor
from mercer.learn.fitting import exact_hinge, exact_rows
from mercer.learn.solvers.active_rows import Margins

from .test_landmarks import problem

KERNEL = Gaussian(0.4)


def brute_force(K, signs, weight, intercept):
    """The minimum of the objective of one class, found by another method."""
    values, vectors = np.linalg.eigh(K)
    Z = vectors * np.sqrt(np.maximum(values, 0.0))

    def objective(w):
        excess = np.maximum(1.0 - signs * (Z @ w[:-1] + intercept * w[-1]), 0.0)
        slope = -2.0 * weight * signs * excess
        gradient = np.append(w[:-1] + Z.T @ slope, intercept * slope.sum())
        return 0.5 * w[:-1] @ w[:-1] + weight @ excess**2, gradient

    options = {"maxiter": 20_000, "maxfun": 40_000, "gtol": 1e-11, "ftol": 1e-16}
    return minimize(objective, np.zeros(Z.shape[1] + 1), jac=True, method="L-BFGS-B", options=options).fun


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("candidates", [100, 1024])
def test_the_objective_is_the_least_one(classes, intercept, candidates, monkeypatch):
    monkeypatch.setattr(exact_hinge, "CANDIDATE_LANDMARKS", candidates)
    X, y = problem(n=250, classes=classes)
    weight = np.random.default_rng(0).uniform(0.2, 2.0, len(X))
    model = KernelClassifier(
        KERNEL, map="exact", C=4.0, tol=1e-12, fit_intercept=intercept, random_state=0, preparation=None
    )
    model.fit(X, y, sample_weight=weight)
    columns = [1] if classes == 2 else range(classes)
    least = [brute_force(KERNEL(X), np.where(y == c, 1.0, -1.0), 4.0 * weight, intercept) for c in columns]
    assert model.convergence_.objectives[-1] == pytest.approx(sum(least), rel=1e-6)
    assert model.convergence_.method == "exact"
    assert model.convergence_.gap <= 1e-12


@pytest.mark.parametrize("kernel", [KERNEL, Matern(nu=1.5, length_scale=2.0)])
def test_the_exact_machine_is_the_machine_on_all_rows(kernel):
    X, y = problem(n=500)
    exact = KernelClassifier(kernel, map="exact", C=5.0, tol=1e-12, random_state=0, preparation=None).fit(X, y)
    whole = KernelClassifier(
        kernel, map="nystrom", n_components=500, C=5.0, tol=1e-12, random_state=0, preparation=None
    ).fit(X, y)
    np.testing.assert_allclose(exact.decision_function(X), whole.decision_function(X), atol=2e-4)


def test_rows_that_the_candidates_miss_join(monkeypatch):
    monkeypatch.setattr(exact_hinge, "CANDIDATE_LANDMARKS", 300)
    X, y = problem(n=600)
    expected = KernelClassifier(KERNEL, map="exact", C=5.0, tol=1e-10, random_state=0, preparation=None).fit(X, y)
    monkeypatch.setattr(exact_hinge.ExactFit, "candidate_values", lambda fit, _: 2.0 * fit.loss.signs)
    found = KernelClassifier(KERNEL, map="exact", C=5.0, tol=1e-10, random_state=0, preparation=None).fit(X, y)
    assert found.convergence_.passes > 1
    np.testing.assert_allclose(found.decision_function(X), expected.decision_function(X), atol=5e-3)


def test_probabilities_of_few_rows_are_those_of_the_machine_on_all_rows():
    X, y = problem(n=300)
    weight = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    exact = KernelClassifier(KERNEL, map="exact", C=5.0, tol=1e-10, random_state=0, preparation=None).fit(X, y, weight)
    whole = KernelClassifier(
        KERNEL, map="nystrom", n_components=300, C=5.0, tol=1e-10, random_state=0, preparation=None
    ).fit(X, y, weight)
    assert exact.calibration_.method == whole.calibration_.method == "approximate leave-one-out"
    np.testing.assert_allclose(exact.predict_proba(X), whole.predict_proba(X), atol=1e-3)


def test_only_rows_with_a_coefficient_are_kept():
    X, y = problem(n=600)
    model = KernelClassifier(KERNEL, map="exact", C=5.0, random_state=0, preparation=None).fit(X, y)
    assert model.coef_.any(axis=0).all()
    margins = np.where(y[:, None] == np.arange(3), 1.0, -1.0) * model.decision_function(X)
    inside = np.flatnonzero((margins < 1.0 - 1e-3).any(axis=1))
    assert set(inside.tolist()) <= set(model.map_.component_indices_.tolist())
    assert model.map_.n_components_ < len(X)


def test_float32_sparse_rows_and_files(tmp_path):
    X, y = problem(n=400)
    exact = KernelClassifier(KERNEL, map="exact", tol=1e-8, random_state=0, C=1.0, preparation=None).fit(X, y)
    for rows in (X.astype(np.float32), sp.csr_array(X)):
        other = KernelClassifier(KERNEL, map="exact", tol=1e-5, random_state=0, C=1.0, preparation=None).fit(rows, y)
        np.testing.assert_allclose(other.decision_function(X), exact.decision_function(X), atol=5e-3)
    mercer.save(exact, tmp_path / "model")
    np.testing.assert_array_equal(mercer.load(tmp_path / "model").predict_proba(X), exact.predict_proba(X))


def test_bits_do_not_depend_on_threads():
    X, y = problem(n=500)
    one, two = (
        KernelClassifier(KERNEL, map="exact", random_state=0, n_jobs=n, C=1.0, preparation=None).fit(X, y)
        for n in (1, 2)
    )
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_separable_classes_have_a_machine_too():
    X = np.array([[0.0], [0.1], [3.0], [3.1]])
    model = KernelClassifier(KERNEL, map="exact", C=100.0, random_state=0, preparation=None).fit(X, [0, 0, 1, 1])
    assert model.predict(X).tolist() == [0, 0, 1, 1]


def test_kernel_matrices_grow_by_their_new_rows(monkeypatch):
    monkeypatch.setattr(exact_rows, "TOGETHER", 64)
    X, y = problem(n=300)
    model = KernelClassifier(KERNEL, map="exact", C=5.0, tol=1e-9, random_state=0, preparation=None).fit(X, y)
    monkeypatch.undo()
    expected = KernelClassifier(KERNEL, map="exact", C=5.0, tol=1e-9, random_state=0, preparation=None).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), atol=1e-6)


def test_a_gap_is_a_bound():
    X, y = problem(n=200, classes=2)
    signs, K = np.where(y == 1, 1.0, -1.0)[:, None], KERNEL(X)
    machine = Margins(K, signs, np.full(len(X), 3.0), True, 1)
    nothing = np.zeros((len(X), 1)), np.zeros(1)
    least = machine.minimise(*nothing, None, 1e-14, 100).objectives[0]
    for steps in range(1, 6):
        found = machine.minimise(*nothing, None, 1e-14, steps)
        assert found.objectives[0] * (1.0 - found.gaps[0]) <= least * (1.0 + 1e-9)
        assert found.objectives[0] >= least * (1.0 - 1e-9)


@pytest.mark.parametrize(
    ("model", "named"),
    [
        (KernelClassifier(map="exact", loss="logistic", kernel=None, C=1.0, preparation=None), "squared_hinge"),
        (
            KernelClassifier(map="exact", loss="squared", keep_statistics=True, kernel=None, C=1.0, preparation=None),
            "keep_statistics",
        ),
        (KernelClassifier("precomputed", map="exact", C=1.0), "kernel of mercer.kernels"),
        (KernelPCA(map="exact"), "KernelPCA"),
        (KernelRegressor(map="exact", loss="quantile", kernel=None, alpha=1.0, preparation=None), "loss='squared'"),
        (KernelClassifier(map="exakt", kernel=None, C=1.0, preparation=None), "exakt"),
    ],
)
def test_unsupported_arguments_are_refused(model, named):
    X, y = problem(n=50)
    X = KERNEL(X) if model.kernel == "precomputed" else X
    with pytest.raises(ValueError, match=named):
        model.fit(X, y)


def test_several_tasks_are_refused():
    X, y = problem(n=60)
    with pytest.raises(ValueError, match="2 tasks"):
        KernelClassifier(map="exact", kernel=None, C=1.0, preparation=None).fit(X, np.column_stack([y, y]))


def test_landmarks_without_whitening_are_kernel_values():
    X, _ = problem()
    map = Nystrom(KERNEL, n_components=20, whiten=False, random_state=0).fit(X)
    expected = KERNEL(X, X[map.component_indices_])
    np.testing.assert_allclose(map.transform(X), expected, atol=1e-12)
    np.testing.assert_allclose(map.transform(X.astype(np.float32)), expected, atol=1e-5)
    assert np.isnan(map.residual_trace_.trace)
    with pytest.raises(ValueError, match="whiten=False"):
        Nystrom(KERNEL, rank=3, whiten=False).fit(X)
