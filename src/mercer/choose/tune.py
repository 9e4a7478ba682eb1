"""``tune``: from rows with a target to the best model that a search finds in the time it has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import data
from .._defaults import SEARCH_ROUNDS, SEARCH_SECONDS, WIDEST_SEARCHED
from .._random import RandomState
from ..learn.argument_types import MapArgument, MemoryArgument, WeightArgument
from .learner_choice import task_of
from .pilot_search import PilotSearch
from .search import Search, Tuned


def search_for(
    table: data.Table, task: str, *, kernels: Sequence[Any] | None = None, rounds: int | None = None, **options: Any
) -> PilotSearch | Search:
    """The search for a table: among given kernels, or from the default learner where there are none.

    Parameters
    ----------
    table : Table
        With a target.
    task : {"classification", "regression"}
        What is to be told of a row.
    kernels : sequence of kernels or texts, or None, default=None
        The kernels to try.
    rounds : int or None, default=None
        How many rounds there are at most.
    **options : dict
        What both searches take.

    Returns
    -------
    PilotSearch or Search
        Which begins with ``run``.
    """
    if kernels is None:
        return PilotSearch(table, task, rounds=rounds, **options)
    return Search(table, task, kernels=kernels, rounds=SEARCH_ROUNDS if rounds is None else rounds, **options)


def tune(
    X: Any,
    y: Any = None,
    *,
    sample_weight: WeightArgument = None,
    task: str = "auto",
    seconds: float | None = None,
    rounds: int | None = None,
    kernels: Sequence[Any] | None = None,
    map: MapArgument = "auto",
    scale: str | None = "auto",
    loss: str = "auto",
    class_weight: str | None = None,
    features: int = WIDEST_SEARCHED,
    missing: str = "auto",
    unknown: str = "error",
    dates: str = "number",
    memory: MemoryArgument = None,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> Tuned:
    """Search the best model for rows in the time there is, and fit it to all of them.

    The way to begin with new data: nothing needs to be known about kernels. It does what ``mercer tune`` does, except
    that no rows are held out of the model: keep some apart to score it with. The search starts from the learner with
    its defaults and changes one thing at a time, kernel, bandwidth, scales of columns, penalty, loss and width, on
    three quarters of the rows; the others tell what helps (:class:`mercer.choose.PilotSearch` has the details). The
    best is then fitted to all rows, and never is that one which was worse on these rows than the learner with its
    defaults. Where kernels are given, the best of them is found by successive halving (:class:`mercer.choose.Search`).

    Parameters
    ----------
    X : array, CSR matrix, pandas or polars frame, or a table of :func:`mercer.data.open`
        The rows to learn from.
    y : array of shape (n_rows,), the name of a column of a frame, or None
        The target; None where X is a table, which brings it.
    sample_weight : array of shape (n_rows,), the name of a column of a frame, or None, default=None
        What each row counts; None where X is a table, which brings it.
    task : {"auto", "classification", "regression"}, default="auto"
        "auto" looks at the target: text, truth values and whole numbers of at most 20 different values are classes.
    seconds : float or None, default=None
        How long all of it may take. None is 120 seconds, or as long as it takes where ``rounds`` is given.
    rounds : int or None, default=None
        How many rounds of trials there are at most; None is as many as there is time for, and 4 where kernels are
        given. Equal rounds and an equal seed make the same choice, as long as time does not cut the search short.
    kernels : sequence of kernels or texts, or None, default=None
        The kernels to try. A bandwidth "median" or "scale" is searched, a number stays as it is. None starts from the
        kernel that a pilot chooses, and tries Gaussian and Matern kernels.
    map : str, default="auto"
        The map that makes the features: "auto" or the name of one.
    scale : {"auto", "standard", "unit", "minmax"} or None, default="auto"
        How columns are scaled; "auto" leaves that to the pilot. Where kernels are given it tries "standard" and
        "minmax", and None for kernels that take no negative values.
    loss : {"auto", "squared", "squared_hinge", "logistic"}, default="auto"
        The loss of a classifier; "logistic" gives probabilities. "auto" tries all of them; where kernels are given it
        is "squared", or at last "squared_hinge" where that did better and there is time.
    class_weight : {"balanced"} or None, default=None
        With "balanced" every class of a classifier counts the same, however many rows it has.
    features : int, default=8192
        The width of the last map, at most.
    missing : {"auto", "error", "mean"}, default="auto"
        Whether gaps are refused or filled, as of :class:`mercer.KernelClassifier`.
    unknown : {"error", "ignore"}, default="error"
        Whether levels that ``fit`` has not seen are refused, or stand for none.
    dates : {"number", "parts"}, default="number"
        How dates become numbers, see :class:`mercer.KernelClassifier`.
    memory : int, text like "2GB", or None, default=None
        How much memory the features of a classifier may take; None is a quarter of the machine's.
    random_state : int, Generator, RandomState or None, default=0
        The seed of the sample and of the maps.
    n_jobs : int or None, default=None
        Threads; None is as many as BLAS may use.
    progress : function or None, default=None
        Called with a line of text before each trial or round, and before each fit.

    Returns
    -------
    found : Tuned
        ``found.model`` is the fitted KernelClassifier or KernelRegressor, ``found.trials`` and ``found.fits`` are what
        was tried, and ``found.notes`` says what was left out for lack of time.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).normal(size=(600, 2))
    >>> y = np.where((X**2).sum(axis=1) < 1.4, "in", "out")
    >>> found = mercer.tune(X[:400], y[:400], kernels=["gaussian('median')", "linear()"], rounds=1, features=64)
    >>> type(found.model).__name__, bool(found.model.score(X[400:], y[400:]) > 0.95)
    ('KernelClassifier', True)
    >>> found.in_order()[0].kernel.startswith("Gaussian")
    True
    """
    if isinstance(X, data.Table):
        if y is not None or sample_weight is not None:
            raise ValueError("a table brings its own target and weights, found y or sample_weight beside it")
        table = X
    else:
        if y is None:
            raise ValueError("tune needs a target: give y, or a table with a target")
        table = data.open(X, target=y, weight=sample_weight)
    return search_for(
        table,
        task_of(table, task).name,
        kernels=kernels,
        map=map,
        scale=scale,
        loss=loss,
        class_weight=class_weight,
        features=features,
        rounds=rounds,
        seconds=SEARCH_SECONDS if seconds is None and rounds is None else seconds,
        missing=missing,
        unknown=unknown,
        dates=dates,
        memory=memory,
        random_state=random_state,
        n_jobs=n_jobs,
        progress=progress,
    ).run()
