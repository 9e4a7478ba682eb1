"""Peak memory of ``transform`` beyond its output, one process a map: ``python benchmarks/memory.py``."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import mercer
from mercer.kernels import Exponential, Gaussian, Polynomial

ROWS, COLUMNS, WIDTH = 100_000, 100, 1024

MAPS: dict[str, Callable[[], mercer.FeatureMap]] = {
    "TensorSketch, p = 3": lambda: mercer.TensorSketch(Polynomial(3)),
    "HadamardSketch, p = 3": lambda: mercer.HadamardSketch(Polynomial(3)),
    "ComplexSketch srht, p = 3": lambda: mercer.ComplexSketch(Polynomial(3)),
    "ComplexSketch rademacher, p = 3": lambda: mercer.ComplexSketch(Polynomial(3), projection="rademacher"),
    "RandomMaclaurin, exp": lambda: mercer.RandomMaclaurin(Exponential()),
    "RandomMaclaurin H0/1, exp": lambda: mercer.RandomMaclaurin(Exponential(), exact_terms=True),
    "RandomMaclaurin, p = 7": lambda: mercer.RandomMaclaurin(Polynomial(7)),
    "RandomMaclaurin, poly of poly": lambda: mercer.RandomMaclaurin(Polynomial(3, coef0=1.0).of(Polynomial(3))),
    "TaylorSketch, Gaussian": lambda: mercer.TaylorSketch(Gaussian("median")),
    "TaylorSketch, p = 7": lambda: mercer.TaylorSketch(Polynomial(7)),
    "TreeSketch, p = 7": lambda: mercer.TreeSketch(Polynomial(7)),
    "Compressed(TensorSketch), p = 4": lambda: mercer.Compressed(mercer.TensorSketch(Polynomial(4))),
    "Compressed(ComplexSketch), p = 7": lambda: mercer.Compressed(mercer.ComplexSketch(Polynomial(7))),
}


def resident() -> int:
    """Bytes of this process in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def measure(name: str) -> None:
    """Print the peak beyond input and output, and the time."""
    X = np.random.default_rng(0).normal(size=(ROWS, COLUMNS)) / 10.0 + 0.05
    sketch = MAPS[name]().set_params(n_components=WIDTH, random_state=0).fit(X[:2000])
    sketch.transform(X[:2])
    before, start = resident(), time.perf_counter()
    Z = sketch.transform(X)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"{name:34}{(peak - before - Z.nbytes) / 1e6:10.0f} MB{seconds:10.1f} s", flush=True)


def main() -> None:
    if len(sys.argv) > 1:
        measure(sys.argv[1])
        return
    print(f"n = {ROWS}, d = {COLUMNS}, D = {WIDTH}, float64: output {ROWS * WIDTH * 8 / 1e6:.0f} MB")
    for name in MAPS:
        subprocess.run([sys.executable, __file__, name], check=True)


if __name__ == "__main__":
    main()
