"""Compiled products of sign projections against their definition, on every instruction set of this machine."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import ComplexSketch, RandomMaclaurin, _core
from mercer._array import row_parts
from mercer.kernels import Exponential, Linear, Maclaurin, Polynomial
from mercer.maps.maclaurin_products import RandomProducts, flattened, native_random_products, random_products

from .test_core import DTYPES, compiled


class Features:
    """Random degrees, weights and signs, and the expected features."""

    def __init__(self, count, columns, dtype, parts=1, degrees=None, seed=0):
        rng = np.random.default_rng([seed, count, columns])
        degrees = rng.integers(0, 5, size=count) if degrees is None else degrees
        weights = rng.normal(size=(count, parts)).astype(dtype)
        self.products = _core.in_stretches(np.asarray(degrees, dtype=np.int32), weights, columns)
        self.signs = rng.choice(np.array([-1, 1], dtype=np.int8), size=(parts * int(np.sum(degrees)), columns))

    def packed(self, X):
        pack = _core.sparse_signs if sp.issparse(X) else _core.dense_signs
        return pack(self.products, lambda start, stop: self.signs[start:stop] < 0)

    def write(self, X, out, first=0):
        return _core.sign_products(row_parts(X), self.packed(X), self.products, out, first)

    def expected(self, X):
        """Feature by feature, in float64, and what rounding may do to each."""
        parts, ends = self.products.weights.shape[1], np.cumsum(self.products.degrees)
        factors, units = X.astype(np.float64) @ self.signs.T, np.array([1.0, 1.0j])[:parts]
        bounds = (np.abs(X.astype(np.float64)).sum(axis=1) * parts)[:, None] ** self.products.degrees
        factors, weights = factors.reshape(len(X), -1, parts) @ units, self.products.weights @ units
        spans = zip(ends - self.products.degrees, ends, strict=True)
        Z = np.stack([weight * factors[:, a:b].prod(axis=1) for weight, (a, b) in zip(weights, spans, strict=True)], 1)
        Z = np.stack([Z.real, Z.imag][:parts], axis=2).reshape(len(X), -1)
        return Z, np.repeat(bounds * np.abs(weights), parts, axis=1)


def sample(rows, columns, dtype, seed=0):
    """Rows of norms near 1 with many zeros, the second one empty."""
    rng = np.random.default_rng([seed, rows, columns])
    X = rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < 0.5) / np.sqrt(columns)
    X[1:2] = 0.0
    return X.astype(dtype)


def forms(X):
    """Dense rows, and CSR ones with either index."""
    narrow, wide = sp.csr_array(X), sp.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    return [X, narrow, wide]


SHAPES = [
    pytest.param(1, 1, 3, id="least"),
    pytest.param(5, 5, 16, id="one code"),
    pytest.param(17, 39, 33, id="one block"),
    pytest.param(33, 41, 65, id="one block and a column"),
    pytest.param(70, 80, 40, id="two blocks"),
    pytest.param(40, 123, 1300, id="several stretches"),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize(("rows", "columns", "count"), SHAPES)
def test_products_of_sign_projections(isa, rows, columns, count, parts, dtype):
    features, X = Features(count, columns, dtype, parts), sample(rows, columns, dtype)
    expected, bounds = features.expected(X)
    for width in {parts * count, parts * count - (parts - 1)}:
        for form in forms(X):
            memory = np.full((rows, 3 + width), 7.0, dtype=dtype)
            assert features.write(form, memory, first=3) is None
            tolerance = (10 + columns) * np.finfo(dtype).eps * bounds[:, :width]
            assert (np.abs(memory[:, 3:] - expected[:, :width]) <= tolerance).all()
            assert (memory[:, :3] == 7.0).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_small_integers_are_exact(isa, dtype):
    features = Features(50, 60, dtype, degrees=[1, 2] * 25)
    features.products.weights[:] = 2.0
    X = np.random.default_rng(0).integers(-3, 4, size=(40, 60)).astype(dtype)
    for form in forms(X):
        out = np.empty((40, 50), dtype=dtype)
        features.write(form, out)
        np.testing.assert_array_equal(out, features.expected(X)[0])


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_degree_beyond_a_stretch(isa, dtype):
    degrees = [1, 3001, 0, 2, 2047, 1]
    features, X = Features(6, 1, dtype, degrees=degrees), np.array([[1.0], [-1.0]], dtype=dtype)
    assert np.diff(features.products.borders).tolist() == [1, 1, 2, 2]
    for form in forms(X):
        out = np.empty((2, 6), dtype=dtype)
        features.write(form, out)
        np.testing.assert_array_equal(out, features.expected(X)[0])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("parts", [1, 2])
def test_a_row_has_the_same_bits_among_any_others(isa, parts, dtype):
    features, X = Features(70, 47, dtype, parts), sample(100, 47, dtype)
    for form in forms(X):
        whole, parts_of = np.empty((100, parts * 70), dtype=dtype), np.empty((100, parts * 70), dtype=dtype)
        features.write(form, whole)
        for start, stop in [(0, 1), (1, 20), (20, 57), (57, 100)]:
            features.write(form[start:stop], parts_of[start:stop])
        np.testing.assert_array_equal(parts_of, whole)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("parts", [1, 2])
def test_the_first_row_that_overflows_is_returned(isa, parts, dtype):
    features, X = Features(37, 12, dtype, parts, degrees=[0, 3] * 18 + [0]), sample(90, 12, dtype)
    X[[77, 41]] = np.finfo(dtype).max ** 0.4
    for form in forms(X):
        out = np.empty((90, parts * 37), dtype=dtype)
        assert features.write(form, out) == 41
        assert features.write(form[42:], out[42:]) == 35
        assert features.write(form[:41], out[:41]) is None


@compiled
def test_no_rows_and_no_features():
    features = Features(4, 7, np.float64)
    for form in forms(np.empty((0, 7))):
        assert features.write(form, np.empty((0, 4))) is None
    empty = Features(0, 7, np.float64)
    for form in forms(np.ones((3, 7))):
        assert empty.write(form, np.full((3, 2), 7.0), first=2) is None


@compiled
def test_bad_input_is_named():
    features, X = Features(4, 7, np.float64, parts=2), np.ones((3, 7))
    for width in (6, 9):
        with pytest.raises(ValueError, match=f"4 features of 2 columns each do not fill {width}"):
            features.write(X, np.empty((3, width)))
    with pytest.raises(ValueError, match="do not fill 9"):
        features.write(X, np.empty((3, 8)), first=-1)
    with pytest.raises(ValueError, match=r"X must have shape \(3, 7\), got \(3, 8\)"):
        features.write(np.ones((3, 8)), np.empty((3, 8)))
    with pytest.raises(TypeError, match="weights must be float32, got float64"):
        features.write(X.astype(np.float32), np.empty((3, 8), dtype=np.float32))
    with pytest.raises(ValueError, match="signs must have shape"):
        _core.sign_products(row_parts(X), features.packed(X)[:, :-1], features.products, np.empty((3, 8)))
    with pytest.raises(TypeError, match="signs must be uint64, got uint8"):
        _core.sign_products(row_parts(sp.csr_array(X)), features.packed(X), features.products, np.empty((3, 8)))
    rows = _core.RowParts(np.ones(2), np.array([0, 7]), np.array([0, 1, 1, 2]))
    with pytest.raises(ValueError, match="indices of CSR rows must be from 0 to 6"):
        _core.sign_products(rows, features.packed(sp.csr_array(X)), features.products, np.empty((3, 8)))
    for degrees, weights in (([1, -1], np.ones((2, 1))), ([1, 1], np.ones((2, 3))), ([1, 1], np.ones((3, 1)))):
        with pytest.raises(ValueError, match="degrees of no less than 0 need 1 or 2 weights each"):
            _core.in_stretches(np.array(degrees, dtype=np.int32), weights, 3)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2, gamma=0.7), Polynomial(3, gamma=0.7, coef0=0.4)])
@pytest.mark.parametrize("width", [1, 33, 64])
def test_complex_signs_are_two_real_ones(isa, width, kernel):
    X = sample(40, 9, np.float64)
    sketch = ComplexSketch(2.0 * kernel, n_components=width, projection="rademacher", random_state=0).fit(X)
    for form in forms(X):
        out = np.empty((40, width))
        sketch.fitted_.native(np.float64)(form, out)
        expected = sketch.fitted_.apply(form)
        np.testing.assert_allclose(out, expected, rtol=0, atol=1e-13 * np.abs(expected).max())


@compiled
def test_products_of_products_are_products():
    X, kernel = sample(40, 9, np.float64), Polynomial(3, coef0=0.5).of(Exponential().of(Polynomial(2, coef0=0.3)))
    params = RandomMaclaurin(kernel, n_components=200, random_state=0).fit(X).parameters_.random
    flat = flattened(params)
    assert isinstance(params.factors.factors, RandomProducts)
    assert not isinstance(flat.factors, RandomProducts)
    np.testing.assert_allclose(random_products(flat, X), random_products(params, X), rtol=1e-12, atol=1e-15)


@compiled
def test_weights_that_only_their_product_loses_are_left_to_the_reference():
    signs = np.ones((4, 1), dtype=np.int8)
    inner = RandomProducts(np.full(2, 1e-30), np.full(2, 2, dtype=np.int32), signs)
    params = RandomProducts(np.ones(1), np.array([2], dtype=np.int32), inner)
    assert native_random_products(params, 1.0, np.float32) is None
    assert native_random_products(params, 1.0, np.float64) is not None
    assert native_random_products(inner, 1.0, np.float32) is not None


def test_an_exact_feature_that_overflows_is_returned():
    X = sample(60, 4, np.float32)
    sketch = RandomMaclaurin(Maclaurin((0.0, 1e60, 1e-30)), n_components=20, exact_terms=True, random_state=0).fit(X)
    assert sketch.exact_degrees_ == (1,)
    X[[30, 50], 2] = 1e10
    for form in forms(X):
        with pytest.raises(ValueError, match="the features of row 30 overflow"):
            sketch.transform(form)


@pytest.mark.parametrize("exact_terms", [False, True])
def test_wide_features_of_every_kind_of_rows(exact_terms):
    X = sample(300, 50, np.float64)
    sketch = RandomMaclaurin(Exponential(), n_components=3000, exact_terms=exact_terms, random_state=0).fit(X)
    expected = sketch.fitted_.apply(X)
    for form in forms(X):
        np.testing.assert_allclose(sketch.transform(form), expected, rtol=0, atol=1e-13 * np.abs(expected).max())
        single = form.astype(np.float32)
        reference = sketch.fitted_.on(single).apply(single)
        np.testing.assert_allclose(sketch.transform(single), reference, rtol=0, atol=1e-5 * np.abs(reference).max())
