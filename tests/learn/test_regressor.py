"""KernelRegressor against exact kernel ridge regression, brute force and its own definitions."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from mercer import Compressed, Nystrom, RandomFourier, StructuredFourier, TensorSketch
from mercer.data import Blocks
from mercer.kernels import Gaussian, Polynomial
from mercer.learn import KernelRegressor
from mercer.learn.solvers.ridge import Path
from mercer.learn.statistics import Moments

from ..tables import every_value


def problem(n=400, d=3, targets=None, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, size=(n, d)).astype(dtype)
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)
    return X, y if targets is None else np.stack([(j + 1) * y + j for j in range(targets)], axis=1)


def fourier(**arguments):
    return RandomFourier(Gaussian(0.5), n_components=40, random_state=0, **arguments)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("targets", [None, 2])
def test_an_exact_map_gives_exact_kernel_ridge(targets, intercept):
    X, y = problem(200, targets=targets)
    model = KernelRegressor(Gaussian(0.3), alpha=0.1, fit_intercept=intercept, random_state=0).fit(X[:150], y[:150])
    if intercept:  # of all functions of the kernel and a constant, as by a kernel matrix of centred features
        K = Gaussian(0.3)(X, X[:150])
        centred = K - K[:150].mean(axis=0) - (K - K[:150].mean(axis=0)).mean(axis=1, keepdims=True)
        weights = np.linalg.solve(centred[:150] + 0.1 * np.eye(150), y[:150] - y[:150].mean(axis=0))
        expected = centred @ weights + y[:150].mean(axis=0)
    else:
        expected = KernelRidge(alpha=0.1, kernel="rbf", gamma=0.3).fit(X[:150], y[:150]).predict(X)
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-7)


@pytest.mark.parametrize("intercept", [False, True])
def test_ridge_regression_on_the_features(intercept):
    X, y = problem(targets=3)
    weight = np.random.default_rng(1).integers(0, 4, size=len(X)).astype(float)
    model = KernelRegressor(map=fourier(), alpha=0.7, fit_intercept=intercept, preparation=None).fit(X, y, weight)
    Z = model.map_.transform(X)
    reference = Ridge(alpha=0.7, fit_intercept=intercept).fit(Z, y, sample_weight=weight)
    np.testing.assert_allclose(model.coef_, reference.coef_, atol=1e-9)
    np.testing.assert_allclose(model.intercept_, reference.intercept_, atol=1e-9)
    np.testing.assert_allclose(model.predict(X), reference.predict(Z), atol=1e-9)


def test_blocks_of_any_size_give_the_same_bits():
    X, y = problem(9000)
    whole = KernelRegressor(
        n_components=32, scale="standard", random_state=0, n_jobs=1, kernel=None, alpha=1.0, preparation=None
    ).fit(X, y)
    for size in (1000, 4096, 5000):
        parts = [(X[start : start + size], y[start : start + size]) for start in range(0, len(X), size)]
        model = KernelRegressor(
            n_components=32, scale="standard", random_state=0, n_jobs=2, kernel=None, alpha=1.0, preparation=None
        ).fit(Blocks(parts))
        np.testing.assert_array_equal(model.coef_, whole.coef_)
        np.testing.assert_array_equal(model.predict(X[:50]), whole.predict(X[:50]))


@pytest.mark.parametrize("targets", [None, 2])
def test_batches_and_merges_agree_with_one_pass(targets):
    X, y = problem(1200, targets=targets)
    weight = np.random.default_rng(2).random(1200)
    whole = KernelRegressor(map=fourier(), alpha=1e-3, keep_statistics=True, preparation=None).fit(X, y, weight)
    batches = KernelRegressor(map=fourier(), alpha=1e-3, preparation=None)
    halves = [KernelRegressor(map=fourier(), alpha=1e-3, preparation=None) for _ in range(2)]
    for start in range(0, 1200, 100):
        rows = slice(start, start + 100)
        batches.partial_fit(X[rows], y[rows], weight[rows])
        halves[start // 600].partial_fit(X[rows], y[rows], weight[rows])
    for model in (batches, halves[0].merge(halves[1])):
        for ours, theirs in zip(model.statistics_, whole.statistics_, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10 * np.abs(theirs).max())
        np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-8)


def test_rows_are_forgotten():
    X, y = problem(600)
    model = KernelRegressor(map=fourier(), alpha=0.1, preparation=None)
    model.partial_fit(X[:400], y[:400]).partial_fit(X[400:], y[400:]).forget(X[400:], y[400:])
    never = KernelRegressor(map=fourier(), alpha=0.1, preparation=None).partial_fit(X[:400], y[:400])
    np.testing.assert_allclose(model.coef_, never.coef_, atol=1e-8)
    with pytest.raises(ValueError, match="400 rows of weight 400 cannot be forgotten, because only 400 rows"):
        model.forget(X[:400], y[:400])


def test_what_cannot_be_merged_is_named():
    X, y = problem(100)

    def model(**arguments):
        given = {"map": RandomFourier(Gaussian(0.5), n_components=16, random_state=0)} | arguments
        return KernelRegressor(**({"kernel": None, "alpha": 1.0, "preparation": None} | given)).partial_fit(X, y)

    first = model()
    for other, what in (
        (model(map=RandomFourier(Gaussian(0.4), n_components=16, random_state=0)), "the kernel is Gaussian"),
        (model(map=RandomFourier(Gaussian(0.5), n_components=16, random_state=1)), "the seed is 0 here and 1 there"),
        (model(map=RandomFourier(Gaussian(0.5), n_components=18, random_state=0)), "the width is 16 here and 18"),
        (model(map=StructuredFourier(Gaussian(0.5), n_components=16, random_state=0)), "the map is 'RandomFourier'"),
        (model(scale="standard"), "scale is None here and 'standard' there"),
    ):
        with pytest.raises(ValueError, match=what):
            first.merge(other)
    with pytest.raises(ValueError, match="there are no sums: give keep_statistics=True"):
        first.merge(KernelRegressor(map=fourier(), alpha=1.0, preparation=None).fit(X, y))


@every_value(intercept=[False, True], targets=[None, 2])
def test_leave_one_out_is_leaving_out_one(intercept, targets):
    X, y = problem(60, targets=targets)
    model = KernelRegressor(map=fourier(), alpha="loo", fit_intercept=intercept, preparation=None).fit(X, y)
    Y = y.reshape(60, -1)
    Z = model.map_.transform(X)
    for place in (5, 12, 20):
        ridge = Ridge(alpha=model.alphas_[place], fit_intercept=intercept, solver="svd")
        errors = []
        for i in range(60):
            rest = np.arange(60) != i
            errors.append(Y[i] - ridge.fit(Z[rest], Y[rest]).predict(Z[i : i + 1])[0])
        np.testing.assert_allclose(model.scores_[place], (np.array(errors) ** 2).mean(axis=0), rtol=1e-5)


@every_value(tails=["cauchy", "far row", "weights"], dtype=[np.float64, np.float32])
def test_leave_one_out_holds_on_rows_of_huge_leverage(tails, dtype):
    rng = np.random.default_rng(0)
    X = rng.standard_cauchy((80, 3)) if tails == "cauchy" else rng.normal(size=(80, 3))
    if tails == "far row":
        X[7] = 1e6
    weight = rng.lognormal(sigma=3.0, size=80) if tails == "weights" else None
    y = np.arctan(X[:, 0]) + 0.1 * rng.normal(size=80)
    model = KernelRegressor("polynomial(2, coef0=1)", n_components=40, map="TensorSketch", scale="standard", alpha=1.0)
    model.set_params(alpha="loo", random_state=0).fit(X.astype(dtype), y, weight)
    Z, counted = model.map_.transform(model.preparation_(X.astype(dtype))).astype(np.float64), np.ones(80)
    counted = counted if weight is None else weight
    leverage = []
    for place in (8, 16, 24):
        alpha, errors = model.alphas_[place], []
        for i in range(80):
            rest = np.arange(80) != i
            ridge = Ridge(alpha=alpha, solver="svd").fit(Z[rest], y[rest], counted[rest])
            errors.append(y[i] - ridge.predict(Z[i : i + 1])[0])
        centred = (Z - np.average(Z, axis=0, weights=counted)) * np.sqrt(counted)[:, None]
        hat = centred @ np.linalg.solve(centred.T @ centred + alpha * np.eye(40), centred.T)
        leverage.append((np.diag(hat) + counted / counted.sum()).max())
        expected = np.average(np.square(errors), weights=counted)
        np.testing.assert_allclose(model.scores_[place], expected, rtol=1e-4 if dtype is np.float64 else 0.05)
    assert leverage[0] > 0.95


@pytest.mark.parametrize("intercept", [False, True])
def test_generalised_cross_validation_is_its_definition(intercept):
    X, y = problem(80, targets=2)
    alphas = [1e-3, 1e-1, 10.0]
    model = KernelRegressor(map=fourier(), alpha=alphas, fit_intercept=intercept, preparation=None).fit(X, y)
    Z = model.map_.transform(X)
    if intercept:
        Z = Z - Z.mean(axis=0)
    for alpha, score in zip(alphas, model.scores_, strict=True):
        hat = Z @ np.linalg.solve(Z.T @ Z + alpha * np.eye(40), Z.T) + intercept / 80
        residual = y - hat @ y
        expected = (residual**2).mean(axis=0) / (1.0 - np.trace(hat) / 80) ** 2
        np.testing.assert_allclose(score, expected, rtol=1e-8)
    best = model.scores_ / y.var(axis=0)
    assert model.alpha_ == alphas[int(best.sum(axis=1).argmin())]


@pytest.mark.filterwarnings("ignore:alpha='gcv' is unreliable:UserWarning")  # by so few rows
def test_weights_are_repetitions():
    X, y = problem(60)
    weight = np.random.default_rng(3).integers(0, 4, size=60)
    for alpha in (0.1, "gcv"):
        weighted = KernelRegressor(alpha=alpha, scale="standard", random_state=0, kernel=None, preparation=None).fit(
            X, y, weight
        )
        repeated = KernelRegressor(alpha=alpha, scale="standard", random_state=0, kernel=None, preparation=None).fit(
            np.repeat(X, weight, axis=0), np.repeat(y, weight)
        )
        np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-6)


def test_a_row_is_left_out_with_all_its_weight_where_gcv_counts_repetitions():
    """Thirty rows of weight 3, fitted exactly, have a leverage of 1: gcv takes each of the copies to have 1/3."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    doubt = r"leaving out 30 rows one by one .* every leverage is 0\.33, but the largest is 1: give alpha='loo'"
    with pytest.warns(UserWarning, match=doubt):
        KernelRegressor(alpha="gcv", random_state=0, kernel="gaussian(0.3)", preparation=None).fit(X, y, np.full(30, 3))


