"""KernelClassifier against scikit-learn's solvers on the same features, and against exact kernel machines."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.svm import SVC, LinearSVC

from mercer import RandomFourier
from mercer.data import Blocks
from mercer.kernels import Gaussian
from mercer.learn import KernelClassifier

from ..tables import every_value


def problem(classes=2, n=600, noise=0.3, shares=None, seed=0, dtype=np.float64):
    """Rings: class by distance from the origin, with noise; ``shares`` makes some classes rarer."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(dtype)
    radius = np.linalg.norm(X, axis=1) + noise * rng.normal(size=n)
    cuts = np.quantile(radius, np.cumsum(shares)[:-1] if shares else np.arange(1, classes) / classes)
    return X, np.searchsorted(cuts, radius)


def features(**arguments):
    return RandomFourier(Gaussian(0.3), n_components=50, random_state=0, **arguments)


def objective(model, Z, y, C=1.0, weight=None):
    """The objective of the model on features Z, as its documentation states it."""
    F = Z @ model.coef_.T + model.intercept_
    weight = np.ones(len(Z)) if weight is None else weight
    norm = 0.5 * (model.coef_**2).sum()
    codes = np.searchsorted(np.unique(y), y)
    if getattr(model, "loss", None) == "squared_hinge":
        signs = (
            np.where(codes == 1, 1, -1)[:, None]
            if F.shape[1] == 1
            else np.where(codes[:, None] == np.arange(F.shape[1]), 1, -1)
        )
        return norm + C * (weight @ np.maximum(1 - signs * F, 0) ** 2).sum()
    if F.shape[1] == 1:
        return norm + C * weight @ np.logaddexp(0, -np.where(codes == 1, 1, -1) * F[:, 0])
    own = F[np.arange(len(F)), codes]
    return norm + C * weight @ (np.log(np.exp(F).sum(axis=1)) - own)


PROBLEMS = {
    "binary": {},
    "four classes": {"classes": 4},
    "rare": {"classes": 3, "shares": [0.02, 0.08, 0.9]},
    "separable": {"noise": 0.0},
    "noisy": {"noise": 3.0},
}


@every_value(name=PROBLEMS, C=[0.01, 1.0, 30.0], weighted=[False, True])
def test_the_least_logistic_loss(name, C, weighted):
    X, y = problem(**PROBLEMS[name])
    weight = np.random.default_rng(1).integers(1, 4, size=len(X)).astype(float) if weighted else None
    model = KernelClassifier(map=features(), loss="logistic", C=C, tol=1e-9, preparation=None).fit(X, y, weight)
    Z = model.map_.transform(X)
    reference = LogisticRegression(C=C, tol=1e-10, max_iter=20000).fit(Z, y, weight)
    ours, theirs = (objective(one, Z, y, C, weight) for one in (model, reference))
    assert ours <= theirs * (1 + 1e-6)
    assert ours >= theirs * (1 - 1e-4)
    values = model.decision_function(X)
    values = np.column_stack([np.zeros(len(X)), values]) if values.ndim == 1 else values
    np.testing.assert_allclose(softmax(values, axis=1), reference.predict_proba(Z), atol=2e-3)
    assert model.convergence_.converged


@every_value(name=PROBLEMS, C=[0.01, 1.0, 100.0], weighted=[False, True])
def test_the_least_squared_hinge(name, C, weighted):
    X, y = problem(**PROBLEMS[name])
    weight = np.random.default_rng(1).integers(1, 4, size=len(X)).astype(float) if weighted else None
    model = KernelClassifier(map=features(), C=C, tol=1e-9, fit_intercept=False, preparation=None).fit(X, y, weight)
    Z = model.map_.transform(X)
    reference = LinearSVC(C=C, tol=1e-9, dual=False, max_iter=100000, fit_intercept=False).fit(Z, y, weight)
    ours, theirs = (objective(one, Z, y, C, weight) for one in (model, reference))
    assert ours <= theirs * (1 + 1e-6)
    assert ours >= theirs * (1 - 1e-4)
    np.testing.assert_allclose(model.coef_, reference.coef_, atol=1e-3 * np.abs(reference.coef_).max())


