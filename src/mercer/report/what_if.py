"""Experiments with a fitted model: fewer features, other penalties, and the error of the kernel."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from sklearn.base import BaseEstimator, clone

from .._kernel_error import KernelError, kernel_error
from ..choose import MAPS
from ..data import ArrayTable, SourceTable
from ..data.block import Block, concatenated, part_of
from ..kernels import Kernel
from ..learn import KernelClassifier
from ..learn.context import FitContext
from ..learn.map_choice import EXACT, is_exact, is_open
from ..maps import FeatureMap
from .evaluation import check_predicts, evaluate
from .scores import Score
from .unknown_levels import treating_unknown

STUDY_ROWS = 5000
"""About how many rows narrower models are trained and scored on, if there are more than twice as many."""
ERROR_ROWS = 1000
"""The number of held-out rows on which the kernel error is measured, which is the order of the kernel matrix."""
PATH_WIDTH = 512
EXACT_WIDTH = 1024
"""The largest number of landmarks of models that are tried in place of an exact one."""
LEAST_WIDTH = 16
HALVINGS = 5
FACTORS = (1e-2, 1e-1, 1.0, 1e1, 1e2)


class Narrower(NamedTuple):
    """A model of this width: its score on held-out rows, and the relative error of its kernel there."""

    features: int
    score: Score
    error: float


class Penalised(NamedTuple):
    """A model with another C or alpha: its scores on the rows on which it was trained, and on held-out rows."""

    value: float
    learned: float
    held_out: float


class Study(NamedTuple):
    """The scores of a model with fewer features and with other penalties, and the error of its kernel.

    Attributes
    ----------
    error : KernelError
        The error of the kernel on held-out rows.
    error_rows : int
        The number of rows on which it was measured.
    rows : int
        The number of rows on which the models of ``widths`` and ``path`` were trained.
    test_rows : int
        The number of rows on which they were scored.
    widths : list of Narrower
        The same model with fewer features.
    path : list of Penalised
        The same model with other penalties; empty if a rule has tried several values of alpha already.
    path_width : int
        The number of features of the models of ``path``.
    """

    error: KernelError
    error_rows: int
    rows: int
    test_rows: int
    widths: list[Narrower]
    path: list[Penalised]
    path_width: int


def study(
    model: BaseEstimator, train: SourceTable, test: SourceTable, *, random_state: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Study:  # fmt: skip
    """Measure the kernel of a fitted model on held-out rows, and try fewer features and other penalties.

    The other models are the same learner, with the same kernel and seed, trained on about 5,000 of the rows if there
    are many. If the construction allows it, a narrower map consists of the first features of a wider one. This takes
    several fits on that many rows, all but one of them narrow.

    Parameters
    ----------
    model : KernelClassifier or KernelRegressor
        The fitted learner, which predicts one target.
    train : SourceTable
        The rows on which it was trained, with targets.
    test : SourceTable
        The held-out rows, with targets.
    random_state : int, default=0
        The seed of the rows that are drawn.
    progress : callable or None, default=None
        A function that is called with a description of each step before it starts.

    Returns
    -------
    Study
        The error of the kernel, and the scores of the other models.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> train, test = mercer.data.open(X, target=np.sin(X[:, 0])).split(test=0.5)
    >>> model = mercer.KernelRegressor("gaussian", alpha=1.0, n_components=64, random_state=0).fit(train)
    >>> found = mercer.report.study(model, train, test)
    >>> [one.features for one in found.widths], len(found.path)
    ([16, 32, 64], 5)
    """
    check_predicts(model)
    model = treating_unknown(model)  # held-out rows may have levels that the training rows lack
    told = progress or (lambda what: None)
    rows, held_out = some(train, STUDY_ROWS, random_state), some(test, STUDY_ROWS, random_state)
    told("report: kernel error")
    few = part_of(held_out.X, slice(0, ERROR_ROWS))
    # An exact machine has the kernel itself.
    error = KernelError(0.0, 0.0) if has_kernel_itself(model) else kernel_error(model.map_, model.preparation_(few))
    widths, path, path_width = list[Narrower](), list[Penalised](), min(PATH_WIDTH, int(model.map_.n_components_))
    if isinstance(model.map_.kernel_, Kernel) and not isinstance(model.map, FeatureMap):
        whole = rows.X.shape[0] == train.n_rows
        with warnings.catch_warnings():  # they were issued for the model, or the scores show the same
            warnings.simplefilter("ignore", UserWarning)
            widths = _widths(model, rows, held_out, few, whole, told)
            if not hasattr(model, "alphas_"):
                path = _path(model, rows, held_out, path_width, told)
    return Study(error, few.shape[0], rows.X.shape[0], held_out.X.shape[0], widths, path, path_width)


def has_kernel_itself(model: BaseEstimator) -> bool:
    """Return whether a fitted learner uses the kernel itself; models from older files do not record their solver."""
    solver = getattr(model, "solver_", None)
    return is_exact(model) or (solver is not None and solver.name == EXACT)


def some(table: SourceTable, most: int, seed: int) -> Block:
    """Return about ``most`` rows, in memory; all of them if there are fewer than twice as many."""
    if table.n_rows > 2 * most:
        table = table.split(test=most / table.n_rows, seed=seed)[1]
    return concatenated(list(table.blocks()))


def as_wide(model: BaseEstimator, width: int) -> BaseEstimator:
    """Return an unfitted learner with another width and the kernel, map and seed of a fitted one."""
    name = type(model.map_).__name__
    alone = any(note.name == name and not note.over for note in MAPS)
    penalty = penalty_name(model)
    found = {penalty: float(getattr(model, f"{penalty}_"))} if is_open(getattr(model, penalty)) else {}
    return clone(model).set_params(
        kernel=model.map_.kernel_,
        map=name if alone else "auto",
        n_components=width,
        columns=None,
        random_state=model.map_.seed_,
        unknown="ignore",
        **found,
    )


def penalty_name(model: BaseEstimator) -> str:
    """Return the name of the argument that is the penalty."""
    return "C" if isinstance(model, KernelClassifier) else "alpha"


def fitted_like(model: BaseEstimator, learner: BaseEstimator, rows: Block) -> BaseEstimator:
    """Return a learner fitted to rows that are prepared like those of a model, including learned scales."""
    return learner.fit_table(learner.table_to_fit(ArrayTable(*rows)), FitContext(preparation=model.preparation_))


def _widths(
    model: BaseEstimator, rows: Block, test: Block, few: Any, whole: bool, told: Callable[[str], None]
) -> list[Narrower]:
    full = int(model.map_.n_components_)
    exact = has_kernel_itself(model)
    if exact:
        full = min(full, EXACT_WIDTH)
    asked = [full >> halvings for halvings in range(HALVINGS, 0, -1) if full >> halvings >= LEAST_WIDTH]
    found: dict[int, Narrower] = {}
    for width in (*asked, full):
        told(f"report: {width:,} features")
        as_it_is = width == full and whole and not exact
        one = model if as_it_is else fitted_like(model, as_wide(model, width), rows)
        score = evaluate(one, ArrayTable(*test))[0]
        error = kernel_error(one.map_, one.preparation_(few)).relative
        features = int(one.map_.n_components_)
        found[features] = Narrower(features, score, error)
    return [found[width] for width in sorted(found)]


def _path(model: BaseEstimator, rows: Block, test: Block, width: int, told: Callable[[str], None]) -> list[Penalised]:
    name = penalty_name(model)
    centre, found = float(getattr(model, f"{name}_")), []
    for value in [centre * factor for factor in FACTORS] if centre > 0.0 else []:
        told(f"report: {name} = {value:g}")
        one = fitted_like(model, as_wide(model, width).set_params(**{name: value}), rows)
        found.append(Penalised(value, one.score(ArrayTable(*rows)), one.score(ArrayTable(*test))))
    return found