def test_standard_deviations_agree_with_the_formula():
    X, y = problem(500)
    model = KernelRegressor(map=fourier(), alpha=0.5, keep_statistics=True, preparation=None).fit(X, y)
    mean, deviation = model.predict(X[:20], return_std=True)
    np.testing.assert_array_equal(mean, model.predict(X[:20]))
    Z = model.map_.transform(X)
    z = Z[:20] - Z.mean(axis=0)
    Z = Z - Z.mean(axis=0)
    inverse = np.linalg.inv(Z.T @ Z + 0.5 * np.eye(40))
    freedom = np.trace(Z @ inverse @ Z.T) + 1.0
    noise = ((y - model.predict(X)) ** 2).sum() / (500 - freedom)
    expected = np.sqrt(noise * (1.0 + 1.0 / 500 + (z @ inverse * z).sum(axis=1)))
    np.testing.assert_allclose(deviation, expected, rtol=1e-8)
    with pytest.raises(ValueError, match="there are no sums"):
        KernelRegressor(map=fourier(), alpha=1.0, preparation=None).fit(X, y).predict(X, return_std=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dependent_features_give_a_warning_and_an_answer(dtype):
    X, y = problem(300, dtype=dtype)
    X[:, 1] = X[:, 0]
    twice = np.repeat(X, 2, axis=1)
    model = KernelRegressor(Polynomial(2), n_components=100, map="TensorSketch", alpha=0.0, random_state=0)
    with pytest.warns(UserWarning, match="linearly dependent"):
        model.fit(twice, y)
    assert np.isfinite(model.coef_).all()
    assert model.predict(twice).dtype == np.float64
    residual = y - model.predict(twice)
    assert (residual**2).mean() < y.var()


def test_large_means_of_the_targets_cost_no_digits():
    X, y = problem(2000, dtype=np.float32)
    near = KernelRegressor(map=fourier(), alpha=0.1, preparation=None).fit(X, y)
    far = KernelRegressor(map=fourier(), alpha=0.1, preparation=None).fit(X, y + 1e6)
    np.testing.assert_allclose(far.coef_, near.coef_, atol=1e-4 * np.abs(near.coef_).max())


def test_float32_agrees_with_float64():
    X, y = problem(3000, dtype=np.float32)
    single = KernelRegressor(map=fourier(), alpha=1.0, preparation=None).fit(X, y)
    double = KernelRegressor(map=fourier(), alpha=1.0, preparation=None).fit(X.astype(np.float64), y)
    np.testing.assert_allclose(single.predict(X), double.predict(X.astype(np.float64)), atol=1e-3)


def test_a_projection_is_folded_into_the_prediction():
    X, y = problem(500)
    inner = TensorSketch(Polynomial(3, coef0=1.0))
    model = KernelRegressor(map=Compressed(inner, n_components=32, random_state=0), alpha=0.1, preparation=None).fit(
        X, y
    )
    direct = model.map_.transform(X) @ model.coef_ + model.intercept_
    np.testing.assert_allclose(model.predict(X), direct, atol=1e-10 * np.abs(direct).max())


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("compressed", [False, True])
def test_landmarks_take_the_coefficients(kind, compressed):
    rng = np.random.default_rng(6)
    X = rng.random((300, 20)) * (rng.random((300, 20)) < 0.2)
    X, Y = kind(X), np.stack([X.sum(axis=1), X[:, 3]], axis=1)
    chosen = Nystrom(Gaussian(0.5), n_components=40, random_state=0)
    chosen = Compressed(chosen, n_components=16, random_state=0) if compressed else chosen
    model = KernelRegressor(map=chosen, alpha=0.1, extrapolate="free", kernel=None, preparation=None).fit(X, Y)
    direct = model.map_.transform(X) @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.predict(X), direct, atol=1e-10 * np.abs(direct).max())
    assert model.map_.transform(X).shape[1] == model.coef_.shape[1]


