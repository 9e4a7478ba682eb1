"""Accuracy, training and test times, and speed-ups over the exact machine: six sets, polynomial and exponential kernel.

60 % of the rows to learn from, at most 20,000; tests on at most 20,000 of the others (the paper: on all), so that its
test times compare by their speed-ups alone. Means and deviations over 5 splits, the exact machine on 2; times are
medians in seconds of the processor on one thread. RF and H0/1 have the paper's D, H0/1 d + 1 features more. Mercer has
as many features as RF, or as H0/1 has in all; beside the map that it chooses, `Nystrom` with those of RF.

Chosen where the paper is silent: columns between 0 and 1, then all rows divided by the length of the longest training
row ("normalization constants learnt on the training sets"); C = 1; LIBLINEAR's primal solver, as its dual one takes
many times longer on kernel values up to 1,024; s the mean distance of 2,000 training rows. Nursery and Covertype are
"binarized randomly" in the paper, which does not say how: here not_recom and very_recom against the other classes, of
seven pairs tried one that comes near its figures, and class 2 against the rest. LIBSVM has no exponential kernel: its
matrix is computed beforehand, in one product, and predictions take the rows of support, which favours the exact machine
in (b). Our exact machines are far quicker than the paper's, so the speed-ups are smaller: 3 s on Cod-RNA, not 144 s.
On Adult (a) they fit too closely (98 % of 4,000 training rows, 81 % of test rows), and all maps are better. On IJCNN
(b) a smaller s would serve them, as the paper's 98.4 % suggest (half of it: 97.0 % and not 92.5 %, from 4,000 rows).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from cells import Cell, Found, column, markdown, median
from datasets import SETS
from experiment import Claim, Experiment, main
from kar import EXPONENTIAL, POLYNOMIAL, RECORD, TITLES, machines, short
from pham import named, of_runs, seconds
from pictures import STYLES, legend, logarithmic, panels

KERNELS = (POLYNOMIAL, EXPONENTIAL)
WIDTHS = {
    "nursery": (500, 100),
    "spambase": (500, 50),
    "cod_rna": (500, 50),
    "adult": (500, 100),
    "ijcnn1": (1000, 200),
    "covertype": (1000, 100),
}
"""D of RF and of H0/1."""
QUICK = ("nursery", "spambase")


class Printed(NamedTuple):
    """What the paper prints of a machine: accuracy in %, seconds to train and to test, and their speed-ups."""

    score: float
    training: float
    testing: float
    faster_training: float | None = None
    faster_testing: float | None = None

    def __str__(self) -> str:
        if self.faster_testing is None:
            return f"{self.score:g}, {self.training:g} s, {self.testing:g} s"
        faster = "-" if self.faster_training is None else f"{self.faster_training:g}x"
        return f"{self.score:g}, {self.training:g} s ({faster}), {self.testing:g} s ({self.faster_testing:g}x)"


PAPER = {
    (POLYNOMIAL, "nursery"): ((99.9, 18.6, 3.37), (99.7, 3.96, 0.63, 4.7, 5.3), (98.2, 0.49, 0.1, 38, 33)),
    (POLYNOMIAL, "spambase"): ((93.8, 3.64, 2.84), (93.2, 1.67, 1.13, 2.2, 2.5), (92.02, 0.19, 0.38, 19, 7.5)),
    (POLYNOMIAL, "cod_rna"): ((95.2, 144.1, 28.6), (94.9, 12.1, 2.8, 12, 10), (93.77, 0.63, 0.51, 229, 56)),
    (POLYNOMIAL, "adult"): ((84.2, 179.6, 60.6), (84.7, 21.2, 15.6, 8.5, 3.9), (84.7, 6.9, 7.26, 26, 8.4)),
    (POLYNOMIAL, "ijcnn1"): ((98.4, 164.1, 33.4), (97.3, 36.5, 23.3, 4.5, 1.4), (92.3, 4.98, 7.5, 33, 4.5)),
    (POLYNOMIAL, "covertype"): ((77.4, 160.95, 1653.9), (77.04, 186.1, 236.8, None, 7), (75.5, 3.9, 70.3, 41, 23)),
    (EXPONENTIAL, "nursery"): ((99.8, 10.8, 1.7), (99.6, 2.52, 0.6, 4.3, 2.8), (97.96, 0.4, 0.18, 27, 9.4)),
    (EXPONENTIAL, "spambase"): ((93.5, 3.19, 1.89), (92.3, 1.9, 0.6, 1.7, 3.1), (92.08, 0.19, 0.16, 17, 74)),
    (EXPONENTIAL, "cod_rna"): ((95.2, 91.5, 17.1), (94.9, 11.5, 2.8, 8, 6.1), (93.8, 0.67, 1.4, 136, 12)),
    (EXPONENTIAL, "adult"): ((83.7, 263.3, 33.4), (82.9, 39.8, 14.3, 6.6, 2.3), (84.8, 7.18, 9.4, 37, 3.6)),
    (EXPONENTIAL, "ijcnn1"): ((98.4, 135.8, 29.98), (97.2, 24.9, 23.4, 5.5, 1.3), (92.2, 5.2, 9.1, 26, 3.3)),
    (EXPONENTIAL, "covertype"): ((80.6, 194.1, 695.8), (76.2, 21.4, 207, 9, 3.6), (75.5, 3.7, 80.4, 52, 8.7)),
}
"""Exact, RF and H0/1: as in :class:`Printed`."""


def columns_of(name: str) -> dict[str, tuple[str, int]]:
    """Titles of the machines, with method and D."""
    many, few = WIDTHS[name]
    return {
        "exact": ("exact", 0),
        "RF": ("RandomMaclaurin", many),
        "H0/1": ("H0/1", few),
        "Mercer, as RF": ("Mercer", many),
        "Mercer, as H0/1": ("Mercer", few + SETS[name].shape[1] + 1),
        "Mercer, Nystrom": ("Mercer, Nystrom", many),
    }


MACHINES = tuple(columns_of("nursery"))


def cell_of(name: str, kernel: str, title: str) -> str:
    return named(name, kernel, *columns_of(name)[title])


def cells(full: bool) -> Iterator[Cell]:
    for name in WIDTHS if full else QUICK:
        for kernel in KERNELS:
            yield from machines(name, kernel, list(columns_of(name).values())[1:], full)


def faster(found: Found, name: str, kernel: str, title: str, quantity: str) -> float:
    """How many times the exact machine takes as long; NaN where missing."""
    own = median(found, cell_of(name, kernel, title), quantity)
    exact = cell_of(name, kernel, "exact")
    return (seconds(found, exact) if quantity == "processor" else median(found, exact, quantity)) / own


def entry(found: Found, name: str, kernel: str, title: str) -> str:
    cell = cell_of(name, kernel, title)
    if column(found, cell, "predicted"):
        return f"not run: about {seconds(found, cell):.3g} s"
    if not column(found, cell, "score"):
        return "missing"
    texts = []
    for quantity in ("processor", "testing"):
        ratio = math.nan if title == "exact" else faster(found, name, kernel, title, quantity)
        texts.append(f"{median(found, cell, quantity):.2g} s" + ("" if math.isnan(ratio) else f" ({short(ratio)}x)"))
    return f"{of_runs(found, cell, 'score')}, {', '.join(texts)}"


def table(found: Found) -> str:
    parts = []
    for part, kernel in zip("ab", KERNELS, strict=True):
        lines = []
        for name, (many, few) in WIDTHS.items():
            paper = (Printed(*printed) for printed in PAPER[kernel, name])
            lines.append((f"{TITLES[name]}, D = {many} and {few}, paper", *paper, "", "", ""))
            lines.append(("ours", *(entry(found, name, kernel, title) for title in MACHINES)))
        parts.append(markdown((f"({part}) `{kernel}`: accuracy %, training, testing", *MACHINES), lines))
    return "\n".join(parts)


def picture(found: Found) -> object:
    figure, axes = panels(len(KERNELS), 3, height=3.0)
    labels = {"score": "accuracy, %", "processor": "training, s", "testing": "testing, s"}
    for row, kernel in zip(axes, KERNELS, strict=True):
        for one, (quantity, label) in zip(row, labels.items(), strict=True):
            for place, title in enumerate(MACHINES):
                colour, marker = STYLES[columns_of("nursery")[title][0]]
                fill = "none" if title == "Mercer, as H0/1" else colour
                style = {"color": colour, "marker": marker, "markerfacecolor": fill, "linestyle": "", "markersize": 5}
                values = [median(found, cell_of(name, kernel, title), quantity) for name in WIDTHS]
                heights = np.arange(len(WIDTHS)) + 0.12 * (2.5 - place)
                one.plot(values, heights, label=title, **style)
            one.set_yticks(range(len(WIDTHS)), [TITLES[name] for name in WIDTHS] if quantity == "score" else [])
            one.set_ylim(len(WIDTHS) - 0.5, -0.5)
            one.set_title(kernel, fontsize=8)
            one.set_xlabel(label, fontsize=8)
            if quantity != "score":
                logarithmic(one, "x", marks=(1.0,))
    legend(figure, axes)
    return figure


# -- claims ------------------------------------------------------------------------------------------------------------


def speed(found: Found, title: str, quantity: str, said: float) -> Claim:
    ratios = [faster(found, name, kernel, title, quantity) for kernel in KERNELS for name in WIDTHS]
    word = {"processor": "trains", "testing": "tests"}[quantity]
    text = f"{title} {word} faster than the exact machine, {said:g} times at least where the paper prints a speed-up"
    middle = float(np.median(ratios))
    count = f"{sum(ratio > 1.0 for ratio in ratios)} of {len(ratios)} faster"
    figure = f"{short(min(ratios))} to {short(max(ratios))} times, the middle {short(middle)}; {count}"
    return Claim(text, None if np.isnan(ratios).any() else min(ratios) >= said, figure)


def competitive(found: Found, title: str, place: int) -> Claim:
    """The loss that the paper's own table calls competitive."""
    said = max(printed[0][0] - printed[place][0] for printed in PAPER.values())
    losses = {
        f"{TITLES[name]}, `{kernel}`": np.subtract(
            *(np.mean(column(found, cell_of(name, kernel, one), "score") or [np.nan]) for one in ("exact", title))
        )
        for kernel in KERNELS
        for name in WIDTHS
    }
    worst = max(losses, key=lambda one: losses[one])
    text = f"{title} is nearly as accurate as the exact machine (within {said:.1f} points in the paper's table)"
    known = not np.isnan(list(losses.values())).any()
    return Claim(text, bool(losses[worst] <= said) if known else None, f"at most {losses[worst]:.1f} less: {worst}")


