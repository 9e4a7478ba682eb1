"""Test error against the whole time of training, on MNIST and Covertype, for every kind of machine.

A point of a map is a width, a point of the exact machine (scikit-learn's `SVC`) a number of rows, up to all of them or
to 10 minutes. Gaussian kernel, MNIST with entries from 0 to 1 (60,000 rows, gamma 0.02), Covertype standardised, class
2 against the rest (100,000 rows, gamma 0.1, the best of four on 6,000 training rows). scikit-learn's maps and the
papers' are followed by LIBLINEAR, the papers' with (1 + <x, y>)^2 on rows of length 1 (80,000 of Covertype); Mercer is
`KernelClassifier` with the map that it chooses, and with `Nystrom`. C = 10 for the exact machine, where it is best, and
1 for all maps, as LIBLINEAR is slower with more. The exact machine on a part of the rows is the best here for a given
time, with `Nystrom` level on MNIST: maps gain by more rows, and in prediction, which is not shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np
from cells import Cell, Found, Numbers, column, markdown, median
from datasets import Split, digits, real_set, standardised
from experiment import SEEDS, Experiment, main
from machines import fitted, liblinear, mapped
from pham import KERNELS, LIMITS, MAPS
from pham import rows as unit_rows_of
from pictures import STYLES, legend, logarithmic, panels
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.svm import SVC

import mercer
from mercer.kernels import Gaussian

GAMMAS = {"mnist": 0.02, "covertype": 0.1}
TITLES = {"mnist": "MNIST, 60,000 rows", "covertype": "Covertype, 100,000 rows"}
PAPERS = ("TensorSketch", "RandomMaclaurin")
PEERS = {"RBFSampler": (RBFSampler, "RandomFourier"), "Nystroem": (Nystroem, "Nystrom")}
WIDTHS = {"Mercer": (256, 1024, 2048, 4096), "Mercer, Nystrom": (256, 1024, 2048)} | {
    name: (256, 512, 1024) for name in (*PEERS, *PAPERS)
}
SHARES = (32, 16, 8, 4, 2, 1)
"""The exact machine has one row in so many."""


@cache
def rows(name: str) -> Split:
    return digits() if name == "mnist" else standardised(real_set(name))


def trained(name: str, method: str, D: int, seed: int, _: Found) -> Numbers:
    if method in PAPERS:
        return mapped(MAPS[method](KERNELS["(1 + <x, y>)^2"], D, seed), liblinear(seed=seed), unit_rows_of(name))
    if method in PEERS:
        kind = PEERS[method][0]
        return mapped(kind(gamma=GAMMAS[name], n_components=D, random_state=seed), liblinear(seed=seed), rows(name))
    chosen = "nystrom" if method == "Mercer, Nystrom" else "auto"
    machine = mercer.KernelClassifier(Gaussian(GAMMAS[name]), n_components=D, map=chosen, random_state=seed)
    return fitted(machine, rows(name))


def solved(name: str, share: int, limit: float, seed: int, found: Found) -> Numbers:
    """The exact machine on some rows, unless the growth of its time so far says that it would be too slow."""
    times = [median(found, named(name, "exact", one), "processor") for one in (4 * share, 2 * share)]
    growth = max(2.0, times[1] / times[0]) if not any(map(math.isnan, times)) else 4.0
    forecast = median(found, named(name, "exact", 2 * share), "predicted")
    predicted = growth * (times[1] if math.isnan(forecast) else forecast)
    if predicted > limit:
        return {"predicted": predicted}
    split = rows(name)
    count = len(split.X) // share
    few = split._replace(X=split.X[:count], y=split.y[:count])
    return fitted(SVC(C=10.0, gamma=GAMMAS[name], cache_size=1000), few)


def named(name: str, method: str, size: int) -> str:
    return f"{name}, {method}, " + (f"1 row in {size}" if method == "exact" else f"D = {size}")


def cells(full: bool) -> Iterator[Cell]:
    for name in GAMMAS:
        for method, widths in WIDTHS.items():
            for D in widths if full else widths[:2]:
                yield Cell(named(name, method, D), partial(trained, name, method, D), SEEDS if full else 1)
        for share in SHARES if full else SHARES[:3]:
            yield Cell(named(name, "exact", share), partial(solved, name, share, LIMITS[full]))


def points(found: Found, name: str, method: str) -> list[tuple[int, float, float, int]]:
    """Size, seconds, error in % and runs of what was measured."""
    sizes = SHARES if method == "exact" else WIDTHS[method]
    listed = []
    for size in sizes:
        cell = named(name, method, size)
        scores = column(found, cell, "score")
        if scores:
            listed.append((size, median(found, cell, "processor"), 100.0 - float(np.mean(scores)), len(scores)))
    return listed


def table(found: Found) -> str:
    lines = []
    for name, title in TITLES.items():
        for method in ("exact", *WIDTHS):
            for size, seconds, error, runs in points(found, name, method):
                lines.append((title, named("", method, size)[2:], f"{error:.2f}", f"{seconds:.3g}", runs))
            for size in SHARES if method == "exact" else ():
                forecast = median(found, named(name, method, size), "predicted")
                if not math.isnan(forecast):
                    lines.append((title, named("", method, size)[2:], "not run", f"about {forecast:.3g}", 0))
    return markdown(("set", "machine", "test error %", "training s", "runs"), lines)


def picture(found: Found) -> Any:
    figure, axes = panels(1, 2, height=3.8)
    for one, (name, title) in zip(axes[0], TITLES.items(), strict=True):
        for method in ("exact", *WIDTHS):
            listed = points(found, name, method)
            if listed:
                colour, marker = STYLES[PEERS[method][1] if method in PEERS else method]
                xs, ys = [line[1] for line in listed], [line[2] for line in listed]
                one.plot(xs, ys, color=colour, marker=marker, markersize=5, linewidth=1.4, label=method)
        logarithmic(one, "x")
        logarithmic(one)
        one.set_title(title, fontsize=9)
        one.set_xlabel("training, s of the processor", fontsize=8)
    axes[0, 0].set_ylabel("test error, %", fontsize=8)
    legend(figure, axes)
    return figure


EXPERIMENT = Experiment(
    name="beyond_time",
    title="Beyond: test error against training time",
    about=__doc__ or "",
    cells=cells,
    table=table,
    picture=picture,
)

if __name__ == "__main__":
    main(EXPERIMENT)
