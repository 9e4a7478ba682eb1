"""Faults do not change a bit of the result: processes are killed, delayed and added in the middle of fits."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

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


def in_this_process():
    """A context without a cluster; Dask would look for the client that was closed."""
    return dask.config.set(scheduler="threads")


def killing(client, calls, seen):
    """A callback that kills one worker, without warning, when it is called for the times with these numbers."""
    count = 0

    def told(progress):
        nonlocal count
        count += 1
        if count in calls:
            pids = client.run(os.getpid)
            seen.append(next(iter(pids.values())))
            os.kill(seen[-1], signal.SIGKILL)

    return told


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.full) for name in LEARNERS])
def test_a_worker_that_is_killed_changes_no_bit(name, collections, own_cluster):
    _, client = own_cluster
    X, y, classes = collections
    killed = []
    there = LEARNERS[name]().set_params(random_state=0, callback=killing(client, (2, 30), killed))
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
def test_too_little_memory_on_a_worker_is_refused_before_the_run(collections):
    with (
        started(1, memory_limit="600MiB") as cluster,
        distributed.Client(cluster),
        pytest.raises(MemoryError, match=r"4096 features .* need at least .* GiB; a thread of a worker has"),
    ):
        mercer.KernelRegressor("gaussian", n_components=4096, map="RandomFourier", alpha=1.0).fit(*collections[:2])


def test_the_memory_of_a_worker_is_shared_by_its_threads():
    workers = {"a": {"memory_limit": 2**32, "nthreads": 4}, "b": {"memory_limit": 2**31, "nthreads": 1},
               "c": {"memory_limit": 0, "nthreads": 2}}  # fmt: skip
    client = SimpleNamespace(scheduler_info=lambda n_workers: {"workers": workers})
    cluster = cluster_module.Cluster(client)
    assert (cluster.memory, cluster.n_threads, cluster.room) == (int(0.95 * 2**32 - 2**28) // 4, 7, None)
    workers["b"]["memory_limit"] = 1000
    assert cluster.memory == 0


def test_an_asynchronous_client_is_refused(monkeypatch):
    monkeypatch.setattr(distributed, "default_client", lambda: SimpleNamespace(asynchronous=True, status="running"))
    with pytest.raises(ValueError, match="client is asynchronous"):
        cluster_module.Cluster.current()


CLIENT = """
import os, signal, sys
import dask.array as da, distributed, numpy as np
import mercer
from mercer.learn import KernelKMeans
from mercer.persist import train
address, output, name, how = sys.argv[1:]
rng = np.random.default_rng(0)
rows = rng.normal(size=(40 * 200, 4))
X, y = da.from_array(rows, chunks=(200, 4)), da.from_array(rows[:, 0] ** 2, chunks=200)
classes = (y > 0.5).astype(int)
options = {"n_components": 32, "map": "RandomFourier", "random_state": 0}
learners = {
    "ridge": (mercer.KernelRegressor("gaussian", alpha=1.0, **options), (X, y)),
    "hinge": (mercer.KernelClassifier("gaussian", C=1.0, **options), (X, classes)),
    "landmarks": (mercer.KernelClassifier("gaussian", C=1.0, solver="landmarks", **(options | {"map": "Nystrom"})),
                  (X, classes)),
    "clusters": (KernelKMeans("gaussian", n_clusters=3, **options), (X,)),
}
calls = 0
def told(progress):
    global calls
    if how == "die" and os.path.exists(output + ".checkpoint"):
        calls += 1
        if calls > (60 if name != "ridge" else 2):
            os.kill(os.getpid(), signal.SIGKILL)
if __name__ == "__main__":
    learner, data = learners[name]
    with distributed.Client(address):
        train(learner, *data, output=output, every=0.0, resume=True, progress=told)
"""


@pytest.mark.full
@pytest.mark.parametrize("name", ["ridge", "hinge", "landmarks", "clusters"])
def test_a_client_that_is_killed_continues_to_the_same_bytes(name, tmp_path, shared_cluster):
    script = tmp_path / "client.py"
    script.write_text(CLIENT)

    def run(output, how):
        command = [sys.executable, str(script), shared_cluster.scheduler_address, str(tmp_path / output), name, how]
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


def running(client, name):
    """Whether processes beside those of a test's own cluster have joined it."""
    return name in {worker["name"] for worker in client.scheduler_info(n_workers=-1)["workers"].values()}


@contextlib.contextmanager
def joining(address, name, *options):
    """A worker that joins from outside, as on another machine."""
    command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--name", name, "--no-dashboard", *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def marking(folder, seconds=0.0):
    """A slow function of partitions, which leaves a file with the number of the process that ran it."""

    def work(part):
        (folder / str(os.getpid())).touch()
        time.sleep(seconds)
        return part

    return work


