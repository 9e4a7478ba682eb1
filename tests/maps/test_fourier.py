"""The differences between Fourier maps: their frequencies, and lower errors than with independent frequencies."""

import pickle
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import hadamard
from scipy.stats import chi, chi2, kstest, qmc

import mercer
from mercer import Fastfood, OrthogonalFourier, QuasiFourier, RandomFourier, StructuredFourier
from mercer._random import Stream
from mercer.data import ArrayRows
from mercer.kernels import Cauchy, Gaussian, Laplacian, Linear, Matern, Polynomial, SkewedChi2, SkewedIntersection
from mercer.maps import _low_discrepancy
from mercer.maps._fourier import LONGEST_PHASE, draw_radii
from mercer.maps.orthogonal_fourier import orthogonal_directions

from ..tables import quick_and_full, sample_rows

GAUSSIAN = Gaussian(0.5)  # sqrt(2 gamma) = 1: distances are in units of the kernel's own length
Z = 3.1
"""The false-alarm rate of a one-sided test for a lower error."""


def errors(make, deltas, n_components, seeds, **options):
    """The estimate minus the kernel for the pairs (0, delta), one row per seed."""
    X = np.vstack([np.zeros(deltas.shape[1]), deltas])
    rows, found = ArrayRows(X, Stream(0)), np.empty((seeds, len(deltas)))
    construction = make(GAUSSIAN, n_components=n_components, **options).construct(rows)
    for seed in range(seeds):
        F = construction.draw(Stream(seed, make.__name__), rows).apply(X)
        found[seed] = F[1:] @ F[0]
    return found - GAUSSIAN(deltas, np.zeros((1, deltas.shape[1])))[:, 0]


@cache
def plain_errors(d, n_components, seeds):
    """The errors of independent frequencies, for comparison."""
    return errors(RandomFourier, pairs(d), n_components, seeds)


def gain(better, worse):
    """How many standard errors the mean squared error of one map is below that of the other, for every pair."""
    difference = (worse**2).mean(axis=0) - (better**2).mean(axis=0)
    return difference / np.sqrt(((worse**2).var(axis=0) + (better**2).var(axis=0)) / len(worse))


def directions(d):
    """Directions along an axis, along a diagonal and in between."""
    axis, between = np.eye(d)[0], np.random.default_rng(0).normal(size=d)
    return np.stack([axis, np.full(d, d**-0.5), between / np.linalg.norm(between)])


def pairs(d):
    return np.vstack([distance * directions(d) for distance in (0.5, 1.0, 1.5, 2.0)])


@pytest.mark.parametrize("coupled", [False, pytest.param(True, marks=pytest.mark.full)])
@pytest.mark.parametrize("d", quick_and_full(4, 16))
def test_orthogonal_frequencies_have_a_lower_error(d, coupled):
    better = errors(OrthogonalFourier, pairs(d), 4 * d, 1500, coupled=coupled)
    assert (gain(better, plain_errors(d, 4 * d, 1500)) > Z).all()


@pytest.mark.full
@pytest.mark.parametrize("d", [5, 64])
def test_sign_rotations_have_a_lower_error(d):
    better = errors(StructuredFourier, pairs(d), 256, 1500)
    assert (gain(better, plain_errors(d, 256, 1500)) > Z).all()


@pytest.mark.parametrize("seeds", quick_and_full(500, 2_000))
def test_the_bias_of_sign_rotations_is_below_two_thousandths(seeds):
    found = errors(StructuredFourier, np.vstack([pairs(5), 3.0 * directions(5)]), 4096, seeds)
    # 0.0024 over 500 seeds: this detects a bias of 0.0032, and the full test one of 0.002.
    noise = 0.0012 * np.sqrt(2_000 / seeds)
    assert (3 * found.std(axis=0) / np.sqrt(len(found)) < noise).all()  # fine enough to tell
    assert (np.abs(found.mean(axis=0)) < 0.0008 + noise).all()


