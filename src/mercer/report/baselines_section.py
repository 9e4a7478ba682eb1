"""The part of a page that compares a model with others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from .baselines import Baseline
from .page import figure, paragraph, wide
from .scores import Score


def baselines_part(scores: Sequence[Score], baselines: Sequence[Baseline]) -> str:
    """Return a table of models, the kernel machine first, with their scores on the same rows."""
    there = [one for one in baselines if one.scores]
    if not there:
        return ""
    names = [score.name for score in scores]
    first = there[0].gain.name
    said = (
        f"Every model is scored on the same held-out rows. The last column is how far this model is ahead in {first}, "
        "with a 95 % interval of the difference, from the same bootstrap draws for both; if the whole interval is "
        "below 0, the other model is better."
    )
    mine = {score.name: score for score in scores}
    lines = [_line("this model", "", mine, names, "", "best")]
    for one in there:
        about = f"{one.what}; trained on {one.rows:,} rows"
        held = {score.name: score for score in one.scores}
        kind = "ahead" if one.ahead else ""
        lines.append(_line(one.name, about, held, names, _gain(one.gain), kind))
    heads = "".join(f'<th scope="col" class="number">{escape(name)}</th>' for name in (*names, "ahead by"))
    head = f'<th scope="col">model</th>{heads}'
    table = wide(f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>")
    out = [f"Left out: {one.name}, since {one.why}." for one in baselines if one.why]
    return (
        f"<h3>Compared with other models</h3>{paragraph(said)}{table}{''.join(paragraph(one, 'small') for one in out)}"
    )


def _line(name: str, about: str, held: dict[str, Score], names: Sequence[str], gain: str, kind: str) -> str:
    cells = "".join(
        f'<td class="number">{figure(held[one].value)}<span class="note">{_between(held[one])}</span></td>'
        for one in names
    )
    note = f'<span class="note">{escape(about)}</span>' if about else ""
    return f'<tr class="{kind}"><td>{escape(name)}{note}</td>{cells}<td class="number">{gain}</td></tr>'


def _between(score: Score) -> str:
    return "" if math.isnan(score.low) else f"{score.low:.3g} to {score.high:.3g}"


def _gain(gain: Score) -> str:
    return f'{gain.value:+.3g}<span class="note">{_between(gain)}</span>'
