"""Products with a packed matrix, and Fourier features of them, on every instruction set of this machine."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import _core

from .test_core import DTYPES
from .test_core_fourier import expected_waves

# Rows in groups of 14 and of 6, tiles of about 140; numbers of a row in parts of 256; columns in blocks of 256.
SHAPES = [
    (1, 1, 1),
    (3, 5, 33),
    (7, 256, 64),
    (15, 257, 255),
    (141, 20, 257),
    (288, 700, 40),
    (8, 3, 600),
    (10, 30, 50),
]


def rows_and_matrix(rows, n, columns, dtype):
    rng = np.random.default_rng([rows, n, columns])
    return rng.normal(size=(rows, n)).astype(dtype), rng.normal(size=(n, columns))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("rows", "n", "columns"), SHAPES)
def test_products(isa, rows, n, columns, dtype):
    X, matrix = rows_and_matrix(rows, n, columns, dtype)
    out = np.full((rows, columns), np.nan, dtype=dtype)
    assert _core.product(X, _core.panels(matrix, dtype), out) is None
    wide, rounded = X.astype(np.float64), matrix.astype(dtype).astype(np.float64)
    bound = n * np.finfo(dtype).eps * (np.abs(wide) @ np.abs(rounded))
    assert (np.abs(out - wide @ rounded) <= bound).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_matrix_by_columns_less_an_origin(isa, dtype):
    X, matrix = rows_and_matrix(9, 21, 70, dtype)
    origin, out, expected = matrix[:, 3].copy(), *np.empty((2, 9, 70), dtype=dtype)
    _core.product(X, _core.panels(np.asfortranarray(matrix), dtype, origin), out)
    _core.product(X, _core.panels(matrix - origin[:, None], dtype), expected)
    np.testing.assert_array_equal(out, expected)
    assert not out[:, 3].any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_row_of_a_product_does_not_depend_on_cuts(isa, dtype):
    X, matrix = rows_and_matrix(250, 300, 290, dtype)
    panels, whole = _core.panels(matrix, dtype), np.empty((250, 290), dtype=dtype)
    _core.product(X, panels, whole)
    for first, last in ((0, 1), (1, 4), (4, 14), (13, 127), (128, 250)):
        out = np.empty((last - first, 290), dtype=dtype)
        _core.product(X[first:last], panels, out)
        np.testing.assert_array_equal(out, whole[first:last])
    narrow = np.empty((250, 100), dtype=dtype)
    _core.product(X, _core.panels(np.ascontiguousarray(matrix[:, 100:200]), dtype), narrow)
    np.testing.assert_array_equal(narrow, whole[:, 100:200])


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_first_row_of_a_product_that_overflows(isa, dtype):
    X, matrix = rows_and_matrix(40, 10, 300, dtype)
    X[[17, 31]] = np.finfo(dtype).max
    X[23, 3] = np.nan
    matrix[:, :299] = 0.0
    matrix[:, 299] = 2.0
    for first, found in ((0, 17), (18, 5), (24, 7), (32, None)):
        out = np.empty((40 - first, 300), dtype=dtype)
        assert _core.product(X[first:], _core.panels(matrix, dtype), out) == found


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [1, 2, 31, 256, 300])
def test_waves_of_products(isa, count, dtype):
    X, matrix = rows_and_matrix(31, 50, count, dtype)
    panels, phases = _core.panels(matrix, dtype), np.empty((31, count), dtype=dtype)
    _core.product(X, panels, phases)
    for width in sorted({count, count + 1, (3 * count + 1) // 2, 2 * count - 1, 2 * count}):
        singles = 2 * count - width
        if singles < 0:
            continue
        for period in {1, max(1, singles)}:
            offset = np.linspace(0.1, 6.2, period).astype(dtype)
            out, same = (np.full((31, width), np.nan, dtype=dtype) for _ in range(2))
            longest = _core.matrix_waves(_core.RowParts(X), panels, offset, 0.7, out)
            np.testing.assert_array_equal(longest, _core.waves(phases, offset, 0.7, same))
            np.testing.assert_array_equal(out, same)
            assert np.abs(out - expected_waves(phases, offset, 0.7, width)).max() <= 1.5 * np.finfo(dtype).eps


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("count", [1, 17, 33, 256, 300, 700])
def test_waves_of_products_of_sparse_rows(isa, count, index, dtype):
    dense, matrix = rows_and_matrix(150, 50, count, dtype)
    dense *= np.random.default_rng(1).random(size=dense.shape) < 0.2
    dense[[0, 70, 149]] = 0.0
    sparse = sp.csr_array(dense)
    parts = _core.RowParts(sparse.data, sparse.indices.astype(index), sparse.indptr.astype(np.int64), 50)
    panels, offset = _core.panels(matrix, dtype), np.full(1, 0.3, dtype=dtype)
    out, same = (np.full((150, 2 * count - 1), np.nan, dtype=dtype) for _ in range(2))
    longest = _core.matrix_waves(parts, panels, offset, 0.7, out)
    expected = _core.matrix_waves(_core.RowParts(dense), panels, offset, 0.7, same)
    np.testing.assert_allclose(longest, expected, rtol=20 * np.finfo(dtype).eps)
    np.testing.assert_allclose(out, same, atol=200 * np.finfo(dtype).eps)
    part = parts._replace(starts=parts.starts[61:65])
    _core.matrix_waves(part, panels, offset, 0.7, same[:3])
    np.testing.assert_array_equal(same[:3], out[61:64])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("wrong", [np.nan, np.inf, np.finfo(np.float64).max])
def test_a_product_that_is_not_a_number_shows_in_the_longest(isa, dtype, wrong):
    X, matrix = np.ones((40, 7), dtype=dtype), np.ones((7, 600))
    with np.errstate(over="ignore"):
        X[20, 3] = wrong
    matrix[:, :300] = 0.0  # infinity times 0 is none, and must not be forgotten when numbers come after it
    longest = _core.matrix_waves(
        _core.RowParts(X), _core.panels(matrix, dtype), np.zeros(1, dtype=dtype), 1.0, np.empty((40, 1200), dtype=dtype)
    )
    np.testing.assert_array_equal(longest <= 32.0, np.arange(40) != 20)


def test_what_products_refuse(isa):
    panels = _core.panels(np.ones((4, 5)), np.float32)
    with pytest.raises(ValueError, match=r"X must have shape \(3, 4\), got \(3, 5\)"):
        _core.product(np.ones((3, 5), dtype=np.float32), panels, np.empty((3, 5), dtype=np.float32))
    with pytest.raises(TypeError, match="the panels must be float64, got float32"):
        _core.product(np.ones((3, 4)), panels, np.empty((3, 5)))
    with pytest.raises(ValueError, match=r"out must have shape \(3, 5\)"):
        _core.product(np.ones((3, 4), dtype=np.float32), panels, np.empty((3, 6), dtype=np.float32))
    offset, out = np.zeros(1, dtype=np.float32), np.empty((3, 11), dtype=np.float32)
    with pytest.raises(ValueError, match="5 phases make from 5 to 10 features, got 11"):
        _core.matrix_waves(_core.RowParts(np.ones((3, 4), dtype=np.float32)), panels, offset, 1.0, out)
    with pytest.raises(ValueError, match="must have at least one row"):
        _core.panels(np.ones((0, 5)), np.float32)
