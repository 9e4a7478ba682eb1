"""Machines on landmarks without whitened features: the same optimum as on whitened ones, for every loss."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import mercer
from mercer import Nystrom, _core
from mercer.data import ArrayTable
from mercer.kernels import Gaussian, Polynomial
from mercer.learn import KernelClassifier, KernelRegressor
from mercer.learn.context import FitContext
from mercer.learn.estimates.memory_estimates import Extent
from mercer.learn.features.feature_matrix import HeldFeatures
from mercer.learn.fitting import landmark_fit, placement
from mercer.learn.losses import SquaredHinge
from mercer.learn.passes.fit_passes import Passes
from mercer.learn.solvers import choice, triangular
from mercer.learn.solvers.landmarks import LandmarkFeatures, LandmarkNewton, LandmarkRoot
from mercer.learn.solvers.newton import least_ratios
from mercer.learn.solvers.triangular import Triangular

from ..tables import every_value
from .interior_point import squared_hinge_bounds
from .test_losses import dual_value, own_loss

KERNEL = Gaussian(0.4)


def problem(n=400, d=3, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (np.linalg.norm(X, axis=1) * classes / 3.0).astype(int).clip(0, classes - 1)


def landmarks(count=40, **arguments):
    return Nystrom(KERNEL, n_components=count, random_state=0, **arguments)


def penalised(model, X, y):
    """The objective of a classifier on landmarks, computed only from its coefficients."""
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
    whitened = KernelClassifier(solver="newton", **({"kernel": None, "C": 1.0, "preparation": None} | arguments)).fit(
        X, y
    )
    plain = KernelClassifier(solver="landmarks", **({"kernel": None, "C": 1.0, "preparation": None} | arguments)).fit(
        X, y
    )
    assert plain.convergence_.method == "landmarks"
    assert plain.map_.whiten is False
    assert plain.convergence_.objectives[-1] == pytest.approx(whitened.convergence_.objectives[-1], rel=1e-8)
    np.testing.assert_allclose(plain.decision_function(X), whitened.decision_function(X), atol=1e-4)


def test_the_reported_objective_is_that_of_the_coefficients():
    X, y = problem()
    model = KernelClassifier(map=landmarks(), solver="landmarks", C=3.0, tol=1e-9, preparation=None).fit(X, y)
    assert penalised(model, X, y) == pytest.approx(model.convergence_.objectives[-1], rel=1e-8)


CORNERS = {"quantile": {"quantile": 0.3}, "epsilon_insensitive": {"epsilon": 0.2}}


def noisy(n=150):
    X, _ = problem(n=n)
    return X, np.sin(X[:, 0]) + X[:, 1] + 0.3 * np.random.default_rng(1).standard_t(2, size=n)


@pytest.mark.parametrize("alpha", [0.3, 0.03])
@pytest.mark.parametrize("loss", list(CORNERS))
def test_losses_with_corners_against_the_dual_programme(loss, alpha):
    X, y = noisy(80)
    model = KernelRegressor(map=landmarks(20), solver="landmarks", loss=loss, alpha=alpha, tol=1e-8, **CORNERS[loss])
    model.set_params(fit_intercept=False).fit(X, y)
    L, a = model.map_.parameters_.landmarks, model.coef_
    value = own_loss(loss, y, KERNEL(X, L) @ a, CORNERS[loss]).sum() + 0.5 * alpha * a @ KERNEL(L) @ a
    assert model.convergence_.method == "landmarks"
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    Z = np.linalg.solve(np.linalg.cholesky(KERNEL(L)), KERNEL(L, X)).T
    least = dual_value(loss, Z, y, alpha, CORNERS[loss])
    assert -1e-8 * value <= value - least <= 1e-6 * value
    assert model.gap_ <= 1e-8


def test_losses_with_corners_end_by_a_bound(monkeypatch):
    def estimated(*arguments):
        raise AssertionError("the gap of a loss with corners is estimated")

    monkeypatch.setattr(LandmarkNewton, "estimated_gap", estimated)
    X, y = noisy(80)
    model = KernelRegressor(map=landmarks(20), solver="landmarks", loss="quantile", alpha=0.1, **CORNERS["quantile"])
    assert model.fit(X, y).convergence_.converged


@pytest.mark.parametrize(("loss", "memory"), [("quantile", None), ("quantile", 1000), ("epsilon_insensitive", None)])
def test_losses_with_corners_agree_with_whitened_features(loss, memory):
    X, y = noisy()
    weight, Y = np.random.default_rng(2).uniform(0.0, 2.0, len(y)), np.column_stack([y, 3.0 - y**2])
    arguments = {"map": landmarks(), "alpha": 0.3, "loss": loss, "tol": 1e-8, "quantile": [0.2, 0.8]}
    whitened = KernelRegressor(
        solver="features", **({"kernel": None, "alpha": 1.0, "preparation": None} | arguments)
    ).fit(X, Y, weight)
    plain = KernelRegressor(
        solver="landmarks", memory=memory, **({"kernel": None, "alpha": 1.0, "preparation": None} | arguments)
    ).fit(X, Y, weight)
    assert plain.objective_ == pytest.approx(whitened.objective_, rel=1e-6)
    np.testing.assert_allclose(plain.predict(X), whitened.predict(X), atol=2e-3)
    assert plain.convergence_.converged


def test_losses_with_corners_take_landmarks_where_they_are_many():
    learner = KernelRegressor(
        map="nystrom", n_components=1024, loss="quantile", kernel=None, alpha=1.0, preparation=None
    )
    assert choice.works_on_landmarks(learner, Nystrom(KERNEL), 10**6)
    extent = Extent(1024, 10**6, n_jobs=1)
    assert learner.bytes_needed(extent) > extent.newton() + 8 * 1024**2


@pytest.mark.parametrize("loss", list(CORNERS))
def test_losses_with_corners_do_not_depend_on_threads(loss):
    X, y = noisy(700)
    one, two = (
        KernelRegressor(map=landmarks(60), solver="landmarks", loss=loss, n_jobs=jobs, alpha=1.0, preparation=None).fit(
            X.astype(np.float32), y
        )
        for jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_a_kernel_matrix_that_is_all_but_singular_has_a_factor(monkeypatch):
    """Increasing amounts are added to the diagonal of the original matrix until it has a factor."""
    monkeypatch.setattr(triangular, "BLOCK", 8)
    X = np.random.default_rng(0).uniform(size=(60, 1))
    gram = Gaussian(0.1)(X)
    root = LandmarkRoot(gram.copy(), 1e-16, 1)
    lower = np.tril(root.factor.lower)
    np.testing.assert_allclose(lower @ lower.T, gram, atol=1e-7)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("classes", [2, 4])
def test_least_squares_on_signs_are_those_of_sums(classes, intercept):
    X, y = problem(classes=classes)
    weight = np.random.default_rng(2).uniform(0.0, 2.0, len(y))
    arguments = {
        "map": landmarks(),
        "loss": "squared",
        "C": 3.0,
        "fit_intercept": intercept,
        "class_weight": "balanced",
    }
    sums = KernelClassifier(solver="newton", **({"kernel": None, "C": 1.0, "preparation": None} | arguments)).fit(
        X, y, weight
    )
    plain = KernelClassifier(
        solver="landmarks", tol=1e-12, **({"kernel": None, "C": 1.0, "preparation": None} | arguments)
    ).fit(X, y, weight)
    assert sums.convergence_ is None
    assert plain.convergence_.method == "landmarks"
    np.testing.assert_allclose(plain.decision_function(X), sums.decision_function(X), atol=1e-5)
    assert plain.calibration_.method == sums.calibration_.method == "leave-one-out"
    np.testing.assert_allclose(plain.predict_proba(X), sums.predict_proba(X), atol=1e-3)


def test_probabilities_of_least_squares_on_many_rows():
    X, y = problem(n=4000)
    arguments = {"map": landmarks(), "loss": "squared"}
    sums = KernelClassifier(solver="newton", **({"kernel": None, "C": 1.0, "preparation": None} | arguments)).fit(
        X, y, classes=[0, 1, 2]
    )
    plain = KernelClassifier(solver="landmarks", **({"kernel": None, "C": 1.0, "preparation": None} | arguments)).fit(
        X, y, classes=[0, 1, 2]
    )
    assert plain.calibration_.method == "left-out rows"
    assert np.abs(plain.predict_proba(X) - sums.predict_proba(X)).mean() < 0.01


def test_tasks_of_least_squares_are_learned_as_each_would_be():
    X, y = problem()
    arguments = {"map": landmarks(), "loss": "squared", "solver": "landmarks", "tol": 1e-10}
    both = KernelClassifier(**({"kernel": None, "C": 1.0, "preparation": None} | arguments)).fit(
        X, np.column_stack([y, X[:, 0] > 0])
    )
    for task, labels in enumerate((y, X[:, 0] > 0)):
        alone = KernelClassifier(**({"kernel": None, "C": 1.0, "preparation": None} | arguments)).fit(X, labels)
        np.testing.assert_allclose(both.decision_function(X)[task], alone.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("learner", [KernelClassifier, KernelRegressor])
def test_batches_after_landmarks_start_again_from_features(learner):
    X, y = problem()
    arguments = {"map": landmarks(), "loss": "squared"}
    model = learner(solver="landmarks", **arguments).fit(X, y)
    with pytest.warns(UserWarning, match="starts from the beginning"):
        model.partial_fit(X, y)
    expected = learner(**arguments).partial_fit(X, y, **({"classes": [0, 1, 2]} if learner is KernelClassifier else {}))
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert model.map_.whiten is True
    model.forget(X[:50], y[:50])
    with pytest.raises(ValueError, match="no sums"):
        learner(solver="landmarks", **arguments).fit(X, y).merge(model)


def test_kept_sums_are_those_of_features():
    X, y = problem()
    model = KernelClassifier(
        map=landmarks(), loss="squared", solver="landmarks", keep_statistics=True, C=1.0, preparation=None
    ).fit(X, y)
    assert model.statistics_ is not None
    assert model.map_.whiten is True


@pytest.mark.parametrize("loss", ["squared", "huber", "poisson"])
def test_regressors_agree_with_whitened_features(loss):
    X, _ = problem()
    y = np.column_stack([np.abs(np.sin(X[:, 0]) + X[:, 1]), np.exp(0.3 * X[:, 1])])
    arguments = {"map": landmarks(), "alpha": 0.3, "loss": loss, "tol": 1e-6, "delta": 0.5}
    whitened = KernelRegressor(
        solver="features", **({"kernel": None, "alpha": 1.0, "preparation": None} | arguments)
    ).fit(X, y)
    plain = KernelRegressor(
        solver="landmarks", **({"kernel": None, "alpha": 1.0, "preparation": None} | arguments)
    ).fit(X, y)
    np.testing.assert_allclose(plain.predict(X), whitened.predict(X), atol=0.02)
    if loss != "squared":
        assert plain.objective_ == pytest.approx(whitened.objective_, rel=3e-6)


def test_ridge_is_the_solution_of_its_normal_equations():
    X, _ = problem()
    y = np.sin(X[:, 0])
    model = KernelRegressor(
        map=landmarks(), solver="landmarks", alpha=0.5, tol=1e-12, fit_intercept=False, preparation=None
    ).fit(X, y)
    L = model.map_.parameters_.landmarks
    K, gram = KERNEL(X, L), KERNEL(L)
    expected = K @ np.linalg.solve(K.T @ K + 0.5 * gram, K.T @ y)
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-6)


@every_value(memory=[None, 1000], dtype=[np.float32, np.float64])
def test_bits_do_not_depend_on_threads(dtype, memory):
    X, y = problem(n=700)
    X = X.astype(dtype)
    one, two = (
        KernelClassifier(
            KERNEL,
            map="nystrom",
            n_components=300,
            solver="landmarks",
            memory=memory,
            random_state=0,
            C=1.0,
            preparation=None,
        )
        .set_params(n_jobs=n_jobs)
        .fit(X, y)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.map_.component_indices_, two.map_.component_indices_)


def test_streamed_values_give_the_bits_of_held_ones():
    X, y = problem(n=500)
    held = KernelClassifier(map=landmarks(), solver="landmarks", C=1.0, preparation=None).fit(X, y)
    streamed = KernelClassifier(map=landmarks(), solver="landmarks", memory=1000, C=1.0, preparation=None).fit(X, y)
    np.testing.assert_array_equal(held.coef_, streamed.coef_)


@pytest.mark.skipif(not _core.AVAILABLE, reason="the compiled core makes products with 16-bit integers")
@pytest.mark.parametrize("grown", [True, False])
@pytest.mark.parametrize("kernel", [KERNEL, 3.0 * KERNEL])
def test_many_kernel_values_are_stored_in_16_bits(monkeypatch, kernel, grown):
    X, y = problem()
    X, held, empty = X.astype(np.float32), [], HeldFeatures.empty

    def noted(*arguments):
        held.append(empty(*arguments))
        return held[-1]

    monkeypatch.setattr(landmark_fit, "LEAST_PILOT", 20)
    monkeypatch.setattr(HeldFeatures, "empty", noted)
    map = {"kernel": kernel, "map": "nystrom", "n_components": 60, "random_state": 0}
    if not grown:
        map = {"map": Nystrom(kernel, n_components=60, random_state=0)}
    found = []
    for bytes, n_jobs in ((2**62, 1), (0, 1), (0, 2)):
        monkeypatch.setattr(placement, "FIXED_BYTES", bytes)
        model = KernelClassifier(
            **({"kernel": None, "preparation": None} | map), solver="landmarks", C=3.0, tol=1e-5, n_jobs=n_jobs
        )
        found.append(model.fit(X, y))
    assert [values.Z.dtype for values in held] == [np.float32, np.uint16, np.uint16]
    plain, fixed, threaded = found
    if not grown:  # by slopes that differ a little, other landmarks are drawn
        assert fixed.convergence_.objectives[-1] == pytest.approx(plain.convergence_.objectives[-1], rel=1e-3)
        np.testing.assert_allclose(fixed.decision_function(X), plain.decision_function(X), rtol=0.01, atol=0.02)
    assert fixed.convergence_.objectives[-1] == pytest.approx(plain.convergence_.objectives[-1], rel=0.05)
    np.testing.assert_array_equal(fixed.coef_, threaded.coef_)


def test_kernels_without_bounds_are_stored_as_floats(monkeypatch):
    X, y = problem()
    monkeypatch.setattr(placement, "FIXED_BYTES", 0)
    held, empty = [], HeldFeatures.empty
    monkeypatch.setattr(HeldFeatures, "empty", lambda *given: held.append(empty(*given)) or held[-1])
    map = Nystrom(Polynomial(2, coef0=1.0), n_components=30, random_state=0)
    KernelClassifier(map=map, solver="landmarks", kernel=None, C=1.0, preparation=None).fit(X.astype(np.float32), y)
    KernelClassifier(map=landmarks(), solver="landmarks", C=1.0, preparation=None).fit(X, y)
    assert [values.Z.dtype for values in held] == [np.float32, np.float64]


@pytest.mark.parametrize("rule", ["uniform", "kmeans", "rpcholesky", "leverage"])
def test_every_rule_for_landmarks(rule):
    X, y = problem()
    model = KernelClassifier(map=landmarks(landmarks=rule), solver="landmarks", C=1.0, preparation=None).fit(X, y)
    assert model.score(X, y) > 0.9


def test_sparse_rows_and_float32_agree():
    X, y = problem()
    dense = KernelClassifier(map=landmarks(), solver="landmarks", tol=1e-8, C=1.0, preparation=None).fit(X, y)
    sparse = KernelClassifier(map=landmarks(), solver="landmarks", tol=1e-8, C=1.0, preparation=None).fit(
        sp.csr_array(X), y
    )
    single = KernelClassifier(map=landmarks(), solver="landmarks", tol=1e-6, C=1.0, preparation=None).fit(
        X.astype(np.float32), y
    )
    np.testing.assert_allclose(sparse.decision_function(X), dense.decision_function(X), atol=1e-5)
    np.testing.assert_allclose(single.decision_function(X), dense.decision_function(X), atol=2e-2)


def test_weights_are_repeated_rows():
    X, y = problem(n=200)
    L = X[:30].copy()
    weight = 1.0 + (np.arange(len(X)) % 3 == 0)
    twice = np.repeat(np.arange(len(X)), weight.astype(int))
    arguments = {"map": Nystrom(KERNEL, landmarks=L, random_state=0), "solver": "landmarks", "tol": 1e-12}
    weighted = KernelClassifier(**({"kernel": None, "C": 1.0, "preparation": None} | arguments)).fit(
        X, y, sample_weight=weight
    )
    repeated = KernelClassifier(**({"kernel": None, "C": 1.0, "preparation": None} | arguments)).fit(X[twice], y[twice])
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-6)


def test_equal_landmarks_do_no_harm():
    X, y = problem()
    twice = np.vstack([X[:30], X[:30]])
    model = KernelClassifier(
        map=Nystrom(KERNEL, landmarks=twice), solver="landmarks", tol=1e-8, C=1.0, preparation=None
    ).fit(X, y)
    once = KernelClassifier(
        map=Nystrom(KERNEL, landmarks=X[:30]), solver="landmarks", tol=1e-8, C=1.0, preparation=None
    ).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), once.decision_function(X), atol=1e-3)


def test_landmarks_grow_where_the_loss_is_steep(monkeypatch):
    monkeypatch.setattr(landmark_fit, "LEAST_PILOT", 16)
    X = np.random.default_rng(3).uniform(-10.0, 10.0, size=(3000, 2))
    inside = np.abs(X).max(axis=1) < 2.5
    y = np.where(inside, (np.floor(X[:, 0]) + np.floor(X[:, 1])) % 2 == 0, False).astype(int)
    arguments = {"solver": "landmarks", "C": 10.0, "tol": 1e-6}
    grown = KernelClassifier(
        KERNEL, map="nystrom", n_components=64, random_state=0, **({"C": 1.0, "preparation": None} | arguments)
    ).fit(X, y)
    uniform = KernelClassifier(map=landmarks(64), **({"C": 1.0} | arguments)).fit(X, y)
    assert grown.convergence_.objectives[-1] < uniform.convergence_.objectives[-1]
    numbers = grown.map_.component_indices_
    assert len(set(numbers.tolist())) == 64
    np.testing.assert_array_equal(np.sort(numbers[:16]), np.sort(landmarks(16).fit(X).component_indices_))
    assert penalised(grown, X, y) == pytest.approx(grown.convergence_.objectives[-1], rel=1e-6)


def test_rows_of_no_weight_are_never_landmarks_by_loss(monkeypatch):
    monkeypatch.setattr(landmark_fit, "LEAST_PILOT", 8)
    fit = landmark_fit.LandmarkFit(None, 5, True, 1, 0.0)
    slopes = np.zeros(1000)
    slopes[:100] = 1.0
    drawn = fit.drawn(slopes, np.arange(10), 50)
    assert len(drawn) == 50
    assert not np.isin(drawn, np.arange(10)).any()
    # A row with a slope is 101 times as likely as one without: the first hundred carry nine tenths of all chances.
    assert 35 <= np.count_nonzero(drawn < 100) < 50


def test_a_model_is_the_same_out_of_its_file(tmp_path):
    X, y = problem()
    model = KernelClassifier(map=landmarks(), solver="landmarks", C=1.0, preparation=None).fit(X, y)
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
    with pytest.raises(ValueError, match="solver='landmarks' requires Nystrom"):
        learner(map=map, solver="landmarks").fit(X, y)


def test_the_costs_are_reported():
    X, y = problem()
    report = KernelClassifier(map=landmarks(), solver="landmarks", C=1.0, preparation=None).fit(X, y).convergence_
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


def test_hessians_are_made_whenever_they_become_worth_their_cost():
    """The cost of unfinished steps adds up, even if the last step before the decision was a finished one."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    Z = Gaussian(0.3)(X, X[:12]).astype(np.float64)
    values = HeldFeatures(Z, True, 1, Passes(ArrayTable(X), FitContext()))
    design = LandmarkFeatures(values, LandmarkRoot(Gaussian(0.3)(X[:12], X[:12]), 1e-16, 1))
    design.spare_bytes = 1e9
    solver = LandmarkNewton(design, SquaredHinge((X[:, 0] > 0.0).astype(int), 2, np.ones(40)))
    W, F = np.zeros((13, 1)), np.zeros((40, 1))
    solver.unfinished, solver.is_stale, solver.products_taken = 10**9, False, [1]
    step = solver.step(F, solver.gradient(W, F, "gradient"), solver.reach(W, F))
    assert solver.takes_hessians
    assert np.isfinite(step).all()


