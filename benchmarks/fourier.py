"""Relative Frobenius error of every map of the Gaussian kernel at equal width, on six sets of real rows.

Run with ``MERCER_DATA`` set to the folder of the sets: ``python benchmarks/fourier.py [--narrow 10] [--sets cpu ...]``.
gamma is 1 / (2 median squared distance), times ``--narrow``. Errors are on rows that no map has seen; whatever a map
learns, it learns on training rows.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem, RBFSampler

import mercer
from mercer.kernels import Gaussian

sys.path.append(str(Path(__file__).parents[1] / "experiments"))

from datasets import archive

SETS = ("cod_rna", "cpu", "ijcnn1", "covertype", "adult", "mnist")
AS_THEY_ARE = ("adult", "mnist")
"""Sets whose columns share a scale; the others are standardised."""

INDEPENDENT: dict[str, Callable[..., Any]] = {
    "RandomFourier": mercer.RandomFourier,
    "RandomFourier offset": partial(mercer.RandomFourier, form="offset"),
    "OrthogonalFourier": mercer.OrthogonalFourier,
    "OrthogonalFourier coupled": partial(mercer.OrthogonalFourier, coupled=True),
    "StructuredFourier": mercer.StructuredFourier,
    "QuasiFourier sobol": mercer.QuasiFourier,
    "QuasiFourier halton": partial(mercer.QuasiFourier, sequence="halton"),
    "Fastfood": mercer.Fastfood,
}
LEARNED: dict[str, Callable[..., Any]] = {
    "TaylorSketch": mercer.TaylorSketch,
    "Calibrated(OrthogonalFourier)": lambda kernel, **rest: mercer.Calibrated(mercer.OrthogonalFourier(kernel), **rest),
    "tefm-g of OrthogonalFourier": lambda kernel, **rest: mercer.Compressed(
        mercer.OrthogonalFourier(kernel), method="tefm-g", **rest
    ),
    "tefm-s of OrthogonalFourier": lambda kernel, **rest: mercer.Compressed(
        mercer.OrthogonalFourier(kernel), method="tefm-s", **rest
    ),
    "tefm-s, power 0": lambda kernel, **rest: mercer.Compressed(
        mercer.OrthogonalFourier(kernel), method="tefm-s", power=0, **rest
    ),
    "tefm-g of Calibrated": lambda kernel, **rest: mercer.Compressed(
        mercer.Calibrated(mercer.OrthogonalFourier(kernel)), method="tefm-g", **rest
    ),
    "Nystrom uniform": mercer.Nystrom,
    "Nystrom kmeans": partial(mercer.Nystrom, landmarks="kmeans"),
    "Nystrom leverage": partial(mercer.Nystrom, landmarks="leverage"),
    "Nystrom rpcholesky": partial(mercer.Nystrom, landmarks="rpcholesky"),
}


def load(name: str, train_rows: int, test_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Training and test rows of a set, shuffled with a fixed seed."""
    X = archive(name)["X"]
    order = np.random.default_rng(0).permutation(len(X))[: train_rows + test_rows]
    X = X[order].astype(np.float64)
    test, train = X[:test_rows], X[test_rows:]
    if name not in AS_THEY_ARE:
        mean, deviation = train.mean(axis=0), train.std(axis=0)
        deviation[deviation == 0.0] = 1.0
        test, train = (test - mean) / deviation, (train - mean) / deviation
    return train, test


def peer_error(peer: Any, train: np.ndarray, test: np.ndarray, K: np.ndarray) -> float:
    """The error of one of scikit-learn's maps."""
    Z = peer.fit(train).transform(test)
    return float(np.linalg.norm(Z @ Z.T - K) / np.linalg.norm(K))


def errors_of(name: str, kernel: Gaussian, rows: tuple[np.ndarray, np.ndarray], width: int, seeds: int) -> list[float]:
    """One relative error a seed."""
    train, test = rows
    peers: dict[str, Callable[..., Any]] = {"sklearn RBFSampler": RBFSampler, "sklearn Nystroem": Nystroem}
    if name in peers:
        make, K = partial(peers[name], gamma=kernel.gamma, n_components=width), kernel(test)
        return [peer_error(make(random_state=seed), train, test, K) for seed in range(seeds)]
    make = (INDEPENDENT | LEARNED)[name]
    fitted = (make(kernel, n_components=width, random_state=seed).fit(train) for seed in range(seeds))
    return [mercer.kernel_error(sketch, test).relative for sketch in fitted]


def show(errors: dict[str, dict[str, float]], sets: list[str]) -> None:
    """A Markdown table of errors and of their ratio to RBFSampler, and the best map that learns nothing, set by set."""
    first = next(iter(errors.values()))
    print("\n|map|" + "|".join(sets) + "|mean ratio|\n|---|" + "---|" * (len(sets) + 1))
    for name, row in errors.items():
        ratio = np.exp(np.mean([np.log(row[one] / first[one]) for one in sets]))
        print(f"|{name}|" + "|".join(f"{row[one]:.3g}" for one in sets) + f"|{ratio:.3f}|")
    best = {one: min(set(INDEPENDENT) & set(errors), key=lambda name: errors[name][one]) for one in sets}
    ratios = [errors[best[one]][one] / first[one] for one in sets]
    cells = "|".join(f"{best[one]} {ratio:.2f}" for one, ratio in zip(sets, ratios, strict=True))
    print(f"|best that learns nothing, ratio|{cells}|{np.exp(np.mean(np.log(ratios))):.3f}|", flush=True)


def main() -> None:
    names = ["sklearn RBFSampler", "sklearn Nystroem", *INDEPENDENT, *LEARNED]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--narrow", type=float, default=1.0, help="how many times gamma is larger than by the median")
    parser.add_argument("--rows", type=int, default=1000, help="held-out rows")
    parser.add_argument("--train", type=int, default=10_000, help="rows to learn from, at most")
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--maps", nargs="+", default=names, help="parts of the names of maps")
    arguments = parser.parse_args()
    wanted = [name for name in names if name == names[0] or any(part in name for part in arguments.maps)]
    errors: dict[str, dict[str, float]] = {name: {} for name in wanted}
    for one in arguments.sets:
        rows = load(one, arguments.train, arguments.rows)
        kernel = Gaussian(arguments.narrow * float(Gaussian("median").resolve(rows[0], 0).gamma))
        for name in wanted:
            start = time.perf_counter()
            found = errors_of(name, kernel, rows, arguments.width, arguments.seeds)
            errors[name][one] = float(np.mean(found))
            seconds = (time.perf_counter() - start) / arguments.seeds
            deviation = np.std(found, ddof=1) if len(found) > 1 else np.nan
            print(f"{one:10} {name:32} {np.mean(found):.3g} +- {deviation:.1g}  {seconds:6.1f} s a seed", flush=True)
    print(f"\nGaussian, gamma {arguments.narrow:g} x 1 / (2 median squared distance), D = {arguments.width}, ", end="")
    print(f"{arguments.rows} held-out rows, {arguments.seeds} seeds")
    show(errors, arguments.sets)


if __name__ == "__main__":
    main()
