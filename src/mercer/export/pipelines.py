"""Pipelines of scikit-learn around maps and learners, and its most common steps, as operators."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import decomposition, feature_selection, impute, linear_model, preprocessing, svm
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline

from ..learn.machine import KernelMachine
from ..maps import FeatureMap
from . import namespace as xp
from .errors import NotExportedError
from .learners import Answers, answers, labels
from .symbol import Symbol

Rows = Callable[[Any, Symbol], Symbol]

OF_TRANSFORMERS = ("features", "components", "variates", "distances")
"""The outputs of maps and learners that their ``transform`` returns."""
SELECTORS = ("VarianceThreshold", "SelectKBest", "SelectPercentile", "SelectFromModel", "SelectFdr", "RFE", "RFECV")
REGRESSORS = (
    *("LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "ElasticNet", "ElasticNetCV", "BayesianRidge"),
    *("HuberRegressor", "SGDRegressor", "LinearSVR"),
)
CLASSIFIERS = ("RidgeClassifier", "RidgeClassifierCV", "SGDClassifier", "Perceptron", "LinearSVC")
WITH_PROBABILITIES = ("LogisticRegression", "LogisticRegressionCV")


# -- steps that change rows --------------------------------------------------------------------------------------------


def transformed(step: BaseEstimator, X: Symbol) -> Symbol:
    """Return the result of a fitted step's ``transform`` for rows."""
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return X
    if isinstance(step, FeatureMap | KernelMachine):
        found = answers(step, X)
        name = next((name for name in OF_TRANSFORMERS if name in found), None)
        if name is None:
            raise NotExportedError(f"{type(step).__name__} has no transform, so no step can follow it in a pipeline")
        return found[name]
    known = transformers().get(type(step))
    if known is None:
        names = ", ".join(sorted(kind.__name__ for kind in transformers()))
        raise NotExportedError(
            f"{type(step).__name__} is not exported. Steps before the last one may be the maps and learners of mercer, "
            f"and of scikit-learn {names}"
        )
    return known(step, X)


@cache
def transformers() -> dict[type, Rows]:
    """Return the functions that export steps, by exact class, since a derived class may do something else."""
    return {
        Pipeline: _through_all,
        ColumnTransformer: _by_columns,
        FeatureUnion: _side_by_side,
        preprocessing.StandardScaler: _standardised,
        preprocessing.MinMaxScaler: _within_range,
        preprocessing.MaxAbsScaler: _by_largest,
        preprocessing.RobustScaler: _robust,
        preprocessing.Normalizer: _normalised,
        preprocessing.FunctionTransformer: _identity,
        impute.SimpleImputer: _imputed,
        decomposition.PCA: _principal,
        decomposition.TruncatedSVD: lambda step, X: X @ directions(step, X),
    } | {getattr(feature_selection, name): _selected for name in SELECTORS}


def directions(step: BaseEstimator, X: Symbol) -> NDArray[Any]:
    """Return the directions of a decomposition as the columns of a matrix in the precision of X."""
    return np.ascontiguousarray(step.components_.T.astype(X.dtype))


def rounded(X: Symbol, change: Callable[[Symbol], Symbol]) -> Symbol:
    """Return rows after one operation with numbers in float64, which scikit-learn does in place."""
    return change(X.astype(np.float64)).astype(X.dtype)


def _through_all(pipeline: Pipeline, X: Symbol) -> Symbol:
    for _, step in pipeline.steps:
        X = transformed(step, X)
    return X


def _by_columns(step: ColumnTransformer, X: Symbol) -> Symbol:
    parts = []
    for name, part, _ in step.transformers_:
        columns = np.asarray(step._transformer_to_input_indices[name], dtype=np.int64)
        if len(columns) and not (isinstance(part, str) and part == "drop"):
            parts.append(transformed(part, xp.take(X, columns, axis=1)) * _weight(step, name))
    return xp.concat(parts, axis=1)


def _side_by_side(step: FeatureUnion, X: Symbol) -> Symbol:
    parts = [
        transformed(part, X) * _weight(step, name)
        for name, part in step.transformer_list
        if not (isinstance(part, str) and part == "drop")
    ]
    return xp.concat(parts, axis=1)


def _weight(step: ColumnTransformer | FeatureUnion, name: str) -> float:
    """Return the factor of the results of a part."""
    weight = (step.transformer_weights or {}).get(name)
    return 1.0 if weight is None else float(weight)


def _standardised(step: BaseEstimator, X: Symbol) -> Symbol:
    if step.with_mean:
        X = rounded(X, lambda rows: rows - step.mean_)
    return rounded(X, lambda rows: rows / step.scale_) if step.with_std else X


def _within_range(step: BaseEstimator, X: Symbol) -> Symbol:
    X = rounded(X, lambda rows: rows * step.scale_)
    X = rounded(X, lambda rows: rows + step.min_)
    return clipped(X, *step.feature_range) if step.clip else X


def clipped(X: Symbol, least: float, most: float) -> Symbol:
    """Return entries within bounds; gaps remain."""
    return xp.where(xp.isnan(X), X, xp.minimum(xp.maximum(X, float(least)), float(most)))


def _by_largest(step: BaseEstimator, X: Symbol) -> Symbol:
    X = rounded(X, lambda rows: rows / step.scale_)
    return clipped(X, -1.0, 1.0) if getattr(step, "clip", False) else X


