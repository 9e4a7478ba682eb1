"""The outputs of every kind of model, as operators: one function each, registered for its class."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.base import BaseEstimator

from ..learn import (
    ConformalClassifier,
    ConformalRegressor,
    KernelCCA,
    KernelClassifier,
    KernelKMeans,
    KernelNovelty,
    KernelPCA,
    KernelRegressor,
)
from ..learn.machine import KernelMachine
from ..learn.solvers.choice import has_landmark_values
from ..learn.targets.labels import Tasks
from ..learn.training_rows.region import MARGIN
from ..maps import FeatureMap
from ..maps.fitted_map import FittedMap
from . import namespace as xp
from .domains import check_rows
from .errors import NotExportedError
from .operations.kernel_values import diagonal
from .prepared_rows import nearest, outside, prepared, refuse_infinities
from .symbol import Symbol

Matrix = NDArray[np.float64]
Answers = dict[str, Symbol]
"""Outputs by their names."""


@singledispatch
def answers(model: BaseEstimator, X: Symbol) -> Answers:
    """Return the outputs of a model for rows."""
    raise NotExportedError(
        f"{type(model).__name__} is not exported: expected a feature map, a KernelRegressor, KernelClassifier, "
        "KernelPCA, KernelKMeans, KernelCCA or KernelNovelty"
    )


# -- from rows to features and products --------------------------------------------------------------------------------


def mapped(fitted: FittedMap, X: Symbol) -> Symbol:
    """Return the features of prepared rows; rows whose features overflow are refused."""
    return finite(fitted.on(X).mapped(X))


def finite(values: Symbol) -> Symbol:
    """Return values unchanged; rows for which they are not finite are refused, before a limit makes them finite."""
    xp.any(~(abs(values) < np.inf))
    return values


def rows_of(model: KernelMachine, X: Symbol) -> Symbol:
    """Return prepared rows; rows outside the domain of the kernel are refused."""
    rows = prepared(model.preparation_, X)
    check_rows(model.map_.kernel_, rows)
    return rows


def linear_values(
    model: KernelMachine,
    rows: Symbol,
    coef: Matrix,
    intercept: Matrix,
    size: Matrix | None = None,
    left: Symbol | None = None,
    dtype: DTypeLike | None = None,
) -> Symbol:
    """Return <coef, z> + intercept of prepared rows, in the precision that the learner uses."""
    fitted, weights = model.map_.fitted_.linear(coef)
    result = np.dtype(rows.dtype if dtype is None else dtype)
    digits = np.float32 if size is None or weights is None else model.precision_for(weights, size)
    rows = rows.astype(np.result_type(rows.dtype, digits))
    Z = fitted.on(rows).mapped(rows)
    found = Z if weights is None else Z @ np.ascontiguousarray(weights.T.astype(Z.dtype))
    found = finite(found)
    if left is not None:
        found = found.astype(np.float64) * left[:, None]
    precise = np.result_type(found.dtype, result)
    return (found.astype(precise) + intercept.astype(precise)).astype(result)


# -- maps and learners without targets ---------------------------------------------------------------------------------


@answers.register
def _(model: FeatureMap, X: Symbol) -> Answers:
    xp.any(xp.isnan(X))
    refuse_infinities(X)
    check_rows(model.kernel_, X)
    return {"features": mapped(model.fitted_, X)}


@answers.register
def _(model: KernelPCA, X: Symbol) -> Answers:
    rows = rows_of(model, X)
    return {"components": linear_values(model, rows, model.directions_, -(model.directions_ @ model.mean_))}


@answers.register
def _(model: KernelCCA, X: Symbol) -> Answers:
    rows = rows_of(model, X)
    return {"variates": linear_values(model, rows, model.x_directions_, -(model.x_directions_ @ model.x_mean_))}


@answers.register
def _(model: KernelKMeans, X: Symbol) -> Answers:
    rows = rows_of(model, X)
    Z = mapped(model.map_.fitted_, rows)
    is_plain = has_landmark_values(model.map_) and model.map_.gives_kernel_values
    kernel = model.map_.kernel_
    own = diagonal(kernel, rows.astype(np.float64)).astype(Z.dtype) if is_plain else xp.sum(Z * Z, axis=1)
    products = Z @ np.ascontiguousarray(model.centres_.T.astype(Z.dtype))
    squares = xp.maximum(own[:, None] - products * 2.0 + model.centre_lengths_.astype(Z.dtype), 0.0)
    return {"label": xp.argmax(-squares, axis=1), "distances": xp.sqrt(squares)}


@answers.register
def _(model: KernelNovelty, X: Symbol) -> Answers:
    rows = rows_of(model, X)
    Z = mapped(model.map_.fitted_, rows)
    turned = (Z - model.mean_.astype(Z.dtype)) @ np.ascontiguousarray(model.whitening_.T.astype(Z.dtype))
    scores = -xp.sum(turned * turned, axis=1)
    if model.map_.has_landmarks:
        own = diagonal(model.map_.kernel_, rows.astype(np.float64)).astype(Z.dtype)
        missed = xp.maximum(own - xp.sum(Z * Z, axis=1), 0.0)
        scores = scores - missed / float(model.penalty_)
    decisions = scores - float(model.offset_)
    return {"label": xp.where(decisions < 0.0, np.int64(-1), np.int64(1)), "scores": scores}


# -- learners with targets ---------------------------------------------------------------------------------------------


@answers.register
def _(model: KernelRegressor, X: Symbol) -> Answers:
    rows = rows_of(model, X)
    if model.predicted_region is not None:
        rows = nearest(model.predicted_region, rows)
    coef, intercept = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    size = model.size_of_predictions()
    size = None if size is None else np.resize(size, len(coef))
    y = linear_values(model, rows, coef, intercept, size, dtype=np.float64)
    if model.loss == "poisson":
        y = xp.exp(y)
    levels = getattr(model, "quantiles_", None)
    if levels is not None:
        y = y.reshape(-1, len(coef) // len(levels), len(levels))
        y = xp.take(xp.sort(y, axis=2), np.argsort(np.argsort(levels, kind="stable"), kind="stable"), axis=2)
    if model.clips:
        least, most = model.target_range_
        margin = MARGIN * (most - least)
        bounds = [least - margin, most + margin]
        lower, upper = bounds if levels is None else (one[:, None] for one in bounds)
        y = xp.minimum(xp.maximum(y, lower), upper)
    return {"prediction": y[:, 0] if model.has_one_target else y}


@answers.register
def _(model: KernelClassifier, X: Symbol) -> Answers:
    if hasattr(model, "posterior_"):
        raise NotExportedError(
            "probabilities='laplace' are integrals over the posterior, which is not exported: fit with "
            "probabilities='calibrated'"
        )
    rows = rows_of(model, X)
    left = None
    if model.falls_back:
        left = xp.minimum(MARGIN / xp.maximum(outside(model.region_, rows), MARGIN), 1.0)
    values = linear_values(model, rows, model.coef_, model.intercept_, model.size_of_decisions(), left)
    tasks, found = Tasks(model.classes_), {}
    for number, (classes, columns) in enumerate(zip(tasks.classes, tasks.columns, strict=True)):
        end = f"_{number}" if tasks.several else ""
        mine = values[:, columns]
        is_one = mine.shape[1] == 1
        places = xp.astype(mine[:, 0] > 0.0, np.int64) if is_one else xp.argmax(mine, axis=1)
        found[f"label{end}"] = labels(classes, places)
        found[f"decision_values{end}"] = mine[:, 0] if is_one else mine
        if model.has_probabilities:
            found[f"probabilities{end}"] = probabilities(model, mine, columns)
    return found


def labels(classes: NDArray[Any], places: Symbol) -> Symbol:
    """Return the names of classes by their numbers."""
    kinds = {type(label) for label in classes.tolist()}
    if not (kinds == {str} or (len(kinds) == 1 and kinds <= {int, float, bool})):
        raise NotExportedError(f"classes must be text, whole numbers or numbers, found {classes.tolist()[:8]!r}")
    named = classes.astype(object) if kinds == {str} else np.array(classes.tolist())
    return xp.take(places.tracing.constant(named), places, axis=0)


def probabilities(model: KernelClassifier, values: Symbol, columns: slice) -> Symbol:
    """Return the probabilities of the classes of a task from its decision values."""
    calibration, is_one = model.calibration_, values.shape[1] == 1
    odds = values
    if calibration is None:  # of the logistic loss, in files of earlier versions
        pass
    elif model.loss == "logistic":
        odds = (values.astype(np.float64) * calibration.slopes[columns][0]).astype(values.dtype)
    else:
        a, c, b = (np.array(part[columns]) for part in (calibration.slopes, calibration.bends, calibration.offsets))
        f = values.astype(np.float64)
        odds = f * a + f * abs(f) * c + b
        if not is_one:
            odds = -(xp.maximum(-odds, 0.0) + xp.log1p(xp.exp(-abs(odds))))
            named, likely = (xp.one_hot(xp.argmax(one, axis=1), values.shape[1]) for one in (values, odds))
            most, own = (xp.sum(one * odds, axis=1, keepdims=True) for one in (likely, named))
            odds = odds + (likely - named) * (own - most)
        odds = odds.astype(values.dtype)
    every = xp.concat([odds * 0.0, odds], axis=1) if is_one else odds
    return xp.softmax(every)


@answers.register(ConformalRegressor)
@answers.register(ConformalClassifier)
def _(model: BaseEstimator, X: Symbol) -> Answers:
    raise NotExportedError(
        f"{type(model).__name__} returns intervals or sets that depend on its calibration rows: export its "
        f"estimator_, which makes the predictions"
    )
