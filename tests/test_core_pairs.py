"""Compiled exact kernels against naive mathematics, on every instruction set of this machine."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mercer import _core
from mercer.kernels import AdditiveChi2, Cauchy, Gaussian, Intersection, JensenShannon, Laplacian, Matern, SkewedChi2

from . import oracles
from .test_core import compiled

SIZES = [(1, 1, 1), (3, 17, 5), (4, 16, 8), (5, 15, 3), (9, 33, 7), (2, 5, 1030)]


def histograms(rows, columns, seed):
    rng = np.random.default_rng([seed, rows, columns])
    return rng.gamma(0.3, size=(rows, columns)) * (rng.random((rows, columns)) < 0.8)


def single_planes(X):
    return (X,)


def with_logarithms(X):
    return X, np.log(np.where(X > 0, X, 1.0)) / math.log(4.0)


def with_exponentials(X):
    return np.exp(X), np.exp(-X / 2) * math.sqrt(0.5)


def jensen_shannon(x, y):
    both = x + y
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(x * y > 0, (x * np.log2(both / x) + y * np.log2(both / y)) / 2, 0.0)
    return terms.sum()


def chi2(x, y):
    return (2 * x * y / np.where(x + y > 0, x + y, 1.0)).sum()


TERMS = {
    "intersection": (single_planes, lambda x, y: np.minimum(x, y).sum()),
    "manhattan": (single_planes, lambda x, y: np.abs(x - y).sum()),
    "chi2": (single_planes, chi2),
    "jensen-shannon": (with_logarithms, jensen_shannon),
    "cauchy": (single_planes, lambda x, y: 1 / np.prod(1 + (0.3 * (x - y)) ** 2)),
    "skewed-chi2": (with_exponentials, lambda x, y: 1 / np.prod(np.cosh((x - y) / 2))),
}
every_term = pytest.mark.parametrize("term", TERMS)


def values_of(term, X, Y):
    planes = TERMS[term][0]
    return _core.pairs(term, tuple(map(np.ascontiguousarray, planes(X))), _core.ColumnRows(*planes(Y)), 0.3)


@every_term
@pytest.mark.parametrize(("rows", "others", "columns"), SIZES)
def test_pairs_are_their_formula(isa, term, rows, others, columns):
    X, Y = histograms(rows, columns, 0) / columns**0.5, histograms(others, columns, 1) / columns**0.5
    expected = [[TERMS[term][1](x.astype(np.longdouble), y.astype(np.longdouble)) for y in Y] for x in X]
    np.testing.assert_allclose(values_of(term, X, Y), np.array(expected, dtype=float), rtol=1e-15 * (8 + columns))


@every_term
def test_a_pair_is_the_same_in_any_block_and_in_any_order(isa, term):
    X, Y = histograms(11, 701, 0), histograms(40, 701, 1)
    X[3] = 0.0
    whole = values_of(term, X, Y)
    np.testing.assert_array_equal(values_of(term, Y, X), whole.T)
    for rows in (slice(0, 1), slice(2, 7), slice(3, 11)):
        np.testing.assert_array_equal(values_of(term, X[rows], Y), whole[rows])
    for others in (slice(0, 1), slice(5, 22), slice(24, 40)):
        np.testing.assert_array_equal(values_of(term, X, Y[others]), whole[:, others])


@every_term
def test_no_rows(isa, term):
    assert values_of(term, np.ones((0, 3)), np.ones((2, 3))).shape == (0, 2)
    assert values_of(term, np.ones((2, 3)), np.ones((0, 3))).shape == (2, 0)


def test_ratios_of_any_size(isa):
    """The polynomial of Jensen and Shannon's term, over all ratios of two values."""
    ratios = np.concatenate([np.linspace(0.0, 1.0, 1001), np.geomspace(1e-250, 1.0, 500)])[:, None]
    found = values_of("jensen-shannon", np.ones((1, 1)), ratios)[0]
    wide = ratios[:, 0].astype(np.longdouble)
    expected = (np.log1p(wide) + wide * (np.log1p(wide) - np.log(np.where(wide > 0, wide, 1)))) / (2 * np.log(2))
    np.testing.assert_allclose(found, expected.astype(float), rtol=4e-15)


SHAPES = {
    "square": lambda s: s,
    "gaussian": lambda s: np.exp(-0.7 * s),
    "matern-1/2": lambda s: np.exp(-0.7 * np.sqrt(s)),
    "matern-3/2": lambda s: (1 + 0.7 * np.sqrt(s)) * np.exp(-0.7 * np.sqrt(s)),
    "matern-5/2": lambda s: (1 + 0.7 * np.sqrt(s) + 0.49 * s / 3) * np.exp(-0.7 * np.sqrt(s)),
}