def arithmetic() -> Claim:
    """Of the paper alone: its speed-ups are ratios of its times, within a tenth."""
    wrong = []
    for (kernel, name), (exact, *others) in PAPER.items():
        for title, printed in zip(("RF", "H0/1"), map(lambda one: Printed(*one), others), strict=True):
            for word, time, said in (
                ("training", exact[1] / printed.training, printed.faster_training),
                ("testing", exact[2] / printed.testing, printed.faster_testing),
            ):
                if said is not None and abs(said / time - 1.0) > 0.1:
                    wrong.append(f"{TITLES[name]}, `{kernel}`, {title}, {word}: {said:g}, its times give {time:.3g}")
    return Claim("the speed-ups of the paper's table are those of its times", not wrong, "; ".join(wrong) or "all")


def claims(found: Found) -> list[Claim]:
    listed = [competitive(found, "RF", 1), competitive(found, "H0/1", 2)]
    for place, title in ((1, "RF"), (2, "H0/1")):
        for quantity, field in (("processor", "faster_training"), ("testing", "faster_testing")):
            said = [getattr(Printed(*printed[place]), field) for printed in PAPER.values()]
            listed.append(speed(found, title, quantity, min(one for one in said if one is not None)))
    return [*listed, arithmetic()]


EXPERIMENT = Experiment(
    name="kar_table1",
    title="Kar & Karnick 2012, Table 1: accuracy and times",
    about=__doc__ or "",
    cells=cells,
    table=table,
    picture=picture,
    claims=claims,
    record=RECORD,
)

if __name__ == "__main__":
    main(EXPERIMENT)
