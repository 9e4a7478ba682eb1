"""Stack and TensorProduct: sums and products of kernels by two maps."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import (
    AdditiveMap,
    ComplexSketch,
    Compressed,
    HadamardSketch,
    Nystrom,
    RandomFourier,
    RandomMaclaurin,
    Stack,
    TaylorSketch,
    TensorProduct,
    TensorSketch,
    kernel_error,
)
from mercer._array import count_sketch, row_parts
from mercer.kernels import AdditiveChi2, Exponential, Gaussian, Hellinger, Linear, Polynomial, VovkInfinite
from mercer.maps import tensor_product
from mercer.maps.pair_moments import pair_moments
from mercer.maps.tensor_product import TensorParameters
from mercer.maps.tensor_sketch import Hashes

from ..tables import sample_rows


@pytest.mark.parametrize("join", [Stack, TensorProduct])
def test_the_kernel_is_that_of_both(join):
    X = sample_rows(50)
    left, right = 0.3 * Gaussian("median"), Polynomial(2, gamma="scale")
    kernel = left + right if join is Stack else left * right
    both = join(TaylorSketch(left), TensorSketch(right), n_components=32, random_state=3).fit(X)
    assert both.kernel_ == kernel.resolve(X, 3)


@pytest.mark.parametrize("join", [Stack, TensorProduct])
def test_two_of_the_same_map_are_drawn_apart(join):
    X = sample_rows()
    sketch = TensorSketch(Polynomial(2), random_state=0)
    both = join(sketch, sketch, n_components=32, random_state=0).fit(X)
    assert (both.parameters_.left.signs != both.parameters_.right.signs).any()
    assert (both.parameters_.left.buckets != both.parameters_.right.buckets).any()


@pytest.mark.parametrize("join", [Stack, TensorProduct])
def test_the_seed_is_that_of_the_whole(join):
    X = sample_rows()
    first, second = (
        join(TensorSketch(random_state=inner), HadamardSketch(), n_components=16, random_state=1).fit_transform(X)
        for inner in (0, 1)
    )
    np.testing.assert_array_equal(first, second)
    other = join(TensorSketch(), HadamardSketch(), n_components=16, random_state=2).fit_transform(X)
    assert (other != first).any()


@pytest.mark.parametrize("join", [Stack, TensorProduct])
def test_both_maps_are_fitted_and_those_given_are_not_touched(join):
    X = sample_rows()
    left, right = TensorSketch(n_components=3), ComplexSketch(n_components=5)
    both = join(left, right, n_components=16, random_state=0).fit(X)
    assert not hasattr(left, "parameters_")
    assert not hasattr(right, "parameters_")
    assert (left.n_components, right.n_components) == (3, 5)
    assert both.left_.transform(X).shape == (len(X), both.left_.n_components_)
    assert both.right_.transform(X).shape == (len(X), both.right_.n_components_)


# -- Stack -------------------------------------------------------------------------------------------------------------


def test_a_stack_is_both_maps_side_by_side():
    X = sample_rows()
    stack = Stack(TensorSketch(n_components=6), HadamardSketch(n_components=9), random_state=0).fit(X)
    Z = stack.transform(X)
    assert Z.shape == (len(X), 15)
    np.testing.assert_array_equal(Z[:, :6], stack.left_.transform(X))
    np.testing.assert_array_equal(Z[:, 6:], stack.right_.transform(X))
    np.testing.assert_allclose(stack.variance(X), stack.left_.variance(X) + stack.right_.variance(X))


@pytest.mark.parametrize(
    ("own", "asked", "shared"),
    [
        ((6, 9), None, (6, 9)),
        ((1, 1), 64, (32, 32)),
        ((1, 3), 64, (16, 48)),
        ((256, 256), 7, (4, 3)),
        ((1, 1000), 10, (1, 9)),
        ((1000, 1), 10, (9, 1)),
        ((5, 5), 2, (1, 1)),
        ((5, 5), 1, (1, 1)),
    ],
)
def test_the_width_is_shared_in_proportion(own, asked, shared):
    left, right = (TensorSketch(n_components=width) for width in own)
    stack = Stack(left, right, n_components=asked, random_state=0).fit(sample_rows())
    assert (stack.left_.n_components_, stack.right_.n_components_) == shared
    assert stack.n_components_ == sum(shared)
    assert stack.transform(sample_rows()).shape[1] == sum(shared)


def test_stacks_of_stacks():
    X = sample_rows()
    terms = [TensorSketch(Polynomial(2), n_components=20), TensorSketch(Linear(), n_components=30)]
    three = Stack(Stack(*terms), TaylorSketch(0.5 * Gaussian(0.3), n_components=50), random_state=0)
    assert three.fit(X).n_components_ == 100
    assert three.kernel_ == Polynomial(2) + Linear() + 0.5 * Gaussian(0.3)
    three.set_params(n_components=10).fit(X)
    assert [three.left_.left_.n_components_, three.left_.right_.n_components_, three.right_.n_components_] == [2, 3, 5]
    narrow = Compressed(three, n_components=8, factor=4, random_state=0).fit(X)
    assert narrow.map_.n_components_ == 32
    assert kernel_error(three.set_params(n_components=4000).fit(X), X).relative < 0.1


def test_a_weight_is_a_root_in_the_features():
    X = sample_rows()
    plain, weighted = (
        Stack(TensorSketch(Linear()), TensorSketch(kernel), n_components=16, random_state=0).fit_transform(X)
        for kernel in (Polynomial(2), 0.09 * Polynomial(2))
    )
    np.testing.assert_array_equal(weighted[:, :8], plain[:, :8])
    np.testing.assert_allclose(weighted[:, 8:], 0.3 * plain[:, 8:], rtol=1e-14)


def test_features_are_sparse_where_those_of_both_are():
    X = np.abs(sample_rows(300, 7))
    X[X < 0.2] = 0.0
    rows = sp.csr_array(X)
    sparse = Stack(AdditiveMap(AdditiveChi2()), AdditiveMap(Hellinger()), n_components=40, random_state=0).fit(X)
    Z = sparse.transform(rows)
    assert sp.issparse(Z)
    assert Z.format == "csr"
    assert Z.nnz == rows.nnz * sparse.n_components_ // 7
    np.testing.assert_allclose(Z.toarray(), sparse.transform(X), rtol=1e-12)
    mixed = Stack(AdditiveMap(AdditiveChi2()), TensorSketch(), n_components=40, random_state=0).fit(X)
    assert type(mixed.transform(rows)) is np.ndarray
    nested = Stack(sparse, mixed, random_state=0).fit(X)
    assert type(nested.transform(rows)) is np.ndarray
    assert sp.issparse(Stack(sparse, sparse, random_state=0).fit(X).transform(rows))


def test_a_product_takes_sparse_features(monkeypatch):
    X = np.abs(sample_rows(30, 7))
    X[X < 0.2] = 0.0
    product = TensorProduct(AdditiveMap(Hellinger()), TensorSketch(Linear()), n_components=16, random_state=0).fit(X)
    hashed = []
    monkeypatch.setattr(tensor_product, "count_sketch", lambda Z, *rest: hashed.append(Z) or count_sketch(Z, *rest))
    monkeypatch.setattr(tensor_product, "row_parts", lambda Z: hashed.append(Z) or row_parts(Z))
    np.testing.assert_allclose(product.transform(sp.csr_array(X)), product.transform(X), rtol=1e-9, atol=1e-12)
    assert [sp.issparse(Z) for Z in hashed] == [True, False, False, False]


@pytest.mark.parametrize("join", [Stack, TensorProduct])
def test_rows_outside_either_domain_are_refused(join):
    X = sample_rows()
    both = join(TensorSketch(Linear()), RandomMaclaurin(VovkInfinite()), n_components=8, random_state=0).fit(X)
    X[2] = 1.0
    with pytest.raises(ValueError, match=r"VovkInfinite.* below 1.*row 2 has 5"):
        both.transform(X)
    with pytest.raises(ValueError, match=r"VovkInfinite.* below 1.*row 2 has 5"):
        both.fit(X)


@pytest.mark.parametrize(("widths", "paired"), [((6, 5), True), ((5, 6), False)])
def test_pairs_of_columns_stay_pairs_where_the_left_map_ends_with_one(widths, paired):
    left, right = (RandomFourier(Gaussian(0.5), n_components=width) for width in widths)
    stack = Stack(left, right, random_state=0).fit(sample_rows())
    assert stack.construction_.paired is paired
    assert Stack(left, TensorSketch(n_components=4)).fit(sample_rows()).construction_.paired is False


@pytest.mark.parametrize("join", [Stack, TensorProduct])
def test_a_function_is_not_a_kernel_to_add_or_multiply(join):
    with pytest.raises(TypeError, match=r"right must be a map of a kernel of mercer\.kernels, found one of Pairwise"):
        join(TensorSketch(), Nystrom(np.dot)).fit(sample_rows())


# -- TensorProduct -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("factor", "widths"), [(1, (8, 8)), (3, (24, 24)), (None, (5, 7))])
def test_the_widths_inside_a_product(factor, widths):
    left, right = TensorSketch(n_components=5), HadamardSketch(Linear(), n_components=7)
    product = TensorProduct(left, right, n_components=8, factor=factor, random_state=0).fit(sample_rows())
    assert (product.left_.n_components_, product.right_.n_components_) == widths
    assert product.transform(sample_rows()).shape[1] == product.n_components_ == 8


def test_a_product_is_the_count_sketch_of_the_tensor_product():
    # The definition: entry (i, j) goes to bucket h1(i) + h2(j) with sign s1(i) s2(j).
    X, D = sample_rows(4), 11
    product = TensorProduct(
        TensorSketch(Polynomial(2), n_components=6),
        HadamardSketch(Linear(), n_components=5),
        n_components=D,
        factor=None,
        random_state=5,
    ).fit(X)
    u, v = product.left_.transform(X), product.right_.transform(X)
    left, right = product.parameters_.left_hashes, product.parameters_.right_hashes
    sketch = np.zeros((4, D))
    for i, j in itertools.product(range(6), range(5)):
        bucket = (left.buckets[i] + right.buckets[j]) % D
        sketch[:, bucket] += int(left.signs[i]) * int(right.signs[j]) * u[:, i] * v[:, j]
    Z = product.transform(X)
    np.testing.assert_allclose(Z @ Z.T, sketch @ sketch.T, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("D", [1, 2, 3, pytest.param(4, marks=pytest.mark.full)])
def test_the_sketch_of_given_features_has_the_stated_mean_and_variance(D):
    # Every draw of buckets and signs for two features a side.
    X = np.array([[0.3, -1.1], [0.8, 0.5]])
    # A linear kernel with a feature a column: the features are the rows themselves.
    linear = RandomMaclaurin(Linear(), exact_terms=True, n_components=2)
    product = TensorProduct(linear, linear, n_components=D, factor=None, random_state=0).fit(X)
    u, v = product.left_.transform(X), product.right_.transform(X)
    np.testing.assert_array_equal(u, X)
    given = product.parameters_
    grams = []
    for buckets in itertools.product(range(D), repeat=4):
        for signs in itertools.product((-1, 1), repeat=4):
            hashes = [
                Hashes(np.array(buckets[side], np.int32), np.array(signs[side], np.int8))
                for side in (slice(0, 2), slice(2, 4))
            ]
            Z = product.construction_.apply(TensorParameters(given.left, given.right, *hashes), X)
            grams.append(Z @ Z.T)
    mean = np.mean(grams, axis=0)
    np.testing.assert_allclose(mean, (u @ u.T) * (v @ v.T), rtol=1e-12)
    e, (left, right) = 2 if D % 2 == 0 else 1, (pair_moments(M, M) for M in (u, v))
    powers = left.A * right.A + left.B * right.B
    variance = ((D - e) * powers + e * left.R * right.R - (2 * D - e) * (left.t * right.t) ** 2) / D**2
    np.testing.assert_allclose(np.var(grams, axis=0), variance, rtol=1e-11, atol=1e-12)


def test_products_of_products_and_of_sums():
    X = sample_rows(30)
    quartic = TensorProduct(TensorSketch(Polynomial(2)), TensorSketch(Linear()), factor=1)
    nested = TensorProduct(quartic, Stack(TaylorSketch(Gaussian(0.3)), TaylorSketch(Exponential(0.5))))
    nested.set_params(n_components=2000, random_state=0).fit(X)
    assert nested.kernel_ == Polynomial(2) * Linear() * (Gaussian(0.3) + Exponential(0.5))
    assert kernel_error(nested, X).relative < 0.15


@pytest.mark.full
def test_the_error_of_a_product_falls_with_the_width():
    X = sample_rows(40)
    errors = []
    for width in (16, 256):
        squared = [
            kernel_error(
                TensorProduct(
                    TaylorSketch(Gaussian(0.3)), TensorSketch(Polynomial(2)), n_components=width, random_state=seed
                ).fit(X),
                X,
            ).relative
            ** 2
            for seed in range(60)
        ]
        errors.append(np.sqrt(np.mean(squared)))
    # 16 times the width, a quarter of the error; 60 seeds leave about 15 % of either.
    assert 2.5 < errors[0] / errors[1] < 6.5
