"""The scores and predictions of a model on the rows of a table."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._checks import check_choice
from .._random import RandomState
from ..data import SourceTable, Table
from ..data.carried_columns import as_written
from ..learn import KernelClassifier, KernelRegressor
from ..learn.machine import KernelMachine
from ..learn.prepare.gaps import check_complete
from ..learn.prepare.preparation import UNKNOWN
from ..learn.targets.labels import Tasks, probabilities
from ..maps import FeatureMap
from .scores import Metric, Score, bootstrap, classification_metrics, regression_metrics
from .unknown_levels import treating_unknown

EXTRAS = ("probabilities", "decisions", "deviations")
Measured = tuple[dict[str, Metric], NDArray[Any], NDArray[np.float64] | None, NDArray[Any] | None]
"""Scores as functions of the weights of rows; the targets of the rows; their weights; and predictions of numbers."""


def evaluate(
    model: BaseEstimator,
    table: Table,
    *,
    resamples: int = 200,
    level: float = 0.95,
    random_state: RandomState = 0,
    unknown: str | None = None,
) -> list[Score]:
    """Return the scores of a fitted learner on rows with targets, each with a bootstrap interval.

    A classifier has accuracy, balanced accuracy, the area under the ROC curve and, with ``loss="logistic"``, the log
    loss; a regressor has R2, RMSE and MAE.

    Parameters
    ----------
    model : KernelClassifier or KernelRegressor
        The fitted learner, which predicts one target.
    table : Table
        The rows, with targets.
    resamples : int, default=200
        The number of bootstrap draws; see :func:`mercer.report.bootstrap`.
    level : float, default=0.95
        The level of the intervals; see :func:`mercer.report.bootstrap`.
    random_state : int, Generator or RandomState, default=0
        The seed of the intervals.
    unknown : {"auto", "error", "ignore"} or None, default=None
        The treatment of levels that the model has not learned: raise an error, or treat them as no level at all
        (:func:`mercer.report.unknown_levels` counts them). None means the treatment that the model applies in
        predictions.

    Returns
    -------
    list of Score
        The scores, with the ends of their intervals.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> train, test = mercer.data.open(X, target=X[:, 0] > 0).split(test=0.5)
    >>> model = mercer.KernelClassifier(n_components=32, random_state=0).fit(train)
    >>> [score.name for score in mercer.report.evaluate(model, test)]
    ['accuracy', 'balanced accuracy', 'AUC']
    """
    check_predicts(model)
    check_choice("unknown", unknown, (*UNKNOWN, None))
    if unknown is not None:
        model = treating_unknown(model, unknown)
    return scored(measures(model, table), resamples, level, random_state)


def scored(measured: Measured, resamples: int = 200, level: float = 0.95, random_state: RandomState = 0) -> list[Score]:
    """Return scores with intervals, given the result of :func:`measures`."""
    metrics, y, weight, _ = measured
    return bootstrap(metrics, np.ones(len(y)) if weight is None else weight, resamples, level, random_state)


def measures(
    model: BaseEstimator, table: Table, strict: bool = True, each: Callable[[Any], None] = lambda rows: None
) -> Measured:
    """Return scores as functions of the weights of rows, the targets or class codes, and the weights.

    If not ``strict``, labels that the model has not learned count as wrong, unless all labels are of this kind.
    ``each`` is called with the rows of every block, so that other callers do not have to read them again.
    """
    check_predicts(model)
    if not isinstance(model, KernelClassifier):
        y, predicted, weight = model.observed(table, model.predict, each)
        return regression_metrics(y, predicted), y, weight, predicted
    y, values, weight = model.observed(table, model.decision_function, each)
    codes = known_codes(y, model, strict)
    given = probabilities(values) if model.loss == "logistic" else None
    return classification_metrics(codes, values, given), codes, weight, None


def check_scorable(learner: BaseEstimator, table: Table) -> None:
    """Raise an error, before training, if held-out rows have missing values that a learner would refuse.

    Parameters
    ----------
    learner : KernelClassifier, KernelRegressor or mercer.choose.Search
        The learner, whose ``asked_missing`` says what it does with missing values.
    table : Table
        The rows to be held out.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> check_scorable(mercer.KernelRegressor(missing="error"), mercer.data.open(np.array([[1.0], [np.nan]])))
    Traceback (most recent call last):
    ...
    ValueError: Input X contains NaN: row 1 of ndarray, column 0 is missing; ...
    """
    if learner.asked_missing == "error":
        check_complete(table)


def known_codes(y: NDArray[Any], model: KernelClassifier, strict: bool = True) -> NDArray[np.int64]:
    """Return the class codes; labels that a model has not learned have the code after the last."""
    known = set(np.asarray(model.classes_).tolist())
    strange = np.array([label not in known for label in y.tolist()], dtype=bool)
    tasks = Tasks(model.classes_)
    if not strange.any() or (strict and strange.all()):  # in the second case the error below names the labels
        return tasks.codes(y)[:, 0]
    count, first = int(np.count_nonzero(strange)), y.tolist()[int(np.argmax(strange))]
    told = "1 row has a label" if count == 1 else f"{count} rows have labels"
    warnings.warn(
        f"{told} that the model has not learned, such as {first!r}; counted as wrong",
        UserWarning,
        stacklevel=4,
    )
    codes = np.full(len(y), len(known))
    if not strange.all():
        codes[~strange] = tasks.codes(y[~strange])[:, 0]
    return codes


def check_predicts(model: BaseEstimator) -> None:
    """Raise an error if a model does not predict one target."""
    if isinstance(model, Pipeline):
        raise TypeError("expected a classifier or a regressor, found a Pipeline; load it in Python to use it")
    if not isinstance(model, KernelClassifier | KernelRegressor):
        raise TypeError(f"expected a classifier or a regressor, found {type(model).__name__}, which predicts no target")
    check_is_fitted(model)
    several = isinstance(model.classes_, list) if isinstance(model, KernelClassifier) else np.ndim(model.coef_) > 1
    if several:
        raise ValueError("expected a model that predicts one target, found one that predicts several")


def predictions(
    model: BaseEstimator, table: Table, extras: Sequence[str] = (), *, keep: Sequence[str] = ()
) -> Iterator[dict[str, Any]]:
    """Return predictions of rows as columns, block by block.

    Parameters
    ----------
    model : KernelClassifier or KernelRegressor
        The fitted learner, which predicts one target.
    table : Table
        The rows.
    extras : sequence of {"probabilities", "decisions", "deviations"}, default=()
        Columns to add: ``probability_CLASS``; ``decision``, or ``decision_CLASS`` for several classes; and
        ``deviation``, the standard deviation of a new observation.
    keep : sequence of str, default=()
        Columns of the table, such as an id, to put before the predictions as they are stored. They need not be features
        of the model, and are returned as Arrow arrays. The table must be one that :func:`mercer.data.open` returns.

    Returns
    -------
    iterator of dict of str to array
        The columns of each block of rows; ``prediction`` is always among them.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> model = mercer.KernelClassifier(n_components=32, random_state=0).fit(X, X[:, 0] > 0)
    >>> [list(block) for block in mercer.report.predictions(model, mercer.data.open(X), ["decisions"])]
    [['prediction', 'decision']]
    """
    check_predicts(model)
    for extra in extras:
        check_choice("extras", extra, EXTRAS)
    if keep:
        # Predictions are made for rows without missing values in the model's own columns.
        table = model.matched_table(table.features())
    found = (_classes if isinstance(model, KernelClassifier) else _numbers)(model, table, extras)
    return beside(table, keep, found) if keep else found


def beside(table: Table, names: Sequence[str], blocks: Iterator[dict[str, NDArray[Any]]]) -> Iterator[dict[str, Any]]:
    """Yield blocks of columns with columns of a table before them."""
    import pyarrow as pa

    if not isinstance(table, SourceTable):
        raise TypeError(
            f"columns can be kept only from a table that mercer.data.open returns, found {type(table).__name__}"
        )
    names = tuple(dict.fromkeys(names))
    parts, rest = as_written(table, names), None
    for block in blocks:
        clash = [name for name in names if name in block]
        if clash:
            raise ValueError(
                f"column {clash[0]!r} cannot be kept, since the predictions have a column of this name; rename it in "
                "the data"
            )
        rows = len(next(iter(block.values())))
        while rest is None or rest.num_rows < rows:
            more = next(parts)
            rest = more if rest is None else pa.concat_tables([rest, more], promote_options="permissive")
        yield {name: rest.slice(0, rows)[name].combine_chunks() for name in names} | block
        rest = rest.slice(rows)


def _classes(model: KernelClassifier, table: Table, extras: Sequence[str]) -> Iterator[dict[str, NDArray[Any]]]:
    if "deviations" in extras:
        raise ValueError("only a regressor has standard deviations, found a classifier")
    if "probabilities" in extras and not model.has_probabilities:
        raise ValueError(
            f"this model has no probabilities, because it was fitted without calibration for loss={model.loss!r}: fit "
            "it again, or use loss='logistic'"
        )
    labels = np.asarray(model.classes_).tolist()  # labels of LIBSVM files are floats with integer values
    names = [f"{label:g}" if isinstance(label, float) else str(label) for label in labels]
    for values in model.predict_blocks(table, "decision_function"):
        columns = {"prediction": Tasks(model.classes_).predicted(values.reshape(len(values), -1))}
        if "decisions" in extras:
            parts = {"decision": values} if values.ndim == 1 else zip_columns("decision", names, values)
            columns |= parts
        if "probabilities" in extras:
            columns |= zip_columns("probability", names, probabilities(model.log_odds(values)))
        yield columns


def zip_columns(prefix: str, names: list[str], values: NDArray[Any]) -> dict[str, NDArray[Any]]:
    return {f"{prefix}_{name}": column for name, column in zip(names, values.T, strict=True)}


def _numbers(model: KernelRegressor, table: Table, extras: Sequence[str]) -> Iterator[dict[str, NDArray[Any]]]:
    wrong = [extra for extra in extras if extra != "deviations"]
    if wrong:
        raise ValueError(f"only a classifier has {wrong[0]}, found a regressor")
    if extras:  # for all rows at once: the preparation of deviations takes longer than many blocks
        y, deviations = model.predict(table, return_std=True)
        yield {"prediction": y, "deviation": deviations}
    else:
        yield from ({"prediction": y} for y in model.predict_blocks(table))


def features(model: BaseEstimator, table: Table) -> Iterator[Any]:
    """Yield the features of rows, block by block: the output of a map, or the input of a learner's linear model.

    Parameters
    ----------
    model : FeatureMap or learner
        The fitted map or learner.
    table : Table
        The rows.

    Yields
    ------
    ndarray or sparse matrix of shape (n_rows, n_components_)
        The features of one block of rows.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> model = mercer.KernelRegressor("gaussian", scale="standard", n_components=32, random_state=0).fit(X, X[:, 0])
    >>> [Z.shape for Z in mercer.report.features(model, mercer.data.open(X))]
    [(400, 32)]
    """
    if isinstance(model, FeatureMap):
        yield from model.transform_blocks(table)
        return
    if not isinstance(model, KernelMachine):
        raise TypeError(f"expected a map or a learner of Mercer, found {type(model).__name__}")
    yield from model.feature_blocks(table)
