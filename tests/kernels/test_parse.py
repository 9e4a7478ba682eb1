"""Kernels from text: the inverse of ``repr``, operators as in Python, and errors that point at the mistake."""

from __future__ import annotations

import contextlib
import copy
import pickle
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import kernel_metrics, pairwise_kernels
from sklearn.svm import SVC

from mercer import kernels
from mercer.kernels import (
    AdditiveChi2,
    Cauchy,
    Composition,
    DistanceComposition,
    Exponential,
    Gaussian,
    Hellinger,
    Intersection,
    JensenShannon,
    Kernel,
    Laplacian,
    Linear,
    Maclaurin,
    Matern,
    Polynomial,
    Product,
    Scaled,
    SkewedChi2,
    SkewedIntersection,
    Sum,
    VovkInfinite,
    VovkReal,
    parse,
)
from mercer.kernels.parse import MAX_DEPTH, MAX_LENGTH, MAX_OPERATIONS, KernelSyntaxError

from ..tables import quick_and_full

positive = st.floats(min_value=0, exclude_min=True, allow_infinity=False) | st.integers(1, 10**20)
bandwidths = positive | st.sampled_from(["scale", "median"])
by_column = bandwidths | st.lists(positive, min_size=1, max_size=6).map(tuple)
degrees = st.integers(1, 10**6)
coefficients = st.lists(st.floats(0, 1e300) | st.integers(0, 9), min_size=1, max_size=6)
maclaurins = st.builds(
    lambda given, tol, radius: Maclaurin(given, tol=tol, radius=radius),
    coefficients.map(tuple) | coefficients,
    positive,
    positive | st.just(float("inf")),
)
outers = st.one_of(
    st.just(Linear()),
    st.just(VovkInfinite()),
    degrees.map(VovkReal),
    positive.map(Exponential),
    maclaurins,
    st.builds(lambda d, g, c: Polynomial(d, gamma=g, coef0=c), degrees, positive, st.floats(-1e9, 1e9)),
)
radials = positive.map(Gaussian) | st.builds(lambda g, w: w * Gaussian(g) + Matern(1.5), positive, positive)
leaves = st.one_of(
    outers,
    st.sampled_from([AdditiveChi2(), Hellinger(), Intersection(), JensenShannon()]),
    positive.map(SkewedChi2),
    positive.map(SkewedIntersection),
    by_column.map(Gaussian),
    by_column.map(Laplacian),
    by_column.map(Cauchy),
    bandwidths.map(Exponential),
    st.builds(lambda nu, scale: Matern(nu, length_scale=scale), positive, by_column),
    st.builds(lambda d, g: Polynomial(d, gamma=g), degrees, bandwidths),
)
expressions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(Sum, inner, inner),
        st.builds(Product, inner, inner),
        st.builds(Scaled, positive, inner),
        st.builds(Composition, outers, inner),
        st.builds(DistanceComposition, radials, inner),
    ),
    max_leaves=12,
)


EXAMPLES = quick_and_full(100, 300)


def tried(count):
    """Run this many examples, the same ones every time."""
    return settings(derandomize=True, max_examples=count, deadline=None)


@pytest.mark.parametrize("examples", EXAMPLES)
def test_parse_inverts_repr(examples):
    @tried(examples)
    @given(expressions)
    def inverts(kernel):
        assert parse(repr(kernel)) == kernel
        assert repr(parse(repr(kernel))) == repr(kernel)

    inverts()


PLAIN = {name.lower(): getattr(kernels, name) for name in kernels.__all__}
texts = st.recursive(
    st.sampled_from(
        ["linear()", "gaussian(0.5)", "vovkreal(degree=3)", "polynomial(2, coef0=1.0)", "2", "0.5", "1e-3"]
    ),
    lambda inner: st.one_of(
        st.builds("{} + {}".format, inner, inner),
        st.builds("{}*{}".format, inner, inner),
        st.builds("({})".format, inner),
        inner.map("polynomial(3).of({})".format),
    ),
    max_leaves=8,
)


def outcome(read, text):
    try:
        kernel = read(text)
    except (TypeError, ValueError):
        return "refused"
    return kernel if isinstance(kernel, Kernel) else "refused"


