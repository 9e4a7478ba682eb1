"""Products of features with few columns, on every instruction set of this machine."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import _core
from mercer.learn import feature_matrix

from .test_core import DTYPES

# Rows in pairs and in groups of 8, columns in groups of 12 and of 4, numbers in registers of 16, 8, 4 and 2.
SHAPES = [(1, 1, 1), (2, 16, 2), (3, 5, 3), (9, 64, 10), (17, 33, 13), (40, 130, 25), (0, 8, 3)]


def parts(rows, n, columns, dtype):
    rng = np.random.default_rng([rows, n, columns])
    return (rng.normal(size=shape).astype(dtype) for shape in ((rows, n), (columns, n), (rows, columns), (columns, n)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("rows", "n", "columns"), SHAPES)
def test_products_with_few_columns(isa, rows, n, columns, dtype):
    Z, W, R, sums = parts(rows, n, columns, dtype)
    out, wide = np.full((rows, columns), np.nan, dtype=dtype), Z.astype(np.float64)
    _core.few_columns(Z, W, out)
    eps = (n + rows + 2) * np.finfo(dtype).eps
    assert (np.abs(out - wide @ W.T) <= eps * (np.abs(wide) @ np.abs(W.T))).all()
    expected, bound = sums + R.T.astype(np.float64) @ Z, np.abs(sums) + np.abs(R.T) @ np.abs(wide)
    _core.add_transposed(Z, R, sums)
    assert (np.abs(sums - expected) <= eps * bound).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_products_do_not_depend_on_where_rows_are_cut(isa, dtype):
    Z, W, R, sums = parts(50, 70, 10, dtype)
    whole, out, again = np.empty((50, 10), dtype=dtype), np.empty((50, 10), dtype=dtype), sums.copy()
    _core.few_columns(Z, W, whole)
    _core.add_transposed(Z, R, sums)
    for first, last in ((0, 7), (7, 24), (24, 25), (25, 50)):
        _core.few_columns(Z[first:last], W, out[first:last])
        _core.add_transposed(Z[first:last], R[first:last], again)
    np.testing.assert_array_equal(out, whole)
    np.testing.assert_array_equal(again, sums)


def test_shapes_that_do_not_belong_together(isa):
    Z, W, R, sums = parts(4, 6, 3, np.float32)
    with pytest.raises(ValueError, match=r"columns must have shape \(3, 6\), got \(3, 5\)"):
        _core.few_columns(Z, np.ascontiguousarray(W[:, :5]), np.empty((4, 3), dtype=np.float32))
    with pytest.raises(ValueError, match=r"weights must have shape \(4, 3\), got \(3, 3\)"):
        _core.add_transposed(Z, np.ascontiguousarray(R[:3]), sums)
    with pytest.raises(TypeError, match="sums must be float32, got float64"):
        _core.add_transposed(Z, R, sums.astype(np.float64))


@pytest.mark.parametrize("columns", [3, feature_matrix.FEW_COLUMNS + 1])
def test_what_designs_use_is_the_same_without_the_library(monkeypatch, columns):
    Z, W, R, sums = parts(30, 40, columns, np.float64)
    again, here = sums.copy(), feature_matrix.times(Z, W)
    feature_matrix.add_to(sums, Z, R)
    monkeypatch.setattr(_core, "AVAILABLE", False)
    feature_matrix.add_to(again, Z, R)
    np.testing.assert_allclose(here, feature_matrix.times(Z, W), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(sums, again, rtol=1e-11, atol=1e-12)
