"""Rows of a table in memory, in an order that a seed draws, prepared for a search."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._memory import as_bytes
from .._random import Stream
from ..data import Table
from ..data.block import Block, concatenated, rows_of
from ..data.table_rows import placed
from ..kernels import Gaussian
from ..learn.argument_types import MemoryArgument
from ..learn.prepare.preparation import Preparation
from .halving import Sample
from .learner_choice import learner_for

COPIES = 4
"""The number of copies of the rows: unchanged, prepared with two scales, and for the current kernel."""


def drawn(table: Table, count: int, seed: int) -> tuple[Block, NDArray[np.int64]]:
    """Return ``count`` rows in the order of a seed, with their numbers; a larger draw starts with the smaller one."""
    chosen = Stream(seed, "tuning", "rows").permutation(table.n_rows)[:count].astype(np.int64)
    rising = np.sort(chosen)
    parts, first = [], 0
    for block in table.blocks():
        last = first + block.X.shape[0]
        here = rising[np.searchsorted(rising, first) : np.searchsorted(rising, last)]
        if len(here):
            parts.append(rows_of(block, here - first))
        first = last
    return rows_of(concatenated(parts), np.searchsorted(rising, chosen)), chosen


def most_rows(table: Table, memory: MemoryArgument) -> int:
    """Return the number of rows that fit in memory."""
    X = table.head().X
    return max(1, as_bytes(memory) // (COPIES * 8 * max(1, X.shape[1])))


def sample_of(
    table: Table,
    count: int,
    task: str,
    scales: Iterable[str | None],
    seed: int,
    memory: MemoryArgument,
    balanced: bool = False,
    **preparing: Any,
) -> Sample:
    """Return at most ``count`` rows for a search; ``preparing`` has the arguments missing, unknown and dates.

    If ``balanced``, every class has the same total weight.
    """
    block, numbers = drawn(table, min(count, most_rows(table, memory)), seed)
    X = {scale: prepared(table, block, numbers, scale, **preparing) for scale in scales}
    Y = np.asarray(block.y, dtype=np.float64) if task == "regression" else codes_of(block.y)
    check_varies(Y)
    weight = balanced_weights(block.y, block.weight) if balanced else block.weight
    return Sample(X, Y.reshape(len(Y), -1), weight, task == "classification", balanced)


def check_varies(Y: NDArray[np.float64]) -> None:
    """Raise an error if all targets are equal."""
    if (Y[:1] == Y).all():
        raise ValueError(f"the target is {Y.ravel()[0]:g} in every row, so there is nothing to learn")


def prepared(table: Table, block: Block, numbers: NDArray[np.int64], scale: str | None, **preparing: Any) -> Any:
    """Return drawn rows as a learner sees them; what is known about columns, above all levels, comes from all rows.

    Parameters
    ----------
    table : Table
        All rows.
    block : Block
        The rows that were drawn.
    numbers : ndarray of int
        Their numbers.
    scale : str or None
        How columns are scaled.
    **preparing : object
        The arguments ``missing``, ``unknown`` and ``dates``.

    Returns
    -------
    ndarray or sparse matrix
        The prepared rows.
    """
    return placed(table, preparation_of(table, scale, **preparing), block.X, numbers)


def preparation_of(table: Table, scale: str | None, **preparing: Any) -> Preparation:
    """Return how a learner prepares the columns of a table.

    Parameters
    ----------
    table : Table
        All rows.
    scale : str or None
        How columns are scaled.
    **preparing : object
        The arguments ``missing``, ``unknown`` and ``dates``.

    Returns
    -------
    Preparation
        The preparation, which has seen all rows.
    """
    learner: Any = learner_for(
        "regression", kernel=Gaussian(1.0), n_components=1, scale=scale, alpha=1.0, random_state=0, **preparing
    )
    return learner.prepare(table).preparation_


def balanced_weights(y: Any, weight: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Return weights of rows that give every class the same total weight."""
    labels, codes = np.unique(y, return_inverse=True)
    each = np.ones(len(codes)) if weight is None else weight
    totals = np.bincount(codes, each)
    return each * (each.sum() / (len(labels) * np.maximum(totals, np.finfo(np.float64).tiny)))[codes]


def codes_of(y: Any) -> NDArray[np.float64]:
    """Return one column per class, 1 for its rows and otherwise -1; two classes have one column, for the second."""
    labels, codes = np.unique(y, return_inverse=True)
    if len(labels) < 2:
        raise ValueError(f"a classifier needs at least 2 classes, found 1 class: {labels.tolist()[0]!r}")
    columns = np.array([1]) if len(labels) == 2 else np.arange(len(labels))
    return np.where(codes.reshape(-1, 1) == columns, 1.0, -1.0)
