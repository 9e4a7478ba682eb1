"""Test error against training time, from the cells of experiments/beyond_time.py: the picture of the README.

``python docs/figures/error_against_time.py`` writes docs/_static/error_against_time.png anew. Nothing is measured here.
"""

from __future__ import annotations

import csv
import re
from typing import NamedTuple

from matplotlib import pyplot

from tables import ROOT

MEASURED = ROOT / "experiments" / "results" / "full" / "beyond_time.csv"
PICTURE = ROOT / "docs" / "_static" / "error_against_time.png"
SETS = {"mnist": "MNIST: 60,000 handwritten digits", "covertype": "Covertype: 100,000 patches of forest"}


class Line(NamedTuple):
    method: str
    label: str
    colour: str
    marker: str


LINES = (
    Line("exact", "exact SVM (scikit-learn-intelex)", "#1f2328", "s"),
    Line("RBFSampler", "scikit-learn: RBFSampler + LinearSVC", "#e69f00", "P"),
    Line("Nystroem", "scikit-learn: Nystroem + LinearSVC", "#d55e00", "X"),
    Line("Mercer", "Mercer, random features", "#56b4e9", "D"),
    Line("Mercer, Nystrom", 'Mercer, landmarks (map="nystrom")', "#0072b2", "o"),
)


class Mark(NamedTuple):
    """A point that is worth a label: where it is (method and size), and where its label goes, in points from there."""

    method: str
    size: int
    across: float
    up: float


MARKS = {
    "mnist": (Mark("Mercer, Nystrom", 4096, -12, -13), Mark("exact", 1, 18, 18)),
    "covertype": (Mark("Mercer, Nystrom", 6144, -48, -4), Mark("exact", 1, -18, 34)),
}


def points() -> dict[tuple[str, str], list[tuple[int, float, float]]]:
    """Size, processor seconds and test error of every method on every set."""
    cells: dict[tuple[str, str, int], dict[str, float]] = {}
    with MEASURED.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            name, rest = row["cell"].split(", ", 1)
            method, size = rest.rsplit(", ", 1)
            key = (name, method, int(re.findall(r"\d+", size)[-1]))
            cells.setdefault(key, {})[row["quantity"]] = float(row["mean"])
    found: dict[tuple[str, str], list[tuple[int, float, float]]] = {}
    for (name, method, size), values in sorted(cells.items()):
        if "score" in values:
            found.setdefault((name, method), []).append((size, values["processor"], 100.0 - values["score"]))
    return found


def draw() -> pyplot.Figure:
    found = points()
    figure, axes = pyplot.subplots(1, 2, figsize=(9.2, 4.1), layout="constrained")
    for panel, (name, title) in zip(axes, SETS.items(), strict=True):
        for line in LINES:
            _, seconds, errors = zip(*sorted(found[name, line.method], key=lambda one: one[1]), strict=True)
            panel.loglog(seconds, errors, marker=line.marker, color=line.colour, label=line.label, markersize=5)
        for mark in MARKS[name]:
            _, seconds, error = next(one for one in found[name, mark.method] if one[0] == mark.size)
            panel.annotate(
                f"{error:.1f} % in {seconds:.0f} s", (seconds, error), (mark.across, mark.up),
                textcoords="offset points",
                color=next(line.colour for line in LINES if line.method == mark.method),
                fontsize=9, fontweight="bold", ha="center", va="center",
            )  # fmt: skip
        panel.annotate(
            "better", (0.03, 0.04), (0.13, 0.16), xycoords="axes fraction", fontsize=9, color="#57606a",
            arrowprops={"arrowstyle": "->", "color": "#57606a"},
        )  # fmt: skip
        panel.set(title=title, xlabel="training time in processor seconds")
        panel.set_xticks([0.3, 1, 3, 10, 30, 100, 300], ["0.3", "1", "3", "10", "30", "100", "300"])
        panel.grid(alpha=0.25)
        panel.spines[["top", "right"]].set_visible(False)
        panel.minorticks_off()
    axes[0].set_yticks([1.5, 2, 3, 5, 10], ["1.5", "2", "3", "5", "10"])
    axes[1].set_yticks([12, 15, 20, 25], ["12", "15", "20", "25"])
    axes[0].set(ylabel="test error in %")
    axes[0].set_ylim(bottom=1.15)
    axes[1].set_ylim(bottom=11.2)
    for panel in axes:
        panel.set_xlim(0.2, 600)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return figure


if __name__ == "__main__":
    import matplotlib

    matplotlib.use("Agg")
    draw().savefig(PICTURE, dpi=110, facecolor="white", metadata={"Software": None})
    print(PICTURE)
