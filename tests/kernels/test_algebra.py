"""Kernels made of kernels, and kernels as parameters of an estimator."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import pickle

import numpy as np
import pytest
from numpy.polynomial import polynomial as P
from sklearn.base import BaseEstimator, clone

from mercer.kernels import (
    AdditiveChi2,
    Cauchy,
    Composition,
    Exponential,
    Gaussian,
    KernelSyntaxError,
    Laplacian,
    Linear,
    Maclaurin,
    Matern,
    Polynomial,
    Product,
    Scaled,
    Sum,
    VovkInfinite,
    VovkReal,
)

from ..oracles import label

EXPRESSION = 0.7 * Gaussian(0.5) + Polynomial(2, coef0=1.0).of(Laplacian("median")) * Linear()


# -- operators ---------------------------------------------------------------------------------------------------------


def test_operators_build_the_tree():
    a, b, c = Gaussian(1.0), Linear(), Cauchy(2.0)
    assert a + b == Sum(a, b)
    assert a + b + c == Sum(Sum(a, b), c)
    assert a + b * c == Sum(a, Product(b, c))
    assert (a + b) * c == Product(Sum(a, b), c)
    assert 2 * a == a * 2 == Scaled(2, a)
    assert 2 * a * b == Product(Scaled(2, a), b)
    assert b.of(a) == Composition(b, a)


@pytest.mark.parametrize("number", [2, 2.0, np.float64(2), np.float32(2), np.int32(2)], ids=lambda n: type(n).__name__)
def test_any_real_number_scales_from_both_sides(number):
    for kernel in (number * Gaussian(0.5), Gaussian(0.5) * number):
        assert type(kernel) is Scaled
        assert kernel == Scaled(2.0, Gaussian(0.5))
        assert kernel([[0.0]])[0, 0] == 2.0
        assert "np." not in repr(kernel)


@pytest.mark.parametrize("other", [1j, "2", None, [2.0], np.array([2.0, 3.0])], ids=label)
def test_nothing_else_combines(other):
    for operation in (
        lambda: Linear() * other,
        lambda: other * Linear(),
        lambda: Linear() + other,
        lambda: other + Linear(),
    ):
        with pytest.raises(TypeError):
            operation()


def test_a_number_cannot_be_added():
    with pytest.raises(TypeError):
        Linear() + 1.0
    with pytest.raises(TypeError):
        1.0 + Linear()


@pytest.mark.parametrize("weight", [0, -1.0, math.inf, math.nan, True, np.float64(-2)], ids=label)
def test_weights_are_positive(weight):
    with pytest.raises(ValueError, match="weight of a kernel must be a positive finite number"):
        weight * Linear()


def test_constructors_check_their_kernels():
    with pytest.raises(TypeError, match="left must be a kernel"):
        Sum(1.0, Linear())
    with pytest.raises(TypeError, match="right must be a kernel"):
        Product(Linear(), 2.0)
    with pytest.raises(TypeError, match="kernel must be a kernel"):
        Scaled(1.0, None)
    with pytest.raises(TypeError, match="inner must be a kernel"):
        Linear().of(2.0)
    with pytest.raises(TypeError, match=r"left must be .* found <class .*; write Linear\(\)"):
        Sum(Linear, Linear())


def test_kernels_inside_kernels_may_be_text():
    assert Sum("gaussian(2)", Linear()) == Gaussian(2) + Linear()
    assert Scaled(2.0, "linear") == 2.0 * Linear()
    assert Polynomial(2).of("linear()") == Polynomial(2).of(Linear())
    assert Gaussian(1.0).of_distance("additive_chi2").inner == AdditiveChi2()
    assert (Gaussian(1.0) + Linear()).replace(right="laplacian(3)") == Gaussian(1.0) + Laplacian(3)
    with pytest.raises(KernelSyntaxError, match="did you mean 'Linear'"):
        Polynomial(2).of("linaer")


def test_kernels_can_be_summed():
    assert sum([Linear(), Gaussian(1.0), Linear()]) == Linear() + Gaussian(1.0) + Linear()


@pytest.mark.parametrize("outer", [Gaussian(1.0), Linear() + Gaussian(1.0), 2 * Gaussian(1.0), Matern()], ids=label)
def test_only_dot_product_kernels_compose(outer):
    with pytest.raises(TypeError, match="only a dot-product kernel can be applied"):
        outer.of(Gaussian(1.0))


def test_the_outer_kernel_cannot_learn():
    with pytest.raises(ValueError, match="kernel values: give a number"):
        Exponential("scale").of(Gaussian(1.0))


# -- values: frozen, equal, hashable, printable ------------------------------------------------------------------------


def test_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        EXPRESSION.left = Linear()
    with pytest.raises(dataclasses.FrozenInstanceError):
        Gaussian(1.0).gamma = 2.0


def test_equality_and_hash():
    assert Gaussian(1) == Gaussian(1.0) == Gaussian(np.float64(1))
    assert len({Gaussian(1), Gaussian(1.0), Gaussian(np.float64(1))}) == 1
    assert Gaussian(1.0) != Laplacian(1.0)
    assert Sum(Linear(), Linear()) != Product(Linear(), Linear())
    assert Linear() + Gaussian() != Gaussian() + Linear()
    assert Maclaurin([1, 2]) == Maclaurin((1.0, 2.0)) == Maclaurin(np.array([1, 2]))
    assert hash(Maclaurin([1, 2])) == hash(Maclaurin((1.0, 2.0)))
    assert {EXPRESSION: 1}[0.7 * Gaussian(0.5) + Polynomial(2, coef0=1.0).of(Laplacian("median")) * Linear()] == 1


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        (Linear(), "Linear()"),
        (Gaussian("scale"), "Gaussian(gamma='scale')"),
        (Polynomial(np.int64(3), coef0=1), "Polynomial(degree=3, gamma=1.0, coef0=1)"),
        (Maclaurin((1,)), "Maclaurin(coefficients=(1,), tol=1e-15, radius=inf)"),
        (Maclaurin(np.array([1.0, 0.5])), "Maclaurin(coefficients=(1.0, 0.5), tol=1e-15, radius=inf)"),
        (np.float64(0.5) * Linear(), "0.5 * Linear()"),
        (2 * (3 * Linear()), "2 * (3 * Linear())"),
        (2 * (Linear() * Linear()), "2 * (Linear() * Linear())"),
        (2 * Linear() * Linear(), "2 * Linear() * Linear()"),
        (Linear() * (2 * Linear()), "Linear() * (2 * Linear())"),
        (Linear() * (Linear() * Linear()), "Linear() * (Linear() * Linear())"),
        ((Linear() + Linear()) * Linear(), "(Linear() + Linear()) * Linear()"),
        (Linear() + (Linear() + Linear()), "Linear() + (Linear() + Linear())"),
        (Linear() + Linear() + Linear(), "Linear() + Linear() + Linear()"),
        (VovkReal(2).of(Linear() + Linear()), "VovkReal(degree=2).of(Linear() + Linear())"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_repr(kernel, text):
    assert repr(kernel) == text


def test_pickle():
    assert pickle.loads(pickle.dumps(EXPRESSION)) == EXPRESSION
    assert pickle.loads(pickle.dumps(Maclaurin(math.factorial))).coefficients is math.factorial


# -- parameters --------------------------------------------------------------------------------------------------------


def test_get_params():
    assert Polynomial(3).get_params() == {"degree": 3, "gamma": 1.0, "coef0": 0.0}
    assert Linear().get_params() == {}
    params = EXPRESSION.get_params()
    assert params["left"] == 0.7 * Gaussian(0.5)
    assert params["left__weight"] == 0.7
    assert params["left__kernel__gamma"] == 0.5
    assert params["right__left__outer__coef0"] == 1.0
    assert params["right__left__inner__gamma"] == "median"
    assert set(EXPRESSION.get_params(deep=False)) == {"left", "right"}


def test_every_parameter_can_be_replaced_by_itself():
    for name, value in EXPRESSION.get_params().items():
        assert EXPRESSION.replace(**{name: value}) == EXPRESSION


def test_replace():
    changed = EXPRESSION.replace(left__kernel__gamma=2.0, left__weight=3.0, right__right=VovkReal(2))
    assert changed == 3.0 * Gaussian(2.0) + Polynomial(2, coef0=1.0).of(Laplacian("median")) * VovkReal(2)
    assert EXPRESSION.left.kernel.gamma == 0.5
    assert (Linear() + Linear()).replace(left=Gaussian(1.0), left__gamma=2.0) == Gaussian(2.0) + Linear()
    assert Maclaurin((1,)).replace(coefficients=[2, 3]) == Maclaurin((2, 3))


@pytest.mark.parametrize("name", ["gamma", "left__gama", "left__kernel__gamma__x", "left__weight__x", "", "__"])
def test_replace_refuses_what_is_not_there(name):
    with pytest.raises(ValueError, match="has no parameter"):
        EXPRESSION.replace(**{name: 1.0})


def test_replace_checks_values():
    with pytest.raises(ValueError, match="gamma must be"):
        EXPRESSION.replace(left__kernel__gamma=-1.0)
    with pytest.raises(ValueError, match="weight"):
        EXPRESSION.replace(left__weight=0.0)


class Holder(BaseEstimator):
    def __init__(self, kernel=None):
        self.kernel = kernel


def test_sklearn_clone():
    assert clone(EXPRESSION) is EXPRESSION
    assert clone(Holder(EXPRESSION)).kernel is EXPRESSION
    assert Holder(EXPRESSION).get_params()["kernel__left__kernel__gamma"] == 0.5


# -- what maps ask for -------------------------------------------------------------------------------------------------

DOT = [
    Linear(),
    Polynomial(3, gamma=0.5, coef0=2.0),
    Exponential(1.5),
    VovkReal(4),
    VovkInfinite(),
    Maclaurin((1.0, 0.0, 3.0)),
    Maclaurin(lambda n: 1.0 / (n + 1)),
]


def padded(coefficients, count):
    """Return the first coefficients; NumPy drops zeros at the end."""
    return np.pad(coefficients, (0, count))[:count]


@pytest.mark.parametrize("left", DOT, ids=lambda kernel: type(kernel).__name__)
@pytest.mark.parametrize("right", DOT, ids=lambda kernel: type(kernel).__name__)
@pytest.mark.parametrize("count", [1, 2, 7])
def test_series_of_sums_and_products(left, right, count):
    a, b = left.series(count), right.series(count)
    np.testing.assert_allclose((left + right).series(count), padded(P.polyadd(a, b), count))
    np.testing.assert_allclose((left * right).series(count), padded(P.polymul(a, b), count), rtol=1e-13, atol=1e-300)
    np.testing.assert_allclose((0.3 * left + right * 2).series(count), padded(P.polyadd(0.3 * a, 2 * b), count))


@pytest.mark.parametrize(
    "kernel", [*DOT, DOT[1] * DOT[3] + 0.5 * DOT[2], DOT[4] * DOT[0]], ids=lambda k: type(k).__name__
)
def test_series_adds_up_to_the_kernel(kernel):
    x = np.array([[0.5, 0.2]])
    t = float(x[0] @ x[0])
    np.testing.assert_allclose(P.polyval(t, kernel.series(60)), kernel(x)[0, 0], rtol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "degree"),
    [
        (Linear(), 1),
        (Polynomial(3), 3),
        (VovkReal(4), 3),
        (Maclaurin((1, 2, 3)), 2),
        (Exponential(), None),
        (VovkInfinite(), None),
        (Maclaurin(lambda n: 1.0), None),
        (Polynomial(3) + Linear(), 3),
        (Polynomial(3) * VovkReal(4), 6),
        (2 * Polynomial(3), 3),
        (Polynomial(3) + Exponential(), None),
        (Polynomial(3) * Exponential(), None),
    ],
    ids=label,
)
def test_max_degree(kernel, degree):
    assert kernel.max_degree == degree
    if degree is not None:
        series = kernel.series(degree + 5)
        assert series[degree] > 0
        assert not series[degree + 1 :].any()


def test_families():
    assert (Linear() * VovkReal(2) + 2 * Exponential()).is_dot_product
    assert not (Linear() + Gaussian()).is_dot_product
    assert not (Linear() + Gaussian()).is_shift_invariant
    assert (2 * Gaussian() * Cauchy() + Matern()).is_shift_invariant
    assert Polynomial(2).of(Gaussian()).is_shift_invariant
    assert not Polynomial(2).of(Linear()).is_shift_invariant
    assert (VovkInfinite() + Linear()).radius == (2 * VovkInfinite() * Linear()).radius == 1.0


def test_amplitude():
    kernel = 0.5 * Gaussian() + 2 * (Laplacian() * (3 * Cauchy()))
    assert kernel.amplitude == 6.5
    assert Polynomial(2, coef0=1.0).of(2 * Gaussian()).amplitude == 9.0
    assert VovkInfinite().of(0.5 * Gaussian()).amplitude == 2.0
    with pytest.raises(ValueError, match="below 1"):
        _ = VovkInfinite().of(Gaussian()).amplitude


@pytest.mark.parametrize(
    "kernel", [Gaussian(), Linear() + Gaussian(), Linear().of(Gaussian()), 2 * Matern()], ids=label
)
def test_no_series_outside_the_family(kernel):
    with pytest.raises(ValueError, match="no Maclaurin series"):
        kernel.series(3)


@pytest.mark.parametrize(
    "kernel", [Linear(), Linear() + Gaussian(), Linear().of(Linear()), 2 * Exponential()], ids=label
)
def test_no_amplitude_outside_the_family(kernel):
    with pytest.raises(ValueError, match="not shift-invariant"):
        _ = kernel.amplitude


@pytest.mark.parametrize("scale", [1e-8, 1e-3, 1.0, 1e3, 1e8, 1e12, 1e20])
@pytest.mark.parametrize("outer", [Gaussian(0.5), Matern(0.5), 2.0 * Matern(1.5) + Gaussian(3.0)], ids=repr)
@pytest.mark.parametrize("inner", [Polynomial(3), AdditiveChi2(), Laplacian(0.1)], ids=repr)
def test_distances_are_right_or_refused(inner, outer, scale):
    X = scale * np.abs(np.random.default_rng(0).normal(size=(6, 4)))
    kernel = outer.of_distance(inner)
    if scale > 1.0:
        with contextlib.suppress(ValueError):  # "loses its digits"
            np.testing.assert_allclose(kernel(X).diagonal(), kernel.diag(X), rtol=1e-4)
        return
    np.testing.assert_allclose(kernel(X).diagonal(), kernel.diag(X), rtol=1e-4)


def test_distances_that_are_rounding_are_refused():
    X = 1e3 * np.abs(np.random.default_rng(0).normal(size=(6, 4)))
    with pytest.raises(ValueError, match=r"loses its digits where k\(x, x\) \+ k\(y, y\).*scale the rows down"):
        Gaussian(0.5).of_distance(Polynomial(3))(X)
    assert Gaussian(1e-18).of_distance(Polynomial(3))(X).min() < 1.0
