"""Threads, BLAS and forks."""

import multiprocessing
import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from mercer import RandomMaclaurin, TensorSketch
from mercer._tiles import n_threads, run_tiles, single_threaded_blas, tiles

from .tables import sample_rows


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_tiles_cover_the_rows_in_order():
    assert [(tile.start, tile.stop) for tile in tiles(5, 2)] == [(0, 2), (2, 4), (4, 5)]
    assert list(tiles(0, 2)) == []


def test_none_means_what_blas_is_allowed():
    with threadpool_limits(limits=1, user_api="blas"):
        assert n_threads(None) == 1
    assert n_threads(3) == 3
    assert n_threads(-1) >= 1


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