def _robust(step: BaseEstimator, X: Symbol) -> Symbol:
    if step.with_centering:
        X = rounded(X, lambda rows: rows - step.center_)
    return rounded(X, lambda rows: rows / step.scale_) if step.with_scaling else X


def _normalised(step: BaseEstimator, X: Symbol) -> Symbol:
    if step.norm == "max":
        norms = xp.max(abs(X), axis=1, keepdims=True)
    elif step.norm == "l1":
        norms = xp.sum(abs(X), axis=1, keepdims=True)
    else:
        norms = xp.sqrt(xp.sum(X * X, axis=1, keepdims=True))
    return X / xp.where(norms > 0.0, norms, 1.0)


def _identity(step: BaseEstimator, X: Symbol) -> Symbol:
    if step.func is not None:
        raise NotExportedError("func of FunctionTransformer is code, which standard operators cannot run")
    return X


def _imputed(step: BaseEstimator, X: Symbol) -> Symbol:
    marks_gaps = isinstance(step.missing_values, float) and np.isnan(step.missing_values)
    if not marks_gaps or step.add_indicator:
        raise NotExportedError("SimpleImputer is exported with missing_values=nan and add_indicator=False")
    values = np.asarray(step.statistics_, dtype=np.float64)
    X = xp.where(xp.isnan(X), np.where(np.isnan(values), 0.0, values).astype(X.dtype), X)
    if step.keep_empty_features or not np.isnan(values).any():
        return X
    return xp.take(X, np.flatnonzero(~np.isnan(values)), axis=1)


def _principal(step: BaseEstimator, X: Symbol) -> Symbol:
    found = X @ directions(step, X) - step.mean_.astype(X.dtype) @ directions(step, X)
    if not step.whiten:
        return found
    deviations = np.sqrt(step.explained_variance_)
    least = np.finfo(deviations.dtype).eps
    return found / np.maximum(deviations, least).astype(X.dtype)


def _selected(step: BaseEstimator, X: Symbol) -> Symbol:
    return xp.take(X, step.get_support(indices=True), axis=1)


def columns_of(model: BaseEstimator) -> int:
    """Return the number of columns that a model takes; of a pipeline, those of its first step that has a number."""
    if not isinstance(model, Pipeline):
        return int(model.n_features_in_)
    known = (step for _, step in model.steps if isinstance(step, Pipeline) or hasattr(step, "n_features_in_"))
    return columns_of(next(known))


# -- last steps --------------------------------------------------------------------------------------------------------


@answers.register
def _(model: Pipeline, X: Symbol) -> Answers:
    for _, step in model.steps[:-1]:
        X = transformed(step, X)
    last = model.steps[-1][1]
    if isinstance(last, Pipeline | FeatureMap | KernelMachine):
        return answers(last, X)
    kind = type(last).__name__
    is_known = type(last) in (getattr(linear_model, kind, None), getattr(svm, kind, None))
    if is_known and kind in REGRESSORS:
        values = linear(last, X)
        return {"prediction": values[:, 0] if np.ndim(last.coef_) == 1 else values}
    if is_known and kind in CLASSIFIERS + WITH_PROBABILITIES:
        return classified(last, linear(last, X), kind in WITH_PROBABILITIES)
    if hasattr(last, "predict"):
        raise NotExportedError(
            f"{kind} is not exported. The last step may be a map or a learner of mercer, or of scikit-learn "
            f"{', '.join(REGRESSORS + CLASSIFIERS + WITH_PROBABILITIES)}"
        )
    return {"features": transformed(last, X)}


def linear(model: BaseEstimator, X: Symbol) -> Symbol:
    """Return the values of a linear model of scikit-learn, one column per output."""
    products = np.result_type(X.dtype, model.coef_.dtype)
    values = X.astype(products) @ np.ascontiguousarray(np.atleast_2d(model.coef_).T.astype(products))
    kind = products if type(model.intercept_) is float else np.result_type(products, model.intercept_.dtype)
    return values.astype(kind) + np.asarray(model.intercept_, dtype=kind).reshape(-1)


def classified(model: BaseEstimator, values: Symbol, has_probabilities: bool) -> Answers:
    """Return the outputs of a linear classifier of scikit-learn, from its decision values."""
    classes, is_one = np.asarray(model.classes_), values.shape[1] == 1
    by_label = getattr(model, "_label_binarizer", None)  # whose classes are the numbers of labels if there are several
    several = by_label is not None and by_label.y_type_.startswith("multilabel")
    if several or values.shape[1] != (1 if len(classes) == 2 else len(classes)) or np.ndim(classes) != 1:
        raise NotExportedError(f"{type(model).__name__} of several labels per row is not exported")
    places = xp.astype(values[:, 0] > 0.0, np.int64) if is_one else xp.argmax(values, axis=1)
    found = {"label": labels(classes, places), "decision_values": values[:, 0] if is_one else values}
    if has_probabilities:
        if getattr(model, "multi_class", "auto") not in ("auto", "deprecated") or (
            model.solver == "liblinear" and not is_one
        ):
            raise NotExportedError(f"{type(model).__name__} of one class against the others is not exported")
        found["probabilities"] = xp.softmax(xp.concat([values * 0.0, values], axis=1) if is_one else values)
    return found
