"""Weights, targets and probabilities at the limits of floating-point numbers: correct results, or an error."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from mercer import data
from mercer.learn import KernelCCA, KernelClassifier, KernelPCA, KernelRegressor
from mercer.learn.solvers.active_rows import Margins

from ..tables import every_pair

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
Y = (X[:, 0] > 0.0).astype(int) + (X[:, 1] > 0.5)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -1.0])
@pytest.mark.parametrize("kind", [KernelClassifier, KernelRegressor, KernelPCA, KernelCCA])
def test_blocks_with_invalid_weights_are_refused(kind, wrong):
    weight = np.where(np.arange(300) == 7, wrong, 1.0)
    model = kind(n_components=16)
    with pytest.raises(ValueError, match=r"weights must be finite numbers of at least 0, found \S+ in row 7"):
        model.fit(data.Blocks([(X, Y.astype(float), weight)]))
    with pytest.raises(NotFittedError):
        (model.transform if hasattr(model, "transform") else model.predict)(X)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "squared"])
@pytest.mark.parametrize("wrong", [{0: np.nan, 1: 1.0}, {0: -1.0, 1: 1.0}, {0: 0.0, 1: 0.0}])
def test_invalid_class_weights_are_refused(loss, wrong):
    with pytest.raises(ValueError, match="class_weight must have finite numbers of at least 0, not all of them 0"):
        KernelClassifier(n_components=16, loss=loss, class_weight=wrong, kernel=None, C=1.0, preparation=None).fit(
            X, Y > 0
        )


@every_pair(C=[1.0, 1e8], loss=["squared_hinge", "logistic", "squared"], classes=[2, 3], dtype=[np.float32, np.float64])
def test_coefficients_are_numbers_whatever_the_weights(C, loss, classes, dtype):
    for seed in range(2):
        weight = 10.0 ** np.random.default_rng(seed).uniform(-6.0, 6.0, 300)
        model = KernelClassifier(
            n_components=32, loss=loss, C=C, random_state=0, max_iter=20, kernel=None, preparation=None
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.filterwarnings("ignore", "the features are linearly dependent")
            model.fit(X.astype(dtype), Y if classes == 3 else Y > 0, weight)
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.intercept_).all()
        assert len(np.unique(model.predict(X.astype(dtype)))) > 1


@pytest.mark.parametrize("classes", [2, 3])
def test_the_best_intercept_of_very_uneven_classes_is_found(classes):
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, 60)
    weight = {label: 1000.0 if label == 0 else 1e-4 for label in range(classes)}
    options = {"loss": "logistic", "class_weight": weight, "max_iter": 1000, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = KernelClassifier("gaussian(0.01)", **({"C": 1.0} | options)).fit(rng.normal(size=(60, 2)), y)
    assert np.abs(model.decision_function(rng.normal(size=(60, 2)))).max() < 40.0  # log(1000 / 1e-4) is 16
    assert model.convergence_.converged


def test_what_overflows_is_not_fitted(monkeypatch):
    import mercer.learn.classifier as module

    monkeypatch.setattr(module, "least_loss", lambda *_: (np.full((17, 1), np.nan), None, None))
    model = KernelClassifier(n_components=16, kernel=None, C=1.0, preparation=None)
    with pytest.raises(ValueError, match=r"the coefficients overflow with C=.*: lower C"):
        model.fit(X, Y > 0)
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("loss", ["squared_hinge", "squared"])
def test_balanced_classes_have_the_same_weight_with_those_of_rows(loss):
    y, weight = (Y > 0).astype(int), RNG.integers(1, 6, 300).astype(float)
    whole = KernelClassifier(
        n_components=16,
        loss=loss,
        class_weight="balanced",
        random_state=0,
        tol=1e-8,
        kernel=None,
        C=1.0,
        preparation=None,
    )
    rows = np.repeat(np.arange(300), weight.astype(int))
    whole.set_params(map="RandomFourier", kernel="gaussian(0.5)")
    weighted = whole.fit(X, y, weight).coef_.copy()
    repeated = whole.fit(X[rows], y[rows]).coef_
    np.testing.assert_allclose(weighted, repeated, atol=1e-3 * np.abs(repeated).max())


def test_float32_rows_with_targets_of_a_large_mean():
    rows, y = X.astype(np.float32), 1.7e9 + 60.0 * np.sin(X[:, 0])
    model = KernelRegressor(n_components=64, alpha=1e-3, random_state=0, kernel=None, preparation=None).fit(rows, y)
    predicted = model.predict(rows)
    assert predicted.dtype == np.float64
    assert model.score(rows, y) > 0.99
    assert len(np.unique(predicted)) > 250


@pytest.mark.parametrize("alpha", ["gcv", "loo", [0.1, 1.0]])
def test_targets_whose_squares_overflow(alpha):
    with pytest.raises(ValueError, match="the squares of the targets overflow"):
        KernelRegressor(n_components=16, alpha=alpha, kernel=None, preparation=None).fit(X, 1e200 * X[:, 0])


@pytest.mark.parametrize("classes", [2, 3])
def test_logarithms_of_probabilities_that_are_too_small(classes):
    model = KernelClassifier(
        n_components=16, loss="logistic", random_state=0, kernel=None, C=1.0, tol=1e-4, preparation=None
    ).fit(X, Y if classes == 3 else Y > 0)
    model.coef_ = 200.0 * model.coef_
    rows = X.astype(np.float32)
    found = model.predict_log_proba(rows)
    values = model.decision_function(rows).astype(np.float64)
    values = np.stack([np.zeros(300), values], axis=1) if classes == 2 else values
    values *= model.calibration_.slopes[0]
    top = values.max(axis=1, keepdims=True)
    expected = values - top - np.log(np.exp(values - top).sum(axis=1, keepdims=True))
    assert found.dtype == np.float32
    assert expected.min() < -146.0
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", [np.array, sp.csr_matrix])
@pytest.mark.parametrize("value", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("learner", [KernelClassifier, KernelRegressor])
def test_rows_that_are_all_equal_give_a_constant(kind, value, learner):
    targets = Y > 0 if learner is KernelClassifier else Y.astype(float)
    for dtype in (np.float32, np.float64):
        for count in (300, 5):  # with five rows, nothing is tried
            rows = kind(np.full((count, 2), value, dtype=dtype))
            predicted = learner(random_state=0).fit(rows, targets[:count]).predict(rows)
            mean = targets[:count].mean()
            expected = mean > 0.5 if learner is KernelClassifier else mean
            np.testing.assert_allclose(predicted.astype(float), float(expected), atol=1e-5)


@pytest.mark.parametrize("C", [1.0, 1e4, 1e6])
def test_the_exact_machine_of_few_float32_rows_converges_with_a_large_penalty(C):
    rows = X.astype(np.float32)
    exact = {"map": "exact", "C": C, "preparation": None, "random_state": 0, "max_iter": 200}
    model = KernelClassifier("gaussian(0.3)", **exact).fit(rows, Y)
    assert model.convergence_.converged
    assert model.decision_function(rows).dtype == np.float32
    double = KernelClassifier("gaussian(0.3)", **exact).fit(rows.astype(np.float64), Y)
    assert model.objective_ == pytest.approx(double.objective_, rel=1e-4)


def test_a_kernel_matrix_that_is_not_positive_definite_in_float32_is_refused():
    gram = np.ones((40, 40), dtype=np.float32)
    signs = np.where(np.arange(40) % 2, 1.0, -1.0)[:, None]
    margins = Margins(gram, signs, np.full(40, 1e12), True, 1)
    with pytest.raises(ValueError, match=r"not positive definite in float32, .* lower C, or use rows in float64"):
        margins.minimise(np.zeros((40, 1)), np.zeros(1), None, 1e-4, 10)


@pytest.mark.parametrize("solver", ["wide", "landmarks"])
def test_a_step_without_progress_does_not_report_convergence(solver):
    """The direction of the first step overflows, so no step is taken."""
    map = {"map": "nystrom", "n_components": 64} if solver == "landmarks" else {}
    model = KernelRegressor("gaussian(0.3)", loss="huber", alpha=1e-300, solver=solver, preparation=None, **map)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(X, X[:, 0])
    assert not model.convergence_.converged
    assert model.gap_ == 1.0
    assert any(issubclass(one.category, ConvergenceWarning) for one in told)


@pytest.mark.parametrize("weight", [1e300, 1e-300, 5e-324])
@pytest.mark.parametrize("kind", [KernelClassifier, KernelRegressor])
def test_weights_whose_sums_would_overflow_or_vanish_are_refused(kind, weight):
    weights = np.where(np.arange(300) == 7, weight, 1.0)
    with pytest.raises(ValueError, match=r"weights must be 0 or from 1e-100 to 1e\+100, found \S+ in row 7"):
        kind().fit(X, Y > 0, weights)
    with pytest.raises(ValueError, match=r"weights must be 0 or from 1e-100 to 1e\+100, found \S+ in row 7"):
        kind().fit(data.Blocks([(X, Y > 0, weights)]))


def test_weights_that_leave_almost_one_class_give_that_class():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = KernelClassifier(random_state=0).fit(X, Y > 0, np.where(Y > 0, 1e12, 1e-12))
    assert np.isfinite(model.predict_proba(X)).all()
    assert model.predict(X).all()


@pytest.mark.parametrize(("dtype", "unit"), [(np.float64, 1e-310), (np.float32, 1e-42), (np.float64, 1e300)])
@pytest.mark.parametrize("scale", ["standard", "common", "minmax"])
def test_rows_of_almost_no_or_huge_size_are_rows_like_others(dtype, unit, scale):
    target, rows = np.sin(X[:, 0]) + X[:, 1], (X * unit).astype(dtype)
    assert KernelRegressor(random_state=0, scale=scale).fit(rows, target).score(rows, target) > 0.95


@pytest.mark.parametrize(("dtype", "unit"), [(np.float64, 1e-310), (np.float32, 1e-42), (np.float64, 1e200)])
def test_a_column_of_almost_no_or_huge_size_is_no_obstacle(dtype, unit):
    target, rows = np.sin(X[:, 0]) + X[:, 1], (X * [unit, 1.0, 1.0]).astype(dtype)
    for stored in (rows, sp.csr_matrix(rows)):
        assert KernelRegressor(random_state=0).fit(stored, target).score(stored, target) > 0.6