@pytest.mark.parametrize("intercept", [False, True])
def test_a_softmax_takes_few_passes_whatever_is_asked(intercept):
    X, y = problem(3)
    model = KernelClassifier(
        map=features(), loss="logistic", C=30.0, tol=1e-10, fit_intercept=intercept, preparation=None
    ).fit(X, y)
    assert model.convergence_.passes < 100
    # The common part of all classes is 0 at the minimum.
    np.testing.assert_allclose(model.coef_.sum(axis=0), 0.0, atol=1e-8 * np.abs(model.coef_).max())


def test_a_free_intercept_is_never_worse():
    X, y = problem(shares=[0.1, 0.9])
    for loss in ("squared_hinge", "logistic"):
        with_, without = (
            KernelClassifier(map=features(), loss=loss, tol=1e-8, fit_intercept=free, C=1.0, preparation=None).fit(X, y)
            for free in (True, False)
        )
        Z = with_.map_.transform(X)
        assert objective(with_, Z, y) <= objective(without, Z, y)
        # Its derivative is 0: moving the intercept either way does not help.
        for change in (-1e-3, 1e-3):
            with_.intercept_ = with_.intercept_ + change
            moved = objective(with_, Z, y)
            with_.intercept_ = with_.intercept_ - change
            assert moved > objective(with_, Z, y)


def test_least_squares_is_ridge_classification():
    for classes in (2, 3):
        X, y = problem(classes)
        model = KernelClassifier(map=features(), loss="squared", C=2.0, preparation=None).fit(X, y)
        Z = model.map_.transform(X)
        reference = RidgeClassifier(alpha=0.25).fit(Z, y)
        np.testing.assert_allclose(model.decision_function(X), reference.decision_function(Z), atol=1e-8)
        np.testing.assert_array_equal(model.predict(X), reference.predict(Z))
        assert model.convergence_ is None


def test_an_exact_map_gives_the_exact_support_vector_machine():
    # The squared hinge is the hinge without slack of the kernel k(x, y) + [x = y] / (2 C).
    X, y = problem(n=150)
    C, kernel = 2.0, Gaussian(0.3)
    model = KernelClassifier(kernel, C=C, tol=1e-10, random_state=0, preparation=None).fit(X[:100], y[:100])
    K = kernel(X, X[:100])
    machine = SVC(kernel="precomputed", C=1e8, tol=1e-8).fit(K[:100] + np.eye(100) / (2 * C), y[:100])
    support = machine.support_
    expected = K[:, support] @ machine.dual_coef_[0] + machine.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-4)


@every_value(classes=[2, 3], loss=["squared_hinge", "logistic", "squared"])
def test_streamed_features_give_the_same_model(loss, classes):
    X, y = problem(classes, n=5000)
    held = KernelClassifier(map=features(), loss=loss, C=1.0, preparation=None).fit(X, y)
    streamed = KernelClassifier(map=features(), loss=loss, memory=1000, C=1.0, preparation=None).fit(X, y)
    blocks = [(X[start : start + 700], y[start : start + 700]) for start in range(0, 5000, 700)]
    from_blocks = KernelClassifier(map=features(), loss=loss, memory=1000, n_jobs=2, C=1.0, preparation=None).fit(
        Blocks(blocks)
    )
    np.testing.assert_allclose(streamed.coef_, held.coef_, atol=1e-6 * np.abs(held.coef_).max())
    np.testing.assert_array_equal(from_blocks.coef_, streamed.coef_)


def test_threads_do_not_change_a_bit():
    X, y = problem(3, n=9000, dtype=np.float32)
    one, two = (KernelClassifier(map=features(), n_jobs=jobs, C=1.0, preparation=None).fit(X, y) for jobs in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "squared"])
def test_weights_are_repetitions(loss):
    X, y = problem(3, n=120)
    weight = np.random.default_rng(3).integers(0, 4, size=120)
    weighted = KernelClassifier(loss=loss, random_state=0, tol=1e-8, kernel=None, C=1.0, preparation=None).fit(
        X, y, weight
    )
    repeated = KernelClassifier(loss=loss, random_state=0, tol=1e-8, kernel=None, C=1.0, preparation=None).fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-4)


