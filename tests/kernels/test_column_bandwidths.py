"""A bandwidth for every column: the kernel of one bandwidth between rows whose columns are multiplied by factors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import mercer
from mercer.kernels import (
    Cauchy,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    parse,
)
from mercer.kernels.families import LARGEST_ROUNDING
from mercer.learn import KernelRegressor
from mercer.maps import (
    Fastfood,
    Nystrom,
    OrthogonalFourier,
    QuasiFourier,
    RandomFourier,
    RandomMaclaurin,
    StructuredFourier,
    TaylorSketch,
)

WIDTHS = (0.1, 2.0, 0.5)

# A kernel with a bandwidth per column, that with one, and what columns are multiplied by in between.
SAME = [
    (Gaussian(WIDTHS), Gaussian(1.0), np.sqrt(WIDTHS)),
    (Laplacian(WIDTHS), Laplacian(1.0), np.array(WIDTHS)),
    (Cauchy(WIDTHS), Cauchy(1.0), np.array(WIDTHS)),
    (Matern(0.5, length_scale=WIDTHS), Matern(0.5), 1.0 / np.array(WIDTHS)),
    (Matern(1.5, length_scale=WIDTHS), Matern(1.5), 1.0 / np.array(WIDTHS)),
    (Matern(0.8, length_scale=WIDTHS), Matern(0.8), 1.0 / np.array(WIDTHS)),
    (2.0 * Gaussian(WIDTHS), 2.0 * Gaussian(1.0), np.sqrt(WIDTHS)),
    (Polynomial(2, coef0=1.0).of(Laplacian(WIDTHS)), Polynomial(2, coef0=1.0).of(Laplacian(1.0)), np.array(WIDTHS)),
    (Gaussian(WIDTHS) + 0.5 * Gaussian(WIDTHS), 1.5 * Gaussian(1.0), np.sqrt(WIDTHS)),
]
ids = [str(kernel) for kernel, *_ in SAME]

MAPS = [
    (Nystrom, Gaussian(WIDTHS)),
    (Nystrom, Laplacian(WIDTHS)),
    (Nystrom, Matern(1.5, length_scale=WIDTHS)),
    (RandomFourier, Gaussian(WIDTHS)),
    (RandomFourier, Cauchy(WIDTHS)),
    (RandomFourier, Gaussian(WIDTHS) * Laplacian(tuple(np.sqrt(WIDTHS).tolist()))),
    (QuasiFourier, Laplacian(WIDTHS)),
    (OrthogonalFourier, Matern(2.5, length_scale=WIDTHS)),
    (StructuredFourier, Gaussian(WIDTHS)),
    (Fastfood, Matern(1.5, length_scale=WIDTHS)),
    (TaylorSketch, Gaussian(WIDTHS)),
    (RandomMaclaurin, Polynomial(2, coef0=1.0).of(Gaussian(WIDTHS))),
]


def rows(n=30, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 3)) / 2.0


@pytest.mark.parametrize(("kernel", "plain", "factors"), SAME, ids=ids)
def test_column_bandwidths_equal_the_plain_kernel_of_multiplied_columns(kernel, plain, factors):
    X, Y = rows(), rows(20, 1)
    expected = plain(X * factors, Y * factors)
    np.testing.assert_allclose(kernel(X, Y), expected, rtol=1e-12)
    np.testing.assert_allclose(kernel(sp.csr_array(X), sp.csr_array(Y)), expected, rtol=1e-9)
    np.testing.assert_allclose(kernel.diag(X), plain.diag(X), rtol=1e-12)
    written = np.empty(expected.shape, dtype=np.float32)
    kernel.values_at(Y, np.float32)(X.astype(np.float32), written)
    np.testing.assert_allclose(written, expected, atol=LARGEST_ROUNDING)


def test_values_follow_the_formula():
    x, y = np.array([[1.0, 2.0]]), np.array([[3.0, 1.5]])
    np.testing.assert_allclose(Gaussian((0.1, 2.0))(x, y), np.exp(-0.1 * 4.0 - 2.0 * 0.25))
    np.testing.assert_allclose(Laplacian((0.1, 2.0))(x, y), np.exp(-0.1 * 2.0 - 2.0 * 0.5))
    np.testing.assert_allclose(Cauchy((0.1, 2.0))(x, y), 1.0 / (1.0 + 0.04) / (1.0 + 1.0))
    np.testing.assert_allclose(Matern(0.5, length_scale=(4.0, 0.5))(x, y), np.exp(-np.sqrt(0.25 + 1.0)))


@pytest.mark.parametrize("kernel", [kernel for kernel, *_ in SAME if kernel.has_gradient], ids=str)
def test_derivatives_are_those_of_differences(kernel):
    X, Y, weights = rows(6), rows(5, 1), rows(30, 2)[:, 0].reshape(6, 5)
    steps = 1e-6 * np.eye(3)
    expected = [np.sum(weights * (kernel.gram(X + h, Y) - kernel.gram(X - h, Y)), axis=1) / 2e-6 for h in steps]
    np.testing.assert_allclose(kernel.gradients(X, Y, weights), np.transpose(expected), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("make", "kernel"), MAPS, ids=lambda value: getattr(value, "__name__", str(value)))
def test_maps_support_column_bandwidths(make, kernel):
    X = rows()
    map = make(kernel, n_components=1024, random_state=0).fit(X)
    Z = map.transform(X)
    bound = 1e-6 if make is Nystrom else 0.15
    exact = kernel(X)
    assert np.linalg.norm(Z @ Z.T - exact) < bound * np.linalg.norm(exact)
    single = map.transform(X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, Z, atol=1e-4)
    np.testing.assert_allclose(map.transform(sp.csr_array(X)), Z, atol=1e-9)
    np.testing.assert_allclose(map.fitted_.apply(X), Z, atol=1e-9)


@pytest.mark.parametrize("make", [RandomFourier, QuasiFourier, OrthogonalFourier, StructuredFourier, Fastfood])
def test_features_are_those_of_multiplied_columns(make):
    X, factors = rows(), np.sqrt(WIDTHS)
    ours = make(Gaussian(WIDTHS), n_components=64, random_state=0).fit(X).transform(X)
    theirs = make(Gaussian(1.0), n_components=64, random_state=0).fit(X * factors).transform(X * factors)
    np.testing.assert_allclose(ours, theirs, atol=1e-10)


def test_the_exact_variance_is_that_of_multiplied_columns():
    X, factors = rows(), np.sqrt(WIDTHS)
    ours, theirs = (RandomFourier(kernel, n_components=64, random_state=0) for kernel in (Gaussian(WIDTHS), Gaussian()))
    np.testing.assert_allclose(ours.fit(X).variance(X), theirs.fit(X * factors).variance(X * factors), rtol=1e-9)


def test_the_first_choice_of_a_map():
    assert type(mercer.feature_map(Gaussian(WIDTHS))) is OrthogonalFourier
    assert type(mercer.feature_map(Laplacian(WIDTHS))) is QuasiFourier
    two = Gaussian((1.0, 2.0, 3.0)) + Gaussian(WIDTHS)
    assert not two.has_spectrum  # no one set of coordinates serves both
    assert not two.is_rotation_invariant
    X = rows()
    Z = mercer.feature_map(two, n_components=4096, random_state=0).fit_transform(X)
    assert np.linalg.norm(Z @ Z.T - two(X)) < 0.1 * np.linalg.norm(two(X))


def test_text_fields_and_copies():
    kernel = parse("gaussian((0.1, 2))")
    assert kernel == parse("gaussian([0.1, 2])") == Gaussian((0.1, 2)) == Gaussian((np.float64(0.1), 2.0))
    assert repr(kernel) == "Gaussian(gamma=(0.1, 2))"
    assert parse(repr(kernel)) == kernel
    assert len({kernel, Gaussian((0.1, 2.0))}) == 1
    assert parse("matern(1.5, length_scale=(1, 2))").get_params() == {"nu": 1.5, "length_scale": (1, 2)}
    assert kernel.replace(gamma=(1.0, 1.0)).gamma == (1.0, 1.0)
    assert (kernel + Linear()).replace(left__gamma=3.0) == Gaussian(3.0) + Linear()


def test_equal_bandwidths_are_one():
    X = rows()
    np.testing.assert_allclose(Gaussian((0.3, 0.3, 0.3))(X), Gaussian(0.3)(X), rtol=1e-12)


@pytest.mark.parametrize("map", ["nystrom", "fourier", "exact"])
def test_model_files_keep_column_bandwidths(map, tmp_path):
    X = rows(60)
    features = OrthogonalFourier(Gaussian(WIDTHS), n_components=32, random_state=0)
    given = {"map": features} if map == "fourier" else {"kernel": Gaussian(WIDTHS), "map": map, "random_state": 0}
    model = KernelRegressor(**({"kernel": None, "preparation": None} | given), alpha=0.1).fit(X, np.sin(X[:, 0]))
    mercer.save(model, tmp_path / "model")
    again = mercer.load(tmp_path / "model")
    assert again.map_.kernel_ == model.map_.kernel_ == Gaussian(WIDTHS)
    assert np.array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize(("make", "kernel"), MAPS[:1] + MAPS[3:4] + MAPS[8:11], ids=str)
def test_another_number_of_columns_is_refused(make, kernel):
    X = np.zeros((5, 4))
    with pytest.raises(ValueError, match="has 3 numbers, one per column, but X has 4 columns"):
        kernel(X)
    with pytest.raises(ValueError, match="has 3 numbers, one per column, but X has 4 columns"):
        make(kernel, n_components=16).fit(X)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: Gaussian(()), "found none"),
        (lambda: Gaussian([1.0, 2.0]), "a tuple with one number per column"),
        (lambda: Gaussian((1.0, 0.0)), "gamma of column 1"),
        (lambda: Matern(length_scale=(np.nan, 1.0)), "length_scale of column 0"),
        (lambda: Laplacian((1.0, "scale")), "gamma of column 1"),
        (lambda: Exponential((1.0, 2.0)), "gamma must be a positive"),
        (lambda: Polynomial(2, gamma=(1.0, 2.0)), "gamma must be a positive"),
    ],
)
def test_impossible_bandwidths_are_refused(make, match):
    with pytest.raises(ValueError, match=match):
        make()


def test_a_distance_has_no_columns():
    with pytest.raises(TypeError, match="has a bandwidth per column"):
        Gaussian(WIDTHS).of_distance(Linear())
    assert Gaussian(1.0).of_distance(Gaussian(WIDTHS))(rows()).shape == (30, 30)
