"""Spectral laws of shift-invariant kernels: the mean of cos(w . delta) is the kernel."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp

from mercer._random import Stream
from mercer.kernels import (
    Cauchy,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    Maclaurin,
    Matern,
    Polynomial,
    SkewedChi2,
    SkewedIntersection,
    VovkInfinite,
    VovkReal,
)

from ..oracles import label
from ..tables import quick_and_full

DRAWS = quick_and_full(25_000, 200_000)
"""Tolerances are five standard errors: a mean that is off by 0.032 of a standard deviation shows, by 0.011 in full."""
DELTAS = np.array([[0.3, 0.0, 0.0], [0.0, -1.0, 0.0], [0.5, 0.4, -0.7], [1.5, 1.0, 0.3]])

KERNELS = [
    Gaussian(0.5),
    Gaussian(3.0),
    Laplacian(0.4),
    Cauchy(0.8),
    Matern(0.3),
    Matern(0.5, length_scale=2.0),
    Matern(0.7),
    Matern(1.5, length_scale=0.6),
    Matern(60.0),
    2.5 * Laplacian(0.5),
    Gaussian(0.2) + Gaussian(5.0),
    5.0 * Gaussian(0.2) + Matern(2.5),
    0.3 * Gaussian(0.5) + 2 * Cauchy(1.0) + Matern(0.7),
    Gaussian(0.5) * Gaussian(0.5),
    0.5 * Laplacian(0.3) * Matern(1.5) * Cauchy(0.5),
    (Gaussian(0.3) + 3 * Laplacian(0.2)) * (Cauchy(0.4) + Matern(2.5)),
    Linear().of(Gaussian(0.5)),
    Polynomial(3).of(Laplacian(0.2)),
    Polynomial(2, gamma=0.5, coef0=1.0).of(2 * Gaussian(0.5) + Cauchy(0.5)),
    VovkReal(4).of(Gaussian(0.5)),
    VovkInfinite().of(0.8 * Matern(0.7)),
    VovkInfinite().of(0.97 * Gaussian(0.01)),
    Exponential(1.0).of(Gaussian(0.5)),
    Exponential(2.0).of(10 * Gaussian(0.02)),
    Maclaurin((0.0, 1.0, 0.0, 2.0)).of(Gaussian(0.5)),
    Maclaurin(lambda n: 1.0 / math.factorial(min(n, 170))).of(Laplacian(0.3)),
    Polynomial(2, coef0=0.5).of(VovkReal(3).of(Gaussian(0.3))) + Laplacian(1.0),
    SkewedChi2(1.7),
    0.5 * SkewedIntersection(1.7),
    Polynomial(2, coef0=0.5).of(SkewedChi2(1.7)),
    SkewedChi2(1.7) * SkewedIntersection(1.7) + 2.0 * SkewedChi2(1.7),
]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=label)


@pytest.mark.parametrize("draws", DRAWS)
@every_kernel
def test_characteristic_function(kernel, draws):
    frequencies = kernel.frequencies(Stream(1, "test"), draws, 3)
    assert frequencies.shape == (draws, 3)
    assert frequencies.dtype == np.float64
    waves = np.cos(frequencies @ DELTAS.T)
    errors = kernel.amplitude * waves.mean(axis=0) - kernel.spectral_block(DELTAS, np.zeros((1, 3)))[:, 0]
    deviation = kernel.amplitude * waves.std(axis=0) / math.sqrt(draws)
    assert (np.abs(errors) <= 5 * deviation + 1e-12).all()
    assert kernel.amplitude == pytest.approx(kernel.diag([[1.0, 2.0, 3.0]])[0], rel=1e-14)


def spectral_dimension(kernel):
    try:
        return kernel.spectral_dimension(3)
    except ValueError:
        return None


@pytest.mark.parametrize("draws", DRAWS)
@pytest.mark.parametrize("kernel", [kernel for kernel in KERNELS if spectral_dimension(kernel)], ids=label)
def test_quantiles_of_uniform_points_are_frequencies(kernel, draws):
    points = Stream(8, "test").uniforms((draws, kernel.spectral_dimension(3)))
    waves = np.cos(kernel.quantiles(points, 3) @ DELTAS.T)
    errors = kernel.amplitude * waves.mean(axis=0) - kernel.spectral_block(DELTAS, np.zeros((1, 3)))[:, 0]
    assert (np.abs(errors) <= 5 * kernel.amplitude * waves.std(axis=0) / math.sqrt(draws) + 1e-12).all()


@pytest.mark.parametrize("draws", DRAWS)
@pytest.mark.parametrize("kernel", [kernel for kernel in KERNELS if kernel.is_rotation_invariant], ids=label)
def test_scales_times_normals_are_frequencies(kernel, draws):
    frequencies = kernel.scales(Stream(9, "scales"), draws)[:, None] * Stream(9, "normals").normals((draws, 3))
    waves = np.cos(frequencies @ DELTAS.T)
    errors = kernel.amplitude * waves.mean(axis=0) - kernel.spectral_block(DELTAS, np.zeros((1, 3)))[:, 0]
    assert (np.abs(errors) <= 5 * kernel.amplitude * waves.std(axis=0) / math.sqrt(draws) + 1e-12).all()
    squares = np.sum(DELTAS**2, axis=1)
    np.testing.assert_allclose(kernel.radial(squares), kernel(DELTAS, np.zeros((1, 3)))[:, 0], rtol=1e-12)


@every_kernel
def test_the_spectral_moment_is_the_curvature_at_zero(kernel):
    # -E ||w||^2 is the sum of the second derivatives of k / k(0) at 0.
    moment, h = kernel.spectral_moment(3), 1e-3
    values = kernel.spectral_block(h * np.eye(3), np.zeros((1, 3)))[:, 0] / kernel.amplitude
    curvature = 2.0 * (1.0 - values).sum() / h**2
    if np.isinf(moment):
        finer = kernel.spectral_block(h / 100 * np.eye(3), np.zeros((1, 3)))[:, 0] / kernel.amplitude
        assert 2.0 * (1.0 - finer).sum() / (h / 100) ** 2 > 1.5 * curvature
    else:
        assert moment == pytest.approx(curvature, rel=0.01)


def test_coordinates_of_skewed_kernels_keep_zeros():
    X = np.array([[0.0, 2.0], [-0.5, 0.0]])
    for kernel in (SkewedChi2(1.5), 2.0 * SkewedIntersection(1.5), Polynomial(2).of(SkewedChi2(1.5))):
        expected = np.log(X + 1.5) - math.log(1.5)
        np.testing.assert_allclose(kernel.coordinates(X), expected, atol=1e-15)
        sparse = kernel.coordinates(sp.csr_array(X))
        assert sparse.nnz == 2
        np.testing.assert_allclose(sparse.toarray(), expected, atol=1e-15)
        halves = sp.csr_array((np.array([1.0, 1.0, -0.5]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
        np.testing.assert_allclose(kernel.coordinates(halves).toarray(), expected, atol=1e-15)


@pytest.mark.parametrize("other", [SkewedChi2(1.5), Gaussian(), Polynomial(2).of(Cauchy())], ids=label)
def test_kernels_in_different_coordinates_have_no_common_spectrum(other):
    for kernel in (SkewedChi2() + other, other * SkewedIntersection()):
        assert not kernel.has_spectrum
    assert (other + 0.5 * other).has_spectrum


def test_a_composition_has_no_quantiles():
    with pytest.raises(ValueError, match="sum of a random number of others"):
        Polynomial(2).of(Gaussian()).spectral_dimension(3)


@pytest.mark.parametrize("kernel", [Laplacian(), Linear(), SkewedChi2(), Gaussian() + Cauchy()], ids=label)
def test_only_functions_of_the_distance_have_scales(kernel):
    for call in (lambda: kernel.scales(Stream(0), 3), lambda: kernel.radial(np.ones(3))):
        with pytest.raises(ValueError, match="not rotation-invariant"):
            call()
    with pytest.raises(TypeError, match="only a function of"):
        kernel.of_distance(Linear())


@every_kernel
def test_draws_are_symmetric(kernel):
    """The distributions of w and -w are equal: the mean of sin(w . delta) is 0."""
    waves = np.sin(kernel.frequencies(Stream(2, "test"), 50_000, 3) @ DELTAS.T)
    assert (np.abs(waves.mean(axis=0)) <= 5 * waves.std(axis=0) / math.sqrt(50_000) + 1e-12).all()


@every_kernel
def test_rows_are_independent(kernel):
    """Neighbouring rows are independent: cos(w . delta) of one says nothing about that of the next."""
    waves = np.cos(kernel.frequencies(Stream(3, "test"), 50_000, 3) @ DELTAS[2])
    waves -= waves.mean()
    products = waves[1:] * waves[:-1]
    assert abs(products.mean()) <= 5 * products.std() / math.sqrt(len(products)) + 1e-12


@every_kernel
def test_a_larger_draw_starts_with_the_smaller(kernel):
    rng = Stream(4, "test")
    large = kernel.frequencies(rng, 100, 5)
    for count in (0, 1, 7, 64, 99):
        np.testing.assert_array_equal(kernel.frequencies(rng, count, 5), large[:count])


@every_kernel
def test_the_seed_decides(kernel):
    first = kernel.frequencies(Stream(5, "test"), 50, 4)
    np.testing.assert_array_equal(first, kernel.frequencies(Stream(5, "test"), 50, 4))
    assert not np.array_equal(first, kernel.frequencies(Stream(6, "test"), 50, 4))
    assert not np.array_equal(first, kernel.frequencies(Stream(5, "other"), 50, 4))
    assert np.isfinite(first).all()


def test_both_sides_of_a_product_are_independent():
    left, right = Gaussian(0.5), Gaussian(0.5)
    rng = Stream(7)
    both = (left * right).frequencies(rng, 1000, 1)
    parts = left.frequencies(rng.child("left"), 1000, 1), right.frequencies(rng.child("right"), 1000, 1)
    np.testing.assert_array_equal(both, parts[0] + parts[1])
    assert abs(np.corrcoef(parts[0][:, 0], parts[1][:, 0])[0, 1]) < 0.15


@pytest.mark.parametrize(
    "kernel", [Linear(), Linear() + Gaussian(), Gaussian() * Exponential(), VovkReal(2).of(Linear())], ids=label
)
def test_no_law_outside_the_family(kernel):
    with pytest.raises(ValueError, match="not shift-invariant"):
        kernel.frequencies(Stream(0), 3, 2)


def test_a_composition_that_diverges_has_no_law():
    with pytest.raises(ValueError, match="below 1"):
        VovkInfinite().of(Gaussian()).frequencies(Stream(0), 3, 2)


@pytest.mark.parametrize(
    "kernel", [Exponential(1.0).of(500 * Gaussian()), VovkInfinite().of((1 - 1e-6) * Gaussian())], ids=label
)
def test_a_series_that_cannot_be_followed_is_refused(kernel):
    with pytest.raises(ValueError, match="do not add up"):
        kernel.frequencies(Stream(0), 3, 2)


def test_a_negative_offset_has_no_law():
    with pytest.raises(ValueError, match="coef0 must not be negative"):
        Polynomial(2, coef0=-0.1).of(Gaussian()).frequencies(Stream(0), 3, 2)
