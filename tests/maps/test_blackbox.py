"""Nystrom on strings and other objects, and on precomputed kernel matrices."""

import copy
import pickle
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import estimator_checks_generator

from mercer import (
    Calibrated,
    Composed,
    Compressed,
    Nystrom,
    RandomFourier,
    Stack,
    TensorProduct,
    kernel_error,
)
from mercer.kernels import Gaussian, Linear

TEXT = """
    kernel kernels colonel journal eternal landmark landmarks benchmark bookmark feature features creature fracture
    matrix matrices metric symmetric trace traces tracer racer race sketch sketches sketched fetched stretched
"""
WORDS = TEXT.split()


def spectrum(left, right, length=2):
    """The spectrum kernel: how many pairs of substrings of this length two words share."""
    a, b = (Counter(word[i : i + length] for i in range(len(word) - length + 1)) for word in (left, right))
    return sum(count * b[part] for part, count in a.items())


def gaussian(x, y):
    return float(np.exp(-0.2 * ((x - y) ** 2).sum()))


def gram(kernel, X, Y):
    return np.array([[kernel(x, y) for y in Y] for x in X], dtype=float)


def rows(n=60, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


FORMS = [list, tuple, np.array, pd.Series, lambda words: np.array(words, dtype=object)]


@pytest.mark.parametrize("rule", ["uniform", "leverage", "rpcholesky"])
@pytest.mark.parametrize("form", FORMS)
def test_strings_are_mapped(form, rule):
    K = gram(spectrum, WORDS, WORDS)
    nystrom = Nystrom(spectrum, landmarks=rule, random_state=0).fit(form(WORDS))
    Z = nystrom.transform(form(WORDS))
    assert Z.dtype == np.float64
    assert Z.shape == (len(WORDS), np.linalg.matrix_rank(K))
    np.testing.assert_allclose(Z @ Z.T, K, atol=1e-9 * K.max())
    assert kernel_error(nystrom, form(WORDS)).relative < 1e-9
    # For new words, the features are the projection on the span of the landmarks.
    new = ["kernelise", "sketching", "xyz"]
    np.testing.assert_allclose(nystrom.transform(form(new)) @ Z.T, gram(spectrum, new, WORDS), atol=1e-9 * K.max())


@pytest.mark.parametrize("rule", ["uniform", "leverage", "rpcholesky"])
def test_few_landmarks_of_strings(rule):
    nystrom = Nystrom(spectrum, n_components=10, landmarks=rule, random_state=0).fit(WORDS)
    chosen = [WORDS[i] for i in nystrom.component_indices_]
    assert len(set(chosen)) == 10
    assert nystrom.parameters_.landmarks.tolist() == chosen
    Z, K = nystrom.transform(WORDS), gram(spectrum, WORDS, WORDS)
    residual = K - Z @ Z.T
    assert np.linalg.eigvalsh(residual).min() > -1e-9
    assert nystrom.residual_trace_.trace == pytest.approx(np.trace(residual))
    given = Nystrom(spectrum, landmarks=chosen).fit(WORDS)
    assert given.component_indices_ is None
    np.testing.assert_allclose(given.transform(WORDS), Z, rtol=1e-9, atol=1e-9)
    by_number = Nystrom(spectrum, landmarks=nystrom.component_indices_.tolist()).fit(WORDS)
    np.testing.assert_allclose(by_number.transform(WORDS), Z, rtol=1e-9, atol=1e-9)
    restored = pickle.loads(pickle.dumps(nystrom))
    np.testing.assert_array_equal(restored.transform(WORDS), Z)
    classes = np.array(["k" in word for word in WORDS])
    model = make_pipeline(Nystrom(spectrum, n_components=20, random_state=0), LogisticRegression(C=100.0))
    assert model.fit(WORDS, classes).score(WORDS, classes) > 0.9


def test_any_objects_are_mapped():
    sets = [{1, 2}, {2, 3}, {1, 2, 3}, set(), {5}]
    Z = Nystrom(lambda a, b: len(a & b)).fit_transform(sets)
    np.testing.assert_allclose(Z @ Z.T, gram(lambda a, b: len(a & b), sets, sets), atol=1e-12)
    ragged = [[1, 2], [2, 3, 4], [1]]
    nystrom = Nystrom(lambda a, b: len(set(a) & set(b))).fit(ragged)
    # Lists of equal length are not a matrix to a map of lists.
    assert nystrom.transform([[1, 2], [3, 4]]).shape == (2, 3)
    images = rows(12, 4).reshape(12, 2, 2)
    Z = Nystrom(gaussian).fit_transform(images)
    np.testing.assert_allclose(Z @ Z.T, Gaussian(0.2)(images.reshape(12, 4)), atol=1e-9)


def test_numbers_can_be_objects():
    numbers = [1.0, 2.5, 4.0]
    K = gram(min, numbers, numbers)
    for form in (list, tuple, lambda items: np.array(items, dtype=object)):
        nystrom = Nystrom(min).fit(form(numbers))
        Z = nystrom.transform(np.array(numbers))  # what was fitted on objects takes nothing else
        np.testing.assert_allclose(Z @ Z.T, K, atol=1e-12)
    for form in (np.array, pd.Series, lambda items: np.array(items, dtype=int)):
        for estimator in (Nystrom(min), Compressed(Nystrom(min), n_components=2)):
            with pytest.raises(
                ValueError, match=r"(?s)Expected 2D array, .*\(3,\).* a list or an array of dtype object"
            ):
                estimator.fit(form(numbers))


def test_row_numbers_among_whole_numbers():
    numbers = list(range(1, 11))
    for either in ([3, 5], (3, 5), pd.Series([3, 5])):
        with pytest.raises(ValueError, match="give row numbers as a NumPy array of integers, or landmarks"):
            Nystrom(min, landmarks=either).fit(numbers)
    by_number = Nystrom(min, landmarks=np.array([3, 5])).fit(numbers)
    assert by_number.parameters_.landmarks.tolist() == [4, 6]
    np.testing.assert_array_equal(by_number.component_indices_, [3, 5])
    given = Nystrom(min, landmarks=np.array([3, 5], dtype=object)).fit(numbers)
    assert given.parameters_.landmarks.tolist() == [3, 5]
    assert given.component_indices_ is None
    # No whole number among the rows, or others among the landmarks: there is no doubt.
    assert Nystrom(min, landmarks=[3, 5]).fit([n / 2.0 for n in numbers]).parameters_.landmarks.tolist() == [2.0, 3.0]
    assert Nystrom(min, landmarks=[3, 5.5]).fit(numbers).parameters_.landmarks.tolist() == [3, 5.5]


@pytest.mark.parametrize("rule", ["uniform", "kmeans", "leverage", "rpcholesky"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_function_of_rows_is_the_kernel(rule, dtype):
    X = rows().astype(dtype)
    options = {"n_components": 15, "landmarks": rule, "random_state": 0}
    function, kernel = Nystrom(gaussian, **options).fit(X), Nystrom(Gaussian(0.2), **options).fit(X)
    tolerance = 1e-8 if dtype == np.float64 else 1e-5
    for form in (np.asarray, sp.csr_array):
        Z = function.transform(form(X))
        assert Z.dtype == dtype
        np.testing.assert_allclose(Z, kernel.transform(X), rtol=tolerance, atol=tolerance)
    assert function.n_features_in_ == 3
    assert kernel_error(function, X).relative == pytest.approx(kernel_error(kernel, X).relative, rel=1e-3)
    assert function.residual_trace_ == pytest.approx(kernel.residual_trace_, rel=1e-6)
    np.testing.assert_allclose(function.transform(X.tolist()), kernel.transform(X), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("landmarks", ["uniform", "kmeans", list(range(10))], ids=["uniform", "kmeans", "given"])
def test_a_function_is_called_for_landmarks_and_the_trace_is_measured_on_demand(landmarks):
    X, calls = rows(2000), []

    def counted(x, y):
        calls.append(1)
        return gaussian(x, y)

    options = {"n_components": 10, "landmarks": landmarks, "random_state": 0}
    function, kernel = Nystrom(counted, n_jobs=1, **options).fit(X), Nystrom(Gaussian(0.2), **options).fit(X)
    assert len(calls) <= 10 * 10 + 16 * 16 + 16 * 10
    copied = copy.copy(function)
    calls.clear()
    assert function.residual_trace_ == pytest.approx(kernel.residual_trace_, rel=1e-6)
    assert len(calls) >= 2000 * 11
    measured, made = function.residual_trace_, len(calls)
    assert function.residual_trace_ is not None
    assert len(calls) == made  # once
    assert copy.copy(function).residual_trace_ == measured
    assert np.isnan(copied.residual_trace_.trace)
    calls.clear()
    function.transform(X[:7])
    copied.fitted_.linear(np.ones((1, copied.n_components_)))
    assert len(calls) == 7 * 10


def test_what_is_not_a_kernel_may_be_seen_when_the_trace_is_measured():
    X = rows(500)

    def nearly(x, y):  # except for one row, which is not a landmark
        return gaussian(x, y) * (1.0 if (x == X[123]).all() == (y == X[123]).all() else 3.0)

    map = Nystrom(nearly, n_components=10, landmarks=list(range(10)), n_jobs=1, random_state=0).fit(X)
    with pytest.warns(UserWarning, match="not positive semi-definite"):
        assert np.isnan(map.residual_trace_.trace)
    assert np.isnan(map.residual_trace_.trace)


def test_functions_take_torch():
    torch = pytest.importorskip("torch")
    X = rows()
    nystrom = Nystrom(gaussian, n_components=15, random_state=0).fit(X)
    np.testing.assert_allclose(nystrom.transform(torch.from_numpy(X)).numpy(), nystrom.transform(X), atol=1e-12)


@pytest.mark.parametrize("rule", ["uniform", "leverage", "rpcholesky"])
@pytest.mark.parametrize("max_rows", [10_000, 40])
def test_a_precomputed_matrix_is_the_kernel(rule, max_rows):
    X, Y = rows(), rows(20, seed=1)
    kernel = Gaussian(0.2)
    options = {"landmarks": rule, "max_rows": max_rows, "random_state": 3}
    for count in (12, 40):
        direct = Nystrom(kernel, n_components=count, **options).fit(X)
        matrix = Nystrom("precomputed", n_components=count, **options).fit(kernel(X))
        np.testing.assert_array_equal(matrix.component_indices_, direct.component_indices_)
        np.testing.assert_allclose(matrix.transform(kernel(Y, X)), direct.transform(Y), rtol=1e-6, atol=1e-9)
        assert matrix.residual_trace_ == pytest.approx(direct.residual_trace_, rel=1e-6)
        assert matrix.residual_trace_.rows == min(60, max_rows)
        assert kernel_error(matrix, kernel(X)) == pytest.approx(kernel_error(direct, X), rel=1e-6)
    sparse = Nystrom("precomputed", n_components=12, **options).fit(sp.csr_array(kernel(X)))
    np.testing.assert_allclose(
        sparse.transform(sp.csr_array(kernel(Y, X))),
        Nystrom("precomputed", n_components=12, **options).fit(kernel(X)).transform(kernel(Y, X)),
        rtol=1e-9,
        atol=1e-12,
    )


@pytest.mark.parametrize("rule", ["uniform", "leverage", "rpcholesky"])
def test_a_precomputed_matrix_of_float32_is_cut_at_its_own_rounding(rule):
    X = np.repeat(rows(20), 4, axis=0)
    K = Gaussian(0.05)(X).astype(np.float32)
    nystrom = Nystrom("precomputed", landmarks=rule, n_components=60, random_state=0).fit(K)
    Z = nystrom.transform(K)
    assert Z.dtype == np.float32
    assert nystrom.n_components_ <= 20
    np.testing.assert_allclose(Z @ Z.T, K, atol=2e-3)


def test_a_precomputed_kernel_is_split_with_its_columns():
    X = rows(90)
    y = X[:, 0] * X[:, 1] > 0
    model = make_pipeline(Nystrom("precomputed", n_components=30, random_state=0), LogisticRegression(C=100.0))
    assert get_tags(model.steps[0][1]).input_tags.pairwise
    assert not get_tags(Nystrom(Gaussian())).input_tags.pairwise
    assert cross_val_score(model, Gaussian(0.5)(X), y, cv=3).mean() > 0.8


@pytest.mark.parametrize("method", ["craft", "tefm-g", "tefm-s"])
def test_compressed_takes_what_its_map_takes(method):
    K = gram(spectrum, WORDS, WORDS)
    options = {"n_components": 32, "factor": 1, "method": method, "random_state": 0}
    for form in FORMS:
        compressed = Compressed(Nystrom(spectrum, landmarks="rpcholesky"), **options).fit(form(WORDS))
        Z = compressed.transform(form(WORDS))
        assert Z.dtype == np.float64
        # As wide as the inner map at least: nothing is lost.
        np.testing.assert_allclose(Z @ Z.T, K, atol=1e-9 * K.max())
    assert kernel_error(compressed, WORDS).relative < 1e-9
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(compressed)).transform(WORDS), Z)
    twice = Compressed(Compressed(Nystrom(spectrum), n_components=4), n_components=8, method=method).fit(WORDS)
    assert twice.transform(["kernelise"]).shape == (1, 8)
    X = rows(90)
    y = X[:, 0] * X[:, 1] > 0
    model = make_pipeline(Compressed(Nystrom("precomputed"), **options), LogisticRegression(C=100.0))
    assert get_tags(model.steps[0][1]).input_tags.pairwise
    assert not get_tags(Compressed(Nystrom(spectrum))).input_tags.pairwise
    assert cross_val_score(model, Gaussian(0.5)(X), y, cv=3).mean() > 0.8


STRINGS, MATRIX, OUTER = Nystrom(spectrum), Nystrom("precomputed"), RandomFourier(Gaussian(1.0))
BY_WHICH = r"must be a map of a kernel of mercer\.kernels, found one of Precomputed"
NUMBERS = "takes rows of numbers and kernels of mercer.kernels, found objects"


@pytest.mark.parametrize(
    ("map", "X", "error", "message"),
    [
        (Calibrated(STRINGS), WORDS, ValueError, r"Calibrated needs a map of a kernel of mercer\.kernels, .* Pairwise"),
        (
            Calibrated(MATRIX),
            np.eye(9),
            ValueError,
            r"Calibrated needs a map of a kernel of mercer\.kernels, .* Precomp",
        ),
        (Calibrated(Compressed(STRINGS)), WORDS, ValueError, "Calibrated needs a map of a kernel"),
        (Stack(STRINGS, RandomFourier()), WORDS, TypeError, f"Stack {NUMBERS}"),
        (Stack(RandomFourier(Gaussian("scale")), STRINGS), WORDS, TypeError, f"Stack {NUMBERS}"),
        (TensorProduct(RandomFourier(), Compressed(STRINGS)), WORDS, TypeError, f"TensorProduct {NUMBERS}"),
        (Stack(MATRIX, RandomFourier()), np.eye(9), TypeError, f"left {BY_WHICH}"),
        (TensorProduct(RandomFourier(), MATRIX), np.eye(9), TypeError, f"right {BY_WHICH}"),
        (Composed(OUTER, STRINGS), WORDS, TypeError, "inner must be a kernel of .*, found Pairwise"),
        (Composed(OUTER, MATRIX), np.eye(9), TypeError, "inner must be a kernel of .*, found Precomputed"),
        (
            Composed(STRINGS, RandomFourier()),
            np.eye(9),
            ValueError,
            "Composed needs an outer map of .* found .*Pairwise",
        ),
    ],
)
def test_maps_that_need_a_kernel_say_so(map, X, error, message):
    with pytest.raises(error, match=message):
        map.fit(X)


def test_a_function_that_is_not_a_kernel_gives_a_warning():
    K = Linear()(rows(10))
    K -= 2.0 * np.eye(10)
    lowest = np.linalg.eigvalsh(K)[0]
    with pytest.warns(UserWarning, match=rf"not positive semi-definite: .* the eigenvalue {lowest:.3g}, where"):
        nystrom = Nystrom("precomputed").fit(K)
    # What is left is the part with positive eigenvalues.
    values, vectors = np.linalg.eigh(K)
    Z = nystrom.transform(K)
    np.testing.assert_allclose(Z @ Z.T, vectors @ np.diag(np.maximum(values, 0.0)) @ vectors.T, atol=1e-9)
    assert nystrom.n_components_ == (values > 0).sum()
    with pytest.warns(UserWarning, match="has the eigenvalue -2, where the mean of k\\(x, x\\) is -2"):
        Nystrom(lambda a, b: -2.0 * (a == b)).fit(WORDS[:5])
    with pytest.warns(UserWarning, match="not positive semi-definite"):
        Nystrom(lambda a, b: abs(len(a) - len(b)) + 0.1, landmarks="rpcholesky").fit(WORDS)


def test_rounding_is_no_reason_to_warn():
    X = 1e-3 * rows(200)
    Nystrom(gaussian, n_components=100, random_state=0).fit(X)
    Nystrom("precomputed", random_state=0).fit(Gaussian(0.2)(X))
    Nystrom("precomputed", random_state=0).fit(Gaussian(0.2)(X).astype(np.float32))


def fails(value):
    return lambda a, b: value if {a, b} == {"race", "racer"} else float(a == b)


@pytest.mark.parametrize(
    ("kernel", "X", "options", "error", "message"),
    [
        (fails(np.nan), WORDS, {}, ValueError, r"kernel <lambda>\('rac.*returned nan; expected a finite number"),
        (fails(np.inf), WORDS, {}, ValueError, r"\('rac.*', 'rac.*'\) returned inf; expected a finite number"),
        (fails(None), WORDS, {}, TypeError, r"\('rac.*', 'rac.*'\) returned None; expected a number"),
        (lambda a, b: len(a), WORDS, {}, ValueError, "the kernel is not symmetric: .* at landmarks"),
        (
            spectrum,
            WORDS,
            {"landmarks": "kmeans"},
            ValueError,
            "'kmeans' needs rows of numbers, found objects",
        ),
        (spectrum, WORDS, {"landmarks": [1, 99]}, ValueError, "landmarks must be row numbers from 0 to 26, found 99"),
        (spectrum, WORDS, {"landmarks": [1, 1]}, ValueError, "landmarks must name no row twice, found row 1"),
        (spectrum, WORDS, {"landmarks": {"a": 1}}, TypeError, "landmarks must be a sequence of objects, found"),
        (spectrum, WORDS, {"rank": 3, "landmarks": ["ab", "bc"]}, ValueError, "rank must be at most .*, 2, found 3"),
        (spectrum, "kernel", {}, TypeError, "X must be a sequence of objects, found 'kernel'"),
        (spectrum, iter(WORDS), {}, TypeError, "X must be a sequence of objects, found"),
        (spectrum, [], {}, ValueError, "X must hold at least one object, found none"),
        (
            "precomputed",
            np.ones((3, 4)),
            {},
            ValueError,
            r"the square kernel matrix in fit, found shape \(3, 4\)",
        ),
        ("precomputed", np.eye(4), {"landmarks": "kmeans"}, ValueError, "needs rows of numbers, found a precomputed"),
        ("precomputed", np.eye(4), {"landmarks": np.eye(4)}, ValueError, "must be row numbers, found a matrix"),
        ("precomputed", np.triu(np.ones((4, 4))), {}, ValueError, "the kernel matrix is not symmetric: 1 and, in .* 0"),
        ("precomputed", np.full((2, 2), np.nan), {}, ValueError, "(?s)NaN.*row 0, column 0"),
    ],
)
def test_bad_input_is_refused(kernel, X, options, error, message):
    with pytest.raises(error, match=message):
        Nystrom(kernel, **options).fit(X)


def test_bad_input_of_transform():
    strings = Nystrom(spectrum).fit(WORDS)
    for wrong in (sp.csr_array(np.eye(2)), pd.DataFrame({"a": WORDS}), "kernel", 3.0):
        with pytest.raises(TypeError, match="X must be a sequence of objects, found"):
            strings.transform(wrong)
    with pytest.raises(ValueError, match=r"returned nan; expected a finite number"):
        Nystrom(lambda a, b: np.nan if "new" in (a, b) else 1.0).fit(WORDS).transform(["kernel", "new"])
    matrix = Nystrom("precomputed").fit(np.eye(4))
    with pytest.raises(ValueError, match="X has 3 features, but Nystrom is expecting 4"):
        matrix.transform(np.ones((2, 3)))
    with pytest.raises(ValueError, match=r"no value for two new rows: .* found shape \(2, 4\)"):
        kernel_error(matrix, np.ones((2, 4)))
    with pytest.raises(NotImplementedError, match="the mean of Nystrom is not known"):
        strings.mean(WORDS)
    with pytest.raises(ValueError, match="'precomputed' cannot be part of an expression: give it alone"):
        Compressed(Nystrom("precomputed!"), n_components=2).fit(np.eye(4))
    with pytest.raises(TypeError, match="kernel must be a kernel"):
        Compressed(Nystrom(3), n_components=2).fit(np.eye(4))


CHECKED = {
    "precomputed": Nystrom("precomputed", n_components=8),
    "precomputed-rpcholesky": Nystrom("precomputed", n_components=8, landmarks="rpcholesky"),
    "precomputed-compressed": Compressed(Nystrom("precomputed"), n_components=8),
    "function": Nystrom(gaussian, n_components=8),
    "function-compressed": Compressed(Nystrom(gaussian), n_components=8, factor=1),
}


def checks():
    """Every check of scikit-learn, by itself: one that is skipped must not end the others."""
    for name, estimator in CHECKED.items():
        marks = () if name in ("precomputed", "function-compressed") else pytest.mark.full
        for instance, check in estimator_checks_generator(estimator):
            yield pytest.param(instance, check, id=f"{name}-{check.func.__name__}", marks=marks)


@pytest.mark.filterwarnings("ignore:the kernel matrix is not positive:UserWarning")
@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_estimator_checks(estimator, check):
    check(estimator)
