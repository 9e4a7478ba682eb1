"""Properties of Nystrom features: exact on landmarks, and a positive semi-definite residual with a known trace."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from mercer import Compressed, Nystrom, bounds, kernel_error
from mercer.data import as_rows
from mercer.kernels import Cauchy, Gaussian, Laplacian, Linear, Matern, Polynomial, SkewedChi2, VovkInfinite
from mercer.maps.nystrom import SparseRows

from ..tables import every_pair, every_value, sample_rows

RULES = ["uniform", "kmeans", "leverage", "rpcholesky"]
KERNELS = [Gaussian(0.5), Polynomial(3, coef0=0.4), Matern(1.5), Laplacian(0.3) * Cauchy(0.2), Gaussian("median")]
TOLERANCE = {np.float64: 1e-7, np.float32: 2e-3}

fast = settings(derandomize=True, deadline=None, max_examples=40)


def clusters(n=300, d=4, seed=0):
    """Rows of which a few lie far from the rest."""
    X = np.random.default_rng(seed).normal(size=(n, d))
    X[: n // 20] += 4.0
    return X


def lacking(nystrom, X):
    """The residual K - Z Z' of these rows."""
    Z = nystrom.transform(X).astype(np.float64)
    return nystrom.kernel_(X.astype(np.float64)) - Z @ Z.T


def assert_exact(nystrom, X, dtype=np.float64):
    diagonal = np.sqrt(nystrom.kernel_.diag(X.astype(np.float64)))
    error = np.abs(lacking(nystrom, X)) / np.maximum(np.outer(diagonal, diagonal), 1e-300)
    assert error.max() < TOLERANCE[dtype]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_map_is_exact_where_every_row_is_a_landmark(kernel, rule, dtype):
    X = clusters(60).astype(dtype)
    for count in (60, 500):
        nystrom = Nystrom(kernel, n_components=count, landmarks=rule, random_state=0).fit(X)
        assert_exact(nystrom, X, dtype)
        if rule == "kmeans":
            assert nystrom.component_indices_ is None
        else:
            np.testing.assert_array_equal(nystrom.component_indices_, np.arange(60))
        assert nystrom.residual_trace_.relative < 1e-9


@every_pair(scale=[1e-8, 1e-7, 1.0, 1e8], dtype=[np.float64, np.float32], rule=RULES)
def test_neither_scale_nor_duplicates_matter(scale, dtype, rule):
    X = (scale * np.repeat(clusters(20), 3, axis=0)).astype(dtype)
    for kernel in (Gaussian(0.5 / scale**2), Matern(2.5, length_scale=scale), Linear(), Polynomial(3), Polynomial(2)):
        nystrom = Nystrom(kernel, n_components=60, landmarks=rule, random_state=0).fit(X)
        assert nystrom.n_components_ <= 20
        Z = nystrom.transform(X)
        assert Z.dtype == dtype
        assert_exact(nystrom, X, dtype)
        few = Nystrom(kernel, n_components=40, landmarks=rule, random_state=0).fit(X)
        assert few.n_components_ <= 20
        assert few.transform(X).shape == (60, few.n_components_)
        assert len(few.get_feature_names_out()) == few.n_components_


def test_whitening_is_in_double_for_rows_in_single():
    X = clusters().astype(np.float32)  # on whose landmarks the kernel matrix is nearly singular
    nystrom = Nystrom(Gaussian(1e-3), n_components=100, random_state=0).fit(X)
    exact = nystrom.transform(X.astype(np.float64))
    for Z in (nystrom.transform(X), nystrom.fitted_.on(X).apply(X)):
        assert Z.dtype == np.float32
        np.testing.assert_allclose(Z, exact, rtol=0, atol=1e-7)


@every_value(kernel=KERNELS, rule=RULES)
def test_what_is_lacking_is_positive_semi_definite_and_its_trace_is_told(kernel, rule):
    X = clusters()
    for rank in (None, 7):
        nystrom = Nystrom(kernel, n_components=20, rank=rank, landmarks=rule, random_state=0).fit(X)
        assert nystrom.n_components_ == (rank or 20)
        residual = lacking(nystrom, X)
        total = nystrom.kernel_.diag(X).sum()
        assert np.linalg.eigvalsh(residual).min() > -1e-12 * total
        trace, relative, rows = nystrom.residual_trace_
        assert trace == pytest.approx(np.trace(residual), rel=1e-9)
        assert relative == pytest.approx(trace / total)
        assert rows == len(X)
        # So every error is at most the trace.
        assert kernel_error(nystrom, X).maximum <= trace


