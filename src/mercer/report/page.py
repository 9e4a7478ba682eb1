"""Pages of HTML that load nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from .style import STYLE


def page(title: str, *parts: str, lead: str = "") -> str:
    """Return a page of HTML that loads nothing from elsewhere and runs no script.

    Parameters
    ----------
    title : str
        The title of the page, which is also its first heading.
    *parts : str
        The body, as HTML.
    lead : str, default=""
        A paragraph to show below the title, as HTML.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> page("a < b").splitlines()[-2]
    '<header><h1>a &lt; b</h1></header><main></main>'
    """
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        # With this policy the browser itself refuses to load or run anything.
        """<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">"""
        f"<title>{escape(title)}</title><style>{STYLE}</style>"
    )
    under = f'<div class="lead">{lead}</div>' if lead else ""
    body = f"<header><h1>{escape(title)}</h1>{under}</header><main>{''.join(parts)}</main>"
    return "\n".join(["<!DOCTYPE html>", f'<html lang="en"><head>{head}</head><body>', body, "</body></html>"])


def section(heading: str, *parts: str) -> str:
    """Return a section of a page with a heading; nothing if it would be empty.

    Parameters
    ----------
    heading : str
        The heading, as plain text.
    *parts : str
        The body, as HTML.

    Returns
    -------
    str
        The section as HTML, or an empty string if all parts are empty.

    Examples
    --------
    >>> section("Rows & columns", "<p>none</p>"), section("Rows", "")
    ('<section><h2>Rows &amp; columns</h2><p>none</p></section>', '')
    """
    body = "".join(parts)
    return f"<section><h2>{escape(heading)}</h2>{body}</section>" if body else ""


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph of plain text."""
    return f"<p{_class(kind)}>{escape(text)}</p>"


def alarm(texts: Sequence[str]) -> str:
    """Return a box with warnings that must not be overlooked; nothing if there are none."""
    each = "".join(f"<p>{escape(text)}</p>" for text in texts)
    return f'<div class="alarm" role="alert"><strong>Warning</strong>{each}</div>' if each else ""


def cards(entries: Iterable[tuple[str, str, str]]) -> str:
    """Return the headline figures, each with its name, its value and a note."""
    each = (
        f'<div class="card"><div class="name">{escape(name)}</div><div class="value">{escape(value)}</div>'
        f'<div class="note">{escape(note)}</div></div>'
        for name, value, note in entries
    )
    return f'<div class="cards">{"".join(each)}</div>'


def table(headers: Sequence[str], rows: Sequence[Sequence[Any]], kinds: Sequence[str] = ()) -> str:
    r"""Return a table of HTML, with numbers aligned to the right.

    Parameters
    ----------
    headers : sequence of str
        The names of the columns.
    rows : sequence of sequences
        The entries.
    kinds : sequence of str, default=()
        A CSS class for every row, or none at all.

    Returns
    -------
    str
        The table as HTML.

    Examples
    --------
    >>> print(table(["map"], [["a & b"], [0.5]]).replace("><tr", ">\n<tr"))
    <div class="wide" tabindex="0"><table><thead>
    <tr><th scope="col">map</th></tr></thead><tbody>
    <tr><td>a &amp; b</td></tr>
    <tr><td class="number">0.5</td></tr></tbody></table></div>
    """
    numeric = [all(isinstance(row[place], int | float) for row in rows) for place in range(len(headers))]
    head = "".join(
        f'<th scope="col"{_class("number" if right and rows else "")}>{escape(name)}</th>'
        for name, right in zip(headers, numeric, strict=True)
    )
    marks = kinds or [""] * len(rows)
    body = "".join(f"<tr{_class(kind)}>{_cells(row)}</tr>" for row, kind in zip(rows, marks, strict=True))
    return wide(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")


def wide(inside: str) -> str:
    """Wrap content that may be wider than a phone, so that it scrolls by itself and the page does not."""
    return f'<div class="wide" tabindex="0">{inside}</div>'


def facts(entries: Iterable[tuple[str, Any]]) -> str:
    """Return a list of names and values, without those whose value is None."""
    there = ((name, value) for name, value in entries if value is not None)
    return f"<dl>{''.join(f'<dt>{escape(name)}</dt><dd>{escape(figure(value))}</dd>' for name, value in there)}</dl>"


def bars(shares: Sequence[tuple[str, float, str]]) -> str:
    """Return bars of lengths between 0 and 1, each with a name and a label."""
    each = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td class="bar"><span style="width:{100 * min(share, 1):.1f}%"></span>'
        f'</td><td class="number">{escape(text)}</td></tr>'
        for name, share, text in shares
    )
    return wide(f'<table class="bars"><tbody>{each}</tbody></table>')


def details(summary: str, inside: str) -> str:
    """Return content that is hidden until the reader opens it."""
    return f"<details><summary>{escape(summary)}</summary>{inside}</details>"


FIRST_ROWS, MOST_ROWS = 12, 200
FEW_MORE = 3
"""If at most this many rows follow the first ones, they are shown right away instead of being folded."""


def folded(headers: Sequence[str], rows: Sequence[Sequence[Any]], what: str) -> str:
    """Return the first rows of a table; the reader can open the others."""
    if len(rows) <= FIRST_ROWS + FEW_MORE:
        return table(headers, rows)
    first, rest = table(headers, rows[:FIRST_ROWS]), rows[FIRST_ROWS:MOST_ROWS]
    end = (
        ""
        if len(rows) <= MOST_ROWS
        else paragraph(f"Only the first {MOST_ROWS:,} of {len(rows):,} are listed.", "small")
    )
    return first + details(f"{len(rows) - FIRST_ROWS:,} more {what}", table(headers, rest) + end)


def _cells(row: Sequence[Any]) -> str:
    shown = (("number" if isinstance(one, int | float) else "", figure(one)) for one in row)
    return "".join(f"<td{_class(kind)}>{escape(text)}</td>" for kind, text in shown)


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def figure(value: object) -> str:
    """Return a number with four significant digits, and anything else as it is."""
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, float):
        return "-" if value != value else f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