@settings(derandomize=True, max_examples=300, deadline=None)
@given(texts)
def test_means_what_python_means(text):
    found = outcome(parse, text)
    if found == "refused" and "+" in text:  # numbers are multiplied but never added, also where Python could
        with pytest.raises(KernelSyntaxError, match="found a number"):
            parse(text)
    else:
        assert found == outcome(lambda text: eval(text, {"__builtins__": {}}, PLAIN), text)


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        ("0.7 * gaussian(2) * linear()", Product(Scaled(0.7, Gaussian(2)), Linear())),
        ("gaussian(2) * 0.7 * linear()", Product(Scaled(0.7, Gaussian(2)), Linear())),
        ("2*3*linear()", Scaled(6, Linear())),
        ("linear()*2*3", Scaled(3, Scaled(2, Linear()))),
        ("2*(3*linear())", Scaled(2, Scaled(3, Linear()))),
        ("linear()+linear()*linear()", Sum(Linear(), Product(Linear(), Linear()))),
        ("(linear()+linear())*linear()", Product(Sum(Linear(), Linear()), Linear())),
        ("linear()+linear()+linear()", Sum(Sum(Linear(), Linear()), Linear())),
        ("2*vovkreal(2).of(linear())", Scaled(2, Composition(VovkReal(2), Linear()))),
        ("(((linear())))", Linear()),
        (" \n linear ( \t ) \n", Linear()),
        ("GAUSSIAN()", Gaussian()),
        ("vovk_real(4)", VovkReal(4)),
        ("Vovk_Infinite()", VovkInfinite()),
        ("gaussian(1e-3)", Gaussian(1e-3)),
        ("gaussian(.5)", Gaussian(0.5)),
        ("gaussian(5.)", Gaussian(5.0)),
        ("gaussian(1.5E+2,)", Gaussian(150.0)),
        ("gaussian('scale')", Gaussian("scale")),
        ('gaussian("median")', Gaussian("median")),
        ("gaussian((0.5))", Gaussian(0.5)),
        ("polynomial(degree=3, gamma=2, coef0=-1.5)", Polynomial(3, gamma=2, coef0=-1.5)),
        ("matern(2.5, length_scale='median')", Matern(2.5, length_scale="median")),
        ("maclaurin((1, 0, 0.5))", Maclaurin((1, 0, 0.5))),
        ("maclaurin([1, 0, 0.5,], radius=inf)", Maclaurin([1, 0, 0.5])),
        ("maclaurin((2,), radius=INF, tol=1e-9)", Maclaurin((2,), tol=1e-9)),
    ],
)
def test_grammar(text, kernel):
    assert parse(text) == kernel


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("gaussian", Gaussian("scale")),
        ("Matern", Matern(length_scale="scale")),
        ("laplacian", Laplacian("scale")),
        ("cauchy", Cauchy("scale")),
        ("exponential", Exponential("scale")),
        ("polynomial", Polynomial(3, gamma="scale")),
        ("linear", Linear()),
        ("additive_chi2", AdditiveChi2()),
        ("skewed_chi2", SkewedChi2()),
        ("0.5 * gaussian + linear", 0.5 * Gaussian("scale") + Linear()),
        ("vovk_infinite.of(gaussian)", Composition(VovkInfinite(), Gaussian("scale"))),
    ],
)
def test_a_bare_name_leaves_the_bandwidth_to_the_rows(name, kernel):
    assert parse(name) == kernel


def test_parentheses_call_the_constructor():
    assert parse("gaussian()") == Gaussian() == Gaussian(1.0)
    assert parse("polynomial()") == Polynomial(2)
    assert parse("rbf(0.1)") == Gaussian(0.1)
    assert parse("poly(4, coef0=1)") == Polynomial(4, coef0=1)
    assert parse("chi2(0.5)") == Gaussian(0.5).of_distance(AdditiveChi2())


