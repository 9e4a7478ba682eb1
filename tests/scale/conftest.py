"""One cluster of two processes for all tests of this folder, and rows to learn from."""

import numpy as np
import pytest

pytest.importorskip("distributed")
import dask
import dask.array as da
from distributed import Client, LocalCluster

from mercer.scale.local import keeping_memory

N_ROWS, CHUNK = 2600, 700


def started(n_workers, memory_limit="2GiB"):
    """A cluster of processes on this machine, with one thread each and without a dashboard."""
    return LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=True,
        dashboard_address="127.0.0.1:0",
        memory_limit=memory_limit,
    )


@pytest.fixture(scope="session")
def shared_cluster():
    quiet = dask.config.set({"distributed.admin.log-format": "%(message)s"})
    with quiet, keeping_memory(), started(2) as cluster:
        yield cluster


@pytest.fixture
def client(shared_cluster):
    with Client(shared_cluster) as found:
        yield found


@pytest.fixture(scope="session")
def rows():
    """Rows, numbers and classes to learn from them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 5))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=N_ROWS)
    return X, y, (X[:, 0] * X[:, 1] > 0).astype(np.int64)


@pytest.fixture
def collections(rows):
    """The rows, numbers and classes as Dask arrays."""
    return tuple(da.from_array(part, chunks=(CHUNK, *part.shape[1:])) for part in rows)
