"""The map that is chosen for a kernel supports it, and the rules agree with the docstring."""

import inspect
import re
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mercer import (
    AdditiveMap,
    Composed,
    Nystrom,
    OrthogonalFourier,
    QuasiFourier,
    RandomFourier,
    Stack,
    TaylorSketch,
    TensorProduct,
    TreeSketch,
    feature_map,
    kernel_error,
    maps,
)
from mercer.choose import RULES
from mercer.kernels import (
    AdditiveChi2,
    Cauchy,
    Exponential,
    Gaussian,
    Hellinger,
    Intersection,
    JensenShannon,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    SkewedChi2,
    VovkReal,
    parse,
)

from .. import oracles
from ..kernels.test_exact import KERNELS
from ..tables import sample_rows

SERVED = [kernel for kernel in KERNELS if kernel != Polynomial(2, coef0=-0.5)]


def docstring_table():
    """The rows of the table in the docstring."""
    lines = feature_map.__doc__.splitlines()
    first, head, last = (i for i, line in enumerate(lines) if re.fullmatch(r" *=[= ]+", line))
    starts = [match.start() for match in re.finditer("=+", lines[first])]
    ends = [*starts[1:], None]
    assert head == first + 2
    return [
        tuple(line[start:end].strip() for start, end in zip(starts, ends, strict=True))
        for line in lines[head + 1 : last]
    ]


def test_the_docstring_shows_the_rules():
    assert docstring_table() == [(rule.what, rule.map, rule.why) for rule in RULES]


CHOICES = [
    (Hellinger(), AdditiveMap),
    (0.5 * AdditiveChi2(), AdditiveMap),
    (AdditiveChi2() + 2.0 * Hellinger(), Stack),
    (Intersection() * Gaussian(), TensorProduct),
    (Gaussian(), OrthogonalFourier),
    (0.5 * Gaussian("median") + Matern(1.5), OrthogonalFourier),
    (Gaussian() * Matern(), OrthogonalFourier),
    (Polynomial(2).of(Gaussian()), OrthogonalFourier),
    (Laplacian(), QuasiFourier),
    (Laplacian() * Gaussian() + 2.0 * Cauchy(), QuasiFourier),
    (SkewedChi2(), QuasiFourier),
    (Exponential().of(Laplacian()), RandomFourier),
    (Laplacian() + Exponential().of(Gaussian()), RandomFourier),
    (Exponential().of(SkewedChi2()), RandomFourier),
    (Linear(), TaylorSketch),
    (Polynomial(3, gamma="scale", coef0=1.0), TaylorSketch),
    (Polynomial(6), TaylorSketch),
    (Polynomial(7), TreeSketch),
    (2.0 * Polynomial(9), TreeSketch),
    (Polynomial(7, coef0=0.5), TaylorSketch),
    (Exponential() + 3.0 * VovkReal(3), TaylorSketch),
    (Linear() * Polynomial(2), TaylorSketch),
    (Exponential().of(Polynomial(2)), Nystrom),
    (2.0 * Polynomial(2).of(0.5 * Intersection()), Composed),
    (Exponential().of(AdditiveChi2() + Hellinger()), Composed),
    (Gaussian(0.5).of_distance(AdditiveChi2()), Composed),
    (0.5 * (Matern(1.5) + Gaussian(0.5)).of_distance(Hellinger()), Composed),
    (Gaussian(0.5).of_distance(Polynomial(2)), Nystrom),
    (Exponential().of(Polynomial(2).of(Linear())), Nystrom),
    (Gaussian() + Linear(), Stack),
    (2.0 * (Gaussian() + Linear()), Stack),
    (SkewedChi2() + SkewedChi2(2.0), Stack),
    (SkewedChi2() + SkewedChi2(), QuasiFourier),
    (Gaussian() * Linear(), TensorProduct),
    (3.0 * (2.0 * (Gaussian() * Linear())), TensorProduct),
]


@pytest.mark.parametrize(("kernel", "make"), CHOICES, ids=lambda value: oracles.label(value))
def test_the_choice(kernel, make):
    chosen = feature_map(kernel, n_components=48, random_state=3)
    assert type(chosen) is make
    assert (chosen.n_components, chosen.random_state) == (48, 3)
    assert not hasattr(chosen, "parameters_")
    assert repr(feature_map(repr(kernel), n_components=48, random_state=3)) == repr(chosen)


def domain_rows(n=60, seed=0):
    """Rows of norm below 1 without negative entries: every kernel is defined there."""
    return np.abs(sample_rows(n, 6, seed))


def one_of_each_map():
    """The kernels as parameters, all but the first that each map serves for ``make test-full`` only."""
    firsts = {type(feature_map(kernel)): kernel for kernel in reversed(SERVED)}.values()
    for kernel in SERVED:
        marks = () if any(kernel is first for first in firsts) else pytest.mark.full
        yield pytest.param(kernel, id=oracles.label(kernel), marks=marks)


@pytest.mark.parametrize("kernel", list(one_of_each_map()))
def test_every_kernel_has_a_map_whose_error_falls(kernel):
    X, Y = domain_rows(1500), domain_rows(40, 1)
    errors = []
    for width in (64, 1024):
        squared = []
        for seed in range(3):
            chosen = feature_map(kernel, n_components=width, random_state=seed)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "TaylorSketch expects")  # at the narrow width
                chosen.fit(X)
            squared.append(kernel_error(chosen, Y).relative ** 2)
        np.testing.assert_allclose(chosen.kernel_(Y), kernel(Y), rtol=1e-13)
        errors.append(np.sqrt(np.mean(squared)))
    assert chosen.kernel_ == kernel
    assert errors[1] < 0.15
    assert errors[1] < 0.6 * errors[0] or errors[0] < 1e-3


