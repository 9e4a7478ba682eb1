"""Bandwidths learned from rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist

from mercer._random import Stream
from mercer.data import as_rows
from mercer.kernels import Cauchy, Exponential, Gaussian, Laplacian, Linear, Matern, Polynomial, VovkReal
from mercer.kernels.bandwidth import MEDIAN_ROWS

X = np.random.default_rng(0).normal(size=(60, 4)) * [1.0, 3.0, 0.5, 0.0] + 2.0
VARIANCE = 4 * X.var()
SQUARED = np.median(pdist(X, "sqeuclidean"))
ONE_NORM = np.median(pdist(X, "cityblock"))

EXPECTED = [
    (Gaussian, "gamma", 1 / VARIANCE, 0.5 / SQUARED),
    (Laplacian, "gamma", 1 / VARIANCE, 1 / ONE_NORM),
    (Exponential, "gamma", 1 / VARIANCE, 1 / SQUARED),
    (Polynomial, "gamma", 1 / VARIANCE, 1 / SQUARED),
    (Cauchy, "gamma", VARIANCE**-0.5, SQUARED**-0.5),
    (Matern, "length_scale", VARIANCE**0.5, SQUARED**0.5),
]
every_kernel = pytest.mark.parametrize(
    ("cls", "field", "scale", "median"), EXPECTED, ids=lambda v: getattr(v, "__name__", "")
)
FORMS = {
    "dense": np.asarray,
    "csr_array": sp.csr_array,
    "csr_matrix": sp.csr_matrix,
    "float32": lambda M: np.asarray(M, dtype=np.float32),
    "list": lambda M: M.tolist(),
}


@pytest.mark.parametrize("form", FORMS)
@every_kernel
def test_rules(cls, field, scale, median, form):
    rtol = 1e-6 if form == "float32" else 1e-12
    for rule, expected in (("scale", scale), ("median", median)):
        kernel = cls(**{field: rule}).resolve(FORMS[form](X), 0)
        assert isinstance(getattr(kernel, field), float)
        np.testing.assert_allclose(getattr(kernel, field), expected, rtol=rtol)
        assert kernel.replace(**{field: rule}) == cls(**{field: rule})
        kernel(X / 10)


def test_scale_is_scikit_learns_definition_on_sparse_rows():
    dense = np.random.default_rng(1).uniform(size=(500, 30))
    rows = sp.csr_array(np.where(dense < 0.1, dense, 0.0))
    variance = rows.multiply(rows).mean() - rows.mean() ** 2
    assert Gaussian("scale").resolve(rows).gamma == pytest.approx(1 / (30 * variance), rel=1e-12)
    halves = sp.csr_array((np.repeat(rows.data / 2, 2), np.repeat(rows.indices, 2), rows.indptr * 2), shape=rows.shape)
    assert Gaussian("scale").resolve(halves).gamma == pytest.approx(1 / (30 * variance), rel=1e-12)
    assert halves.nnz == 2 * rows.nnz


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_scale_over_many_blocks(form):
    rows = np.random.default_rng(2).normal(size=(10_000, 3))
    rows[5000:] += 100.0
    assert Gaussian("scale").resolve(form(rows)).gamma == pytest.approx(1 / (3 * rows.var()), rel=1e-12)


@pytest.mark.parametrize("rule", ["scale", "median"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("cls", [Gaussian, Laplacian])
def test_rows_far_from_the_origin(cls, form, rule):
    rows = np.random.default_rng(3).integers(-32, 33, size=(80, 3)) / 16
    near, far = (cls(rule).resolve(form(rows + offset), 0).gamma for offset in (0.0, 1e6))
    assert far == pytest.approx(near, rel=1e-9)


def test_median_is_seeded():
    rows = np.random.default_rng(4).normal(size=(MEDIAN_ROWS + 500, 2))
    first = Gaussian("median").resolve(rows, 7)
    assert first == Gaussian("median").resolve(rows, 7)
    assert first != Gaussian("median").resolve(rows, 8)
    assert first == Gaussian("median").resolve(rows, Stream(7))
    sample = as_rows(rows, 7).sample(MEDIAN_ROWS)
    assert sample.shape == (MEDIAN_ROWS, 2)
    assert first.gamma == pytest.approx(0.5 / np.median(pdist(sample, "sqeuclidean")), rel=1e-12)
    assert Gaussian("median").resolve(as_rows(rows, 7)) == first
    for rng in (None, np.random.default_rng(0), np.random.RandomState(0)):
        assert Gaussian("median").resolve(rows, rng).gamma == pytest.approx(first.gamma, rel=0.2)


def test_scale_does_not_depend_on_the_seed():
    assert Gaussian("scale").resolve(X, 1) == Gaussian("scale").resolve(X, 2) == Gaussian("scale").resolve(X)


def test_resolve_reaches_into_expressions():
    inner = Polynomial(2).of(Laplacian("scale"))
    kernel = 0.5 * Gaussian("median") + inner * Matern(0.5, length_scale="median") + Linear()
    resolved = kernel.resolve(X, 0)
    assert resolved == (
        0.5 * Gaussian("median").resolve(X, 0)
        + Polynomial(2).of(Laplacian("scale").resolve(X, 0)) * Matern(0.5, length_scale="median").resolve(X, 0)
        + Linear()
    )
    assert kernel.left.left.kernel.gamma == "median"
    resolved.check_resolved()
    assert resolved(X).shape == (60, 60)


def test_numbers_are_left_alone():
    for kernel in (Gaussian(0.5), Gaussian(0.5) + 2 * VovkReal(3), Matern(0.7), Polynomial(2).of(Gaussian(0.1))):
        assert kernel.resolve(X, 0) == kernel


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian("scale"),
        2 * Laplacian("median") + Linear(),
        Linear() * Cauchy("scale"),
        VovkReal(2).of(Matern(length_scale="median")),
        Polynomial(2, gamma="scale"),
        Exponential("median"),
    ],
    ids=repr,
)
def test_an_unresolved_kernel_says_what_to_do(kernel):
    message = r"is not a number yet: call kernel\.resolve\(X, rng\)"
    for call in (lambda: kernel(X), lambda: kernel.diag(X), kernel.check_resolved):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize(
    "kernel", [Gaussian("scale"), Laplacian("scale"), Cauchy("scale"), Matern(length_scale="scale")], ids=repr
)
def test_an_unresolved_kernel_has_no_spectral_law(kernel):
    with pytest.raises(ValueError, match=r"kernel\.resolve\(X, rng\)"):
        kernel.frequencies(Stream(0), 2, 2)


@pytest.mark.parametrize(
    "kernel", [Exponential("scale"), Polynomial(2, gamma="median"), Linear() * Exponential("scale")], ids=repr
)
def test_an_unresolved_kernel_has_no_series(kernel):
    with pytest.raises(ValueError, match=r"kernel\.resolve\(X, rng\)"):
        kernel.series(3)


# 0.1 and 1/3: sums of many do not round to a multiple of one
@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, 1e8 + 0.1, -7.0])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_constant_rows(form, value):
    rows = form(np.full((5000, 7), value))
    with pytest.raises(ValueError, match="'scale' needs rows that vary"):
        Gaussian("scale").resolve(rows)


@every_kernel
def test_equal_rows(cls, field, scale, median):
    rows = np.tile(np.random.default_rng(5).normal(size=(1, 9)), (50, 1))
    with pytest.raises(ValueError, match="'median' needs rows that differ"):
        cls(**{field: "median"}).resolve(rows, 0)
    with pytest.raises(ValueError, match="'median' needs rows that differ"):
        cls(**{field: "median"}).resolve(rows[:1], 0)


def test_mostly_duplicates():
    """If more than half of the distances are 0, the others determine the scale."""
    point, *others = np.random.default_rng(6).normal(size=(4, 9))
    rows = np.vstack([np.tile(point, (40, 1)), others])
    distances = pdist(rows, "sqeuclidean")
    assert np.median(distances) == 0.0
    expected = 0.5 / np.median(distances[distances > 0])
    for form in (np.asarray, sp.csr_array):
        assert Gaussian("median").resolve(form(rows), 0).gamma == pytest.approx(expected, rel=1e-12)


def test_bad_rows():
    for bad in ([[np.nan, 1.0]], [[np.inf, 1.0]], [1.0, 2.0], np.empty((0, 3))):
        with pytest.raises(ValueError, match=r"NaN|infinity|2D array|0 sample"):
            Gaussian("scale").resolve(bad)


@pytest.mark.parametrize("size", [1e154, 1e160, 1e300])
@pytest.mark.parametrize("rule", ["scale", "median"])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_rows_too_large_for_a_rule_are_refused(size, rule, convert):
    X = convert(np.random.default_rng(0).normal(size=(20, 3)) * size)
    with pytest.raises(ValueError, match=f"'{rule}' needs rows whose squared distances are below .* scale the rows"):
        Gaussian(rule).resolve(as_rows(X, Stream(0)))


def test_one_row_that_is_too_large_leaves_the_median():
    rows = np.random.default_rng(0).normal(size=(40, 3))
    expected = Gaussian("median").resolve(rows, 0).gamma
    rows[3] = 1e200
    assert Gaussian("median").resolve(rows, 0).gamma == pytest.approx(expected, rel=0.2)
