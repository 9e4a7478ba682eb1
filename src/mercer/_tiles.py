"""The only file that cuts rows into tiles and runs them on threads.

Tiles have a fixed number of rows counted from row 0 and BLAS runs on one thread inside each, so a result does not
depend on the number of threads, nor on any chunking whose cuts are multiples of the tile.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import joblib
from threadpoolctl import ThreadpoolController

TILE = 256
SMALLEST_TILE = 16
TILE_BYTES = 32 * 2**20


def tile_rows(scratch: int) -> int:
    """Rows a tile: 256, fewer (always a power of two) where one row needs so many floats that a tile would be large."""
    rows = TILE
    while rows > SMALLEST_TILE and rows * scratch * 8 > TILE_BYTES:
        rows //= 2
    return rows


def tiles(n_rows: int, rows: int) -> Iterator[slice]:
    """Consecutive slices of ``rows`` rows, the last one shorter."""
    for start in range(0, n_rows, rows):
        yield slice(start, min(start + rows, n_rows))


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # a scan of the loaded libraries: milliseconds, hence once


def n_threads(n_jobs: int | None) -> int:
    """How many tiles may run at once; ``None`` means as many threads as BLAS is allowed now."""
    if n_jobs is None:
        pools = [pool["num_threads"] for pool in _controller().info() if pool["user_api"] == "blas"]
        return max([1, *pools])
    return int(joblib.effective_n_jobs(n_jobs))


class _SingleThreadedBlas:
    """BLAS on one thread while anyone is inside: the first in saves the setting, the last out restores it."""

    def __init__(self) -> None:
        self._reset()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._limit: Any = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._limit = _controller().limit(limits=1, user_api="blas")
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0 and self._limit is not None:
                    self._limit.restore_original_limits()
                    self._limit = None


single_threaded_blas = _SingleThreadedBlas()


def run_tiles(work: Callable[[slice], None], n_rows: int, rows: int, n_jobs: int | None) -> None:
    """Call ``work`` on every tile; the first error stops the rest and is raised."""
    slices = list(tiles(n_rows, rows))
    threads = min(n_threads(n_jobs), len(slices))
    with single_threaded_blas():
        if threads <= 1:
            for tile in slices:
                work(tile)
            return
        with ThreadPoolExecutor(threads) as pool:
            futures = [pool.submit(work, tile) for tile in slices]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise
