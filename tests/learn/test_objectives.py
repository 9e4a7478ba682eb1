"""The reported objective of a fitted machine and its bound on the distance from the minimum, for every solver."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import scipy.special

import mercer
from mercer import RandomFourier
from mercer.kernels import Gaussian
from mercer.learn import KernelClassifier, KernelRegressor
from mercer.learn.solvers.ridge import RidgeEnd, solve_ridge
from mercer.learn.solvers.row_ridge import HeldKernelMatrix, RowRidge, RowSolution
from mercer.learn.statistics import Moments

KERNEL = Gaussian(0.3)


def problem(n=250, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1] * X[:, 2]]) + 0.1 * rng.normal(size=(n, 2))
    return X, Y, rng.integers(1, 4, size=n).astype(float)


def features(D=40):
    return RandomFourier(KERNEL, n_components=D, random_state=0)


EXACT = {"kernel": KERNEL, "map": "exact", "random_state": 0}


def on(map):
    """The arguments of a machine on features, or of the exact one."""
    return EXACT if map == "exact" else {"map": features()}


def values_of(model, X):
    """Decision values of every target, and the penalty on their coefficients, by the map's kernel or features."""
    coef = np.atleast_2d(model.coef_)
    if model.map == "exact":
        landmarks = X[model.map_.component_indices_]
        return KERNEL(X, landmarks) @ coef.T + model.intercept_, np.trace(coef @ KERNEL(landmarks) @ coef.T)
    return model.map_.transform(X) @ coef.T + model.intercept_, (coef**2).sum()


@pytest.mark.parametrize("map", ["features", "exact"])
@pytest.mark.parametrize("alpha", [0.3, [0.01, 0.1, 1.0], "loo"])
@pytest.mark.parametrize("intercept", [False, True])
def test_that_of_ridge_regression(map, alpha, intercept):
    X, Y, weight = problem()
    model = KernelRegressor(
        **({"kernel": None, "preparation": None} | on(map)), alpha=alpha, fit_intercept=intercept
    ).fit(X, Y, weight)
    F, penalty = values_of(model, X)
    expected = 0.5 * (weight @ (Y - F) ** 2).sum() + 0.5 * model.alpha_ * penalty
    assert model.objective_ == pytest.approx(expected, rel=1e-9)
    assert 0.0 <= model.gap_ < 1e-12
    assert model.n_iter_ == 1


@pytest.mark.parametrize(("map", "C"), [("features", 2.0), ("features", [0.5, 2.0]), ("exact", 2.0)])
def test_that_of_least_squares_on_signs(map, C):
    X, Y, weight = problem()
    y = np.digitize(Y[:, 0], [-0.5, 0.5])
    model = KernelClassifier(**({"kernel": None, "preparation": None} | on(map)), loss="squared", C=C).fit(X, y, weight)
    F, penalty = values_of(model, X)
    signs = np.where(y[:, None] == np.arange(3), 1.0, -1.0)
    assert model.objective_ == pytest.approx(0.5 * penalty + model.C_ * (weight @ (signs - F) ** 2).sum(), rel=1e-9)
    assert 0.0 <= model.gap_ < 1e-12


def test_the_bound_of_ridge_regression_by_sums():
    X, Y, weight = problem()
    Z = features().fit_transform(X)
    moments = Moments.of(Z, Y, weight)
    centred, alpha = moments.centred(True), 0.2
    best, _ = solve_ridge(moments, alpha, True, 1e-16)
    least = RidgeEnd.at(best, alpha, centred)
    assert least.gap < 1e-12
    weakest = np.linalg.eigh(centred.gram)[1][:, :1] * np.ones(2)
    for change in (weakest, np.random.default_rng(1).normal(size=best.shape)):
        for size in (1e-3, 0.1, 10.0):
            off = RidgeEnd.at(best + size * change, alpha, centred)
            share = 1.0 - least.objective / off.objective
            assert share * (1.0 - 1e-6) <= off.gap <= 1.0
    assert RidgeEnd.at(best, 0.0, centred).gap <= 1.0  # nothing holds coefficients back


