"""Accuracy, training time and test time against D, of RF and of H0/1, on four sets, each with one kernel.

RF is Random Maclaurin as the paper draws it: half of its features are constants, a quarter has degree 1. H0/1 takes
these degrees exactly. The paper prints curves without figures. D counts random features: H0/1 has d + 1 more; Mercer,
`KernelClassifier` with the map that it chooses and with `Nystrom`, has D in all. 5 splits, the exact machine 2. Seconds
of the processor on one thread: training includes the features, testing is that of all test rows, at most 20,000. What
was chosen where the paper is silent is that of Table 1.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from cells import Cell, Found, column, markdown, median
from datasets import SETS
from experiment import Claim, Experiment, main
from kar import EXPONENTIAL, POLYNOMIAL, RECORD, TITLES, machines
from pham import named, of_runs
from pictures import curve, legend, level, logarithmic, panels

SHOWN = {"spambase": POLYNOMIAL, "nursery": POLYNOMIAL, "ijcnn1": EXPONENTIAL, "cod_rna": EXPONENTIAL}
WIDTHS = (10, 25, 50, 100, 200, 500)
METHODS = ("RandomMaclaurin", "H0/1", "Mercer", "Mercer, Nystrom")
QUANTITIES = {"score": "accuracy, %", "processor": "training, s", "testing": "testing, s"}


def cells(full: bool) -> Iterator[Cell]:
    widths = [(method, D) for method in METHODS for D in WIDTHS]
    for name in SHOWN if full else ("spambase",):
        yield from machines(name, SHOWN[name], widths, full)


def entry(found: Found, cell: str) -> str:
    """Accuracy, training and testing."""
    if not column(found, cell, "score"):
        return "missing"
    times = (median(found, cell, quantity) for quantity in ("processor", "testing"))
    return f"{of_runs(found, cell, 'score')}, " + ", ".join(f"{time:.2g} s" for time in times)


def table(found: Found) -> str:
    lines = []
    for name, kernel in SHOWN.items():
        best = entry(found, named(name, kernel, "exact"))
        lines.append((f"{TITLES[name]}, d = {SETS[name].shape[1]}, `{kernel}`", "", best, *[""] * len(METHODS)))
        for D in WIDTHS:
            lines.append(("", D, "", *(entry(found, named(name, kernel, method, D)) for method in METHODS)))
    return markdown(("accuracy %, training, testing", "D", "exact", *METHODS), lines)


def picture(found: Found) -> object:
    figure, axes = panels(len(QUANTITIES), len(SHOWN), height=2.2)
    for row, (quantity, label) in zip(axes, QUANTITIES.items(), strict=True):
        for one, (name, kernel) in zip(row, SHOWN.items(), strict=True):
            logarithmic(one, "x", marks=(1.0,))
            if quantity != "score":
                logarithmic(one, marks=(1.0, 3.0))
            for method in METHODS:
                curve(one, found, [(D, named(name, kernel, method, D)) for D in WIDTHS], quantity, method)
            level(one, found, named(name, kernel, "exact"), quantity)
        row[0].set_ylabel(label, fontsize=8)
    for one, (name, kernel) in zip(axes[0], SHOWN.items(), strict=True):
        one.set_title(f"{TITLES[name]},\n{kernel}", fontsize=8)
    for one in axes[-1]:
        one.set_xlabel("D, random features", fontsize=8)
    legend(figure, axes)
    return figure


# -- claims ------------------------------------------------------------------------------------------------------------


def scores(found: Found, name: str, method: str) -> np.ndarray:
    """Mean accuracies by D; NaN where missing."""
    names = [named(name, SHOWN[name], method, D) for D in WIDTHS]
    return np.array([np.mean(column(found, cell, "score") or [np.nan]) for cell in names])


def better(found: Found, name: str) -> Claim:
    gains = scores(found, name, "H0/1") - scores(found, name, "RandomMaclaurin")
    above = [D for D, gain in zip(WIDTHS, gains, strict=True) if gain > 0.0]
    small = WIDTHS.index(50)
    text = f"H0/1 is much more accurate than RF at small D (by over a point at D = 10, 25 and 50) on {TITLES[name]}"
    figure = ", ".join(f"{gain:+.1f} at {D}" for D, gain in zip(WIDTHS, gains, strict=True))
    known = not np.isnan(gains).any()
    last = f"; above RF at D = {', '.join(map(str, above))}" if above else "; nowhere above"
    return Claim(text, bool((gains[: small + 1] > 1.0).all()) if known else None, figure + last)


def slower(found: Found, name: str) -> Claim:
    """Test times: that of features of higher degrees."""
    times = [
        median(found, named(name, SHOWN[name], method, WIDTHS[-1]), "testing") for method in ("H0/1", "RandomMaclaurin")
    ]
    text = f"H0/1 takes longer to test than RF at large D on {TITLES[name]}"
    figure = f"{times[0] / times[1]:.2f} times as long at D = {WIDTHS[-1]}"
    return Claim(text, None if np.isnan(times).any() else times[0] > times[1], figure)


def slowly(found: Found) -> Claim:
    rises = [
        [float(line[-1] - line[0]) for line in (scores(found, name, one) for one in ("H0/1", "RandomMaclaurin"))]
        for name in SHOWN
    ]
    figure = ", ".join(
        f"{TITLES[name]} {own:+.1f} and {other:+.1f} points" for name, (own, other) in zip(SHOWN, rises, strict=True)
    )
    text = f"the accuracy of H0/1 moves up slowly with D (less than half as much as that of RF, 10 to {WIDTHS[-1]})"
    return Claim(text, None if np.isnan(rises).any() else all(2.0 * own < other for own, other in rises), figure)


def claims(found: Found) -> list[Claim]:
    columns = float(np.mean([SETS[name].shape[1] for name in TITLES]))
    extra = Claim("H0/1 adds few features: d is 45 on average over the 6 sets", round(columns) == 45, f"{columns:.1f}")
    listed = [better(found, name) for name in SHOWN]
    return [*listed, slowly(found), *(slower(found, name) for name in SHOWN), extra]


EXPERIMENT = Experiment(
    name="kar_figure2",
    title="Kar & Karnick 2012, Figure 2: RF and H0/1 against D",
    about=__doc__ or "",
    cells=cells,
    table=table,
    picture=picture,
    claims=claims,
    record=RECORD,
)

if __name__ == "__main__":
    main(EXPERIMENT)
