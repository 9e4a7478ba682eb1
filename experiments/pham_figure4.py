"""Training time against D for (1 + <x, y>)^2: features and LIBLINEAR together, in seconds of the processor.

Made of the cells of Figure 3. The paper prints curves without figures; Random Maclaurin there needs more time than
TensorSketch on MNIST and Gisette (missing here), and slightly less on Covertype and Adult. Its features are built by
products with D x d signs in the paper; ours are not, and cost little beside the training.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from cells import Cell, Found, markdown, median
from experiment import Claim, Experiment, main
from pham import RECORD, TITLES, in_seconds, machines, named
from pham_figure3 import METHODS, WIDTHS
from pictures import curve, legend, level, logarithmic, panels

KERNEL = "(1 + <x, y>)^2"


def cells(full: bool) -> Iterator[Cell]:
    for name, widths in WIDTHS.items() if full else [("adult", WIDTHS["adult"])]:
        yield from machines(name, KERNEL, METHODS, widths, full)


def table(found: Found) -> str:
    lines = []
    for name, widths in WIDTHS.items():
        lines.append((TITLES[name], "", in_seconds(found, named(name, KERNEL, "exact")), "", "", ""))
        for D in widths:
            lines.append(("", D, "", *(in_seconds(found, named(name, KERNEL, method, D)) for method in METHODS)))
    return markdown(("training", "D", "exact", *METHODS), lines)


def picture(found: Found) -> object:
    figure, axes = panels(1, 3)
    for one, (name, widths) in zip(axes[0], WIDTHS.items(), strict=True):
        logarithmic(one)
        for method in METHODS:
            curve(one, found, [(D, named(name, KERNEL, method, D)) for D in widths], "processor", method)
        level(one, found, named(name, KERNEL, "exact"), "processor")
        one.set_title(f"{TITLES[name]}, {KERNEL}", fontsize=9)
        one.set_xlabel("D, features", fontsize=8)
    axes[0, 0].set_ylabel("training, s", fontsize=8)
    legend(figure, axes)
    return figure


def claims(found: Found) -> list[Claim]:
    listed = []
    for name, is_slower in (("mnist", True), ("covertype", False), ("adult", False)):
        both = [
            median(found, named(name, KERNEL, method, WIDTHS[name][-1]), "processor")
            for method in ("RandomMaclaurin", "TensorSketch")
        ]
        holds = None if any(map(math.isnan, both)) else (both[0] > both[1]) is is_slower
        text = f"Random Maclaurin trains {'slower' if is_slower else 'faster'} than TensorSketch on {TITLES[name]}"
        listed.append(Claim(text, holds, f"{both[0]:.3g} s and {both[1]:.3g} s at D = {WIDTHS[name][-1]}"))
    return listed


EXPERIMENT = Experiment(
    name="pham_figure4",
    title="Pham & Pagh 2013, Figure 4: training time against D",
    about=__doc__ or "",
    cells=cells,
    table=table,
    picture=picture,
    claims=claims,
    record=RECORD,
)

if __name__ == "__main__":
    main(EXPERIMENT)
