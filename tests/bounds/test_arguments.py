"""Bounds refuse arguments outside their hypotheses, each with a clear error."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mercer import TensorSketch, bounds
from mercer.kernels import Exponential, Gaussian, Linear, Polynomial, VovkInfinite


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan, "small", True])
def test_epsilon_is_positive(epsilon):
    X, sketch = np.eye(2), TensorSketch(n_components=4, random_state=0).fit(np.eye(2))
    for call in (
        lambda: bounds.relative_error(sketch, X, epsilon=epsilon),
        lambda: bounds.norm_error(sketch, X, epsilon=epsilon),
        lambda: bounds.tensor_sketch_components(X, X, 2, epsilon=epsilon, delta=0.1),
        lambda: bounds.hoeffding_error(10, 1.0, epsilon=epsilon),
        lambda: bounds.hoeffding_count(1.0, epsilon=epsilon, delta=0.1),
        lambda: bounds.uniform_error(10, Linear(), 1.0, 2, epsilon=epsilon),
        lambda: bounds.uniform_components(Linear(), 1.0, 2, epsilon=epsilon, delta=0.1),
        lambda: bounds.fourier_uniform_error(10, Gaussian(), 1.0, 2, epsilon=epsilon),
        lambda: bounds.fourier_uniform_components(Gaussian(), 1.0, 2, epsilon=epsilon, delta=0.1),
    ):
        with pytest.raises(ValueError, match="epsilon must be a positive finite number"):
            call()


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, math.nan, "rare"])
def test_delta_is_a_probability(delta):
    for call in (
        lambda: bounds.tensor_sketch_components(np.eye(2), None, 2, epsilon=0.5, delta=delta),
        lambda: bounds.hoeffding_count(1.0, epsilon=0.5, delta=delta),
        lambda: bounds.uniform_components(Linear(), 1.0, 2, epsilon=0.5, delta=delta),
        lambda: bounds.fourier_uniform_components(Gaussian(), 1.0, 2, epsilon=0.5, delta=delta),
    ):
        with pytest.raises(ValueError, match="delta must be a probability above 0 and below 1"):
            call()


@pytest.mark.parametrize("base", [1.0, 0.5, math.inf, math.nan, "two"])
def test_base_is_above_one(base):
    for call in (
        lambda: bounds.maclaurin_range(Linear(), 1.0, base=base),
        lambda: bounds.maclaurin_lipschitz(Linear(), 1.0, 2, base=base),
        lambda: bounds.uniform_error(10, Linear(), 1.0, 2, epsilon=0.5, base=base),
    ):
        with pytest.raises(ValueError, match="base must be a finite number above 1"):
            call()


@pytest.mark.parametrize("radius", [0.0, -1.0, math.inf, math.nan, "far"])
def test_radius_is_positive(radius):
    for call in (
        lambda: bounds.sketch_range(2, radius),
        lambda: bounds.maclaurin_range(Linear(), radius),
        lambda: bounds.maclaurin_lipschitz(Linear(), radius, 2),
    ):
        with pytest.raises(ValueError, match="radius must be a positive finite number"):
            call()


@pytest.mark.parametrize("number", [0, -1, 1.5, True])
def test_counts_are_whole(number):
    for call in (
        lambda: bounds.sketch_range(number, 1.0),
        lambda: bounds.hoeffding_error(number, 1.0, epsilon=0.5),
        lambda: bounds.uniform_error(number, Linear(), 1.0, 2, epsilon=0.5),
        lambda: bounds.uniform_error(10, Linear(), 1.0, number, epsilon=0.5),
        lambda: bounds.fourier_uniform_error(number, Gaussian(), 1.0, 2, epsilon=0.5),
        lambda: bounds.fourier_uniform_error(10, Gaussian(), 1.0, number, epsilon=0.5),
        lambda: bounds.tensor_sketch_variance(np.eye(2), None, number, 10),
        lambda: bounds.tensor_sketch_variance(np.eye(2), None, 2, number),
        lambda: bounds.pham_pagh_variance(np.eye(2), None, number, 10),
        lambda: bounds.pham_pagh_variance(np.eye(2), None, 2, number),
    ):
        with pytest.raises(ValueError, match="must be a whole number of at least 1"):
            call()


@pytest.mark.parametrize(
    ("kernel", "radius", "message"),
    [
        (VovkInfinite(), math.sqrt(0.5), r"base \* radius\^2 = 1 is not below 1"),
        (Linear() + VovkInfinite(), 2.0, "is not below 1"),
        (Gaussian(0.5), 1.0, "not a dot-product kernel"),
        (Polynomial(2).of(Gaussian(0.5)), 1.0, "not a dot-product kernel"),
        (Polynomial(2, coef0=-1.0), 1.0, "coef0 must not be negative"),
        (Exponential("scale"), 1.0, "is not a number yet"),
        (Exponential(), 1e3, "overflows"),
        (Exponential(), 1e200, "is not below inf"),
    ],
)
def test_kernels_outside_the_hypotheses_are_refused(kernel, radius, message):
    for call in (
        lambda: bounds.maclaurin_range(kernel, radius),
        lambda: bounds.uniform_error(10, kernel, radius, 2, epsilon=0.5),
        lambda: bounds.uniform_components(kernel, radius, 2, epsilon=0.5, delta=0.1),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_what_cannot_be_computed_is_refused():
    with pytest.raises(ValueError, match="cannot be summed at 200"):  # its coefficients vanish in floating point
        bounds.maclaurin_lipschitz(Exponential(), 10.0, 2)
    with pytest.raises(ValueError, match=r"overflows at radius=10\.0, degree=1000"):
        bounds.sketch_range(1000, 10.0)
    with pytest.raises(ValueError, match="the largest estimate must be a positive finite number"):
        bounds.hoeffding_error(10, 0.0, epsilon=0.5)
    with pytest.raises(ValueError, match="overflows"):
        bounds.tensor_sketch_components([[1e100]], [[1.0]], 2, epsilon=0.5, delta=0.1)
