"""What a model would be with fewer features or another penalty, and how well its map holds the kernel."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from sklearn.base import clone

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
"""Rows that narrower models learn from, about, and are scored on, where there are more than twice as many."""
ERROR_ROWS = 1000
"""Rows that are held out on which the kernel error is measured: the kernel matrix is that large, squared."""
PATH_WIDTH = 512
EXACT_WIDTH = 1024
"""The most landmarks of models that are tried in place of an exact one."""
LEAST_WIDTH = 16
HALVINGS = 5
FACTORS = (1e-2, 1e-1, 1.0, 1e1, 1e2)


class Narrower(NamedTuple):
    """A model of this width: its score on rows that were held out, and the relative error of its kernel there."""

    features: int
    score: Score
    error: float


class Penalised(NamedTuple):
    """A model with another C or alpha: its scores on the rows it learned from, and on the rows held out."""

    value: float
    learned: float
    held_out: float


class Study(NamedTuple):
    """What was found out beside the scores of a model.

    ``error`` is the error of its kernel on rows held out; ``rows`` is how many rows the models of ``widths`` and
    ``path`` have learned from. ``path`` is None where a rule tried alphas already; its models are ``path_width``
    features wide.
    """

    error: KernelError
    error_rows: int
    rows: int
    test_rows: int
    widths: list[Narrower]
    path: list[Penalised]
    path_width: int


def study(
    model: Any, train: SourceTable, test: SourceTable, *, random_state: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Study:  # fmt: skip
    """Measure the kernel of a fitted model on rows that were held out, and try it narrower and with other penalties.

    The other models are the same learner, with the same kernel and seed, on about 5,000 of the rows where there are
    many. A narrower map holds the first features of a wider one, where its construction allows. That takes
    several fits on that many rows, all but one of them narrow.

    Parameters
    ----------
    model : a fitted KernelClassifier or KernelRegressor with one target
    train, test : SourceTable with targets, the rows that it has learned from and the rows held out
    random_state : int
    progress : function that is called with what is done next, or None

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
    model = treating_unknown(model)  # a level of a row held out may not be among those learned from
    told = progress or (lambda what: None)
    rows, held_out = some(train, STUDY_ROWS, random_state), some(test, STUDY_ROWS, random_state)
    told("report: kernel error")
    few = part_of(held_out.X, slice(0, ERROR_ROWS))
    # An exact machine has the kernel itself.
    error = KernelError(0.0, 0.0) if has_kernel_itself(model) else kernel_error(model.map_, model.preparation_(few))
    widths, path, path_width = list[Narrower](), list[Penalised](), min(PATH_WIDTH, int(model.map_.n_components_))
    if isinstance(model.map_.kernel_, Kernel) and not isinstance(model.map, FeatureMap):
        whole = rows.X.shape[0] == train.n_rows
        with warnings.catch_warnings():  # they were given for the model, or are plain from the scores
            warnings.simplefilter("ignore", UserWarning)
            widths = _widths(model, rows, held_out, few, whole, told)
            if not hasattr(model, "alphas_"):
                path = _path(model, rows, held_out, path_width, told)
    return Study(error, few.shape[0], rows.X.shape[0], held_out.X.shape[0], widths, path, path_width)


def has_kernel_itself(model: Any) -> bool:
    """Whether a fitted learner approximates nothing; models from older files do not tell their solver."""
    solver = getattr(model, "solver_", None)
    return is_exact(model) or (solver is not None and solver.name == EXACT)


def some(table: SourceTable, most: int, seed: int) -> Block:
    """About ``most`` rows, in memory; all of them where there are fewer than twice as many."""
    if table.n_rows > 2 * most:
        table = table.split(test=most / table.n_rows, seed=seed)[1]
    return concatenated(list(table.blocks()))


def as_wide(model: Any, width: int) -> Any:
    """The same learner, not fitted, with another width; kernel, map and seed are the ones it has found."""
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


def penalty_name(model: Any) -> str:
    """The name of the argument that is the penalty."""
    return "C" if isinstance(model, KernelClassifier) else "alpha"


def fitted_like(model: Any, learner: Any, rows: Block) -> Any:
    """A learner fitted to rows that are prepared as those of a model are, scales that were learned among them."""
    return learner.fit_table(learner.table_to_fit(ArrayTable(*rows)), FitContext(preparation=model.preparation_))


def _widths(model: Any, rows: Block, test: Block, few: Any, whole: bool, told: Callable[[str], None]) -> list[Narrower]:
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


def _path(model: Any, rows: Block, test: Block, width: int, told: Callable[[str], None]) -> list[Penalised]:
    name = penalty_name(model)
    centre, found = float(getattr(model, f"{name}_")), []
    for value in [centre * factor for factor in FACTORS] if centre > 0.0 else []:
        told(f"report: {name} = {value:g}")
        one = fitted_like(model, as_wide(model, width).set_params(**{name: value}), rows)
        found.append(Penalised(value, one.score(ArrayTable(*rows)), one.score(ArrayTable(*test))))
    return found
