"""Intervals and sets of classes in model files."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer.learn import ConformalClassifier, ConformalRegressor, KernelClassifier, KernelRegressor
from mercer.persist import ModelFileError, conformal_records
from mercer.persist.map_records import ArraySink, ArraySource

from .models import labels, rows, target


def fitted(method, grouped):
    X = rows()
    groups = np.where(X[:, 2] > 0.0, "high", "low") if grouped else None
    generator = np.random.default_rng(0)
    if method == "sets":
        machine = KernelClassifier("gaussian(0.3)", C=1.0, n_components=12, preparation=None, random_state=0)
        return ConformalClassifier(machine, coverage=0.5, random_state=generator).fit(X, labels(X), groups=groups)
    machine = KernelRegressor("gaussian(0.3)", alpha=0.5, n_components=12, preparation=None, random_state=0)
    wrapper = ConformalRegressor(machine, method=method, coverage=0.5, random_state=generator)
    return wrapper.fit(X, target(X), groups=groups)


def answers(model, X):
    groups = np.where(X[:, 2] > 0.0, "high", "low") if model.is_grouped_ else None
    ask = model.predict_set if isinstance(model, ConformalClassifier) else model.predict_interval
    return ask(X, groups=groups)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("method", ["split", "jackknife+", "cv+", "sets"])
def test_a_file_answers_as_its_model(tmp_path, method, grouped):
    model, X = fitted(method, grouped), rows(seed=1)
    mercer.save(model, tmp_path / "model")
    other = mercer.load(tmp_path / "model")
    np.testing.assert_array_equal(answers(other, X), answers(model, X))
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    assert (other.seed_, other.coverage) == (model.seed_, 0.5)
    assert other.estimator.get_params()["kernel"] == model.estimator.kernel
    mercer.save(other, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    found = mercer.report.contents(tmp_path / "model")
    assert (found.kind, found.columns, found.features) == (type(model).__name__, 4, 12)


def reread(model, change):
    """Load a file after its record or arrays were changed."""
    sink = ArraySink(False)
    record = conformal_records.write_conformal(model, sink)
    change(record, sink.arrays)
    return conformal_records.read_conformal(record, ArraySource(sink.arrays, sink.arrays.__getitem__, False))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda record, arrays: record.update(method="bootstrap"), "the method must be one of"),
        (lambda record, arrays: record.update(seed=-1), "the seed must be an integer"),
        (lambda record, arrays: record.update(more=1), "has an unknown entry 'more'"),
        (lambda record, arrays: record["arguments"].update(estimator=1), "has an unknown entry 'estimator'"),
        (lambda record, arrays: record["machine"].update({"class": "KernelPCA"}), "must contain a KernelRegressor"),
        (lambda record, arrays: record["estimator"].update({"class": "KernelPCA"}), "must contain a KernelRegressor"),
        (lambda record, arrays: arrays.update(scores=np.zeros(3)), "are inconsistent"),
        (lambda record, arrays: arrays.update(group_codes=np.full(60, 2)), "group_codes"),
        (lambda record, arrays: arrays.update({"left_out.machine": np.full(60, 60)}), "are inconsistent"),
        (lambda record, arrays: arrays.update({"left_out.intercept": np.zeros(59)}), "are inconsistent"),
        (lambda record, arrays: arrays.update({"left_out.coef": np.zeros((60, 11))}), "left_out.coef"),
    ],
)
def test_a_file_that_was_tampered_with_is_refused(change, words):
    with pytest.raises(ModelFileError, match=words):
        reread(fitted("jackknife+", True), change)


def test_arguments_of_a_file_are_checked():
    with pytest.raises(ValueError, match="coverage must be a probability"):
        reread(fitted("split", False), lambda record, arrays: record["arguments"].update(coverage=2))