def test_the_features_are_their_definition():
    X, Y = clusters(50), clusters(30, seed=1)
    kernel = Matern(1.5)
    for rank in (10, 4):
        nystrom = Nystrom(kernel, n_components=10, rank=rank, random_state=3).fit(X)
        L = X[nystrom.component_indices_]
        values, vectors = np.linalg.eigh(kernel(L))
        order = np.argsort(-values)[:rank]
        expected = kernel(Y, L) @ vectors[:, order] / np.sqrt(values[order])
        Z = nystrom.transform(Y)
        np.testing.assert_allclose(np.abs(Z), np.abs(expected), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(Z @ Z.T, expected @ expected.T, rtol=1e-9, atol=1e-12)
        turned = np.sign(nystrom.parameters_.whitening)
        largest = np.abs(nystrom.parameters_.whitening).argmax(axis=0)
        assert (turned[largest, np.arange(rank)] == 1.0).all()


@pytest.mark.parametrize("rule", ["uniform", "rpcholesky"])
def test_more_landmarks_leave_less(rule):
    X, Y = clusters(), clusters(100, seed=1)
    chosen, residual = [], np.inf
    for count in (5, 20, 64, 65, 150):
        nystrom = Nystrom(Gaussian(0.2), n_components=count, landmarks=rule, random_state=1).fit(X)
        assert set(chosen) <= set(nystrom.component_indices_.tolist())
        chosen = nystrom.component_indices_.tolist()
        assert len(chosen) == count
        left = np.trace(lacking(nystrom, Y))
        assert left <= residual + 1e-9
        residual = left


def test_a_larger_rank_leaves_less():
    X = clusters()
    traces = [
        Nystrom(Gaussian(0.2), n_components=30, rank=rank, random_state=0).fit(X).residual_trace_.trace
        for rank in (1, 5, 10, 20, 30)
    ]
    assert (np.diff(traces) < 0).all()


@fast
@given(
    st.integers(1, 12),
    st.integers(1, 4),
    st.integers(1, 15),
    st.sampled_from(RULES),
    st.sampled_from([Gaussian(0.7), Linear(), Polynomial(2, coef0=1.0), Laplacian(0.5) + Linear()]),
    st.integers(0, 2**31),
)
def test_rows_of_all_kinds_are_mapped(n, d, count, rule, kernel, seed):
    # Whole numbers: many rows are equal, many are 0.
    X = np.random.default_rng(seed).integers(-1, 2, size=(n, d)).astype(float)
    nystrom = Nystrom(kernel, n_components=count, landmarks=rule, random_state=seed).fit(X)
    assert 1 <= nystrom.n_components_ <= min(count, n)
    residual, total = lacking(nystrom, X), nystrom.kernel_.diag(X).sum()
    assert np.linalg.eigvalsh(residual).min() >= -1e-11 * (total + 1.0)
    assert nystrom.residual_trace_.trace == pytest.approx(np.trace(residual), rel=1e-6, abs=1e-9 * (total + 1.0))
    if count >= n:
        np.testing.assert_allclose(residual, 0.0, atol=1e-9 * (total + 1.0))


@pytest.mark.parametrize("rule", RULES)
def test_rows_so_far_apart_that_products_overflow(rule):
    X = np.random.default_rng(0).normal(size=(60, 400))
    for kernel, rows in ((SkewedChi2(1.0), np.exp(20.0 * X)), (Cauchy(1.0), 1e3 * X), (Cauchy(1.0), 1e150 * X)):
        nystrom = Nystrom(kernel, n_components=20, landmarks=rule, random_state=0).fit(rows)
        assert 0.0 <= nystrom.residual_trace_.relative <= 1.0
        assert np.isfinite(nystrom.transform(rows)).all()
        assert np.isfinite(bounds.projection_residual(nystrom, rows)).all()


def test_a_kernel_that_is_zero_has_one_feature_that_is_zero():
    for rule in RULES:
        nystrom = Nystrom(Linear(), n_components=3, landmarks=rule, random_state=0).fit(np.zeros((9, 2)))
        np.testing.assert_array_equal(nystrom.transform(np.ones((4, 2))), np.zeros((4, 1)))
        assert nystrom.residual_trace_ == (0.0, 0.0, 9)


@pytest.mark.parametrize("rule", RULES)
def test_rows_that_are_not_candidates_do_not_count(rule):
    X = clusters(500)
    options = {"n_components": 20, "landmarks": rule, "max_rows": 60, "random_state": 5}
    nystrom = Nystrom(Gaussian(0.2), **options).fit(X)
    numbers = as_rows(X, nystrom.seed_).choose(60)
    assert nystrom.residual_trace_.rows == 60
    assert nystrom.residual_trace_.trace == pytest.approx(np.trace(lacking(nystrom, X[numbers])))
    if rule == "kmeans":
        assert nystrom.component_indices_ is None
    else:
        assert set(nystrom.component_indices_) <= set(numbers)
        np.testing.assert_array_equal(nystrom.parameters_.landmarks, X[nystrom.component_indices_])
    changed = X.copy()
    changed[np.setdiff1d(np.arange(500), numbers)] += 0.5
    again = Nystrom(Gaussian(0.2), **options).fit(changed)
    np.testing.assert_array_equal(again.parameters_.landmarks, nystrom.parameters_.landmarks)


def test_given_landmarks_are_taken():
    X = clusters(50)
    numbers = [7, 3, 20]
    by_number = Nystrom(Gaussian(0.5), landmarks=numbers).fit(X)
    np.testing.assert_array_equal(by_number.component_indices_, numbers)
    for form in (np.asarray, sp.csr_array, list):
        by_row = Nystrom(Gaussian(0.5), landmarks=form(X[numbers])).fit(X)
        assert by_row.component_indices_ is None
        np.testing.assert_allclose(by_row.transform(X), by_number.transform(X), rtol=1e-10, atol=1e-12)
    chosen = Nystrom(Gaussian(0.5), n_components=9, landmarks="rpcholesky", random_state=0).fit(X)
    again = Nystrom(Gaussian(0.5), landmarks=chosen.component_indices_).fit(X)
    np.testing.assert_array_equal(again.transform(X), chosen.transform(X))
    assert clone(by_row).fit(X).n_components_ == 3
    assert Nystrom(Gaussian(0.5), landmarks=numbers, rank=2).fit(X).n_components_ == 2


@every_value(kernel=KERNELS, rule=RULES)
def test_sparse_rows_keep_their_landmarks_sparse(kernel, rule):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 200)) * (rng.uniform(size=(80, 200)) < 0.03)
    options = {"n_components": 20, "landmarks": rule, "random_state": 0}
    dense, sparse = Nystrom(kernel, **options).fit(X), Nystrom(kernel, **options).fit(sp.csr_array(X))
    landmarks = sparse.parameters_.landmarks
    assert isinstance(landmarks, SparseRows)
    assert sum(part.nbytes for part in landmarks) < dense.parameters_.landmarks.nbytes
    expected = dense.transform(X)
    for rows in (X, sp.csr_array(X), sp.csr_matrix(X), X.astype(np.float32)):
        Z = sparse.transform(rows)
        tolerance = 1e-9 if Z.dtype == np.float64 else 1e-5
        np.testing.assert_allclose(Z @ Z.T, expected @ expected.T, rtol=tolerance, atol=tolerance)
    full = Nystrom(kernel, **options).fit(sp.csr_array(clusters(60)))
    assert isinstance(full.parameters_.landmarks, np.ndarray)


