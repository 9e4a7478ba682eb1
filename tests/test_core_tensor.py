"""Compiled tensor sketches against NumPy's transforms, on every instruction set of this machine."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import _core
from mercer._array import row_parts

from .test_core import DTYPES, compiled

WIDTHS = [2, 4, 6, 10, 16, 18, 32, 50, 120, 128, 1000, 2048]
"""Halves 1 to 1024: none, one and several passes, all radices, and parts that do not fit the first level of cache."""


def hashes(degree, columns, width, dtype, seed=0):
    rng = np.random.default_rng(seed)
    places = rng.integers(0, width, size=(degree, columns + 1)).astype(np.int32)
    return places, rng.normal(size=places.shape).astype(dtype)


def expected(factors, places, signs, constants, width, in_time):
    """Bucket by bucket, in float64."""
    spectrum = 1.0
    for X, place, sign, constant in zip(factors, places, signs.astype(np.float64), constants, strict=True):
        rows = np.column_stack([X, np.full(len(X), constant)]).astype(np.float64)
        sketch = np.zeros((len(X), width))
        for j, column in enumerate(rows.T):
            sketch[:, place[j]] += sign[j] * column
        spectrum = spectrum * np.fft.fft(sketch, axis=1)
    if in_time:
        return np.fft.ifft(spectrum, axis=1).real
    half = spectrum[:, 1 : width // 2]
    middle = np.stack([half.real, half.imag], axis=2).reshape(len(spectrum), -1)
    return np.column_stack([spectrum[:, 0].real / np.sqrt(2), middle, spectrum[:, width // 2].real / np.sqrt(2)])


def sketch(factors, places, signs, constants, width, in_time, scale=1.0):
    out = np.full((factors[0].shape[0], width), np.nan, dtype=signs.dtype)
    parts = [row_parts(X) for X in factors]
    overflow = _core.tensor_sketch(
        parts, places, signs, constants, _core.spectrum(width, signs.dtype), in_time, scale, out
    )
    return out, overflow


def close(found, reference, dtype):
    np.testing.assert_allclose(found, reference, atol=30 * np.finfo(dtype).eps * np.abs(reference).max())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("in_time", [False, True])
def test_products_of_spectra(isa, in_time, width, dtype):
    rng = np.random.default_rng(1)
    X = (rng.normal(size=(21, 37)) * (rng.random((21, 37)) < 0.5)).astype(dtype)
    for degree in (1, 3):
        places, signs = hashes(degree, 37, width, dtype)
        constants = [0.3] * degree
        reference = 0.7 * expected([X] * degree, places, signs, constants, width, in_time)
        forms = [X, sp.csr_array(X), sp.csr_array(X)]
        forms[2].indices, forms[2].indptr = forms[2].indices.astype(np.int64), forms[2].indptr.astype(np.int64)
        for form in forms:
            found, overflow = sketch([form] * degree, places, signs, constants, width, in_time, 0.7)
            close(found, reference, dtype)
            assert overflow is None


@pytest.mark.parametrize("dtype", DTYPES)
def test_factors_of_different_widths(isa, dtype):
    rng = np.random.default_rng(2)
    wide, narrow = rng.normal(size=(5, 40)).astype(dtype), rng.normal(size=(5, 7)).astype(dtype)
    places, signs = hashes(2, 40, 24, dtype)
    for right in (narrow, sp.csr_array(narrow)):
        found, _ = sketch([wide, right], places, signs, [0.0, 0.5], 24, True)
        close(found, expected([wide, narrow], places, signs, [0.0, 0.5], 24, True), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_row_does_not_depend_on_the_others(isa, dtype):
    X = np.random.default_rng(3).normal(size=(40, 11)).astype(dtype)
    places, signs = hashes(2, 11, 40, dtype)
    whole, _ = sketch([X, X], places, signs, [0.0, 0.0], 40, False)
    for part in (slice(0, 1), slice(3, 8), slice(16, 40)):
        np.testing.assert_array_equal(sketch([X[part]] * 2, places, signs, [0.0, 0.0], 40, False)[0], whole[part])
        sparse = sp.csr_array(X[part])
        np.testing.assert_array_equal(sketch([sparse] * 2, places, signs, [0.0, 0.0], 40, False)[0], whole[part])


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_first_row_that_overflows_is_returned(isa, dtype):
    X = np.ones((40, 3), dtype=dtype)
    X[[19, 33]] = np.finfo(dtype).max / 4
    places, signs = hashes(2, 3, 16, dtype)
    assert sketch([X, X], places, signs, [0.0, 0.0], 16, False)[1] == 19
    assert sketch([X[20:33]] * 2, places, signs, [0.0, 0.0], 16, True)[1] is None


@compiled
def test_widths_without_tables():
    for width in (0, 1, 7, 14, 22, 2 * 49):
        assert _core.spectrum(width, np.dtype(np.float64)) is None


@compiled
def test_no_rows():
    places, signs = hashes(2, 4, 8, np.float64)
    assert sketch([np.empty((0, 4))] * 2, places, signs, [0.0, 0.0], 8, False)[0].shape == (0, 8)


@compiled
def test_hashes_outside_an_array_are_refused():
    places, signs = hashes(2, 4, 8, np.float64)
    X = np.ones((2, 4))
    with pytest.raises(ValueError, match="places must be from 0 to 7"):
        sketch([X, X], places + 8, signs, [0.0, 0.0], 8, False)
    with pytest.raises(ValueError, match="X must have fewer columns than there are hashes, 5, got 5"):
        sketch([X, np.ones((2, 5))], places, signs, [0.0, 0.0], 8, False)
    with pytest.raises(ValueError, match="expected 2 factors and tables for width 8, got 1, 8"):
        sketch([X], places, signs, [0.0], 8, False)
    with pytest.raises(ValueError, match=r"X must have shape \(2, 4\), got \(3, 4\)"):
        sketch([X, np.ones((3, 4))], places, signs, [0.0, 0.0], 8, False)
    with pytest.raises(TypeError, match="X must be float64 like the signs, got float32"):
        sketch([X, sp.csr_array(X.astype(np.float32))], places, signs, [0.0, 0.0], 8, False)
    rows, tables = _core.RowParts(np.ones(2), np.array([0, 4]), np.array([0, 1, 2]), 4), _core.spectrum(8, signs.dtype)
    with pytest.raises(ValueError, match="indices of CSR rows must be from 0 to 3"):
        _core.tensor_sketch([rows, rows], places, signs, [0.0, 0.0], tables, False, 1.0, np.empty((2, 8)))
