"""Threads, BLAS and forks."""

import multiprocessing
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_info, threadpool_limits

from mercer import Compressed, RandomFourier, RandomMaclaurin, TensorSketch
from mercer._tiles import cut_at_multiples, n_threads, run_tiles, single_threaded_blas, sum_in_order, tiles
from mercer.kernels import Gaussian

from .tables import sample_rows


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_tiles_cover_the_rows_in_order():
    assert [(tile.start, tile.stop) for tile in tiles(5, 2)] == [(0, 2), (2, 4), (4, 5)]
    assert list(tiles(0, 2)) == []


def test_none_leaves_the_number_of_threads_to_blas():
    with threadpool_limits(limits=1, user_api="blas"):
        assert n_threads(None) == 1
    assert n_threads(3) == 3
    assert n_threads(-1) >= 1


def test_our_own_pinning_does_not_hide_what_blas_is_allowed():
    with threadpool_limits(limits=2, user_api="blas"):
        with single_threaded_blas(), single_threaded_blas():
            assert n_threads(None) == 2
        assert n_threads(None) == 2
    with threadpool_limits(limits=1, user_api="blas"), single_threaded_blas():
        assert n_threads(None) == 1


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("cuts", [[3, 3, 3, 1], [10], [1] * 10, [4, 4, 2], [0, 7, 0, 3]])
def test_blocks_are_recut_at_multiples(form, cuts):
    X = np.arange(20.0).reshape(10, 2)
    edges = np.cumsum([0, *cuts])
    blocks = [form(X[start:stop]) for start, stop in pairwise(edges)]
    parts = list(cut_at_multiples(iter(blocks), 4))
    assert [first for first, _ in parts] == [0, 4, 8]
    for first, part in parts:
        found = part.toarray() if sp.issparse(part) else part
        np.testing.assert_array_equal(found, X[first : first + 4])


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_sums_are_taken_in_order(threads):
    values = np.random.default_rng(0).normal(size=(50, 20))  # 20 sums, of which another order changes most
    pause = threading.Event()

    def work(place):
        pause.wait(0.002 * (place % 3))  # later items finish first
        return values[place].copy(), np.array([1.0])

    total, count = sum_in_order(work, iter(range(50)), threads, held=8)
    expected = np.zeros(20)
    for value in values:
        expected += value
    np.testing.assert_array_equal(total, expected)
    assert count[0] == 50


@pytest.mark.parametrize("threads", [1, 2])
def test_sums_may_be_finer_than_what_is_added(threads):
    parts = [np.full(3, 1.0, dtype=np.float32), *(np.full(3, 1e-8, dtype=np.float32) for _ in range(99))]
    (total,) = sum_in_order(lambda place: (parts[place],), range(100), threads, held=8, dtype=np.float64)
    assert total.dtype == np.float64
    np.testing.assert_allclose(total, 1.0 + 99e-8, rtol=1e-12)
    assert sum_in_order(lambda place: (parts[place].copy(),), range(9), threads, held=8)[0].dtype == np.float32


def test_large_results_are_summed_by_fewer_threads():
    running, most, lock = 0, 0, threading.Lock()

    def work(place):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        threading.Event().wait(0.01)
        with lock:
            running -= 1
        return (np.ones(1),)

    assert sum_in_order(work, range(12), 6, held=2**27)[0] == 12
    assert most <= 2
    assert sum_in_order(work, range(3), 6, held=2**40)[0] == 3


def test_an_error_in_a_sum_is_raised_and_blas_restored():
    def work(place):
        if place == 3:
            raise ZeroDivisionError
        return (np.ones(1),)

    with threadpool_limits(limits=2, user_api="blas"):
        for threads in (1, 2):
            with pytest.raises(ZeroDivisionError):
                sum_in_order(work, range(100), threads, held=8)
        assert blas_threads() == {2}


def test_blas_is_pinned_inside_and_restored_by_the_last_one_out():
    with threadpool_limits(limits=2, user_api="blas"):
        assert blas_threads() == {2}
        with single_threaded_blas():
            with single_threaded_blas():
                assert blas_threads() == {1}
            assert blas_threads() == {1}
        assert blas_threads() == {2}


def test_an_error_in_a_tile_is_raised_and_blas_restored():
    def work(tile):
        if tile.start == 4:
            raise ZeroDivisionError

    with threadpool_limits(limits=2, user_api="blas"):
        for threads in (1, 2):
            with pytest.raises(ZeroDivisionError):
                run_tiles(work, 100, 2, threads)
        assert blas_threads() == {2}


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_error_of_the_first_tile_is_raised(threads):
    pause, done = threading.Event(), set()

    def work(tile):
        pause.wait(0.005 * (5 - tile.start % 5))  # later tiles finish first
        if tile.start >= 7:
            raise ValueError(tile.start)
        done.add(tile.start)

    for _ in range(3):
        with pytest.raises(ValueError, match=r"^7$"):
            run_tiles(work, 100, 1, threads)
    assert done == set(range(7))


def test_tiles_are_taken_once_each():
    taken = []
    run_tiles(lambda tile: taken.append((tile.start, tile.stop)), 1001, 2, 4)
    assert sorted(taken) == [(start, min(start + 2, 1001)) for start in range(0, 1001, 2)]