def test_the_bound_of_ridge_regression_on_rows():
    X, Y, weight = problem()
    alpha, rng = 0.2, np.random.default_rng(1)
    ridge = RowRidge(HeldKernelMatrix(KERNEL(X), 1), Y, weight, True)
    found = ridge.solve(alpha, False)
    least = ridge.end(alpha, found)
    errors = alpha * found.beta / weight[:, None]
    penalty = alpha * np.trace(found.beta.T @ KERNEL(X) @ found.beta)
    assert least.objective == pytest.approx(0.5 * (weight @ errors**2).sum() + 0.5 * penalty, rel=1e-10)
    for size in (1e-6, 1e-3, 0.1):
        change = size * rng.normal(size=found.beta.shape)
        off = ridge.end(alpha, RowSolution(found.beta + change - change.mean(axis=0), found.offset, None))
        share = 1.0 - least.objective / off.objective
        assert 0.0 < share <= off.gap


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("intercept", [False, True])
def test_the_objective_agrees_with_liblinear(classes, loss, intercept):
    """LIBLINEAR solves one class against the rest, and regularises intercepts like coefficients."""
    X, Y, weight = problem()
    y = np.digitize(Y[:, 0], [-0.5, 0.5][: classes - 1])
    given = {"loss": loss, "C": 2.0, "fit_intercept": intercept, "solver": "liblinear"}
    model = KernelClassifier(map=features(), **({"C": 1.0} | given)).fit(X, y, weight)
    Z = model.map_.transform(X)
    Z = np.column_stack([Z, np.ones(len(Z))]) if intercept else Z
    least = 0.0
    for column in [1] if classes == 2 else range(3):
        signs = np.where(y == column, 1.0, -1.0)

        def objective(w, signs=signs):
            margins = signs * (Z @ w)
            terms = np.maximum(1.0 - margins, 0.0) ** 2 if loss == "squared_hinge" else np.logaddexp(0.0, -margins)
            return 0.5 * w @ w + 2.0 * weight @ terms

        least += scipy.optimize.minimize(objective, np.zeros(Z.shape[1]), method="L-BFGS-B", tol=1e-14).fun
    assert least * (1.0 - 1e-6) <= model.objective_ <= least * (1.0 + 1e-2)
    assert model.objective_ - least <= model.gap_ * model.objective_ + 1e-6 * least
    assert 1 <= model.n_iter_ == model.convergence_.n_iter
    assert (model.convergence_.method, model.solver_.name) == ("liblinear", "liblinear")


def test_tasks_of_liblinear_add_up():
    X, Y, _ = problem()
    labels = (Y > 0).astype(int)
    given = {"map": features(), "solver": "liblinear"}
    both = KernelClassifier(**({"kernel": None, "C": 1.0, "preparation": None} | given)).fit(X, labels)
    first, second = (
        KernelClassifier(**({"kernel": None, "C": 1.0, "preparation": None} | given)).fit(X, column)
        for column in labels.T
    )
    assert both.objective_ == pytest.approx(first.objective_ + second.objective_)
    assert both.gap_ == max(first.gap_, second.gap_)
    assert both.n_iter_ == max(first.n_iter_, second.n_iter_)
    for name in ("expected", "operations"):
        assert getattr(both.solver_, name) == sum(getattr(one.solver_, name) for one in (first, second))


@pytest.mark.parametrize("map", ["features", "exact"])
def test_objectives_are_kept_in_files(map, tmp_path):
    X, Y, _ = problem()
    for model in (
        KernelRegressor(**({"kernel": None, "alpha": 1.0, "preparation": None} | on(map))).fit(X, Y),
        KernelClassifier(**({"kernel": None, "C": 1.0, "preparation": None} | on(map)), loss="squared").fit(
            X, Y[:, 0] > 0
        ),
    ):
        mercer.save(model, tmp_path / "model")
        again = mercer.load(tmp_path / "model")
        assert (again.objective_, again.gap_) == (model.objective_, model.gap_)