def test_names_of_scikit_learn_mean_what_they_mean_there():
    X = np.random.default_rng(0).uniform(0.1, 1.0, size=(9, 4))
    variance = X.shape[1] * X.var()
    arguments = {"rbf": {"gamma": 1 / variance}, "poly": {"degree": 3, "gamma": 1 / variance, "coef0": 0.0}}
    arguments |= {"polynomial": arguments["poly"], "laplacian": {"gamma": 1 / variance}}
    for name in kernel_metrics():
        if name in ("sigmoid", "cosine"):
            with pytest.raises(KernelSyntaxError, match="did you mean"):
                parse(name)
            continue
        expected = pairwise_kernels(X, metric=name, **arguments.get(name, {}))
        if name == "additive_chi2":  # which is less than 0: what its sampler maps is half the sums less half of that
            sums = X.sum(axis=1)
            expected = (expected + sums[:, None] + sums[None, :]) / 2.0
        np.testing.assert_allclose(parse(name).resolve(X)(X), expected, rtol=1e-12)
    svc = SVC(kernel="poly").fit(X, np.arange(9) % 2)
    assert parse("poly").resolve(X).gamma == pytest.approx(svc._gamma)
    assert (svc.degree, svc.coef0) == (parse("poly").degree, parse("poly").coef0)


def test_numbers_keep_their_kind():
    assert type(parse("polynomial(3)").degree) is int
    assert type(parse("gaussian(3.0)").gamma) is float
    assert parse("vovk_real(123456789012345678901234567890)").degree == 123456789012345678901234567890


def test_every_exported_kernel_is_known_by_name():
    algebra = {"Kernel", "Composition", "DistanceComposition", "Product", "Scaled", "Sum"}
    arguments = {"Maclaurin": "(1, 2)", "VovkReal": "3"}
    for name in set(kernels.__all__) - algebra - {"parse"}:
        cls = getattr(kernels, name)
        if isinstance(cls, type) and issubclass(cls, Kernel):
            assert isinstance(parse(f"{name.lower()}({arguments.get(name, '')})"), cls)


def test_a_new_kernel_needs_no_change_of_the_parser(monkeypatch):
    cls = type("Brand_New", (Gaussian,), {})
    monkeypatch.setattr(kernels, "Brand_New", cls, raising=False)
    monkeypatch.setattr(kernels, "__all__", [*kernels.__all__, "Brand_New"])
    assert type(parse("brandnew(gamma=2.0)")) is cls


