"""Test accuracy of linear machines on Nystrom's and on random features at equal c, beside the exact machine.

The lecture says that Nystrom tends to achieve better performance at an equal number of samples. 20,000 training rows
of each set (10,000 of MNIST) for the exact machine too (LIBSVM); all machines with C = 10, those on features are
`KernelClassifier`, whose loss is the squared hinge. The times are of features and training together: Nystrom's
features cost more than random ones, as the lecture says, and its spectral decomposition grows as c cubed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
from bellet import MAPS, SETS, TITLES, kernel_of, named, rows
from cells import Cell, Found, Numbers, column, markdown, median
from datasets import Split
from experiment import SEEDS, Claim, Experiment, main
from machines import exact, fitted
from pham import LIMITS, in_seconds, of_runs
from pictures import curve, legend, level, logarithmic, panels
from sklearn.svm import SVC

import mercer

WIDTHS = (32, 64, 128, 256, 512, 1024)
QUICK = (64, 256)
TABLED = (64, 256, 1024)
ROWS = {name: 10_000 if name == "mnist" else 20_000 for name in SETS}


def part(name: str) -> Split:
    split = rows(name)
    return split._replace(X=split.X[: ROWS[name]], y=split.y[: ROWS[name]])


def trained(name: str, method: str, c: int, seed: int, _: Found) -> Numbers:
    chosen = MAPS[method](kernel_of(name), c, seed)
    return fitted(mercer.KernelClassifier(map=chosen, C=10.0), part(name))


def solved(name: str, limit: float, seed: int, _: Found) -> Numbers:
    gamma = float(kernel_of(name).gamma)
    return exact(lambda: SVC(C=10.0, gamma=gamma, cache_size=1000), part(name), limit)


def cells(full: bool) -> Iterator[Cell]:
    for name in SETS if full else SETS[:1]:
        yield Cell(f"{name}, exact", partial(solved, name, LIMITS[full]))
        for c in WIDTHS if full else QUICK:
            for method in MAPS:
                yield Cell(named(name, method, c), partial(trained, name, method, c), SEEDS if full else 1)


def table(found: Found) -> str:
    lines = []
    for name in SETS:
        best = (of_runs(found, f"{name}, exact", "score"), in_seconds(found, f"{name}, exact"))
        lines.append((TITLES[name], "", ", ".join(best), *[""] * len(MAPS)))
        for c in TABLED:
            entries = [
                f"{of_runs(found, named(name, method, c), 'score')}, {in_seconds(found, named(name, method, c))}"
                for method in MAPS
            ]
            lines.append(("", c, "", *("missing" if "missing" in entry else entry for entry in entries)))
    return markdown(("accuracy % and time", "c", "exact", *MAPS), lines)


def picture(found: Found) -> object:
    figure, axes = panels(2, 2, height=2.7)
    for one, name in zip(axes.ravel(), SETS, strict=True):
        logarithmic(one, "x")
        for method in MAPS:
            curve(one, found, [(c, named(name, method, c)) for c in WIDTHS], "score", method)
        level(one, found, f"{name}, exact", "score")
        one.set_xticks(WIDTHS, [str(c) for c in WIDTHS])
        one.set_title(f"{TITLES[name]}, {ROWS[name]:,} rows", fontsize=9)
        one.set_xlabel("c, features or columns", fontsize=8)
        one.set_ylabel("accuracy, %", fontsize=8)
    legend(figure, axes)
    return figure


def claims(found: Found) -> list[Claim]:
    listed = []
    for name in SETS:
        cells_of = {method: named(name, method, 256) for method in ("Nystrom", "RandomFourier")}
        scores = {method: float(np.mean(column(found, cell, "score") or [np.nan])) for method, cell in cells_of.items()}
        times = {method: median(found, cell, "processor") for method, cell in cells_of.items()}
        is_missing = any(map(math.isnan, scores.values()))
        listed += [
            Claim(
                f"Nystrom has the better accuracy at equal c on {TITLES[name]}",
                None if is_missing else scores["Nystrom"] > scores["RandomFourier"],
                f"{scores['Nystrom']:.2f} % and {scores['RandomFourier']:.2f} % at c = 256",
            ),
            Claim(
                f"random features are cheaper on {TITLES[name]}",
                None if is_missing else times["RandomFourier"] < times["Nystrom"],
                f"{times['RandomFourier']:.3g} s and {times['Nystrom']:.3g} s with training, at c = 256",
            ),
        ]
    return listed


EXPERIMENT = Experiment(
    name="bellet_accuracy",
    title="Bellet 2020: accuracy of Nystrom and of random features at equal c",
    about=__doc__ or "",
    cells=cells,
    table=table,
    picture=picture,
    claims=claims,
)

if __name__ == "__main__":
    main(EXPERIMENT)
