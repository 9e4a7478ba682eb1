"""The only file that cuts rows into tiles and runs them on threads.

Tiles have a fixed number of rows counted from row 0, and BLAS runs on one thread inside each, so a result depends
neither on the number of threads nor on any chunking whose cuts are multiples of the tile.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import joblib
import threadpoolctl
from numpy.typing import DTypeLike, NDArray
from threadpoolctl import ThreadpoolController

from ._array import Array, stack_rows
from ._caller import warn_caller
from .gpu.shortage import is_shortage

TILE = 256
SMALLEST_TILE = 16
TILE_BYTES = 32 * 2**20
LARGEST_TILE = 8192
LARGE_TILES_PER_THREAD = 4
LARGEST_DEVICE_TILE = 2**17
DEVICE_BYTES = 4 * 2**30
"""The memory that a tile may take on a GPU while it is mapped."""
HELD_BYTES = 256 * 2**20
"""The memory that results may take while they wait to be added."""


def tile_rows(scratch: int, most: int = TILE) -> int:
    """Return the rows per tile: 256, or a smaller power of two if rows need many floats."""
    rows = most
    while rows > SMALLEST_TILE and rows * scratch * 8 > TILE_BYTES:
        rows //= 2
    return rows


def tile_entries(length: int) -> int:
    """Return the stored entries per tile, given the number of features per entry."""
    return max(1, TILE_BYTES // (64 * length))


def tiles(n_rows: int, rows: int) -> Iterator[slice]:
    """Yield consecutive slices of ``rows`` rows, the last one shorter."""
    for start in range(0, n_rows, rows):
        yield slice(start, min(start + rows, n_rows))


def cut_at_multiples(blocks: Iterable[Array], rows: int) -> Iterator[tuple[int, Array]]:
    """Cut the rows of consecutive blocks anew at multiples of ``rows``; yield each part with its first row's number."""
    first, waiting, count = 0, [], 0
    for block in blocks:
        start = 0
        while start < block.shape[0]:
            part = block[start : start + rows - count]
            start, count = start + part.shape[0], count + part.shape[0]
            waiting.append(part)
            if count == rows:
                yield first, stack_rows(waiting)
                first, waiting, count = first + rows, [], 0
    if waiting:
        yield first, stack_rows(waiting)


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # made once: it scans the loaded libraries, which takes milliseconds


def n_threads(n_jobs: int | None) -> int:
    """Return how many tiles may run at once; None means as many as BLAS may use when we do not restrict it."""
    if n_jobs is None:
        return single_threaded_blas.allowed or _blas_threads()
    return int(joblib.effective_n_jobs(n_jobs))


def _blas_threads() -> int:
    return max([1, *(pool["num_threads"] for pool in _controller().info() if pool["user_api"] == "blas")])


def _take_control() -> None:
    """Let the current thread set the number of BLAS threads, which threadpoolctl allows only the first thread to do."""
    openblas: Any = getattr(threadpoolctl, "OpenBLASController", None)
    if hasattr(openblas, "clear_controlling_thread"):
        openblas.clear_controlling_thread(force=True)


class _SingleThreadedBlas:
    """Context in which BLAS uses one thread; the first to enter saves the setting, the last to leave restores it."""

    def __init__(self) -> None:
        self._reset()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._limit: Any = None
        self.allowed: int | None = None
        """The number of threads that BLAS used before anyone entered."""

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self.allowed = _blas_threads()
                _take_control()
                self._limit = _controller().limit(limits=1, user_api="blas")
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0 and self._limit is not None:
                    _take_control()
                    self._limit.restore_original_limits()
                    self._limit = self.allowed = None
                    _take_control()


single_threaded_blas = _SingleThreadedBlas()


def run_tiles(work: Callable[[slice], None], n_rows: int, rows: int, n_jobs: int | None) -> None:
    """Call ``work`` on every tile, with BLAS on one thread.

    If tiles fail, the error of the first one is raised and the tiles after it are skipped.
    """
    threads = n_threads(n_jobs)
    with single_threaded_blas():
        _run(work, deque(tiles(n_rows, rows)), threads)


