"""Chebyshev's bound against simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import ComplexSketch, Compressed, RandomMaclaurin, TaylorSketch, TensorSketch, bounds
from mercer.kernels import Exponential, Polynomial, VovkInfinite

from .simulation import (
    SEEDS,
    assert_at_most,
    estimates,
    rows,
)

SKETCHES = {
    "tensor": TensorSketch(Polynomial(2), n_components=128),
    "tensor, odd": TensorSketch(Polynomial(3, coef0=0.5), n_components=63),
    "complex": ComplexSketch(Polynomial(3), n_components=64),
    "maclaurin": RandomMaclaurin(Exponential(0.5), n_components=200),
    "H0/1": RandomMaclaurin(Exponential(0.5), n_components=100, exact_terms=True),
    "biased": RandomMaclaurin(Exponential(), n_components=200, max_degree=2),
    "split": TaylorSketch(Exponential(), n_components=16),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.full if name == "split" else ()) for name in SKETCHES]
)
def test_relative_and_norm_errors_are_as_rare_as_promised(name):
    X, sketch = rows(), SKETCHES[name]
    found = estimates(sketch, X, 150 if name == "split" else SEEDS)
    exact = sketch.kernel_(X)
    smallest = 1.0
    for epsilon in (0.1, 0.3, 1.0):
        bound = bounds.relative_error(sketch, X, epsilon=epsilon)
        assert_at_most(np.abs(found - exact) >= epsilon * np.abs(exact), bound)
        np.testing.assert_allclose(bounds.norm_error(sketch, X, epsilon=epsilon), np.diag(bound), rtol=1e-12)
        smallest = min(smallest, bound.min())
    assert smallest < 0.5  # so that something was tested


def test_bias_counts_as_an_error():
    X = rows()[:1]
    sketch = RandomMaclaurin(Exponential(), n_components=9, max_degree=1, random_state=0, exact_terms=True).fit(X)
    t = (X @ X.T).item()
    missing = (math.exp(t) - 1.0 - t) / math.exp(t)  # always: both degrees are exact
    assert bounds.relative_error(sketch, X, epsilon=missing / 2).item() == 1.0
    assert bounds.relative_error(sketch, X, epsilon=missing * 2).item() == pytest.approx(0.25)


def test_relative_error_is_markov_of_the_exact_variance():
    X, Y = rows(3), rows(4, seed=1)
    sketch = TensorSketch(Polynomial(2), n_components=50, random_state=0).fit(X)
    expected = np.minimum(1.0, sketch.variance(X, Y) / (0.4 * (X @ Y.T) ** 2) ** 2)
    np.testing.assert_allclose(bounds.relative_error(sketch, X, Y, epsilon=0.4), expected, rtol=1e-9)


def test_no_relative_error_is_small_where_the_kernel_vanishes():
    sketch = TensorSketch(Polynomial(2), n_components=64, random_state=0).fit(np.eye(3))
    assert bounds.relative_error(sketch, np.eye(3), epsilon=0.1).tolist() == (1.0 - np.eye(3)).tolist()
    assert bounds.norm_error(sketch, np.zeros((1, 3)), epsilon=0.1).tolist() == [1.0]


def test_an_infinite_variance_promises_nothing():
    X = np.full((1, 2), 0.65)
    sketch = RandomMaclaurin(VovkInfinite(), n_components=64, random_state=0).fit(X)
    assert np.isinf(sketch.variance(X)).all()
    assert bounds.relative_error(sketch, X, epsilon=10.0).tolist() == [[1.0]]


def test_rows_of_any_kind():
    X = rows(150, 6)
    sketch = TensorSketch(Polynomial(2), n_components=64, random_state=0).fit(X)
    dense = bounds.norm_error(sketch, X, epsilon=0.5)
    assert dense.shape == (150,)
    np.testing.assert_allclose(bounds.norm_error(sketch, sp.csr_array(X), epsilon=0.5), dense, rtol=1e-9)
    np.testing.assert_allclose(bounds.norm_error(sketch, X.tolist(), epsilon=0.5), dense, rtol=1e-9)
    single = bounds.relative_error(sketch, X.astype(np.float32), epsilon=0.5)
    assert single.dtype == np.float64
    np.testing.assert_allclose(np.diag(single), dense, rtol=1e-4)


def test_maps_without_a_variance_say_so():
    sketch = Compressed(TensorSketch(Polynomial(2)), n_components=8, random_state=0).fit(rows())
    with pytest.raises(NotImplementedError, match="no exact variance"):
        bounds.relative_error(sketch, rows(), epsilon=0.5)
