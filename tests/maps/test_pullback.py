"""Gradients of features in closed form, against differences of the features themselves."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import AdditiveMap, Nystrom, RandomFourier
from mercer.kernels import AdditiveChi2, Exponential, Gaussian, Hellinger, Polynomial, VovkInfinite

from ..tables import obeying

STEP = 1e-5


def differences(map, X, G):
    """Central differences of <g, z(x)> along every column."""
    found = np.empty_like(X)
    for column in range(X.shape[1]):
        moved = np.zeros_like(X)
        moved[:, column] = STEP
        up, down = (map.transform(X + sign * moved) for sign in (1.0, -1.0))
        found[:, column] = ((up - down) * G).sum(axis=1) / (2.0 * STEP)
    return found


@pytest.mark.parametrize("row", obeying())
@pytest.mark.parametrize("width", [33, 64])
def test_gradients_of_every_map_are_those_of_its_features(row, width):
    X = 0.6 * row.sample(7)
    if row.kernel.domain_is_non_negative:
        X = X + 0.05  # features of histograms have a corner at 0
    map = row(width, random_state=1).fit(0.6 * row.sample(30, seed=3))
    for count in (len(X), 1):
        G = np.random.default_rng(2).normal(size=(count, map.n_components_))
        found, expected = map.fitted_.pullback(X, G), differences(map, X, G)
        assert found.shape == X.shape
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6 * max(1.0, np.abs(expected).max()))


def test_columns_have_their_own_bandwidths():
    X = np.random.default_rng(0).normal(size=(6, 3))
    for kernel in (Gaussian((0.1, 2.0, 0.0001)), 0.5 * Gaussian((0.1, 2.0, 1.0)) * Gaussian((0.1, 2.0, 1.0))):
        for map in (RandomFourier(kernel, n_components=21, random_state=0), Nystrom(kernel, random_state=0)):
            G = np.random.default_rng(1).normal(size=(6, map.fit(X).n_components_))
            expected = differences(map, X, G)
            np.testing.assert_allclose(map.fitted_.pullback(X, G), expected, rtol=1e-5, atol=1e-6)


def test_landmarks_of_compositions():
    X = np.random.default_rng(0).normal(size=(6, 3)) / 4.0
    for kernel in (Exponential(0.5).of(Gaussian(0.7)), VovkInfinite(), Polynomial(2, coef0=0.3).of(Polynomial(2))):
        map = Nystrom(kernel, random_state=0).fit(X)
        G = np.random.default_rng(1).normal(size=(6, map.n_components_))
        np.testing.assert_allclose(map.fitted_.pullback(X, G), differences(map, X, G), rtol=1e-4, atol=1e-5)


def test_features_of_histograms_have_no_slope_at_0():
    X = np.array([[0.0, 0.3], [0.5, 0.0]])
    for kernel in (AdditiveChi2(), Hellinger()):
        map = AdditiveMap(kernel, n_components=10).fit(X)
        found = map.fitted_.pullback(X, np.ones((1, map.n_components_)))
        assert (found[[0, 1], [0, 1]] == 0.0).all()
        assert (found[[0, 1], [1, 0]] != 0.0).all()


def test_kernels_without_derivatives_are_refused():
    X = np.abs(np.random.default_rng(0).normal(size=(6, 3)))
    for kernel in (AdditiveChi2(), Gaussian(0.5).of_distance(AdditiveChi2()), lambda x, y: float(x @ y)):
        map = Nystrom(kernel, random_state=0).fit(X)
        with pytest.raises(ValueError, match="has no derivatives with respect to columns"):
            map.fitted_.pullback(X, np.ones((1, map.n_components_)))
