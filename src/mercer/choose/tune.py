"""``tune``: from rows with a target to the best model that a search finds in the time it has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import data
from .._defaults import SEARCH_SECONDS, WIDEST_SEARCHED
from .learner_choice import task_of
from .search import ROUNDS, Search, Tuned


def tune(
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    task: str = "auto",
    seconds: float | None = None,
    rounds: int | None = None,
    kernels: Sequence[Any] | None = None,
    map: Any = "auto",
    scale: str | None = "auto",
    loss: str = "auto",
    class_weight: str | None = None,
    features: int = WIDEST_SEARCHED,
    missing: str = "error",
    unknown: str = "error",
    dates: str = "number",
    memory: Any = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> Tuned:
    """Search a kernel, its bandwidth and the regularisation for rows, and fit the model that has them.

    The way to begin with new data: nothing needs to be known about kernels. It does what ``mercer tune`` does, except
    that no rows are held out: keep some apart to score the model with. Many kernels are tried on few rows with few
    features and the best of them on more (:class:`mercer.choose.Search` has the details); the model is then fitted to
    all rows, with as many features as there is time for.

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
        How many rounds of trials there are at most; None is 4. Equal rounds and an equal seed make the same choice, as
        long as time does not cut the search short.
    kernels : sequence of kernels or texts, or None, default=None
        The kernels to try. A bandwidth "median" or "scale" is searched, a number stays as it is. None is Gaussian,
        Laplacian, Matern and polynomial kernels.
    map : str, default="auto"
        The map that makes the features: "auto" or the name of one.
    scale : {"auto", "standard", "unit", "minmax"} or None, default="auto"
        How columns are scaled; "auto" tries "standard" and "minmax", and None for kernels that take no negative values.
    loss : {"auto", "squared", "squared_hinge", "logistic"}, default="auto"
        The loss of a classifier; "logistic" gives probabilities. "auto" is "squared", or at last "squared_hinge" where
        that did better and there is time.
    class_weight : {"balanced"} or None, default=None
        With "balanced" every class of a classifier counts the same, however many rows it has.
    features : int, default=8192
        The width of the last map, at most.
    missing : {"error", "mean"}, default="error"
        Whether gaps are refused or filled with the mean of their column.
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
        Called with a line of text before each round and each fit.

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
    return Search(
        table,
        task_of(table, task).name,
        kernels=kernels,
        map=map,
        scale=scale,
        loss=loss,
        class_weight=class_weight,
        features=features,
        rounds=ROUNDS if rounds is None else rounds,
        seconds=SEARCH_SECONDS if seconds is None and rounds is None else seconds,
        missing=missing,
        unknown=unknown,
        dates=dates,
        memory=memory,
        random_state=random_state,
        n_jobs=n_jobs,
        progress=progress,
    ).run()
