"""Pictures, drawn by matplotlib without a display."""

from __future__ import annotations

import io
from typing import Any

from .comparison import EXACT, Comparison
from .page import page, table


def comparison_figure(found: Comparison) -> Any:
    """Kernel error, score and time of every map against its width; the exact kernel's score is a line.

    Parameters
    ----------
    found : Comparison

    Returns
    -------
    figure : matplotlib Figure, with ``savefig``
    """
    figure = new_figure(12.0, 4.0)
    panels = figure.subplots(1, 3)
    wanted = (("error", "relative kernel error"), ("score", found.score), ("fit_seconds", "seconds to fit"))
    names = list(dict.fromkeys(entry.map for entry in found.entries if entry.map != EXACT))
    for axes, (field, label) in zip(panels, wanted, strict=True):
        for name in names:
            mine = sorted((one.features, getattr(one, field)) for one in found.entries if one.map == name)
            axes.plot(*zip(*mine, strict=True), marker="o", label=name)
        for one in found.entries:
            if one.map == EXACT and field != "error":
                axes.axhline(getattr(one, field), color="black", linestyle="--", label=f"{EXACT}, {one.rows:,} rows")
        axes.set(xlabel="features", ylabel=label, xscale="log", yscale="linear" if field == "score" else "log")
        axes.grid(alpha=0.3)
    panels[1].legend(fontsize="small")
    figure.suptitle(found.kernel)
    return figure


def new_figure(width: float, height: float) -> Any:
    """An empty figure, in inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("pictures are drawn by matplotlib, which is not here: pip install 'mercer[plot]'") from error
    return Figure(figsize=(width, height), layout="constrained")


def as_svg(figure: Any) -> str:
    """A figure as text for a page, the same for the same figure."""
    from matplotlib import rc_context

    text = io.StringIO()
    with rc_context({"svg.hashsalt": "mercer", "svg.fonttype": "none"}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()[text.getvalue().index("<svg") :]


def comparison_page(found: Comparison) -> str:
    """A page of HTML with the table and the picture of a comparison.

    Parameters
    ----------
    found : Comparison
    """
    headers = ("map", "features", "rows", "kernel error", "fit s", "predict s", "bytes", found.score, "from", "to")
    about = f"<p>{found.test_rows:,} rows were held out; intervals are those of 95 % of 200 draws of these rows.</p>"
    return page(f"Maps of {found.kernel}", about, table(headers, found.entries), as_svg(comparison_figure(found)))
