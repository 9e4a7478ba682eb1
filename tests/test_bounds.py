"""Every bound against simulation, inverses as inverses, and the papers' claims that fail.

Seeds are fixed. A frequency is held against its bound by a binomial test with a false-alarm rate of 1e-6 for a bound
that is attained; these bounds are not, so none is expected.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from mercer import ComplexSketch, Compressed, RandomMaclaurin, TaylorSketch, TensorSketch, bounds
from mercer.kernels import Exponential, Linear, Maclaurin, Polynomial, VovkInfinite, VovkReal

FALSE_ALARM = 1e-6
SEEDS = 200
ONES = np.full((1, 64), 0.125)

KERNELS = [
    Linear(),
    Polynomial(3, gamma=0.5, coef0=1.0),
    Exponential(0.7),
    VovkReal(4),
    VovkInfinite(),
    Maclaurin((0.0, 0.0, 2.0, 0.0, 1.0)),
    Maclaurin(lambda n: math.exp(-math.lgamma(n + 1)) if n % 2 else 0.0),
    0.5 * Exponential() + Linear() * Polynomial(2),
]

kernels = st.sampled_from(KERNELS)
positive = st.floats(0.01, 10.0)
probabilities = st.floats(1e-12, 0.99)
bases = st.floats(1.1, 4.0)
fast = settings(derandomize=True, deadline=None, max_examples=30)


def rows(n=5, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) / 2.0 + 0.3


def estimates(sketch, X, seeds=SEEDS):
    """<Z(x), Z(y)> of all pairs, seed by seed."""
    sketch.set_params(n_jobs=1)
    drawn = (sketch.set_params(random_state=seed).fit(X).transform(X) for seed in range(seeds))
    return np.array([Z @ Z.T for Z in drawn])


def assert_at_most(events, bound):
    """The frequency of an event, along the first axis, is within binomial error of a probability at most ``bound``."""
    seeds, count = len(events), np.sum(events, axis=0)
    assert np.all(binom.sf(count - 1, seeds, bound) >= FALSE_ALARM), (count / seeds, bound)


# -- Chebyshev ---------------------------------------------------------------------------------------------------------

SKETCHES = {
    "tensor": TensorSketch(Polynomial(2), n_components=128),
    "tensor, odd": TensorSketch(Polynomial(3, coef0=0.5), n_components=63),
    "complex": ComplexSketch(Polynomial(3), n_components=64),
    "maclaurin": RandomMaclaurin(Exponential(0.5), n_components=200),
    "H0/1": RandomMaclaurin(Exponential(0.5), n_components=100, exact_terms=True),
    "biased": RandomMaclaurin(Exponential(), n_components=200, max_degree=2),
    "split": TaylorSketch(Exponential(), n_components=16),
}


@pytest.mark.parametrize("name", SKETCHES)
def test_relative_and_norm_errors_are_as_rare_as_promised(name):
    X, sketch = rows(), SKETCHES[name]
    found = estimates(sketch, X, 150 if name == "split" else SEEDS)
    exact = sketch.kernel_(X)
    smallest = 1.0
    for epsilon in (0.1, 0.3, 1.0):
        bound = bounds.relative_error(sketch, X, epsilon=epsilon)
        assert_at_most(np.abs(found - exact) >= epsilon * np.abs(exact), bound)
        np.testing.assert_allclose(bounds.norm_error(sketch, X, epsilon=epsilon), np.diag(bound), rtol=1e-12)
        smallest = min(smallest, bound.min())
    assert smallest < 0.5  # so that something was tested


def test_bias_counts_as_an_error():
    X = rows()[:1]
    sketch = RandomMaclaurin(Exponential(), n_components=9, max_degree=1, random_state=0, exact_terms=True).fit(X)
    t = (X @ X.T).item()
    missing = (math.exp(t) - 1.0 - t) / math.exp(t)  # always: both degrees are exact
    assert bounds.relative_error(sketch, X, epsilon=missing / 2).item() == 1.0
    assert bounds.relative_error(sketch, X, epsilon=missing * 2).item() == pytest.approx(0.25)


def test_relative_error_is_markov_of_the_exact_variance():
    X, Y = rows(3), rows(4, seed=1)
    sketch = TensorSketch(Polynomial(2), n_components=50, random_state=0).fit(X)
    expected = np.minimum(1.0, sketch.variance(X, Y) / (0.4 * (X @ Y.T) ** 2) ** 2)
    np.testing.assert_allclose(bounds.relative_error(sketch, X, Y, epsilon=0.4), expected, rtol=1e-9)


def test_no_relative_error_is_small_where_the_kernel_vanishes():
    sketch = TensorSketch(Polynomial(2), n_components=64, random_state=0).fit(np.eye(3))
    assert bounds.relative_error(sketch, np.eye(3), epsilon=0.1).tolist() == (1.0 - np.eye(3)).tolist()
    assert bounds.norm_error(sketch, np.zeros((1, 3)), epsilon=0.1).tolist() == [1.0]


def test_an_infinite_variance_promises_nothing():
    X = np.full((1, 2), 0.65)
    sketch = RandomMaclaurin(VovkInfinite(), n_components=64, random_state=0).fit(X)
    assert np.isinf(sketch.variance(X)).all()
    assert bounds.relative_error(sketch, X, epsilon=10.0).tolist() == [[1.0]]


def test_rows_of_any_kind():
    X = rows(150, 6)
    sketch = TensorSketch(Polynomial(2), n_components=64, random_state=0).fit(X)
    dense = bounds.norm_error(sketch, X, epsilon=0.5)
    assert dense.shape == (150,)
    np.testing.assert_allclose(bounds.norm_error(sketch, sp.csr_array(X), epsilon=0.5), dense, rtol=1e-9)
    np.testing.assert_allclose(bounds.norm_error(sketch, X.tolist(), epsilon=0.5), dense, rtol=1e-9)
    single = bounds.relative_error(sketch, X.astype(np.float32), epsilon=0.5)
    assert single.dtype == np.float64
    np.testing.assert_allclose(np.diag(single), dense, rtol=1e-4)


def test_maps_without_a_variance_say_so():
    sketch = Compressed(TensorSketch(Polynomial(2)), n_components=8, random_state=0).fit(rows())
    with pytest.raises(NotImplementedError, match="no exact variance"):
        bounds.relative_error(sketch, rows(), epsilon=0.5)


# -- TensorSketch's variance and Pham and Pagh's -----------------------------------------------------------------------


@pytest.mark.parametrize(("degree", "exact"), [(2, 5.89), (3, 13.7), (4, 29.4)])
def test_lemma_6_is_false(degree, exact):
    claimed = 256 * bounds.pham_pagh_variance(ONES, ONES, degree, 256).item()
    true = 256 * bounds.tensor_sketch_variance(ONES, ONES, degree, 256).item()
    assert claimed == pytest.approx(2.0)
    assert true == pytest.approx(exact, rel=5e-3)
    measured = 256 * estimates(TensorSketch(Polynomial(degree), n_components=256), ONES).var()
    assert 2.0 * claimed < measured < 2.0 * true


def test_lemmas_7_and_10_fall_with_it():
    found = estimates(TensorSketch(Polynomial(4), n_components=256), ONES).ravel()
    epsilon = 0.2
    claim = bounds.pham_pagh_variance(ONES, ONES, 4, 256).item() / epsilon**2
    frequency = np.mean(np.abs(found - 1.0) >= epsilon)
    assert claim < 0.2
    assert binom.sf(frequency * SEEDS - 1, SEEDS, claim) < FALSE_ALARM

    epsilon, delta, degree, width = 0.9, 0.01, 8, 410
    assert width >= 72 * math.log(1 / delta) / epsilon**2
    assert ONES.max() ** degree <= epsilon / (18 * math.sqrt(math.log(1 / delta) * math.log(width / delta)))
    sketch = TensorSketch(Polynomial(degree), n_components=width)
    misses = np.abs(estimates(sketch, ONES, 500).ravel() - 1.0) >= epsilon
    assert misses.mean() > 0.05
    assert binom.sf(misses.sum() - 1, len(misses), 2 * delta) < FALSE_ALARM
    assert_at_most(misses, bounds.norm_error(sketch, ONES, epsilon=epsilon)[0])


def test_lemma_6_is_true_of_a_count_sketch():
    X = rows(8, 5)
    claimed, exact = (f(X, None, 1, 32) for f in (bounds.pham_pagh_variance, bounds.tensor_sketch_variance))
    assert np.all(exact <= claimed)


def test_the_variance_is_the_map_s_own():
    X, Y = rows(3), rows(2, seed=1)
    sketch = TensorSketch(Polynomial(3), n_components=33, random_state=5).fit(X)
    np.testing.assert_array_equal(bounds.tensor_sketch_variance(X, Y, 3, 33), sketch.variance(X, Y))
    np.testing.assert_array_equal(bounds.tensor_sketch_variance(X, None, 3, 33), sketch.variance(X))


@fast
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 5), st.floats(0.05, 2.0), st.floats(0.001, 0.9))
def test_tensor_sketch_components_is_the_least_width_from_which_on_it_holds(seed, d, degree, epsilon, delta):
    x, y = np.random.default_rng(seed).normal(size=(2, 1, d))
    width = bounds.tensor_sketch_components(x, y, degree, epsilon=epsilon, delta=delta).item()
    target = delta * epsilon**2 * (x @ y.T).item() ** (2 * degree)

    def holds(D):
        return bounds.tensor_sketch_variance(x, y, degree, D).item() <= target * (1.0 + 1e-12)

    if width > 2**30:  # nearly orthogonal
        return
    assert width == int(width) >= 1
    assert all(holds(int(width) + more) for more in (0, 1, 2, 3, 100, 101))
    # At very small widths the exact variance of rows far from parallel may fall below the target again.
    assert width <= 8 or not holds(int(width) - 1)


def test_tensor_sketch_components_of_pairs():
    X = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0]])
    widths = bounds.tensor_sketch_components(X, None, 2, epsilon=0.5, delta=0.1)
    assert np.isinf(widths[0, 1])
    assert widths[0, 0] == widths[1, 1] == 1.0  # one-hot rows are exact
    assert np.isfinite(widths[2]).all()
    np.testing.assert_array_equal(widths, widths.T)
    np.testing.assert_array_equal(
        widths, bounds.tensor_sketch_components(sp.csr_array(X), 3.0 * X, 2, epsilon=0.5, delta=0.1)
    )
    width = int(widths[2, 2])
    assert bounds.relative_error(TensorSketch(n_components=width).fit(X), X[2:], epsilon=0.5).item() <= 0.1
    assert bounds.relative_error(TensorSketch(n_components=width - 1).fit(X), X[2:], epsilon=0.5).item() > 0.1


# -- Hoeffding ---------------------------------------------------------------------------------------------------------


@fast
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 9))
def test_sketches_stay_in_their_range(seed, degree, width):
    X = np.random.default_rng(seed).normal(size=(4, 3))
    radius = np.abs(X).sum(axis=1).max()
    Z = TensorSketch(Polynomial(degree), n_components=width, random_state=seed, n_jobs=1).fit_transform(X)
    assert np.abs(Z @ Z.T).max() <= bounds.sketch_range(degree, radius) * (1.0 + 1e-9)


@fast
@given(kernels, bases, st.floats(0.05, 1.0), st.integers(0, 10**6))
def test_features_stay_in_their_range(kernel, base, radius, seed):
    radius *= 0.99 * min(1.0, math.sqrt(kernel.radius / base))
    X = np.random.default_rng(seed).laplace(size=(4, 3))
    X *= radius / np.abs(X).sum(axis=1, keepdims=True)
    sketch = RandomMaclaurin(kernel, n_components=50, base=base, random_state=seed, n_jobs=1)
    Z = sketch.fit_transform(X) * math.sqrt(50)
    products = Z[:, None, :] * Z[None, :, :]
    assert np.abs(products).max() <= bounds.maclaurin_range(kernel, radius, base=base) * (1.0 + 1e-9)


def test_averaged_sketches_are_as_good_as_promised():
    X = np.array([[0.5, 0.5], [0.6, -0.4]])
    averages = estimates(TensorSketch(Polynomial(2), n_components=2), X, 1200).reshape(60, 20, 2, 2).mean(axis=1)
    for epsilon in (0.1, 0.5, 0.6):
        bound = bounds.hoeffding_error(20, bounds.sketch_range(2, 1.0), epsilon=epsilon)
        assert_at_most(np.abs(averages - (X @ X.T) ** 2) >= epsilon, bound)
    assert bound < 0.1


@pytest.mark.parametrize("kernel", [Exponential(), Polynomial(3, coef0=1.0), Maclaurin((0.0, 1.0, 0.0, 1.0))])
@pytest.mark.parametrize("base", [1.5, 3.0])
def test_maclaurin_is_as_good_as_promised(kernel, base):
    X = rows(4)
    X *= 0.5 / np.abs(X).sum(axis=1, keepdims=True)
    largest = bounds.maclaurin_range(kernel, 0.5, base=base)
    width = bounds.hoeffding_count(largest, epsilon=largest / 8, delta=0.1)
    errors = np.abs(estimates(RandomMaclaurin(kernel, n_components=width, base=base), X, 150) - kernel(X))
    for epsilon in (largest / 32, largest / 16, largest / 8):
        assert_at_most(errors >= epsilon, bounds.hoeffding_error(width, largest, epsilon=epsilon))


@fast
@given(positive, positive, probabilities)
def test_hoeffding_count_inverts_hoeffding_error(largest, epsilon, delta):
    count = bounds.hoeffding_count(largest, epsilon=epsilon, delta=delta)
    assert bounds.hoeffding_error(count, largest, epsilon=epsilon) <= delta * (1.0 + 1e-9)
    if count > 1:
        assert bounds.hoeffding_error(count - 1, largest, epsilon=epsilon) >= delta * (1.0 - 1e-9)


@fast
@given(st.integers(1, 10**6), positive, positive, st.floats(1.0, 3.0))
def test_hoeffding_error_is_a_monotone_probability(count, largest, epsilon, factor):
    here = bounds.hoeffding_error(count, largest, epsilon=epsilon)
    assert 0.0 <= here <= 1.0
    assert here == pytest.approx(min(1.0, 2.0 * math.exp(-count * epsilon**2 / (2.0 * largest**2))), rel=1e-9, abs=0.0)
    assert bounds.hoeffding_error(2 * count, largest, epsilon=epsilon) <= here
    assert bounds.hoeffding_error(count, largest, epsilon=factor * epsilon) <= here * (1.0 + 1e-9)
    assert bounds.hoeffding_error(count, factor * largest, epsilon=epsilon) >= here * (1.0 - 1e-9)


# -- the uniform bound -------------------------------------------------------------------------------------------------


@fast
@given(kernels, st.floats(0.05, 0.95))
def test_slopes_are_derivatives(kernel, t):
    # With base 2 and one column L = r (f'(r^2) + 4 f'(2 r^2)): two unknowns, told apart by the base.
    step = 1e-4 * t

    def f(s):
        return float(kernel(np.array([[math.sqrt(s)]]))[0, 0])

    def slope(s):
        return (8.0 * (f(s + step) - f(s - step)) - (f(s + 2 * step) - f(s - 2 * step))) / (12.0 * step)

    base = 1.2 if kernel.radius > 1.25 * t else 1.02
    base = min(base, 1.0 + (kernel.radius / t - 1.0) / 2.0)
    expected = math.sqrt(t) * (slope(t) + base**2 / (base - 1.0) * math.sqrt(3) * slope(base * t))
    assert bounds.maclaurin_lipschitz(kernel, math.sqrt(t), 3, base=base) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("kernel", [Exponential(), Polynomial(3, coef0=1.0), VovkReal(4), VovkInfinite()])
def test_the_error_is_lipschitz(kernel):
    radius = 0.6 if kernel.radius == 1.0 else 1.4
    constant = bounds.maclaurin_lipschitz(kernel, radius, 3)
    X = np.random.default_rng(0).laplace(size=(40, 3))
    X *= radius / np.abs(X).sum(axis=1, keepdims=True)
    step = 1e-6
    moved = np.concatenate([X + step * axis for axis in np.vstack([np.eye(3), -np.eye(3)])]) * (1 - 1e-5)
    for seed in range(20):
        sketch = RandomMaclaurin(kernel, n_components=4, random_state=seed, n_jobs=1).fit(X)
        error = sketch.transform(moved) @ sketch.transform(X).T - kernel(moved, X)
        ahead, behind = error.reshape(2, 3, 40, 40)
        assert np.linalg.norm((ahead - behind) / (2 * step), axis=0).max() <= constant


def test_lemma_6_of_kar_and_karnick_is_false():
    r, kernel, h = 2.0, Polynomial(2), 1e-6
    slope = (kernel([[r + h]], [[r]]) - kernel([[r - h]], [[r]])).item() / (2 * h)
    assert slope == pytest.approx(r * 2 * r**2)
    assert slope > 1.9 * 2 * r**2  # their f'(r^2)


@pytest.mark.parametrize("kernel", [Exponential(), Polynomial(2, coef0=0.5)])
def test_the_supremum_over_a_ball_is_as_small_as_promised(kernel):
    radius, epsilon, delta = 0.5, 1.0, 0.3
    width = bounds.uniform_components(kernel, radius, 1, epsilon=epsilon, delta=delta)
    ball = np.linspace(-radius, radius, 21)[:, None]
    errors = np.abs(estimates(RandomMaclaurin(kernel, n_components=width), ball, 100) - kernel(ball))
    assert_at_most(errors.max(axis=(1, 2)) > epsilon, delta)


def test_theorem_8_is_false_in_small_balls():
    kernel, radius, d, epsilon = Exponential(), 0.01, 10, 0.5
    net = 32 * radius * bounds.maclaurin_lipschitz(kernel, radius, d) / epsilon
    claim = 2 * net ** (2 * d) * math.exp(-(epsilon**2) / (8 * bounds.maclaurin_range(kernel, radius) ** 2))
    X = np.full((1, d), radius / d)
    misses = np.abs(estimates(RandomMaclaurin(kernel, n_components=1), X) - kernel(X)) > epsilon
    assert claim < 1e-20
    assert misses.mean() > 0.9
    assert bounds.uniform_error(1, kernel, radius, d, epsilon=epsilon) == 1.0


@fast
@given(kernels, st.floats(0.05, 1.0), st.integers(1, 50), positive, probabilities, bases)
def test_uniform_components_inverts_uniform_error(kernel, radius, d, epsilon, delta, base):
    radius *= 0.9 * min(1.0, math.sqrt(kernel.radius / base))
    width = bounds.uniform_components(kernel, radius, d, epsilon=epsilon, delta=delta, base=base)

    def error(D):
        return bounds.uniform_error(D, kernel, radius, d, epsilon=epsilon, base=base)

    assert error(width) <= delta * (1.0 + 1e-7)
    assert width == 1 or error(width - 1) >= delta * (1.0 - 1e-7)
    assert 0.0 <= error(2 * width) <= error(width)
    # Covering a ball costs: one pair is never harder than all of them.
    pointwise = bounds.hoeffding_count(bounds.maclaurin_range(kernel, radius, base=base), epsilon=epsilon, delta=delta)
    assert pointwise <= width
    assert bounds.uniform_components(kernel, radius, d + 1, epsilon=epsilon, delta=delta, base=base) >= width


def test_uniform_error_is_the_formula():
    kernel, r, d, epsilon, q, D = Exponential(0.5), 0.8, 3, 0.7, 3.0, 20000
    C = q / (q - 1) * math.exp(0.5 * q * r**2)
    L = r * 0.5 * math.exp(0.5 * r**2) + q**2 / (q - 1) * r * math.sqrt(d) * 0.5 * math.exp(0.5 * q * r**2)
    expected = 2 * (32 * r * L / epsilon) ** (2 * d) * math.exp(-D * epsilon**2 / (8 * C**2))
    assert 0.0 < expected < 1.0
    assert bounds.uniform_error(D, kernel, r, d, epsilon=epsilon, base=q) == pytest.approx(expected, rel=1e-9, abs=0.0)


def test_nothing_overflows():
    kernel = Exponential()
    assert bounds.uniform_error(10**9, kernel, 6.0, 10**6, epsilon=1e-3) == 1.0
    width = bounds.uniform_components(kernel, 6.0, 10**6, epsilon=1e-9, delta=1e-300)
    assert width > 10**80
    assert bounds.uniform_error(width, kernel, 6.0, 10**6, epsilon=1e-9) < 1e-250
    assert bounds.hoeffding_error(1, 1e300, epsilon=1e-300) == 1.0
    assert bounds.hoeffding_error(10**400, 1e-300, epsilon=1e300) == 0.0
    assert bounds.hoeffding_count(1e300, epsilon=1e-300, delta=0.5) > 10**1200


def test_no_more_coefficients_are_asked_for_than_count():
    kernel = Maclaurin(lambda n: 1.0 / math.factorial(n))  # which Python cannot divide from n = 171 on
    expected = bounds.maclaurin_lipschitz(Exponential(), 1.5, 3)
    assert bounds.maclaurin_lipschitz(kernel, 1.5, 3) == pytest.approx(expected, rel=1e-9, abs=0.0)


def test_a_constant_kernel_needs_no_net():
    assert bounds.maclaurin_lipschitz(Maclaurin((3.0,)), 1.0, 5) == 0.0
    assert bounds.uniform_components(Maclaurin((3.0,)), 1.0, 5, epsilon=6.0, delta=0.1) == 24
