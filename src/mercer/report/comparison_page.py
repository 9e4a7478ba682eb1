"""The picture and the page of a comparison."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from .._figures import size
from .comparison import EXACT, Comparison, Entry
from .page import page, paragraph, section, table
from .pictures import drawing, logarithmic, picture, pictures, width_axis
from .style import INK, MARKERS, SERIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS = (
    ("error", "relative kernel error", "Kernel error"),
    ("score", "", "Score"),
    ("fit_seconds", "seconds to fit", "Time to fit"),
)


def comparison_figure(found: Comparison) -> Figure:
    """Plot kernel error, score and time of every map against its width; a line shows the exact kernel's score.

    Parameters
    ----------
    found : Comparison
        The result of :func:`mercer.report.compare`.

    Returns
    -------
    matplotlib.figure.Figure
        The figure, which ``savefig`` writes to a file.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data import open
    >>> from mercer.report import compare, comparison_figure
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> found = compare(open(X, X[:, 0] * X[:, 1]), "regression", maps=["OrthogonalFourier"], features=(16, 32))
    >>> len(comparison_figure(found).axes)
    3
    """
    with drawing(13.0, 4.6, panels=3) as (figure, panels):
        for axes, (field, label, _) in zip(panels, PANELS, strict=True):
            _draw(axes, found, field, label or found.score)
        handles, labels = panels[1].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(4, max(1, len(labels))), fontsize="small")
        figure.suptitle(found.kernel)
        figure.set_facecolor("white")
    return figure


def _draw(axes: Axes, found: Comparison, field: str, label: str) -> None:
    """Draw one panel; times and errors have a logarithmic axis if any are above 0."""
    for number, name in enumerate(names_of(found)):
        mine = sorted((one.features, getattr(one, field)) for one in found.entries if one.map == name)
        look: dict[str, Any] = {"color": SERIES[number % len(SERIES)], "marker": MARKERS[number % len(MARKERS)]}
        axes.plot(*zip(*mine, strict=True), linestyle="-" if number < len(SERIES) else "--", label=name, **look)
    for one in found.entries:
        if one.map == EXACT and field != "error":
            axes.axhline(getattr(one, field), color=INK, linestyle="--", label=f"{EXACT}, {one.rows:,} rows")
    axes.set(ylabel=label)
    if field != "score" and any(getattr(one, field) > 0.0 for one in found.entries):
        logarithmic(axes.yaxis)
    width_axis(axes, sorted({one.features for one in found.entries if one.map != EXACT}))


def names_of(found: Comparison) -> list[str]:
    """Return the maps, in the order in which they ran."""
    return list(dict.fromkeys(entry.map for entry in found.entries if entry.map != EXACT))


def comparison_page(found: Comparison) -> str:
    """Return a page of HTML with the table and the pictures of a comparison.

    Parameters
    ----------
    found : Comparison
        The result of :func:`mercer.report.compare`.

    Returns
    -------
    str
        The page, which loads nothing from elsewhere.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data import open
    >>> from mercer.report import compare, comparison_page
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> found = compare(open(X, X[:, 0] * X[:, 1]), "regression", maps=["OrthogonalFourier"], features=(16, 32))
    >>> "OrthogonalFourier" in comparison_page(found)
    True
    """
    learned = max((one.rows for one in found.entries if one.map != EXACT), default=0)
    fewer = any(one.map == EXACT and one.rows < learned for one in found.entries)
    about = f"The maps were trained on the same {learned:,} rows and scored on {found.test_rows:,} others."
    if fewer:
        about += " The exact kernel machine, whose time grows with the cube of the rows, was trained on fewer."
    notes = (
        "Kernel error is the distance between the inner products of the features and the kernel, relative to the norm "
        "of the kernel, on held-out rows. Intervals are 95 % bootstrap intervals of 200 draws of these rows. Times are "
        "wall times on the computer that ran this; short ones vary from run to run."
    )
    return page(
        f"Maps of {found.kernel}",
        section("Against the number of features", pictures(*(_picture(found, *one) for one in PANELS))),
        section("Numbers", _table(found), paragraph(notes, "small")),
        lead=f"{_verdict(found)} {escape(about)}",
    )


def _verdict(found: Comparison) -> str:
    """Describe the best map in words."""
    there = [one for one in found.entries if one.map != EXACT and not math.isnan(one.score)]
    if not there:
        return ""
    best = max(there, key=lambda one: one.score)
    exact = [one for one in found.entries if one.map == EXACT]
    beside = f"; the exact kernel has {exact[0].score:.4g}, on {exact[0].rows:,} rows" if exact else ""
    said = f"{best.map} with {best.features:,} features has the best {found.score}: {best.score:.4g}"
    level = sum(one.high >= best.score for one in there) - 1
    ties = f"; {level:,} of the {len(there) - 1:,} others are within their intervals of it" if level else ""
    return f"<strong>{escape(said)}</strong>{escape(beside + ties)}."


def _picture(found: Comparison, field: str, label: str, title: str) -> str:
    shown = label or found.score
    with drawing(4.4, 4.3) as (figure, (axes,)):
        _draw(axes, found, field, shown)
        axes.set_title(title, loc="left", fontsize="medium", fontweight="bold")
        handles, labels = axes.get_legend_handles_labels()
        if labels:
            figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize="small")
    return picture(figure, f"{title} against number of features: {_said(found, field)}.")


def _said(found: Comparison, field: str) -> str:
    """Describe what a picture shows, for every map at its largest width."""
    widest: dict[str, Entry] = {}
    for one in found.entries:
        if one.map not in widest or one.features > widest[one.map].features:
            widest[one.map] = one
    return "; ".join(f"{name} {getattr(one, field):.3g}" for name, one in widest.items())


def _table(found: Comparison) -> str:
    headers = ("map", "features", "rows", "kernel error", "fit, s", "predict, s", "model", found.score, "95 % interval")
    scored = [one.score for one in found.entries if one.map != EXACT and not math.isnan(one.score)]
    best = max(scored, default=math.nan)
    kinds = ["exact" if one.map == EXACT else "best" if one.score == best else "" for one in found.entries]
    return table(headers, [_row(one) for one in found.entries], kinds)


def _row(one: Entry) -> Sequence[Any]:
    interval = "-" if math.isnan(one.low) else f"{one.low:.4g} to {one.high:.4g}"
    seconds = one.fit_seconds, one.predict_seconds
    return one.map, one.features, one.rows, one.error, *seconds, size(one.bytes), one.score, interval
