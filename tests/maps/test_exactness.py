"""Cases in which a random map is exact, or its variance can be computed by enumeration."""

import itertools

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from mercer import ComplexSketch, Compressed, HadamardSketch, RandomMaclaurin, TaylorSketch, TensorSketch, TreeSketch
from mercer._random import Stream
from mercer.kernels import Exponential, Linear, Maclaurin, Polynomial
from mercer.maps.complex_sketch import Rademacher, Srht
from mercer.maps.hadamard_sketch import ComplexHashes
from mercer.maps.maclaurin_products import RandomProducts
from mercer.maps.random_maclaurin import MaclaurinParameters
from mercer.maps.tensor_sketch import Hashes

from ..tables import obeying, sample_rows

PAIR = np.array([[0.3, -1.1], [0.8, 0.5]])


@pytest.mark.parametrize("row", obeying("one_hot"))
def test_one_hot_rows_have_exact_norms(row):
    X = np.eye(6)
    expected = row.kernel.diag(X)
    for seed in range(5):
        Z = row(10, random_state=seed).fit_transform(X)
        np.testing.assert_allclose((Z * Z).sum(axis=1), expected, rtol=1e-12)


def all_arrays(values, shape):
    for entries in itertools.product(values, repeat=int(np.prod(shape))):
        yield np.array(entries).reshape(shape)


def tensor_draws(D):
    for buckets in all_arrays(range(D), (2, 2)):
        for signs in all_arrays((-1, 1), (2, 2)):
            yield Hashes(buckets.astype(np.int32), signs.astype(np.int8))


