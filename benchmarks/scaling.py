"""The gain from several threads on many rows, and where time is lost: ``python benchmarks/speed.py --scaling``."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from contestants import FOURIER, POLYNOMIAL, sample_rows
from machine import seconds_of
from threadpoolctl import threadpool_limits

import mercer
from mercer._tiles import TILE, run_tiles
from mercer.kernels import AdditiveChi2, Gaussian, Polynomial

ROWS, COLUMNS, WIDTH, DEGREE = 50_000, 784, 4096, 3

HEADER = f"""\
n = {ROWS}, d = {COLUMNS} dense, D = {WIDTH}, p = {DEGREE}, float32; seconds are medians, one and more threads in turn.
gain: time on one thread over that on more. used: the same with an output that was written before, so that no page is
new. fresh: seconds that new pages add, on one thread and on more. alone: seconds of what one thread does for all, the
check of the form of X. The first line is what memory itself gains: all tiles are filled with ones."""


class Ones:
    """A map without mathematics."""

    n_components_, n_jobs = WIDTH, 1

    def fit(self, X: Any) -> Ones:
        return self

    def set_params(self, n_jobs: int) -> None:
        self.n_jobs = n_jobs

    def transform(self, X: Any, out: Any = None) -> Any:
        Z = np.empty((X.shape[0], WIDTH), dtype=X.dtype) if out is None else out
        run_tiles(lambda tile: Z[tile].fill(1), X.shape[0], TILE, self.n_jobs)
        return Z

    def validated(self, X: Any, reset: bool = False, finite: bool = True) -> Any: ...


def makers() -> dict[str, Callable[[], Any]]:
    kernels: list[tuple[dict[str, Any], Any]] = [(FOURIER, Gaussian(1.0)), (POLYNOMIAL, Polynomial(DEGREE))]
    maps: dict[str, Callable[[], Any]] = {
        name: partial(make, kernel, n_components=WIDTH, random_state=0)
        for family, kernel in kernels
        for name, make in family.items()
    }
    maps = {"(ones)": Ones, **maps}
    maps["AdditiveMap"] = partial(mercer.AdditiveMap, AdditiveChi2(), n_components=5 * COLUMNS)
    maps["Nystrom"] = partial(mercer.Nystrom, Gaussian(1.0), n_components=WIDTH, random_state=0)
    return maps


def scaling(wanted: list[str], threads: list[int], repeats: int) -> None:
    """Print the table."""
    X, most = sample_rows(ROWS, COLUMNS, np.float32), threads[-1]
    print(HEADER)
    print(f"\n{'map':26}{'1':>7}{most:>8}{'gain':>8}{'used':>8}{'fresh':>16}{'alone':>8}", flush=True)
    for name, make in makers().items():
        if not any(part in name for part in ("(ones)", *wanted)):
            continue
        whole, used, alone = measured(make().fit(X[:WIDTH]), X, (1, most), repeats)
        gains = f"{whole[1] / whole[most]:8.2f}{used[1] / used[most]:8.2f}"
        rest = f"{whole[1] - used[1]:8.3f}{whole[most] - used[most]:8.3f}{alone[1]:8.3f}"
        print(f"{name:26}{whole[1]:7.2f}{whole[most]:8.2f}{gains}{rest}", flush=True)


def measured(sketch: Any, X: Any, counts: tuple[int, ...], repeats: int) -> tuple[dict[int, float], ...]:
    """Seconds by number of threads of transform, of transform into used memory, and of the check of X's form."""
    out = np.ones((X.shape[0], sketch.n_components_), dtype=X.dtype)
    works = (
        lambda: sketch.transform(X),
        lambda: sketch.transform(X, out=out),
        lambda: sketch.validated(X, finite=False),
    )
    times: list[dict[int, list[float]]] = [{count: [] for count in counts} for _ in works]
    for _ in range(repeats):
        for count in counts:
            sketch.set_params(n_jobs=count)
            with threadpool_limits(count):
                sketch.transform(X)  # its memory is then at hand: see speed.py
                for work, found in zip(works, times, strict=True):
                    found[count].append(seconds_of(work))
    return tuple({count: statistics.median(found[count]) for count in counts} for found in times)