@pytest.mark.parametrize("sequence", ["sobol", "halton"])
@pytest.mark.parametrize("d", [8, pytest.param(2, marks=pytest.mark.full), pytest.param(16, marks=pytest.mark.full)])
def test_quasi_monte_carlo_has_a_lower_error(d, sequence):
    # Frequencies fill the space unevenly for any one pair of rows, so the pairs' errors are taken together.
    D, seeds = 512, 200
    better, worse = (
        (found**2).mean(axis=1, keepdims=True) ** 0.5
        for found in (errors(QuasiFourier, pairs(d), D, seeds, sequence=sequence), plain_errors(d, D, seeds))
    )
    assert gain(better, worse) > Z


def frequencies_of(features, d):
    """The frequencies of a fitted map, read off the phases of d unit vectors."""
    return features.construction_.phases(features.parameters_, np.eye(d)).T


def frequencies(make, d, n_components, **options):
    """The frequencies of a new map."""
    features = make(GAUSSIAN, n_components=n_components, random_state=1, **options).fit(np.eye(d))
    return frequencies_of(features, d)


@pytest.mark.parametrize("make", [RandomFourier, OrthogonalFourier, StructuredFourier, Fastfood])
def test_frequencies_have_the_lengths_of_normal_vectors(make):
    # KS tests at a false-alarm rate of 1e-4. Rows of 64 columns are not padded, so lengths can be read off.
    lengths = np.linalg.norm(frequencies(make, 64, 4096), axis=1)
    assert kstest(lengths, chi(64).cdf).pvalue > 1e-4


@pytest.mark.parametrize("make", [StructuredFourier, Fastfood])
def test_padded_rows_see_part_of_a_longer_frequency(make):
    d, width = 5, {StructuredFourier: 64, Fastfood: 8}[make]
    features = make(GAUSSIAN, n_components=8192, random_state=1).fit(np.eye(d))
    W = frequencies_of(features, width)  # rows that need no padding
    assert W.shape == (4096, width)
    assert kstest(np.linalg.norm(W, axis=1), chi(width).cdf).pvalue > 1e-4
    np.testing.assert_allclose(frequencies_of(features, d), W[:, :d], atol=1e-12)
    if make is Fastfood:  # one frequency a block, for these are independent: its coordinates are exactly normal
        assert kstest((W[::width, :d] ** 2).sum(axis=1), chi2(d).cdf).pvalue > 1e-4


def test_sign_rotations_are_their_definition():
    features = StructuredFourier(GAUSSIAN, n_components=160, random_state=2).fit(np.eye(5))
    H, params = hadamard(64), features.parameters_
    rotations = [H @ np.diag(c) @ H @ np.diag(b) @ H @ np.diag(a) / 64**1.5 for a, b, c in params.signs.astype(float)]
    expected = params.radii[:, None] * np.concatenate(rotations)[:80, :5]
    np.testing.assert_allclose(features.construction_.phases(params, np.eye(5)).T, expected, atol=1e-12)


def test_fastfood_is_its_definition():
    features = Fastfood(GAUSSIAN, n_components=40, random_state=2).fit(np.eye(5))
    H, params = hadamard(8), features.parameters_
    blocks = zip(params.signs.astype(float), params.orders, params.directions, strict=True)
    matrices = [H @ np.diag(g) @ np.eye(8)[order] @ H @ np.diag(signs) for signs, order, g in blocks]
    expected = params.radii[:, None] / np.sqrt(8) * np.concatenate(matrices)[:20, :5]
    np.testing.assert_allclose(features.construction_.phases(params, np.eye(5)).T, expected, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(params.directions, axis=1), 1.0)


@pytest.mark.parametrize("make", [OrthogonalFourier, StructuredFourier])
def test_frequencies_are_orthogonal_within_blocks(make):
    W = frequencies(make, 64, 4 * 64)
    gram = W[:64] @ W[:64].T
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-10)
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    across = np.abs(W[64:] @ W[:64].T)
    assert 0.3 < across.max() < 0.8  # and other blocks are turned at random