def hadamard_draws(D):
    for buckets in all_arrays(range(1 << ((D + 1) // 2 - 1).bit_length()), (2, 2)):
        for turns in all_arrays(range(4), (2, 2)):
            yield ComplexHashes(buckets.astype(np.int32), turns.astype(np.int8))


def srht_draws(D):
    orders = [np.array(order)[: (D + 1) // 2] for order in itertools.permutations(range(2))]
    for turns in all_arrays(range(4), (1, 2, 2)):
        for outputs in itertools.product(orders, repeat=2):
            yield Srht(turns.astype(np.int8), np.stack(outputs).astype(np.int32))


def rademacher_draws(D):
    for turns in all_arrays(range(4), ((D + 1) // 2, 2, 2)):
        yield Rademacher(turns.astype(np.int8))


def maclaurin_parameters(random):
    return MaclaurinParameters(np.zeros(0, dtype=np.int64), np.zeros(0), random, np.ones(1))


def maclaurin_draws(D):
    for signs in all_arrays((-1, 1), (2 * D, 2)):
        random = RandomProducts(np.full(D, D**-0.5), np.full(D, 2, dtype=np.int32), signs.astype(np.int8))
        yield maclaurin_parameters(random)


ENUMERATED = [
    pytest.param(TensorSketch, {}, tensor_draws, id="TensorSketch"),
    pytest.param(HadamardSketch, {}, hadamard_draws, id="HadamardSketch"),
    pytest.param(ComplexSketch, {"projection": "srht"}, srht_draws, id="ComplexSketch-srht"),
    pytest.param(ComplexSketch, {"projection": "rademacher"}, rademacher_draws, id="ComplexSketch-rademacher"),
    pytest.param(RandomMaclaurin, {}, maclaurin_draws, id="RandomMaclaurin"),
]


# A sketch of complex signs has 65,536 draws at D = 3; the others have fewer there than at D = 4.
@pytest.mark.parametrize(
    ("make", "options", "draws", "D"),
    [
        pytest.param(*one.values, D, id=f"{one.id}-{D}", marks=pytest.mark.full if most < D else ())
        for one in ENUMERATED
        for most in [2 if "rademacher" in one.id else 3]
        for D in (1, 2, 3, 4)
    ],
)
def test_the_variance_equals_the_enumeration_of_every_draw(make, options, draws, D):
    fitted = make(Polynomial(2), n_components=D, **options).fit(PAIR)
    grams = np.array([Z @ Z.T for Z in (fitted.construction_.apply(params, PAIR) for params in draws(D))])
    grams = np.moveaxis(grams, 0, -1).copy(order="C")  # NumPy adds in pairs along the last axis only
    np.testing.assert_allclose(grams.mean(axis=-1), Polynomial(2)(PAIR), rtol=1e-12)
    np.testing.assert_allclose(grams.var(axis=-1), fitted.variance(PAIR), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("D", [1, 2])
def test_the_variance_equals_the_enumeration_over_degrees_and_signs(D):
    series = np.array([0.7, 0.4, 0.9])
    fitted = RandomMaclaurin(Maclaurin(tuple(series)), n_components=D, base=3.0).fit(PAIR)
    law = 3.0 ** -np.arange(3) / (3.0 ** -np.arange(3)).sum()
    first = second = 0.0
    for degrees in itertools.product(range(3), repeat=D):
        degrees = np.array(degrees, dtype=np.int32)
        signs = list(all_arrays((-1, 1), (degrees.sum(), 2)))
        weight = law[degrees].prod() / len(signs)
        for draw in signs:
            random = RandomProducts(np.sqrt(series[degrees] / law[degrees] / D), degrees, draw.astype(np.int8))
            Z = fitted.construction_.apply(maclaurin_parameters(random), PAIR)
            first, second = first + weight * Z @ Z.T, second + weight * (Z @ Z.T) ** 2
    np.testing.assert_allclose(first, fitted.kernel_(PAIR), rtol=1e-12)
    np.testing.assert_allclose(second - first**2, fitted.variance(PAIR), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("D", [1, 2, 7, 8])
def test_both_outputs_of_tensor_sketch_have_the_same_inner_products(D):
    X = sample_rows()
    spectrum, time = (
        TensorSketch(Polynomial(3), n_components=D, output=output, random_state=1).fit_transform(X)
        for output in ("spectrum", "time")
    )
    np.testing.assert_allclose(spectrum @ spectrum.T, time @ time.T, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("make", [TensorSketch, HadamardSketch, ComplexSketch, RandomMaclaurin, TreeSketch])
@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_a_homogeneous_kernel_has_homogeneous_features(make, degree):
    X = sample_rows()
    sketch = make(Polynomial(degree), n_components=16, random_state=0).fit(X)
    np.testing.assert_allclose(
        sketch.transform(-3.0 * X), (-3.0) ** degree * sketch.transform(X), rtol=1e-9, atol=1e-12
    )


def naive_count_sketch(row, buckets, signs, width):
    sketch = np.zeros(width)
    for value, bucket, sign in zip(row, buckets, signs, strict=True):
        sketch[bucket] += sign * value
    return sketch


def test_tensor_sketch_is_the_count_sketch_of_the_tensor_power():
    # The definition: coordinate (i, j, k) goes to bucket h1(i) + h2(j) + h3(k) with sign s1(i) s2(j) s3(k).
    X, D = sample_rows(3, 4), 11
    sketch = TensorSketch(Polynomial(3), n_components=D, output="time", random_state=5).fit(X)
    buckets, signs = sketch.parameters_
    expected = np.zeros((3, D))
    for i, j, k in itertools.product(range(4), repeat=3):
        bucket = (buckets[0, i] + buckets[1, j] + buckets[2, k]) % D
        expected[:, bucket] += int(signs[0, i]) * int(signs[1, j]) * int(signs[2, k]) * X[:, i] * X[:, j] * X[:, k]
    np.testing.assert_allclose(sketch.transform(X), expected, rtol=1e-12, atol=1e-14)


def test_hadamard_sketch_is_the_sum_over_the_tensor_power():
    X, D = sample_rows(3, 4), 12
    sketch = HadamardSketch(Polynomial(2), n_components=D, random_state=5).fit(X)
    buckets, turns = sketch.parameters_
    z = np.zeros((3, D // 2), dtype=complex)
    for i, j in itertools.product(range(4), repeat=2):
        hashed = int(buckets[0, i] ^ buckets[1, j])
        for feature in range(D // 2):
            parity = (-1) ** (hashed & feature).bit_count()
            z[:, feature] += parity * 1j ** int(turns[0, i] + turns[1, j]) * X[:, i] * X[:, j]
    expected = np.sqrt(2 / D) * np.stack([z.real, z.imag], axis=2).reshape(3, D)
    np.testing.assert_allclose(sketch.transform(X), expected, rtol=1e-12, atol=1e-14)


def test_count_sketch_equals_its_definition():
    from mercer._array import count_sketch

    X, stream = sample_rows(4, 9), Stream(3)
    buckets, signs = stream.child("b").buckets(5, (9,)), stream.child("s").signs((9,))
    expected = [naive_count_sketch(row, buckets, signs, 5) for row in X]
    np.testing.assert_allclose(count_sketch(X, buckets, signs, 5), expected, rtol=1e-13)


def test_compression_to_the_full_width_keeps_every_inner_product():
    # All rows of an orthogonal matrix: a scale that is wrong by 1 % shows to the last digit.
    X = sample_rows()
    narrow = Compressed(ComplexSketch(Polynomial(4)), n_components=32, factor=1, random_state=0).fit(X)
    inner = narrow.map_.fitted_.apply(X)
    Z = narrow.transform(X)
    np.testing.assert_allclose(Z @ Z.T, inner @ inner.T, rtol=1e-11, atol=1e-13)


def test_fold_moves_a_linear_model_to_the_wide_features():
    X = sample_rows()
    narrow = Compressed(TensorSketch(Polynomial(3)), n_components=12, factor=3, random_state=0).fit(X)
    inner = narrow.map_.transform(X)
    coef = np.random.default_rng(0).normal(size=(2, 12))
    np.testing.assert_allclose(inner @ narrow.fold(coef).T, narrow.transform(X) @ coef.T, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(inner @ narrow.fold(coef[0]), narrow.transform(X) @ coef[0], rtol=1e-10, atol=1e-12)
    assert narrow.fold(coef.astype(np.float32)).dtype == np.float32
    for wrong in (np.ones((12, 1)), np.ones(11), np.float64(1.0)):
        with pytest.raises(ValueError, match="coef must end in an axis of 12 coefficients, found shape"):
            narrow.fold(wrong)
    with pytest.raises(NotFittedError):
        Compressed(TensorSketch()).fold(coef)


@pytest.mark.parametrize(
    ("n_components", "kept"), [(1, ()), (2, (0,)), (5, (0,)), (6, (1,)), (7, (0, 1)), (8, (0, 1)), (64, (0, 1))]
)
def test_exact_terms_leave_a_random_feature(n_components, kept):
    X = sample_rows()
    sketch = RandomMaclaurin(Exponential(), n_components=n_components, exact_terms=True, random_state=0).fit(X)
    assert sketch.exact_degrees_ == kept
    assert sketch.transform(X).shape == (len(X), n_components)


def test_exact_terms_are_exact():
    X = sample_rows()
    sketch = RandomMaclaurin(Exponential(0.7), n_components=64, exact_terms=True, random_state=0).fit(X)
    Z = sketch.transform(X)[:, :6]
    np.testing.assert_allclose(Z @ Z.T, 1.0 + 0.7 * X @ X.T, rtol=1e-12)


def test_a_kernel_without_higher_degrees_is_exact_with_exact_terms():
    X = sample_rows()
    for kernel in (Linear(), Polynomial(1, coef0=2.0)):
        for width in (6, 10):
            Z = RandomMaclaurin(kernel, n_components=width, exact_terms=True, random_state=0).fit_transform(X)
            np.testing.assert_allclose(Z @ Z.T, kernel(X), rtol=1e-12)


def test_taylor_sketch_of_low_degree_is_exact():
    X = sample_rows()
    for kernel in (Linear(), Polynomial(1, coef0=0.5), Maclaurin((0.3, 0.8))):
        Z = TaylorSketch(kernel, n_components=16, random_state=0).fit_transform(X)
        np.testing.assert_allclose(Z @ Z.T, kernel(X), rtol=1e-11)