MISTAKES = [
    ("gausian(0.5)", "gausian", "did you mean 'Gaussian'?"),
    ("0.5*linear() + vovk_rael(2)", "vovk_rael", "did you mean 'VovkReal'?"),
    ("quux()", "quux", "unknown kernel 'quux'; expected one of AdditiveChi2, "),
    ("sum(linear(), linear())", "sum", "unknown kernel"),
    ("__import__('os')", "__import__", "unknown kernel"),
    ("gaussian(gama=2)", "gama", "Gaussian has no parameter 'gama'; did you mean 'gamma'?"),
    ("matern(lengthscale=2)", "lengthscale", "did you mean 'length_scale'?"),
    ("linear(x=1)", "x", "it takes none"),
    ("polynomial(2, foo=2)", "foo", "expected one of degree, gamma, coef0"),
    ("polynomial(2, degree=3)", "polynomial(2, degree=3)", "multiple values for argument 'degree'"),
    ("gaussian(1, 2)", "gaussian(1, 2)", "too many positional arguments"),
    ("2*vovk_real() + linear()", "vovk_real()", "missing a required argument: 'degree'"),
    ("gaussian(gamma=1, gamma=1)", "gamma@2", "gamma is given twice"),
    ("polynomial(degree=2, 3)", "3", "positional arguments come first"),
    ("linear() + gaussian(-1)", "gaussian(-1)", "gamma must be a positive finite number"),
    ("gaussian('wide')", "gaussian('wide')", "found 'wide'"),
    ("gaussian(inf)", "gaussian(inf)", "found inf"),
    ("gaussian((1, -2))", "gaussian((1, -2))", "gamma of column 1 must be a positive finite number, found -2"),
    ("gaussian(())", "gaussian(())", "one number per column, found none"),
    ("exponential((1, 2))", "exponential((1, 2))", "found (1, 2)"),
    ("vovk_real(2.5)", "vovk_real(2.5)", "whole number"),
    ("maclaurin((1, -2))", "maclaurin((1, -2))", "a_1 = -2 is negative"),
    ("maclaurin(())", "maclaurin(())", "must not be empty"),
    ("maclaurin((1, 'a'))", "'a'", "expected a number, found"),
    ("linear() + -2*linear()", "-2", "weight of a kernel must be a positive finite number"),
    ("linear()*0", "0", "weight of a kernel must be a positive finite number"),
    ("2 + linear()", "2", "expected a kernel, found a number"),
    ("linear() + 2", "2", "expected a kernel, found a number"),
    ("2*3", "2*3", "expected a kernel, found a number"),
    ("(2).of(linear())", "(2)", "expected a kernel, found a number"),
    ("linear().of(2)", "2", "expected a kernel, found a number"),
    ("gaussian(0.5).of(linear())", "gaussian(0.5).of(linear())", "only a dot-product kernel"),
    ("exponential('scale').of(linear())", "exponential('scale').of(linear())", "kernel values: give a number"),
    ("linear().on(linear())", "on", "expected 'of(kernel)' or 'of_distance(kernel)' after '.'"),
    ("linear().of linear()", "linear@2", "expected '(' after 'of'"),
    ("linear() - linear()", "-", "expected '+', '*' or the end, found '-'"),
    ("linear() linear()", "linear@2", "expected '+', '*' or the end"),
    ("linear()**2", "*@2", "expected a kernel, a number or '('"),
    ("linear())", ")@2", "expected '+', '*' or the end"),
    ("gaussian(0.5", "", "expected ',' or ')', found the end"),
    ("(linear()", "", "expected '+', '*' or ')', found the end"),
    ("linear linear", "linear@2", "expected '+', '*' or the end"),
    ("2*maclaurin", "maclaurin", "maclaurin needs arguments: maclaurin(coefficients=...)"),
    ("vovk_real", "vovk_real", "vovk_real needs arguments: vovk_real(degree=...)"),
    ("sigmoid", "sigmoid", "is not positive definite"),
    ("linear + sigmoid(2)", "sigmoid", "did you mean 'polynomial' or 'gaussian'?"),
    ("cosine", "cosine", "did you mean 'linear' with scale='unit'"),
    ("precomputed", "precomputed", "give it alone, to Nystrom"),
    ("rbv", "rbv", "unknown kernel 'rbv'; did you mean 'rbf'?"),
    ("", "", "expected a kernel, a number or '(', found the end"),
    ("  ", "", "found the end"),
    ("linear() +", "", "found the end"),
    ("gaussian(0.5 0.5)", "0.5@2", "expected ',' or ')'"),
    ("gaussian(,)", ",", "expected a number, a string or a tuple of numbers"),
    ("gaussian(gamma=)", ")", "expected a number, a string or a tuple of numbers"),
    ("gaussian(linear())", "linear", "expected a number, a string or a tuple of numbers"),
    ("gaussian('scale)", "'", "closing quote"),
    ("gaussian(0.5) @ linear()", "@", "found '@'"),
    ("gaussian(- 1)", "-", "found '-'"),
    ("gaussian(nan)", "nan", "expected a number"),
    ("gaussian(0.5); import os", ";", "expected '+', '*' or the end"),
    ("gaussian(True)", "True", "expected a number"),
    ("gaussian(**{})", "*", "expected a number"),
    ("gau\u00dfian(1)", "gau", "unknown kernel 'gau'"),
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake[0])
def test_error_points_at_the_mistake(mistake):
    text, where, reason = mistake
    with pytest.raises(KernelSyntaxError) as caught:
        parse(text)
    *message, shown, carets = str(caught.value).split("\n")
    assert reason in "\n".join(message)
    assert shown == "  " + text
    start, length = carets.index("^"), carets.count("^")
    assert carets == " " * start + "^" * length
    where, _, occurrence = where.partition("@") if where != "@" else (where, "", "")
    if where:
        assert shown[start : start + length] == where
        assert shown[:start].count(where) == int(occurrence or 1) - 1
    else:
        assert start == len(shown.rstrip() if text.strip() else "  ")
        assert length == 1