def test_directions_are_uniform():
    found = np.concatenate([orthogonal_directions(Stream(seed), 3, 3) for seed in range(2000)])
    for axis in range(3):  # the coordinates of a uniform direction in space are uniform
        for row in range(3):
            assert kstest(found[row::3, axis], "uniform", args=(-1, 2)).pvalue > 1e-5


def test_coupled_radii_mirror_each_other():
    radii = draw_radii(GAUSSIAN, Stream(0), 101, 7, coupled=True)
    places = chi(7).cdf(radii[:100])
    np.testing.assert_allclose(places[0::2] + places[1::2], 1.0, rtol=1e-10)
    many = draw_radii(Matern(1.5), Stream(1), 4000, 7, coupled=True)
    plain = draw_radii(Matern(1.5), Stream(2), 4000, 7)
    for half in (many[0::2], many[1::2]):  # both of a pair have the law of the kernel
        assert abs((half < np.median(plain)).mean() - 0.5) < 4 * (0.5 / np.sqrt(2000) + 0.5 / np.sqrt(4000))


@pytest.mark.full
def test_coupling_helps_near_rows():
    d = 8
    near = 0.5 * directions(d)
    coupled = errors(OrthogonalFourier, near, 2 * d, 3000, coupled=True)
    assert (gain(coupled, errors(OrthogonalFourier, near, 2 * d, 3000)) > Z).all()


@pytest.mark.parametrize("seeds", quick_and_full(250, 1_000))
@pytest.mark.parametrize("draw", [_low_discrepancy.sobol, _low_discrepancy.halton])
def test_sequences_are_uniform_over_seeds_and_even_within_one(draw, seeds):
    firsts = np.array([draw(Stream(seed), 3, 6) for seed in range(seeds)])
    for row in range(3):
        for axis in range(6):
            assert kstest(firsts[:, row, axis], "uniform").pvalue > 1e-6
    points = draw(Stream(0), 1024, 6)
    assert (points > 0).all()
    assert (points < 1).all()
    for axis in range(6):  # independent points would leave a gap of about 7 / 1024
        assert kstest(points[:, axis], "uniform").statistic < 0.01
    np.testing.assert_array_equal(draw(Stream(0), 100, 6), points[:100])
    np.testing.assert_array_equal(draw(Stream(0), 100, 3), points[:100, :3])


def test_the_first_primes_are_right():
    assert _low_discrepancy.first_primes(10).tolist() == [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]
    for count in (1, 2, 5, 6, 7, 100, 1000):
        assert len(_low_discrepancy.first_primes(count)) == count
    assert _low_discrepancy.first_primes(1000)[-1] == 7919


def test_coordinates_beyond_the_last_of_sobol_are_independent():
    last = qmc.Sobol.MAXDIM
    points = _low_discrepancy.sobol(Stream(3), 64, last + 2)
    np.testing.assert_array_equal(points[:, :last], _low_discrepancy.sobol(Stream(3), 64, last))
    np.testing.assert_array_equal(points[:10], _low_discrepancy.sobol(Stream(3), 10, last + 2))
    assert kstest(points[:, last:].ravel(), "uniform").pvalue > 1e-4
    assert QuasiFourier(Matern(), n_components=4).fit_transform(np.ones((2, last))).shape == (2, 4)


@pytest.mark.parametrize(
    "kernel", [Laplacian(), Cauchy(), SkewedChi2(), 0.5 * SkewedIntersection(), Laplacian() * GAUSSIAN]
)
@pytest.mark.parametrize("make", [OrthogonalFourier, StructuredFourier, Fastfood])
def test_kernels_that_single_out_the_axes_are_refused(make, kernel):
    with pytest.raises(
        ValueError, match=r"needs a kernel that depends only on \|\|x - y\|\|.*would choose QuasiFourier"
    ):
        make(kernel).fit(np.ones((2, 3)))