def test_class_weights_equal_sample_weights():
    X, y = problem(shares=[0.1, 0.9])
    balanced = KernelClassifier(map=features(), class_weight="balanced", tol=1e-8, C=1.0, preparation=None).fit(X, y)
    weight = np.where(y == 0, len(y) / (2 * (y == 0).sum()), len(y) / (2 * (y == 1).sum()))
    weighted = KernelClassifier(map=features(), tol=1e-8, C=1.0, preparation=None).fit(X, y, weight)
    np.testing.assert_allclose(balanced.coef_, weighted.coef_, atol=1e-8)


def test_labels_may_be_anything():
    X, y = problem(3)
    names = np.array(["cat", "dog", "eel"])[y]
    model = KernelClassifier(map=features(), C=1.0, preparation=None).fit(X, names)
    assert model.classes_.tolist() == ["cat", "dog", "eel"]
    assert set(model.predict(X)) <= set(names)
    np.testing.assert_array_equal(
        model.predict(X),
        np.array(["cat", "dog", "eel"])[KernelClassifier(map=features(), C=1.0, preparation=None).fit(X, y).predict(X)],
    )
    with pytest.raises(ValueError, match="needs at least 2 classes, found 1 class: 'cat'"):
        KernelClassifier(kernel=None, C=1.0, preparation=None).fit(X, np.full(len(X), "cat"))


@pytest.mark.parametrize("classes", [2, 3])
def test_liblinear_is_that_of_scikit_learn(classes):
    X, y = problem(classes)
    weight = np.random.default_rng(4).integers(1, 3, size=len(X)).astype(float)
    hinge, logistic = (
        KernelClassifier(map=features(), loss=loss, solver="liblinear", C=2.0, preparation=None).fit(X, y, weight)
        for loss in ("squared_hinge", "logistic")
    )
    Z = hinge.map_.transform(X)
    for column in range(1 if classes == 2 else classes):
        own = y == (1 if classes == 2 else column)
        one = LogisticRegression(C=2.0, solver="liblinear", random_state=0, max_iter=1000).fit(Z, own, weight)
        np.testing.assert_allclose(logistic.coef_[column], one.coef_[0], atol=1e-6)
        one = LinearSVC(C=2.0, random_state=0, max_iter=1000).fit(Z, own, weight)
        np.testing.assert_allclose(hinge.coef_[column], one.coef_[0], atol=1e-6)


def test_a_fit_that_did_not_converge_warns():
    X, y = problem(noise=0.0)
    with pytest.warns(ConvergenceWarning, match="after 1 steps the objective may be"):
        model = KernelClassifier(map=features(), C=1e4, max_iter=1, preparation=None).fit(X, y)
    assert not model.convergence_.converged
    assert model.convergence_.gap > 1e-4


def test_objectives_fall_and_the_gap_is_honest():
    X, y = problem(4, n=2000)
    for loss in ("squared_hinge", "logistic"):
        model = KernelClassifier(map=features(), loss=loss, tol=1e-3, C=1.0, preparation=None).fit(X, y)
        least = (
            KernelClassifier(map=features(), loss=loss, tol=1e-10, C=1.0, preparation=None)
            .fit(X, y)
            .convergence_.objectives[-1]
        )
        objectives = model.convergence_.objectives
        assert all(later <= earlier for earlier, later in pairwise(objectives))
        assert (objectives[-1] - least) / least < 3 * model.convergence_.gap + 1e-9


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "squared"])
def test_probabilities_and_their_logarithms(loss):
    X, y = problem()
    model = KernelClassifier(map=features(), loss=loss, C=1.0, preparation=None).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X), rtol=1e-12)


def test_sparse_rows():
    X, y = problem()
    X = np.maximum(X, 0.0)
    dense, sparse = (
        KernelClassifier(map=features(), tol=1e-8, C=1.0, preparation=None).fit(form, y)
        for form in (X, sp.csr_array(X))
    )
    np.testing.assert_allclose(sparse.decision_function(sp.csr_array(X)), dense.decision_function(X), atol=1e-5)