def test_weights_move_inside():
    X = domain_rows()
    chosen = feature_map(2.0 * (Laplacian() * (0.5 * (Gaussian() + Linear()))), random_state=0).fit(X)
    assert chosen.kernel_ == (2.0 * Laplacian()) * (0.5 * Gaussian() + 0.5 * Linear())


def test_terms_have_equal_widths():
    three = feature_map(Laplacian() + Linear() + Gaussian() * Linear(), n_components=99, random_state=0)
    three.fit(domain_rows())
    assert three.n_components_ == 99
    assert [three.left_.left_.n_components_, three.left_.right_.n_components_, three.right_.n_components_] == [33] * 3
    four = feature_map((Laplacian() + Linear()) + 2.0 * (Gaussian() + VovkReal(3)), n_components=100)
    assert [map.n_components for map in (four.left.left, four.left.right, four.right.left, four.right.right)] == [
        25
    ] * 4
    for width in (1, 2, 3):
        assert feature_map(three.kernel_, n_components=width).fit(domain_rows()).n_components_ == 3


def test_products_inside_products_do_not_grow():
    kernel = Laplacian() * Linear() * (Gaussian() + Laplacian() * VovkReal(3)) * Linear()
    chosen = feature_map(kernel, n_components=16, random_state=0).fit(domain_rows())
    assert chosen.left_.n_components_ == 32
    assert chosen.left_.left_.left_.n_components_ == 32
    assert chosen.left_.right_.right_.left_.n_components_ == 16
    assert chosen.kernel_ == kernel


leaves = st.sampled_from(
    [Linear(), Polynomial(2, coef0=0.5), Exponential(0.5), Gaussian(0.5), Laplacian(0.3), Matern(1.5), AdditiveChi2()]
)
expressions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(lambda left, right: left + right, inner, inner),
        st.builds(lambda left, right: left * right, inner, inner),
        st.builds(lambda weight, kernel: weight * kernel, st.sampled_from([0.25, 2.0]), inner),
    ),
    max_leaves=5,
)


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(kernel=expressions, n_components=st.integers(1, 40))
def test_any_expression_has_a_map(kernel, n_components):
    X = domain_rows(20)
    chosen = feature_map(kernel, n_components=n_components, random_state=0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "TaylorSketch expects")
        Z = chosen.fit_transform(X)
    assert Z.shape == (20, chosen.n_components_)
    assert chosen.n_components_ >= n_components
    np.testing.assert_allclose(chosen.kernel_(X), kernel(X), rtol=1e-12)
    assert parse(repr(chosen.kernel_)) == chosen.kernel_


@settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(kernel=expressions)
def test_any_expression_is_estimated(kernel):
    X = domain_rows(30)
    chosen = feature_map(kernel, n_components=4096, random_state=0).fit(X)
    assert kernel_error(chosen, X).relative < 0.2


def test_what_is_not_a_kernel():
    with pytest.raises(TypeError, match="kernel must be"):
        feature_map(3)
    with pytest.raises(TypeError, match=r"write Gaussian\(\)"):
        feature_map(Gaussian)
    with pytest.raises(ValueError, match="unknown kernel 'gausian'"):
        feature_map("gausian(1)")
    for width in (0, 2.5, None):
        with pytest.raises(ValueError, match="n_components must be a whole number of at least 1, found"):
            feature_map(Gaussian(), n_components=width)


@pytest.mark.parametrize(
    ("kernel", "outer", "inner"),
    [
        (Exponential().of(AdditiveChi2()), TaylorSketch, AdditiveMap),
        (Polynomial(7).of(AdditiveChi2()), TreeSketch, AdditiveMap),
        (Gaussian(0.5).of_distance(JensenShannon()), OrthogonalFourier, AdditiveMap),
    ],
)
def test_maps_of_compositions(kernel, outer, inner):
    chosen = feature_map(kernel, n_components=32, random_state=0)
    assert (type(chosen.outer), type(chosen.inner)) == (outer, inner)
    assert chosen.fit(domain_rows()).n_components_ == 32


def test_functions_and_matrices():
    words = ["cat", "act", "dog", "god", "cart"]
    letters = feature_map(lambda a, b: len(set(a) & set(b)), n_components=5, random_state=0)
    assert type(letters) is Nystrom
    assert letters.fit_transform(words).shape[0] == 5
    gram = Gaussian(0.5)(domain_rows())
    given = feature_map("precomputed", n_components=32, random_state=0)
    assert (type(given), given.kernel) == (Nystrom, "precomputed")
    Z = given.fit_transform(gram)
    assert np.linalg.norm(Z @ Z.T - gram) < 0.05 * np.linalg.norm(gram)


def test_kernels_without_another_map_get_nystrom():
    kernel = Exponential(0.5).of(Gaussian() * Linear())
    assert type(feature_map(kernel)) is Nystrom
    assert feature_map(kernel, n_components=32, random_state=0).fit(domain_rows()).kernel_ == kernel


def test_a_rule_knows_the_kernel_of_every_map():
    """Nystrom serves any kernel, so that a missing rule would go unnoticed."""
    for map in maps.MAPS:
        kernel = inspect.signature(map).parameters.get("kernel")
        if kernel is not None and map is not Nystrom:
            assert type(feature_map(kernel.default)) is not Nystrom, map.__name__
