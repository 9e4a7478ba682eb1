"""The uniform bound for RandomMaclaurin against simulation; the statements of its paper that fail."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import RandomMaclaurin, bounds
from mercer.kernels import Exponential, Maclaurin, Polynomial, VovkInfinite, VovkReal

from .simulation import (
    assert_at_most,
    bases,
    estimates,
    fast,
    kernels,
    positive,
    probabilities,
)


@fast
@given(kernels, st.floats(0.05, 0.95))
def test_slopes_are_derivatives(kernel, t):
    # With base 2 and one column L = r (f'(r^2) + 4 f'(2 r^2)): two unknowns, distinguished by the base.
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
    # A bound for all pairs in a ball is never below the bound for one pair.
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


def test_no_more_coefficients_are_requested_than_count():
    kernel = Maclaurin(lambda n: 1.0 / math.factorial(n))  # factorials overflow from n = 171 on
    expected = bounds.maclaurin_lipschitz(Exponential(), 1.5, 3)
    assert bounds.maclaurin_lipschitz(kernel, 1.5, 3) == pytest.approx(expected, rel=1e-9, abs=0.0)


def test_a_constant_kernel_needs_no_net():
    assert bounds.maclaurin_lipschitz(Maclaurin((3.0,)), 1.0, 5) == 0.0
    assert bounds.uniform_components(Maclaurin((3.0,)), 1.0, 5, epsilon=6.0, delta=0.1) == 24
