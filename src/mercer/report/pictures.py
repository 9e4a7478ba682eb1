"""Pictures, drawn by matplotlib without a display."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

from .style import FAINT, INK, VARIABLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import XAxis, YAxis
    from matplotlib.figure import Figure

LOOK: Any = {
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "font.size": 11.0,
    "grid.color": FAINT,
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "lines.markersize": 5.0,
    "svg.fonttype": "none",
    "svg.hashsalt": "mercer",
    "text.color": INK,
    "text.parse_math": False,  # names of columns and classes are not formulas
    "xtick.color": INK,
    "ytick.color": INK,
}
TICKS_APART = 1.5
NAMELESS = {"Date": None, "Creator": None, "Format": None, "Type": None}


@contextmanager
def drawing(width: float = 5.0, height: float = 3.6, panels: int = 1) -> Iterator[Any]:
    """Provide an empty figure with its panels, of a size in inches, in the style of the pages."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("pictures need matplotlib, which is not installed: pip install 'mercer[plot]'") from error
    with rc_context(LOOK):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, figure.subplots(1, panels, squeeze=False)[0]


def as_svg(figure: Figure, alternative: str) -> str:
    """Return a figure as SVG for a page, always the same for the same figure, with a description for screen readers."""
    from matplotlib import rc_context

    held = io.StringIO()
    with rc_context(LOOK):
        figure.savefig(held, format="svg", metadata=NAMELESS)
    text = held.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text[text.index("<svg") :], flags=re.DOTALL)
    named = set(re.findall(r'(?:href="|url\()#([\w.-]+)', text))
    text = re.sub(r' id="([\w.-]+)"', lambda one: one[0] if one[1] in named else "", text)
    for colour, variable in VARIABLES.items():
        text = text.replace(colour, variable)
    return text.replace("<svg", f'<svg role="img" aria-label="{escape(alternative)}"', 1)


def picture(figure: Figure, alternative: str, caption: str = "") -> str:
    """Return a figure of a page; the caption is plain text."""
    under = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f"<figure>{as_svg(figure, alternative)}{under}</figure>"


def pictures(*each: str) -> str:
    """Return figures side by side, as far as there is room."""
    there = "".join(each)
    return f'<div class="figures">{there}</div>' if there else ""


def logarithmic(axis: XAxis | YAxis) -> None:
    """Make an axis logarithmic, with plain numbers, also between powers of ten if these are few."""
    from matplotlib.ticker import FuncFormatter

    def between(value: float, _: Any) -> str:
        low, high = sorted(axis.get_view_interval())
        decades, lead = math.log10(high / low), round(value / 10 ** math.floor(math.log10(value)))
        return f"{value:.3g}" if decades < 0.7 or (decades < 2.0 and lead in (2, 5)) else ""

    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(FuncFormatter(between))


def width_axis(axes: Axes, values: Sequence[int]) -> None:
    """Use the numbers of features that were tried as ticks: at most four, and none that overlap."""
    apart: list[int] = []
    for value in sorted(values, reverse=True):
        if not apart or value * TICKS_APART <= apart[-1]:
            apart.append(value)
    shown = apart if len(apart) <= 4 else apart[::2]
    axes.set(xlabel="features", xscale="log")
    axes.set_xticks(shown, [f"{value:,}" for value in shown])
    axes.set_xticks([], minor=True)