def run_large_tiles(work: Callable[[slice], None], n_rows: int, n_jobs: int | None) -> None:
    """Call ``work`` on a few large tiles, if it does not depend on where rows are cut and uses no BLAS.

    The fewer tiles, the better: between two calls of the compiled core, Python code runs several times slower than
    usual, because the rows have evicted it from the caches.
    """
    threads = n_threads(n_jobs)
    count = 1 if threads == 1 else LARGE_TILES_PER_THREAD * threads
    rows = min(LARGEST_TILE, max(TILE, -(-n_rows // count)))
    _run(work, deque(tiles(n_rows, rows)), threads)


def _run(work: Callable[[slice], None], waiting: deque[slice], threads: int) -> None:
    if min(threads, len(waiting)) > 1:
        _share(work, waiting, min(threads, len(waiting)))
    else:
        for tile in waiting:
            work(tile)


def _share(work: Callable[[slice], None], waiting: deque[slice], threads: int) -> None:
    """Let this thread and others take tiles, in order, until none is left.

    Cores are not always equally fast, so no thread is assigned a share in advance. This thread works too: waiting for
    one tile after another, it would only get in the way of the others.
    """
    failures: dict[int, BaseException] = {}

    def take() -> None:
        while True:
            try:
                tile = waiting.popleft()
            except IndexError:
                return
            try:
                work(tile)
            except BaseException as error:
                waiting.clear()  # the tiles before have been taken and will be finished
                failures[tile.start] = error

    others: list[threading.Thread] = []
    try:
        for _ in range(threads - 1):
            other = threading.Thread(target=take)
            other.start()
            others.append(other)
        take()
    finally:  # even after an interrupt, no thread may continue to write
        waiting.clear()
        for other in others:
            other.join()
    if failures:
        try:
            raise failures[min(failures)]
        finally:
            failures.clear()  # the errors refer to their frames, and these to the errors


def device_tile_rows(scratch: int) -> int:
    """Return the rows per tile on a GPU, given the floats that one row needs while it is mapped."""
    return max(SMALLEST_TILE, min(LARGEST_DEVICE_TILE, DEVICE_BYTES // (8 * max(1, scratch))))


def run_device_tiles(work: Callable[[slice], None], n_rows: int, rows: int) -> None:
    """Call ``work`` on every tile of rows on a GPU, halving the size of tiles if its memory is too small.

    Parameters
    ----------
    work : callable
        A function of a slice of rows.
    n_rows : int
        The number of rows.
    rows : int
        The largest number of rows of a tile.
    """
    start, is_told = 0, False
    while start < n_rows:
        tile = slice(start, min(start + rows, n_rows))
        try:
            work(tile)
        except Exception as error:
            if not is_shortage(error) or rows <= SMALLEST_TILE:
                raise
        else:
            start = tile.stop
            continue
        rows = max(SMALLEST_TILE, rows // 2)  # outside the handler, since its error keeps the memory of its frames
        if not is_told:
            is_told = True
            warn_caller(f"the GPU ran out of memory: continuing with {rows} rows at a time, which takes longer")


def summing_threads(n_jobs: int | None, held: int) -> int:
    """Return how many threads sum results of this size: at least two if available, since the sum itself needs one."""
    return max(1, min(n_threads(n_jobs), max(2, HELD_BYTES // held)))


def sum_in_order(
    work: Callable[[Any], tuple[NDArray[Any], ...]],
    items: Iterable[Any],
    n_jobs: int | None,
    held: int,
    after: Callable[[Any], None] | None = None,
    dtype: DTypeLike | None = None,
    totals: list[NDArray[Any]] | None = None,
) -> tuple[NDArray[Any], ...]:
    """Add up what ``work`` returns for each item, in the items' order, so that threads do not change a bit.

    ``held`` is the size of one result in bytes. As many threads run as can keep one result each within ``HELD_BYTES``,
    but at least two. ``after`` is called on this thread with every item whose result has been added. Sums have the
    given ``dtype`` or that of the first result. ``totals`` is a list of sums that are updated in place, and filled if
    it is empty.
    """
    threads = summing_threads(n_jobs, held)
    totals = [] if totals is None else totals

    def add(item: Any, parts: tuple[NDArray[Any], ...]) -> None:
        for total, part in zip(totals, parts, strict=bool(totals)):
            total += part
        if not totals:
            totals.extend(part.astype(dtype or part.dtype, copy=False) for part in parts)
        if after is not None:
            after(item)

    with single_threaded_blas():
        if threads == 1:
            for item in items:
                add(item, work(item))
            return tuple(totals)
        with ThreadPoolExecutor(threads) as pool:
            running: deque[Any] = deque()
            try:
                for item in items:
                    running.append((item, pool.submit(work, item)))
                    if len(running) == threads:
                        first, result = running.popleft()
                        add(first, result.result())
                for first, result in running:
                    add(first, result.result())
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise
    return tuple(totals)
