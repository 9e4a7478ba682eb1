"""Exported models apart from their features: columns, refused rows, names and files."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pandas as pd
import pytest

import mercer
from mercer import KernelClassifier, KernelRegressor, RandomFourier, export
from mercer.kernels import AdditiveChi2, Polynomial, SkewedChi2, VovkInfinite
from mercer.learn import ConformalRegressor, KernelKMeans, KernelNovelty, KernelPCA
from mercer.learn.prepare.offsets_and_factors import WIDEST

from .running import TOLERANCES, assert_agree, run


def table(n=200, seed=0):
    """Columns of different sizes; two have heavy tails, one is constant, one has gaps."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)) * [1.0, 100.0, 0.01, 1.0, 1.0] + [0.0, 5.0, 0.0, 3.0, 0.0]
    X[:, 2] = 0.01 * rng.standard_cauchy(n)
    X[:, 3] = 3.0
    y = np.sin(X[:, 0]) + 0.01 * X[:, 1]
    X[:, 4] = rng.standard_cauchy(n) + 2.0
    X[rng.random(n) < 0.2, 4] = np.nan
    return X, y


@pytest.mark.parametrize("scale", ["auto", "standard", "common", "unit", "minmax"])
@pytest.mark.parametrize("missing", ["mean", "indicator"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_columns_are_prepared(scale, missing, dtype):
    X = table()[0].astype(dtype)
    new = table(50, seed=1)[0].astype(dtype)
    new[0] = [1e4, -1e6, 30.0, 4.0, np.nan]
    model = KernelPCA("gaussian(0.2)", n_components=32, scale=scale, missing=missing, random_state=0).fit(X)
    assert_agree(run(model, new, dtype)["components"], model.transform(new), dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_beyond_the_reach_of_scaled_rows(dtype):
    X = table()[0].astype(dtype)
    new = table(50, seed=1)[0].astype(dtype)
    new[:2, :2] = [[1e4, 5.0], [0.0, -1e6]]
    model = KernelPCA("gaussian", n_components=32, random_state=0).fit(X)
    assert model.preparation_.tails == "tame"
    assert np.abs(model.preparation_(new)[:2]).max() > WIDEST + 1.0
    assert_agree(run(model, new, dtype)["components"], model.transform(new), dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_learner_with_default_arguments_is_exported(dtype):
    X, y = (part.astype(dtype) for part in table(400))
    new = table(50, seed=1)[0].astype(dtype)
    new[0, 1] = 1e4
    regressor = KernelRegressor(random_state=0).fit(X, y)
    classifier = KernelClassifier(loss="squared", random_state=0).fit(X, y > 0)
    assert regressor.preparation_.tamed is not None
    assert regressor.preparation_.kept is not None
    assert regressor.preparation_.indicated is not None
    # Weights of dependent features are large and cancel: rounding is a share of their sum.
    fitted, weights = regressor.map_.fitted_.linear(np.atleast_2d(regressor.coef_))
    weights = fitted.parameters.whitening if weights is None else weights
    rounding = 10.0 * np.finfo(np.float64).eps * np.abs(weights).sum()
    found, expected = run(regressor, new, dtype)["prediction"], regressor.predict(new)
    assert np.abs(found - expected).max() <= 10.0 * TOLERANCES[dtype] * np.ptp(y) + rounding
    found = run(classifier, new, dtype)
    np.testing.assert_array_equal(found["label"], classifier.predict(new))
    assert np.abs(found["probabilities"] - classifier.predict_proba(new)).max() <= 10.0 * TOLERANCES[dtype]


def test_columns_that_were_learned():
    X, _ = table(60)
    model = KernelPCA("gaussian(0.2)", n_components=32, scale="standard", random_state=0).fit(X)
    model.preparation_ = model.preparation_.with_column_scales(np.linspace(0.5, 2.0, model.map_.n_features_in_))
    assert_agree(run(model, X, "float64")["components"], model.transform(X), "float64")


def test_rows_far_from_all_that_were_learned_from():
    X, y = table(200)
    X, far = X[:, :2], np.array([[0.0, 5.0], [3.0, 900.0], [-40.0, 5.0]])
    regressor = KernelRegressor("gaussian(0.2)", map="Nystrom", scale="standard", n_components=32, random_state=0)
    regressor.fit(X, y)
    assert regressor.extrapolates(far).tolist() == [False, True, True]
    assert regressor.predicted_region is not None
    assert_agree(run(regressor, far, "float64")["prediction"], regressor.predict(far), "float64")
    classifier = KernelClassifier("gaussian(0.2)", scale="standard", n_components=32, random_state=0).fit(X, y > 0.0)
    assert_agree(run(classifier, far, "float64")["decision_values"], classifier.decision_function(far), "float64")
    clipped = KernelRegressor("linear", extrapolate="clip", n_components=32, random_state=0).fit(X, y)
    assert clipped.clips
    assert_agree(run(clipped, far, "float64")["prediction"], clipped.predict(far), "float64")
    single = KernelRegressor("gaussian(0.2)", map="Nystrom", random_state=0, alpha=1.0).fit(X[:1].repeat(3, 0), y[:3])
    assert_agree(run(single, far, "float64")["prediction"], single.predict(far), "float64")


def test_quantiles_are_in_the_order_of_their_levels():
    X, y = table(60)
    X = X[:, :2]
    model = KernelRegressor("gaussian(0.2)", loss="quantile", quantile=(0.9, 0.1, 0.5), alpha=1.0, n_components=16)
    model.set_params(random_state=0, scale="standard").fit(X, y)
    assert_agree(run(model, X, "float64")["prediction"], model.predict(X), "float64")


def test_the_most_likely_class_is_the_label():
    X = np.random.default_rng(0).normal(size=(90, 2))
    y = np.digitize(X[:, 0], (-0.5, 0.5))
    model = KernelClassifier("gaussian(0.3)", C=1.0, n_components=16, random_state=0).fit(X, y)
    # With these offsets, the calibration curves disagree with the labels.
    model.calibration_ = model.calibration_._replace(offsets=(-4.0, 4.0, 0.0))
    found = run(model, X, "float64")
    np.testing.assert_array_equal(model.classes_[found["probabilities"].argmax(axis=1)], found["label"])
    assert_agree(found["probabilities"], model.predict_proba(X), "float64")


# -- rows that are refused ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "bad"),
    [
        (AdditiveChi2(), [-0.1, 0.2]),
        (SkewedChi2(0.5), [-0.5, 0.2]),
        (0.5 * VovkInfinite(), [0.8, 0.7]),
        (VovkInfinite() + VovkInfinite(), [0.8, 0.7]),
        (VovkInfinite().of(AdditiveChi2()), [0.8, 0.7]),
        (Polynomial(2).of(AdditiveChi2()), [-0.1, 0.2]),
    ],
    ids=repr,
)
def test_rows_outside_the_domain_are_nan(kernel, bad):
    X = np.array([[0.1, 0.2], [0.3, 0.4], [0.0, 0.5]])
    map = mercer.Nystrom(kernel, n_components=3, random_state=0).fit(X)
    with pytest.raises(ValueError, match="row 1"):
        map.transform(np.array([X[0], bad]))
    found = run(map, np.array([X[0], bad, X[1]]), "float64")["features"]
    np.testing.assert_array_equal(np.isnan(found).all(axis=1), [False, True, False])
    assert_agree(found[::2], map.transform(X[:2]), "float64")


def test_rows_without_digits_left_are_nan():
    map = RandomFourier(n_components=8, random_state=0).fit(np.eye(2))
    with pytest.raises(ValueError, match="no digits left"):
        map.transform(np.array([[1e15, 1e15]]))
    found = run(map, np.array([[1e15, 1e15], [1.0, 2.0]]), "float64")["features"]
    np.testing.assert_array_equal(np.isnan(found).all(axis=1), [True, False])


@pytest.mark.parametrize(("dtype", "far"), [("float32", 1e18), ("float64", 1e150)])
@pytest.mark.parametrize("map", ["Nystrom", "TensorSketch"])
def test_rows_whose_features_overflow_are_nan(dtype, far, map):
    """Limits on predictions would otherwise make them numbers again."""
    X = np.random.default_rng(0).normal(size=(60, 2)).astype(dtype)
    bad = np.array([[far, 1.0], [1.0, 1.0], [-far, far]], dtype=dtype)
    kernel = Polynomial(3, gamma=0.3, coef0=0.5)
    given = {"map": map, "n_components": 16, "random_state": 0}
    models = (
        (KernelRegressor(kernel, alpha=0.1, **given).fit(X, X[:, 0]), "prediction", "predict"),
        (KernelClassifier(kernel, C=1.0, **given).fit(X, X[:, 0] > 0), "probabilities", "predict_proba"),
        (KernelPCA(kernel, **given).fit(X), "components", "transform"),
        (KernelKMeans(kernel, n_clusters=2, **given).fit(X), "distances", "transform"),
        (KernelNovelty(kernel, **given).fit(X), "scores", "score_samples"),
        (getattr(mercer, map)(kernel, n_components=16, random_state=0).fit(X), "features", "transform"),
    )
    for model, name, method in models:
        for row in bad[[0, 2]]:
            with pytest.raises(ValueError, match=r"overflow|too large"):
                getattr(model, method)(row[None])
        found = run(model, bad, dtype)[name].reshape(3, -1)
        assert np.isnan(found[[0, 2]]).all()
        assert np.isfinite(found[1]).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_whose_distances_overflow_are_far_from_everything(dtype):
    X = np.random.default_rng(0).normal(size=(60, 2)).astype(dtype)
    most = np.finfo(dtype).max
    far = np.array([[most, 1.0], [-most, most], [1e30, 0.0]], dtype=dtype)
    for kernel in ("gaussian(0.5)", "matern(1.5, length_scale=0.7)"):
        model = KernelClassifier(kernel, map="Nystrom", n_components=16, scale="standard", C=1.0, random_state=0)
        model.fit(X, X[:, 0] > 0)
        found = run(model, far, dtype)
        assert_agree(found["probabilities"], model.predict_proba(far), dtype)
        np.testing.assert_array_equal(found["label"], model.predict(far))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_infinities_are_nan(dtype):
    X = np.random.default_rng(0).normal(size=(60, 2)).astype(dtype)
    rows = np.array([[np.inf, 0.0], [0.5, 0.5], [0.5, -np.inf]], dtype=dtype)
    model = KernelRegressor(n_components=8, random_state=0).fit(X, X[:, 0])
    map = RandomFourier("gaussian(0.5)", n_components=8, random_state=0).fit(X)
    for found in (run(model, rows, dtype)["prediction"], run(map, rows, dtype)["features"][:, 0]):
        np.testing.assert_array_equal(np.isnan(found), [True, False, True])


def test_missing_values_that_are_errors_become_nan():
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = KernelNovelty(n_components=8, missing="error", random_state=0).fit(X)
    found = run(model, np.array([[np.nan, 1.0], [0.0, 1.0]]))["scores"]
    np.testing.assert_array_equal(np.isnan(found), [True, False])
    map = RandomFourier(n_components=8, random_state=0).fit(X)
    assert np.isnan(run(map, np.array([[np.nan, 1.0]]))["features"]).all()


# -- names and types ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "classes",
    [np.array(["b", "a"]), np.array([3, -1]), np.array([1.0, 3.0]), np.array([True, False]), np.array([2, 7, 5])],
    ids=["text", "whole", "numbers", "truth", "three"],
)
def test_labels_keep_their_type(classes):
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = classes[(np.digitize(X[:, 0], [-0.5, 0.5])) % len(classes)]
    model = KernelClassifier("gaussian(0.3)", C=1.0, n_components=16, random_state=0).fit(X, y)
    found, expected = run(model, X)["label"], model.predict(X)
    assert found.tolist() == expected.tolist()
    assert type(found.tolist()[0]) is type(expected.tolist()[0])


def test_several_tasks_have_outputs_of_their_own():
    X = np.random.default_rng(0).normal(size=(80, 2))
    y = np.stack([X[:, 0] > 0.0, np.digitize(X[:, 1], [-0.5, 0.5])], axis=1).astype(np.int64)
    model = KernelClassifier("gaussian(0.3)", C=1.0, n_components=16, random_state=0).fit(X, y)
    found = run(model, X, "float64")
    for task in range(2):
        np.testing.assert_array_equal(found[f"label_{task}"], model.predict(X)[:, task])
        assert_agree(found[f"decision_values_{task}"], model.decision_function(X)[task], "float64")
        assert_agree(found[f"probabilities_{task}"], model.predict_proba(X)[task], "float64")


def test_a_model_without_probabilities_has_no_such_output():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = KernelClassifier("gaussian(0.3)", C=1.0, loss="squared", n_components=16, random_state=0)
    model.partial_fit(X, X[:, 0] > 0.0, classes=[False, True])
    assert set(run(model, X)) == {"label", "decision_values"}


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        ("gaussian(0.2)", "Nystrom"),
        ("gaussian(0.2)", "RandomFourier"),
        ("gaussian(0.2)", "TaylorSketch"),
        ("exponential(0.3)", "TaylorSketch"),  # which multiplies rows by a vector
    ],
)
def test_no_rows_have_no_answers(kernel, name):
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = KernelClassifier(kernel, map=name, C=1.0, n_components=16, random_state=0).fit(X, X[:, 0] > 0.0)
    found = run(model, X[:0])
    assert {output: values.shape[0] for output, values in found.items()} == dict.fromkeys(found, 0)


def test_one_row_and_many(tmp_path):
    X = np.random.default_rng(0).normal(size=(3000, 3))
    map = RandomFourier(n_components=16, random_state=0).fit(X)
    assert_agree(run(map, X[:1], "float64")["features"], map.transform(X[:1]), "float64")
    assert_agree(run(map, X, "float64")["features"], map.transform(X), "float64")


def test_a_graph_has_metadata_and_names():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["length", "width"])
    made = export.onnx(RandomFourier(n_components=4, random_state=0).fit(frame))
    facts = {entry.key: entry.value for entry in made.metadata_props}
    assert facts == {"mercer": mercer.__version__, "model": "RandomFourier", "columns": '["length", "width"]'}
    assert json.loads(facts["columns"]) == list(frame)
    assert [one.version for one in made.opset_import] == [18]
    onnx.checker.check_model(made, full_check=True)  # infers every shape, which must agree with the declared ones


def test_a_frame_of_numbers_is_a_matrix():
    frame = pd.DataFrame({"a": np.arange(40.0), "b": np.arange(40) % 7})
    model = KernelRegressor(n_components=16, random_state=0).fit(frame, np.sin(frame["a"]))
    assert_agree(run(model, frame.to_numpy(), "float64")["prediction"], model.predict(frame), "float64")


