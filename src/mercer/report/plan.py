"""What a fit would do, before it does."""

from __future__ import annotations

from typing import NamedTuple

from .._memory import as_bytes
from ..data import SourceTable
from ..learn import KernelClassifier, KernelRegressor
from ..learn.arguments import KernelArgument
from ..learn.map_choice import expected_map


class Plan(NamedTuple):
    """What a learner would make of a table.

    ``held`` is how many bytes it would hold beside a few blocks of rows: features, or the sums of a regression;
    ``streamed`` tells that features do not fit and are made anew in every pass.
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
    """What a learner would make of a table, without a look at its features.

    Parameters
    ----------
    learner : KernelClassifier or KernelRegressor, not fitted
    table : SourceTable

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).normal(size=(1000, 3))
    >>> learner = mercer.choose.learner_for("regression", n_components=100)
    >>> found = mercer.report.plan(learner, mercer.data.open(X, target=2))
    >>> found.map, found.rows, found.columns, found.held
    ('OrthogonalFourier', 1000, 2, 80000)
    """
    n_rows = table.n_rows
    chosen = expected_map(learner, n_rows)
    width = chosen.width_for(n_rows)
    sums = isinstance(learner, KernelRegressor) or learner.loss == "squared"
    rows = table.head().X
    itemsize = rows.dtype.itemsize if hasattr(rows, "dtype") else 8  # a frame has types of its own
    held = 8 * width**2 if sums else n_rows * width * itemsize
    streamed = isinstance(learner, KernelClassifier) and not sums and held > as_bytes(learner.memory)
    return Plan(
        type(learner).__name__,
        n_rows,
        table.width,
        table.levels,
        learner.kernel,
        type(chosen).__name__,
        width,
        0 if streamed else held,
        streamed,
    )
