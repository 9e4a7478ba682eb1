"""Time to build the features of 10,000 rows for (1 + <x, y>)^4: against D on Adult and MNIST, and on rows of d = D.

The paper prints curves without figures. The synthetic rows are normal here (the paper does not say). Random Maclaurin
is a product with signs, as in the paper, but by Mercer's compiled core, which is far quicker than one in Matlab: the
order of the costs is the paper's, the factor between the methods is not. Seconds of one thread, in float64, 500 rows
at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np
from cells import Cell, Found, Numbers, markdown, median, timed
from experiment import Claim, Experiment, main
from pham import KERNELS, MAPS, rows
from pictures import curve, legend, logarithmic, panels

KERNEL, ROWS = "(1 + <x, y>)^4", 10_000
METHODS = ("TensorSketch", "RandomMaclaurin", "Mercer")
WIDTHS = (250, 500, 1000, 2000, 4000)
LABELS = {"adult": "Adult, d = 123", "mnist": "MNIST, d = 784", "synthetic": "synthetic, d = D"}
REPEATS = 3
BLOCK = 500
"""Rows at a time: the features of all take 320 MB at D = 4000, and new memory more time than what is written to it."""


def named(name: str, method: str, D: int) -> str:
    return f"{name}, {method}, D = {D}"


@cache
def sample(name: str) -> Any:
    return rows(name).X[:ROWS].astype(np.float64)


def built(name: str, method: str, D: int, seed: int, _: Found) -> Numbers:
    X = np.random.default_rng(0).normal(size=(ROWS, D)) / math.sqrt(D) if name == "synthetic" else sample(name)
    sketch = MAPS[method](KERNELS[KERNEL], D, seed)
    sketch.fit(X[:300]).transform(X[:300])  # what is loaded on first use

    def build() -> None:
        sketch.fit(X)
        for start in range(0, len(X), BLOCK):
            sketch.transform(X[start : start + BLOCK])

    return timed(build)


def cells(full: bool) -> Iterator[Cell]:
    for name in LABELS:
        for D in WIDTHS if full else WIDTHS[:3]:
            for method in METHODS:
                yield Cell(named(name, method, D), partial(built, name, method, D), REPEATS)


def seconds(found: Found, name: str, method: str, D: int) -> float:
    return median(found, named(name, method, D), "processor")


def table(found: Found) -> str:
    lines = []
    for name in LABELS:
        for D in WIDTHS:
            times = [seconds(found, name, method, D) for method in METHODS]
            lines.append((LABELS[name], D, *("missing" if math.isnan(time) else f"{time:.3f}" for time in times)))
    return markdown(("seconds for 10,000 rows", "D", *METHODS), lines)


def picture(found: Found) -> object:
    figure, axes = panels(1, 3, height=3.0, sharey="row")
    for one, name in zip(axes[0], LABELS, strict=True):
        logarithmic(one)
        logarithmic(one, "x")
        for method in METHODS:
            curve(one, found, [(D, named(name, method, D)) for D in WIDTHS], "processor", method)
        one.set_xticks(WIDTHS, [str(D) for D in WIDTHS])
        one.set_title(LABELS[name], fontsize=9)
        one.set_xlabel("D, features", fontsize=8)
    axes[0, 0].set_ylabel("features of 10,000 rows, s", fontsize=8)
    legend(figure, axes)
    return figure


def claims(found: Found) -> list[Claim]:
    last = WIDTHS[-1]
    by_columns = {
        method: seconds(found, "mnist", method, last) / seconds(found, "adult", method, last) for method in METHODS
    }
    growth = {
        method: math.log2(seconds(found, "synthetic", method, last) / seconds(found, "synthetic", method, last // 2))
        for method in METHODS
    }
    sketch, maclaurin = METHODS[:2]
    return [
        _judged(
            "TensorSketch is almost independent of d at large D (less than 1.5 times longer on MNIST than on Adult)",
            by_columns[sketch],
            by_columns[sketch] < 1.5,
            "times longer at D = 4000",
        ),
        _judged(
            "Random Maclaurin grows with d (more than 2 times longer on MNIST than on Adult)",
            by_columns[maclaurin],
            by_columns[maclaurin] > 2.0,
            "times longer at D = 4000",
        ),
        _judged(
            "Random Maclaurin is quadratic in d = D (a power above 1.7)",
            growth[maclaurin],
            growth[maclaurin] > 1.7,
            "from 2000 to 4000",
        ),
        _judged(
            "TensorSketch is near linear in d = D (a power below 1.5)",
            growth[sketch],
            growth[sketch] < 1.5,
            "from 2000 to 4000",
        ),
    ]


def _judged(text: str, value: float, holds: bool, what: str) -> Claim:
    return Claim(text, None if math.isnan(value) else holds, f"{value:.2f} {what}")


EXPERIMENT = Experiment(
    name="pham_figure2",
    title="Pham & Pagh 2013, Figure 2: time to build features",
    about=__doc__ or "",
    cells=cells,
    table=table,
    picture=picture,
    claims=claims,
)

if __name__ == "__main__":
    main(EXPERIMENT)
