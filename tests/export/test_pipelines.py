"""Pipelines of scikit-learn around maps and learners, in onnxruntime as in Python."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn import decomposition, feature_selection, linear_model, preprocessing, svm
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline

from mercer import KernelRegressor, Nystrom, RandomFourier, export
from mercer.export.pipelines import CLASSIFIERS, REGRESSORS, WITH_PROBABILITIES
from mercer.learn import KernelKMeans, KernelNovelty, KernelPCA

from .running import assert_agree, run

DTYPES = ("float32", "float64")
StandardScaler = preprocessing.StandardScaler


def table(dtype, gaps=False):
    """Columns of different sizes, and numbers that depend on them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4)) * [1.0, 100.0, 0.01, 1.0] + [0.0, 50.0, 0.0, 1000.0]
    y = np.sin(X[:, 0]) + 0.01 * X[:, 1]
    if gaps:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X.astype(dtype), y


def features():
    return Nystrom("gaussian(0.2)", n_components=12, random_state=0)


def linear(name):
    module = svm if hasattr(svm, name) else linear_model
    model = getattr(module, name)()
    return model.set_params(random_state=0) if "random_state" in model.get_params() else model


def assert_close(found, expected, dtype):
    """Agreement up to rounding; in float32, up to the rounding of earlier steps, which later ones magnify."""
    assert found.dtype == expected.dtype
    if dtype == "float32":
        assert found.shape == expected.shape
        assert np.abs(found - expected).max() <= 2e-4 * np.abs(expected).max()
    else:
        assert_agree(found, expected, dtype)


STEPS = {
    "without mean": StandardScaler(with_mean=False),
    "range": preprocessing.MinMaxScaler((-1.0, 1.0), clip=True),
    "largest": preprocessing.MaxAbsScaler(),
    "robust": preprocessing.RobustScaler(),
    "length": preprocessing.Normalizer(),
    "sum": preprocessing.Normalizer("l1"),
    "maximum": preprocessing.Normalizer("max"),
    "nothing": preprocessing.FunctionTransformer(),
    "passed": "passthrough",
    "directions": decomposition.PCA(3),
    "white": make_pipeline(StandardScaler(), decomposition.PCA(2, whiten=True)),
    "singular": decomposition.TruncatedSVD(3),
    "selected": make_pipeline(feature_selection.VarianceThreshold(0.1), StandardScaler()),
    "best": feature_selection.SelectKBest(feature_selection.f_regression, k=2),
    "components": make_pipeline(StandardScaler(), KernelPCA("gaussian(0.2)", n_components=12, random_state=0)),
    "distances": make_pipeline(StandardScaler(), KernelKMeans("gaussian(0.2)", n_init=1, n_clusters=3, random_state=0)),
    "columns": ColumnTransformer(
        [
            ("one", StandardScaler(), [0, 2]),
            ("features", make_pipeline(preprocessing.MinMaxScaler(), features()), [1]),
            ("none", "drop", [3]),
        ]
    ),
    "remainder": ColumnTransformer([("one", StandardScaler(), [2, 1])], remainder="passthrough"),
    "weighted columns": ColumnTransformer(
        [("one", StandardScaler(), [0, 2]), ("other", StandardScaler(), [1])],
        remainder=preprocessing.MaxAbsScaler(),
        transformer_weights={"one": 3.0, "other": None, "remainder": 0.5},
    ),
    "union": FeatureUnion(
        [("own", StandardScaler()), ("features", features()), ("none", "drop")], transformer_weights={"own": 2.0}
    ),
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_steps_before_the_last(name, dtype):
    X, y = table(dtype)
    model = make_pipeline(STEPS[name], RandomFourier("gaussian(0.1)", n_components=12, random_state=0)).fit(X, y)
    new = X[:30] * np.array(1.01, dtype=dtype)
    assert_close(run(model, new, dtype)["features"], model.transform(new), dtype)


@pytest.mark.parametrize("name", REGRESSORS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_pipelines_of_regressors_are_exported(name, dtype):
    X, y = table(dtype)
    model = make_pipeline(StandardScaler(), features(), linear(name)).fit(X, y)
    assert_close(run(model, X, dtype)["prediction"], model.predict(X), dtype)


@pytest.mark.parametrize("shape", [(120, 2), (120, 1)])
def test_pipelines_with_several_targets_are_exported(shape):
    X, y = table("float64")
    targets = np.stack([y, X[:, 0]], axis=1)[:, : shape[1]]
    model = make_pipeline(StandardScaler(), features(), linear_model.LinearRegression()).fit(X, targets)
    found = run(model, X, "float64")["prediction"]
    assert found.shape == shape
    assert_agree(found, model.predict(X), "float64")


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("name", CLASSIFIERS + WITH_PROBABILITIES)
def test_pipelines_of_classifiers_are_exported(name, several):
    X, y = table("float64")
    kinds = np.array(["few", "some", "many"])[np.digitize(y, [0.4, 1.0])] if several else y > 0.4
    model = make_pipeline(StandardScaler(), features(), linear(name)).fit(X, kinds)
    found = run(model, X, "float64")
    np.testing.assert_array_equal(found["label"], model.predict(X))
    assert_agree(found["decision_values"], model.decision_function(X), "float64")
    assert ("probabilities" in found) == (name in WITH_PROBABILITIES)
    if "probabilities" in found:
        assert_agree(found["probabilities"], model.predict_proba(X), "float64")


def test_gaps_are_filled_before_or_by_a_learner():
    X, y = table("float64", gaps=True)
    missing = np.where(np.arange(4) == 3, np.nan, X)
    filled = make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), features(), linear_model.Ridge())
    learner = KernelRegressor("gaussian(0.2)", alpha=0.1, n_components=12, random_state=0)
    for model, rows in ((filled, missing), (make_pipeline(StandardScaler(), learner), X)):
        with warnings.catch_warnings(action="ignore"):  # about the column without any number
            expected = model.fit(rows, y).predict(rows)
        assert_agree(run(model, rows, "float64")["prediction"], expected, "float64")


