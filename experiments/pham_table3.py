"""TensorSketch against Random Maclaurin with H0/1, degrees 0 and 1 taken exactly, for (1 + <x, y>)^4.

D counts the exact features too, as in the paper. H0/1 is `RandomMaclaurin(exact_terms=True)`, Mercer's own choice
`TaylorSketch` takes this further: the width goes to the degrees that need it on the rows at hand.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from cells import Cell, Found, column, markdown
from experiment import Claim, Experiment, main
from pham import RECORD, TITLES, WIDTHS, in_seconds, machines, named, of_runs
from pictures import STYLES, legend, panels

KERNEL = "(1 + <x, y>)^4"
METHODS = ("TensorSketch", "H0/1", "RandomMaclaurin", "Mercer")
PAPER = {
    "adult": ("81.89 ± 0.24, 4.5 s", "84.79 ± 0.09, 5.7 s", "84.04 ± 0.46, 14.8 s"),
    "covertype": ("79.36 ± 0.19, 1.8 min", "78.88 ± 0.12, 2.2 min", "76.76 ± 0.42, 1.6 min"),
    "mnist": ("92.44 ± 0.04, 2.1 min", "89.19 ± 0.74, 7.8 min", "90.07 ± 0.65, 17.2 min"),
}
"""TensorSketch, H0/1, and RandomMaclaurin without it (Table 1)."""


def cells(full: bool) -> Iterator[Cell]:
    for name in WIDTHS if full else ("adult",):
        yield from machines(name, KERNEL, METHODS, [WIDTHS[name]], full)


def table(found: Found) -> str:
    lines = []
    for name, paper in PAPER.items():
        lines.append((f"{TITLES[name]}, D = {WIDTHS[name]}, paper", *paper, ""))
        names = [named(name, KERNEL, method, WIDTHS[name]) for method in METHODS]
        ours = [(of_runs(found, cell, "score"), in_seconds(found, cell)) for cell in names]
        lines.append(("ours", *("missing" if score == "missing" else f"{score}, {time}" for score, time in ours)))
    return markdown(("accuracy % and time", *METHODS), lines)


def picture(found: Found) -> object:
    figure, axes = panels(1, 3, height=2.8)
    for one, name in zip(axes[0], WIDTHS, strict=True):
        for place, method in enumerate(METHODS):
            scores = column(found, named(name, KERNEL, method, WIDTHS[name]), "score")
            if scores:
                colour, marker = STYLES[method]
                one.errorbar(
                    place, np.mean(scores), np.std(scores), color=colour, marker=marker, linestyle="", label=method
                )
        one.set_xticks([])
        one.margins(x=0.2)
        one.set_title(f"{TITLES[name]}, D = {WIDTHS[name]}", fontsize=9)
    axes[0, 0].set_ylabel("accuracy, %", fontsize=8)
    legend(figure, axes)
    return figure


def claims(found: Found) -> list[Claim]:
    listed = []
    for name, is_better in (("adult", True), ("covertype", False), ("mnist", False)):
        means = [
            float(np.mean(column(found, named(name, KERNEL, method, WIDTHS[name]), "score") or [np.nan]))
            for method in ("H0/1", "TensorSketch")
        ]
        word = "above" if is_better else "below"
        holds = None if any(map(math.isnan, means)) else (means[0] > means[1]) is is_better
        text = f"H0/1 is {word} TensorSketch on {TITLES[name]}"
        listed.append(Claim(text, holds, f"{means[0]:.2f} % and {means[1]:.2f} %"))
    return listed


EXPERIMENT = Experiment(
    name="pham_table3",
    title="Pham & Pagh 2013, Table 3: the heuristic H0/1",
    about=__doc__ or "",
    cells=cells,
    table=table,
    picture=picture,
    claims=claims,
    record=RECORD,
)

if __name__ == "__main__":
    main(EXPERIMENT)
