"""A linear model and boosted trees, trained on some of the rows of a table."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from .._random import Stream
from ..data import Table
from ..data.block import Block, concatenated, rows_of
from ..learn import KernelClassifier
from ..learn.machine import numbered
from ..learn.targets.labels import Tasks

MOST_COLUMNS = 2000
"""The largest number of columns, with one per level; for wider rows the models are left out."""
MOST_CLASSES = 100
"""The largest number of classes for boosted trees, which grow one tree per class in every round."""
LINEAR_WORK, TREE_WORK = 1 << 26, 1 << 24
"""The largest product of training rows, columns and classes: many columns or classes mean fewer rows."""
MOST_ENTRIES = 1 << 24
"""The largest product of training rows and columns: 128 MiB in double precision."""
ITERATIONS = 100
ROUNDS, LEAST_ROUNDS, MOST_TREES = 100, 20, 500
"""Rounds of boosting. Many classes, with one tree each per round, get fewer rounds with a larger learning rate."""
LEARNED, MOST_RATE = 10.0, 0.3
DRAWN_SINGLY = 50
"""If the table has at least this many times the requested rows, their numbers are drawn one by one: few collide."""


class LeftOutError(Exception):
    """The reason, in words, why a model is not trained."""


class Told(NamedTuple):
    """Predictions for rows: numbers, or decision values of classes and their probabilities."""

    values: NDArray[Any]
    chances: NDArray[Any] | None = None


class Sampled:
    """Training rows as a fitted learner sees them: their columns, targets and weights."""

    def __init__(self, model: BaseEstimator, table: Table, most: int, seed: int):
        self.model, self.most, self.seed = model, most, seed
        self.table = model.matched_table(table)
        # The learner has already refused or ignored levels that it has not seen.
        self.preparation = copy(model.preparation_)
        self.preparation.unknown = "ignore"
        head = self.table.head().X
        self.is_sparse = sp.issparse(head) or self.preparation.sparse_levels
        self.width = self.preparation.width(head.shape[1])
        self.filled = self.width
        if sp.issparse(head):
            self.filled = max(1, head.nnz // max(1, head.shape[0]))
        elif self.preparation.sparse_levels:
            self.filled = head.shape[1]
        self.classes = len(model.classes_) if isinstance(model, KernelClassifier) else 1

    def rows(self, work: int, width: int) -> Block:
        """Return as many rows as keep the product of rows, columns and classes within ``work``."""
        at_once = work // (self.classes if self.classes > 2 else 1)
        return sampled(self.table, max(1, min(self.most, at_once // width, MOST_ENTRIES // width)), self.seed)

    def targets(self, block: Block) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Return numbers or class codes, and the weights of rows, class weights included."""
        y, weight = np.asarray(block.y), block.weight
        if not isinstance(self.model, KernelClassifier):
            return y.astype(np.float64), weight
        tasks = Tasks(self.model.classes_)
        codes = tasks.codes(y)[:, 0]
        if len(np.unique(codes)) < 2:
            raise LeftOutError("the rows drawn for it all belong to one class")
        given = self.model.class_weight
        if given is None:
            return codes, weight
        if given == "balanced":  # not by scikit-learn, since a class may have no rows here
            rows = np.ones(len(codes)) if weight is None else weight
            totals = np.bincount(codes, rows, minlength=self.classes)
            each = rows.sum() / (self.classes * np.where(totals > 0.0, totals, 1.0))
        else:
            assert isinstance(given, Mapping)  # of one task
            each = np.array([given.get(label, 1.0) for label in np.asarray(self.model.classes_).tolist()])
        return codes, each[codes] * (1.0 if weight is None else weight)


class LinearModel:
    """Logistic or ridge regression on prepared rows whose columns have variance 1."""

    name = "linear model"

    def __init__(self, rows: Sampled):
        if rows.width > MOST_COLUMNS and not rows.is_sparse:
            raise LeftOutError(f"there are {rows.width:,} columns, and at most {MOST_COLUMNS:,} are supported")
        block = rows.rows(LINEAR_WORK, rows.filled)
        y, weight = rows.targets(block)
        X = rows.preparation(block.X)
        self._prepare, self.rows = rows.preparation, len(y)
        self._scaler = StandardScaler(with_mean=not rows.is_sparse).fit(X, sample_weight=weight)
        self.what = "ridge regression, alpha = 1"
        self._model: Any = Ridge(solver="auto" if not rows.is_sparse else "sparse_cg", max_iter=ITERATIONS)
        if isinstance(rows.model, KernelClassifier):
            self.what = "logistic regression, C = 1"
            self._model = LogisticRegression(max_iter=ITERATIONS)
        with alone():  # reaching the maximum number of iterations is acceptable for a baseline
            self._model.fit(self._scaler.transform(X), y, weight)

    def predict(self, X: Any, n_classes: int) -> Told:
        """Return predictions for rows that are not yet prepared."""
        return told_by(self._model, self._scaler.transform(self._prepare(X)), n_classes)