@pytest.mark.parametrize("make", [RandomFourier, OrthogonalFourier, StructuredFourier, QuasiFourier, Fastfood])
def test_kernels_without_a_spectrum_are_refused(make):
    for kernel in (Linear(), Polynomial(2) * GAUSSIAN, Polynomial(2).of(Linear())):
        with pytest.raises(ValueError, match=f"{make.__name__} needs a shift-invariant kernel"):
            make(kernel).fit(np.ones((2, 3)))


def test_quasi_monte_carlo_refuses_compositions():
    with pytest.raises(ValueError, match="sum of a random number of others"):
        QuasiFourier(Polynomial(2).of(GAUSSIAN)).fit(np.ones((2, 3)))


@pytest.mark.parametrize("make", [RandomFourier, OrthogonalFourier, StructuredFourier, QuasiFourier, Fastfood])
def test_long_phases_keep_their_digits_or_are_refused(make):
    X = sample_rows(40).astype(np.float32)
    features = make(GAUSSIAN, n_components=64, random_state=0)
    for scale in (np.float32(1e2), np.float32(1e6)):
        rows = scale * X
        single, double = (features.fit(M).transform(M) for M in (rows, rows.astype(np.float64)))
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, double, atol=1e-6)
        np.testing.assert_allclose(features.transform(sp.csr_array(rows)), double, atol=1e-6)
    with pytest.raises(ValueError, match=r"expected phases <w, x> below 1e\+12, found .*standardise the columns"):
        features.transform(np.float32(100 * LONGEST_PHASE) * X)


@pytest.mark.parametrize("kernel", [SkewedChi2(0.5), SkewedIntersection(0.5)])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_entries_outside_the_domain_of_skewed_kernels_are_refused(kernel, form):
    X = np.array([[0.0, 1.0], [2.0, -0.5]])
    features = RandomFourier(kernel, n_components=8, random_state=0)
    for call in (
        lambda: features.fit(form(X)),
        lambda: features.fit(form(X[:1])).transform(form(X)),
        lambda: kernel(form(X)),
    ):
        with pytest.raises(ValueError, match=r"needs entries above -0\.5; row 1, column 1 has -0\.5"):
            call()


def test_scale_needs_rows_that_vary():
    with pytest.raises(ValueError, match="'scale' needs rows that vary"):
        RandomFourier(Gaussian("scale")).fit(np.ones((5, 3)))


def test_pairs_of_features_have_unit_norm_and_offsets_do_not():
    X = sample_rows()
    for make in (RandomFourier, OrthogonalFourier, StructuredFourier, QuasiFourier, Fastfood):
        features = make(2.0 * GAUSSIAN, n_components=10, random_state=0).fit(X)
        np.testing.assert_allclose((features.transform(X) ** 2).sum(axis=1), 2.0, rtol=1e-12)
        assert features.construction_.paired
    assert not RandomFourier(GAUSSIAN, form="offset").fit(X).construction_.paired


def test_orthogonal_features_beat_independent_ones_on_rows():
    X = np.random.default_rng(0).normal(size=(200, 20))
    kernel = Gaussian("median")
    mean = {
        make: np.mean([mercer.kernel_error(make(kernel, random_state=seed).fit(X), X).relative for seed in range(5)])
        for make in (RandomFourier, OrthogonalFourier, StructuredFourier, QuasiFourier)
    }
    assert mean[OrthogonalFourier] < 0.6 * mean[RandomFourier]
    assert mean[StructuredFourier] < 0.6 * mean[RandomFourier]
    assert mean[QuasiFourier] < 0.8 * mean[RandomFourier]


@pytest.mark.parametrize("make", [RandomFourier, OrthogonalFourier, QuasiFourier])
def test_frequencies_lie_as_sparse_rows_read_them(make):
    features = make(GAUSSIAN, n_components=64, random_state=0).fit(np.eye(300))
    for fitted in (features, pickle.loads(pickle.dumps(features))):
        assert fitted.parameters_.frequencies.T.flags.c_contiguous
