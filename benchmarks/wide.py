"""Ridge regression on the classes of MNIST with so many features that their second moments do not fit in memory.

Run with ``MERCER_DATA`` set to the folder that holds ``mnist.npz``: ``python benchmarks/wide.py 65536 524288``, with
``--progress`` to see the objective after every pass.
Targets are 1 for a row's class and -1 for the others. Every width has a process of its own, whose peak memory counts
the data too; processor time is that of ``fit`` alone, of all threads together.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from mercer import StructuredFourier
from mercer._memory import peak_memory
from mercer.kernels import Gaussian
from mercer.learn import KernelRegressor, Progress

sys.path.append(str(Path(__file__).parents[1] / "experiments"))

from datasets import archive

GAMMA = 0.02


def tell(progress: Progress) -> None:
    """Print what is known at the end of a pass."""
    if progress.rows == progress.n_rows:
        found = "" if progress.objective is None else f"objective {progress.objective:.6g}, "
        left = f"{progress.seconds:.0f} s done, {progress.total_seconds_left:.0f} s left"
        print(f"pass {progress.number}, {progress.what}: {found}{left}", file=sys.stderr, flush=True)


def measure(width: int, asked: argparse.Namespace) -> tuple[Any, ...]:
    """Return accuracy, the solver's report, processor time, time and peak memory."""
    file = archive("mnist")
    train, X, y = int(file["n_train"]), file["X"].astype(np.float32), np.asarray(file["y"])
    X /= 255.0
    rows = min(asked.rows or train, train)
    codes = np.where(y[:rows, None] == np.unique(y), 1.0, -1.0)
    map = StructuredFourier(Gaussian(GAMMA), n_components=width, random_state=0)
    model = KernelRegressor(
        map=map,
        alpha=asked.alpha,
        solver="wide",
        tol=asked.tol,
        memory=asked.memory,
        n_jobs=asked.n_jobs,
        kernel=None,
        preparation=None,
        callback=tell if asked.progress else None,
    )
    before, began = time.process_time(), time.perf_counter()
    model.fit(X[:rows], codes)
    processor, seconds = time.process_time() - before, time.perf_counter() - began
    accuracy = float(np.mean(model.predict(X[train:]).argmax(axis=1) == y[train:]))
    return accuracy, model.convergence_, processor, seconds, peak_memory()


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("widths", nargs="+", type=int)
    parser.add_argument("--rows", type=int, help="of the training rows; all unless given")
    parser.add_argument("--alpha", type=float, default=0.1)
    parser.add_argument("--tol", type=float, default=1e-2)
    parser.add_argument("--memory", default="1GB", help="what features may take")
    parser.add_argument("--n-jobs", type=int)
    parser.add_argument("--progress", action="store_true", help="print a line after every pass")
    asked = parser.parse_args()
    print(f"{'D':>8} {'accuracy':>9} {'passes':>6} {'gap':>8} {'CPU s':>8} {'s':>7} {'peak GiB':>8}")
    for width in asked.widths:
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            accuracy, report, processor, seconds, peak = pool.submit(measure, width, asked).result()
        figures = f"{report.passes:>6} {report.gap:>8.1e} {processor:>8.0f} {seconds:>7.0f}"
        print(f"{width:>8} {100 * accuracy:>8.2f}% {figures} {(peak or 0) / 2**30:>8.2f}", flush=True)


if __name__ == "__main__":
    main()