def test_sparse_landmarks_serve_torch():
    torch = pytest.importorskip("torch")
    X = np.random.default_rng(0).normal(size=(50, 40)) * (np.random.default_rng(1).uniform(size=(50, 40)) < 0.1)
    nystrom = Nystrom(Gaussian(0.2), n_components=20, random_state=0).fit(sp.csr_array(X))
    Z = nystrom.transform(torch.from_numpy(X))
    assert isinstance(Z, torch.Tensor)
    np.testing.assert_allclose(Z.numpy(), nystrom.transform(X), rtol=1e-9, atol=1e-11)


def test_inside_another_map_the_width_is_kept():
    X = np.repeat(clusters(10), 3, axis=0)
    wrapped = Compressed(Nystrom(Gaussian(0.5), landmarks="rpcholesky"), n_components=32, factor=1, random_state=0)
    Z = wrapped.fit_transform(X)
    assert Z.shape == (30, 32)
    assert wrapped.map_.n_components_ == 30
    assert len(wrapped.map_.component_indices_) == 30
    assert wrapped.map_.residual_trace_.relative < 1e-9
    # All rows of an orthogonal matrix: nothing is lost.
    np.testing.assert_allclose(Z @ Z.T, Gaussian(0.5)(X), rtol=1e-9, atol=1e-9)
    coef = np.random.default_rng(0).normal(size=32)
    np.testing.assert_allclose(wrapped.map_.transform(X) @ wrapped.fold(coef), Z @ coef, rtol=1e-9, atol=1e-9)


