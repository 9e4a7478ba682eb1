"""Pipelines as files: scikit-learn's estimators around ours are restored to the bit, and nothing else is loaded."""

from __future__ import annotations

import json
import pickle
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier, SGDRegressor
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import LinearSVC

import mercer
from mercer import KernelClassifier, KernelRegressor, Nystrom, RandomFourier
from mercer.kernels import Gaussian
from mercer.persist import ModelFileError, NotStoredError, describe
from mercer.persist.sklearn_estimators import INSIDE, KNOWN

from .hostile import Parts
from .models import fitted_pipelines, labels, rows, target

METHODS = ("predict", "predict_proba", "decision_function", "transform")


def features():
    return RandomFourier(Gaussian(0.3), n_components=12, random_state=0)


def mixed(n=60, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    return frame.assign(k=np.array(["x", "y", "z"])[rng.integers(0, 3, n)], m=rng.integers(0, 3, n))


def same(ours, theirs, X):
    """Equal answers to the bit, of equal types."""
    asked = 0
    for method in METHODS:
        if hasattr(ours, method):
            expected, found = getattr(ours, method)(X), getattr(theirs, method)(X)
            if sp.issparse(expected):
                expected, found = expected.toarray(), found.toarray()
            assert expected.dtype == found.dtype, method
            np.testing.assert_array_equal(expected, found)
            asked += 1
    assert asked


def again(model, tmp_path, parameters="full"):
    mercer.save(model, tmp_path / "model", parameters)
    return mercer.load(tmp_path / "model")


# -- what comes back ---------------------------------------------------------------------------------------------------

STEPS = [
    StandardScaler(),
    StandardScaler(with_mean=False),
    StandardScaler(with_std=False),
    MinMaxScaler((-1, 1), clip=True),
    MaxAbsScaler(),
    RobustScaler(quantile_range=(10.0, 90.0)),
    RobustScaler(with_centering=False),
    Normalizer("l1"),
    Binarizer(threshold=0.1),
    FunctionTransformer(),
    FunctionTransformer(validate=True),
    PolynomialFeatures(2),
    PolynomialFeatures((1, 2), interaction_only=True, include_bias=False),
    QuantileTransformer(n_quantiles=10, output_distribution="normal"),
    PowerTransformer(),
    PowerTransformer(standardize=False),
    VarianceThreshold(0.5),
    SimpleImputer(strategy="median"),
    SimpleImputer(strategy="constant", fill_value=2),
    PCA(2),
    PCA(0.9),
    PCA(whiten=True),
    PCA(2, svd_solver="randomized", random_state=0),
    PCA(2, svd_solver="full"),
    TruncatedSVD(2, random_state=0),
]
LAST = [
    (LinearSVC(random_state=0), "labels"),
    (LinearSVC(random_state=0, fit_intercept=False), "two"),
    (LogisticRegression(C=0.5), "labels"),
    (LogisticRegression(), "objects"),
    (LogisticRegression(class_weight={False: 1.0, True: 3.0}), "two"),
    (RidgeClassifier(), "labels"),
    (RidgeClassifier(), "two"),
    (Ridge(), "numbers"),
    (Ridge(solver="lsqr"), "several"),
    (Ridge(fit_intercept=False), "numbers"),
    (LinearRegression(), "numbers"),
    (LinearRegression(), "several"),
    (SGDRegressor(random_state=0), "numbers"),
]


def targets(kind, X):
    return {
        "labels": labels(X),
        "objects": np.array(labels(X).tolist(), dtype=object),
        "two": target(X) > 0,
        "numbers": target(X),
        "several": np.column_stack([target(X), X[:, 2]]),
    }[kind]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("step", STEPS, ids=str)
def test_a_transformer_before_a_map_is_restored(step, dtype, tmp_path):
    X = rows().astype(dtype)
    model = make_pipeline(clone(step), features()).fit(X)
    found = again(model, tmp_path)
    same(model, found, X)
    before = (tmp_path / "model").read_bytes()
    again(found, tmp_path)
    assert (tmp_path / "model").read_bytes() == before
    assert str(found) == str(model)


@pytest.mark.parametrize(("last", "kind"), LAST, ids=lambda one: str(one))
@pytest.mark.parametrize("parameters", ["full", "seed"])
def test_a_linear_model_after_a_map_is_restored(last, kind, parameters, tmp_path):
    X = rows()
    model = make_pipeline(features(), clone(last)).fit(X, targets(kind, X))
    same(model, again(model, tmp_path, parameters), X)


def test_single_precision_stays_single(tmp_path):
    X = rows().astype(np.float32)
    model = make_pipeline(features(), Ridge()).fit(X, target(X).astype(np.float32))
    assert model.predict(X).dtype == np.float32
    same(model, again(model, tmp_path), X)


COLUMNS = {
    "names": ColumnTransformer(
        [("numbers", StandardScaler(), ["a", "b"]), ("levels", OneHotEncoder(), ["k", "m"])], remainder="passthrough"
    ),
    "rest": ColumnTransformer([("levels", OneHotEncoder(drop="if_binary"), ["k"])], remainder="drop"),
    "one name": ColumnTransformer([("scaled", MinMaxScaler(), ["a"]), ("left", "passthrough", ["m"])]),
    "numbers": ColumnTransformer(
        [("scaled", make_pipeline(SimpleImputer(), RobustScaler()), [0, 1]), ("out", "drop", [2])],
        remainder="passthrough",
    ),
    "slice": ColumnTransformer([("scaled", MaxAbsScaler(), slice(0, 2)), ("out", "drop", slice(2, 4))]),
    "mask": ColumnTransformer([("scaled", MaxAbsScaler(), [True, True, False, False])]),
    "slice of names": ColumnTransformer([("scaled", MaxAbsScaler(), slice("a", "b")), ("m", "passthrough", ["m"])]),
    "from the end": ColumnTransformer([("scaled", MaxAbsScaler(), [-4, 1]), ("one", MinMaxScaler(), slice(3, None))]),
    "an array": ColumnTransformer([("scaled", MaxAbsScaler(), np.array([0, 1]))]),
    "codes": ColumnTransformer(
        [
            ("codes", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), ["k", "m"]),
            ("sketched", RandomFourier(Gaussian(0.1), n_components=6, random_state=1), ["a", "b"]),
        ],
        transformer_weights={"codes": 0.5},
        verbose_feature_names_out=False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_are_restored(name, tmp_path):
    X = mixed()
    for last in (features(), KernelRegressor(n_components=8, random_state=0, kernel=None, alpha=1.0, preparation=None)):
        model = make_pipeline(clone(COLUMNS[name]), last).fit(X, X["a"] + X["m"])
        found = again(model, tmp_path)
        same(model, found, mixed(9, seed=1))
        assert list(found[0].get_feature_names_out()) == list(model[0].get_feature_names_out())
        assert str(found) == str(model)


def test_columns_that_jobs_work_on_are_restored_without_a_pipeline(tmp_path):
    alone = clone(COLUMNS["codes"]).set_params(n_jobs=2).fit(mixed())
    same(alone, again(alone, tmp_path), mixed(9, seed=1))


def test_levels_of_every_kind_are_restored(tmp_path):
    numbers, text = np.array([[1.5], [2.0], [np.nan]] * 9), np.array([["a"], ["b"], [None]] * 9, dtype=object)
    for X in (numbers, text, text[:18:3], np.array([["x"], ["yy"]] * 9), np.array([[3], [5]] * 9), numbers[:2] > 1.6):
        for encoder in (OneHotEncoder(handle_unknown="ignore"), OrdinalEncoder(encoded_missing_value=-2)):
            model = make_pipeline(clone(encoder), Nystrom(Gaussian(0.3), n_components=2, random_state=0)).fit(X)
            same(model, again(model, tmp_path), X)
    filled = make_pipeline(SimpleImputer(missing_values=None, strategy="most_frequent"), OneHotEncoder(), features())
    same(filled.fit(text), again(filled, tmp_path), text)
    single = OneHotEncoder(dtype=np.float32, categories=[["a", "b", "c"]], sparse_output=False)
    model = make_pipeline(single, features()).fit(text[[0, 1]])
    same(model, again(model, tmp_path), text[[0, 1]])


def test_frames_that_a_step_gives_are_given_again(tmp_path):
    X = mixed()[["a", "b"]]
    model = Pipeline([("scaled", StandardScaler().set_output(transform="pandas")), ("last", features())]).fit(X)
    found = again(model, tmp_path)
    pd.testing.assert_frame_equal(found[0].transform(X), model[0].transform(X))
    same(model, found, X)


def test_pipelines_in_pipelines_are_restored(tmp_path):
    X = rows()
    inner = Pipeline([("scaled", StandardScaler()), ("idle", "passthrough"), ("none", None), ("map", features())])
    model = Pipeline(
        [
            ("inner", inner),
            ("machine", KernelClassifier(n_components=8, random_state=0, kernel=None, C=1.0, preparation=None)),
        ]
    ).fit(X, labels(X))
    found = again(model, tmp_path)
    same(model, found, X)
    assert [name for name, _ in found[0].steps] == ["scaled", "idle", "none", "map"]
    assert describe(tmp_path / "model")["class"] == "Pipeline"


def test_a_pipeline_that_came_back_can_be_fitted_again(tmp_path):
    for model, X in fitted_pipelines().values():
        found = again(model, tmp_path)
        y = labels(X) if hasattr(model[-1], "classes_") else target(X)
        same(clone(model).fit(X, y), clone(found).fit(X, y), X)
        same(pickle.loads(pickle.dumps(found)), found, X)


def test_every_estimator_of_the_table_is_tried():
    tried = {type(step).__name__ for step in (*STEPS, *(last for last, _ in LAST), OneHotEncoder(), OrdinalEncoder())}
    assert tried == set(KNOWN) - set(INSIDE)


# -- what is refused when it is saved ----------------------------------------------------------------------------------


class Mine(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.n_features_in_ = 4
        return self

    def transform(self, X):
        return X


class Scaler(StandardScaler):
    pass


REFUSED = {
    "Mine": lambda: Mine(),
    "Scaler": lambda: Scaler(),
    "KBinsDiscretizer": lambda: KBinsDiscretizer(3, strategy="uniform"),
    "SelectKBest": lambda: SelectKBest(lambda X, y: np.arange(4.0), k=2),
    "FeatureUnion": lambda: FeatureUnion([("a", StandardScaler())]),
    "func is the function": lambda: FunctionTransformer(np.log1p),
    "kw_args": lambda: FunctionTransformer(inv_kw_args={"a": 1}),
    "memory is a location": lambda: Pipeline([("a", StandardScaler())], memory="here"),
    "remainder is an estimator": lambda: ColumnTransformer([("a", "passthrough", [0])], remainder=StandardScaler()),
    "columns.0 is the function": lambda: ColumnTransformer([("a", StandardScaler(), make_column_selector("a|b"))]),
    "random_state is a random number generator": lambda: PCA(2, random_state=np.random.RandomState(0)),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_other_steps_are_refused_by_name(reason, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = np.abs(rows())
    if "columns" in reason:
        X = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = make_pipeline(REFUSED[reason](), features()).fit(X, np.arange(len(X)))
    with pytest.raises((NotStoredError, ValueError), match=reason):
        mercer.save(model, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_the_refusal_says_what_to_do(tmp_path):
    model = make_pipeline(Mine(), features()).fit(rows())
    with pytest.raises(NotStoredError, match=r"StandardScaler, MinMaxScaler,.*or apply the step yourself before"):
        mercer.save(model, tmp_path / "model")


def test_what_is_not_fitted_or_not_ours_is_refused(tmp_path):
    with pytest.raises(ValueError, match="not fitted yet"):
        mercer.save(make_pipeline(StandardScaler(), features()), tmp_path / "model")
    with pytest.raises(ValueError, match="without a map or learner of mercer"):
        mercer.save(make_pipeline(StandardScaler(), Ridge()).fit(rows(), target(rows())), tmp_path / "model")
    with pytest.raises(TypeError, match="or a pipeline around one, found StandardScaler"):
        mercer.save(StandardScaler().fit(rows()), tmp_path / "model")


def test_an_unknown_attribute_is_not_silently_lost(tmp_path):
    model = make_pipeline(StandardScaler(), features()).fit(rows())
    model[0].secret_ = 1
    with pytest.raises(NotStoredError, match="StandardScaler has secret_, which a model file cannot contain"):
        mercer.save(model, tmp_path / "model")


# -- files that were made up -------------------------------------------------------------------------------------------


@cache
def saved(name):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        mercer.save(fitted_pipelines()[name][0], f"{folder}/model")
        return Path(folder, "model").read_bytes()


def step(parts, place):
    return parts.held["model"]["steps"][place][1]


def put(name, array):
    return lambda parts: parts.put(name, array)


def given(place, **entries):
    return lambda parts: step(parts, place).update(entries)


def argued(place, **arguments):
    return lambda parts: step(parts, place)["arguments"].update(arguments)


def learned(place, **entries):
    return lambda parts: step(parts, place)["learned"].update(entries)


def steps(change):
    return lambda parts: change(parts.held["model"]["steps"])


def columns(change):
    return lambda parts: change(step(parts, 0))


HOSTILE = {
    "a class of the system": ("pipeline", given(0, **{"class": "os.system"}), "one of the maps"),
    "a class of scikit-learn": ("pipeline", given(0, **{"class": "KBinsDiscretizer"}), "one of the maps"),
    "a part alone": ("pipeline", given(0, **{"class": "LabelBinarizer"}), "one of the maps"),
    "no class": ("pipeline", given(0, **{"class": None}), "must be text"),
    "an unknown entry": ("pipeline", given(0, code="import os"), "unknown entry 'code'"),
    "an unknown argument": ("pipeline", argued(0, func="os.system"), "unknown entry 'func'"),
    "an argument of another type": ("pipeline", argued(0, method="evil"), "'method' parameter"),
    "a kernel as an argument": ("pipeline", argued(0, method={"kernel": "Linear()"}), "unknown kind 'kernel'"),
    "a map as an argument": ("pipeline", argued(2, C={"map": {}}), "unknown kind 'map'"),
    "a type of code": ("pipeline-columns", columns(lambda ct: ct["fitted"][1][1]["arguments"].update(
        dtype={"type": "object"})), "name of a type of numbers"),
    "a memory to read": ("pipeline", lambda parts: parts.held["model"]["arguments"].update(memory="here"), "memory"),
    "no learned entries": ("pipeline", given(0, learned=None), "must be an object"),
    "an unknown attribute": ("pipeline", learned(0, __class__="evil"), "unknown entry '__class__'"),
    "an attribute that is missing": ("pipeline-ridge", lambda parts: parts.held["model"]["steps"][0][1].update(
        {"class": "RobustScaler"}), "RobustScaler|unknown|no center_"),
    "another width": ("pipeline-ridge", given(0, columns=5), r"must have the shape \(5,\)"),
    "a width of truth": ("pipeline-ridge", given(0, columns=True), "an integer"),
    "an endless width": ("pipeline-ridge", given(0, columns=2**40), "an integer"),
    "a matrix for a vector": ("pipeline-ridge", put("steps.0.scale_", np.ones((2, 2))), "must have the shape"),
    "integers for numbers": ("pipeline-ridge", put("steps.0.scale_", np.ones(4, np.int64)), "must be float64"),
    "coefficients that are not finite": ("pipeline-ridge", put("steps.2.coef_", np.full(12, np.nan)), "not finite"),
    "too many rows of coefficients": ("pipeline", put("steps.2.coef_", np.ones((9, 12))), "shape|rows"),
    "a tensor too many": ("pipeline", put("steps.2.evil", np.ones(2)), "does not belong to the model"),
    "one class": ("pipeline", learned(2, classes_={"dtype": "<U3", "items": ["no"]}), "at least 2"),
    "classes out of order": ("pipeline", learned(2, classes_={"dtype": "<U3", "items": ["b", "a", "c"]}),
        "in increasing order"),
    "classes of two kinds": ("pipeline", learned(2, classes_={"dtype": "object", "items": ["a", 1, None]}),
        "at least 2"),
    "classes that are too long": ("pipeline", learned(2, classes_={"dtype": "<U1", "items": ["a", "bb", "c"]}),
        "not fit"),
    "a type of classes": ("pipeline", learned(2, classes_={"dtype": "O", "items": []}), "name of a type"),
    "text of a gigabyte": ("pipeline",
        learned(2, classes_={"dtype": "<U999999", "items": list("abcdefghijklmnopqrst")}),
        "not fit"),
    "no steps": ("pipeline", lambda parts: parts.held["model"].update(steps=[]), "different names"),
    "steps of text": ("pipeline", steps(lambda some: some.append("evil")), "must be a list"),
    "a step twice": ("pipeline", steps(lambda some: some[0].__setitem__(0, some[1][0])), "different names"),
    "a name with two bars": ("pipeline", steps(lambda some: some[0].__setitem__(0, "a__b")), "different names"),
    "a step that is a word": ("pipeline", steps(lambda some: some[0].__setitem__(1, "drop")), "must be an object"),
    "a last step first": ("pipeline", steps(lambda some: some.append(["more", "passthrough"])), "must transform rows"),
    "only idle steps": ("pipeline", steps(lambda some: some.__setitem__(slice(None), [["a", "passthrough"]])),
        "without a map"),
    "an output of evil": ("pipeline-columns", columns(lambda ct: ct["fitted"][1][1].update(output="evil")),
        "must be one of"),
    "another part": ("pipeline", lambda parts: step(parts, 0)["parts"]["_scaler"].update({"class": "PCA"}),
        "must be a StandardScaler"),
    "a part of evil": ("pipeline", lambda parts: step(parts, 0)["parts"].update(evil={}), "unknown entry 'evil'"),
    "columns that are not there": ("pipeline-columns", columns(lambda ct: ct["fitted"][0].__setitem__(2, [99])),
        "from 0 to 3"),
    "too many columns": ("pipeline-columns", columns(lambda ct: ct.update(columns=2**30)), "from 1 to"),
    "a part too few": ("pipeline-columns", columns(lambda ct: ct["fitted"].pop(0)), "one fitted part for each"),
    "a part twice": ("pipeline-columns", columns(lambda ct: ct["fitted"].append(ct["fitted"][2])),
        "one fitted part for each|passes|part"),
    "another remainder": ("pipeline-columns", columns(lambda ct: ct["fitted"][2].__setitem__(2, [0])),
        "that no part uses"),
    "columns that are not those of the fit": ("pipeline-columns", columns(lambda ct: ct["transformers"][0].__setitem__(
        2, {"list": ["length", "level"]})), "not those on which it was fitted"),
    "a column by a number out of range": ("pipeline-columns", columns(lambda ct: ct["transformers"][0].__setitem__(
        2, {"list": [2**31]})), "must be among the 4"),
    "a column of no kind": ("pipeline-columns", columns(lambda ct: ct["transformers"][0].__setitem__(
        2, {"list": [0.5, None]})), "must be among the 4"),
    "a mask that is too short": ("pipeline-columns", columns(lambda ct: ct["transformers"][0].__setitem__(
        2, {"list": [True]})), "a truth value for each of 4 columns, found 1"),
    "processes without end": ("pipeline-columns", columns(lambda ct: ct["arguments"].update(n_jobs=10**6)), "n_jobs"),
    "a remainder of code": ("pipeline-columns", columns(lambda ct: ct.update(remainder="evil")), "must be one of"),
    "levels twice": ("pipeline-columns", columns(lambda ct: ct["fitted"][1][1]["learned"].update(
        categories_=[{"dtype": "object", "items": ["a", "a"]}])), "different levels"),
    "levels of no column": ("pipeline-columns", columns(lambda ct: ct["fitted"][1][1]["learned"].update(
        categories_=[])), "categories_ must be those|drop_idx_ must have"),
    "a level dropped that is not there": ("pipeline-columns", columns(lambda ct: ct["fitted"][1][1]["learned"].update(
        drop_idx_={"dtype": "object", "items": [7]})), "from 0 to 2"),
    "levels of lists": ("pipeline-columns", columns(lambda ct: ct["fitted"][1][1]["learned"].update(
        categories_=[{"dtype": "object", "items": [[], []]}])), "entries of that type"),
    "a gap of gigabytes": ("pipeline-nested", lambda parts: step(parts, 0)["steps"][1][1].update(
        gaps={"components_": 10**9}), "from 3 to"),
    "a gap of a vector": ("pipeline-nested", lambda parts: step(parts, 0)["steps"][1][1].update(
        gaps={"mean_": 5}), "only a matrix can have one"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_files_that_were_made_up_are_refused(name, tmp_path):
    model, change, reason = HOSTILE[name]
    parts = Parts(saved(model))
    change(parts)
    (tmp_path / "model").write_bytes(parts.bytes())
    with pytest.raises(ModelFileError, match=reason) as caught:
        mercer.load(tmp_path / "model")
    assert len(str(caught.value)) < 600


def test_wide_steps_cost_nothing(tmp_path):
    """A file of a hundred bytes that declares a billion columns is refused, or read without creating any."""
    model = make_pipeline(PolynomialFeatures(2), features()).fit(rows())
    mercer.save(model, tmp_path / "model")
    parts = Parts((tmp_path / "model").read_bytes())
    step(parts, 0)["columns"] = 2**31 - 1
    (tmp_path / "model").write_bytes(parts.bytes())
    with pytest.raises(ModelFileError, match=r"width of PolynomialFeatures|output that would result"):
        mercer.load(tmp_path / "model")


def test_a_single_step_is_not_a_model(tmp_path):
    parts = Parts(saved("pipeline-ridge"))
    parts.held["class"], parts.held["model"] = "MinMaxScaler", step(parts, 0)
    (tmp_path / "model").write_bytes(parts.bytes())
    with pytest.raises(ModelFileError, match="found a MinMaxScaler"):
        mercer.load(tmp_path / "model")


def test_a_pipeline_file_contains_only_json_and_arrays(tmp_path):
    for name in fitted_pipelines():
        parts = Parts(saved(name))
        assert json.dumps(parts.held)
        assert all(entry["dtype"] in ("F64", "F32", "I64", "I32", "I8") for entry in parts.entries.values())
