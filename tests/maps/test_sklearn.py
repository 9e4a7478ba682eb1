"""scikit-learn's contract: every estimator check, parameters, pipelines, grids."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator

from mercer import Compressed, RandomMaclaurin, Stack, TaylorSketch, TensorProduct, TensorSketch, maps
from mercer._array import dense
from mercer.kernels import Exponential, Gaussian, Linear, Polynomial
from mercer.maps.construction import Construction

from ..tables import ROWS, every_value, first_of_class, obeying, sample_rows

EVERYWHERE = [row for row in ROWS if row.everywhere is True]


def once_per_base():
    """The ids of the first row of each class of map, of which those whose constructions share a base count as one."""
    firsts = {}
    for row in EVERYWHERE:
        made = type(row(8)).construction
        firsts.setdefault(made if made.__base__ is Construction else made.__base__, row.id)
    return set(firsts.values())


def checks():
    """Every check of scikit-learn for every row that is defined on all that they give: some, and the rest in full."""
    quick = once_per_base()
    for row in EVERYWHERE:
        marks = () if row.id in quick else pytest.mark.full
        for estimator, check in estimator_checks_generator(row(8)):
            yield pytest.param(estimator, check, id=f"{row.id}-{check.func.__name__}", marks=marks)


def test_every_map_is_checked():
    assert {type(row(8)) for row in EVERYWHERE} == {getattr(maps, name) for name in maps.__all__} - {maps.FeatureMap}


@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_estimator_checks(estimator, check):
    check(estimator)


@every_value(row=obeying("width"), n_components=[1, 2, 3, 17])
def test_any_width_comes_out_as_asked(row, n_components):
    X = row.sample()
    sketch = row(n_components, random_state=0).fit(X)
    assert sketch.transform(X).shape == (len(X), n_components)
    assert sketch.n_components_ == n_components
    assert len(sketch.get_feature_names_out()) == n_components


@pytest.mark.parametrize("row", first_of_class(obeying()))
def test_a_pickled_map_and_a_refitted_clone_give_the_same_bits(row):
    X = row.sample()
    sketch = row(16, random_state=2).fit(X)
    expected = sketch.transform(X)
    np.testing.assert_array_equal(clone(sketch).fit(X).transform(X), expected)
    if "lambda" not in repr(row.kernel):
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(sketch)).transform(X), expected)


GRIDS = [
    pytest.param(TensorSketch(Polynomial(2, coef0=1.0)), "kernel__gamma", [1e-4, 1.0, 100.0], id="kernel"),
    pytest.param(
        RandomMaclaurin(Polynomial(2, coef0=1.0) + Linear()), "kernel__left__gamma", [1e-4, 1.0, 100.0], id="left"
    ),
    pytest.param(
        Compressed(TensorSketch(Polynomial(2, coef0=1.0))), "map__kernel__gamma", [1e-4, 1.0, 100.0], id="map"
    ),
    pytest.param(
        Stack(TensorSketch(Polynomial(2, coef0=1.0)), TensorSketch(Linear())),
        "left__kernel__gamma",
        [1e-4, 1.0, 100.0],
        id="stack",
    ),
    pytest.param(
        TensorProduct(TensorSketch(Linear()), RandomMaclaurin(Polynomial(2, coef0=1.0) + Linear())),
        "right__kernel__left__gamma",
        [1e-4, 1.0, 100.0],
        id="product",
    ),
    pytest.param(RandomMaclaurin(0.5 * Exponential()), "kernel__weight", [1e-6, 1.0], id="weight"),
]


@pytest.mark.parametrize(("sketch", "name", "values"), GRIDS)
def test_a_grid_over_a_frozen_kernel_changes_the_scores(sketch, name, values):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6))
    y = X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0
    pipeline = make_pipeline(sketch.set_params(random_state=0, n_components=64), RidgeClassifier())
    step = pipeline.steps[0][0]
    search = GridSearchCV(pipeline, {f"{step}__{name}": values}, cv=3).fit(X, y)
    assert len(set(search.cv_results_["mean_test_score"])) > 1
    assert search.best_params_[f"{step}__{name}"] in values


def test_setting_parameters_of_a_kernel_swaps_the_kernel():
    sketch = TensorSketch(Polynomial(2) * Linear())
    before = sketch.kernel
    assert sketch.set_params(kernel__left__degree=3) is sketch
    assert sketch.kernel == Polynomial(3) * Linear()
    assert before == Polynomial(2) * Linear()
    sketch.set_params(kernel=Polynomial(2), kernel__coef0=0.5)
    assert sketch.kernel == Polynomial(2, coef0=0.5)
    with pytest.raises(ValueError, match="no parameter 'gama'"):
        sketch.set_params(kernel__gama=1.0)
    assert sketch.get_params()["kernel__coef0"] == 0.5


@pytest.mark.parametrize("sketch", [TensorSketch(n_components=8), Compressed(TensorSketch(), n_components=8)], ids=repr)
def test_a_failed_fit_leaves_no_map_behind(sketch):
    """Neither the first one, nor a second one that must not leave the features of the first."""
    X = sample_rows()
    for before in (lambda: clone(sketch), lambda: clone(sketch).fit(X)):
        failed = before().set_params(n_components=0)
        with pytest.raises(ValueError, match="n_components"):
            failed.fit(X[:, :2])
        for use in (failed.transform, failed.transform_blocks, failed.variance):
            with pytest.raises(NotFittedError):
                use(X)
        with pytest.raises(NotFittedError):
            failed.get_feature_names_out()


def test_frames_pipelines_and_column_transformers():
    X = pd.DataFrame(sample_rows(20), columns=list("abcde"))
    columns = ColumnTransformer(
        [("sketch", TensorSketch(n_components=8, random_state=0), ["a", "b"])], remainder="drop"
    )
    columns.set_output(transform="pandas")
    Z = columns.fit_transform(X)
    assert list(Z.columns) == [f"sketch__tensorsketch{i}" for i in range(8)]
    with pytest.raises(ValueError, match="feature names"):
        TensorSketch().fit(X).transform(X[["b", "a", "c", "d", "e"]])


def test_bandwidth_rules_are_resolved_at_fit():
    X = sample_rows(50)
    sketch = TaylorSketch(0.5 * Gaussian("median"), n_components=16, random_state=0).fit(X)
    assert sketch.kernel == 0.5 * Gaussian("median")
    assert sketch.kernel_ == (0.5 * Gaussian("median")).resolve(X, 0)
    assert TensorSketch(Polynomial(2, gamma="scale")).fit(X).kernel_.gamma == pytest.approx(1 / (5 * X.var()))


@every_value(row=first_of_class(obeying()), index=[np.int32, np.int64])
def test_sparse_rows_give_what_dense_rows_give(row, index):
    X = row.sample(30, 7)
    X[X < 0.2] = 0.0
    sketch = row(16, random_state=0).fit(X)
    expected = sketch.transform(X)
    scale = np.abs(expected).max()
    for form in (sp.csr_array, sp.csr_matrix):
        rows = form(X)
        rows.indices, rows.indptr = rows.indices.astype(index), rows.indptr.astype(index)
        np.testing.assert_allclose(dense(sketch.transform(rows)), expected, rtol=1e-10, atol=1e-12 * scale)
        refitted = row(16, random_state=0).fit(rows)
        np.testing.assert_allclose(dense(refitted.transform(rows)), expected, rtol=1e-8, atol=1e-10 * scale)
    rows = sp.csr_array(X)
    for start, stop in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):  # unsorted columns
        rows.indices[start:stop] = rows.indices[start:stop][::-1].copy()
        rows.data[start:stop] = rows.data[start:stop][::-1].copy()
    rows.has_sorted_indices = False
    np.testing.assert_allclose(dense(sketch.transform(rows)), expected, rtol=1e-10, atol=1e-12 * scale)
