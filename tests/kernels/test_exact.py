"""Exact Gram matrices: every kernel against its formula, in every format of the rows."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.gaussian_process.kernels import Matern as SklearnMatern
from sklearn.metrics import pairwise

from mercer import kernels
from mercer.kernels import (
    AdditiveChi2,
    ArcCosine,
    Cauchy,
    Exponential,
    Gaussian,
    Hellinger,
    Intersection,
    JensenShannon,
    Laplacian,
    Linear,
    Maclaurin,
    Matern,
    Polynomial,
    SkewedChi2,
    SkewedIntersection,
    VovkInfinite,
    VovkReal,
    base,
)

from .. import oracles
from ..tables import every_value


def reciprocal_factorial(n):
    return 1.0 / math.factorial(n)


LEAVES = [
    Linear(),
    Polynomial(1),
    Polynomial(3, gamma=0.5, coef0=1.0),
    Polynomial(2, coef0=-0.5),
    Exponential(0.8),
    VovkReal(1),
    VovkReal(5),
    VovkInfinite(),
    Maclaurin((1.0, 0.0, 0.5, 2.0)),
    Maclaurin(reciprocal_factorial),
    Gaussian(0.7),
    Laplacian(0.7),
    ArcCosine(),
    Cauchy(0.7),
    Matern(0.5),
    Matern(0.7, length_scale=2.0),
    Matern(1.5, length_scale=0.5),
    Matern(2.5),
    Matern(7.3),
    AdditiveChi2(),
    Intersection(),
    JensenShannon(),
    Hellinger(),
    SkewedChi2(),
    SkewedChi2(2.0),
    SkewedIntersection(1.5),
]
COMPOSITES = [
    0.7 * Gaussian(0.5) + Linear(),
    Laplacian(0.5) * VovkReal(3),
    2 * (Cauchy(0.5) * Gaussian(0.5)) + 3 * Matern(0.5),
    Polynomial(2, coef0=1.0).of(Gaussian(0.5)),
    VovkInfinite().of(0.5 * Laplacian(0.5)),
    Exponential(0.5).of(VovkReal(3) + Matern(1.5)),
    Maclaurin(reciprocal_factorial).of(Polynomial(2)) * Linear(),
    0.5 * AdditiveChi2() + Gaussian(0.5) * Hellinger(),
    Polynomial(2, coef0=1.0).of(Intersection()),
    Gaussian(0.5).of_distance(Polynomial(2, coef0=1.0)),
    (0.5 * Matern(1.5) + Gaussian(2.0)).of_distance(Laplacian(0.5)),
    Exponential(0.5).of(SkewedChi2(1.5)),
]
KERNELS = LEAVES + COMPOSITES
SHIFT_INVARIANT = [kernel for kernel in LEAVES if kernel.is_shift_invariant] + [COMPOSITES[2], COMPOSITES[3]]
LABELLED = [pytest.param(kernel, id=oracles.label(kernel)) for kernel in KERNELS]
every_kernel = pytest.mark.parametrize("kernel", LABELLED)


def in_domain(kernel, X):
    """Return X, or its absolute values if the kernel takes no negative values."""
    return np.abs(X) if kernel.domain_is_non_negative else X


@pytest.fixture
def rows(kernel):
    """Rows of norm below 1, some columns 0, two rows equal, one row 0."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9, 6)) * (rng.random((9, 6)) < 0.6)
    X *= 0.95 / np.linalg.norm(X, axis=1).max()
    X[3] = X[7]
    X[5] = 0.0
    return in_domain(kernel, X), in_domain(kernel, np.vstack([X[2:4], 0.9 * X[:4:-1] + 0.01]))


def test_every_kernel_has_an_oracle_and_a_case():
    exported = {name for name in kernels.__all__ if isinstance(getattr(kernels, name), type)} - {
        "Kernel",
        "KernelSyntaxError",
    }
    assert exported == set(oracles.FORMULAS)
    assert {type(kernel).__name__ for kernel in LEAVES} | {
        "Sum",
        "Product",
        "Scaled",
        "Composition",
        "DistanceComposition",
    } == exported


@every_kernel
def test_equals_the_formula(kernel, rows):
    X, Y = rows
    np.testing.assert_allclose(kernel(X, Y), oracles.gram(kernel, X, Y), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel(X), oracles.gram(kernel, X), rtol=1e-12, atol=1e-14)


@every_kernel
def test_diag_and_symmetry(kernel, rows):
    X, _ = rows
    gram = kernel(X)
    np.testing.assert_allclose(kernel.diag(X), np.diag(gram), rtol=1e-13)
    np.testing.assert_allclose(gram, gram.T, rtol=1e-13)
    np.testing.assert_allclose(kernel(X, X), gram, rtol=1e-13)


