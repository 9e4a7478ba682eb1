"""Sums over all rows of what is computed from their features, wherever rows and features are."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..._array import Array
from ..._tiles import sum_in_order
from ...data import Table
from ..features.prepared_rows import Chunk, PartRows, PreparedRows
from ..passes.fit_passes import PartSums, Watcher
from ..protocols import FittedFeatures
from .device_sums import device_sums
from .moments import chunk_rows

Sums = tuple[NDArray[np.float64], ...]
Part = Callable[[Array, Chunk], tuple[Array, ...]]
"""Computes the terms of a sum from the features of a chunk."""


class Threaded(FittedFeatures, Protocol):
    """A machine whose map is fitted, and the number of threads that it may use."""

    n_jobs: int | None


def feature_sums(
    machine: Threaded, part: Part, rows: PreparedRows, held: int, what: str, watcher: Watcher | None = None
) -> Sums:
    """Return the sums over all rows of the results of ``part`` for a chunk's features.

    On a device, features are tensors. The rows of partitions are summed where they are, by copies of ``part`` and of
    the machine, neither of which may therefore contain any rows.

    Parameters
    ----------
    machine : Threaded
        The machine whose features they are.
    part : callable
        Called with the features of some rows, and these rows as a chunk.
    rows : PreparedRows
    held : int
        The size of each result, in bytes.
    what : str
        The purpose of the pass.
    watcher : Watcher or None, default=None
        It is shown all features.
    """
    if rows.passes.partitions is not None:
        apart = partial(sums_of_part, machine, part, watcher, held, what, rows.apart(machine.n_jobs))
        seen = [one for one in (rows.extremes, watcher) if one is not None]
        return rows.passes.summed_partitions(what, apart, held, seen)
    if watcher is not None:
        part = partial(watched, part, watcher)
    if rows.passes.device is not None:
        return device_sums(rows.passes.device, machine.map_, part, rows, what)
    size, kept = chunk_rows(machine.map_.n_components_, rows.dtype.itemsize), rows.kept_features
    are_known = kept is not None and kept.are_complete

    def work(chunk: Chunk) -> tuple[Array, ...]:
        Z = chunk.X if are_known else machine.features_of(chunk.X, chunk.first)
        if kept is not None and not are_known:
            kept.add(chunk, Z)
        return part(Z, chunk)

    def add(first: int, totals: list[NDArray[np.float64]] | None, tell: Callable[[int], None] | None) -> Sums:
        def after(chunk: Chunk) -> None:
            if tell is not None:
                tell(chunk.last)

        chunks = kept.chunks(first) if kept is not None and are_known else rows.chunks(size, first)
        return sum_in_order(work, chunks, machine.n_jobs, held, after, np.float64, totals)

    return rows.passes.summed(what, add)


def watched(part: Part, watcher: Watcher, Z: Array, chunk: Chunk) -> tuple[Array, ...]:
    """Return the result of a part of a sum for the features of a chunk, and then show these to a watcher."""
    sums = part(Z, chunk)
    watcher.watch(Z, chunk)  # not before: a device that runs out of memory starts again with fewer rows
    return sums


def sums_of_part(
    machine: Threaded,
    part: Part,
    watcher: Watcher | None,
    held: int,
    what: str,
    how: PartRows,
    table: Table,
    first: int,
) -> PartSums:
    """Return the sums over the rows of one partition, the first of which has this number among all rows."""
    rows, fresh = how.of(table), None if watcher is None else watcher.fresh()
    machine = copy(machine)
    machine.n_jobs = how.n_jobs

    def counted(Z: Array, chunk: Chunk) -> tuple[Array, ...]:
        chunk = chunk._replace(first=first + chunk.first)
        return part(Z, chunk) if fresh is None else watched(part, fresh, Z, chunk)

    sums = feature_sums(machine, counted, rows, held, what)
    return PartSums(sums, tuple(one for one in (rows.extremes, fresh) if one is not None))