@pytest.mark.parametrize(("d", "noise"), [(5, 0.0), (5, 0.2), (12, 0.2)])
@pytest.mark.parametrize("C", [1.0, 1e3, 1e4, 1e5, 1e7])
def test_the_claimed_gap_is_true_for_any_weight_of_the_loss(C, d, noise):
    """Where the weight is large and few rows count, steps by the preconditioner of the landmarks look better than they
    are: without precautions, objectives up to 33 times the minimum were said to be within a thousandth of it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, d))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + noise * rng.normal(size=1500) > 0.0
    model = KernelClassifier(map=landmarks(150), kernel=None, solver="landmarks", C=C, tol=1e-3, preparation=None).fit(
        X, y
    )
    assert model.convergence_.converged
    chosen = model.map_.parameters_.landmarks
    values, vectors = np.linalg.eigh(KERNEL(chosen))
    below, _ = squared_hinge_bounds(KERNEL(X, chosen) @ (vectors / np.sqrt(values)), np.where(y, 1.0, -1.0), C)
    assert penalised(model, X, y) <= (1.0 + 2e-3) * below


def test_the_least_ratio_of_a_hessian_to_its_preconditioner():
    """Conjugate gradients of a diagonal Hessian without preconditioner find its least eigenvalue, at most 1."""
    for eigenvalues in (np.array([0.003, 0.5, 1.0, 4.0]), np.array([2.0, 3.0, 5.0])):
        residual = direction = np.ones(len(eigenvalues))
        lengths, shares = [], []
        for _ in eigenvalues:
            energy = residual @ residual
            lengths.append(np.array([energy / (direction @ (eigenvalues * direction))]))
            residual = residual - lengths[-1] * eigenvalues * direction
            shares.append(np.array([residual @ residual / energy]))
            direction = residual + shares[-1] * direction
        np.testing.assert_allclose(least_ratios(lengths, shares), min(1.0, eigenvalues.min()), rtol=1e-9)
        np.testing.assert_allclose(least_ratios(lengths[:1], shares[:1]), min(1.0, eigenvalues.mean()))
    assert least_ratios([], []) == 1.0


def test_what_a_step_leaves_is_measured_by_the_hessian():
    """Few rows have curvature, so that the preconditioner overestimates that of most directions."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    values = HeldFeatures(Gaussian(0.3)(X, X[:60]), False, 1, Passes(ArrayTable(X), FitContext()))
    design = LandmarkFeatures(values, LandmarkRoot(Gaussian(0.3)(X[:60], X[:60]), 1e-16, 1))
    solver = LandmarkNewton(design, SquaredHinge((X[:, 0] > 0.0).astype(int), 2, np.full(400, 1e4)))
    W, F = np.zeros((60, 1)), np.where(X[:, :1] > 0.0, 2.0, -2.0)
    F[:25] = 0.0  # only these are within the margin
    solver.forcing = 0.003  # conjugate gradients tell the ratio only after some steps
    gradient = solver.gradient(W, F, "gradient")
    step = solver.step(F, gradient, solver.reach(W, F))
    Z = design.whole()
    hessian = np.eye(60) + (Z * solver.loss.curvature(F)).T @ Z
    residual = -gradient - hessian @ step
    left = float((residual * np.linalg.solve(hessian, residual)).sum())
    told = float(solver.left_over.sum())
    assert 0.5 * left < told < 2.0 * left
