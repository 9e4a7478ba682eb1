"""Dask collections as rows: recognised without Dask being imported, and made a table of partitions."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..data import PartitionedTable

HOMES = ("dask.", "dask_expr.")
"""How the names of modules begin in which collections are defined."""


def is_collection(X: Any) -> bool:
    """Whether X is a Dask array, data frame, series or delayed value; this works without Dask installed.

    Parameters
    ----------
    X : object
        Anything.

    Returns
    -------
    bool
        Whether it is a collection.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from mercer.scale import is_collection
    >>> is_collection(da.ones(3)), is_collection(np.ones(3))
    (True, False)
    """
    return "dask" in sys.modules and hasattr(type(X), "__dask_graph__") and type(X).__module__.startswith(HOMES)


def check_rows(X: Any) -> None:
    """Refuse what is no array or data frame of rows."""
    if not (is_collection(X) and hasattr(X, "_meta")):
        raise TypeError(f"rows on a cluster are a Dask array or data frame, found {type(X).__name__}")
    if X.ndim != 2:
        raise ValueError(f"rows on a cluster must have 2 dimensions, found {X.ndim}: {X!r}")


def table_of(X: Any, y: Any = None, weight: Any = None) -> PartitionedTable:
    """Return the rows of a collection as a table with the same partitions.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame
        The rows.
    y : dask.array.Array, dask.dataframe.Series, dask.dataframe.DataFrame, array-like or None, default=None
        The targets.
    weight : dask.array.Array, dask.dataframe.Series, array-like or None, default=None
        The weights.

    Returns
    -------
    PartitionedTable
        The table.

    Examples
    --------
    >>> import dask.array as da
    >>> from mercer.scale import table_of
    >>> table = table_of(da.ones((6, 2), chunks=(3, 2)), da.zeros(6, chunks=3))
    >>> table.n_rows
    6
    """
    check_rows(X)
    from .collection_table import collection_table

    return collection_table(X, y, weight)
