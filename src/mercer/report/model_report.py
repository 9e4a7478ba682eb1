"""The page that ``mercer fit --report`` writes, for models trained in Python on rows in memory or tables."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .. import data
from .._file_identity import check_apart
from ..data import SourceTable
from ..learn.argument_types import WeightArgument
from ..persist import atomic_write
from .assessment import assess
from .baselines import Baseline
from .concerns import Concern
from .evaluation import check_predicts
from .page import alarm, table
from .scores import Score
from .training_page import training_page
from .what_if import study


@dataclass(frozen=True)
class Report:
    """A page that was written, and its main results; a notebook shows its scores.

    Attributes
    ----------
    path : Path
        The file.
    scores : list of Score
        The scores on held-out rows; empty if there are none.
    baselines : list of Baseline
        Other models, scored on the same rows.
    concerns : list of Concern
        What is wrong with the model.
    """

    path: Path
    scores: list[Score]
    baselines: list[Baseline]
    concerns: list[Concern]

    def _repr_html_(self) -> str:
        there = [one for one in self.baselines if one.scores]
        others = [{score.name: score.value for score in one.scores} for one in there]
        rows = [(one.name, one.value, one.low, one.high, *(other[one.name] for other in others)) for one in self.scores]
        shown = table(("score", "value", "low", "high", *(one.name for one in there)), rows) if rows else ""
        link = f'<p>Page: <a href="{escape(self.path.as_posix())}">{escape(str(self.path))}</a></p>'
        return alarm([str(one) for one in self.concerns]) + shown + link


def write(
    model: BaseEstimator,
    X: Any,
    y: Any = None,
    *,
    test: Any = None,
    sample_weight: WeightArgument = None,
    path: str | os.PathLike[str] = "report.html",
    title: str | None = None,
    random_state: int = 0,
) -> Report:
    """Write a page about a fitted model.

    ``mercer.report(model, ...)`` is short for ``mercer.report.write(model, ...)``.

    The page is the one that ``mercer fit --report`` writes: scores with intervals on held-out rows, next to the scores
    of other models; where the model errs; the data; how well the features approximate the kernel; and what fewer
    features or another penalty would change. Without held-out rows it says little. Every concern
    (:func:`mercer.report.concerns`) is also issued as a warning.

    Parameters
    ----------
    model : KernelClassifier or KernelRegressor
        The fitted learner, which predicts one target.
    X : array-like, sparse matrix, data frame or SourceTable
        The rows on which it was trained. A table brings its own targets.
    y : array-like of shape (n_samples,), str or None, default=None
        Their targets, or the name of the column of a data frame that contains them.
    test : tuple (X, y), tuple (X, y, sample_weight), SourceTable or None, default=None
        The held-out rows; y may again be the name of a column.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        The weights of the rows of X.
    path : str or path-like, default="report.html"
        The file to write.
    title : str or None, default=None
        The title of the page. None means the name of the learner.
    random_state : int, default=0
        The seed of the intervals and of the rows that are drawn.

    Returns
    -------
    Report
        The path, scores, other models and concerns.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> y = np.sin(2 * X[:, 0])
    >>> model = mercer.KernelRegressor(n_components=64, alpha="loo", random_state=0).fit(X[:300], y[:300])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = os.path.join(folder, "report.html")
    ...     found = mercer.report(model, X[:300], y[:300], test=(X[300:], y[300:]), path=name)
    ...     os.listdir(folder)
    ['report.html']
    >>> [score.name for score in found.scores], [one.name for one in found.baselines]
    (['R2', 'RMSE', 'MAE'], ['mean', 'linear model', 'boosted trees'])
    """
    check_predicts(model)
    train = as_table("X", X, y, sample_weight)
    held_out = None if test is None else as_table("test", *(test if isinstance(test, tuple) else (test,)))
    tables = [one for one in (train, held_out) if one is not None]
    check_apart([("the page", path)], [("the data", file) for one in tables for file in one.files])
    found = assess(model, train, held_out, random_state=random_state)
    studied = None if held_out is None else study(model, train, held_out, random_state=random_state)
    page = training_page(
        title or type(model).__name__,
        model,
        train,
        held_out,
        scores=found.scores,
        studied=studied,
        baselines=found.baselines,
        concerns=found.concerns,
        interval=found.interval,
        importances=found.importances,
    )
    with atomic_write(path) as file:
        file.write(page.encode())
    for one in found.concerns:
        warnings.warn(str(one), UserWarning, stacklevel=2)
    return Report(Path(path), found.scores, found.baselines, found.concerns)


def as_table(what: str, X: Any, y: Any = None, sample_weight: WeightArgument = None) -> SourceTable:
    """Return rows with targets as a table."""
    if isinstance(X, SourceTable):
        if y is not None or sample_weight is not None:
            raise ValueError(f"{what} is a table, which has its own targets and weights: do not give others")
        return X
    if isinstance(X, data.Table):
        raise TypeError(
            f"{what} must be a matrix, a data frame or a table from mercer.data.open, found {type(X).__name__}"
        )
    if y is None:
        raise ValueError(f"{what} has no targets: give y, or for test a tuple (X, y)")
    weight = None if sample_weight is None else np.asarray(sample_weight)
    return data.open(X, target=y if isinstance(y, str) else np.asarray(y), weight=weight)