def test_sparse_rows():
    rng = np.random.default_rng(5)
    X = rng.random((300, 20)) * (rng.random((300, 20)) < 0.2)
    y = X.sum(axis=1)
    for scale in (None, "unit"):
        dense = KernelRegressor(
            n_components=64, scale=scale, random_state=0, kernel=None, alpha=1.0, preparation=None
        ).fit(X, y)
        sparse = KernelRegressor(
            n_components=64, scale=scale, random_state=0, kernel=None, alpha=1.0, preparation=None
        ).fit(sp.csr_array(X), y)
        np.testing.assert_allclose(sparse.predict(sp.csr_array(X)), dense.predict(X), atol=1e-8)


def test_a_map_that_brings_its_own():
    X, y = problem(50)
    with pytest.raises(ValueError, match="a FeatureMap has its own kernel, n_components: give None for it"):
        KernelRegressor(Gaussian(), n_components=5, map=fourier(), alpha=1.0, preparation=None).fit(X, y)
    with pytest.raises(ValueError, match="map must be 'auto', a FeatureMap or one of"):
        KernelRegressor(map="fourier", kernel=None, alpha=1.0, preparation=None).fit(X, y)
    model = KernelRegressor("gaussian(0.5)", n_components=10, map="random_fourier", random_state=0, alpha=1.0).fit(X, y)
    assert isinstance(model.map_, RandomFourier)
    np.testing.assert_array_equal(
        model.map_.transform(X), RandomFourier(Gaussian(0.5), n_components=10, random_state=0).fit_transform(X)
    )


