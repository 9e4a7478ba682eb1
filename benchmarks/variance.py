"""The ratio of the measured to the exact variance of the kernel estimate: ``python benchmarks/variance.py``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from accuracy import HOMOGENEOUS

from mercer._random import Stream
from mercer.data import as_rows
from mercer.kernels import Polynomial

WIDTH = 64

MAPS = ("TensorSketch", "HadamardSketch", "ComplexSketch srht", "ComplexSketch rademacher", "RandomMaclaurin")


def ratio(make: Callable[..., Any], degree: int, X: np.ndarray, seeds: int) -> tuple[float, float]:
    """Return the ratio of measured to exact variance, as a mean over all pairs of rows, and its standard error."""
    sketch = make(Polynomial(degree), n_components=WIDTH, random_state=0).fit(X)
    rows, exact, construction = as_rows(X, 0), sketch.kernel_(X), sketch.construction_
    squares = np.empty(seeds)
    for seed in range(seeds):
        Z = construction.draw(Stream(seed, "variance"), rows).apply(X)
        squares[seed] = np.mean((Z @ Z.T - exact) ** 2)
    formula = sketch.variance(X).mean()
    return float(squares.mean() / formula), float(squares.std() / np.sqrt(seeds) / formula)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20_000)
    seeds = parser.parse_args().seeds
    X = np.random.default_rng(0).normal(size=(8, 6)) + 0.5
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    print(f"measured / formula (standard error), D = {WIDTH}, {seeds} seeds")
    for name in MAPS:
        cells = (ratio(HOMOGENEOUS[name], degree, X, seeds) for degree in (2, 3, 4))
        print(f"{name:26}" + "".join(f"{value:10.4f} ({error:.4f})" for value, error in cells), flush=True)


if __name__ == "__main__":
    main()
