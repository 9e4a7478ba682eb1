"""Solutions without second moments: the same as with them, in less memory."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

import mercer
from mercer import Nystrom, RandomFourier
from mercer.data import ArrayTable
from mercer.kernels import Gaussian
from mercer.learn import KernelClassifier, KernelRegressor, machine
from mercer.learn.context import FitContext
from mercer.learn.estimates.memory_estimates import Extent
from mercer.learn.features.feature_matrix import HeldFeatures
from mercer.learn.fitting import loss_fit
from mercer.learn.losses import Squared
from mercer.learn.passes.fit_passes import Passes
from mercer.learn.solvers import wide_newton
from mercer.learn.solvers.choice import is_wide, works_wide
from mercer.learn.solvers.conjugate_gradients import solver_for
from mercer.learn.solvers.wide_newton import SampledFeatures, WideNewton, sample_size
from mercer.learn.solvers.wide_ridge import MOST_LANDMARKS, RowPreconditioner, WideRidge, landmark_count
from mercer.learn.statistics import chunk_rows
from mercer.persist import train

RNG = np.random.default_rng(0)
GIB = 2**30


def features(D=60):
    return RandomFourier(Gaussian(0.1), n_components=D, random_state=0)


def problem(n=400, dtype=np.float64):
    X = np.random.default_rng(0).normal(size=(n, 5))
    labels = np.array(["far", "left", "right"])[np.where((X**2).sum(axis=1) > 5, 0, 1 + (X[:, 0] > 0.2))]
    return X.astype(dtype), np.column_stack([np.sin(X[:, 0]) * X[:, 1], 100 * X[:, 2] ** 2]), labels


def ridge_objective(model, X, Y, alpha, weight):
    residuals = model.predict(X) - Y
    return 0.5 * (weight @ residuals**2).sum() + 0.5 * alpha * (model.coef_**2).sum()


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("memory", [None, 1000])
def test_ridge_regression_is_that_of_sums(intercept, weighted, memory):
    X, Y, _ = problem()
    weight = np.random.default_rng(1).integers(0, 4, len(X)).astype(float) if weighted else None
    given = {"map": features(), "alpha": 0.01, "fit_intercept": intercept}
    sums = KernelRegressor(**({"kernel": None, "alpha": 1.0, "preparation": None} | given)).fit(X, Y, weight)
    model = KernelRegressor(
        solver="wide",
        tol=1e-10,
        memory=memory,
        **({"kernel": None, "alpha": 1.0, "preparation": None} | given),
    ).fit(X, Y, weight)
    ours, theirs = (
        ridge_objective(one, X, Y, 0.01, np.ones(len(X)) if weight is None else weight) for one in (model, sums)
    )
    assert abs(ours / theirs - 1.0) < 1e-9
    np.testing.assert_allclose(model.predict(X), sums.predict(X), atol=1e-3)
    report = model.convergence_
    assert (report.method, report.converged, hasattr(sums, "convergence_")) == ("wide", True, False)
    assert model.objective_ == pytest.approx(ours, rel=1e-9)


# -- ridge regression in the space of rows -----------------------------------------------------------------------------


def is_by_rows(solver):
    return isinstance(solver, WideRidge)


@pytest.fixture
def solvers(monkeypatch):
    """Record the solvers that are used."""
    taken, original = [], loss_fit.solver_for
    monkeypatch.setattr(loss_fit, "solver_for", lambda *given: taken.append(original(*given)) or taken[-1])
    return taken


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("memory", [pytest.param(None, marks=pytest.mark.full), 1000])
def test_ridge_regression_by_rows_is_that_of_sums(solvers, intercept, weighted, dtype, memory):
    X, Y, _ = problem(dtype=dtype)
    weight = np.random.default_rng(1).integers(0, 4, len(X)).astype(float) if weighted else None
    given = {"map": features(2000), "alpha": 0.3, "fit_intercept": intercept}
    sums = KernelRegressor(**({"kernel": None, "alpha": 1.0, "preparation": None} | given)).fit(X, Y, weight)
    tol = 1e-9 if dtype == np.float64 else 1e-5
    model = KernelRegressor(
        solver="wide",
        tol=tol,
        memory=memory,
        **({"kernel": None, "alpha": 1.0, "preparation": None} | given),
    ).fit(X, Y, weight)
    assert is_by_rows(solvers[0])
    ours, theirs = (
        ridge_objective(one, X, Y, 0.3, np.ones(len(X)) if weight is None else weight) for one in (model, sums)
    )
    assert abs(ours / theirs - 1.0) < 10 * tol
    assert model.objective_ == pytest.approx(ours, rel=1e-9 if dtype == np.float64 else 1e-4)
    assert model.convergence_.converged
    assert model.convergence_.gap <= tol


@pytest.mark.parametrize("tol", [0.3, 0.03, 1e-4])
def test_the_gap_by_rows_is_a_bound(tol):
    X, Y, _ = problem()
    given = {"map": features(1500), "alpha": 0.1}
    least = ridge_objective(
        KernelRegressor(**({"kernel": None, "alpha": 1.0, "preparation": None} | given)).fit(X, Y[:, 0]),
        X,
        Y[:, 0],
        0.1,
        np.ones(len(X)),
    )
    model = KernelRegressor(
        solver="wide",
        tol=tol,
        memory=1000,
        **({"kernel": None, "alpha": 1.0, "preparation": None} | given),
    ).fit(X, Y[:, 0])
    excess = model.objective_ - least
    assert -1e-9 * least <= excess <= model.convergence_.gap * model.objective_ * (1 + 1e-9)
    assert model.convergence_.gap <= tol


@pytest.mark.parametrize("count", [40, 300])
def test_the_preconditioner_of_rows_is_the_inverse_on_landmarks(monkeypatch, count):
    """It is also close to the kernel matrix, of which it is the part that landmarks represent."""
    X, Y, _ = problem(300)
    monkeypatch.setattr(loss_fit, "landmark_count", lambda *size: count)
    made = []
    monkeypatch.setattr(loss_fit, "solver_for", lambda design, loss: made.append(design) or solver_for(design, loss))
    KernelRegressor(map=features(900), alpha=0.5, solver="wide", memory=1000, preparation=None).fit(X, Y)
    landmarks, roots = made[0].near(), RNG.uniform(0.0, 2.0, len(X))
    F = landmarks.root.factor.solve(landmarks.values.whole().T).T
    inverse = np.linalg.inv(np.eye(len(X)) + roots[:, None] * (F @ F.T) * roots)
    R = RNG.normal(size=(len(X), 3))
    np.testing.assert_allclose(RowPreconditioner(landmarks, roots)(R), inverse @ R, atol=1e-6)
    if count == len(X):
        prepared = made[0]._rows.take(np.arange(len(X)))
        np.testing.assert_allclose(F @ F.T, Gaussian(0.1)(prepared, prepared), atol=1e-6)


def test_few_features_are_not_solved_by_rows(solvers):
    X, Y, _ = problem()
    KernelRegressor(map=features(60), alpha=0.01, solver="wide", preparation=None).fit(X, Y)
    KernelRegressor(map=features(60), alpha=1.0, solver="wide", preparation=None).fit(X, Y)
    assert [is_by_rows(one) for one in solvers] == [False, True]


def test_landmarks_of_the_preconditioner_are_few():
    assert landmark_count(1000, 1_000_000, 10) == 1000
    assert landmark_count(60_000, 65_536, 10) < landmark_count(60_000, 524_288, 10) == MOST_LANDMARKS


@pytest.mark.parametrize(
    ("loss", "given"),
    [
        ("squared_hinge", {"C": 10.0}),
        ("squared_hinge", {"fit_intercept": False, "memory": 1000}),
        ("logistic", {"C": 10.0, "memory": 1000}),
        ("logistic", {"class_weight": "balanced"}),
    ],
)
@pytest.mark.parametrize("classes", [2, 3])
def test_classes_are_those_of_newton(loss, given, classes):
    X, _, y = problem()
    y = y if classes == 3 else y == "far"
    usual = KernelClassifier(map=features(), loss=loss, solver="newton", tol=1e-10, **({"C": 1.0} | given)).fit(X, y)
    model = KernelClassifier(map=features(), loss=loss, solver="wide", tol=1e-10, **({"C": 1.0} | given)).fit(X, y)
    assert abs(model.objective_ / usual.objective_ - 1.0) < 1e-6
    assert model.convergence_.method == "wide"
    assert model.convergence_.converged
    assert np.mean(model.predict(X) == usual.predict(X)) > 0.99
    assert model.predict_proba(X).shape == (len(X), classes)


def least_squares_on_signs(Z, signs, weight, C, intercept):
    """Coefficients and intercepts by the normal equations."""
    if intercept:
        Z = np.column_stack([Z, np.ones(len(Z))])
    penalty = np.eye(Z.shape[1])
    if intercept:
        penalty[-1, -1] = 0.0
    W = np.linalg.solve(2 * C * (Z.T * weight) @ Z + penalty, 2 * C * (Z.T * weight) @ signs)
    return (W[:-1], W[-1]) if intercept else (W, np.zeros(signs.shape[1]))


@pytest.mark.parametrize("D", [60, 900])  # by a sample of rows, and in the space of rows
@pytest.mark.parametrize(
    ("classes", "given"),
    [
        (2, {}),
        (3, {"class_weight": {"far": 2.0, "left": 1.0, "right": 0.5}, "memory": 1000}),
        (3, {"fit_intercept": False}),
    ],
)
def test_least_squares_of_classes_are_those_of_the_normal_equations(D, classes, given):
    X, _, y = problem()
    if classes == 2:
        y = np.where(y == "far", "far", "near")
    weight = np.random.default_rng(1).integers(0, 4, len(X)).astype(float)
    C = 10.0 if D == 60 else 0.5
    model = KernelClassifier(map=features(D), loss="squared", solver="wide", C=C, tol=1e-12, **given).fit(X, y, weight)
    counts = weight * np.array([given.get("class_weight", {}).get(label, 1.0) for label in y])
    signs = np.where(y[:, None] == (model.classes_[1:] if classes == 2 else model.classes_), 1.0, -1.0)
    Z = features(D).fit_transform(X)
    W, offset = least_squares_on_signs(Z, signs, counts, C, given.get("fit_intercept", True))
    expected = Z @ W + offset
    np.testing.assert_allclose(model.decision_function(X).reshape(len(X), -1), expected, atol=1e-4)
    least = 0.5 * (W**2).sum() + C * (counts @ (signs - expected) ** 2).sum()
    assert model.objective_ == pytest.approx(least, rel=1e-9)
    assert (model.solver_.name, model.convergence_.converged) == ("wide", True)
    assert model.calibration_.method == "leave-one-out"
    sums = KernelClassifier(map=features(D), loss="squared", C=C, **given).fit(X, y, weight)
    np.testing.assert_allclose(model.predict_proba(X), sums.predict_proba(X), atol=1e-3)


def test_rows_left_out_together_change_what_is_solved_by_rows(solvers):
    """If rows are not left out one by one, a solver for the other rows starts again with their weights."""
    X, _, y = problem(1200)
    given = {"map": features(2000), "loss": "squared", "C": 0.5}
    model = KernelClassifier(solver="wide", tol=1e-9, **given).fit(X, y)
    assert is_by_rows(solvers[0])
    without = solvers[0].for_loss(solvers[0].loss.scaled(np.arange(len(X)) % 3.0))
    expected = WideRidge(without.design, without.loss, without.landmarks)
    for name in ("roots", "goal", "mean_roots"):
        np.testing.assert_array_equal(getattr(without, name), getattr(expected, name))
    assert model.calibration_.method == "left-out rows"


def test_several_tasks_at_once():
    X, _, y = problem()
    both = np.column_stack([y, np.where(X[:, 1] > 0, "up", "down")])
    usual = KernelClassifier(map=features(), solver="newton", tol=1e-9, C=1.0, preparation=None).fit(X, both)
    model = KernelClassifier(map=features(), solver="wide", tol=1e-9, memory=1000, C=1.0, preparation=None).fit(X, both)
    assert abs(model.objective_ / usual.objective_ - 1.0) < 1e-6


@pytest.mark.parametrize(
    ("loss", "given"),
    [
        ("huber", {"delta": 1}),
        pytest.param("quantile", {"quantile": [0.2, 0.8]}, marks=pytest.mark.full),
        ("poisson", {}),
    ],
)
def test_other_losses_of_numbers(loss, given):
    X, Y, _ = problem()
    y = np.round(np.exp(Y[:, 0])) if loss == "poisson" else Y[:, 0]
    usual = KernelRegressor(
        map=features(),
        loss=loss,
        solver="features",
        tol=1e-6,
        **({"alpha": 1.0} | given),
    ).fit(X, y)
    model = KernelRegressor(
        map=features(),
        loss=loss,
        solver="wide",
        tol=1e-6,
        memory=1000,
        **({"alpha": 1.0} | given),
    ).fit(X, y)
    assert model.objective_ == pytest.approx(usual.objective_, rel=1e-4)
    assert model.convergence_.method == "wide"


@pytest.mark.parametrize("loss", ["quantile", "epsilon_insensitive", "huber"])
def test_the_gap_of_other_losses_is_a_bound(loss):
    """Its estimate by the Newton decrement was a tenth of the distance from the minimum and less."""
    X, Y, _ = problem(160)
    y, given = Y[:, 0] + 0.1 * np.random.default_rng(3).normal(size=160), {"loss": loss, "delta": 0.5, "quantile": 0.3}
    given |= {"map": features(300), "alpha": 1e-3 if loss == "huber" else 1.0}
    least = KernelRegressor(solver="features", tol=1e-9, **given).fit(X, y)
    for tol in (1e-2, 1e-4):
        model = KernelRegressor(solver="wide", tol=tol, **given).fit(X, y)
        assert (model.solver_.name, model.convergence_.converged) == ("wide", True)
        assert model.objective_ / least.objective_ - 1.0 <= model.gap_ + 1e-9 <= tol


@pytest.mark.parametrize("solver", ["wide", "features", "landmarks"])
def test_weights_are_repeated_rows_where_delta_is_estimated(solver):
    """The first fit, whose residuals tell delta, depends on the numbers of rows as far as it has not converged."""
    X, Y, _ = problem()
    y = Y[:, 0] + np.random.default_rng(3).standard_t(2, len(X)) / 10
    counts = np.random.default_rng(1).integers(1, 4, len(X))
    numbers = np.arange(40)
    landmarks = np.concatenate([[0], np.cumsum(counts)[:-1]])[numbers]
    found = []
    for given, places in (
        ((X, y, counts.astype(float)), numbers),
        ((np.repeat(X, counts, axis=0), np.repeat(y, counts)), landmarks),
    ):
        map = Nystrom(Gaussian(0.1), n_components=40, landmarks=places) if solver == "landmarks" else features(200)
        found.append(KernelRegressor(map=map, loss="huber", alpha=0.1, solver=solver, tol=1e-10).fit(*given))
    np.testing.assert_allclose(found[0].delta_, found[1].delta_, rtol=1e-4)  # the root of the tolerance, about
    np.testing.assert_allclose(found[0].predict(X), found[1].predict(X), atol=1e-4)


@pytest.mark.parametrize("kind", ["float32", "sparse"])
def test_rows_of_every_kind(kind):
    X, Y, y = problem(dtype=np.float32)
    if kind == "sparse":
        X = sp.csr_array(np.where(np.abs(X) > 0.8, X, 0))
    sums = KernelRegressor(map=features(), alpha=1.0, preparation=None).fit(X, Y)
    model = KernelRegressor(map=features(), solver="wide", tol=1e-6, memory=1000, alpha=1.0, preparation=None).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), sums.predict(X), rtol=1e-2, atol=0.05)
    usual = KernelClassifier(map=features(), solver="newton", tol=1e-6, C=1.0, preparation=None).fit(X, y)
    streamed = KernelClassifier(map=features(), solver="wide", tol=1e-6, memory=1000, C=1.0, preparation=None).fit(X, y)
    assert abs(streamed.objective_ / usual.objective_ - 1.0) < 1e-5


def test_large_curvatures_keep_their_digits_in_float32():
    X, Y, _ = problem(dtype=np.float32)
    sums = KernelRegressor(map=features(), alpha=1e-4, preparation=None).fit(X, Y[:, 0])
    model = KernelRegressor(map=features(), alpha=1e-4, solver="wide", tol=1e-5, memory=1000, preparation=None).fit(
        X, Y[:, 0]
    )
    assert model.convergence_.converged
    ours, theirs = (np.sum((one.predict(X) - Y[:, 0]) ** 2) for one in (model, sums))
    assert ours < 1.01 * theirs


def test_a_preconditioner_that_has_lost_its_sign_is_skipped_for_a_step(monkeypatch):
    X, Y, _ = problem()
    sums = KernelRegressor(map=features(), alpha=1.0, preparation=None).fit(X, Y)
    original, signs = RowPreconditioner.__call__, iter([1.0, 1.0, -1.0])  # the first is for the intercept
    monkeypatch.setattr(RowPreconditioner, "__call__", lambda self, R: next(signs, 1.0) * original(self, R))
    model = KernelRegressor(map=features(), solver="wide", tol=1e-8, alpha=1.0, preparation=None).fit(X, Y)
    assert model.convergence_.converged
    assert next(signs, None) is None
    np.testing.assert_allclose(model.predict(X), sums.predict(X), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("memory", [pytest.param(None, marks=pytest.mark.full), 1000])
def test_bits_do_not_depend_on_threads(monkeypatch, memory):
    monkeypatch.setattr(wide_newton, "BLOCK_BYTES", 1)  # blocks of a few rows
    X, Y, y = problem()
    ridge = [
        KernelRegressor(map=features(), solver="wide", memory=memory, n_jobs=n, alpha=1.0, preparation=None).fit(X, Y)
        for n in (1, 3)
    ]
    np.testing.assert_array_equal(ridge[0].coef_, ridge[1].coef_)
    rows = [
        KernelRegressor(map=features(1500), solver="wide", memory=memory, n_jobs=n, alpha=1.0, preparation=None).fit(
            X, Y[:, 0]
        )
        for n in (1, 3)
    ]
    np.testing.assert_array_equal(rows[0].coef_, rows[1].coef_)
    hinge = [
        KernelClassifier(map=features(), solver="wide", memory=memory, n_jobs=n, C=1.0, preparation=None).fit(X, y)
        for n in (1, 3)
    ]
    np.testing.assert_array_equal(hinge[0].coef_, hinge[1].coef_)


@pytest.mark.parametrize("intercept", [False, True])
def test_a_sample_of_all_rows_is_the_hessian(intercept):
    Z, Y = RNG.normal(size=(30, 50)), RNG.normal(size=(30, 2))
    design = HeldFeatures(Z, intercept, 1, Passes(ArrayTable(Z), FitContext()))
    solver = WideNewton(design, Squared(Y, np.full(30, 3.0), np.ones(2)), 0.0)
    assert len(solver.rows) == sample_size(30, 2) == 30
    solver.refresh(np.zeros((30, 2)))
    padded = np.hstack([Z, np.ones((30, 1))]) if intercept else Z
    hessian = np.diag(solver.ridge[:, 0]) + 3.0 * padded.T @ padded
    G = RNG.normal(size=(design.width, 2))
    np.testing.assert_allclose(solver.precondition(G), np.linalg.solve(hessian, G), rtol=1e-7, atol=1e-9)
    report = solver.minimise(1e-8, 10).report
    assert report.converged
    assert report.passes == 4  # the gradient, one step, its decision values, and the gradient at the end


@pytest.mark.parametrize("most_bytes", [0.0, 50 * 40 * 8, 1e9])
def test_features_of_a_sample_in_parts(monkeypatch, most_bytes):
    monkeypatch.setattr(wide_newton, "BLOCK_BYTES", 1)
    Z, made = RNG.normal(size=(101, 40)), []
    sample = SampledFeatures(lambda rows: made.append(rows) or Z[rows], Z.shape, most_bytes, 2)
    np.testing.assert_allclose(np.tril(sample.gram()), np.tril(Z @ Z.T), atol=1e-12)
    W, R = RNG.normal(size=(40, 3)), RNG.normal(size=(101, 3))
    made.clear()
    np.testing.assert_allclose(sample.products(W), Z @ W, atol=1e-12)
    np.testing.assert_allclose(sample.transposed(R), Z.T @ R, atol=1e-12)
    assert max([rows.stop - rows.start for rows in made], default=0) == (
        0 if most_bytes == 1e9 else wide_newton.LEAST_BLOCK
    )


def test_rows_become_fewer_where_features_are_more():
    assert [chunk_rows(D, 4) for D in (1000, 32_768, 131_072, 524_288, 1_000_000)] == [4096, 1024, 256, 64, 32]
    assert chunk_rows(10_000_000, 8) == 16


def test_predictions_are_made_of_few_rows(monkeypatch):
    X, Y, _ = problem()
    model = KernelRegressor(map=features(), solver="wide", alpha=1.0, preparation=None).fit(X, Y)
    whole, seen, original = model.predict(X), [], machine.features
    monkeypatch.setattr(machine, "chunk_rows", lambda width, itemsize: 16)
    monkeypatch.setattr(
        machine, "features", lambda fitted, X, *rest: seen.append(X.shape[0]) or original(fitted, X, *rest)
    )
    np.testing.assert_allclose(model.predict(X), whole, rtol=1e-12)
    assert max(seen) == 16


def test_what_has_no_room_for_second_moments_is_solved_without(tmp_path):
    X, Y, y = problem(300)
    wanted = {"map": features(4096), "n_jobs": 1}
    for model, targets in (
        (
            KernelRegressor(**({"kernel": None, "alpha": 1.0, "preparation": None} | wanted)),
            Y[:, 0],
        ),
        (
            KernelClassifier(**({"kernel": None, "C": 1.0, "preparation": None} | wanted)),
            y,
        ),
        (
            KernelClassifier(**({"kernel": None, "C": 1.0, "loss": "squared", "preparation": None} | wanted)),
            y,
        ),
    ):
        found = train(model, X.astype(np.float32), targets, output=tmp_path / "model", memory="100MB")
        assert found.convergence_.method == "wide"
        again = mercer.load(tmp_path / "model")
        np.testing.assert_array_equal(again.predict(X[:9]), found.predict(X[:9]))
        assert again.convergence_ == found.convergence_
    for refused in (
        KernelRegressor(
            alpha="gcv",
            **({"kernel": None, "preparation": None} | wanted),
        ),
        KernelRegressor(
            keep_statistics=True,
            **({"kernel": None, "alpha": 1.0, "preparation": None} | wanted),
        ),
        KernelClassifier(loss="squared", C=[0.5, 1.0], **({"kernel": None, "preparation": None} | wanted)),
        KernelRegressor(
            solver="features",
            **({"kernel": None, "alpha": 1.0, "preparation": None} | wanted),
        ),
    ):
        with pytest.raises(MemoryError, match="the sums over 4096 features"):
            train(refused, X, y if hasattr(refused, "C") else Y[:, 0], output=tmp_path / "model", memory="100MB")
    with pytest.raises(MemoryError, match="the sums over 4096 features"):  # too little for either
        train(
            KernelRegressor(**({"kernel": None, "alpha": 1.0, "preparation": None} | wanted)),
            X,
            Y[:, 0],
            output=tmp_path / "model",
            memory="10MB",
        )
    batches = KernelRegressor(
        n_components=40, solver="wide", random_state=0, kernel=None, alpha=1.0, preparation=None
    ).partial_fit(X[:200], Y[:200, 0])
    assert batches.statistics_ is not None


def test_the_choice_is_by_operations_and_by_memory():
    def sums(D, n, memory):
        return is_wide(Extent(D, n), squared=True, memory=memory)

    assert not sums(8192, 1_000_000, 64 * GIB)
    assert sums(8192, 1_000_000, GIB)
    assert sums(65_536, 60_000, 1024 * GIB)
    assert not sums(65_536, 60_000, GIB // 4)  # which neither fits
    assert is_wide(Extent(32_768, 60_000, 10), squared=False, memory=1024 * GIB)
    assert not is_wide(Extent(2048, 60_000, 10), squared=False, memory=1024 * GIB)


def test_a_million_features_fit():
    for squared in (False, True):
        assert Extent(1_000_000, 60_000, 10, 4, 2).wide(squared) < 3 * GIB


def test_landmarks_are_not_solved_without_second_moments():
    model = KernelRegressor(map=Nystrom(Gaussian(0.1), n_components=30_000), alpha=1.0)
    assert not works_wide(model, Extent(30_000, 100_000), GIB)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            KernelRegressor(solver="wide", alpha="evidence", kernel=None, preparation=None),
            "keeps no sums over rows: alpha must be a positive number, several, 'loo' or 'holdout', found 'evidence'",
        ),
        (
            KernelRegressor(solver="wide", keep_statistics=True, kernel=None, alpha=1.0, preparation=None),
            "it requires keep_statistics=False, found True",
        ),
        (
            KernelClassifier(solver="wide", loss="squared", kernel=None, C=1.0, keep_statistics=True, preparation=None),
            "it requires keep_statistics=False, found True",
        ),
    ],
)
def test_unsupported_arguments_are_refused(model, message):
    X, _, _ = problem(40)
    with pytest.raises(ValueError, match=message):
        model.fit(X, X[:, 0] > 0)


@pytest.mark.parametrize(("memory", "held"), [(None, True), (1000, False)])
def test_features_are_kept_only_if_they_fit(monkeypatch, memory, held):
    X, Y, _ = problem()
    made, original = [], HeldFeatures.__init__
    monkeypatch.setattr(HeldFeatures, "__init__", lambda self, *given: made.append(1) or original(self, *given))
    KernelRegressor(map=features(), solver="wide", memory=memory, alpha=1.0, preparation=None).fit(X, Y)
    assert bool(made) is held


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_few_rows_are_left_out_one_by_one(loss, monkeypatch):
    """The result is that of second moments, by products of rows, if the features of all rows do not fit in memory."""
    monkeypatch.setattr(wide_newton, "BLOCK_BYTES", 0)  # so that they are made a few rows at a time
    X, _, labels = problem(60)
    given = {"map": features(100), "loss": loss, "C": [0.5, 2.0], "tol": 1e-9}
    model = KernelClassifier(
        solver="wide",
        memory=1000,
        **({"kernel": None, "C": 1.0, "preparation": None} | given),
    ).fit(X, labels)
    usual = KernelClassifier(
        solver="newton",
        **({"kernel": None, "C": 1.0, "preparation": None} | given),
    ).fit(X, labels)
    assert model.calibration_.method == usual.calibration_.method == "approximate leave-one-out"
    np.testing.assert_allclose(model.predict_proba(X), usual.predict_proba(X), atol=1e-3)
    np.testing.assert_allclose(model.penalty_path_.scores, usual.penalty_path_.scores, rtol=1e-3)


def test_the_rounding_of_an_intercept_hides_no_minimum():
    """The gradient of an intercept cannot be smaller than what one unit in its last place changes."""
    X, y = make_blobs(centers=2, random_state=0, cluster_std=20)
    model = KernelClassifier(
        solver="wide", kernel="gaussian(0.001)", C=1.0, class_weight={0: 1000, 1: 0.0001}, tol=1e-15, preparation=None,
        random_state=0,
    ).fit(X, y)  # fmt: skip
    assert model.convergence_.converged
    assert model.convergence_.gap <= 1e-15