class BoostedTrees:
    """LightGBM if it is installed, otherwise scikit-learn's trees, on columns before they are scaled or filled."""

    name = "boosted trees"

    def __init__(self, rows: Sampled):
        if rows.width > MOST_COLUMNS:
            raise LeftOutError(f"there are {rows.width:,} columns, and at most {MOST_COLUMNS:,} are supported")
        if rows.classes > MOST_CLASSES:
            raise LeftOutError(f"there are {rows.classes:,} classes, and at most {MOST_CLASSES:,} are supported")
        block = rows.rows(TREE_WORK, rows.width)
        y, weight = rows.targets(block)
        self._prepare, self.rows = rows.preparation, len(y)
        rounds = max(LEAST_ROUNDS, min(ROUNDS, MOST_TREES // (rows.classes if rows.classes > 2 else 1)))
        maker, self._model = boosting(isinstance(rows.model, KernelClassifier), rounds, rows.seed)
        self.what = f"{maker}, {rounds} rounds"
        with alone():
            self._model.fit(self._encoded(block.X), y, sample_weight=weight)

    def _encoded(self, X: Any) -> Any:
        encoded = self._prepare.encode(X)
        return encoded.toarray() if sp.issparse(encoded) else encoded

    def predict(self, X: Any, n_classes: int) -> Told:
        """Return predictions for rows that are not yet prepared."""
        return told_by(self._model, self._encoded(X), n_classes)


def boosting(classifies: bool, rounds: int, seed: int) -> tuple[str, Any]:
    """Return the name of the library that grows the trees, and its estimator."""
    seed, rate = seed % (1 << 31), min(MOST_RATE, LEARNED / rounds)
    if find_spec("lightgbm") is not None:
        module = import_module("lightgbm")
        kind = module.LGBMClassifier if classifies else module.LGBMRegressor
        options = {"random_state": seed, "verbose": -1, "n_jobs": 1, "deterministic": True, "force_row_wise": True}
        return "LightGBM", kind(n_estimators=rounds, learning_rate=rate, **options)
    other = HistGradientBoostingClassifier if classifies else HistGradientBoostingRegressor
    return "scikit-learn's histogram boosting", other(
        max_iter=rounds, learning_rate=rate, early_stopping=False, random_state=seed
    )


@contextmanager
def alone() -> Iterator[None]:
    """Use one thread, since threads that grow trees wait for each other on busy cores, and suppress warnings."""
    with warnings.catch_warnings(), threadpool_limits(limits=1):
        warnings.simplefilter("ignore")
        yield


def told_by(model: BaseEstimator, X: Any, n_classes: int) -> Told:
    """Return the predictions of an estimator; classes that it has not seen have probability 0."""
    with alone():
        if not hasattr(model, "predict_proba"):
            return Told(np.asarray(model.predict(X), dtype=np.float64))
        chances = np.zeros((X.shape[0], n_classes))
        chances[:, np.asarray(model.classes_, dtype=np.int64)] = model.predict_proba(X)
    return Told(chances[:, 1] - 0.5 if n_classes == 2 else chances, chances)


def of_table(one: BaseEstimator, model: BaseEstimator, table: Table) -> Told:
    """Return the predictions of a trained model for all rows of a table, block by block."""
    n_classes = len(model.classes_) if isinstance(model, KernelClassifier) else 1
    adopted = model.matched_table(table)
    parts = [one.predict(block.X, n_classes) for _, block in numbered(adopted)]
    values, chances = zip(*parts, strict=True)
    return Told(np.concatenate(values), None if chances[0] is None else np.concatenate(chances))


def sampled(table: Table, most: int, seed: int) -> Block:
    """Return at most ``most`` rows, drawn with a seed, in the order of the table."""
    n_rows = table.n_rows
    if n_rows <= most:
        return concatenated(list(table.blocks()))
    rng = Stream(seed, "baselines")
    singly = n_rows > DRAWN_SINGLY * most
    numbers = np.unique(rng.buckets(n_rows, (most,)) if singly else rng.permutation(n_rows)[:most])
    parts = []
    for first, block in numbered(table):
        here = numbers[np.searchsorted(numbers, first) : np.searchsorted(numbers, first + block.X.shape[0])]
        if len(here):
            parts.append(rows_of(block, here - first))
    return concatenated(parts)