@pytest.mark.parametrize("kernel", [k for k in KERNELS if k != Polynomial(2, coef0=-0.5)], ids=oracles.label)
def test_positive_semi_definite(kernel):
    X = np.random.default_rng(1).normal(size=(60, 4))
    X *= 0.95 / np.linalg.norm(X, axis=1).max()
    values = np.linalg.eigvalsh(kernel(in_domain(kernel, X)))
    assert values[0] >= -1e-12 * values[-1]


def unsorted(X):
    """The same matrix, the entries of every row stored backwards."""
    order = np.concatenate([np.arange(X.indptr[i], X.indptr[i + 1])[::-1] for i in range(X.shape[0])])
    return sp.csr_array((X.data[order], X.indices[order], X.indptr), shape=X.shape)


def long_indices(X):
    X = X.copy()
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def duplicated(X):
    """The same matrix, every entry stored as two halves."""
    return sp.csr_array((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), X.indptr * 2), shape=X.shape)


SPARSE = {
    "csr_array": sp.csr_array,
    "csr_matrix": sp.csr_matrix,
    "csc_array": sp.csc_array,
    "int64": lambda X: long_indices(sp.csr_array(X)),
    "csr_matrix int64": lambda X: long_indices(sp.csr_matrix(X)),
    "unsorted": lambda X: unsorted(sp.csr_array(X)),
    "duplicated": lambda X: duplicated(sp.csr_array(X)),
}


@every_value(kernel=LABELLED, form=SPARSE)
def test_sparse_rows(kernel, form, rows):
    X, Y = rows
    expected = kernel(X, Y)
    left, right = SPARSE[form](X), SPARSE[form](Y)
    before = left.indices.copy(), left.data.copy()
    for pair in ((left, right), (left, Y), (X, right)):
        gram = kernel(*pair)
        assert type(gram) is np.ndarray
        np.testing.assert_allclose(gram, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel(left), kernel(X), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel.diag(left), kernel.diag(X), rtol=1e-12)
    np.testing.assert_array_equal(left.indices, before[0])
    np.testing.assert_array_equal(left.data, before[1])


@every_kernel
def test_float32_is_kept_and_computed_in_float64(kernel, rows):
    X, Y = (M.astype(np.float32) for M in rows)
    gram = kernel(X, Y)
    assert gram.dtype == kernel(X).dtype == kernel.diag(X).dtype == np.float32
    np.testing.assert_array_equal(gram, kernel(X.astype(float), Y.astype(float)).astype(np.float32))
    assert kernel(sp.csr_array(X), sp.csr_array(Y)).dtype == np.float32
    assert kernel(X, Y.astype(float)).dtype == np.float64


def test_lists_and_integers_become_float64():
    gram = Polynomial(2)([[1, 2], [3, 4]])
    assert gram.dtype == np.float64
    np.testing.assert_array_equal(gram, [[25, 121], [121, 625]])
    assert Linear()(np.array([[100]], dtype=np.int8))[0, 0] == 10_000


@every_kernel
def test_rows_are_not_changed(kernel, rows):
    X, Y = (M.copy() for M in rows)
    X.flags.writeable = Y.flags.writeable = False
    kernel(X, Y)
    kernel(X)
    kernel.diag(X)


@every_kernel
def test_blocks_do_not_show(kernel, rows, monkeypatch):
    X, Y = rows
    whole, sparse = kernel(X, Y), kernel(sp.csr_array(X), sp.csr_array(Y))
    monkeypatch.setattr(base, "BLOCK_ELEMENTS", 2 * len(Y))
    np.testing.assert_allclose(kernel(X, Y), whole, rtol=1e-13)
    np.testing.assert_allclose(kernel(sp.csr_array(X), sp.csr_array(Y)), sparse, rtol=1e-13)


# -- rows far from the origin ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dyadic():
    """Rows that stay exact when 1e6 is added to them."""
    return np.random.default_rng(2).integers(-32, 33, size=(12, 5)) / 16


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("kernel", SHIFT_INVARIANT, ids=oracles.label)
def test_far_from_the_origin(kernel, form, dyadic):
    np.testing.assert_allclose(kernel(form(dyadic + 1e6)), kernel(dyadic), rtol=1e-9)


@pytest.mark.parametrize("kernel", SHIFT_INVARIANT, ids=oracles.label)
def test_two_clusters_far_apart(kernel, dyadic):
    both = np.vstack([dyadic + 1e6, dyadic - 1e6])
    gram = kernel(both)
    np.testing.assert_allclose(gram[:12, :12], kernel(dyadic), rtol=1e-9)
    np.testing.assert_allclose(gram[12:, 12:], kernel(dyadic), rtol=1e-9)


@pytest.mark.parametrize("kernel", SHIFT_INVARIANT, ids=oracles.label)
def test_an_outlier_does_not_spoil_the_others(kernel, dyadic):
    gram = kernel(np.vstack([dyadic, np.full((1, 5), 1e18)]))
    np.testing.assert_allclose(gram[:12, :12], kernel(dyadic), rtol=1e-9)