def test_error_shows_a_window_of_long_text():
    text = "linear() + " * 20 + "gausian() + " + "linear() + " * 20 + "linear()"
    with pytest.raises(KernelSyntaxError) as caught:
        parse(text)
    _, shown, carets = str(caught.value).split("\n")
    start = carets.index("^")
    assert shown[start : start + len("gausian")] == "gausian"
    assert shown.startswith("  ...")
    assert shown.endswith("...")
    assert len(shown) < 200


def test_error_is_printable_and_survives_pickling():
    with pytest.raises(KernelSyntaxError) as caught:
        parse("linear()\n+\x1b[31m\tlinear()")
    assert len(str(caught.value).split("\n")) == 3
    assert "\x1b" not in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize("function", [lambda n: 1.0, max])
def test_a_python_function_cannot_be_read_back(function):
    text = repr(Maclaurin(function))
    with pytest.raises(KernelSyntaxError, match="Python function cannot be read back"):
        parse(text)


@pytest.mark.parametrize("value", [None, 1, b"linear()", Linear()])
def test_only_strings(value):
    with pytest.raises(TypeError, match="read from a string"):
        parse(value)


@settings(derandomize=True, max_examples=300, deadline=None)
@given(st.text(max_size=60) | st.text(alphabet="linear()gaus.of+*-'\"[]=,01e ", max_size=60))
def test_any_text_is_a_kernel_or_a_syntax_error(text):
    with contextlib.suppress(KernelSyntaxError):
        assert isinstance(parse(text), Kernel)


@pytest.mark.parametrize("examples", EXAMPLES)
def test_a_spoiled_character_is_a_kernel_or_a_syntax_error(examples):
    @tried(examples)
    @given(expressions, st.data())
    def is_either(kernel, data):
        text = repr(kernel)
        place = data.draw(st.integers(0, len(text) - 1))
        spoiled = (
            text[:place]
            + data.draw(st.sampled_from(["", "(", ")", "*", ".", "'", "9", "e", "inf", "\x00"]))
            + text[place + 1 :]
        )
        with contextlib.suppress(KernelSyntaxError):
            assert isinstance(parse(spoiled), Kernel)

    is_either()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("(" * 5000 + "linear()" + ")" * 5000, "nested at most"),
        ("(" * MAX_LENGTH, "nested at most"),
        ("linear().of(" * 5000, "nested at most"),
        ("linear()" + "+linear()" * 5000, "operations"),
        ("linear()" + "*2" * 5000, "operations"),
        ("2*" * 5000 + "linear()", "operations"),
        ("linear()" + ".of(linear())" * 5000, "only a dot-product kernel"),
        ("x" * MAX_LENGTH, "unknown kernel"),
        ("gaussian(" + "x" * 50_000 + "=1)", "no parameter"),
        ("gaussian(" + "9" * 90_000 + ")", "digits"),
        ("gaussian(" + "9" * 400 + ")", "too large"),
        ("gaussian(1e" + "9" * 400 + ")", "found inf"),
        ("gaussian('" + "a" * 90_000 + "')", "gamma must be"),
        ("'" * (MAX_LENGTH - 1), "expected"),
        ("\"'" * 40_000, "expected"),
        (" " * MAX_LENGTH, "the end"),
        ("linear()" + " " * MAX_LENGTH, f"at most {MAX_LENGTH} characters"),
        ("maclaurin((" + "1," * 49_000 + "-1))", "negative"),
    ],
    ids=lambda value: value[:20],
)
def test_hostile_text_is_refused_at_once(text, reason):
    begin = time.perf_counter()
    with pytest.raises(KernelSyntaxError, match=reason):
        parse(text)
    assert time.perf_counter() - begin < 5.0


def test_the_largest_expressions_can_be_used():
    deep = parse("linear().of(" * MAX_DEPTH + "linear()" + ")" * MAX_DEPTH)
    long = parse("gaussian(2)" + " + gaussian(2)" * MAX_OPERATIONS)
    for kernel in (deep, long):
        assert parse(repr(kernel)) == kernel
        assert hash(copy.deepcopy(kernel)) == hash(pickle.loads(pickle.dumps(kernel)))
        assert kernel.replace() == kernel
        assert kernel.resolve([[1.0]]) == kernel
    assert long([[0.0]])[0, 0] == MAX_OPERATIONS + 1
