"""What dies does not change a bit: real processes are killed, delayed and added in the middle of fits."""

import os
import signal
import subprocess
import sys
import time

import dask
import numpy as np
import pytest

import mercer
from mercer.data.block import Block
from mercer.data.partitioned_table import Partition
from mercer.persist import train
from mercer.scale import cluster as cluster_module
from mercer.scale.cluster import WorkersGoneError
from mercer.scale.worker_parts import done_on

from .conftest import started
from .test_cluster import arrays_of, check_same, targets_for
from .test_partitions import LEARNERS

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of Dask, about workers that are gone


@pytest.fixture
def own_cluster():
    """A cluster that a test may break."""
    with started(2) as cluster, distributed.Client(cluster) as client:
        yield cluster, client


def killing(client, table_rows, seen):
    """A callback that kills one worker, without warning, once some rows are done."""

    def told(progress):
        if progress.rows >= table_rows and not seen:
            pids = client.run(os.getpid)
            seen.append(next(iter(pids.values())))
            os.kill(seen[0], signal.SIGKILL)

    return told


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.full) for name in LEARNERS])
def test_a_worker_that_is_killed_changes_no_bit(name, collections, own_cluster):
    _, client = own_cluster
    X, y, classes = collections
    killed = []
    there = LEARNERS[name]().set_params(random_state=0, callback=killing(client, 700, killed))
    there.fit(X, targets_for(name, y, classes))
    assert killed
    client.close()
    with dask.config.set(scheduler="sync"):
        here = LEARNERS[name]().set_params(random_state=0).fit(X, targets_for(name, y, classes))
    check_same(there, here)


@pytest.mark.full
def test_all_workers_gone_is_an_error_and_no_hang(collections, own_cluster, monkeypatch):
    cluster, _ = own_cluster
    begun = time.monotonic()
    model = LEARNERS["number"]().set_params(random_state=0)
    cluster.scale(0)
    cluster.sync(cluster._correct_state)
    with pytest.raises(WorkersGoneError, match="no worker was there for 30 seconds"):
        model.fit(*collections[:2])
    assert time.monotonic() - begun < 60.0
    assert not arrays_of(model)


@pytest.mark.full
def test_partitions_that_come_in_another_order_give_the_same_bits(rows, collections, client):
    def late(part, block_info=None):
        time.sleep(0.5 * (3 - block_info[0]["chunk-location"][0]))
        return part

    X = collections[0].map_blocks(late, dtype=collections[0].dtype)
    ours = LEARNERS["number"]().set_params(random_state=0).fit(X, collections[1])
    theirs = LEARNERS["number"]().set_params(random_state=0).fit(*collections[:2])
    check_same(ours, theirs)


def test_work_that_is_done_twice_gives_the_same_and_leaves_its_partition_as_it_was(rows):
    from mercer.scale.parcels import packed

    X, y, _ = rows
    part = Partition(3, Block(X[:500], y[:500]))
    before = part.fingerprint()
    parcel = packed(sums_of_block)
    once, twice = done_on(parcel, 3, part, 7), done_on(parcel, 3, part, 7)
    assert all(np.array_equal(*pair) for pair in zip(once, twice, strict=True))
    assert part.fingerprint() == before


def sums_of_block(table, first):
    return tuple(block.X.sum(axis=0) + first for block in table.blocks())


@pytest.mark.full
def test_too_little_memory_on_a_worker_is_refused_before_the_run(client, collections, monkeypatch):
    monkeypatch.setattr(cluster_module.Cluster, "memory", property(lambda self: 2**20))
    model = mercer.KernelRegressor("gaussian", n_components=512, map="RandomFourier", alpha=1.0, random_state=0)
    with pytest.raises(MemoryError, match=r"512 features and their solution need .* GiB at least"):
        model.fit(*collections[:2])


CLIENT = """
import sys
import dask.array as da, distributed, numpy as np
import mercer
from mercer.persist import train
rng = np.random.default_rng(0)
X, y = rng.normal(size=(40 * 200, 4)), rng.normal(size=40 * 200)
X, y = da.from_array(X, chunks=(200, 4)), da.from_array(y, chunks=200)
def told(progress):
    if progress.what == "sums" and progress.rows >= 32 * 200:
        import os, signal
        os.kill(os.getpid(), signal.SIGKILL)
if __name__ == "__main__":
    with distributed.Client(sys.argv[1]):
        model = mercer.KernelRegressor("gaussian", n_components=32, map="RandomFourier", alpha=1.0, random_state=0)
        train(model, X, y, output=sys.argv[2], every=0.0, resume=True, progress=told if sys.argv[3] == "die" else None)
"""


@pytest.mark.full
def test_a_client_that_is_killed_goes_on_to_the_same_bytes(tmp_path, shared_cluster):
    script = tmp_path / "client.py"
    script.write_text(CLIENT)

    def run(name, how):
        command = [sys.executable, str(script), shared_cluster.scheduler_address, str(tmp_path / name), how]
        return subprocess.run(command, capture_output=True, text=True, timeout=300).returncode

    assert run("killed", "die") == -signal.SIGKILL
    assert (tmp_path / "killed.checkpoint").exists()
    assert not (tmp_path / "killed").exists()
    assert run("killed", "live") == 0
    assert run("whole", "live") == 0
    assert (tmp_path / "killed").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.full
def test_training_with_checkpoints_gives_the_model_of_fit(tmp_path, client, collections):
    ours = LEARNERS["hinge"]().set_params(random_state=0)
    train(ours, *collections[::2], output=tmp_path / "model", every=0.0)
    theirs = LEARNERS["hinge"]().set_params(random_state=0).fit(*collections[::2])
    check_same(ours, theirs)
