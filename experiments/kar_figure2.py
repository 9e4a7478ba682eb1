"""Accuracy, training time and test time against D, for RandomMaclaurin (the paper's RF) and H0/1, on four data sets.

Half of RandomMaclaurin's features are constants, as in the paper, and a quarter have degree 1; H0/1 computes these
degrees exactly. The paper shows curves without numbers. D counts random features: H0/1 has d + 1 in addition, whereas
Mercer (`KernelClassifier` with the map that it chooses, and with `Nystrom`) has D in total. There are 5 splits, and the
exact machine has a limit of 300 s. Times are medians in processor seconds on one thread: training includes the
features, and testing is for all test rows, at most 20,000. Details that the paper does not give are chosen as for Table
1. Claims are compared split by split.

If d is large and D small, Mercer is far worse than H0/1: on Spambase with D = 10, it has 10 features, and H0/1 has 68.
From D = 100 on, it is level or better on all four data sets. It is more accurate than RandomMaclaurin nearly
everywhere, but trains more slowly for small D, and on Spambase for all D. The accuracy of RandomMaclaurin on IJCNN1
(the paper's IJCNN) with D = 10 and 25, 90.4 %, is the share of the larger class; Mercer with D = 10 is no better.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from cells import Cell, Found, column, markdown, mean, median
from claims import Case, Claim, counted, differences, met, run_by_run
from datasets import SETS
from experiment import Experiment, main
from kar import EXPONENTIAL, POLYNOMIAL, RECORD, TITLES, machines
from pham import named, of_runs
from pictures import curve, legend, level, logarithmic, panels

SHOWN = {"spambase": POLYNOMIAL, "nursery": POLYNOMIAL, "ijcnn1": EXPONENTIAL, "cod_rna": EXPONENTIAL}
WIDTHS = (10, 25, 50, 100, 200, 500)
SMALL = (10, 25, 50)
PAPERS = ("RandomMaclaurin", "H0/1")
METHODS = (*PAPERS, "Mercer", "Mercer, Nystrom")
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


def against(
    found: Found, first: str, second: str, widths: Sequence[int] = WIDTHS, quantity: str = "score"
) -> dict[str, Case]:
    """Compare two methods for every data set and D."""
    cases = {}
    for name, kernel in SHOWN.items():
        for D in widths:
            pair = (named(name, kernel, method, D) for method in (first, second))
            cases[f"{TITLES[name]} at D = {D}"] = run_by_run(differences(found, *pair, quantity), quantity)
    return cases


def slowly(found: Found) -> Claim:
    shares = {}
    for name, kernel in SHOWN.items():
        ends = ([mean(found, named(name, kernel, one, D), "score") for D in (WIDTHS[0], WIDTHS[-1])] for one in PAPERS)
        other, own = (last - first for first, last in ends)
        shares[TITLES[name]] = own / other
    text = "the accuracy of H0/1 rises slowly from D = 10 to 500 (less than half as much as that of RandomMaclaurin)"
    return met(text, shares, most=0.5)


def unclear(found: Found) -> Claim:
    cases = against(found, "H0/1", "RandomMaclaurin", WIDTHS, "processor")
    sides = [case.side for case in cases.values() if not np.isnan(case.amount)]
    text = "the effect of H0/1 on training times is not clear: they are sometimes longer and sometimes shorter"
    figure = "longer in {}, level in {}, shorter in {}".format(*(sides.count(one) for one in (1, 0, -1)))
    return Claim(text, len(set(sides)) > 1 if sides else None, figure)


def of_mercer(found: Found) -> Iterator[Claim]:
    """Make claims of our own."""
    for other in PAPERS:
        text = f"Mercer is more accurate than {other}, over all sets and D"
        yield counted(text, against(found, "Mercer", other), ours=True)
    for quantity, word in (("processor", "trains"), ("testing", "tests")):
        text = f"Mercer {word} faster than RandomMaclaurin, over all sets and D"
        yield counted(text, against(found, "RandomMaclaurin", "Mercer", WIDTHS, quantity), ours=True)


def claims(found: Found) -> list[Claim]:
    columns = float(np.mean([SETS[name].shape[1] for name in TITLES]))
    much = "H0/1 is much more accurate than RandomMaclaurin with few features (by over a point at D = 10, 25 and 50)"
    longer = f"H0/1 takes longer to test than RandomMaclaurin at large D ({WIDTHS[-1]})"
    return [
        counted(much, against(found, "H0/1", "RandomMaclaurin", SMALL), over=1.0),
        Claim("H0/1 adds few features: d is 45 on average over the 6 sets", round(columns) == 45, f"{columns:.1f}"),
        slowly(found),
        counted(longer, against(found, "H0/1", "RandomMaclaurin", WIDTHS[-1:], "testing")),
        unclear(found),
        *of_mercer(found),
    ]


EXPERIMENT = Experiment(
    name="kar_figure2",
    title="Kar & Karnick 2012, Figure 2: RandomMaclaurin and H0/1 against D",
    about=__doc__ or "",
    cells=cells,
    table=table,
    picture=picture,
    claims=claims,
    record=RECORD,
)

if __name__ == "__main__":
    main(EXPERIMENT)
