"""The plan of a fit, without running it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..choose import AutoMap
from ..data import SourceTable
from ..data.frames import columns, is_frame
from ..learn import KernelClassifier, KernelRegressor
from ..learn.argument_types import KernelArgument
from ..learn.estimates.memory_estimates import Extent, fit_memory
from ..learn.map_choice import EXACT, expected_map, is_exact
from ..learn.targets.labels import Tasks, columns_of


class Plan(NamedTuple):
    """The plan of a learner's fit to a table.

    Attributes
    ----------
    learner : str
        The class of the learner.
    rows : int
        The number of rows.
    columns : int
        The number of columns.
    levels : tuple of str
        The columns of text or truth values.
    kernel : Kernel or str
        The kernel, as far as it is known before the fit.
    map : str
        The class of the map.
    width : int
        The number of features.
    held : int
        The least memory in bytes that the fit would take in addition to the map and a few blocks of rows: sums and
        their solution, or the state of a solver and the features that are kept. The fit itself uses this estimate to
        refuse if memory is insufficient.
    streamed : bool
        Whether features do not fit in memory and are computed again in every pass.
    """

    learner: str
    rows: int
    columns: int
    levels: tuple[str, ...]
    kernel: KernelArgument
    map: str
    width: int
    held: int
    streamed: bool


def plan(learner: KernelClassifier | KernelRegressor, table: SourceTable) -> Plan:
    """Return the plan of a learner's fit to a table, without computing any features.

    Parameters
    ----------
    learner : KernelClassifier or KernelRegressor
        The learner, not fitted.
    table : SourceTable
        The rows.

    Returns
    -------
    Plan
        The map, the number of features and the memory of the fit.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).normal(size=(1000, 3))
    >>> learner = mercer.choose.learner_for("regression", n_components=100, n_jobs=1)
    >>> found = mercer.report.plan(learner, mercer.data.open(X, target=2))
    >>> found.map, found.rows, found.columns, found.held
    ('Nystrom', 1000, 2, 3440016)
    """
    n_rows, learner = table.n_rows, learner.foreseen(table)
    chosen = expected_map(learner, n_rows)
    width = chosen.width_for(n_rows)
    extent = Extent(width, n_rows, decision_columns(learner, table), precision_of(table.head().X), learner.n_jobs)
    needed = fit_memory(learner, extent)
    return Plan(
        type(learner).__name__,
        n_rows,
        table.width,
        table.levels,
        learner.map.kernel if isinstance(learner.map, AutoMap) else learner.kernel,
        EXACT if is_exact(learner) else type(chosen).__name__,
        n_rows if is_exact(learner) else width,
        needed.total,
        needed.streamed,
    )


def decision_columns(learner: KernelClassifier | KernelRegressor, table: SourceTable) -> int:
    """Return the number of decision values per row, if memory is needed for each of them."""
    if not learner.iterates(table.n_rows):
        return 1
    if isinstance(learner, KernelRegressor):
        return int(np.size(learner.quantile)) if learner.loss == "quantile" else 1
    labels = [np.unique(column) for column in columns_of(np.concatenate([block.y for block in table.targets()]))]
    return int(Tasks(labels).columns[-1].stop)


def precision_of(X: Any) -> int:
    """Return the number of bytes per number of prepared rows: dates are float64, levels have any precision."""
    if not is_frame(X):
        return int(X.dtype.itemsize)
    kinds = [part.dtype for part in columns(X).values() if part.dtype != object]
    return int(np.result_type(np.float32, *(np.float64 if kind.kind in "mM" else kind for kind in kinds)).itemsize)
