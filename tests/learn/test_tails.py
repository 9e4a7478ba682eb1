"""Heavy tails: quantiles, which columns have some, and the function that tames them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.learn.prepare.tails import Tails, centre_and_spread, heavy_tails, quantiles

SHARES = [0.01, 0.25, 0.5, 0.9, 1.0]
FINITE = st.floats(allow_nan=False, allow_infinity=False)


def found(X, weight=None):
    dense = X.toarray() if sp.issparse(X) else X
    return heavy_tails(X, weight, np.nanmin(dense, axis=0), np.nanmax(dense, axis=0))


def by_numpy(X, weight):
    """Quantiles column by column, without gaps."""
    out = np.full((len(SHARES), X.shape[1]), np.nan)
    for place in range(X.shape[1]):
        known = ~np.isnan(X[:, place])
        if known.any():
            w = None if weight is None else weight[known]
            out[:, place] = np.quantile(X[known, place], SHARES, method="inverted_cdf", weights=w)
    return out


@pytest.mark.parametrize("weighted", [False, True])
def test_quantiles_are_those_of_numpy(weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(201, 6)).round(1) * (rng.random((201, 6)) < [1.0, 0.9, 0.6, 0.3, 0.05, 0.0])
    X[rng.random(X.shape) < 0.1] = np.nan
    weight = rng.integers(1, 4, size=201).astype(float) if weighted else None
    expected = by_numpy(X, weight)
    np.testing.assert_array_equal(quantiles(X, weight, SHARES), expected)
    np.testing.assert_array_equal(quantiles(sp.csr_array(X), weight, SHARES), expected)
    np.testing.assert_array_equal(quantiles(X.astype(np.float32), weight, SHARES), by_numpy(X.astype("f4"), weight))
    empty = np.full((5, 2), np.nan)
    assert np.isnan(quantiles(empty, None, SHARES)).all()
    assert np.isnan(quantiles(sp.csr_array(empty), None, SHARES)).all()


def test_a_row_of_weight_2_is_that_row_twice():
    rng = np.random.default_rng(1)
    X, weight = rng.standard_cauchy((150, 4)), rng.integers(1, 5, size=150)
    X[:, 3] *= rng.random(150) < 0.1
    for rows in (X, sp.csr_array(X)):
        ours, theirs = found(rows, weight.astype(float)), found(rows[np.repeat(np.arange(150), weight)])
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(one, other)


def test_which_columns_have_heavy_tails():
    rng = np.random.default_rng(2)
    n = 2000
    few = rng.random(n) < 0.005
    columns = {
        "normal": (rng.normal(size=n), False),
        "uniform": (rng.random(n), False),
        "binary": (rng.random(n) < 0.5, False),
        "seldom 1": (few, False),
        "constant": (np.ones(n), False),
        "levels by number": (rng.integers(0, 9, size=n), False),
        "an outlier": (np.r_[rng.normal(size=n - 1), 1e6], True),
        "Cauchy": (rng.standard_cauchy(n), True),
        "log-normal": (rng.lognormal(10.0, 1.5, size=n), True),
        "mostly 0": (np.where(rng.random(n) < 0.1, rng.lognormal(5.0, 2.0, size=n), 0.0), True),
        "nearly always 0": (few * rng.lognormal(0, 3, n), True),
        "tiny": (1e-300 * rng.standard_cauchy(n), True),
        "huge": (1e300 * np.clip(rng.standard_cauchy(n), -1e6, 1e6), True),
    }
    X = np.column_stack([values for values, _ in columns.values()]).astype(float)
    heavy = [list(columns)[place] for place in found(X).columns]
    assert heavy == [name for name, (_, is_heavy) in columns.items() if is_heavy]
    for scale in (1e-3, 1e6):
        scaled = found((X[:, :11]) * scale)
        np.testing.assert_array_equal(scaled.columns, found(X[:, :11]).columns)


def test_normal_numbers_have_spread_1():
    X = np.random.default_rng(3).normal(5.0, 2.0, size=(200_000, 1))
    centre, spread = centre_and_spread(X, None)
    assert centre == pytest.approx(5.0, abs=0.05)  # ten deviations of a median of this many entries
    assert spread == pytest.approx(2.0, rel=0.03)


def test_the_whole_range_counts_even_outside_the_sample():
    X = np.random.default_rng(4).normal(size=(500, 2))
    assert heavy_tails(X, None, X.min(axis=0), np.array([X[:, 0].max(), 1e9])).columns.tolist() == [1]
    assert heavy_tails(X[:0], None, X.min(axis=0), X.max(axis=0)).columns.tolist() == []


def test_zeros_of_sparse_rows_stay_zeros():
    rng = np.random.default_rng(5)
    X = rng.standard_cauchy((400, 3))
    X[:, 1] *= rng.random(400) < 0.2
    X[:, 2] += 100.0  # most entries are stored, about a median that is not 0
    rows = sp.csr_array(X)
    tails = found(rows)
    assert tails.columns.tolist() == [1]
    after = tails.of(rows)
    assert sp.issparse(after)
    np.testing.assert_array_equal(after.indices, rows.indices)
    np.testing.assert_array_equal(after.toarray(), tails.of(X))
    assert ((after.toarray() == 0.0) == (X == 0.0)).all()


@given(
    st.lists(FINITE, min_size=2, max_size=20),
    FINITE,
    st.floats(min_value=1e-300, max_value=1e300),
)
@settings(max_examples=200, deadline=None)
def test_the_order_is_kept_and_values_stay_bounded(values, centre, spread):
    tails = Tails(np.array([0]), np.array([centre]), np.array([spread]))
    X = np.sort(np.array(values))[:, None]
    after = tails.of(X)
    assert (np.diff(after[:, 0]) >= 0.0).all()
    assert (np.abs(after) < 711.0).all()
    assert tails.tamed(np.array([[centre]]))[0, 0] == 0.0


@given(st.floats(min_value=-1e100, max_value=1e100), st.floats(min_value=-1e3, max_value=1e3))
@settings(max_examples=200, deadline=None)
def test_what_is_tamed_can_be_told_again(value, centre):
    tails = Tails(np.array([0]), np.array([centre]), np.array([0.5]))
    after = tails.of(np.array([[value]]))[0, 0]
    assert np.sinh(after) * 0.5 + centre == pytest.approx(value, rel=1e-10, abs=1e-9)
    mirrored = tails.of(np.array([[2.0 * centre - value]]))[0, 0]
    assert mirrored == pytest.approx(-after, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_stays(dtype):
    X = np.random.default_rng(6).standard_cauchy((300, 3)).astype(dtype)
    before = X.copy()
    for rows in (X, sp.csr_array(np.where(np.abs(X) > 1.0, X, 0.0).astype(dtype))):
        assert found(rows).of(rows).dtype == dtype
    np.testing.assert_array_equal(X, before)
