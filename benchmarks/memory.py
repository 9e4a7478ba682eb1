"""Time and peak memory of ``fit`` and ``transform`` beyond the output, with one process per map.

``python benchmarks/memory.py [part of a name ...]``. The peak is read from /proc, so this runs on Linux alone.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from mercer.kernels import AdditiveChi2, Exponential, Gaussian, Polynomial

ROWS, COLUMNS, WIDTH = 200_000, 100, 512

GAUSSIAN = Gaussian(0.5)

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
    "RandomFourier": lambda: mercer.RandomFourier(GAUSSIAN),
    "RandomFourier offset": lambda: mercer.RandomFourier(GAUSSIAN, form="offset"),
    "OrthogonalFourier": lambda: mercer.OrthogonalFourier(GAUSSIAN),
    "StructuredFourier": lambda: mercer.StructuredFourier(GAUSSIAN),
    "QuasiFourier": lambda: mercer.QuasiFourier(GAUSSIAN),
    "Fastfood": lambda: mercer.Fastfood(GAUSSIAN),
    "AdditiveMap, chi2": lambda: mercer.AdditiveMap(AdditiveChi2()),
    **{
        f"Nystrom {landmarks}": partial(mercer.Nystrom, GAUSSIAN, landmarks=landmarks)
        for landmarks in ("uniform", "kmeans", "leverage", "rpcholesky")
    },
    "Calibrated(OrthogonalFourier)": lambda: mercer.Calibrated(mercer.OrthogonalFourier(GAUSSIAN)),
    "Compressed craft of TensorSketch": lambda: mercer.Compressed(mercer.TensorSketch(Polynomial(4))),
    "Compressed craft of ComplexSketch": lambda: mercer.Compressed(mercer.ComplexSketch(Polynomial(7))),
    "Compressed tefm-g": lambda: mercer.Compressed(mercer.OrthogonalFourier(GAUSSIAN), method="tefm-g"),
    "Compressed tefm-s": lambda: mercer.Compressed(mercer.OrthogonalFourier(GAUSSIAN), method="tefm-s"),
    "Compressed tefm-s, power 0": lambda: mercer.Compressed(
        mercer.OrthogonalFourier(GAUSSIAN), method="tefm-s", power=0
    ),
    "Stack": lambda: mercer.Stack(mercer.RandomFourier(GAUSSIAN), mercer.TensorSketch(Polynomial(2))),
    "TensorProduct": lambda: mercer.TensorProduct(mercer.RandomFourier(GAUSSIAN), mercer.TensorSketch(Polynomial(2))),
    "Composed": lambda: mercer.Composed(mercer.RandomFourier(GAUSSIAN), mercer.AdditiveMap(AdditiveChi2())),
}


def status(field: str) -> int:
    """Bytes that the system reports of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field + ":"))


def watched(work: Callable[[], Any]) -> tuple[Any, float, int]:
    """A result, the seconds that it took, and the peak of memory beyond what was held before."""
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before, start = status("VmRSS"), time.perf_counter()
    result = work()
    return result, time.perf_counter() - start, status("VmHWM") - before


def measure(name: str) -> None:
    """Print the line of one map."""
    X = np.abs(np.random.default_rng(0).normal(size=(ROWS, COLUMNS)) / 10.0)
    sketch = MAPS[name]().set_params(n_components=WIDTH, random_state=0)
    sketch.fit(X[:1000]).transform(X[:2])  # loads everything that is loaded on first use
    _, fitting, fit_peak = watched(lambda: sketch.fit(X))
    Z, mapping, peak = watched(lambda: sketch.transform(X))
    peaks = [f"{size / 1e6:7.0f} MB" for size in (fit_peak, peak - Z.nbytes)]
    print(f"{name:34}{fitting:8.1f} s{peaks[0]}{mapping:10.1f} s{peaks[1]}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=[""], help="parts of the names of maps")
    parser.add_argument("--one", choices=MAPS, help="measure this map in this process")
    arguments = parser.parse_args()
    if arguments.one:
        measure(arguments.one)
        return
    print(f"n = {ROWS}, d = {COLUMNS}, D = {WIDTH}, float64: output {ROWS * WIDTH * 8 / 1e6:.0f} MB")
    print(f"{'':34}{'fit':>10}{'peak':>10}{'transform':>12}{'peak':>10}", flush=True)
    for name in MAPS:
        if any(part in name for part in arguments.parts):
            subprocess.run([sys.executable, __file__, "--one", name], check=True)


if __name__ == "__main__":
    main()