def test_no_thread_continues_after_an_interrupt():
    started, late, before = threading.Event(), [], []

    def work(tile):
        if threading.current_thread() is threading.main_thread():
            started.wait(10)
            before.extend(late)
            raise KeyboardInterrupt
        started.set()
        threading.Event().wait(0.05)
        late.append(tile.start)

    with pytest.raises(KeyboardInterrupt):
        run_tiles(work, 1000, 1, 2)
    finished = len(late)
    assert finished <= len(before) + 1  # what was being done, and no more
    threading.Event().wait(0.1)
    assert len(late) == finished


class Meeting(TensorSketch):
    """A map whose threads wait for each other on their first tile."""

    class construction(TensorSketch.construction):  # noqa: N801
        def native(self, params, dtype):
            return None

        def apply(self, params, X):
            if threading.get_ident() not in Meeting.seen:
                Meeting.seen.add(threading.get_ident())
                Meeting.all_here.wait(10)
            return np.zeros((X.shape[0], self.n_components))

    def threads(self, expected):
        """How many threads map rows; fewer than expected break the barrier."""
        Meeting.seen, Meeting.all_here = set(), threading.Barrier(expected)
        self.transform(np.ones((5000, 2)))
        return len(Meeting.seen)


@pytest.mark.parametrize("blas", [1, 2])
def test_as_many_threads_as_are_requested(blas):
    sketch = Meeting(n_components=4, random_state=0).fit(np.eye(2))
    with threadpool_limits(limits=blas, user_api="blas"):
        assert sketch.threads(expected=blas) == blas
        for n_jobs in (1, 2, 3):
            assert sketch.set_params(n_jobs=n_jobs).threads(expected=n_jobs) == n_jobs


def run_python(code, **environment):
    """Return the output of a fresh interpreter."""
    environment = {**os.environ, **environment}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.full
def test_the_environment_limits_threads():
    code = """
import threading
import numpy as np
from mercer import TensorSketch
from mercer._tiles import n_threads

class Watched(TensorSketch):
    class construction(TensorSketch.construction):
        def native(self, params, dtype):
            return None

        def apply(self, params, X):
            seen.add(threading.get_ident())
            return np.zeros((X.shape[0], self.n_components))

seen = set()
sketch = Watched(n_components=4, random_state=0).fit(np.eye(2))
sketch.transform(np.ones((5000, 2)))
print(n_threads(None), n_threads(2), len(seen))
"""
    assert run_python(code, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="") == ["1", "2", "1"]


def test_maps_can_be_used_from_many_threads_at_once():
    X = sample_rows(600)
    sketch = RandomMaclaurin(n_components=32, random_state=0, n_jobs=2).fit(X)
    expected = sketch.transform(X)
    results = [None] * 4

    def transform(place):
        results[place] = sketch.transform(X)

    workers = [threading.Thread(target=transform, args=(place,)) for place in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for result in results:
        np.testing.assert_array_equal(result, expected)


def _child(queue):
    sketch = TensorSketch(n_components=32, random_state=0, n_jobs=2)
    queue.put(sketch.fit_transform(sample_rows(600)))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:Using fork\\(\\):RuntimeWarning")  # of polars, where another test has loaded it
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system cannot fork")
def test_a_fork_after_a_parallel_call_does_not_hang():
    expected = TensorSketch(n_components=32, random_state=0, n_jobs=2).fit_transform(sample_rows(600))
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_child, args=(queue,))
    child.start()
    np.testing.assert_array_equal(queue.get(timeout=60), expected)
    child.join(timeout=60)
    assert child.exitcode == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize("during", [pytest.param(False, marks=pytest.mark.full), True])
def test_a_forked_child_maps_rows_in_parallel(during):
    """After a parallel call, and while another thread is in one: the child inherits locks that nobody will open."""
    code = f"""
import os, signal, threading, time
import numpy as np
from mercer import HadamardSketch, RandomFourier

X = np.random.default_rng(0).normal(size=(2000, 20))
maps = [make(n_components=64, random_state=0, n_jobs=2).fit(X) for make in (HadamardSketch, RandomFourier)]
expected = [features.transform(X) for features in maps]
stop = threading.Event()

def busy():
    while not stop.is_set():
        maps[0].transform(X)

if {during}:
    threading.Thread(target=busy).start()
    time.sleep(0.02)
for _ in range(5):
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        same = all(np.array_equal(features.transform(X), Z) for features, Z in zip(maps, expected))
        os._exit(0 if same else 1)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
stop.set()
"""
    assert run_python(code) == ["0"] * 5


def in_a_thread(work):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def test_blas_is_pinned_in_any_thread_and_freed_by_any():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()

        def inside():
            with single_threaded_blas():
                return blas_threads()

        assert inside() == in_a_thread(inside) == inside() == {1}
        assert blas_threads() == before
        # The main thread goes in first, another comes out last.
        entered, leave = threading.Event(), threading.Event()

        def late():
            with single_threaded_blas():
                entered.set()
                leave.wait(10)

        with ThreadPoolExecutor(1) as pool:
            with single_threaded_blas():
                future = pool.submit(late)
                entered.wait(10)
            assert blas_threads() == {1}
            leave.set()
            future.result()
        assert blas_threads() == before


def test_what_is_learned_does_not_depend_on_the_thread_that_fits():
    X = np.random.default_rng(0).normal(size=(600, 6))

    def features():
        sketch = Compressed(RandomFourier(Gaussian(0.1)), n_components=64, method="tefm-g", random_state=0)
        return sketch.fit(X).transform(X)

    np.testing.assert_array_equal(features(), in_a_thread(features))
