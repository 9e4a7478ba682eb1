"""Products of features with few columns, on every instruction set of this machine."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from mercer import _core
from mercer.learn.features.chosen_rows import FEW_COLUMNS, ChosenRows

from .test_core import DTYPES

# Rows in pairs, in fours and in tiles of 16, columns in groups of 12 and of 4, numbers in registers of 16, 8, 4 and 2.
SHAPES = [(1, 1, 1), (2, 16, 2), (3, 5, 3), (9, 64, 10), (17, 33, 13), (40, 130, 25), (0, 8, 3)]


class Parts(NamedTuple):
    """Rows, and the factors by which they are multiplied."""

    Z: Any
    rows: Any
    columns: Any
    weights: Any
    offsets: Any
    sums: Any


def parts(rows, n, columns, dtype):
    """Every second row of an array, and adjacent columns of it; two weights of three are 0."""
    rng = np.random.default_rng([rows, n, columns])

    def draw(*shape):
        return rng.normal(size=shape).astype(dtype)

    weights = draw(rows, columns) * (rng.integers(3, size=(rows, columns)) == 0)
    Z = draw(2 * rows + 1, n + 3)[:, 1 : n + 1]
    return Parts(Z, 1 + 2 * np.arange(rows), draw(columns, n), weights, draw(columns), draw(columns, n))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("rows", "n", "columns"), SHAPES)
def test_products_with_few_columns(isa, rows, n, columns, dtype):
    Z, numbers, W, R, _, sums = parts(rows, n, columns, dtype)
    out, wide = np.full((rows, columns), np.nan, dtype=dtype), Z[numbers].astype(np.float64)
    _core.few_columns(Z, numbers, W, out)
    eps = (n + rows + 2) * np.finfo(dtype).eps
    assert (np.abs(out - wide @ W.T) <= eps * (np.abs(wide) @ np.abs(W.T))).all()
    expected, bound = sums + R.T.astype(np.float64) @ wide, np.abs(sums) + np.abs(R.T) @ np.abs(wide)
    _core.add_transposed(Z, numbers, R, sums)
    assert (np.abs(sums - expected) <= eps * bound).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("rows", "n", "columns"), SHAPES)
def test_products_by_curvature(isa, rows, n, columns, dtype):
    Z, numbers, W, h, offsets, sums = parts(rows, n, columns, dtype)
    wide, eps = Z[numbers].astype(np.float64), (n + rows + 3) * np.finfo(dtype).eps
    R, size = h * (wide @ W.T + offsets), np.abs(h) * (np.abs(wide) @ np.abs(W.T) + np.abs(offsets))
    expected, bound = sums + R.T @ wide, np.abs(sums) + size.T @ np.abs(wide)
    found = _core.add_curved(Z, numbers, h, W, offsets, sums)
    assert (np.abs(found - R) <= eps * size).all()
    assert (np.abs(sums - expected) <= 2 * eps * bound).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_products_do_not_depend_on_where_rows_are_cut(isa, dtype):
    Z, numbers, W, R, offsets, sums = parts(50, 70, 10, dtype)
    whole, out, again = np.empty((50, 10), dtype=dtype), np.empty((50, 10), dtype=dtype), sums.copy()
    curved, curved_again = sums.copy(), sums.copy()
    _core.few_columns(Z, numbers, W, whole)
    _core.add_transposed(Z, numbers, R, sums)
    _core.add_curved(Z, numbers, R, W, offsets, curved)
    for first, last in ((0, 7), (7, 24), (24, 25), (25, 50)):
        here = numbers[first:last]
        _core.few_columns(Z, here, W, out[first:last])
        _core.add_transposed(Z, here, R[first:last], again)
        _core.add_curved(Z, here, R[first:last], W, offsets, curved_again)
    np.testing.assert_array_equal(out, whole)
    np.testing.assert_array_equal(again, sums)
    np.testing.assert_array_equal(curved_again, curved)


def test_what_does_not_belong_together(isa):
    Z, numbers, W, R, offsets, sums = parts(4, 6, 3, np.float32)
    with pytest.raises(ValueError, match=r"columns must have shape \(3, 6\), got \(3, 5\)"):
        _core.few_columns(Z, numbers, np.ascontiguousarray(W[:, :5]), np.empty((4, 3), dtype=np.float32))
    with pytest.raises(ValueError, match=r"weights must have shape \(4, 3\), got \(3, 3\)"):
        _core.add_transposed(Z, numbers, np.ascontiguousarray(R[:3]), sums)
    with pytest.raises(TypeError, match="sums must be float32, got float64"):
        _core.add_transposed(Z, numbers, R, sums.astype(np.float64))
    with pytest.raises(ValueError, match=r"offsets must have shape \(3,\), got \(2,\)"):
        _core.add_curved(Z, numbers, R, W, offsets[:2], sums)
    with pytest.raises(ValueError, match="rows must be from 0 to 8, got 3 to 9"):
        _core.add_transposed(Z, numbers + 2, R, sums)
    with pytest.raises(ValueError, match="Z must be columns of a C-contiguous array"):
        _core.add_transposed(np.asfortranarray(Z), numbers, R, sums)


@pytest.mark.parametrize("columns", [3, FEW_COLUMNS + 1])
@pytest.mark.parametrize("step", [1, 2])
def test_the_same_without_the_library(monkeypatch, columns, step):
    Z, numbers, W, R, offsets, sums = parts(30, 40, columns, np.float64)
    chosen = ChosenRows(Z, numbers // 2 * step)
    again, curved, curved_again = sums.copy(), sums.copy(), sums.copy()
    here = chosen.times(W)
    chosen.add_to(sums, R)
    weights = chosen.add_curved(curved, R, W, offsets)
    monkeypatch.setattr(_core, "AVAILABLE", False)
    chosen.add_to(again, R)
    np.testing.assert_allclose(chosen.values(), Z[chosen.numbers])
    np.testing.assert_allclose(here, chosen.times(W), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(sums, again, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(weights, chosen.add_curved(curved_again, R, W, offsets), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(curved, curved_again, rtol=1e-11, atol=1e-12)


# -- rows of 16-bit integers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("rows", "n", "columns"), SHAPES)
def test_integers_are_multiplied_as_the_numbers_that_they_are(isa, rows, n, columns, dtype):
    _, numbers, W, h, offsets, sums = parts(rows, n, columns, dtype)
    rng = np.random.default_rng(7)
    whole = rng.integers(2**16, size=(2 * rows + 1, n + 3), dtype=np.uint16)
    Z, plain = whole[:, 1 : n + 1], np.ascontiguousarray(whole[:, 1 : n + 1]).astype(dtype)
    found, expected = (np.empty((rows, columns), dtype=dtype) for _ in range(2))
    _core.few_columns(Z, numbers, W, found)
    _core.few_columns(plain, numbers, W, expected)
    close = {"rtol": 0.0, "atol": (n + rows) * np.finfo(dtype).eps * 2.0**18 * n}
    np.testing.assert_allclose(found, expected, **close)
    added, again = sums.copy(), sums.copy()
    _core.add_transposed(Z, numbers, h, added)
    _core.add_transposed(plain, numbers, h, again)
    np.testing.assert_allclose(added, again, **close)
    weights = _core.add_curved(Z, numbers, h, W, offsets, found := np.zeros_like(sums))
    np.testing.assert_allclose(
        weights, _core.add_curved(plain, numbers, h, W, offsets, expected := np.zeros_like(sums)), **close
    )
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=close["atol"] * 2.0**18 * rows)


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_are_rounded_to_integers(isa, dtype):
    values = np.random.default_rng(3).random((5, 37)).astype(dtype)
    values[0, :4] = 0.0, 1.0, 1.00002, -0.1
    whole = np.full((5, 40), 7, dtype=np.uint16)
    _core.to_fixed(values, 65535.0, whole[:, 2:39])
    np.testing.assert_array_equal(whole[0, 2:6], [0, 65535, 65535, 0])
    assert (whole[:, [0, 1, 39]] == 7).all()
    inside = np.clip(values, 0.0, 1.0)
    assert (np.abs(whole[:, 2:39] / 65535.0 - inside) <= 0.5 / 65535.0 + np.finfo(dtype).eps).all()


def test_integers_have_a_unit(monkeypatch):
    _, numbers, W, h, offsets, sums = parts(30, 40, 3, np.float32)
    stored = np.random.default_rng(1).integers(2**16, size=(61, 40), dtype=np.uint16)
    fixed = ChosenRows(stored, numbers, 2.0 / 65535.0)
    plain = ChosenRows(stored.astype(np.float64) * (2.0 / 65535.0), numbers)
    for available in (_core.AVAILABLE, False):
        monkeypatch.setattr(_core, "AVAILABLE", available)
        added, again = sums.copy(), sums.astype(np.float64)
        fixed.add_to(added, h)
        plain.add_to(again, h.astype(np.float64))
        weights = fixed.add_curved(added, h, W, offsets)
        wide = (part.astype(np.float64) for part in (h, W, offsets))
        np.testing.assert_allclose(weights, plain.add_curved(again, *wide), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(added, again, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(fixed.times(W), plain.times(W.astype(np.float64)), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(fixed.values(), plain.values(), rtol=1e-6)
        assert fixed.part(3, 4).values().dtype == fixed.times(W).dtype == np.float32


def test_rows_and_numbers_of_different_types(isa):
    Z, numbers, _, R, _, sums = parts(4, 6, 3, np.float32)
    with pytest.raises(TypeError, match="rows in float32 are multiplied by numbers in float32, got float64"):
        _core.add_transposed(Z, numbers, R.astype(np.float64), sums.astype(np.float64))
    with pytest.raises(ValueError, match="out must have 6 columns, got 5"):
        _core.to_fixed(np.ascontiguousarray(Z), 1.0, np.empty((9, 5), dtype=np.uint16))
