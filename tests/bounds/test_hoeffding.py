"""Hoeffding's bound against simulation, and its inverse."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import RandomMaclaurin, TensorSketch, bounds
from mercer.kernels import Exponential, Maclaurin, Polynomial

from ..tables import every_value
from .simulation import (
    assert_at_most,
    bases,
    estimates,
    fast,
    kernels,
    positive,
    probabilities,
    rows,
)


@fast
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 9))
def test_sketches_stay_in_their_range(seed, degree, width):
    X = np.random.default_rng(seed).normal(size=(4, 3))
    radius = np.abs(X).sum(axis=1).max()
    Z = TensorSketch(Polynomial(degree), n_components=width, random_state=seed, n_jobs=1).fit_transform(X)
    assert np.abs(Z @ Z.T).max() <= bounds.sketch_range(degree, radius) * (1.0 + 1e-9)


@fast
@given(kernels, bases, st.floats(0.05, 1.0), st.integers(0, 10**6))
def test_features_stay_in_their_range(kernel, base, radius, seed):
    radius *= 0.99 * min(1.0, math.sqrt(kernel.radius / base))
    X = np.random.default_rng(seed).laplace(size=(4, 3))
    X *= radius / np.abs(X).sum(axis=1, keepdims=True)
    sketch = RandomMaclaurin(kernel, n_components=50, base=base, random_state=seed, n_jobs=1)
    Z = sketch.fit_transform(X) * math.sqrt(50)
    products = Z[:, None, :] * Z[None, :, :]
    assert np.abs(products).max() <= bounds.maclaurin_range(kernel, radius, base=base) * (1.0 + 1e-9)


def test_averaged_sketches_are_as_good_as_promised():
    X = np.array([[0.5, 0.5], [0.6, -0.4]])
    averages = estimates(TensorSketch(Polynomial(2), n_components=2), X, 1200).reshape(60, 20, 2, 2).mean(axis=1)
    for epsilon in (0.1, 0.5, 0.6):
        bound = bounds.hoeffding_error(20, bounds.sketch_range(2, 1.0), epsilon=epsilon)
        assert_at_most(np.abs(averages - (X @ X.T) ** 2) >= epsilon, bound)
    assert bound < 0.1


@every_value(kernel=[Exponential(), Polynomial(3, coef0=1.0), Maclaurin((0.0, 1.0, 0.0, 1.0))], base=[1.5, 3.0])
def test_maclaurin_is_as_good_as_promised(kernel, base):
    X = rows(4)
    X *= 0.5 / np.abs(X).sum(axis=1, keepdims=True)
    largest = bounds.maclaurin_range(kernel, 0.5, base=base)
    width = bounds.hoeffding_count(largest, epsilon=largest / 8, delta=0.1)
    errors = np.abs(estimates(RandomMaclaurin(kernel, n_components=width, base=base), X, 150) - kernel(X))
    for epsilon in (largest / 32, largest / 16, largest / 8):
        assert_at_most(errors >= epsilon, bounds.hoeffding_error(width, largest, epsilon=epsilon))


@fast
@given(positive, positive, probabilities)
def test_hoeffding_count_inverts_hoeffding_error(largest, epsilon, delta):
    count = bounds.hoeffding_count(largest, epsilon=epsilon, delta=delta)
    assert bounds.hoeffding_error(count, largest, epsilon=epsilon) <= delta * (1.0 + 1e-9)
    if count > 1:
        assert bounds.hoeffding_error(count - 1, largest, epsilon=epsilon) >= delta * (1.0 - 1e-9)


@fast
@given(st.integers(1, 10**6), positive, positive, st.floats(1.0, 3.0))
def test_hoeffding_error_is_a_monotone_probability(count, largest, epsilon, factor):
    here = bounds.hoeffding_error(count, largest, epsilon=epsilon)
    assert 0.0 <= here <= 1.0
    assert here == pytest.approx(min(1.0, 2.0 * math.exp(-count * epsilon**2 / (2.0 * largest**2))), rel=1e-9, abs=0.0)
    assert bounds.hoeffding_error(2 * count, largest, epsilon=epsilon) <= here
    assert bounds.hoeffding_error(count, largest, epsilon=factor * epsilon) <= here * (1.0 + 1e-9)
    assert bounds.hoeffding_error(count, factor * largest, epsilon=epsilon) >= here * (1.0 - 1e-9)
