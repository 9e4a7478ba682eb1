"""A row of weight 2 equals two copies, and a row of weight 0 none, also if the map is exact because rows are few."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.kernel_ridge import KernelRidge

import mercer
from mercer import Nystrom, OrthogonalFourier
from mercer.data.table_rows import Chunk
from mercer.learn import KernelClassifier, KernelPCA, KernelRegressor
from mercer.learn.map_choice import distinct_rows

from ..tables import every_pair


def chunks(X, weight=None, size=4):
    for first in range(0, X.shape[0], size):
        part = slice(first, first + size)
        yield Chunk(first, X[part], None, None if weight is None else weight[part])


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sp.csr_array, lambda X: X.astype(np.float32)])
def test_the_first_of_every_different_row_of_positive_weight(form, monkeypatch):
    monkeypatch.setattr("mercer.learn.map_choice.SORTED_ROWS", 3)
    X = np.array([[0.0, 1.0], [2.0, 0.0], [-0.0, 1.0], [0.0, 0.0], [2.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    np.testing.assert_array_equal(distinct_rows(chunks(form(X)), 4), [0, 1, 3, 5])
    assert distinct_rows(chunks(form(X)), 3) is None
    weight = np.array([0.0, 1.0, 2.0, 0.0, 0.5, 0.0, 1.0])
    np.testing.assert_array_equal(distinct_rows(chunks(form(X), weight), 2), [1, 2])


def test_stored_zeros_and_unsorted_columns_are_the_same_row():
    data, indices = np.array([1.0, 2.0, 2.0, 1.0, 0.0]), np.array([0, 1, 1, 0, 2])
    X = sp.csr_array((data, indices, np.array([0, 2, 5])), shape=(2, 3))
    np.testing.assert_array_equal(distinct_rows(chunks(X), 5), [0])


def test_no_more_is_read_than_needed():
    def endless():
        yield from chunks(np.arange(40.0)[:, None], size=8)
        raise AssertionError("read too far")

    assert distinct_rows(endless(), 10) is None


def problem():
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(24, 3)), np.arange(24) % 4
    return X, np.sin(X[:, 0]) + X[:, 1], weight


def repeated(X, y, weight):
    order = np.random.default_rng(1).permutation(int(weight.sum()))
    return np.repeat(X, weight, axis=0)[order], np.repeat(y, weight)[order]


LEARNERS = [
    KernelRegressor(kernel=None, alpha=1.0, preparation=None),
    KernelRegressor(alpha="gcv", kernel=None, preparation=None),
    KernelClassifier(kernel=None, C=1.0, preparation=None),
    KernelClassifier(loss="logistic", kernel=None, C=1.0, preparation=None),
    KernelClassifier(loss="squared", kernel=None, C=1.0, preparation=None),
    KernelPCA(n_directions=3),
]


@pytest.mark.filterwarnings("ignore:alpha='gcv' is unreliable:UserWarning")  # by so few rows
# 18 rows have a weight, and 36 are there when repeated.
@every_pair(
    learner=[pytest.param(learner, id=repr(learner)) for learner in LEARNERS],
    n_components=[17, 18, 36, *(pytest.param(n, id=str(n), marks=pytest.mark.full) for n in (24, 30))],
    map=["auto", "nystrom", "orthogonal_fourier"],
    form=[np.asarray, sp.csr_array],
)
def test_weights_say_what_repeated_rows_say(learner, n_components, map, form):
    if map == "nystrom" and n_components == 17:
        pytest.skip("landmarks are drawn by the numbers of rows, where not all can be one")
    X, y, weight = problem()
    y = (y > 0).astype(int) if isinstance(learner, KernelClassifier) else y
    X_repeated, y_repeated = repeated(X, y, weight)
    arguments = {"n_components": n_components, "map": map, "random_state": 0}
    weighted = learner.set_params(**arguments).fit(form(X), y, sample_weight=weight)
    Z = weighted.transform(X) if isinstance(learner, KernelPCA) else weighted.predict(X)
    other = learner.fit(form(X_repeated), y_repeated)
    same = other.transform(X) if isinstance(learner, KernelPCA) else other.predict(X)
    digits = {"rtol": 1e-6, "atol": 1e-8 * np.abs(Z).max()}  # a row next to 0 has the rounding of the others
    np.testing.assert_allclose(Z, same, **digits)
    without = learner.fit(form(X[weight > 0]), y[weight > 0], sample_weight=weight[weight > 0])
    again = without.transform(X) if isinstance(learner, KernelPCA) else without.predict(X)
    np.testing.assert_allclose(Z, again, **digits)


def test_few_different_rows_are_mapped_exactly_however_often_they_are_there(tmp_path):
    X, y, _ = problem()
    X, y = np.tile(X, (400, 1)), np.tile(y, 400)
    model = KernelRegressor("gaussian(0.3)", n_components=24, alpha=0.5, random_state=0).fit(X, y)
    assert isinstance(model.map_, Nystrom)
    np.testing.assert_array_equal(model.map_.component_indices_, np.arange(24))
    exact = KernelRidge(kernel="rbf", gamma=0.3, alpha=0.5 / 400).fit(X[:24], y[:24] - y.mean())
    assert abs(model.score(X, y) - exact.score(X[:24], y[:24] - y.mean())) < 1e-3
    mercer.save(model, tmp_path / "model")
    np.testing.assert_array_equal(mercer.load(tmp_path / "model").predict(X), model.predict(X))
    assert isinstance(
        KernelRegressor(n_components=23, random_state=0, kernel=None, alpha=1.0, preparation=None).fit(X, y).map_,
        OrthogonalFourier,
    )


def test_all_rows_are_landmarks_where_all_differ():
    X, y, _ = problem()
    model = KernelRegressor(n_components=24, random_state=0, kernel=None, alpha=1.0, preparation=None).fit(X, y)
    assert model.map_.landmarks == "uniform"
    np.testing.assert_array_equal(model.map_.component_indices_, np.arange(24))


@pytest.mark.parametrize("learner", [KernelRegressor, KernelClassifier])
def test_precomputed_kernels_have_rows_too(learner):
    X, y, weight = problem()
    y = (y > 0).astype(int) if learner is KernelClassifier else y
    X_repeated, y_repeated = repeated(X, y, weight)
    gram, gram_repeated = (np.exp(-0.2 * ((M[:, None] - M[None]) ** 2).sum(axis=2)) for M in (X, X_repeated))
    model = learner("precomputed", n_components=20, random_state=0)
    model.fit(gram, y, sample_weight=weight)
    assert len(model.map_.component_indices_) == 18
    assert weight[model.map_.component_indices_].all()
    model.fit(gram_repeated, y_repeated)
    assert len(model.map_.component_indices_) == 18


def test_narrow_machines_say_so():
    assert (
        KernelRegressor(n_components=16, kernel=None, alpha=1.0, preparation=None)
        .__sklearn_tags__()
        .regressor_tags.poor_score
    )
    assert (
        KernelClassifier(map=OrthogonalFourier(n_components=2), C=1.0, preparation=None)
        .__sklearn_tags__()
        .classifier_tags.poor_score
    )
    for n_components in (32, None, "many"):
        assert (
            not KernelRegressor(n_components=n_components, kernel=None, alpha=1.0, preparation=None)
            .__sklearn_tags__()
            .regressor_tags.poor_score
        )


@pytest.mark.parametrize("map", ["auto", "nystrom", "orthogonal_fourier"])
def test_a_plan_names_the_map_that_rows_that_differ_will_have(map):
    X, y, _ = problem()
    for n_components in (23, 24):
        model = KernelRegressor(
            n_components=n_components, map=map, random_state=0, kernel=None, alpha=1.0, preparation=None
        )
        found = mercer.report.plan(model, mercer.data.open(X, target=y))
        assert found.map == type(model.fit(X, y).map_).__name__


def test_classifiers_take_many_repeats_of_hundreds_of_rows():
    """Landmarks are given in this case; otherwise a classifier would draw some of them by the slopes of its loss."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(700, 3)), 2, axis=0)
    y = (X[:, 0] * X[:, 1] > 0.0).astype(int)
    model = KernelClassifier("gaussian(0.5)", C=1.0, n_components=1024, random_state=0).fit(X, y)
    assert isinstance(model.map_, Nystrom)
    np.testing.assert_array_equal(model.map_.component_indices_, np.arange(0, 1400, 2))
    assert model.score(X, y) > 0.9
