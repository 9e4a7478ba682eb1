"""A connection to a cluster, which may be started on this machine, and files that its workers read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..data import SourceTable
from ..data.partitioned_files import BlockRange, PartitionedFiles
from .cluster import Cluster
from .worker_parts import WorkerParts

ALLOCATION = {"MALLOC_MMAP_THRESHOLD_": 2**25, "MALLOC_TRIM_THRESHOLD_": 2**28}
"""Settings of the C library with which a worker reuses the memory of one chunk of features for the next.

With Dask's own setting, this memory goes back to the system and comes again page by page, which takes a third of the
time of sums over rows. At most the second number of bytes stays with an idle worker.
"""
LOCAL = re.compile(r"local(?::([1-9]\d*))?")


def keeping_memory() -> Any:
    """Return a context in which workers are started that keep the memory of a chunk of rows for the next one."""
    import dask

    return dask.config.set({f"distributed.nanny.pre-spawn-environ.{name}": value for name, value in ALLOCATION.items()})


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Connect to a scheduler, or start a cluster on this machine that nobody else can reach.

    Parameters
    ----------
    address : str
        The address of a scheduler such as "tcp://10.0.0.1:8786", or "local", or "local:2" for two workers. Workers on
        this machine are processes with one thread each.

    Yields
    ------
    distributed.Client
        The client, which is the current one inside the context.
    """
    from distributed import Client, LocalCluster

    found = LOCAL.fullmatch(address)
    if found is None:
        if "://" not in address:
            raise ValueError(f"expected the address of a scheduler, 'local' or 'local:2', found {address!r}")
        with Client(address) as client:
            yield client
        return
    count = None if found[1] is None else int(found[1])
    with (
        keeping_memory(),
        LocalCluster(
            n_workers=count, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def files_on(client: Any, source: SourceTable) -> PartitionedFiles:
    """Return a table of files whose rows are read by the workers of a cluster.

    Parameters
    ----------
    client : distributed.Client
        A client of the cluster, whose workers see the files under the same names.
    source : SourceTable
        The files, as :func:`mercer.data.open` returns them.

    Returns
    -------
    PartitionedFiles
        The table. Its partitions depend only on the rows, not on the workers.
    """
    cluster = Cluster(client)

    def spread(ranges: Sequence[BlockRange]) -> WorkerParts:
        return WorkerParts(cluster, cluster.ranges(source, ranges), range(len(ranges)))

    return PartitionedFiles(source, spread)
