"""Composed: kernels of kernels, the rows from which the outer map learns, and independent random streams."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import chi2_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from mercer import (
    AdditiveMap,
    Composed,
    Compressed,
    Nystrom,
    OrthogonalFourier,
    RandomFourier,
    RandomMaclaurin,
    Stack,
    TaylorSketch,
    TensorSketch,
    kernel_error,
)
from mercer._random import Stream
from mercer.data import as_rows, is_rows
from mercer.data.block import BLOCK_ROWS
from mercer.kernels import (
    AdditiveChi2,
    Exponential,
    Gaussian,
    Hellinger,
    Intersection,
    JensenShannon,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    VovkInfinite,
)
from mercer.maps._wrappers import MappedRows


def histograms(n=60, d=8, seed=0):
    """Rows that add up to 1, a third of their entries 0."""
    rng = np.random.default_rng(seed)
    X = rng.gamma(0.7, size=(n, d)) * (rng.random((n, d)) < 0.67) + 1e-3 * np.eye(d)[np.arange(n) % d]
    return X / X.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("gamma", [0.3, 1.0, 4.0])
def test_the_gaussian_of_the_distance_of_chi2_is_scikit_learns_chi2_kernel(gamma):
    X, Y = 3.0 * histograms(), histograms(20, seed=1)
    kernel = Gaussian(gamma).of_distance(AdditiveChi2())
    np.testing.assert_allclose(kernel(X, Y), chi2_kernel(X, Y, gamma=gamma), rtol=1e-12)
    np.testing.assert_allclose(kernel(sp.csr_array(X), sp.csr_array(Y)), chi2_kernel(X, Y, gamma=gamma), rtol=1e-12)
    assert kernel.domain_is_non_negative


CASES = [
    (Composed(RandomFourier(Gaussian(0.5)), AdditiveMap()), Gaussian(0.5).of_distance(AdditiveChi2()), 0.08),
    (Composed(OrthogonalFourier(Matern(1.5)), AdditiveMap(JensenShannon())), None, 0.08),
    (Composed(OrthogonalFourier(Gaussian(0.5)), AdditiveMap(2.0 * Hellinger())), None, 0.08),
    (Composed(TensorSketch(Polynomial(2)), AdditiveMap(Intersection())), Polynomial(2).of(Intersection()), 0.2),
    (Composed(TaylorSketch(Exponential(2.0)), AdditiveMap()), Exponential(2.0).of(AdditiveChi2()), 0.05),
    (Composed(RandomMaclaurin(Exponential(0.5)), AdditiveMap()), Exponential(0.5).of(AdditiveChi2()), 0.12),
    (Composed(TensorSketch(3.0 * Linear()), AdditiveMap()), (3.0 * Linear()).of(AdditiveChi2()), 0.12),
    (Composed(TensorSketch(Polynomial(2)), RandomFourier(Gaussian(1.0), n_components=1000)), None, 0.2),
    (Composed(Compressed(RandomFourier(Gaussian(0.5))), AdditiveMap()), None, 0.12),
    (
        Composed(RandomFourier(Gaussian(0.5)), Composed(TaylorSketch(Polynomial(2)), AdditiveMap())),
        Gaussian(0.5).of_distance(Polynomial(2).of(AdditiveChi2())),
        0.12,
    ),
]


@pytest.mark.parametrize(("map", "kernel", "largest"), CASES, ids=lambda value: repr(value).replace("\n", "")[:60])
def test_the_error_is_small_on_rows_not_seen(map, kernel, largest):
    X = histograms()
    fitted = map.set_params(n_components=1024, random_state=0).fit(X)
    assert kernel is None or fitted.kernel_ == kernel
    assert kernel_error(fitted, histograms(40, seed=1)).relative < largest


def test_the_error_falls_to_that_of_the_inner_map():
    X = histograms()
    exact = Gaussian(1.0).of_distance(Hellinger())(X)
    errors = []
    for width in (64, 1024, 16384):
        Z = Composed(
            RandomFourier(Gaussian(1.0)), AdditiveMap(Hellinger()), n_components=width, random_state=0
        ).fit_transform(X)
        errors.append(np.linalg.norm(Z @ Z.T - exact))
    # 16 times the width, a quarter of the error: within a factor of two for one seed.
    assert 2.0 < errors[0] / errors[1] < 8.0
    assert 2.0 < errors[1] / errors[2] < 8.0


def test_mean_and_variance_are_those_of_the_outer_map_on_inner_features():
    X = histograms()
    fitted = Composed(RandomFourier(Gaussian(1.0)), AdditiveMap(n_components=24), n_components=32, random_state=0)
    fitted.fit(X)
    U = AdditiveMap(n_components=24).fit_transform(X)
    for rows in (X, sp.csr_array(X)):
        np.testing.assert_allclose(fitted.mean(rows), Gaussian(1.0)(U), rtol=1e-10)
        np.testing.assert_allclose(fitted.variance(rows), fitted.outer_.variance(U), rtol=1e-10, atol=1e-15)
    assert np.abs(fitted.mean(X) - fitted.kernel_(X)).max() < 4 * 1.0 * fitted.inner_.max_error_ * 2


def test_over_random_features_mean_and_variance_say_that_they_are_not_known():
    X = histograms()
    fitted = Composed(TensorSketch(Polynomial(2)), RandomFourier(Gaussian()), random_state=0).fit(X)
    with pytest.raises(NotImplementedError, match=r"the mean of Composed is not known: .* random inner features"):
        fitted.mean(X)
    with pytest.raises(NotImplementedError, match="no exact variance is known for Composed"):
        fitted.variance(X)


@pytest.mark.parametrize("form", [sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("outer", [RandomFourier(Gaussian(2.0)), TensorSketch(Polynomial(2))], ids=repr)
def test_sparse_rows_stay_sparse_between_the_maps(outer, form, monkeypatch):
    X = histograms(600, 40)
    fitted = Composed(outer, AdditiveMap(), n_components=64, random_state=0).fit(form(X))
    expected = fitted.transform(X)
    seen = []
    construction = type(outer).construction
    apply, native = construction.apply, construction.native

    def spy(self, params, Z):
        seen.append(Z)
        return apply(self, params, Z)

    def spying_native(self, params, dtype):
        write = native(self, params, dtype)
        return lambda Z, out: seen.append(Z) or write(Z, out)

    monkeypatch.setattr(construction, "apply", spy)  # if there is no compiled core
    monkeypatch.setattr(construction, "native", spying_native)
    fitted = pickle.loads(pickle.dumps(fitted))  # without the writers that are made already
    np.testing.assert_allclose(fitted.transform(form(X)), expected, rtol=1e-9, atol=1e-12)
    assert seen
    assert all(sp.issparse(Z) for Z in seen)


# -- what the outer map learns from ------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_bandwidth_by_rule_is_learned_from_the_inner_features(form):
    X = histograms()
    features = AdditiveMap(n_components=24).fit_transform(X)
    for rule in ("median", "scale"):
        fitted = Composed(RandomFourier(Gaussian(rule)), AdditiveMap(n_components=24), random_state=3).fit(form(X))
        assert fitted.kernel_.outer.gamma == pytest.approx(Gaussian(rule).resolve(features, 3).gamma, rel=1e-12)


def test_a_taylor_sketch_learns_its_split_from_the_inner_features():
    X = histograms(300)
    fitted = Composed(TaylorSketch(Polynomial(3)), AdditiveMap(n_components=24), n_components=64, random_state=0).fit(X)
    alone = TaylorSketch(Polynomial(3), n_components=64, random_state=0).fit(fitted.inner_.transform(X))
    assert fitted.outer_.split_ == alone.split_ == "mean"
    assert fitted.outer_.degrees_ == alone.degrees_
    np.testing.assert_allclose(fitted.outer_.vector_, alone.vector_, rtol=1e-10)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_mapped_rows_are_the_features_of_the_rows(form, dtype):
    X = form(histograms(BLOCK_ROWS + 700).astype(dtype))
    inner = AdditiveMap(n_components=24).fit(X)
    rows = as_rows(X, 5)
    mapped = MappedRows(inner.construction_, inner.fitted_, rows)
    assert is_rows(mapped)
    assert (mapped.n_rows, mapped.n_features) == (BLOCK_ROWS + 700, 24)
    expected = inner.transform(X.astype(np.float64))
    stack = sp.vstack if sp.issparse(X) else np.concatenate
    for _ in range(2):
        difference = stack(list(mapped.blocks())) - expected
        assert abs(difference).max() < 1e-13
    assert mapped.dtype == mapped.sample(3).dtype == np.float64
    np.testing.assert_array_equal(mapped.choose(100), rows.choose(100))
    difference = mapped.sample(100) - inner.transform(rows.sample(100).astype(np.float64))
    assert abs(difference).max() < 1e-13


def test_rows_are_mapped_only_on_demand(monkeypatch):
    mapped = []
    monkeypatch.setattr(AdditiveMap.construction, "apply", lambda self, params, X: mapped.append(X))
    Composed(RandomFourier(Gaussian(1.0)), AdditiveMap(), random_state=0).fit(histograms())
    assert not mapped


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("landmarks", ["uniform", "rpcholesky", "kmeans"])
def test_nystrom_takes_its_landmarks_from_the_inner_features(landmarks, form):
    X = histograms(300)
    outer = Nystrom(Gaussian(0.5), landmarks=landmarks)
    fitted = Composed(outer, AdditiveMap(n_components=24), n_components=40, random_state=0).fit(form(X))
    assert fitted.outer_.n_features_in_ == 24
    assert kernel_error(fitted, form(X)).relative < 0.05
    inner = RandomFourier(Gaussian(1.0), n_components=200)
    over_random = Composed(Nystrom(Gaussian(0.5)), inner, n_components=40, random_state=0)
    Z, U = over_random.fit_transform(X), over_random.inner_.transform(X)
    assert np.linalg.norm(Z @ Z.T - Gaussian(0.5)(U)) < 0.05 * np.linalg.norm(Gaussian(0.5)(U))


def test_a_sum_of_additive_kernels_can_be_inside():
    X = histograms(200)
    inner = Stack(AdditiveMap(), AdditiveMap(0.5 * Hellinger()))
    fitted = Composed(TaylorSketch(Gaussian("median")), inner, n_components=512, random_state=0).fit(X)
    assert fitted.kernel_.inner == AdditiveChi2() + 0.5 * Hellinger()
    assert kernel_error(fitted, X).relative < 0.1


def test_an_outer_map_cannot_learn_from_features_that_are_not_drawn_yet():
    X = histograms()
    for outer in (RandomFourier(Gaussian("median")), TaylorSketch(Polynomial(2))):
        with pytest.raises(ValueError, match=r"the features of RandomFourier\(.*\) are random and not drawn yet: give"):
            Composed(outer, RandomFourier(), random_state=0).fit(X)


# -- streams -----------------------------------------------------------------------------------------------------------


def test_both_maps_have_streams_of_their_own():
    X = histograms(20, 8)
    twice = Composed(
        RandomFourier(Gaussian(1.0)), RandomFourier(Gaussian(1.0), n_components=8), n_components=8, random_state=0
    ).fit(X)
    inner, outer = twice.parameters_.inner.frequencies, twice.parameters_.outer.frequencies
    assert inner.shape == outer.shape
    assert not np.isin(inner, outer).any()


def test_the_seed_is_that_of_the_wrapper():
    X = histograms()

    def features(seed, own=None):
        outer, inner = (RandomFourier(Gaussian(1.0), random_state=own) for _ in range(2))
        return Composed(outer, inner, n_components=8, random_state=seed).fit_transform(X)

    np.testing.assert_array_equal(features(1), features(1, own=7))
    assert np.abs(features(1) - features(2)).max() > 0.1


def test_another_seed_draws_another_inner_map():
    X = histograms()
    maps = [
        Composed(TensorSketch(Polynomial(2)), RandomFourier(n_components=8), random_state=seed).fit(X)
        for seed in (0, 1)
    ]
    assert not np.isin(*(map.parameters_.inner.frequencies for map in maps)).any()
    rows = as_rows(X, Stream(0))
    again = maps[0].construction_.draw(Stream(1, "Composed"), rows).parameters
    np.testing.assert_array_equal(again.inner.frequencies, maps[1].parameters_.inner.frequencies)


def test_determinism_is_known():
    additive, random = AdditiveMap(), RandomFourier()
    assert additive.is_deterministic
    assert Composed(additive, additive).is_deterministic
    assert Stack(additive, additive).is_deterministic
    for map in (
        random,
        Stack(additive, random),
        Compressed(additive),
        Composed(random, additive),
        Composed(additive, random),
    ):
        assert not map.is_deterministic


# -- scikit-learn ------------------------------------------------------------------------------------------------------


def test_parameters_of_both_maps_can_be_searched():
    X = histograms(120)
    y = X[:, 0] > X[:, 1]
    pipeline = make_pipeline(
        Composed(RandomFourier(Gaussian(1.0)), AdditiveMap(), n_components=64, random_state=0), LinearSVC()
    )
    grid = {"composed__outer__kernel__gamma": [1e-6, 1.0], "composed__inner__n_components": [1, 60]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert len(set(search.cv_results_["mean_test_score"])) > 1
    fitted = search.best_estimator_[0]
    assert fitted.kernel_.outer.gamma == search.best_params_["composed__outer__kernel__gamma"]
    assert fitted.outer_.n_features_in_ == fitted.inner_.n_components_


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outer", [RandomFourier(Gaussian(1.0)), RandomFourier(Gaussian("median")), TaylorSketch()])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_negative_values_are_refused_before_they_are_mapped(outer, form):
    good, bad = histograms(), histograms()
    bad[7, 4] = -0.5
    map = Composed(outer, AdditiveMap(), n_components=8, random_state=0)
    message = r"Negative values in data passed to AdditiveChi2\(\), which takes none: row 7, column 4 has -0\.5$"
    with pytest.raises(ValueError, match=message):
        map.fit(form(bad))
    with pytest.raises(ValueError, match=message):
        map.fit(form(good)).transform(form(bad))
    assert map.__sklearn_tags__().input_tags.positive_only


def test_a_row_of_a_later_block_is_named():
    X = histograms(BLOCK_ROWS + 10)
    X[BLOCK_ROWS + 3, 1] = -1.0
    for outer in (Gaussian("scale"), Gaussian(1.0)):
        with pytest.raises(ValueError, match=f"row {BLOCK_ROWS + 3}, column 1 has -1$"):
            Composed(RandomFourier(outer), AdditiveMap()).fit(X)


def test_a_series_that_diverges_is_refused():
    X = 0.5 * histograms()
    map = Composed(RandomMaclaurin(VovkInfinite()), AdditiveMap(), n_components=8, random_state=0).fit(X)
    X[5] *= 3.0
    for act in (map.transform, map.fit):
        with pytest.raises(ValueError, match=r"VovkInfinite.*inner kernel value below 1; row 5 has 1\.5"):
            act(X)


def test_things_that_cannot_be_composed():
    X = histograms()
    with pytest.raises(TypeError, match="outer must be a feature map, found 3"):
        Composed(3, AdditiveMap()).fit(X)
    with pytest.raises(TypeError, match=r"inner must be a feature map, found AdditiveChi2\(\)"):
        Composed(RandomFourier(), AdditiveChi2()).fit(X)
    for outer in (RandomFourier(Laplacian()), AdditiveMap()):
        with pytest.raises(
            ValueError, match=r"Composed needs an outer map of a dot-product kernel, or .* found one of"
        ):
            Composed(outer, AdditiveMap(Hellinger())).fit(X)


@pytest.mark.parametrize("make", [RandomFourier, RandomMaclaurin, TensorSketch, TaylorSketch, AdditiveMap])
@pytest.mark.parametrize("kernel", [Gaussian().of_distance(AdditiveChi2()), 2.0 * Polynomial(2).of(Intersection())])
def test_a_refusal_names_this_map(make, kernel):
    with pytest.raises(ValueError, match=r"; mercer.feature_map would choose Composed$"):
        make(kernel).fit(histograms())


def test_long_inner_features_keep_their_digits_in_float32():
    X = (1e14 * np.random.default_rng(0).random((30, 5))).astype(np.float32)
    wide = Composed(RandomFourier(Gaussian(1e-14)), AdditiveMap(AdditiveChi2()), n_components=64, random_state=0)
    wide.fit(X)
    single = wide.transform(X)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, wide.transform(X.astype(np.float64)), atol=1e-6)
    narrow = wide.set_params(outer__kernel__gamma=0.5).fit(X)
    np.testing.assert_allclose(narrow.transform(X), narrow.transform(X.astype(np.float64)), atol=1e-6)