def test_the_first_batch_prepares():
    X, y = problem(300)
    prepared = KernelRegressor(
        n_components=16, scale="standard", random_state=0, kernel=None, alpha=1.0, preparation=None
    ).prepare(X, y)
    assert not hasattr(prepared, "coef_")
    for start in range(0, 300, 100):
        prepared.partial_fit(X[start : start + 100], y[start : start + 100])
    model = KernelRegressor(
        n_components=16, scale="standard", random_state=0, kernel=None, alpha=1.0, preparation=None
    ).fit(X, y)
    np.testing.assert_allclose(prepared.predict(X), model.predict(X), atol=1e-9)


def test_alpha_is_checked():
    X, y = problem(20)
    for alpha in (-1.0, "best", [], [1.0, np.nan], True):
        with pytest.raises(ValueError, match="alpha must be"):
            KernelRegressor(alpha=alpha, kernel=None, preparation=None).fit(X, y)


def test_progress_is_reported():
    X, y = problem(9000)
    seen = []
    KernelRegressor(map=fourier(), alpha="loo", callback=seen.append, preparation=None).fit(X, y)
    whats = ("sums", "leave-one-out errors")
    expected = [(number, what, rows) for number, what in enumerate(whats, 1) for rows in (4096, 8192, 9000)]
    assert [(p.number, p.what, p.rows) for p in seen] == [*expected, (3, "solution", 9000)]


