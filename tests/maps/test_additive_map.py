"""AdditiveMap: its error against the order, sparse features, and the ends of the domain."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.kernel_approximation import AdditiveChi2Sampler
from sklearn.pipeline import make_pipeline

from mercer import AdditiveMap, Compressed, TensorSketch, kernel_error
from mercer._array import first_overflow
from mercer.kernels import AdditiveChi2, Gaussian, Hellinger, Intersection, JensenShannon, Linear, Polynomial

try:
    import torch
except ImportError:
    torch = None

ADDITIVE = [AdditiveChi2(), Intersection(), JensenShannon(), Hellinger()]
every_kernel = pytest.mark.parametrize("kernel", ADDITIVE, ids=repr)
sampled_kernel = pytest.mark.parametrize("kernel", ADDITIVE[:3], ids=repr)


def histograms(n=40, d=6, seed=0):
    """Rows without negative values, a third of them 0."""
    rng = np.random.default_rng(seed)
    return rng.gamma(0.5, size=(n, d)) * (rng.random((n, d)) < 0.67)


def of_order(kernel, order, X):
    return AdditiveMap(kernel, n_components=(2 * order + 1) * X.shape[1]).fit(X)


def gram(map, X, Y=None):
    Z, other = map.transform(X), map.transform(X if Y is None else Y)
    product = Z @ other.T
    return product.toarray() if sp.issparse(product) else product


LARGEST_ERRORS = [
    (AdditiveChi2(), {1: 0.034, 4: 0.003, 16: 9.1e-6}),
    (JensenShannon(), {1: 0.020, 4: 0.0014, 16: 3.2e-6}),
    (Intersection(), {1: 0.11, 4: 0.06, 16: 0.022}),
]


@pytest.mark.parametrize(("kernel", "errors"), LARGEST_ERRORS, ids=lambda value: repr(value)[:14])
def test_the_largest_error_on_the_unit_interval_falls_with_the_order(kernel, errors):
    values = np.linspace(0.0, 1.0, 400)[:, None]
    for order, largest in errors.items():
        features = of_order(kernel, order, values)
        assert features.order_ == order
        error = np.abs(gram(features, values) - kernel(values)).max()
        assert 0.8 * largest < error < largest
        assert error <= 1.0001 * features.max_error_
        assert features.max_error_ < largest


@sampled_kernel
@pytest.mark.parametrize("order", [1, 2, 3, 7, 20, 300])
def test_the_certificate_bounds_every_estimate(kernel, order):
    X = np.exp(np.random.default_rng(1).uniform(-60, 60, size=(300, 1)))
    features = of_order(2.5 * kernel, order, X)
    error = np.abs(gram(features, X) - 2.5 * kernel(X))
    ratio = error / np.maximum(X, X.T)
    assert ratio.max() <= 1.001 * features.max_error_ + 1e-12
    near = np.exp(np.linspace(0.0, -2.0 * np.pi / features.step_, 20_000))[:, None]
    found = np.abs(gram(features, near[:1], near) - 2.5 * kernel(near[:1], near)).max()
    assert found == pytest.approx(features.max_error_, rel=0.02, abs=1e-13)


@sampled_kernel
def test_the_rule_for_the_step_is_near_the_best_one(kernel, monkeypatch):
    values = np.geomspace(1e-9, 1.0, 3000)[:, None]
    for order in (1, 4, 16, 64):
        own = of_order(kernel, order, values)
        others = []
        for factor in (0.8, 0.9, 1.1, 1.25):
            with monkeypatch.context() as patch:
                patch.setattr(type(kernel), "step", lambda self, m, step=factor * own.step_: step)
                others.append(of_order(kernel, order, values).max_error_)
        assert own.max_error_ <= 1.05 * min(others)


@every_kernel
def test_features_are_homogeneous(kernel):
    X = histograms()
    features = of_order(kernel, 3, X)
    for scale in (1e-3, 7.3, 1e6):
        np.testing.assert_allclose(gram(features, scale * X), scale * gram(features, X), rtol=1e-10, atol=1e-12 * scale)


@every_kernel
def test_every_feature_is_its_formula(kernel):
    X = histograms(5, 3)
    features = of_order(0.7 * kernel, 2, X)
    Z = features.transform(X).reshape(5, 3, -1)
    m, L = features.order_, features.step_
    for (i, j), x in np.ndenumerate(X):
        expected = [np.sqrt(0.7 * x * L * kernel.spectrum(np.array([0.0]))[0])]
        for k in range(1, m + 1):
            weight = np.sqrt(2 * 0.7 * x * L * kernel.spectrum(np.array([k * L]))[0])
            phase = k * L * np.log(x) if x else 0.0
            expected += [weight * np.cos(phase), weight * np.sin(phase)]
        np.testing.assert_allclose(Z[i, j], expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    ("n_components", "width", "order"), [(1, 18, 1), (18, 18, 1), (19, 30, 2), (30, 30, 2), (31, 42, 3), (256, 258, 21)]
)
def test_widths_are_rounded_up(n_components, width, order):
    X = histograms()
    features = AdditiveMap(n_components=n_components).fit(X)
    assert (features.n_components_, features.order_) == (width, order)
    assert features.transform(X).shape == (len(X), width)
    assert len(features.get_feature_names_out()) == width


@pytest.mark.parametrize("n_components", [1, 6, 7, 1000])
def test_hellinger_is_exact_with_one_feature_a_column(n_components):
    X = histograms()
    features = AdditiveMap(3.0 * (2.0 * Hellinger()), n_components=n_components).fit(X)
    np.testing.assert_allclose(features.transform(X), np.sqrt(6.0) * np.sqrt(X), rtol=1e-14)
    assert features.n_components_ == 6
    assert features.max_error_ < 1e-14


@pytest.mark.parametrize("step", [0.3, 0.5, 0.8])
def test_agrees_with_scikit_learn_at_the_same_step(step, monkeypatch):
    monkeypatch.setattr(AdditiveChi2, "step", lambda self, order: step)
    X = histograms()
    expected = AdditiveChi2Sampler(sample_steps=4, sample_interval=step).fit_transform(X)
    Z = of_order(AdditiveChi2(), 3, X).transform(X)
    # There all columns of one feature are neighbours, here all features of one column.
    np.testing.assert_allclose(Z.reshape(len(X), 6, 7).swapaxes(1, 2).reshape(Z.shape), expected, atol=1e-14)


@every_kernel
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_ends_of_the_range(kernel, dtype):
    info = np.finfo(dtype)
    values = np.array([0.0, info.smallest_subnormal, info.tiny, 1.0, info.max / 4, info.max], dtype=dtype)[:, None]
    features = of_order(kernel, 20, values)
    Z = features.transform(values)
    assert Z.dtype == dtype
    np.testing.assert_array_equal(Z[0], 0.0)
    norms = (Z.astype(float) / np.sqrt(np.maximum(values.astype(float), 5e-324))) ** 2
    np.testing.assert_allclose(norms.sum(axis=1)[1:], 1.0, atol=0.03 if kernel == Intersection() else 1e-4)
    sparse = features.transform(sp.csr_array(values))
    np.testing.assert_array_equal(sparse.toarray(), Z)


def test_values_far_apart_and_near_the_ends_keep_their_digits():
    X = np.array([[1e300], [3e300], [1e-300], [3e-300]])
    features = of_order(AdditiveChi2(), 40, X)
    estimates = gram(features, X)
    np.testing.assert_allclose(estimates[:2, :2], AdditiveChi2()(X[:2]), rtol=1e-8)
    np.testing.assert_allclose(estimates[2:, 2:], AdditiveChi2()(X[2:]), rtol=1e-8)
    assert np.abs(estimates[:2, 2:]).max() <= features.max_error_ * 3e300


def test_high_frequencies_keep_their_digits_in_float32():
    X = np.exp(np.random.default_rng(2).uniform(-80, 80, size=(50, 1))).astype(np.float32)
    features = of_order(Intersection(), 500, X)
    exact = features.transform(X.astype(np.float64))
    for rows in (X, sp.csr_array(X)):
        Z = features.transform(rows)
        assert Z.dtype == np.float32
        np.testing.assert_allclose(Z.toarray() if sp.issparse(Z) else Z, exact, rtol=1e-6, atol=1e-30)


# -- sparse rows -------------------------------------------------------------------------------------------------------


@every_kernel
@pytest.mark.parametrize("form", [sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_have_sparse_features(kernel, form, index, dtype):
    X = histograms(700).astype(dtype)
    X[3] = 0.0
    rows = form(X)
    rows.indices, rows.indptr = rows.indices.astype(index), rows.indptr.astype(index)
    features = of_order(kernel, 2, X)
    Z = features.transform(rows)
    assert type(Z) is form
    assert Z.dtype == dtype
    assert Z.nnz == rows.nnz * (2 * features.order_ + 1)
    assert Z.has_canonical_format
    assert Z.indices.dtype == Z.indptr.dtype == (index if form is sp.csr_array else np.int32)
    np.testing.assert_array_equal(Z.toarray(), features.transform(X))
    np.testing.assert_array_equal(features.set_params(n_jobs=3).transform(rows).data, Z.data)


def test_long_indices_where_the_width_needs_them():
    columns, width = np.array([0, 2**30, 2**31 - 2]), 2**31 - 1
    X = sp.csr_array((np.ones(3), columns, np.array([0, 2, 3])), shape=(2, width))
    Z = AdditiveMap(n_components=1).fit(X).transform(X)
    assert Z.shape == (2, 3 * width)
    assert Z.indices.dtype == np.int64
    assert Z.indices.tolist() == [3 * column + place for column in columns.tolist() for place in range(3)]


def test_halves_disorder_and_stored_zeros_do_not_show():
    dense = np.array([[0.5, 0.0, 2.0], [0.0, 1.0, 1.0]])
    stored = sp.csr_array(
        (np.array([1.5, 0.5, 0.5, 0.0, 1.0, 1.0]), np.array([2, 0, 2, 0, 1, 2]), np.array([0, 3, 6])), shape=(2, 3)
    )
    features = of_order(JensenShannon(), 2, dense)
    np.testing.assert_array_equal(features.transform(stored).toarray(), features.transform(dense))
    assert stored.indices.tolist() == [2, 0, 2, 0, 1, 2]


def test_features_are_named_after_their_columns():
    X = histograms(5, 2) + 0.1
    features = of_order(AdditiveChi2(), 2, X)
    of_x0 = ["x0_sqrt", "x0_cos1", "x0_sin1", "x0_cos2", "x0_sin2"]
    of_x1 = [name.replace("x0", "x1") for name in of_x0]
    assert features.get_feature_names_out().tolist() == of_x0 + of_x1
    named = ["a_sqrt", "a_cos1", "a_sin1", "a_cos2", "a_sin2"]
    assert features.get_feature_names_out(["a", "b"]).tolist()[:5] == named
    frame = pd.DataFrame(X, columns=["a", "b"])
    Z = clone(features).set_output(transform="pandas").fit_transform(frame)
    assert Z.columns.tolist()[:5] == named
    np.testing.assert_allclose(Z["b_sqrt"] ** 2 / Z["b_sqrt"][0] ** 2, frame["b"] / frame["b"][0])
    np.testing.assert_allclose(Z["a_cos2"] ** 2 + Z["a_sin2"] ** 2, features.parameters_.weights[3] ** 2 * frame["a"])
    assert AdditiveMap(Hellinger()).fit(X).get_feature_names_out().tolist() == ["x0_sqrt", "x1_sqrt"]
    with pytest.raises(ValueError, match="input_features"):
        features.get_feature_names_out(["a"])
    with pytest.raises(NotFittedError):
        AdditiveMap().get_feature_names_out()


def test_rows_without_entries():
    features = AdditiveMap(n_components=9).fit(histograms(5, 3))
    Z = features.transform(sp.csr_array((600, 3)))
    assert Z.shape == (600, 9)
    assert Z.nnz == 0


def test_a_tile_of_very_wide_rows_holds_its_entries_only():
    # 100 million features a row: a dense tile would need terabytes.
    rng = np.random.default_rng(0)
    X = sp.csr_array((rng.random(4000), rng.integers(0, 10**7, 4000), np.arange(0, 4001, 4)), shape=(1000, 10**7))
    features = AdditiveMap(AdditiveChi2(), n_components=10**8, n_jobs=1).fit(X)
    Z = features.transform(X)
    assert Z.shape == (1000, 11 * 10**7)
    assert Z.nnz == 11 * 4000


def test_sparse_features_are_held_once():
    X = sp.random_array((30_000, 400), density=0.05, format="csr", dtype=np.float32, random_state=0)
    features = AdditiveMap(n_components=1, n_jobs=1).fit(X[:100])
    features.transform(X[:1000])
    tracemalloc.start()
    Z = features.transform(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak - Z.data.nbytes - Z.indices.nbytes - Z.indptr.nbytes < 12e6


def test_the_mean_is_the_estimate_itself():
    X = histograms()
    features = of_order(Intersection(), 2, X)
    for rows in (X, sp.csr_array(X)):
        np.testing.assert_allclose(features.mean(rows), gram(features, X), rtol=1e-12)
        np.testing.assert_array_equal(features.variance(rows, rows[:3]), np.zeros((len(X), 3)))


def test_kernel_error_takes_sparse_features():
    X = histograms()
    features = of_order(AdditiveChi2(), 2, X)
    expected = kernel_error(features, X)
    for rows in (sp.csr_array(X), sp.csr_matrix(X)):
        assert kernel_error(features, rows) == pytest.approx(expected)
    assert expected.relative < 0.02


def test_the_seed_changes_nothing():
    X = histograms()
    first, second = (AdditiveMap(random_state=seed).fit_transform(X) for seed in (0, 1))
    np.testing.assert_array_equal(first, second)


# -- bad input ---------------------------------------------------------------------------------------------------------


@every_kernel
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csr_matrix])
def test_negative_values_are_refused_in_fit_and_in_transform(kernel, form):
    good, bad = histograms(), histograms()
    bad[7, 4] = -1e-9
    message = r"Negative values in data passed to \w+\(\), which takes none: row 7, column 4 has -1e-09"
    for features in (AdditiveMap(kernel), AdditiveMap(0.5 * kernel), Compressed(AdditiveMap(kernel), n_components=4)):
        with pytest.raises(ValueError, match=message):
            features.fit(form(bad))
        features.fit(form(good))
        for act in (features.transform, features.mean):
            with pytest.raises(ValueError, match=message):
                act(form(bad))


@pytest.mark.skipif(torch is None, reason="torch is not installed")
def test_negative_values_in_torch():
    bad = torch.tensor([[1.0, 0.0], [0.5, -2.0]])
    with pytest.raises(ValueError, match="row 1, column 1 has -2"):
        AdditiveMap().fit(bad)
    with pytest.raises(ValueError, match="row 1, column 1 has -2"):
        AdditiveMap().fit(abs(bad)).transform(bad)


@pytest.mark.parametrize("kernel", [Gaussian(), Linear(), AdditiveChi2() + Hellinger()], ids=repr)
def test_other_kernels_are_refused(kernel):
    with pytest.raises(ValueError, match="AdditiveMap needs an additive kernel, found"):
        AdditiveMap(kernel).fit(histograms())


def test_overflow_of_sparse_features_names_the_row():
    X = np.ones((300, 2), dtype=np.float32)
    X[:, 0] = 0.0
    X[270] = 1e38
    features = AdditiveMap(1e40 * AdditiveChi2(), n_components=6).fit(X)
    for rows in (X, sp.csr_array(X)):
        with pytest.raises(ValueError, match="the features of row 270 overflow float32"):
            features.transform(rows)


def test_the_first_overflow_is_found_behind_empty_rows():
    Z = np.zeros((5, 3))
    assert first_overflow(sp.csr_array(Z)) is first_overflow(Z) is None
    Z[1, 0], Z[3, 1], Z[3, 2] = 1.0, 2.0, np.inf
    assert first_overflow(sp.csr_array(Z)) == first_overflow(Z) == 3


@pytest.mark.parametrize(
    ("map", "expected"),
    [
        (AdditiveMap(), True),
        (AdditiveMap(0.5 * Hellinger()), True),
        (Compressed(AdditiveMap()), True),
        (Compressed(Compressed(AdditiveMap())), True),
        (TensorSketch(Polynomial(2)), False),
        (Compressed(TensorSketch()), False),
    ],
    ids=lambda value: str(value),
)
def test_scikit_learn_is_told_where_rows_must_not_be_negative(map, expected):
    assert map.domain_is_non_negative is expected
    assert map.__sklearn_tags__().input_tags.positive_only is expected


def test_a_pipeline_of_sparse_features():
    X = sp.csr_array(histograms())
    Z = make_pipeline(AdditiveMap(n_components=18), Compressed(TensorSketch(Linear()), n_components=8, random_state=0))
    assert Z.fit_transform(X).shape == (40, 8)
