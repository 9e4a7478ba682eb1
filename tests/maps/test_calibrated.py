"""Weights on frequencies: the optimum, its objective, and the rows on which weights are evaluated."""

import itertools

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

from mercer import (
    Calibrated,
    Compressed,
    Nystrom,
    OrthogonalFourier,
    QuasiFourier,
    RandomFourier,
    RandomMaclaurin,
    TensorSketch,
    kernel_error,
)
from mercer._random import Stream
from mercer.kernels import Gaussian, Laplacian, Linear, Polynomial
from mercer.maps._nonnegative_least_squares import nonnegative_minimum

from ..tables import sample_rows


def cloud(n, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) * np.linspace(0.2, 2.0, d)


def problem(size, rank, seed=0):
    """Normal equations whose unconstrained solution has many negative entries."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(rank, size)) + 0.5
    return A.T @ A + 0.1 * np.eye(size), A.T @ (A @ rng.normal(size=size))


@pytest.mark.parametrize(("size", "rank"), [(1, 1), (2, 5), (30, 10), (30, 300), (300, 100)])
@pytest.mark.parametrize("seed", range(3))
def test_the_minimum_meets_the_conditions_of_the_optimum(size, rank, seed):
    gram, right = problem(size, rank, seed)
    weights = nonnegative_minimum(gram, right)
    gradient, scale = gram @ weights - right, np.abs(right).max()
    assert (weights >= 0.0).all()
    assert (gradient > -1e-9 * scale).all()
    assert np.abs(gradient[weights > 0.0]).max(initial=0.0) < 1e-9 * scale
    L = np.linalg.cholesky(gram)
    expected, _ = scipy.optimize.nnls(L.T, np.linalg.solve(L, right))
    np.testing.assert_allclose(weights, expected, rtol=1e-6, atol=1e-8 * np.abs(expected).max())


def test_some_weights_of_a_problem_are_zero_and_some_are_not():
    weights = nonnegative_minimum(*problem(300, 300))
    assert 20 < (weights > 0.0).sum() < 280
    np.testing.assert_array_equal(nonnegative_minimum(np.eye(3), np.array([-1.0, -2.0, 0.0])), np.zeros(3))


def test_one_at_a_time_where_blocks_go_in_circles():
    # Against all choices of free entries; in the last three problems exchanging whole blocks never ends.
    for seed in (*range(200), 2371, 5365, 7332):
        rng = np.random.default_rng(seed)
        A = rng.normal(size=(5, 5)) @ np.diag(10.0 ** rng.uniform(-2, 2, size=5))
        gram, right = A.T @ A + 1e-3 * np.eye(5), rng.normal(size=5)
        values = []
        for chosen in itertools.product([False, True], repeat=5):
            free, w = np.array(chosen), np.zeros(5)
            if free.any():
                w[free] = np.linalg.solve(gram[np.ix_(free, free)], right[free])
            if (w >= 0.0).all():
                values.append(w @ gram @ w / 2.0 - right @ w)
        w = nonnegative_minimum(gram, right)
        assert w @ gram @ w / 2.0 - right @ w <= min(values) + 1e-9 * abs(min(values))


def objective(sketch, Z, K, weights):
    """The objective in the documentation, computed pair by pair."""
    size = np.mean(np.diag(K))
    groups = np.arange(Z.shape[1]) // 2 if sketch.map_.construction_.paired else np.arange(Z.shape[1])
    m, n = groups[-1] + 1, len(Z)
    total = 0.0
    for i, j in itertools.product(range(n), repeat=2):
        total += (K[i, j] / size - (weights * Z[i] * Z[j]).sum() / size) ** 2 / n**2
    own = np.array([weights[groups == group][0] for group in range(m)])
    return total + sketch.regularization / n / m**2 * ((own - 1.0) ** 2).sum()


@pytest.mark.parametrize(
    ("inner", "width"),
    [(RandomFourier(Gaussian(0.5)), 9), (RandomFourier(Laplacian(0.5)), 8), (TensorSketch(3.0 * Polynomial(2)), 8)],
)
def test_the_weights_minimise_what_is_said(inner, width):
    X = cloud(24)
    sketch = Calibrated(inner, n_components=width, regularization=0.5, random_state=0).fit(X)
    Z, K = sketch.map_.transform(X), sketch.kernel_(X)
    scale = np.diag(K).mean()
    weights = sketch.construction_._weights(Z / np.sqrt(scale), K / scale)
    best = objective(sketch, Z, K, weights)
    assert best < objective(sketch, Z, K, np.ones(width))
    step = 2 if sketch.map_.construction_.paired else 1
    for start in range(0, width, step):
        for change in (-1e-3, 1e-3):
            moved = weights.copy()
            moved[start : start + step] = np.maximum(moved[start : start + step] + change, 0.0)
            assert objective(sketch, Z, K, moved) >= best - 1e-12


def test_the_features_are_those_of_the_map_times_the_roots_of_the_weights():
    X = cloud(200)
    sketch = Calibrated(RandomFourier(Gaussian(0.5)), n_components=15, random_state=0).fit(X)
    assert sketch.calibration_.applied
    weights = sketch.weights_
    np.testing.assert_array_equal(weights[0:14:2], weights[1:14:2])
    assert len(np.unique(weights)) > 4
    np.testing.assert_allclose(sketch.transform(X), sketch.map_.transform(X) * np.sqrt(weights), rtol=1e-14)
    alone = RandomFourier(Gaussian(0.5), form="offset")
    assert len(np.unique(Calibrated(alone, n_components=15, random_state=0).fit(X).weights_)) > 7


@pytest.mark.parametrize("make", [OrthogonalFourier, RandomFourier, QuasiFourier])
@pytest.mark.parametrize("gamma", [0.1, 1.0])
def test_weights_help_on_new_rows(make, gamma):
    X, new = cloud(1000), cloud(300, seed=1)
    for seed in range(3):
        sketch = Calibrated(make(Gaussian(gamma)), n_components=128, random_state=seed).fit(X)
        before, after = (kernel_error(fitted, new).relative for fitted in (sketch.map_, sketch))
        assert sketch.calibration_.applied
        assert after < 0.8 * before
        assert sketch.calibration_.error_before == pytest.approx(before, rel=0.3)
        assert sketch.calibration_.error_after == pytest.approx(after, rel=0.3)


def test_rows_are_held_out():
    X = cloud(1000)
    few = Calibrated(RandomFourier(Gaussian(0.5)), n_rows=100, random_state=0).fit(X).calibration_
    assert (few.n_rows, few.n_held_out) == (75, 25)
    sketch = Calibrated(RandomFourier(Gaussian(0.5)), random_state=0).fit(X)
    many = sketch.calibration_
    assert (many.n_rows, many.n_held_out) == (750, 250)
    order = Stream(0, "Calibrated", "rows").permutation(1000)
    assert many.error_before == pytest.approx(kernel_error(sketch.map_, X[order[:250]]).relative, rel=1e-9)
    assert many.error_after == pytest.approx(kernel_error(sketch, X[order[:250]]).relative, rel=1e-9)
    changed = X.copy()
    changed[order[:250]] *= 1.1
    np.testing.assert_array_equal(Calibrated(sketch.map, random_state=0).fit(changed).weights_, sketch.weights_)


def test_weights_that_do_not_help_are_not_taken(monkeypatch):
    X = cloud(200)
    monkeypatch.setattr("mercer.maps.calibrated.nonnegative_minimum", lambda gram, right: np.full(len(right), 1.5))
    sketch = Calibrated(RandomFourier(Gaussian(0.5)), n_components=16, random_state=0).fit(X)
    assert not sketch.calibration_.applied
    assert sketch.calibration_.error_after > sketch.calibration_.error_before
    np.testing.assert_array_equal(sketch.weights_, np.ones(16))
    np.testing.assert_array_equal(sketch.transform(X), sketch.map_.transform(X))


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 20, 30])
@pytest.mark.parametrize("inner", [OrthogonalFourier(Gaussian(0.5)), TensorSketch(Polynomial(2))])
def test_few_rows(inner, n):
    X = cloud(n)
    sketch = Calibrated(inner, n_components=16, random_state=0).fit(X)
    assert np.isfinite(sketch.transform(X)).all()
    assert (sketch.calibration_.n_held_out >= 2) == np.isfinite(sketch.calibration_.error_after)
    if n < 8:
        assert not sketch.calibration_.applied
        np.testing.assert_array_equal(sketch.weights_, np.ones(16))


def test_rows_without_information_keep_weights_of_1():
    zeros = np.zeros((40, 3))
    sketch = Calibrated(TensorSketch(Linear()), n_components=8, random_state=0).fit(zeros)
    assert not sketch.calibration_.applied
    np.testing.assert_array_equal(sketch.transform(zeros), np.zeros((40, 8)))
    same = Calibrated(RandomFourier(Gaussian(1.0)), n_components=8, random_state=0).fit(np.ones((40, 3)))
    assert np.isfinite(same.transform(zeros)).all()


def test_a_kernel_of_any_size_has_the_same_weights():
    X = cloud(100)
    weights = [
        Calibrated(TensorSketch(factor * Polynomial(2)), n_components=16, random_state=0).fit(X).weights_
        for factor in (1.0, 1e-12, 1e12)
    ]
    for other in weights[1:]:
        np.testing.assert_allclose(other, weights[0], rtol=1e-6, atol=1e-8)


def test_what_is_learned_does_not_depend_on_form_precision_or_threads():
    X = (cloud(300) * (cloud(300, seed=1) > 0)).astype(np.float32)
    expected = Calibrated(RandomFourier(Gaussian(0.5)), n_components=32, random_state=0).fit(X).weights_
    for rows, n_jobs in ((X, 3), (X.astype(np.float64), 1)):
        other = Calibrated(RandomFourier(Gaussian(0.5)), n_components=32, random_state=0, n_jobs=n_jobs).fit(rows)
        np.testing.assert_array_equal(other.weights_, expected)
    sparse = Calibrated(RandomFourier(Gaussian(0.5)), n_components=32, random_state=0).fit(sp.csr_array(X))
    np.testing.assert_allclose(sparse.weights_, expected, rtol=1e-8, atol=1e-10)


def test_wrappers_nest():
    X = cloud(400)
    inner = Calibrated(OrthogonalFourier(Gaussian(0.5)))
    sketch = Compressed(inner, n_components=16, method="tefm-g", random_state=0).fit(X)
    assert sketch.map_.calibration_.applied
    assert sketch.map_.n_components_ == 64
    assert sketch.transform(X).shape == (400, 16)
    outer = Calibrated(Compressed(TensorSketch(Polynomial(3))), n_components=16, random_state=0).fit(X)
    assert outer.map_.n_components_ == 16


def test_bad_arguments_are_refused():
    X = sample_rows()
    for options, message in (
        ({"n_rows": 0}, "n_rows must be a whole number of at least 1, found 0"),
        ({"regularization": 0.0}, "regularization must be a positive finite number, found 0.0"),
    ):
        with pytest.raises(ValueError, match=message):
            Calibrated(RandomFourier(), **options).fit(X)
    with pytest.raises(TypeError, match="map must be a feature map, found 3"):
        Calibrated(3).fit(X)
    with pytest.raises(NotImplementedError, match="the mean of Calibrated is not known: the weights are learned"):
        Calibrated(RandomFourier(Gaussian(0.5)), random_state=0).fit(X).mean(X)
    with pytest.raises(ValueError, match=r"Calibrated needs a map of a kernel of mercer\.kernels, found one of"):
        Calibrated(Nystrom(lambda x, y: float(x @ y))).fit(X)


def test_the_map_keeps_its_width_unless_another_is_asked_for():
    X = sample_rows(40)
    assert Calibrated(RandomFourier(n_components=48), random_state=0).fit_transform(X).shape == (40, 48)
    assert Calibrated(RandomFourier(n_components=48), n_components=20, random_state=0).fit(X).n_components_ == 20


def test_frequencies_of_compositions_are_weighed_in_pairs():
    X = sample_rows(40)
    for options, paired in (({}, True), ({"exact_terms": True}, False)):
        inner = RandomMaclaurin(Polynomial(2, coef0=1.0).of(Gaussian(0.5)), n_components=16, **options)
        sketch = Calibrated(inner, random_state=0).fit(X)
        assert sketch.construction_.paired is paired
        assert np.array_equal(sketch.weights_[0::2], sketch.weights_[1::2]) is paired
