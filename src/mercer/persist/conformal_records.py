"""Conformal predictors as a record (JSON) and arrays, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .. import learn
from .._random import SEED_BITS
from ..learn import ConformalClassifier, ConformalRegressor
from ..learn.conformal.left_out_machines import LeftOutMachines
from ..maps.array_layouts import Leaf, floats
from .json_values import ArgumentReader, ArgumentWriter
from .learner_records import read_labels, read_machine, read_unfitted_machine, write_labels, write_machine
from .map_records import ArraySink, ArraySource, put_tree, take_tree
from .validation import as_dict, as_text, as_whole, check_names, refuse

WRAPPERS = ("ConformalClassifier", "ConformalRegressor")
ENTRIES = ("class", "arguments", "estimator", "machine", "method", "seed", "groups")
ESTIMATOR = ("class", "arguments")
METHODS = ("split", "jackknife+", "cv+")
RESIDUALS = floats(None, finite=False)
"""Numbers, or infinity for a row about which the other rows say nothing; never NaN."""


def write_conformal(model: BaseEstimator, target: ArraySink) -> dict[str, Any]:
    """Return the record of a fitted conformal predictor: its arguments, learner and calibration scores."""
    check_is_fitted(model)
    writer = ArgumentWriter(target.arrays, model.seed_)
    given = {name: value for name, value in model.get_params(deep=False).items() if name != "estimator"}
    record = {
        "class": type(model).__name__,
        "arguments": {name: writer.value(given[name], name) for name in sorted(given)},
        "estimator": {
            "class": type(model.estimator).__name__,
            "arguments": ArgumentWriter(target.arrays, None).arguments(model.estimator, "estimator."),
        },
        "machine": write_machine(model.estimator_, target, "machine."),
        "seed": model.seed_,
    }
    if model.is_grouped_:
        record["groups"] = write_labels(model.groups_)
    scores, codes = _layouts(model)
    put_tree(scores, getattr(model, _scores_of(model)), target, "scores")
    put_tree(codes, model.group_codes_, target, "group_codes")
    if isinstance(model, ConformalRegressor):
        record["method"] = model.method_
        if model.left_out_ is not None:
            put_tree(_left_out_layout(model), model.left_out_, target, "left_out")
    return record


def read_conformal(record: dict[str, Any], source: ArraySource) -> Any:
    """Return the fitted conformal predictor of a record."""
    check_names(record, ENTRIES, "the model")
    cls = getattr(learn, as_text(record.get("class"), "the class of the model"))
    arguments = as_dict(record.get("arguments"), "the arguments of the model")
    check_names(arguments, set(cls._get_param_names()) - {"estimator"}, cls.__name__)
    reader = ArgumentReader(source.array)
    unfitted = as_dict(record.get("estimator"), "the estimator")
    check_names(unfitted, ESTIMATOR, "the estimator")
    expected = "KernelRegressor" if cls is ConformalRegressor else "KernelClassifier"
    machine = as_dict(record.get("machine"), "the machine")
    for one in (unfitted, machine):
        if one.get("class") != expected:
            refuse(f"{cls.__name__} must contain a {expected}, found {one.get('class')!r:.60}")
    estimator = read_unfitted_machine(unfitted, source.array, "estimator.")
    model = cls(estimator, **{name: reader.value(value, name) for name, value in arguments.items()})
    model.check_arguments()
    model.estimator_ = read_machine(machine, source, "machine.")
    model.seed_ = as_whole(record.get("seed"), "the seed", 0, 2**SEED_BITS - 1)
    model.is_grouped_ = "groups" in record
    model.groups_ = read_labels(record["groups"], least=1) if model.is_grouped_ else np.zeros(1, dtype=np.int64)
    scores, codes = _layouts(model)
    held = take_tree(scores, source, "scores")
    setattr(model, _scores_of(model), held)
    model.group_codes_ = take_tree(codes, source, "group_codes")
    agree = len(held) == len(model.group_codes_) > 0 and not np.isnan(held).any()
    if isinstance(model, ConformalClassifier):
        model.classes_ = model.estimator_.classes_
        agree = agree and isinstance(model.classes_, np.ndarray) and model.estimator_.has_probabilities
    else:
        agree = agree and _read_method(model, record, source)
    if not agree:
        refuse(f"the parts of this {cls.__name__} are inconsistent")
    return model


def _read_method(model: BaseEstimator, record: dict[str, Any], source: ArraySource) -> bool:
    """Give a regressor its method and the left-out parts that it needs; return whether these are consistent."""
    model.method_ = as_text(record.get("method"), "the method")
    model.left_out_ = None
    if model.method_ not in METHODS:
        refuse(f"the method must be one of {METHODS}, found {model.method_!r:.40}")
    if model.method_ == "split":
        return True
    model.left_out_ = found = take_tree(_left_out_layout(model), source, "left_out")
    sizes = {len(model.residuals_), len(found.machine), len(found.residuals)}
    return (
        len(sizes) == 1
        and len(found.coef) == len(found.intercept)
        and int(found.machine.max(initial=0)) < len(found.coef)
        and np.ndim(model.estimator_.coef_) == 1
        and not np.isnan(found.residuals).any()
    )


def _scores_of(model: BaseEstimator) -> str:
    return "residuals_" if isinstance(model, ConformalRegressor) else "scores_"


def _layouts(model: BaseEstimator) -> tuple[Any, Any]:
    return RESIDUALS, Leaf(("int64",), (None,), 0, len(model.groups_) - 1)


def _left_out_layout(model: BaseEstimator) -> Any:
    width = model.estimator_.map_.n_components_
    machines: Any = Leaf(("int64",), (None,), 0)
    return LeftOutMachines(floats(None, width), floats(None), machines, RESIDUALS)
