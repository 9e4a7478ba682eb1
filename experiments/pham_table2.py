"""How many times faster TensorSketch is than Random Maclaurin and than exact machines, for (1 + <x, y>)^4.

Made of the cells of Table 1: the time of the features, of training, and of both. The paper's exact machines took 2
hours on Adult and 1.5 on Covertype, ours take minutes at most with C = 1 and rows of length 1, so that there is less to
gain. Gisette is missing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from cells import Cell, Found, markdown, median
from experiment import Claim, Experiment, main
from pham import RECORD, TITLES, WIDTHS, machines, named, seconds
from pictures import STYLES, legend, logarithmic, panels

KERNEL = "(1 + <x, y>)^4"
METHODS = ("TensorSketch", "RandomMaclaurin", "Mercer")
PAPER = {
    "adult": ("-", "8", "1600"),
    "covertype": ("-", "-", "50"),
    "mnist": ("2", "9", "2"),
    "gisette": ("9", "25", "8"),
}
"""Times faster than Random Maclaurin in features and in training, and than the exact machine."""


def cells(full: bool) -> Iterator[Cell]:
    for name in WIDTHS if full else ("adult",):
        yield from machines(name, KERNEL, METHODS, [WIDTHS[name]], full)


def cell(name: str, method: str) -> str:
    return named(name, KERNEL, method, 0 if method == "exact" else WIDTHS.get(name, 0))


def ratio(found: Found, name: str, method: str, quantity: str) -> float:
    return median(found, cell(name, method), quantity) / median(found, cell(name, "TensorSketch"), quantity)


def against_exact(found: Found, name: str, method: str) -> float:
    return seconds(found, cell(name, "exact")) / seconds(found, cell(name, method))


def shown(times: float) -> str:
    return "missing" if math.isnan(times) else f"{times:.3g}"


def table(found: Found) -> str:
    head = ("times faster", "features, than RandomMaclaurin", "training", "both, than exact", "Mercer, than exact")
    lines = []
    for name, paper in PAPER.items():
        lines.append((f"{TITLES[name]}, paper", *paper, ""))
        ours = [ratio(found, name, "RandomMaclaurin", quantity) for quantity in ("mapping", "training")]
        ours += [against_exact(found, name, method) for method in ("TensorSketch", "Mercer")]
        lines.append(("ours", *map(shown, ours)))
    return markdown(head, lines)


def picture(found: Found) -> object:
    figure, axes = panels(1, 1, height=3.0)
    for place, method in enumerate(("exact", *METHODS)):
        values = [seconds(found, cell(name, method)) for name in WIDTHS]
        at = [index + 0.2 * (place - 1.5) for index in range(len(WIDTHS))]
        axes[0, 0].bar(at, values, 0.18, color=STYLES[method][0], label=method)
    logarithmic(axes[0, 0])
    axes[0, 0].set_xticks(range(len(WIDTHS)), [f"{TITLES[name]}, D = {D}" for name, D in WIDTHS.items()])
    axes[0, 0].set_ylabel("training, s of the processor", fontsize=8)
    legend(figure, axes)
    return figure


def claims(found: Found) -> list[Claim]:
    listed = []
    for name, least in (("covertype", 50.0), ("adult", 1600.0)):
        times = against_exact(found, name, "TensorSketch")
        text = f"TensorSketch is {least:g} times faster than the exact machine on {TITLES[name]}, `{KERNEL}`"
        listed.append(Claim(text, None if math.isnan(times) else times >= least, f"{times:.2g} times"))
    return listed


EXPERIMENT = Experiment(
    name="pham_table2",
    title="Pham & Pagh 2013, Table 2: speed-ups",
    about=__doc__ or "",
    cells=cells,
    table=table,
    picture=picture,
    claims=claims,
    record=RECORD,
)

if __name__ == "__main__":
    main(EXPERIMENT)
