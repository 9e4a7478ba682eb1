"""Scales of columns learned by leaving out rows: the error and its gradient against naive ones, and laws they obey."""

from __future__ import annotations

import numpy as np
import pytest

from mercer._tiles import single_threaded_blas
from mercer.kernels import (
    ArcCosine,
    Cauchy,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    VovkReal,
)
from mercer.learn.learned_columns.leave_one_out_scales import ScaleSearch, learn_column_scales, leave_one_out

KERNELS = [
    Gaussian(0.3),
    Matern(0.3, length_scale=2.0),
    Matern(0.5, length_scale=2.0),
    Matern(1.0, length_scale=2.0),
    Matern(1.5, length_scale=1.5),
    Matern(2.5, length_scale=1.5),
    Matern(3.2, length_scale=1.5),
    Laplacian(0.3),
    Cauchy(0.5),
    Linear(),
    Polynomial(3, gamma=0.2, coef0=1.0),
    Exponential(0.2),
    VovkReal(3),
    0.5 * Gaussian(0.2) + Linear(),
    Gaussian(0.2) * Laplacian(0.1),
]


def problem(n=25, d=4, targets=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = np.column_stack([np.sin(2.0 * X[:, 0]), X[:, 1] ** 2, X[:, 2]])[:, :targets]
    return X, Y + 0.1 * rng.normal(size=Y.shape)


def predicted(kernel, X, Y, weight, alpha, row):
    """The prediction at one row, from the system of all optimality conditions."""
    n = len(X)
    system = np.zeros((n + 1, n + 1))
    system[:n, :n] = kernel(X) + alpha * np.diag(1.0 / weight)
    system[:n, n] = system[n, :n] = 1.0
    solved = np.linalg.solve(system, np.vstack([Y, np.zeros((1, Y.shape[1]))]))
    return kernel(row[None], X) @ solved[:n] + solved[n]


def leaving_out(kernel, X, Y, weight, alpha):
    """The mean squared error over the variance, with one copy of every row left out in turn."""
    total = 0.0
    for i in range(len(X)):
        less = weight.copy()
        less[i] -= min(less[i], 1.0)
        kept = less > 0.0
        total += weight[i] * np.sum((Y[i] - predicted(kernel, X[kept], Y[kept], less[kept], alpha, X[i])) ** 2)
    return total / np.sum(weight[:, None] * (Y - weight @ Y / weight.sum()) ** 2)


@pytest.mark.parametrize("kernel", [Gaussian(0.3), Matern(0.5, length_scale=2.0), Polynomial(2, coef0=1.0)], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_error_is_that_of_leaving_out_every_row(kernel, weighted):
    X, Y = problem()
    weight = np.resize([1.0, 0.4, 2.0, 3.5], len(X)) if weighted else np.ones(len(X))
    found = leave_one_out(kernel(X), Y - weight @ Y / weight.sum(), weight, 0.2, 1.0, sensitive=False)
    np.testing.assert_allclose(found.error, leaving_out(kernel, X, Y, weight, 0.2), rtol=1e-9)


@pytest.mark.parametrize("common", [False, True])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_gradient_is_that_of_differences(kernel, common):
    X, Y = problem(n=20)
    weight = np.resize([1.0, 0.4, 2.0], len(X))
    search = ScaleSearch(X, Y - weight @ Y / weight.sum(), weight, kernel, common)
    place = np.append(np.linspace(-0.4, 0.5, search.members.shape[1]), np.log(0.3))
    with single_threaded_blas():
        _, gradient = search(place)
        steps = 1e-5 * np.eye(len(place))
        differences = [(search(place + step)[0] - search(place - step)[0]) / 2e-5 for step in steps]
    np.testing.assert_allclose(gradient, differences, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_derivatives_of_kernels_are_those_of_differences(kernel):
    rng = np.random.default_rng(0)
    X, Y, weights = rng.normal(size=(6, 3)), rng.normal(size=(5, 3)), rng.normal(size=(6, 5))
    expected = np.empty_like(X)
    for column, axis in enumerate(np.eye(3)):
        ahead, behind = (kernel.gram(X + step * axis, Y) for step in (1e-5, -1e-5))
        expected[:, column] = np.sum(weights * (ahead - behind), axis=1) / 2e-5
    assert kernel.has_gradient
    np.testing.assert_allclose(kernel.gradients(X, Y, weights), expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kernel", [Gaussian(0.3), Matern(0.5, length_scale=2.0), Laplacian(0.2)], ids=str)
def test_columns_of_noise_get_small_scales(kernel):
    X, _ = problem(n=300, d=6)
    noise = 0.2 * np.random.default_rng(1).normal(size=300)
    found = learn_column_scales(X, np.sin(2.0 * X[:, 0]) * np.cos(2.0 * X[:, 1]) + noise, kernel)
    assert found.scales[2:].max() < 0.25 * found.scales[:2].min()
    assert found.error < 0.5 * found.start_error
    assert found.jitter == 0.0


def test_the_reported_errors_at_the_start_and_the_end_are_true():
    X, Y = problem(n=60)
    kernel = Gaussian(0.3)
    found = learn_column_scales(X, Y, kernel)
    ones = np.ones(len(X))
    np.testing.assert_allclose(found.error, leaving_out(kernel, X * found.scales, Y, ones, found.alpha), rtol=1e-6)
    powers = [leaving_out(kernel, X, Y, ones, 10.0**power) for power in range(-6, 3)]
    assert min(abs(np.log(powers) - np.log(found.start_error))) < 1e-6
    assert found.start_error < 1.05 * min(powers)


def test_the_order_of_rows_does_not_matter():
    X, Y = problem(n=80)
    order = np.random.default_rng(1).permutation(len(X))
    one, other = learn_column_scales(X, Y, Gaussian(0.3)), learn_column_scales(X[order], Y[order], Gaussian(0.3))
    np.testing.assert_allclose(one.scales, other.scales, rtol=1e-4)
    np.testing.assert_allclose(one.error, other.error, rtol=1e-6)


def test_units_of_columns_do_not_matter():
    X, Y = problem(n=80)
    units = np.array([1e3, 1.0, 1e-4, 2.0])
    one = learn_column_scales(X, Y, Gaussian(0.3))
    other = learn_column_scales(X * units, Y, Gaussian(0.3), start=1.0 / units)
    np.testing.assert_allclose(other.scales * units, one.scales, rtol=1e-4)


def test_weights_are_repeated_rows():
    X, Y = problem(n=40)
    weight = np.arange(len(X)) % 3
    one = learn_column_scales(X, Y, Gaussian(0.3), weight=weight)
    other = learn_column_scales(np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0), Gaussian(0.3))
    np.testing.assert_allclose(one.scales, other.scales, rtol=1e-3)
    np.testing.assert_allclose([one.alpha, one.error], [other.alpha, other.error], rtol=1e-3)


def test_the_same_bits_twice():
    X, Y = problem(n=60)
    one, other = (learn_column_scales(X, Y, Matern(0.5)) for _ in range(2))
    assert np.array_equal(one.scales, other.scales)
    assert one[1:] == other[1:]


def test_one_scale_for_all_columns_is_a_bandwidth():
    X, Y = problem(n=60)
    wide, narrow = (learn_column_scales(X, Y, Gaussian(gamma), common_scale=True) for gamma in (0.05, 0.2))
    assert np.ptp(wide.scales) == np.ptp(narrow.scales) == 0.0
    np.testing.assert_allclose(wide.scales[0], 2.0 * narrow.scales[0], rtol=0.05)
    assert learn_column_scales(X, Y, Gaussian(0.2)).error < narrow.error <= narrow.start_error


def test_difficult_rows_are_handled():
    X, Y = problem(n=30)
    X = np.column_stack([X, np.full(30, 7.0)])  # constant
    X[10:20] = X[:10]  # equal rows, with other targets
    found = learn_column_scales(X, Y, Matern(0.5))
    assert found.scales[-1] == 1.0
    assert np.isfinite(found.scales).all()
    assert 0.0 < found.error <= found.start_error
    wide = np.random.default_rng(0).normal(size=(10, 50))
    assert np.isfinite(learn_column_scales(wide, wide[:, 0], Gaussian(0.01)).scales).all()
    flat = learn_column_scales(X, np.full(30, 3.0), Gaussian(0.3))
    assert flat.error == flat.start_error == 0.0
    assert np.array_equal(flat.scales, np.ones(5))
    constant = learn_column_scales(np.ones((30, 2)), Y, Gaussian(0.3))
    assert np.array_equal(constant.scales, np.ones(2))
    assert np.array_equal(learn_column_scales(X, Y, Gaussian(0.3), max_iter=0).scales, np.ones(5))


def test_a_needed_jitter_is_reported():
    X, Y = problem(n=30)
    X[15:] = X[:15]
    found = learn_column_scales(X, Y, Linear(), alpha=1e-17, max_iter=0)
    assert found.jitter > 0.0
    with pytest.raises(ValueError, match="not positive definite"):
        learn_column_scales(X, Y, Polynomial(1, coef0=-5.0), alpha=1e-6)


def test_overflow_is_refused_or_avoided():
    X, Y = problem(n=30)
    with pytest.raises(ValueError, match="overflows float64"):
        learn_column_scales(1e200 * X, Y, Polynomial(3))
    found = learn_column_scales(1e50 * X, Y, Polynomial(3, gamma=1e-1))  # overflows within the reach of scales
    assert np.isfinite(found.scales).all()
    assert found.error <= found.start_error


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"X": np.full((25, 4), np.nan)}, "X must be finite"),
        ({"Y": np.zeros(24)}, "the same number of rows"),
        ({"weight": np.append(np.zeros(23), [1.0, 1.0])}, "at least 3 rows"),
        ({"weight": -np.ones(25)}, "not be negative"),
        ({"alpha": 0.0}, "alpha must be a positive"),
        ({"start": np.ones(3)}, "4 positive numbers"),
        ({"kernel": ArcCosine()}, "no derivatives"),
        ({"kernel": Gaussian("scale")}, "not a number yet"),
    ],
)
def test_impossible_arguments_are_refused(change, match):
    X, Y = problem()
    arguments = {"X": X, "Y": Y, "kernel": Gaussian(0.3)} | change
    with pytest.raises(ValueError, match=match):
        learn_column_scales(**arguments)