def radial(X, Y, shape, scale=0.7):
    origin = Y.mean(axis=0)
    left, right = X - origin, Y - origin
    values = left @ right.T
    _core.radial(values, X, Y, ((left**2).sum(axis=1), (right**2).sum(axis=1)), shape, scale)
    return values


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("rows", "others", "columns"), SIZES[:5])
def test_radial_kernels(isa, shape, rows, others, columns):
    rng = np.random.default_rng([rows, others])
    X, Y = rng.normal(size=(rows, columns)), rng.normal(size=(others, columns))
    squares = ((X[:, None, :].astype(np.longdouble) - Y[None, :, :]) ** 2).sum(axis=2)
    np.testing.assert_allclose(radial(X, Y, shape), SHAPES[shape](squares).astype(float), rtol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_near_rows_keep_their_digits(isa, shape):
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(21, 13))
    X = Y[:7] + 1e-9 * rng.normal(size=(7, 13))
    X[3] = Y[3]
    squares = ((X[:, None, :].astype(np.longdouble) - Y[None, :, :]) ** 2).sum(axis=2)
    found = radial(X, Y, shape)
    np.testing.assert_allclose(found, SHAPES[shape](squares).astype(float), rtol=1e-9)
    assert found[3, 3] == (0.0 if shape == "square" else 1.0)


def test_exponentials_of_any_length(isa):
    """Through distances from the origin, which are exact: down to the subnormal numbers and 0."""
    roots = np.concatenate([np.linspace(0.0, 28.0, 3000), np.geomspace(1e-12, 1.0, 300), [1e3, 1e150]])[:, None]
    values, squares = np.zeros((len(roots), 1)), roots[:, 0] ** 2
    _core.radial(values, roots, np.zeros((1, 1)), (squares, np.zeros(1)), "gaussian", 1.0)
    with np.errstate(under="ignore"):
        expected = np.exp(-squares.astype(np.longdouble)).astype(float)
    np.testing.assert_allclose(values[:, 0], expected, rtol=2.3e-16, atol=5e-324)
    assert values[0, 0] == 1.0


@pytest.mark.parametrize("shape", list(SHAPES)[1:])
def test_infinite_distances(isa, shape):
    X, Y = np.array([[1e200], [0.0]]), np.array([[0.0], [-1e200], [1e200]])
    with np.errstate(over="ignore", invalid="ignore"):
        found = radial(X, Y, shape)
    np.testing.assert_array_equal(found, [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])


KERNELS = [
    AdditiveChi2(),
    Intersection(),
    JensenShannon(),
    Laplacian(0.3),
    Cauchy(0.3),
    SkewedChi2(0.7),
    Gaussian(0.2),
    Matern(0.5),
    Matern(1.5, length_scale=2.0),
    Matern(2.5, length_scale=0.5),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_exact_kernels_agree_with_their_definitions(isa, kernel):
    X, Y = histograms(7, 6, 2), histograms(19, 6, 3)
    expected = [[oracles.value(kernel, x, y) for y in Y] for x in X]
    np.testing.assert_allclose(kernel(X, Y), expected, rtol=1e-12, atol=1e-14)
    gram = kernel(Y)
    if not kernel.is_rotation_invariant:  # which depends on BLAS
        np.testing.assert_array_equal(gram, gram.T)


@compiled
@pytest.mark.parametrize("kernel", KERNELS[:3], ids=repr)
def test_extreme_values_do_not_touch_other_rows(kernel):
    X, Y = histograms(9, 6, 2), histograms(12, 6, 3)
    calm = kernel(X, Y)
    X[4, 1], Y[7, 1], Y[3, 2] = 1e200, 1e-250, 1e300
    wild = kernel(X, Y)
    expected = [[float(kernel.coordinate(x[x * y > 0], y[x * y > 0]).sum()) for y in Y] for x in X]
    np.testing.assert_allclose(wild, expected, rtol=1e-13)
    np.testing.assert_array_equal(
        np.delete(np.delete(wild, 4, axis=0), [3, 7], axis=1), np.delete(np.delete(calm, 4, axis=0), [3, 7], axis=1)
    )


@compiled
def test_bad_input_is_named():
    X, Y = np.ones((2, 3)), _core.ColumnRows(np.ones((4, 3)))
    with pytest.raises(ValueError, match=r"term must be one of intersection, .*, got 'cosine'"):
        _core.pairs("cosine", (X,), Y)
    with pytest.raises(ValueError, match="'jensen-shannon' takes 2 matrices of X and of Y, got 1 and 1"):
        _core.pairs("jensen-shannon", (X,), Y)
    with pytest.raises(ValueError, match="X has 2 columns but Y has 3"):
        _core.pairs("chi2", (np.ones((2, 2)),), Y)
    with pytest.raises(TypeError, match="X must be float64, got float32"):
        _core.pairs("chi2", (np.ones((2, 3), dtype=np.float32),), Y)
    with pytest.raises(ValueError, match="C-contiguous"):
        _core.pairs("chi2", (np.ones((3, 2)).T,), Y)
    norms = np.ones(2), np.ones(4)
    with pytest.raises(ValueError, match=r"shape must be one of square, .*, got 'round'"):
        _core.radial(np.ones((2, 4)), X, np.ones((4, 3)), norms, "round", 1.0)
    with pytest.raises(ValueError, match=r"Y must have shape \(4, 3\), got \(3, 3\)"):
        _core.radial(np.ones((2, 4)), X, np.ones((3, 3)), norms, "square", 1.0)
    with pytest.raises(ValueError, match=r"the norms of X must have shape \(2,\), got \(4,\)"):
        _core.radial(np.ones((2, 4)), X, np.ones((4, 3)), norms[::-1], "square", 1.0)
