"""Dask arrays and data frames as tables of partitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dask
import numpy as np
from dask.delayed import delayed

from ..data.block import Block
from ..data.frames import columns, holds, is_frame, kind_of
from ..data.partitioned_table import Partition, PartitionedTable, check_alike, n_rows_of, naming
from .cluster import Cluster
from .worker_parts import DelayedParts, WorkerParts


def collection_table(X: Any, y: Any = None, weight: Any = None) -> PartitionedTable:
    """Return the rows of a collection as a table; see :func:`mercer.scale.table_of`."""
    rows = delayed_parts(X, "X")
    columns = meta_kinds(X) if is_frame(X._meta) else X.shape[1]
    sizes = known_sizes(X)
    beside = [delayed_beside(part, name, len(rows), sizes) for part, name in ((y, "y"), (weight, "sample_weight"))]
    make = delayed(partition, pure=False)
    tables = [make(number, columns, *parts) for number, parts in enumerate(zip(rows, *beside, strict=True))]
    return table_of_parts(tables)


def table_of_parts(tables: Sequence[Any]) -> PartitionedTable:
    """Return the table of delayed tables, one for every partition, without those that have no rows."""
    numbers, cluster = range(len(tables)), Cluster.current()
    parts: Any
    if cluster is None:
        parts = DelayedParts(tables, numbers)
    else:
        futures = cluster.computed(tables) if dask.config.get("mercer.persist", True) else list(tables)
        parts = WorkerParts(cluster, futures, numbers)
    sizes = list(parts.each(n_rows_of))
    full = [place for place, size in enumerate(sizes) if size]
    return PartitionedTable(parts.chosen(full), [sizes[place] for place in full], full)


def partition(number: int, columns: dict[str, str] | float, X: Any, y: Any, weight: Any) -> Partition:
    """Return the rows of one partition, with the same columns as others: these by name, or so many."""

    def checked(X: Any, columns: dict[str, str] | float) -> Partition:
        if isinstance(columns, dict):
            check_alike(number, X, columns)
            X = X[list(columns)]
        elif columns == columns and X.shape[1:] != (columns,):
            raise ValueError(f"expected {columns} columns, found rows of shape {X.shape}")
        return Partition(number, Block(X, *(None if part is None else values_of(part) for part in (y, weight))))

    found: Partition = naming(checked, number, X, columns)
    return found


def values_of(part: Any) -> Any:
    """Return targets or weights as an array."""
    return part.to_numpy() if hasattr(part, "to_numpy") else np.asarray(part)


def meta_kinds(X: Any) -> dict[str, str]:
    """Return what the columns of a data frame hold, by name."""
    return {name: holds(kind_of(column)) for name, column in columns(X._meta).items()}


def known_sizes(X: Any) -> list[int] | None:
    """Return the numbers of rows in the partitions of an array; None if they are not known."""
    sizes = getattr(X, "chunks", ((float("nan"),),))[0]
    return None if any(size != size for size in sizes) else [int(size) for size in sizes]


def delayed_parts(X: Any, name: str) -> list[Any]:
    """Return the partitions of a collection, each with all its columns."""
    if hasattr(X, "chunks"):
        if X.ndim not in (1, 2):
            raise ValueError(f"{name} must have 1 or 2 dimensions, found shape {X.shape}")
        if X.ndim == 2 and X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        found: list[Any] = X.to_delayed().ravel().tolist()
        return found
    return list(X.to_delayed())


def delayed_beside(part: Any, name: str, count: int, sizes: list[int] | None) -> list[Any]:
    """Return targets or weights in the partitions of the rows."""
    if part is None:
        return [None] * count
    if not hasattr(part, "to_delayed"):
        part = np.asarray(part)
        if sizes is None or len(part) != sum(sizes):
            wanted = "a Dask collection with the partitions of X" if sizes is None else f"{sum(sizes)} entries"
            raise ValueError(f"{name} must be {wanted}, found {type(part).__name__} of shape {part.shape}")
        return np.split(part, np.cumsum(sizes)[:-1])
    theirs = known_sizes(part)
    if sizes is not None and theirs is not None and theirs != sizes:
        if sum(theirs) != sum(sizes):
            raise ValueError(f"{name} has {sum(theirs)} rows, but X has {sum(sizes)}")
        part = part.rechunk({0: tuple(sizes)})
    found = delayed_parts(part, name)
    if len(found) != count:
        raise ValueError(f"{name} has {len(found)} partitions, but X has {count}: give both the same partitions")
    return found