# -- what is not exported ----------------------------------------------------------------------------------------------


def test_levels_and_dates_are_refused():
    frame = pd.DataFrame({"size": np.arange(40.0), "town": ["oslo", "rome"] * 20})
    model = KernelRegressor(n_components=16, random_state=0).fit(frame, frame["size"])
    with pytest.raises(export.NotExportedError, match="column 'town' has levels"):
        export.onnx(model)
    dated = frame.assign(town=pd.date_range("2024-01-01", periods=40))
    model = KernelRegressor(n_components=16, random_state=0).fit(dated, frame["size"])
    with pytest.raises(export.NotExportedError, match="column 'town' has dates"):
        export.onnx(model)


def test_kernel_values_in_place_of_rows_are_refused():
    X = np.random.default_rng(0).normal(size=(20, 2))
    model = KernelPCA("precomputed").fit(X @ X.T)
    with pytest.raises(export.NotExportedError, match=r"Precomputed.* has no formula"):
        export.onnx(model)


def test_intervals_are_refused():
    X = np.random.default_rng(0).normal(size=(60, 2))
    machine = KernelRegressor("gaussian(0.3)", alpha=0.5, n_components=12, random_state=0)
    model = ConformalRegressor(machine, random_state=0).fit(X, X[:, 0])
    with pytest.raises(export.NotExportedError, match="export its estimator_"):
        export.onnx(model)
    assert set(run(model.estimator_, X)) == {"prediction"}


def test_probabilities_over_a_posterior_are_refused():
    """The decision values alone would give other probabilities than the model."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    given = {"loss": "logistic", "probabilities": "laplace", "C": 1.0, "n_components": 12, "random_state": 0}
    model = KernelClassifier("gaussian(0.3)", **given).fit(X, X[:, 0] > 0.0)
    with pytest.raises(export.NotExportedError, match="fit with probabilities='calibrated'"):
        export.onnx(model)


def test_mixed_labels_are_refused():
    X = np.random.default_rng(0).normal(size=(20, 2))
    y = np.where(X[:, 0] > 0.0, "1", "a").astype(object)
    model = KernelClassifier("gaussian(0.3)", C=1.0, n_components=8, random_state=0).fit(X, y)
    model.classes_ = np.array([b"1", b"a"], dtype=object)
    with pytest.raises(export.NotExportedError, match="classes must be text"):
        export.onnx(model)


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="dtype must be one of"):
        export.onnx(RandomFourier().fit(np.eye(2)), dtype="float16")
    with pytest.raises(ValueError, match="not fitted"):
        export.onnx(RandomFourier())


def test_an_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr("mercer.export.models.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"mercer\[onnx\]"):
        export.onnx(RandomFourier().fit(np.eye(2)))
