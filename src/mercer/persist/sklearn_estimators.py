"""The table of scikit-learn's estimators that a model file may contain, with their learned attributes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from .validation import as_whole, refuse

COLUMNS = "n"
"""The length that is the number of columns; any other letter is some length, the same within an estimator."""


class Numbers(NamedTuple):
    """An array of numbers of one of some shapes, or a number."""

    shapes: tuple[tuple[str, ...], ...]
    kind: str = "f"
    finite: bool = True
    needed: bool = True
    none: bool = False


class Plain(NamedTuple):
    """A number, a truth value, text or None."""

    types: tuple[type, ...]
    needed: bool = True


class Values(NamedTuple):
    """An array of text, numbers or None; or a list of them, one for each column."""

    several: bool = False
    needed: bool = True
    shapes: tuple[tuple[str, ...], ...] = ()
    """Shapes of an array of numbers, if that is possible too."""


class Part(NamedTuple):
    """Another estimator of the table, which this one contains."""

    name: str
    needed: bool = True


class Kind(NamedTuple):
    """An entry of the table: what a class learns, and how attributes that follow from this are restored."""

    module: str
    learned: dict[str, Any]
    settle: Callable[[Any], None] = lambda estimator: None
    check: Callable[[Any], None] = lambda estimator: None
    has_columns: bool = True


def floats(*shapes: tuple[str, ...], **options: Any) -> Numbers:
    return Numbers(shapes, **options)


# -- attributes that follow from stored ones
# ----------------------------------------------------------------------------------


def _settle_encoder(encoder: BaseEstimator) -> None:
    if encoder.min_frequency is not None or encoder.max_categories is not None:
        refuse(f"a model file cannot contain {type(encoder).__name__} with min_frequency or max_categories")
    encoder._infrequent_enabled = False


def _settle_one_hot(encoder: BaseEstimator) -> None:
    _settle_encoder(encoder)
    counts = [len(levels) for levels in encoder.categories_]
    if encoder.drop_idx_ is None and encoder.drop is not None:
        refuse("OneHotEncoder drops levels, but does not say which")
    if encoder.drop_idx_ is not None:
        drops = encoder.drop_idx_.tolist()
        if len(drops) != len(counts):
            refuse(f"drop_idx_ must have {len(counts)} entries, found {len(drops)}")
        for place, (drop, count) in enumerate(zip(drops, counts, strict=True)):
            if drop is not None:
                as_whole(drop, f"drop_idx_ of column {place}", 0, count - 1)
                counts[place] -= 1
    encoder._drop_idx_after_grouping = encoder.drop_idx_
    encoder._n_features_outs = counts


def _settle_ordinal(encoder: BaseEstimator) -> None:
    _settle_encoder(encoder)
    found = {}
    for place, levels in enumerate(encoder.categories_):
        for code, level in enumerate(levels.tolist()):
            if isinstance(level, float) and level != level:
                found[place] = code
    encoder._missing_indices = found


def _settle_polynomial(features: Any) -> None:
    """Fit it to an empty row, since what it learns depends only on its arguments and the number of columns."""
    names = getattr(features, "feature_names_in_", None)
    features.fit(sp.csr_array((1, features.n_features_in_)))
    if names is not None:
        features.feature_names_in_ = names
    as_whole(features.n_output_features_, "the width of PolynomialFeatures", 0)


def _settle_imputer(imputer: BaseEstimator) -> None:
    imputer.indicator_ = None
    if imputer.add_indicator:
        refuse("a model file cannot contain SimpleImputer with add_indicator")
    if not hasattr(imputer, "_fill_dtype") and hasattr(type(imputer)().fit([[0.0]]), "_fill_dtype"):
        imputer._fill_dtype = imputer._fit_dtype  # older versions do not distinguish the two
    if len(imputer.statistics_) != imputer.n_features_in_:
        refuse(f"statistics_ must have {imputer.n_features_in_} entries, found {len(imputer.statistics_)}")


def check_function(transformer: BaseEstimator) -> None:
    for name in ("func", "inverse_func", "kw_args", "inv_kw_args"):
        if getattr(transformer, name) is not None:
            refuse(f"{name} of FunctionTransformer is code, which a model file cannot contain")


def _check_linear(model: BaseEstimator) -> None:
    """Check that there is one row of coefficients for each class, or one row for two classes."""
    rows = 1 if len(model.classes_) == 2 else len(model.classes_)
    flat = rows == 1 and type(model).__name__ == "RidgeClassifier" and np.ndim(model.coef_) == 1
    if not flat and (np.ndim(model.coef_) != 2 or len(model.coef_) != rows):
        refuse(f"coef_ of {len(model.classes_)} classes must have {rows} rows, found the shape {np.shape(model.coef_)}")


def _settle_ridge_classifier(model: BaseEstimator) -> None:
    binarizer = model._label_binarizer
    if not isinstance(getattr(type(model), "classes_", None), property):  # it is an attribute in older versions
        model.classes_ = binarizer.classes_
    if binarizer.neg_label >= binarizer.pos_label:
        refuse("neg_label must be below pos_label")


def _check_encoder(encoder: BaseEstimator) -> None:
    if len(encoder.categories_) != encoder.n_features_in_:
        refuse(f"categories_ must be given for {encoder.n_features_in_} columns, found {len(encoder.categories_)}")


def _check_quantiles(transformer: BaseEstimator) -> None:
    if transformer.n_quantiles_ != len(transformer.references_):
        refuse(f"references_ must have {transformer.n_quantiles_} entries, found {len(transformer.references_)}")


def _check_directions(model: BaseEstimator) -> None:
    if model.n_components_ != len(model.components_):
        refuse(f"components_ must have {model.n_components_} rows, found {len(model.components_)}")


# -- the table ---------------------------------------------------------------------------------------------------------

OF_COLUMNS = floats((COLUMNS,), finite=False)
MAYBE_OF_COLUMNS = OF_COLUMNS._replace(none=True)
SEEN = Numbers(((), (COLUMNS,)), "fi", none=False)
DIRECTIONS = floats(("k", COLUMNS))
OF_DIRECTIONS = floats(("k",), finite=False)
COEFFICIENTS, INTERCEPT = floats((COLUMNS,), ("t", COLUMNS)), floats((), ("t",), ("one",))
ROUNDS = Numbers(((), ("r",)), "i", none=True, needed=False)
CLASSIFIER = {"classes_": Values(), "coef_": floats(("t", COLUMNS)), "intercept_": INTERCEPT, "n_iter_": ROUNDS}
SOLVER = Plain((str, type(None)), needed=False)

KNOWN: dict[str, Kind] = {
    "StandardScaler": Kind(
        "preprocessing",
        dict.fromkeys(("mean_", "var_", "scale_"), MAYBE_OF_COLUMNS) | {"n_samples_seen_": SEEN},
    ),
    "MinMaxScaler": Kind(
        "preprocessing",
        dict.fromkeys(("min_", "scale_", "data_min_", "data_max_", "data_range_"), OF_COLUMNS)
        | {"n_samples_seen_": SEEN},
    ),
    "MaxAbsScaler": Kind(
        "preprocessing", dict.fromkeys(("max_abs_", "scale_"), OF_COLUMNS) | {"n_samples_seen_": SEEN}
    ),
    "RobustScaler": Kind("preprocessing", dict.fromkeys(("center_", "scale_"), MAYBE_OF_COLUMNS)),
    "Normalizer": Kind("preprocessing", {}),
    "Binarizer": Kind("preprocessing", {}),
    "FunctionTransformer": Kind("preprocessing", {}),
    "PolynomialFeatures": Kind("preprocessing", {}, settle=_settle_polynomial),
    "QuantileTransformer": Kind(
        "preprocessing",
        {
            "n_quantiles_": Plain((int,)),
            "references_": floats(("q",)),
            "quantiles_": floats(("q", COLUMNS), finite=False),
        },
        check=_check_quantiles,
    ),
    "PowerTransformer": Kind(
        "preprocessing",
        {"lambdas_": floats((COLUMNS,), finite=False), "_scaler": Part("StandardScaler", needed=False)},
    ),
    "OneHotEncoder": Kind(
        "preprocessing",
        {"categories_": Values(several=True), "drop_idx_": Values(needed=False)},
        _settle_one_hot,
        _check_encoder,
    ),
    "OrdinalEncoder": Kind("preprocessing", {"categories_": Values(several=True)}, _settle_ordinal, _check_encoder),
    "SimpleImputer": Kind(
        "impute",
        {
            "statistics_": Values(shapes=((COLUMNS,),)),
            "_fit_dtype": Plain((np.dtype,)),
            "_fill_dtype": Plain((np.dtype,), needed=False),
        },
        _settle_imputer,
    ),
    "VarianceThreshold": Kind("feature_selection", {"variances_": OF_COLUMNS}),
    "PCA": Kind(
        "decomposition",
        {
            "components_": DIRECTIONS,
            "mean_": floats((COLUMNS,)),
            "explained_variance_": OF_DIRECTIONS,
            "explained_variance_ratio_": OF_DIRECTIONS,
            "singular_values_": OF_DIRECTIONS,
            "noise_variance_": floats((), finite=False),
            "n_components_": Numbers(((),), "i"),
            "n_samples_": Numbers(((),), "i"),
            "_fit_svd_solver": SOLVER,
        },
        check=_check_directions,
    ),
    "TruncatedSVD": Kind(
        "decomposition",
        {"components_": DIRECTIONS}
        | dict.fromkeys(("explained_variance_", "explained_variance_ratio_", "singular_values_"), OF_DIRECTIONS),
    ),
    "LinearSVC": Kind("svm", CLASSIFIER, check=_check_linear),
    "LogisticRegression": Kind("linear_model", CLASSIFIER, check=_check_linear),
    "RidgeClassifier": Kind(
        "linear_model",
        {
            "_label_binarizer": Part("LabelBinarizer"),
            "coef_": COEFFICIENTS,
            "intercept_": INTERCEPT,
            "n_iter_": ROUNDS,
            "solver_": SOLVER,
        },
        _settle_ridge_classifier,
        _check_linear,
    ),
    "Ridge": Kind(
        "linear_model", {"coef_": COEFFICIENTS, "intercept_": INTERCEPT, "n_iter_": ROUNDS, "solver_": SOLVER}
    ),
    "LinearRegression": Kind(
        "linear_model",
        {
            "coef_": COEFFICIENTS,
            "intercept_": INTERCEPT,
            "rank_": Numbers(((), ("r",)), "i", needed=False),
            "singular_": floats(("s",), ("s", "s2"), needed=False),
        },
    ),
    "SGDRegressor": Kind(
        "linear_model",
        {
            "coef_": floats((COLUMNS,)),
            "intercept_": INTERCEPT,
            "t_": floats(()),
            "n_iter_": ROUNDS,
        },
    ),
    "LabelBinarizer": Kind(
        "preprocessing",
        {"classes_": Values(), "y_type_": Plain((str,)), "sparse_input_": Plain((bool,))},
        has_columns=False,
    ),
}
INSIDE = ("LabelBinarizer",)
"""Estimators that occur only inside others."""


@cache
def class_of(name: str) -> Any:
    """Return a class of the table, whose module is imported when it is needed."""
    from sklearn import decomposition, feature_selection, impute, linear_model, preprocessing, svm

    modules = (decomposition, feature_selection, impute, linear_model, preprocessing, svm)
    module = next(module for module in modules if module.__name__ == f"sklearn.{KNOWN[name].module}")
    return getattr(module, name)


def is_known(estimator: BaseEstimator) -> bool:
    """Return whether an estimator is one of the table, not of a derived class."""
    name = type(estimator).__name__
    return name in KNOWN and type(estimator) is class_of(name)
