"""Scales of columns by squared gradients of a machine: against differences, and sums over blocks."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.kernels import Gaussian, Linear
from mercer.learn.learned_columns import gradient_scales
from mercer.learn.learned_columns.gradient_scales import GradientSquares

from .test_column_scales import KERNELS


def machine(d=3, targets=2):
    rng = np.random.default_rng(0)
    return rng.normal(size=(30, d)), rng.normal(size=(7, d)), rng.normal(size=(7, targets))


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_gradients_agree_with_differences(kernel, monkeypatch):
    monkeypatch.setattr(gradient_scales, "BLOCK_ELEMENTS", 7 * 8)  # eight rows at a time
    X, landmarks, coefficients = machine()
    weight = np.resize([1.0, 0.0, 2.5], len(X))
    steps = 1e-5 * np.eye(X.shape[1])
    slopes = [(kernel(X + step, landmarks) - kernel(X - step, landmarks)) @ coefficients / 2e-5 for step in steps]
    expected = [weight @ slope**2 @ np.ones(2) / weight.sum() for slope in slopes]
    found = GradientSquares.of(X, kernel, landmarks, coefficients, weight)
    np.testing.assert_allclose(found.mean(), expected, rtol=1e-6)


def test_blocks_add_up():
    X, landmarks, coefficients = machine()
    parts = [GradientSquares.of(part, Gaussian(0.5), landmarks, coefficients) for part in (X[:4], X[4:11], X[11:])]
    whole = GradientSquares.of(X.astype(np.float32), Gaussian(0.5), landmarks, coefficients)
    added = parts[0].merge(parts[1]).merge(parts[2])
    np.testing.assert_allclose(added.mean(), whole.mean(), rtol=1e-5)
    assert added.weight == whole.weight == len(X)
    assert whole.sums.dtype == np.float64


def test_scales_are_roots_of_mean_square_one():
    X, landmarks, coefficients = machine()
    squares = GradientSquares.of(X, Gaussian(0.5), landmarks, coefficients)
    scales = squares.scales()
    np.testing.assert_allclose(np.mean(scales**2), 1.0)
    np.testing.assert_allclose(scales[0] / scales[1], np.sqrt(squares.mean()[0] / squares.mean()[1]))


def test_what_does_not_change_has_a_scale_all_the_same():
    flat = GradientSquares.of(np.ones((3, 2)), Linear(), np.array([[2.0, 0.0]]), np.ones(1))
    assert flat.mean().tolist() == [4.0, 0.0]
    assert flat.scales()[1] == pytest.approx(gradient_scales.SMALLEST_SCALE * flat.scales()[0])
    nothing = GradientSquares.of(np.ones((3, 2)), Linear(), np.ones((1, 2)), np.zeros(1))
    assert nothing.scales().tolist() == [1.0, 1.0]
