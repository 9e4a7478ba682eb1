"""Relative Frobenius error of every map on MNIST at equal width, mean and deviation over seeds.

Run with ``MERCER_DATA`` set to the folder that holds ``mnist.npz``: ``python benchmarks/accuracy.py [--seeds 10]``.
Errors are on test rows of unit norm; whatever a map learns, it learns on training rows.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.kernel_approximation import RBFSampler

import mercer
from mercer.kernels import Exponential, Gaussian, Kernel, Polynomial

sys.path.append(str(Path(__file__).parents[1] / "experiments"))

from datasets import archive

WIDTH = 2048
DEGREES = (2, 3, 4, 7)

HOMOGENEOUS: dict[str, Callable[..., Any]] = {
    "TensorSketch": mercer.TensorSketch,
    "HadamardSketch": mercer.HadamardSketch,
    "ComplexSketch srht": mercer.ComplexSketch,
    "ComplexSketch rademacher": lambda kernel, **rest: mercer.ComplexSketch(kernel, projection="rademacher", **rest),
    "RandomMaclaurin": mercer.RandomMaclaurin,
    "TaylorSketch": mercer.TaylorSketch,
    "TreeSketch": mercer.TreeSketch,
    "Compressed(TensorSketch)": lambda kernel, **rest: mercer.Compressed(mercer.TensorSketch(kernel), **rest),
    "Compressed(ComplexSketch)": lambda kernel, **rest: mercer.Compressed(mercer.ComplexSketch(kernel), **rest),
}


def load(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Training and test rows of unit norm."""
    file = archive("mnist")
    X = np.ascontiguousarray(file["X"], dtype=np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    first = int(file["n_train"])
    return X[:first:6], X[first : first + rows]


def relative_error(Z: np.ndarray, K: np.ndarray) -> float:
    return float(np.linalg.norm(Z @ Z.T - K) / np.linalg.norm(K))


def measure(make: Callable[..., Any], kernel: Kernel, train: np.ndarray, test: np.ndarray, seeds: int) -> np.ndarray:
    """Return one relative error per seed."""
    K, errors = None, []
    for seed in range(seeds):
        sketch = make(kernel, n_components=WIDTH, random_state=seed).fit(train)
        if K is None:
            K = sketch.kernel_(test).astype(np.float32)
        errors.append(relative_error(sketch.transform(test), K))
    return np.array(errors)


def show(title: str, rows: dict[str, list[np.ndarray]], heads: list[str]) -> None:
    """A table of means and deviations, then of ratios to the first row."""
    print(f"\n{title}\n{'':26}" + "".join(f"{head:>18}" for head in heads), flush=True)
    first = next(iter(rows.values()))
    for name, columns in rows.items():
        cells = [f"{errors.mean():.4f} +- {errors.std(ddof=1):.4f}" for errors in columns]
        print(f"{name:26}" + "".join(f"{cell:>18}" for cell in cells))
    print("ratio to the first row")
    for name, columns in rows.items():
        ratios = [errors.mean() / base.mean() for errors, base in zip(columns, first, strict=True)]
        print(f"{name:26}" + "".join(f"{ratio:18.3f}" for ratio in ratios), flush=True)


def homogeneous(train: np.ndarray, test: np.ndarray, seeds: int) -> None:
    """Compare every map on the kernel <x, y>^p."""
    rows = {
        name: [measure(make, Polynomial(degree), train, test, seeds) for degree in DEGREES]
        for name, make in HOMOGENEOUS.items()
    }
    show(f"homogeneous polynomials, D = {WIDTH}, {seeds} seeds", rows, [f"p = {degree}" for degree in DEGREES])


def formulas(train: np.ndarray, test: np.ndarray) -> None:
    """Root mean variance over all pairs of test rows, by the exact formulas."""
    print(f"\nroot mean variance by formula over ||K||, D = {WIDTH}")
    for degree in DEGREES[:3]:
        root = {}
        for name in ("TensorSketch", "ComplexSketch srht", "HadamardSketch", "RandomMaclaurin"):
            sketch = HOMOGENEOUS[name](Polynomial(degree), n_components=WIDTH, random_state=0).fit(train[:100])
            root[name] = np.sqrt(sketch.variance(test).sum()) / np.linalg.norm(sketch.kernel_(test))
        cells = ", ".join(f"{name} {value:.4f} ({value / root['TensorSketch']:.3f})" for name, value in root.items())
        print(f"p = {degree}: {cells}", flush=True)


def series(train: np.ndarray, test: np.ndarray, seeds: int) -> None:
    """Compare maps on kernels with several degrees."""
    makers: dict[str, Callable[..., Any]] = {
        "RandomMaclaurin H0/1": lambda kernel, **rest: mercer.RandomMaclaurin(kernel, exact_terms=True, **rest),
        "RandomMaclaurin": mercer.RandomMaclaurin,
        "TaylorSketch": mercer.TaylorSketch,
        "TaylorSketch, no split": lambda kernel, **rest: mercer.TaylorSketch(kernel, split=None, **rest),
    }
    kernels: list[Kernel] = [Exponential(1.0), Polynomial(10, coef0=1.0)]
    rows = {name: [measure(make, kernel, train, test, seeds) for kernel in kernels] for name, make in makers.items()}
    show(f"series, D = {WIDTH}, {seeds} seeds", rows, ["exp(t)", "(1 + t)^10"])


def gaussian(train: np.ndarray, test: np.ndarray, seeds: int) -> None:
    """Compare maps on the Gaussian kernel at the median distance and on one that is ten times narrower."""
    median = Gaussian("median").resolve(train, 0)
    rows: dict[str, list[np.ndarray]] = {"RBFSampler": [], "TaylorSketch": []}
    for factor in (1.0, 10.0):
        kernel = Gaussian(factor * float(median.gamma))
        K = kernel(test)
        errors = []
        for seed in range(seeds):
            sampler = RBFSampler(gamma=kernel.gamma, n_components=WIDTH, random_state=seed).fit(train[:10])
            errors.append(relative_error(sampler.transform(test), K))
        rows["RBFSampler"].append(np.array(errors))
        rows["TaylorSketch"].append(measure(mercer.TaylorSketch, kernel, train, test, seeds))
    show(f"Gaussian, D = {WIDTH}, {seeds} seeds", rows, ["median", "10 x narrower"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rows", type=int, default=2000)
    arguments = parser.parse_args()
    train, test = load(arguments.rows)
    formulas(train, test)
    gaussian(train, test, arguments.seeds)
    series(train, test, arguments.seeds)
    homogeneous(train, test, arguments.seeds)


if __name__ == "__main__":
    main()