def test_that_of_rows_added_later():
    X, Y, _ = problem()
    whole = KernelRegressor(map=features(), alpha=0.1, keep_statistics=True, preparation=None).fit(X, Y)
    model = KernelRegressor(map=features(), alpha=0.1, preparation=None).partial_fit(X[:100], Y[:100])
    before = model.objective_
    model.partial_fit(X[100:], Y[100:])
    assert before < model.objective_ == pytest.approx(whole.objective_, rel=1e-8)


def least_of_classes(loss, Z, y, weight, C, n_classes):
    """The least objective of a classifier on features, by L-BFGS on the formula."""
    n, D = Z.shape
    columns = 1 if n_classes == 2 else n_classes
    signs = np.where(y[:, None] == (np.array([1]) if columns == 1 else np.arange(columns)), 1.0, -1.0)

    def objective(w):
        W = w.reshape(D + 1, columns)
        F = Z @ W[:-1] + W[-1]
        if loss == "squared_hinge":
            excess = np.maximum(1.0 - signs * F, 0.0)
            terms, slopes = (excess**2).sum(axis=1), -2.0 * signs * excess
        elif columns == 1:
            margins = (signs * F)[:, 0]
            terms, slopes = np.logaddexp(0.0, -margins), -signs * scipy.special.expit(-signs * F)
        else:
            own = F[np.arange(n), y]
            terms, slopes = scipy.special.logsumexp(F, axis=1) - own, scipy.special.softmax(F, axis=1)
            slopes[np.arange(n), y] -= 1.0
        slopes = C * weight[:, None] * slopes
        gradient = np.vstack([W[:-1] + Z.T @ slopes, slopes.sum(axis=0)])
        return 0.5 * (W[:-1] ** 2).sum() + C * weight @ terms, gradient.ravel()

    options = {"maxiter": 20_000, "maxfun": 40_000, "gtol": 1e-9, "ftol": 1e-16}
    start = np.zeros((D + 1) * columns)
    return scipy.optimize.minimize(objective, start, jac=True, method="L-BFGS-B", options=options).fun


@pytest.mark.parametrize("solver", ["newton", "landmarks", "wide"])
def test_that_of_coefficients_of_which_only_intercepts_matter(solver):
    X, Y, weight = problem()
    y = np.digitize(Y[:, 0], [-0.7])
    map = mercer.Nystrom(KERNEL, n_components=30, random_state=0) if solver == "landmarks" else features()
    model = KernelClassifier(map=map, solver=solver, loss="logistic", C=1e-9, preparation=None).fit(X, y, weight)
    p = np.average(y, weights=weight)
    entropy = -p * np.log(p) - (1.0 - p) * np.log1p(-p)
    assert model.objective_ == pytest.approx(1e-9 * weight.sum() * entropy, rel=1e-5)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("solver", ["newton", "landmarks", "wide"])
def test_classifiers_against_another_solver(solver, loss, classes):
    X, Y, weight = problem()
    y = np.digitize(Y[:, 0], [-0.5, 0.5][: classes - 1])
    landmarks = mercer.Nystrom(KERNEL, n_components=30, random_state=0)
    map = landmarks if solver == "landmarks" else features()
    model = KernelClassifier(map=map, solver=solver, loss=loss, C=3.0, tol=1e-9, kernel=None, preparation=None).fit(
        X, y, weight
    )
    Z = landmarks.fit(X).transform(X) if solver == "landmarks" else features().fit_transform(X)
    least = least_of_classes(loss, Z, y, weight, 3.0, classes)
    assert model.solver_.name == solver
    assert model.objective_ == pytest.approx(least, rel=1e-6)
    assert model.gap_ <= 1e-9
