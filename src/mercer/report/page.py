"""Pages that need nothing beside themselves."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse;margin:1rem 0}th,td{padding:.25rem .75rem;border-bottom:1px solid #ddd;"
    "text-align:left}td.number{text-align:right;font-variant-numeric:tabular-nums}svg{max-width:100%;height:auto}"
)


def page(title: str, *parts: str) -> str:
    """A page of HTML.

    Parameters
    ----------
    title : its name and first line
    parts : what follows, as HTML

    Examples
    --------
    >>> page("a < b").splitlines()[-2]
    '<h1>a &lt; b</h1>'
    """
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>'
    lines = ["<!DOCTYPE html>", f'<html lang="en"><head>{head}</head><body>', f"<h1>{escape(title)}</h1>", *parts]
    return "\n".join([*lines, "</body></html>"])


def table(headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table of HTML; numbers are to the right.

    Parameters
    ----------
    headers : the names of columns
    rows : their entries

    Examples
    --------
    >>> table(["map"], [["a & b"], [0.5]])
    '<table><tr><th>map</th></tr><tr><td>a &amp; b</td></tr><tr><td class="number">0.5</td></tr></table>'
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in headers)
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{_cells(row)}</tr>' for row in rows)}</table>"


def _cells(row: Sequence[Any]) -> str:
    numeric = ' class="number"'
    shown = ((numeric if isinstance(one, int | float) else "", figure(one)) for one in row)
    return "".join(f"<td{kind}>{escape(text)}</td>" for kind, text in shown)


def figure(value: Any) -> str:
    """A value in four digits, or as it is."""
    if isinstance(value, float):
        return "-" if value != value else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
