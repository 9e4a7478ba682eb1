"""The part of a page that sets a model beside others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from .baselines import Baseline
from .page import figure, paragraph, wide
from .scores import Score


def baselines_part(scores: Sequence[Score], baselines: Sequence[Baseline]) -> str:
    """A table of models, the kernel machine first, with their scores on the same rows."""
    there = [one for one in baselines if one.scores]
    if not there:
        return ""
    names = [score.name for score in scores]
    first = there[0].gain.name
    said = (
        "Every model is scored on the same rows held out. The last column is how far this model is ahead in "
        f"{first}, with a 95 % interval from draws of the same rows for both; where all of it is below 0, the other "
        "model is better."
    )
    mine = {score.name: score for score in scores}
    lines = [_line("this model", "", mine, names, "", "best")]
    for one in there:
        about = f"{one.what}; learned from {one.rows:,} rows"
        held = {score.name: score for score in one.scores}
        kind = "ahead" if one.ahead else ""
        lines.append(_line(one.name, about, held, names, f"{one.gain.value:+.3g}{_between(one.gain)}", kind))
    heads = "".join(
        f'<th scope="col" class="number">{escape(name)}</th>' for name in (*names, "this model is ahead by")
    )
    head = f'<th scope="col">model</th>{heads}'
    table = wide(f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>")
    out = [f"Left out: {one.name}, since {one.why}." for one in baselines if one.why]
    return f"<h3>Beside other models</h3>{paragraph(said)}{table}{''.join(paragraph(one, 'small') for one in out)}"


def _line(name: str, about: str, held: dict[str, Score], names: Sequence[str], gain: str, kind: str) -> str:
    cells = "".join(
        f'<td class="number">{figure(held[one].value)}<span class="note">{_between(held[one]).strip(" ()")}</span></td>'
        for one in names
    )
    note = f'<span class="note">{escape(about)}</span>' if about else ""
    return f'<tr class="{kind}"><td>{escape(name)}{note}</td>{cells}<td class="number">{gain}</td></tr>'


def _between(score: Score) -> str:
    return "" if math.isnan(score.low) else f" ({score.low:.3g} to {score.high:.3g})"
