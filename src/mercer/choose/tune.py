"""The search for the best model for rows with a target in the available time: ``tune``."""

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
    """Return the search for a table: among given kernels, or from the default learner if there are none.

    Parameters
    ----------
    table : Table
        The rows, with a target.
    task : {"classification", "regression"}
        The kind of prediction.
    kernels : sequence of Kernel or str, or None, default=None
        The kernels to try.
    rounds : int or None, default=None
        The largest number of rounds.
    **options : object
        Arguments that both searches accept.

    Returns
    -------
    PilotSearch or Search
        The search, which starts with ``run``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.choose import search_for
    >>> from mercer.data import open
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> type(search_for(open(X, X[:, 0]), "regression", rounds=1)).__name__
    'PilotSearch'
    >>> type(search_for(open(X, X[:, 0]), "regression", kernels=["gaussian('median')"])).__name__
    'Search'
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
    unknown: str = "auto",
    dates: str = "auto",
    memory: MemoryArgument = None,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> Tuned:
    """Search for the best model for rows in the available time, and fit it to all of them.

    This is the way to start with new data: it requires no knowledge about kernels. It does what ``mercer tune`` does,
    except that the final model is fitted to all rows: set some aside beforehand to score it. The search starts from the
    learner with its defaults and changes one thing at a time (kernel, bandwidth, scales of columns, penalty, loss,
    number of features) on three quarters of the rows; the others show which changes help.
    :class:`mercer.choose.PilotSearch` has the details. The best model is then fitted to all rows. It is never one that
    was worse on the held-out rows than the learner with its defaults. If kernels are given, the best of them is found
    by successive halving (:class:`mercer.choose.Search`).

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or Table
        The rows, in memory or as a table from :func:`mercer.data.open`.
    y : array-like of shape (n_samples,), str or None, default=None
        The target, or the name of a column of the data frame. None if X is a table, which has its own target.
    sample_weight : array-like of shape (n_samples,), str or None, default=None
        The weights of the rows, or the name of a column of the data frame. None if X is a table, which has its own
        weights.
    task : {"auto", "classification", "regression"}, default="auto"
        The kind of prediction. "auto" decides by the target: text, truth values and integers with at most 20 different
        values are classes.
    seconds : float or None, default=None
        The largest total time. None means 120 seconds, or no limit if ``rounds`` is given.
    rounds : int or None, default=None
        The largest number of rounds of trials. None means as many as there is time for, or 4 if kernels are given. The
        same number of rounds and the same seed lead to the same choice, as long as time does not cut the search short.
    kernels : sequence of Kernel or str, or None, default=None
        The kernels to try. A bandwidth "median" or "scale" is searched; a number is kept. None starts from the kernel
        that a pilot chooses, and tries Gaussian and Matern kernels.
    map : str, default="auto"
        The map that computes the features: "auto" or the name of one.
    scale : {"auto", "standard", "unit", "minmax"} or None, default="auto"
        How columns are scaled. "auto" leaves that to the pilot; if kernels are given, it tries "standard" and "minmax",
        and uses None for kernels that accept no negative values.
    loss : {"auto", "squared", "squared_hinge", "logistic"}, default="auto"
        The loss of a classifier; "logistic" gives probabilities. "auto" tries all of them; if kernels are given, it
        uses "squared", or finally "squared_hinge" if that was better and there is time.
    class_weight : {"balanced"} or None, default=None
        With "balanced", every class of a classifier counts equally, however many rows it has.
    features : int, default=8192
        The largest number of features.
    missing : {"auto", "error", "mean", "indicator"}, default="auto"
        Whether missing values are refused or filled; see :class:`mercer.KernelClassifier`.
    unknown : {"auto", "error", "ignore"}, default="auto"
        Whether levels that ``fit`` has not seen are refused, or treated as no level at all, or as rare if rare
        levels are pooled.
    dates : {"auto", "number", "parts"}, default="auto"
        How dates become numbers; see :class:`mercer.KernelClassifier`.
    memory : int, str or None, default=None
        The largest amount of memory for the features of a classifier, in bytes or as text like "2GB". None means a
        quarter of the machine's memory.
    random_state : int, Generator, RandomState or None, default=0
        The seed of the sample and of the maps.
    n_jobs : int or None, default=None
        The number of threads. None means as many as BLAS may use.
    progress : callable or None, default=None
        A function that is called with a line of text before each trial or round, and before each fit.

    Returns
    -------
    Tuned
        The fitted KernelClassifier or KernelRegressor as ``model``, what was tried as ``trials`` and ``fits``, and what
        was left out for lack of time as ``notes``.

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
            raise ValueError("a table has its own target and weights: do not give y or sample_weight as well")
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
