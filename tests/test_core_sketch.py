"""Compiled sketches against their definition, on every instruction set of this machine."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import hadamard as hadamard_matrix

from mercer import _core
from mercer._array import row_parts
from mercer._random import Stream
from mercer.maps.complex_sketch import apply_srht, draw_srht, srht_tables

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
def test_indices_outside_an_array_are_refused():
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
@pytest.mark.parametrize(("n", "width"), [(1, 5), (2, 35), (6, 16), (6, 41), (64, 128), (100, 7), (300, 1100)])
@pytest.mark.parametrize("degree", [1, 3])
def test_products_of_transforms(isa, degree, n, width, dtype):
    X = np.random.default_rng(3).normal(size=(9, n)).astype(dtype)
    params = draw_srht(Stream(0), degree, n, width)
    tables, scale = srht_tables(params, dtype), np.sqrt(2.0 / width)
    reference = apply_srht(params, X.astype(np.float64), width)
    tolerance = 100 * np.finfo(dtype).eps * np.abs(reference).max()
    for rows in (1, 4, 9):
        out = np.full((rows, width), np.nan, dtype=dtype)
        assert _core.srht(X[:rows], tables, scale, out) is None
        np.testing.assert_allclose(out, reference[:rows], atol=tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_constant_entry_and_columns_of_a_wider_array(isa, dtype):
    X, width = np.random.default_rng(4).normal(size=(7, 15)).astype(dtype), 37
    params, scales = draw_srht(Stream(1), 2, 16, width), np.linspace(-1.0, 2.0, 7).astype(dtype)
    lifted = np.column_stack([0.5 * X.astype(np.float64), np.full(7, 0.3)])
    reference = apply_srht(params, lifted, width) * scales[:, None]
    wide = np.full((7, width + 5), 9.0, dtype=dtype)
    tables = srht_tables(params, dtype, 15, 0.5)
    _core.srht(X, tables, np.sqrt(2.0 / width), wide[:, 2:-3], 0.3, scales)
    np.testing.assert_allclose(wide[:, 2:-3], reference, atol=100 * np.finfo(dtype).eps * np.abs(reference).max())
    np.testing.assert_array_equal(np.delete(wide, np.s_[2:-3], axis=1), 9.0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_row_does_not_depend_on_those_next_to_it(isa, dtype):
    X = np.random.default_rng(5).normal(size=(11, 40)).astype(dtype)
    places, signs = hashes(3, 40, 32, dtype)
    tables = srht_tables(draw_srht(Stream(2), 3, 40, 70), dtype)

    def features(rows):
        sketch, srht = np.empty((len(rows), 64), dtype=dtype), np.empty((len(rows), 70), dtype=dtype)
        _core.hadamard_sketch(row_parts(rows), places, signs, 0.3, 0.7, sketch)
        _core.srht(rows, tables, 0.7, srht)
        return np.hstack([sketch, srht])

    whole = features(X)
    for cut in (1, 2, 3, 6):
        np.testing.assert_array_equal(np.vstack([features(X[:cut]), features(X[cut:])]), whole)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1e30])
def test_the_first_row_that_overflows_is_returned(isa, wrong):
    X = np.ones((9, 12), dtype=np.float32)
    X[6, 3] = X[7, 0] = wrong
    places, signs = hashes(2, 12, 16, np.float32)
    assert _core.hadamard_sketch(row_parts(X), places, signs, 0.0, 1.0, np.empty((9, 31), dtype=np.float32)) == 6
    tables = srht_tables(draw_srht(Stream(0), 2, 12, 31), np.float32)
    assert _core.srht(X, tables, 1.0, np.empty((9, 31), dtype=np.float32)) == 6


@compiled
def test_outputs_outside_an_array_are_refused():
    X, signs, outputs = np.ones((2, 4)), np.ones((1, 2, 4)), np.zeros((2, 3), dtype=np.int32)
    with pytest.raises(ValueError, match="outputs must be from 0 to 3"):
        _core.srht_tables(signs, signs, outputs + 4, np.float64)
    with pytest.raises(ValueError, match="1 blocks of 4 do not make 5"):
        _core.srht_tables(signs, signs, np.zeros((2, 5), dtype=np.int32), np.float64)
    tables = _core.srht_tables(signs, signs, outputs, np.float64)
    with pytest.raises(ValueError, match="3 outputs make 6 features or one less, got 7"):
        _core.srht(X, tables, 1.0, np.empty((2, 7)))
    with pytest.raises(ValueError, match="X must have 3 columns, got 4"):
        _core.srht(X, tables, 1.0, np.empty((2, 6)), 0.5)
    with pytest.raises(TypeError, match="signs must be float32, got float64"):
        _core.srht(X.astype(np.float32), tables, 1.0, np.empty((2, 6), dtype=np.float32))
    with pytest.raises(ValueError, match="out must have 2 rows, got 3"):
        _core.srht(X, tables, 1.0, np.empty((3, 6)))
    with pytest.raises(ValueError, match="out must be columns of a C-contiguous array"):
        _core.srht(X, tables, 1.0, np.empty((2, 12))[:, ::2])
    with pytest.raises(TypeError, match="out must be float64, got float32"):
        _core.srht(X, tables, 1.0, np.empty((2, 6), dtype=np.float32))
    frozen = np.empty((2, 6))
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="out is written to but is read-only"):
        _core.srht(X, tables, 1.0, frozen)
    with pytest.raises(ValueError, match=r"scales must have shape \(2,\), got \(3,\)"):
        _core.srht(X, tables, 1.0, np.empty((2, 6)), 0.0, np.ones(3))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "width"), [(1, 1), (3, 7), (16, 5), (100, 40), (700, 333)])
def test_outputs_of_one_transform(isa, n, width, dtype):
    rng, size = np.random.default_rng(6), 1 << (max(n, width) - 1).bit_length()
    X, signs = rng.normal(size=(5, n)).astype(dtype), rng.choice([-1.0, 1.0], size=n).astype(dtype)
    outputs = rng.permutation(size)[:width].astype(np.int32)
    padded = np.pad(X.astype(np.float64) * signs, ((0, 0), (0, size - n)))
    expected = 0.7 * (padded @ hadamard_matrix(size))[:, outputs]
    out = np.full((5, width), np.nan, dtype=dtype)
    assert _core.craft(X, signs, outputs, 0.7, out) is None
    np.testing.assert_allclose(out, expected, atol=100 * np.finfo(dtype).eps * np.abs(expected).max())
    X[3:, 0] = np.inf
    assert _core.craft(X, signs, outputs, 0.7, out) == 3


@compiled
def test_a_projection_outside_an_array_is_refused():
    X, signs, outputs = np.ones((2, 5)), np.ones(5), np.arange(3, dtype=np.int32)
    with pytest.raises(ValueError, match="outputs must be from 0 to 7"):
        _core.craft(X, signs, outputs + 6, 1.0, np.empty((2, 3)))
    with pytest.raises(ValueError, match=r"signs must have shape \(5,\), got \(4,\)"):
        _core.craft(X, signs[:4], outputs, 1.0, np.empty((2, 3)))
    with pytest.raises(ValueError, match=r"out must have shape \(2, 3\), got \(2, 4\)"):
        _core.craft(X, signs, outputs, 1.0, np.empty((2, 4)))