def test_arguments_are_checked():
    X, y = problem(n=20)
    for arguments, message in (
        ({"loss": "hinge"}, "loss must be one of"),
        ({"C": 0.0}, "C must be a positive finite number"),
        ({"solver": "sgd"}, "solver must be one of"),
        ({"tol": -1.0}, "tol must be a positive"),
        ({"memory": "much"}, "memory must be a number of bytes, text like '2GB', or None, found 'much'"),
    ):
        with pytest.raises(ValueError, match=message):
            KernelClassifier(**({"kernel": None, "C": 1.0, "preparation": None} | arguments)).fit(X, y)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_float32_sums_that_rounding_makes_indefinite_still_precondition(loss):
    X = np.random.default_rng(0).normal(size=(600, 4)).astype(np.float32)
    X = np.hstack([X, X])
    model = KernelClassifier(Gaussian(0.01), n_components=128, map="RandomFourier", C=1e6, loss=loss, random_state=0)
    assert model.fit(X, X[:, 0] * X[:, 1] > 0).score(X, X[:, 0] * X[:, 1] > 0) > 0.99


# -- classes that are given --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["squared", "squared_hinge", "logistic"])
def test_classes_that_are_given_need_no_rows(loss):
    X = np.random.default_rng(0).normal(size=(600, 3))
    y = np.where(X[:, 0] > 0, "b", "d")
    features, seen = RandomFourier(Gaussian(0.3), n_components=16, random_state=0), []
    model = KernelClassifier(map=features, loss=loss, callback=seen.append, kernel=None, C=1.0, preparation=None).fit(
        X, y, classes=["d", "b", "c"]
    )
    assert model.classes_.tolist() == ["b", "c", "d"]
    assert model.coef_.shape == (3, 16)
    assert set(model.predict(X)) == {"b", "d"}
    assert model.score(X, y) > 0.9
    assert ("labels" in {told.what for told in seen}) == (loss != "squared")
    with pytest.raises(ValueError, match=r"y has the unknown label 'd' in row \d+; known labels are 'b', 'c'"):
        model.fit(X, y, classes=["b", "c"])
    with pytest.raises(ValueError, match="at least 2 classes"):
        model.fit(X, y, classes=["b"])


def test_classes_that_are_given_are_those_of_batches():
    X = np.random.default_rng(0).normal(size=(600, 3))
    tasks = np.column_stack([np.where(X[:, 0] > 0, "b", "d"), np.where(X[:, 1] > 0, "up", "down")])
    given = {"map": RandomFourier(Gaussian(0.3), n_components=16, random_state=0), "loss": "squared"}
    for y, classes, more in (
        (tasks[:, 0], ["b", "c", "d"], {"class_weight": {"b": 2.0, "c": 1.0, "d": 1.0}}),
        (tasks, [["b", "c", "d"], ["down", "up"]], {}),
    ):
        whole = KernelClassifier(**given, **({"kernel": None, "C": 1.0, "preparation": None} | more)).fit(
            X, y, classes=classes
        )
        batches = KernelClassifier(**given, **({"kernel": None, "C": 1.0, "preparation": None} | more)).partial_fit(
            X, y, classes=classes
        )
        np.testing.assert_array_equal(whole.coef_, batches.coef_)
    balanced = KernelClassifier(**({"kernel": None, "C": 1.0, "preparation": None} | given), class_weight="balanced")
    expected = balanced.fit(X, tasks[:, 0]).coef_
    np.testing.assert_array_equal(balanced.fit(X, tasks[:, 0], classes=["d", "b"]).coef_, expected)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_a_missing_label_is_refused(missing):
    X = np.random.default_rng(0).normal(size=(6, 2))
    y = np.array(["yes", "no", missing, "yes", "no", "no"], dtype=object)
    with pytest.raises(ValueError, match=r"expected a label for every row, found .* in row 2"):
        KernelClassifier(n_components=4).fit(X, y)
