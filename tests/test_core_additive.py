"""Compiled additive features against their formula in a wider type, on every instruction set of this machine."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import AdditiveMap, _core
from mercer.kernels import AdditiveChi2, Hellinger

from .test_core import DTYPES, compiled

ORDERS = [0, 1, 2, 3, 4, 5, 8, 9, 17, 40]


def values_of(count, dtype, seed=0):
    """Numbers from one end of the range to the other, with the ends themselves, zeros and powers of two among them."""
    info, rng = np.finfo(dtype), np.random.default_rng([seed, count])
    logarithms = rng.uniform(np.log(float(info.smallest_subnormal)), np.log(float(info.max)), size=count)
    values = np.exp(logarithms).astype(dtype)
    values[::3] = rng.gamma(0.5, size=len(values[::3]))
    special = [0.0, info.smallest_subnormal, info.tiny, np.nextafter(info.tiny, dtype(0)), 0.5, 1.0, 2.0, info.max]
    special += [np.sqrt(0.5), np.nextafter(np.sqrt(dtype(0.5)), dtype(0)), np.nextafter(dtype(1), dtype(0))]
    values[1 : 1 + 5 * len(special) : 5] = special
    return values


def expected_features(values, step, weights):
    """The definition, in the widest type there is."""
    wide = values.astype(np.longdouble)
    phases = np.log(np.where(wide > 0, wide, 1))[:, None] * (np.longdouble(step) * np.arange(1, len(weights) // 2 + 1))
    turns = np.ones((len(values), len(weights)), dtype=np.longdouble)
    turns[:, 1::2], turns[:, 2::2] = np.cos(phases), np.sin(phases)
    return np.sqrt(wide)[:, None] * turns * weights, np.abs(phases).max(axis=1, initial=0.0)


def features(values, step, weights):
    order = len(weights) // 2
    out = np.full(len(values) * len(weights), np.nan, dtype=values.dtype)
    _core.additive(values, step * np.arange(1.0, order + 1.0), weights, out)
    return out.reshape(len(values), -1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ORDERS)
def test_features_are_their_formula(isa, order, dtype):
    weights = np.linspace(0.5, 2.0, 2 * order + 1)
    for step in (0.62, 0.31):
        values = values_of(500, dtype)
        found = features(values, step, weights)
        expected, longest = expected_features(values, step, weights)
        scale = np.sqrt(values.astype(np.longdouble))[:, None] * weights
        # A few roundings, those of every turn from one frequency to the next, and that of the frequency itself, which
        # the length of the phase multiplies.
        bound = 4.0 * np.finfo(dtype).eps + np.finfo(np.float64).eps * (order + longest[:, None])
        assert (np.abs(found - expected) <= bound * scale).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ORDERS)
def test_zeros_become_zeros(isa, order, dtype):
    values = np.zeros(37, dtype=dtype)
    values[5] = 1.0
    found = features(values, 0.5, np.ones(2 * order + 1))
    np.testing.assert_array_equal(np.delete(found, 5, axis=0), 0.0)
    assert not np.signbit(found[0]).any()
    np.testing.assert_array_equal(found[5], [1.0] + order * [1.0, 0.0])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ORDERS)
def test_features_do_not_depend_on_the_place_and_nothing_else_is_written(isa, order, dtype):
    weights, width = np.linspace(0.5, 2.0, 2 * order + 1), 2 * order + 1
    values = values_of(67, dtype, seed=1)
    whole = features(values, 0.4, weights)
    for start, count in ((0, 0), (1, 1), (3, 7), (5, 16), (2, 33)):
        memory = np.full(count * width + 40, 7, dtype=dtype)
        _core.additive(
            values[start : start + count], 0.4 * np.arange(1.0, order + 1.0), weights, memory[3 : 3 + count * width]
        )
        np.testing.assert_array_equal(memory[3 : 3 + count * width].reshape(count, width), whole[start : start + count])
        assert (memory[:3] == 7).all()
        assert (memory[3 + count * width :] == 7).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("bad", [-1e-30, -np.inf, np.inf, np.nan])
def test_the_first_value_outside_the_domain_is_returned(isa, order, dtype, bad):
    frequencies, weights = np.arange(1.0, order + 1.0), np.ones(2 * order + 1)
    for place in (0, 15, 16, 31, 36):
        values = np.ones(37, dtype=dtype)
        values[::5] = -0.0
        out = np.empty(37 * (2 * order + 1), dtype=dtype)
        assert _core.additive(values, frequencies, weights, out) is None
        values[place:] = bad
        assert _core.additive(values, frequencies, weights, out) == place


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("width", [1, 2, 3, 5, 7, 9, 12])
def test_columns_are_spread(isa, width, dtype):
    for count in (0, 1, 7, 16, 45):
        columns = np.random.default_rng(count).integers(0, np.iinfo(dtype).max // (2 * width), count).astype(dtype)
        memory = np.full(count * width + 8, -7, dtype=dtype)
        _core.spread(columns, width, memory[4 : 4 + count * width])
        np.testing.assert_array_equal(
            memory[4 : 4 + count * width].reshape(count, width), columns[:, None] * width + np.arange(width)
        )
        assert (memory[:4] == -7).all()
        assert (memory[4 + count * width :] == -7).all()


@compiled
def test_weights_beyond_the_type_are_left_to_the_reference():
    X = np.ones((3, 2), dtype=np.float32)
    for weight, used in ((1.0, True), (1e30, True), (1e40, False), (1e-45, False)):
        features = AdditiveMap(weight * AdditiveChi2(), n_components=6).fit(X)
        assert (features.fitted_.on(X).native(np.float32) is not None) is used
        expected = features.transform(X.astype(np.float64))
        np.testing.assert_allclose(features.transform(X), expected, rtol=1e-5, atol=2e-6 * np.abs(expected).max())


@compiled
def test_rows_that_are_not_contiguous():
    X = np.random.default_rng(0).gamma(0.5, size=(40, 30))
    features = AdditiveMap(Hellinger()).fit(X[:, ::3])
    for rows in (X[:, ::3], np.asfortranarray(X[:, ::3])):
        np.testing.assert_allclose(features.transform(rows), np.sqrt(X[:, ::3]), rtol=1e-15)


@compiled
def test_bad_input_is_named():
    values, frequencies, weights = np.ones(4), np.ones(1), np.ones(3)
    with pytest.raises(ValueError, match="values must be a NumPy array of one dimension"):
        _core.additive(np.ones((2, 2)), frequencies, weights, np.empty(12))
    with pytest.raises(TypeError, match="float32 or float64"):
        _core.additive(np.ones(4, dtype=np.int64), frequencies, weights, np.empty(12))
    with pytest.raises(ValueError, match=r"weights must have shape \(3,\), got \(2,\)"):
        _core.additive(values, frequencies, np.ones(2), np.empty(12))
    with pytest.raises(ValueError, match=r"out must have shape \(12,\), got \(11,\)"):
        _core.additive(values, frequencies, weights, np.empty(11))
    with pytest.raises(TypeError, match="out must be float64, got float32"):
        _core.additive(values, frequencies, weights, np.empty(12, dtype=np.float32))
    with pytest.raises(TypeError, match="frequencies must be float64, got float32"):
        _core.additive(values, np.ones(1, dtype=np.float32), weights, np.empty(12))
    with pytest.raises(TypeError, match="columns must be int32 or int64, got float64"):
        _core.spread(values, 3, np.empty(12))
    with pytest.raises(ValueError, match=r"out must have shape \(12,\), got \(11,\)"):
        _core.spread(np.arange(4), 3, np.empty(11, dtype=np.int64))