def test_partial_fit_after_fit_starts_again():
    X, y = problem(100)
    model = KernelRegressor(map=fourier(), alpha=1.0, preparation=None).fit(X, y)
    with pytest.warns(UserWarning, match="partial_fit starts from the beginning"):
        model.partial_fit(X[:50], y[:50])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept = (
            KernelRegressor(map=fourier(), keep_statistics=True, alpha=1.0, preparation=None)
            .fit(X[:50], y[:50])
            .partial_fit(X[50:], y[50:])
        )
    np.testing.assert_allclose(
        kept.coef_, KernelRegressor(map=fourier(), alpha=1.0, preparation=None).fit(X, y).coef_, atol=1e-10
    )


def test_a_batch_with_other_targets_changes_nothing():
    X = np.random.default_rng(0).normal(size=(50, 3))
    model = KernelRegressor(n_components=16, random_state=0, kernel=None, alpha=1.0, preparation=None).partial_fit(
        X, X[:, 0]
    )
    before = model.predict(X)
    with pytest.raises(ValueError, match="expected 1 targets, found 2"):
        model.partial_fit(X, X[:, :2])
    np.testing.assert_array_equal(model.predict(X), before)


def test_a_model_of_a_numeric_frame_predicts_blocks_of_frames():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=list("abc"))
    model = KernelRegressor(
        n_components=16, scale="standard", random_state=0, kernel=None, alpha=1.0, preparation=None
    ).fit(frame, frame["a"])
    np.testing.assert_array_equal(model.predict(Blocks([frame[:20], frame[20:]])), model.predict(frame))


def test_a_single_alpha_leaves_nothing_of_a_path_that_was_tried_before():
    X = np.random.default_rng(0).normal(size=(50, 3))
    model = KernelRegressor(
        n_components=16, alpha=[0.1, 1.0], random_state=0, kernel=None, preparation=None
    ).partial_fit(X, X[:, 0])
    assert len(model.alphas_) == 2
    model.set_params(alpha=0.5).partial_fit(X, X[:, 0])
    assert model.alpha_ == 0.5
    assert not hasattr(model, "alphas_")
    assert not hasattr(model, "scores_")


@pytest.mark.parametrize("alpha", ["gcv", "loo", 1e-4, (1e-6, 1e-3)])
def test_float32_rows_do_as_well_as_float64_where_alpha_is_small(alpha):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, size=(3000, 3))
    y = np.sin(3.0 * X[:, 0]) * np.cos(3.0 * X[:, 1]) + 0.1 * X[:, 2] + 0.02 * rng.normal(size=3000)
    scores = []
    for dtype in (np.float64, np.float32):
        features = RandomFourier(Gaussian(0.3), n_components=512, random_state=0)
        model = KernelRegressor(map=features, alpha=alpha, kernel=None, preparation=None).fit(
            X[:2000].astype(dtype), y[:2000]
        )
        scores.append(model.score(X[2000:].astype(dtype), y[2000:]))
    assert scores[1] > scores[0] - 0.02


def test_the_rounding_of_sums_is_below_what_is_allowed_for():
    X = np.random.default_rng(0).normal(size=(9000, 4)).astype(np.float32)
    for gamma in (0.001, 0.1, 1.0):
        Z = RandomFourier(Gaussian(gamma), n_components=200, random_state=0).fit_transform(X)
        Y = np.zeros((4096, 0))
        parts = [Moments.of(Z[start : start + 4096], Y[: len(Z) - start], None) for start in (0, 4096, 8192)]
        sums = Moments(*(sum(np.asarray(part[place], np.float64) for part in parts) for place in range(7)))
        exact = Moments.of(Z[:4096], Y, None, exact=True)
        exact = exact.plus(Moments.of(Z[4096:], np.zeros((4904, 0)), None, exact=True))
        off = np.linalg.norm(sums.gram - exact.gram, 2)
        assert 0.0 < off < sums.rounding(float(np.finfo(np.float32).eps)) < 1e-5 * np.linalg.norm(exact.gram, 2)
        np.testing.assert_allclose(exact.gram, Z.astype(np.float64).T @ Z.astype(np.float64), rtol=1e-11, atol=1e-11)


def test_directions_of_small_eigenvalues_are_held_by_alpha():
    values = np.array([0.0, 1e-6, 1.0])
    path = Path(values, np.eye(3), np.ones((3, 1)), np.ones(1), 10.0, False, 1e-4)
    np.testing.assert_allclose(path.shrunk(1e-3), 1.0 / (values + 1e-3))
    np.testing.assert_allclose(path.shrunk(1e-5), [0.0, 0.0, 1.0 / (1.0 + 1e-5)])  # of least norm