def test_fit_holds_no_array_of_the_size_of_all_rows():
    X = np.random.default_rng(0).normal(size=(100_000, 20)).astype(np.float32)
    for rule in RULES:
        tracemalloc.start()
        Nystrom(Gaussian(0.05), n_components=64, max_rows=2000, landmarks=rule, random_state=0).fit(X)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 20e6, rule  # the kernel matrix of all rows against the landmarks would take 51 MB


def test_the_mean_and_the_variance_say_that_they_are_not_known():
    nystrom = Nystrom(random_state=0).fit(sample_rows())
    with pytest.raises(NotImplementedError, match="mean of Nystrom is not known: its landmarks are chosen"):
        nystrom.mean(sample_rows())
    with pytest.raises(NotImplementedError, match="no exact variance is known for Nystrom"):
        nystrom.variance(sample_rows())


X10 = clusters(10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rank": 9, "n_components": 8}, "rank must be at most the number of landmarks, 8, found 9"),
        ({"rank": 3, "landmarks": [1, 2]}, "rank must be at most the number of landmarks, 2, found 3"),
        ({"rank": 0}, "rank must be a whole number of at least 1 or None, found 0"),
        ({"max_rows": 0}, "max_rows must be a whole number of at least 1, found 0"),
        ({"max_rows": 3, "n_components": 4, "landmarks": "kmeans"}, "max_rows must be at least .* landmarks, 4, found"),
        ({"landmarks": "random"}, r"landmarks must be one of \('uniform', .*, found 'random'"),
        ({"landmarks": [0, 10]}, "landmarks must be row numbers from 0 to 9, found 10 at place 1"),
        ({"landmarks": [-1]}, "landmarks must be row numbers from 0 to 9, found -1 at place 0"),
        ({"landmarks": [2, 5, 2]}, "landmarks must name no row twice, found row 2 more than once"),
        ({"landmarks": [0.0, 1.5]}, "landmarks must be whole row numbers or a matrix, found .* at place 0"),
        ({"landmarks": np.array([True, False])}, "landmarks must be whole row numbers or a matrix, found"),
        ({"landmarks": []}, "landmarks must name at least one row, found none"),
        ({"landmarks": X10[:, :3]}, "landmarks has 3 columns but X has 4"),
        ({"landmarks": np.full((2, 4), np.nan)}, "(?s)landmarks contains NaN.*row 0, column 0"),
        ({"landmarks": None}, r"landmarks must be one of \(.*\), row numbers or a matrix, found None"),
        ({"tol": -0.1, "landmarks": "rpcholesky"}, r"tol must be a number of at least 0 and below 1, found -0\.1"),
        ({"tol": True, "landmarks": "rpcholesky"}, "tol must be a number of at least 0 and below 1, found True"),
        ({"tol": 0.1}, "tol is for landmarks='rpcholesky', found landmarks='uniform'"),
        ({"kernel": Gaussian("scale"), "X": np.ones((5, 2))}, "'scale' needs rows that vary"),
        ({"kernel": VovkInfinite(), "landmarks": np.ones((1, 4)), "X": 0.01 * X10}, "VovkInfinite.* below 1"),
        ({"kernel": Polynomial(3), "X": np.array([[1.0], [1e150]])}, r"Polynomial\(.*overflows float64 at row 1"),
    ],
)
def test_bad_arguments_are_refused(options, message):
    X = options.pop("X", X10)
    with pytest.raises(ValueError, match=message):
        Nystrom(options.pop("kernel", Gaussian()), **options).fit(X)


def test_bad_kernels_are_refused():
    for kernel, message in ((Gaussian, r"write Gaussian\(\)"), (3, "found 3")):
        with pytest.raises(TypeError, match=message):
            Nystrom(kernel).fit(X10)
    with pytest.raises(ValueError, match="unknown kernel 'rbv'; did you mean 'rbf'"):
        Nystrom("rbv").fit(X10)


def test_few_rows_are_no_error_for_the_rank():
    assert Nystrom(n_components=20, rank=15).fit(X10).n_components_ == 10
    assert Nystrom(n_components=20, rank=15, max_rows=10, landmarks="leverage").fit(X10).n_components_ == 10
