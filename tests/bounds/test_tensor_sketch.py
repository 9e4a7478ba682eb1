"""The variance of TensorSketch, the width that follows from it, and the lemmas of the paper that do not hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from mercer import TensorSketch, bounds
from mercer.kernels import Polynomial

from .simulation import (
    FALSE_ALARM,
    ONES,
    SEEDS,
    assert_at_most,
    estimates,
    fast,
    rows,
)


@pytest.mark.parametrize(("degree", "exact"), [(2, 5.89), (3, 13.7), (4, 29.4)])
def test_lemma_6_is_false(degree, exact):
    claimed = 256 * bounds.pham_pagh_variance(ONES, ONES, degree, 256).item()
    true = 256 * bounds.tensor_sketch_variance(ONES, ONES, degree, 256).item()
    assert claimed == pytest.approx(2.0)
    assert true == pytest.approx(exact, rel=5e-3)
    measured = 256 * estimates(TensorSketch(Polynomial(degree), n_components=256), ONES).var()
    assert 2.0 * claimed < measured < 2.0 * true


def test_lemmas_7_and_10_fail_with_lemma_6():
    found = estimates(TensorSketch(Polynomial(4), n_components=256), ONES).ravel()
    epsilon = 0.2
    claim = bounds.pham_pagh_variance(ONES, ONES, 4, 256).item() / epsilon**2
    frequency = np.mean(np.abs(found - 1.0) >= epsilon)
    assert claim < 0.2
    assert binom.sf(frequency * SEEDS - 1, SEEDS, claim) < FALSE_ALARM

    epsilon, delta, degree, width = 0.9, 0.01, 8, 410
    assert width >= 72 * math.log(1 / delta) / epsilon**2
    assert ONES.max() ** degree <= epsilon / (18 * math.sqrt(math.log(1 / delta) * math.log(width / delta)))
    sketch = TensorSketch(Polynomial(degree), n_components=width)
    misses = np.abs(estimates(sketch, ONES, 500).ravel() - 1.0) >= epsilon
    assert misses.mean() > 0.05
    assert binom.sf(misses.sum() - 1, len(misses), 2 * delta) < FALSE_ALARM
    assert_at_most(misses, bounds.norm_error(sketch, ONES, epsilon=epsilon)[0])


def test_lemma_6_is_true_of_a_count_sketch():
    X = rows(8, 5)
    claimed, exact = (f(X, None, 1, 32) for f in (bounds.pham_pagh_variance, bounds.tensor_sketch_variance))
    assert np.all(exact <= claimed)


def test_the_variance_is_the_map_s_own():
    X, Y = rows(3), rows(2, seed=1)
    sketch = TensorSketch(Polynomial(3), n_components=33, random_state=5).fit(X)
    np.testing.assert_array_equal(bounds.tensor_sketch_variance(X, Y, 3, 33), sketch.variance(X, Y))
    np.testing.assert_array_equal(bounds.tensor_sketch_variance(X, None, 3, 33), sketch.variance(X))


@fast
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 5), st.floats(0.05, 2.0), st.floats(0.001, 0.9))
def test_tensor_sketch_components_is_the_least_width_from_which_on_it_holds(seed, d, degree, epsilon, delta):
    x, y = np.random.default_rng(seed).normal(size=(2, 1, d))
    width = bounds.tensor_sketch_components(x, y, degree, epsilon=epsilon, delta=delta).item()
    target = delta * epsilon**2 * (x @ y.T).item() ** (2 * degree)

    def holds(D):
        return bounds.tensor_sketch_variance(x, y, degree, D).item() <= target * (1.0 + 1e-12)

    if width > 2**30:  # nearly orthogonal
        return
    assert width == int(width) >= 1
    assert all(holds(int(width) + more) for more in (0, 1, 2, 3, 100, 101))
    # At very small widths the exact variance of rows far from parallel may fall below the target again.
    assert width <= 8 or not holds(int(width) - 1)


def test_tensor_sketch_components_of_pairs():
    X = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0]])
    widths = bounds.tensor_sketch_components(X, None, 2, epsilon=0.5, delta=0.1)
    assert np.isinf(widths[0, 1])
    assert widths[0, 0] == widths[1, 1] == 1.0  # one-hot rows are exact
    assert np.isfinite(widths[2]).all()
    np.testing.assert_array_equal(widths, widths.T)
    np.testing.assert_array_equal(
        widths, bounds.tensor_sketch_components(sp.csr_array(X), 3.0 * X, 2, epsilon=0.5, delta=0.1)
    )
    width = int(widths[2, 2])
    sketch, narrower = (TensorSketch(Polynomial(2), n_components=D).fit(X) for D in (width, width - 1))
    assert bounds.relative_error(sketch, X[2:], epsilon=0.5).item() <= 0.1
    assert bounds.relative_error(narrower, X[2:], epsilon=0.5).item() > 0.1