def test_the_outputs_are_those_of_the_last_step():
    X, _ = table("float64")
    clusters = make_pipeline(StandardScaler(), KernelKMeans("gaussian(0.2)", n_init=1, random_state=0)).fit(X)
    assert set(run(clusters, X, "float64")) == {"label", "distances"}
    scaled = make_pipeline("passthrough", StandardScaler()).fit(X)
    assert_agree(run(scaled, X, "float64")["features"], scaled.transform(X), "float64")


def test_what_has_no_operators_is_named():
    X, y = table("float64")
    for step in (preprocessing.QuantileTransformer(n_quantiles=9), preprocessing.FunctionTransformer(np.abs)):
        with pytest.raises(export.NotExportedError, match=type(step).__name__):
            export.onnx(make_pipeline(step, features()).fit(X))
    with pytest.raises(export.NotExportedError, match="SVR is not exported"):
        export.onnx(make_pipeline(StandardScaler(), svm.SVR()).fit(X, y))
    with pytest.raises(export.NotExportedError, match="SimpleImputer is exported with"):
        export.onnx(make_pipeline(SimpleImputer(add_indicator=True), features()).fit(X))
    novelty = KernelNovelty("gaussian(0.2)", n_components=12, random_state=0).fit(X)
    model = make_pipeline(StandardScaler(), features(), linear_model.Ridge()).fit(X, y)
    model.steps[1] = ("novelty", novelty)
    with pytest.raises(export.NotExportedError, match="KernelNovelty has no transform"):
        export.onnx(model)


def test_a_derived_class_may_do_something_else():
    class Doubled(StandardScaler):
        pass

    X, _ = table("float64")
    with pytest.raises(export.NotExportedError, match="Doubled is not exported"):
        export.onnx(make_pipeline(Doubled(), features()).fit(X))


@pytest.mark.parametrize("count", [2, 3])
def test_several_labels_per_row_are_refused(count):
    """The classes of three labels are the numbers 0, 1 and 2, as if every row had one of three classes."""
    X, y = table("float64")
    every = np.stack([y > 0.4, X[:, 0] > 0.0, X[:, 2] > 0.0], axis=1).astype(int)
    for model in (linear_model.RidgeClassifier(), linear_model.RidgeClassifierCV()):
        fitted = make_pipeline(StandardScaler(), features(), model).fit(X, every[:, :count])
        with pytest.raises(export.NotExportedError, match="of several labels per row is not exported"):
            export.onnx(fitted)


def test_one_class_against_the_others_is_refused():
    X, y = table("float64")
    model = make_pipeline(StandardScaler(), features(), linear_model.LogisticRegression()).fit(
        X, np.digitize(y, [0, 1])
    )
    model[-1].solver = "liblinear"
    with pytest.raises(export.NotExportedError, match="one class against the others"):
        export.onnx(model)
