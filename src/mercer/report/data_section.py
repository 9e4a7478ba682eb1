"""The part of a page that describes the data of one model."""

from __future__ import annotations

from collections.abc import Sequence

from .data_summary import ColumnSummary, RowSummary
from .model_charts import values_picture
from .page import bars, facts, figure, folded, paragraph, section
from .pictures import pictures

MOST_CLASSES = 30
HEADERS = ("column", "mean", "std dev", "min", "max", "missing, %")


def data_section(found: RowSummary, held_out: int) -> str:
    """Return a description of the rows, the columns and the target."""
    levels = [column for column in found.columns if column.levels is not None]
    held = [
        ("training rows", found.rows),
        ("held-out rows", held_out),
        ("columns", f"{len(found.columns):,}, {len(levels):,} of them text or true/false" if levels
         else f"{len(found.columns):,}, all numbers"),
        ("missing values", _gaps(found.columns)),
    ]  # fmt: skip
    target = _classes(found.classes) if found.classes is not None else pictures(values_picture(found.values))
    parts = [facts(held), "<h3>Target</h3>", target, "<h3>Columns</h3>", _columns(found)]
    if found.prepared:
        parts += [
            "<h3>Preparation</h3>",
            *(paragraph(f"{sentence[0].upper()}{sentence[1:]}.") for sentence in found.prepared),
        ]
    return section("Data", *parts)


def _gaps(columns: Sequence[ColumnSummary]) -> str:
    with_some = sum(column.gaps > 0.0 for column in columns)
    return "none" if with_some == 0 else f"in {with_some:,} of {len(columns):,} columns"


def _classes(classes: dict[str, float]) -> str:
    """Return the frequency of every class, the largest first if there are many."""
    total = sum(classes.values())
    shown = list(classes.items())
    if len(shown) > MOST_CLASSES:
        shown = sorted(shown, key=lambda one: -one[1])[:MOST_CLASSES]
    most = max(classes.values())
    each = [(name, count / most, f"{figure(round(count))}, {100 * count / total:.1f} %") for name, count in shown]
    more = f"The {MOST_CLASSES} largest of {len(classes):,} classes." if len(shown) < len(classes) else ""
    return bars(each) + (paragraph(more, "small") if more else "")


def _columns(found: RowSummary) -> str:
    numbers = [one for one in found.columns if one.levels is None]
    levels = [one for one in found.columns if one.levels is not None]
    parts = []
    if numbers:
        rows = [(one.name, one.mean, one.deviation, one.least, one.most, 100 * one.gaps) for one in numbers]
        parts.append(folded(HEADERS, rows, "number columns"))
    if levels:
        named = [(one.name, len(one.levels or ()), _often(one), 100 * one.gaps) for one in levels]
        parts.append(folded(("column", "levels", "most frequent", "missing, %"), named, "text columns"))
    return "".join(parts)


def _often(column: ColumnSummary) -> str:
    shares = sorted((column.levels or {}).items(), key=lambda one: -one[1])[:3]
    return ", ".join(f"{name} ({100 * share:.0f} %)" for name, share in shares)
