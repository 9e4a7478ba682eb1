"""The uniform bound for random Fourier features: against simulation, as a formula, and when it is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import ive

from mercer import RandomFourier, bounds
from mercer._random import Stream
from mercer.kernels import Cauchy, Gaussian, Laplacian, Maclaurin, Matern, Polynomial, SkewedChi2, SkewedIntersection

from ..tables import every_value
from .simulation import assert_at_most, estimates, fast, probabilities

KERNELS = [Gaussian(0.5), Cauchy(1.0), Matern(1.5), 3.0 * Gaussian(0.2) + Cauchy(2.0) * Gaussian(0.1), SkewedChi2(0.5)]
FORMS = ("paired", "offset")

kernels = st.sampled_from(KERNELS)
forms = st.sampled_from(FORMS)
lengths = st.floats(0.01, 100.0)
errors = st.floats(0.01, 0.9)


def formula(form, s, a, m, d, relative, epsilon):
    """The logarithm of the bound for one share and one excess, as in the proof."""
    root = math.sqrt(2.0)
    points, exponent = (
        (2.0 * (1.0 + 2.0 * (2.0 + a) * relative / s) ** d, m * ((1.0 - s) * epsilon) ** 2 / 2.0)
        if form == "paired"
        else (
            4.0 * (1.0 + 2.0 * root * (1.0 + root) * (1.0 + a) * relative / s) ** d,
            m * ((1.0 - s) * epsilon / (1.0 + root)) ** 2,
        )
    )
    return np.logaddexp(-math.log1p(m * a**2), math.log(points) - exponent)


def search(frequencies, radius, gamma, starts=32, steps=50):
    """Search for a large value of abs(mean cos<w, delta> - k(delta)) in a ball, by hill climbing from random places."""
    m, d = frequencies.shape
    rng = np.random.default_rng(0)
    at = rng.normal(size=(2 * starts, d))
    at *= radius * rng.uniform(0.3, 1.0, size=(2 * starts, 1)) / np.linalg.norm(at, axis=1, keepdims=True)
    sign, step = np.repeat([1.0, -1.0], starts), np.full((2 * starts, 1), 0.3)

    def error(delta):
        phases, value = delta @ frequencies.T, np.exp(-gamma * np.sum(delta**2, axis=1))
        slope = 2.0 * gamma * delta * value[:, None] - np.sin(phases) @ frequencies / m
        return sign * (np.cos(phases).mean(axis=1) - value), sign[:, None] * slope

    value, slope = error(at)
    for _ in range(steps):
        moved = at + step * slope / np.linalg.norm(slope, axis=1, keepdims=True)
        moved *= np.minimum(1.0, radius / np.linalg.norm(moved, axis=1, keepdims=True))
        new_value, new_slope = error(moved)
        better = new_value > value
        at, slope = np.where(better[:, None], moved, at), np.where(better[:, None], new_slope, slope)
        value, step = np.where(better, new_value, value), np.where(better[:, None], 1.2 * step, 0.5 * step)
    return value.max()


@every_value(kernel=[pytest.param(kernel, id=repr(kernel)) for kernel in KERNELS[:4]], form=FORMS)
def test_the_supremum_is_as_small_as_promised(kernel, form):
    epsilon, delta = 0.5 * kernel.amplitude, 0.3
    width = bounds.fourier_uniform_components(kernel, 2.0, 1, epsilon=epsilon, delta=delta, form=form)
    line = np.linspace(-1.0, 1.0, 41)[:, None]

    def misses(n_components):
        found = estimates(RandomFourier(kernel, n_components=n_components, form=form), line, 60)
        return np.abs(found - kernel(line)).max(axis=(1, 2)) >= epsilon

    assert_at_most(misses(width), delta)
    assert misses(4).mean() > delta  # so that something was tested


def test_the_bound_is_within_a_factor_of_twenty_five():
    kernel, diameter, d, epsilon = Gaussian(0.5), 2.0, 10, 0.1
    asked = bounds.fourier_uniform_components(kernel, diameter, d, epsilon=epsilon, delta=0.01)
    drawn = [kernel.frequencies(Stream(seed), asked // 50, d) for seed in range(5)]  # 1/25 of the features
    assert all(search(frequencies, diameter, 0.5) >= epsilon for frequencies in drawn)


@pytest.mark.full
def test_what_the_documentation_says_suffices_does():
    kernel = Gaussian(0.5)
    found = [search(kernel.frequencies(Stream(seed), 3700 // 2, 10), 2.0, 0.5, 48, 60) for seed in range(50)]
    assert np.sum(np.array(found) >= 0.1) <= 1


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Matern(1.1), Cauchy(2.0)], ids=repr)
def test_average_frequencies_are_rarely_long(kernel):
    m, d = 20, 3
    norms = np.linalg.norm(kernel.frequencies(Stream(0), 2000 * m, d), axis=1).reshape(2000, m).mean(axis=1)
    sigma = math.sqrt(kernel.spectral_moment(d))
    for a in (0.01, 0.1, 0.3, 1.0):
        assert_at_most(norms >= (1.0 + a) * sigma, 1.0 / (1.0 + m * a**2))


def test_cosines_of_uniform_angles_have_light_tails():
    t = np.linspace(0.0, 50.0, 1001)
    assert np.all(np.log(ive(0, t)) + t <= t**2 / 4.0 + 1e-12)
    m = 20
    averages = np.cos(2.0 * math.pi * Stream(1).uniforms((5000, m))).mean(axis=1)
    for u in (0.1, 0.3, 0.4):
        assert_at_most(np.abs(averages) >= u, min(1.0, 2.0 * math.exp(-m * u**2)))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("d", "diameter", "epsilon", "delta"), [(1, 2.0, 0.1, 0.3), (10, 0.5, 0.3, 1e-6), (3, 9.0, 1.5, 0.01)]
)
def test_the_bound_is_the_least_of_the_formula(form, d, diameter, epsilon, delta):
    kernel = 2.0 * Gaussian(0.7)
    width = bounds.fourier_uniform_components(kernel, diameter, d, epsilon=epsilon, delta=delta, form=form)
    m, relative = width // 2 if form == "paired" else width, math.sqrt(1.4 * d) * diameter * 2.0 / epsilon
    best = min(
        minimize(
            lambda z: formula(form, 1.0 / (1.0 + math.exp(z[0])), math.exp(z[1]), m, d, relative, epsilon / 2.0),
            [3.0, start],
            method="Nelder-Mead",
        ).fun
        for start in (-3.0, 0.0, 3.0)
    )
    found = math.log(bounds.fourier_uniform_error(width, kernel, diameter, d, epsilon=epsilon, form=form))
    assert best - 1e-6 <= found <= best + 0.2


@fast
@given(kernels, forms, lengths, st.integers(1, 50), errors, probabilities)
def test_components_invert_the_error(kernel, form, diameter, d, epsilon, delta):
    width = bounds.fourier_uniform_components(kernel, diameter, d, epsilon=epsilon, delta=delta, form=form)
    step = 2 if form == "paired" else 1

    def error(n_components):
        return bounds.fourier_uniform_error(n_components, kernel, diameter, d, epsilon=epsilon, form=form)

    assert width % step == 0
    assert error(width) <= delta
    assert width == step or error(width - step) > delta
    assert 0.0 <= error(2 * width) <= error(width)


@fast
@given(kernels, forms, lengths, st.integers(1, 50), errors, st.floats(1.0, 3.0))
def test_the_bound_is_monotone(kernel, form, diameter, d, epsilon, factor):
    def components(kernel=kernel, diameter=diameter, d=d, epsilon=epsilon, delta=0.1):
        return bounds.fourier_uniform_components(kernel, diameter, d, epsilon=epsilon, delta=delta, form=form)

    here = components()
    assert here <= components(diameter=factor * diameter)
    assert here <= components(d=d + 1)
    assert here <= components(epsilon=epsilon / factor)
    assert here <= components(delta=0.1 / factor)
    assert here <= components(kernel=factor * kernel)
    assert components(kernel=4.0 * kernel, epsilon=4.0 * epsilon) == here  # only the ratio counts
    assert bounds.fourier_uniform_components(kernel, diameter, d, epsilon=epsilon, delta=0.1, form="offset") >= here


def test_the_rows_count_in_units_of_the_kernel():
    wide, narrow = (
        bounds.fourier_uniform_components(Gaussian(gamma), diameter, 3, epsilon=0.2, delta=0.1)
        for gamma, diameter in ((0.5, 4.0), (2.0, 2.0))
    )
    assert wide == narrow


def test_a_constant_kernel_needs_no_net():
    constant = Maclaurin((2.0,)).of(Gaussian())
    width = bounds.fourier_uniform_components(constant, 1e6, 100, epsilon=0.4, delta=0.1)
    assert width == bounds.fourier_uniform_components(constant, 1e-6, 1, epsilon=0.4, delta=0.1) < 600


def test_nothing_overflows():
    kernel = Gaussian()
    assert bounds.fourier_uniform_error(10**9, kernel, 1e200, 10**6, epsilon=1e-3) == 1.0
    assert bounds.fourier_uniform_error(10**400, kernel, 1.0, 2, epsilon=1.0) < 1e-300
    width = bounds.fourier_uniform_components(kernel, 1e9, 1000, epsilon=1e-9, delta=1e-300)
    assert 10**20 < width < 10**26
    with pytest.raises(ValueError, match="overflows at epsilon=1e-200"):
        bounds.fourier_uniform_error(10, kernel, 1e200, 2, epsilon=1e-200)


@pytest.mark.parametrize(
    "kernel",
    [
        Laplacian(),
        Matern(1.0),
        Matern(0.5),
        SkewedIntersection(),
        Gaussian() + 0.1 * Laplacian(),
        Polynomial(2).of(Laplacian()),
    ],
    ids=repr,
)
def test_estimates_that_may_be_arbitrarily_steep_are_refused(kernel):
    for call in (
        lambda: bounds.fourier_uniform_error(100, kernel, 1.0, 2, epsilon=0.1),
        lambda: bounds.fourier_uniform_components(kernel, 1.0, 2, epsilon=0.1, delta=0.1),
    ):
        with pytest.raises(ValueError, match=r"have no finite E \|\|w\|\|\^2"):
            call()


def test_other_arguments_outside_the_hypotheses_are_refused():
    with pytest.raises(ValueError, match="for kernels with a spectral distribution"):
        bounds.fourier_uniform_error(100, Polynomial(2), 1.0, 2, epsilon=0.1)
    with pytest.raises(ValueError, match="for kernels with a spectral distribution"):
        bounds.fourier_uniform_error(100, SkewedChi2() + Gaussian(), 1.0, 2, epsilon=0.1)
    with pytest.raises(ValueError, match="is not a number yet"):
        bounds.fourier_uniform_error(100, Gaussian("scale"), 1.0, 2, epsilon=0.1)
    with pytest.raises(ValueError, match="must be even where features come in pairs, found 7"):
        bounds.fourier_uniform_error(7, Gaussian(), 1.0, 2, epsilon=0.1)
    assert bounds.fourier_uniform_error(7, Gaussian(), 1.0, 2, epsilon=0.1, form="offset") == 1.0
    with pytest.raises(ValueError, match="diameter must be a positive finite number"):
        bounds.fourier_uniform_error(8, Gaussian(), 0.0, 2, epsilon=0.1)
    with pytest.raises(ValueError, match="form must be one of"):
        bounds.fourier_uniform_components(Gaussian(), 1.0, 2, epsilon=0.1, delta=0.1, form="single")
