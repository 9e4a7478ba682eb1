"""Time to compute the features of 10,000 rows for (1 + <x, y>)^4: against D on Adult and MNIST, and with d = D.

The paper shows curves without numbers. The synthetic rows are normally distributed here (the paper does not say).
Random Maclaurin is a product with random signs, as in the paper, but computed by Mercer's compiled core, which is far
faster than Matlab. The order of growth is therefore that of the paper, but the factor between the methods is not, and
on Adult Random Maclaurin is faster. The map that Mercer chooses pays for its smaller error (Figure 1): it examines the
rows before it allocates its features and is the slowest up to D = 1,000. With d = D, it is the slowest beyond that as
well, until Random Maclaurin takes as long at D = 4,000. Seconds of one thread in float64, 500 rows at a time, the
median of 3 runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np
from cells import Cell, Found, Numbers, markdown, median, timed
from claims import Case, Claim, beside, counted, met
from experiment import Experiment, main
from machines import BLOCK
from pham import KERNELS, MAPS, rows
from pictures import curve, legend, logarithmic, panels

KERNEL, ROWS = "(1 + <x, y>)^4", 10_000
METHODS = ("TensorSketch", "RandomMaclaurin", "Mercer")
WIDTHS = (250, 500, 1000, 2000, 4000)
LABELS = {"adult": "Adult, d = 123", "mnist": "MNIST, d = 784", "synthetic": "synthetic, d = D"}
REPEATS = 3


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


def against(found: Found, one: str, other: str, names: Iterable[str] = LABELS) -> dict[str, Case]:
    return {
        f"{LABELS[name].split(',')[0]} at D = {D}": beside(
            found, named(name, one, D), named(name, other, D), "processor"
        )
        for name in names
        for D in WIDTHS
    }


def claims(found: Found) -> list[Claim]:
    last = WIDTHS[-1]
    sketch, maclaurin, own = METHODS
    by_columns, growth = {}, {}
    for method in METHODS:
        by_columns[method] = seconds(found, "mnist", method, last) / seconds(found, "adult", method, last)
        twice = seconds(found, "synthetic", method, last) / seconds(found, "synthetic", method, last // 2)
        growth[method] = math.log2(twice)
    across, power = f"times as long at D = {last}", f"from {last // 2} to {last}"
    flat = "TensorSketch is almost independent of d at large D (less than 1.5 times as long on MNIST as on Adult)"
    steep = "Random Maclaurin grows linearly with d (over 3 times as long on MNIST as on Adult, whose d is a sixth)"
    square = "Random Maclaurin is quadratic in d = D (a power above 1.7)"
    near = "TensorSketch is near linear in d = D (a power below 1.5)"
    return [
        *(
            counted(f"TensorSketch is faster: {LABELS[name]}", against(found, maclaurin, sketch, [name]))
            for name in LABELS
        ),
        met(flat, [by_columns[sketch]], most=1.5, unit=across),
        met(steep, [by_columns[maclaurin]], least=3.0, unit=across),
        met(square, [growth[maclaurin]], least=1.7, unit=power),
        met(near, [growth[sketch]], most=1.5, unit=power),
        counted("Mercer takes longer than TensorSketch", against(found, own, sketch), ours=True),
        counted("Mercer takes longer than Random Maclaurin", against(found, own, maclaurin), ours=True),
    ]


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