@pytest.mark.full
def test_a_worker_that_joins_late_is_used_and_changes_no_bit(rows, collections, tmp_path):
    with started(1) as cluster, distributed.Client(cluster) as client, contextlib.ExitStack() as late:
        X = collections[0].rechunk((50, 5)).map_blocks(marking(tmp_path, 0.3), dtype=float, meta=np.empty((0, 0)))
        begin = lambda: late.enter_context(joining(cluster.scheduler_address, "late", "--nthreads", "3"))  # noqa: E731
        timer = threading.Timer(1.0, begin)
        timer.start()
        y = collections[1].rechunk(50)
        with dask.config.set({"mercer.persist": False}):  # so that all partitions are made again in every pass
            ours = LEARNERS["leave-one-out"]().set_params(random_state=0).fit(X, y)
        timer.join()
        assert running(client, "late")
    assert len(list(tmp_path.iterdir())) == 2
    theirs = LEARNERS["leave-one-out"]().set_params(random_state=0)
    with in_this_process():
        check_same(ours, theirs.fit(collections[0].rechunk((50, 5)), y))


@pytest.mark.full
@pytest.mark.parametrize("name", ["number", "hinge", "landmarks"])
def test_a_worker_that_stops_for_a_while_changes_no_bit(name, collections, own_cluster):
    _, client = own_cluster
    X, y, classes = collections
    stopped = []

    def told(progress):
        if not stopped:
            stopped.append(next(iter(client.run(os.getpid).values())))
            os.kill(stopped[0], signal.SIGSTOP)
            threading.Timer(4.0, os.kill, (stopped[0], signal.SIGCONT)).start()

    there = LEARNERS[name]().set_params(random_state=0, callback=told).fit(X, targets_for(name, y, classes))
    assert stopped
    client.close()
    with in_this_process():
        check_same(there, LEARNERS[name]().set_params(random_state=0).fit(X, targets_for(name, y, classes)))


def failing(folder):
    """A function of partitions whose first call fails, as a read from a network sometimes does."""

    def work(part, block_info=None):
        number = block_info[0]["chunk-location"][0]
        if number == 2 and not (folder / "failed").exists():
            (folder / "failed").touch()
            raise OSError("the network is down")
        return part

    return work


@pytest.mark.full
def test_a_partition_that_fails_once_is_an_error_unless_retries_are_requested(collections, tmp_path, client):
    make = lambda: LEARNERS["number"]().set_params(random_state=0)  # noqa: E731
    faulty = collections[0].map_blocks(failing(tmp_path), dtype=float)
    with pytest.raises(OSError, match="the network is down"):
        make().fit(faulty, collections[1])
    again = tmp_path / "again"  # Dask knows that tasks of the same name have failed
    again.mkdir()
    with dask.annotate(retries=2):
        faulty = collections[0].map_blocks(failing(again), dtype=float)
        check_same(make().fit(faulty, collections[1]), make().fit(*collections[:2]))
    assert (again / "failed").exists()


@pytest.mark.full
def test_a_partition_that_kills_its_workers_is_a_clear_error(collections, own_cluster):
    def deadly(part, block_info=None):
        if block_info[0]["chunk-location"][0] == 1:
            os._exit(1)
        return part

    with pytest.raises(WorkersGoneError, match=r"4 workers died one after another .* more memory"):
        LEARNERS["number"]().fit(collections[0].map_blocks(deadly, dtype=float), collections[1])


@pytest.mark.full
def test_a_lost_scheduler_is_a_clear_error_and_the_fit_continues_with_another(collections, tmp_path, shared_cluster):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    address, output = f"tcp://127.0.0.1:{port}", tmp_path / "model"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", port]

    def scheduler():
        return subprocess.Popen([*command, "--no-dashboard"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def slowly(part):
        time.sleep(0.05)  # so that some partitions are still to come when the scheduler is lost
        return part

    X, y = collections[0].rechunk((50, 5)), collections[1].rechunk(50)
    slow = X.map_blocks(slowly, dtype=float, meta=np.empty((0, 0)))
    lost = []

    def told(progress):
        if progress.what == "sums" and progress.rows >= 1600 and not lost:  # a group of partitions is in the checkpoint
            first.kill()
            lost.append(time.monotonic())

    first, second = scheduler(), None
    try:
        with joining(address, "one", "--no-nanny"), distributed.Client(address) as client:
            client.wait_for_workers(1)
            make = lambda: LEARNERS["number"]().set_params(random_state=0)  # noqa: E731
            again = dask.config.set({"mercer.persist": False})  # partitions are made in every pass
            with again, pytest.raises(WorkersGoneError, match="connection to the scheduler was lost"):
                train(make(), slow, y, output=output, every=0.0, progress=told)
            assert time.monotonic() - lost[0] < 60.0
        first.wait()
        second = scheduler()
        with joining(address, "two", "--no-nanny"), distributed.Client(address) as client:
            client.wait_for_workers(1)
            train(make(), X, y, output=output, every=0.0, resume=True)
    finally:
        for process in (first, second):
            if process is not None:
                process.kill()
                process.wait()
    with in_this_process():
        train(make(), X, y, output=tmp_path / "whole")
    assert output.read_bytes() == (tmp_path / "whole").read_bytes()
