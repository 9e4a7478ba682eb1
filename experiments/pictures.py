"""How pictures look: a method has the same colour everywhere, and a line has a band that shows its seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from cells import Found, column
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

WIDTH = 8.0
"""Inches; at 110 dots an inch as wide as a README shows it."""

STYLES = {
    "exact": ("#000000", "s"),
    "TensorSketch": ("#0072B2", "o"),
    "RandomMaclaurin": ("#D55E00", "^"),
    "own degrees": ("#8C2D04", "<"),
    "H0/1": ("#E69F00", "v"),
    "Mercer": ("#009E73", "D"),
    "Mercer, Nystrom": ("#6FCF97", "d"),
    "Mercer, RPCholesky": ("#00563F", "d"),
    "RandomFourier": ("#CC79A7", "P"),
    "RKS": ("#CC79A7", "P"),
    "Quasi": ("#2A7FFF", "p"),
    "Comp": ("#A50026", "1"),
    "Fastfood": ("#D4B800", "*"),
    "Nystrom": ("#56B4E9", "X"),
    "TEFM-S": ("#8A6D00", "<"),
    "TEFM-G": ("#5B3A8C", ">"),
    "bound": ("#7F7F7F", ""),
}
"""Colours that a colour-blind eye tells apart (Okabe and Ito, and two darker ones), and markers."""


def panels(rows: int, columns: int, height: float = 2.6, sharey: Any = False) -> tuple[Any, Any]:
    """A figure and its axes, an array of rows and columns."""
    figure = Figure(figsize=(WIDTH, height * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharey=sharey)
    for one in axes.ravel():
        one.grid(alpha=0.3, linewidth=0.5)
        one.tick_params(labelsize=8)
    return figure, axes


def logarithmic(axes: Any, which: str = "y", marks: tuple[float, ...] = (1.0, 2.0, 5.0)) -> None:
    """A scale of powers, marked by plain numbers: 0.02, 0.1, 0.5."""
    axes.set(**{f"{which}scale": "log"})
    axis = getattr(axes, f"{which}axis")
    axis.set_major_locator(LogLocator(subs=marks))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def curve(
    axes: Any,
    found: Found,
    names: Sequence[tuple[float, str]],
    quantity: str,
    method: str,
    centre: Callable[..., Any] = np.median,
    **more: Any,
) -> None:
    """The mean of a quantity over the seeds, with a band of one deviation; points that are missing are left out.

    On a logarithmic scale the line is the median, or another centre, and the band goes from the least to the most.
    """
    colour, marker = STYLES[method]
    there = [(x, values) for x, name in names if (values := column(found, name, quantity))]
    if not there:
        return
    xs = [x for x, _ in there]
    if axes.get_yscale() == "log":
        middle, least, most = ([pick(values) for _, values in there] for pick in (centre, min, max))
    else:
        middle, spread = ([pick(values) for _, values in there] for pick in (np.mean, deviation))
        least, most = np.subtract(middle, spread), np.add(middle, spread)
    given = {"color": colour, "marker": marker, "markersize": 4, "linewidth": 1.4, "label": method} | more
    axes.plot(xs, middle, **given)
    axes.fill_between(xs, least, most, color=colour, alpha=0.2, linewidth=0)


def deviation(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def hollow(axes: Any, xs: Sequence[float], ys: Sequence[float], method: str, **more: Any) -> None:
    """What was not measured here: the paper's own figures, forecasts."""
    colour, marker = STYLES[method]
    given = {"marker": marker, "markersize": 5, "linestyle": "", "markerfacecolor": "none", "markeredgecolor": colour}
    axes.plot(xs, ys, **(given | more))


def level(axes: Any, found: Found, name: str, quantity: str, method: str = "exact", **more: Any) -> None:
    """A line across, for what has no width."""
    values = column(found, name, quantity)
    if values:
        given = {"color": STYLES[method][0], "linestyle": "--", "linewidth": 1.2, "label": method} | more
        axes.axhline(float(np.mean(values)), **given)


def legend(figure: Any, axes: Any) -> None:
    """One for all panels, below them."""
    entries: dict[str, Any] = {}
    for one in np.ravel(axes):
        handles, labels = one.get_legend_handles_labels()
        for handle, label in zip(handles, labels, strict=True):
            entries.setdefault(label, handle)
    if entries:
        figure.legend(
            entries.values(),
            entries.keys(),
            loc="outside lower center",
            ncols=5 if len(entries) <= 5 else 4,
            fontsize=8,
        )
