"""Compiled sketches against their definition, on every instruction set of this machine."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import hadamard as hadamard_matrix

from mercer import _core
from mercer._array import row_parts
from mercer._random import Stream
from mercer.maps.complex_sketch import apply_srht, draw_srht, native_srht

from .test_core import DTYPES, compiled


def hashes(degree, columns, size, dtype, seed=0):
    rng = np.random.default_rng(seed)
    places = rng.integers(0, 2 * size, size=(degree, columns + 1)).astype(np.int32)
    return places, rng.choice([-1.0, 1.0], size=places.shape).astype(dtype)


def expected(X, places, signs, constant, scale, width):
    """Bucket by bucket, in float64."""
    size = 1 << ((width + 1) // 2 - 1).bit_length()
    rows, product = np.column_stack([X, np.full(len(X), constant)]).astype(np.float64), 1.0
    for place, sign in zip(places, signs.astype(np.float64), strict=True):
        buckets = np.zeros((len(X), 2 * size))
        for j, bucket in enumerate(place):
            buckets[:, bucket] += sign[j] * rows[:, j]
        turned = buckets.reshape(-1, 2, size) @ hadamard_matrix(size)
        product = product * (turned[:, 0] + 1j * turned[:, 1])
    kept = product[:, : (width + 1) // 2]
    return scale * np.stack([kept.real, kept.imag], axis=2).reshape(len(X), -1)[:, :width]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [1, 2, 7, 64, 100])
@pytest.mark.parametrize("degree", [1, 3])
def test_products_of_count_sketches(isa, degree, width, dtype):
    size = 1 << ((width + 1) // 2 - 1).bit_length()
    X = np.random.default_rng(1).normal(size=(9, 30)) * (np.random.default_rng(2).random((9, 30)) < 0.5)
    X = X.astype(dtype)
    places, signs = hashes(degree, 30, size, dtype)
    reference = expected(X, places, signs, 0.3, 0.7, width)
    forms = [X, sp.csr_array(X), sp.csr_array(X)]
    forms[2].indices, forms[2].indptr = forms[2].indices.astype(np.int64), forms[2].indptr.astype(np.int64)
    for form in forms:
        out = np.full((9, width), np.nan, dtype=dtype)
        _core.hadamard_sketch(row_parts(form), places, signs, 0.3, 0.7, out)
        tolerance = 100 * np.finfo(dtype).eps * np.abs(reference).max()
        np.testing.assert_allclose(out, reference, atol=tolerance)


@compiled
def test_empty_rows_and_no_rows():
    places, signs = hashes(2, 4, 8, np.float64)
    out = np.full((3, 16), np.nan)
    _core.hadamard_sketch(row_parts(sp.csr_array((3, 4))), places, signs, 0.0, 1.0, out)
    np.testing.assert_array_equal(out, 0.0)
    _core.hadamard_sketch(row_parts(np.empty((0, 4))), places, signs, 0.0, 1.0, np.empty((0, 16)))


@compiled
def test_indices_that_lead_elsewhere_are_refused():
    places, signs = hashes(2, 4, 8, np.float64)
    out, values = np.empty((2, 16)), np.ones(2)

    def sketch(indices, starts, places=places):
        rows = _core.RowParts(values, np.array(indices), np.array(starts))
        _core.hadamard_sketch(rows, places, signs, 0.0, 1.0, out)

    for indices in ([0, 4], [-1, 0]):
        with pytest.raises(ValueError, match="indices of CSR rows must be from 0 to 3"):
            sketch(indices, [0, 1, 2])
    for starts in ([0, 1, 3], [0, 2, 1], [-1, 1, 2]):
        with pytest.raises(ValueError, match="starts of CSR rows must rise from 0 to at most 2"):
            sketch([0, 1], starts)
    with pytest.raises(ValueError, match="places must be from 0 to 15"):
        sketch([0, 1], [0, 1, 2], np.full_like(places, 16))
    with pytest.raises(TypeError, match="must be int32 or int64"):
        sketch(np.array([0, 1], dtype=np.int16), [0, 1, 2])
    with pytest.raises(ValueError, match=r"X must have shape \(2, 4\), got \(2, 5\)"):
        _core.hadamard_sketch(row_parts(np.ones((2, 5))), places, signs, 0.0, 1.0, out)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "width"), [(1, 5), (6, 16), (6, 41), (64, 128), (100, 7)])
@pytest.mark.parametrize("degree", [1, 3])
def test_products_of_transforms(isa, degree, n, width, dtype):
    X = np.random.default_rng(3).normal(size=(9, n)).astype(dtype)
    params = draw_srht(Stream(0), degree, n, width)
    reference = 0.7 * apply_srht(params, X.astype(np.float64), width)
    wide = np.full((9, width + 5), np.nan, dtype=dtype)
    assert native_srht(params, dtype)(X, wide[:, 2:-3], 0.7) is None
    np.testing.assert_allclose(wide[:, 2:-3], reference, atol=100 * np.finfo(dtype).eps * np.abs(reference).max())
    assert np.isnan(wide[:, [0, 1, -3, -2, -1]]).all()  # beside its columns nothing is written


@compiled
def test_outputs_that_lead_elsewhere_are_refused():
    X, signs, outputs = np.ones((2, 4)), np.ones((1, 2, 4, 2)), np.zeros((2, 3), dtype=np.int32)
    with pytest.raises(ValueError, match="outputs must be from 0 to 3"):
        _core.srht(X, signs, outputs + 4, 1.0, np.empty((2, 6)))
    with pytest.raises(ValueError, match="3 outputs make 6 features or one less, got 7"):
        _core.srht(X, signs, outputs, 1.0, np.empty((2, 7)))
    with pytest.raises(ValueError, match="rows of neighbouring numbers"):
        _core.srht(X, signs, outputs, 1.0, np.empty((2, 12))[:, ::2])
    with pytest.raises(ValueError, match="1 blocks of 4 do not make 5"):
        _core.srht(X, signs, np.zeros((2, 5), dtype=np.int32), 1.0, np.empty((2, 10)))
