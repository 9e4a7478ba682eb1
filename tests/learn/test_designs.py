"""The products of features and losses that Newton's method uses, compared with the formulas."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.data import ArrayTable
from mercer.learn.context import FitContext
from mercer.learn.features import feature_matrix
from mercer.learn.features.feature_matrix import HeldFeatures
from mercer.learn.losses import Bend, Logistic, SideBySide, Softmax, SquaredHinge
from mercer.learn.passes.fit_passes import Passes
from mercer.learn.statistics import Moments

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("cached", [1, 2**30])
def test_the_curved_product_is_that_of_two_passes(monkeypatch, intercept, cached, alone):
    monkeypatch.setattr(feature_matrix, "CACHED_BYTES", cached)  # a few rows at a time, or all of a chunk
    Z, h = RNG.normal(size=(5000, 7)), RNG.random(size=(5000, 3))
    design = HeldFeatures(Z, intercept, 2, Passes(ArrayTable(Z), FitContext()))
    W = RNG.normal(size=(design.width, 3))
    padded = np.hstack([Z, np.ones((5000, 1))]) if intercept else Z
    bend = Bend.of(h) if alone else Bend(lambda rows, V: h[rows] * V)
    found = design.curved(W, bend, "curvature")
    np.testing.assert_allclose(found, padded.T @ (h * (padded @ W)), rtol=1e-10)
    assert design.n_passes == 1


@pytest.mark.parametrize(("kind", "classes"), [(SquaredHinge, 2), (SquaredHinge, 4), (Logistic, 2), (Softmax, 4)])
def test_a_bend_is_the_change_of_the_slope(kind, classes):
    codes, weight = RNG.integers(classes, size=40), RNG.random(40) + 0.5
    loss = kind(codes, classes, weight)
    F, V = RNG.normal(size=(2, 40, loss.n_columns))
    rows, step = slice(10, 30), 1e-6
    change = (loss.slope(F + step * V) - loss.slope(F - step * V)) / (2 * step)
    np.testing.assert_allclose(loss.bend(F)(rows, V[rows]), change[rows], rtol=1e-5, atol=1e-7)


def test_tasks_side_by_side_bend_apart():
    losses = [
        kind(RNG.integers(classes, size=40), classes, RNG.random(40) + 0.5)
        for kind, classes in ((Softmax, 3), (Logistic, 2))
    ]
    F, V = RNG.normal(size=(2, 40, 4))
    rows = slice(5, 25)
    found = SideBySide(losses).bend(F)(rows, V[rows])
    np.testing.assert_array_equal(found[:, :3], losses[0].bend(F[:, :3])(rows, V[rows, :3]))
    np.testing.assert_array_equal(found[:, 3:], losses[1].bend(F[:, 3:])(rows, V[rows, 3:]))


def test_moments_of_weights_of_one_are_those_of_no_weights():
    Z, Y = RNG.normal(size=(300, 5)).astype(np.float32), RNG.normal(size=(300, 2))
    for ours, theirs in zip(Moments.of(Z, Y, np.ones(300)), Moments.of(Z, Y, None), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    halves = Moments.of(Z, Y, np.full(300, 0.5))
    np.testing.assert_allclose(halves.gram, 0.5 * Z.T @ Z, rtol=1e-5, atol=1e-4)