@pytest.mark.parametrize("kernel", SHIFT_INVARIANT, ids=oracles.label)
def test_equal_rows_have_exactly_the_amplitude(kernel):
    X = np.random.default_rng(3).normal(size=(40, 7)) * 100
    np.testing.assert_array_equal(np.diag(kernel(X)), kernel.diag(X))
    np.testing.assert_array_equal(np.diag(kernel(sp.csr_array(X))), kernel.diag(X))


# -- Matern where K_nu leaves float64 ----------------------------------------------------------------------------------


@pytest.mark.parametrize("nu", [0.7, 3.3, 49.0, 50.0, 1e4])
def test_matern_reaches_zero_and_one(nu):
    far = Matern(nu)([[0.0]], [[1e-150], [1e-12], [1e4], [1e10], [1e150]])[0]
    np.testing.assert_allclose(far[:2], 1.0, rtol=1e-7)
    np.testing.assert_array_equal(far[2:], 0.0)


def half_integer_matern(order, z):
    """nu = order + 1/2: a polynomial with whole coefficients times exp(-z)."""
    factorial = math.factorial
    terms = (
        factorial(order) * factorial(order + i) / (factorial(2 * order) * factorial(i) * factorial(order - i))
        * (2 * z) ** (order - i)
        for i in range(order + 1)
    )  # fmt: skip
    return math.exp(-z) * math.fsum(terms)


@pytest.mark.parametrize("order", [5, 20, 48, 49, 50, 60, 80])
def test_matern_of_large_smoothness(order):
    nu = order + 0.5
    distances = np.array([0.01, 0.1, 0.5, 1.0, 2.0, 4.0])
    expected = [half_integer_matern(order, math.sqrt(2 * nu) * r) for r in distances]
    np.testing.assert_allclose(Matern(nu)([[0.0]], distances[:, None])[0], expected, rtol=1e-9)


def test_matern_tends_to_the_gaussian():
    distances = np.linspace(0, 3, 20)[:, None]
    np.testing.assert_allclose(Matern(1e6)([[0.0]], distances), Gaussian(0.5)([[0.0]], distances), atol=1e-5)


# -- other implementations ---------------------------------------------------------------------------------------------

PEERS = [
    (Linear(), pairwise.linear_kernel),
    (
        Polynomial(3, gamma=0.5, coef0=2.0),
        lambda X, Y: pairwise.polynomial_kernel(X, Y, degree=3, gamma=0.5, coef0=2.0),
    ),
    (Gaussian(0.3), lambda X, Y: pairwise.rbf_kernel(X, Y, gamma=0.3)),
    (Laplacian(0.3), lambda X, Y: pairwise.laplacian_kernel(X, Y, gamma=0.3)),
    (
        AdditiveChi2(),
        lambda X, Y: (pairwise.additive_chi2_kernel(X, Y) + X.sum(axis=1)[:, None] + Y.sum(axis=1)) / 2,
    ),
    *[(Matern(nu, length_scale=1.7), SklearnMatern(1.7, nu=nu)) for nu in (0.5, 0.9, 1.5, 2.5, 4.0)],
]


@pytest.mark.parametrize(("kernel", "peer"), PEERS, ids=[oracles.label(kernel) for kernel, _ in PEERS])
def test_agrees_with_scikit_learn(kernel, peer):
    rng = np.random.default_rng(4)
    X, Y = (in_domain(kernel, rng.normal(size=shape)) for shape in ((30, 5), (20, 5)))
    np.testing.assert_allclose(kernel(X, Y), peer(X, Y), rtol=1e-10, atol=1e-12)


# -- memory ------------------------------------------------------------------------------------------------------------


def peak_of(call):
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@every_value(kernel=LABELLED, form=[np.asarray, sp.csr_array])
def test_no_cube_in_memory(kernel, form):
    n, d = 200, 400
    X = np.random.default_rng(5).normal(size=(n, d)) * (0.9 / np.sqrt(2 * d))
    X = form(in_domain(kernel, X))
    cube, matrix, rows = 8 * n * n * d, 8 * n * n, 8 * n * d
    peak = peak_of(lambda: kernel(X))
    assert peak < 12 * matrix + 10 * rows < cube / 10


def test_equal_rows_are_compared_in_pieces():
    n, d = 300, 400
    X = np.ones((n, d))
    assert peak_of(lambda: Gaussian()(X)) < 8 * 5 * base.BLOCK_ELEMENTS < 8 * n * n * d


def test_temporaries_do_not_grow_with_the_gram_matrix():
    X = np.random.default_rng(6).normal(size=(4000, 3))
    gram = 8 * len(X) ** 2
    assert peak_of(lambda: Gaussian()(X)) < gram + 8 * 5 * base.BLOCK_ELEMENTS
    assert gram > 8 * 7 * base.BLOCK_ELEMENTS
