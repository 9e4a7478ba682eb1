"""Every map that supports a kernel, compared with the exact kernel machine, on rows of a table."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone

from .._checks import check_whole
from .._defaults import COMPARED_WIDTHS
from .._kernel_error import kernel_error
from .._random import Stream
from ..choose import learner_for, maps_for
from ..data import ArrayTable, SourceTable
from ..data.block import Block, concatenated, part_of, rows_of
from ..kernels import parse
from ..kernels.defaults import TABLE_GAUSSIAN
from ..learn.prepare.preparation import Preparation
from ..maps import FeatureMap
from .evaluation import evaluate
from .unknown_levels import UnknownCounter, UnknownLevels

EXACT = "exact kernel"
ERROR_ROWS = 1000
"""The number of held-out rows on which the kernel error is measured, which is the order of the kernel matrix."""


class Entry(NamedTuple):
    """The results of one machine.

    Attributes
    ----------
    map : str
        The name of the map, or "exact kernel".
    features : int
        The number of features.
    rows : int
        The number of rows on which the machine was trained.
    error : float
        The relative error of its kernel on held-out rows.
    fit_seconds : float
        The time of the fit.
    predict_seconds : float
        The time of predicting all held-out rows.
    bytes : int
        The size of the fitted model in memory.
    score : float
        The score on held-out rows.
    low : float
        The lower end of the interval of the score.
    high : float
        The upper end of the interval of the score.
    """

    map: str
    features: int
    rows: int
    error: float
    fit_seconds: float
    predict_seconds: float
    bytes: int
    score: float
    low: float
    high: float


class Comparison(NamedTuple):
    """The results of several machines on the same rows.

    Attributes
    ----------
    kernel : str
        The kernel.
    score : str
        The name of the score.
    test_rows : int
        The number of held-out rows.
    entries : list of Entry
        The machines in the order in which they ran.
    unknown_rows : int
        The number of held-out rows with levels that the training rows lack. Such a level counts as no level at all.
    """

    kernel: str
    score: str
    test_rows: int
    entries: list[Entry]
    unknown_rows: int = 0


def compare(
    table: SourceTable,
    task: str,
    *,
    kernel: Any = None,
    maps: Sequence[str] | None = None,
    features: Sequence[int] = COMPARED_WIDTHS,
    rows: int = 5000,
    test_rows: int = 1000,
    exact_rows: int = 2000,
    random_state: int = 0,
    progress: Callable[[str], None] | None = None,
    **options: Any,
) -> Comparison:
    """Fit a learner with every map that supports a kernel, and with the exact kernel, on the same rows.

    The exact machine is the same learner on all the features that its rows span. It gets at most ``exact_rows`` rows,
    since its time grows with the cube of their number.

    Parameters
    ----------
    table : SourceTable
        The rows, with a target.
    task : {"classification", "regression"}
        The kind of target.
    kernel : Kernel, str or None, default=None
        A kernel, or text that describes one. None means ``Gaussian("median")``.
    maps : sequence of str or None, default=None
        The names of maps. None means all that support the kernel.
    features : sequence of int, default=(256, 1024, 4096)
        The numbers of features to try.
    rows : int, default=5000
        The approximate number of rows on which to train.
    test_rows : int, default=1000
        The approximate number of rows to hold out.
    exact_rows : int, default=2000
        The largest number of rows on which to train the exact machine.
    random_state : int, default=0
        The seed of the rows, maps and intervals.
    progress : callable or None, default=None
        A function that is called with the name of each machine before it runs.
    **options : object
        Options of :func:`mercer.choose.learner_for`.

    Returns
    -------
    Comparison
        The machines in the order in which they ran, with their scores, errors and times.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> table = mercer.data.open(X, target=np.sin(X[:, 0]))
    >>> found = mercer.report.compare(table, "regression", maps=["OrthogonalFourier"], features=[32])
    >>> [(entry.map, entry.features) for entry in found.entries]
    [('exact kernel', ...), ('OrthogonalFourier', 32)]
    """
    for name, count in (("rows", rows), ("test_rows", test_rows), ("exact_rows", exact_rows)):
        check_whole(name, count)
    kernel = TABLE_GAUSSIAN if kernel is None else parse(kernel) if isinstance(kernel, str) else kernel
    # Only the scores of these models are used, and all of them have the same penalty and columns.
    options = {"C": 1.0, "alpha": "loo", **options, "unknown": "ignore"}
    if options.get("scale", "auto") == "auto":
        options["scale"] = None if kernel.domain_is_non_negative else "standard"
    chosen = [one for width in features for one in chosen_maps(kernel, maps, int(width), random_state)]
    train, test = drawn(table, rows, test_rows, random_state)
    few = rows_of(train, some(train.X.shape[0], exact_rows, random_state))
    told = progress or (lambda name: None)
    told(EXACT)
    exact = learner_for(task, kernel=kernel, n_components=few.X.shape[0], random_state=random_state, **options)
    found = [measured(EXACT, exact, few, test)]
    for name, map in chosen:
        told(f"{name}, {map.n_components} features")
        found.append(measured(name, learner_for(task, map=map, **options), train, test))
    score = "accuracy" if task == "classification" else "R2"
    strange = strange_levels(train, test)
    if strange.rows:
        warnings.warn(strange.sentence, UserWarning, stacklevel=2)
    return Comparison(repr(kernel), score, test.X.shape[0], found, strange.rows)


def strange_levels(train: Block, test: Block) -> UnknownLevels:
    """Return the levels of held-out rows that the training rows lack."""
    prepared = Preparation(None, "error", "ignore")
    with warnings.catch_warnings():  # the machines have already issued the warnings about columns
        warnings.simplefilter("ignore", UserWarning)
        prepared.learn_columns([train.X])
    counter = UnknownCounter(prepared)
    counter.update(test.X)
    return counter.found


def chosen_maps(kernel: Any, names: Sequence[str] | None, width: int, seed: int) -> list[tuple[str, FeatureMap]]:
    """Return the maps to compare, all of one width."""
    serving = maps_for(kernel, n_components=width, random_state=seed)
    if names is None:
        return list(serving.items())
    for name in names:
        if name not in serving:
            raise ValueError(f"{name} does not support {kernel!r}; choose from {', '.join(serving)}")
    return [(name, serving[name]) for name in names]


def drawn(table: SourceTable, rows: int, test_rows: int, seed: int) -> tuple[Block, Block]:
    """Return about ``rows`` rows for training and ``test_rows`` held-out rows, in memory."""
    if table.n_rows > rows + test_rows:
        table = table.split(test=(rows + test_rows) / table.n_rows, seed=seed)[1]
    parts = [list(part.blocks()) for part in table.split(test=test_rows / (rows + test_rows), seed=seed + 1)]
    if not all(parts):
        raise ValueError(f"{table.n_rows} rows are too few to train on some and hold out others")
    return concatenated(parts[0]), concatenated(parts[1])


def some(n_rows: int, most: int, seed: int) -> Any:
    """Return the numbers of some rows, in increasing order."""
    return np.sort(Stream(seed, "comparison").permutation(n_rows)[:most])


def measured(name: str, learner: BaseEstimator, train: Block, test: Block) -> Entry:
    """Fit and score one machine; if it refuses the rows, issue a warning and return NaN."""
    started = perf_counter()
    try:
        model = clone(learner).fit(ArrayTable(*train))
    except ValueError as refusal:
        if name == EXACT:
            raise  # if the exact kernel fails, so do all maps
        warnings.warn(f"{name} was left out: {refusal}", UserWarning, stacklevel=3)
        nan, width = math.nan, int(learner.map.n_components)
        return Entry(name, width, train.X.shape[0], nan, nan, nan, 0, nan, nan, nan)
    fitted = perf_counter()
    model.predict(ArrayTable(test.X))
    predicted = perf_counter()
    score = evaluate(model, ArrayTable(*test))[0]
    held_out = model.preparation_(part_of(test.X, slice(0, ERROR_ROWS)))
    error = 0.0 if name == EXACT else kernel_error(model.map_, held_out).relative
    size = bytes_of(model.map_.parameters_) + model.coef_.nbytes
    seconds = fitted - started, predicted - fitted
    return Entry(name, model.map_.n_components_, train.X.shape[0], error, *seconds, size, *score[1:])


def bytes_of(parameters: Any) -> int:
    """Return the number of bytes in a tree of arrays."""
    if isinstance(parameters, tuple):
        return sum(map(bytes_of, parameters))
    return int(getattr(parameters, "nbytes", 0))
