"""Sentences of a paper, and in how many cases our runs confirm them.

Two sets of runs are level if their means differ by at most one sample deviation of each, so that their bands in a
picture overlap. If runs with the same seed share their rows, the differences run by run are compared with 0 by the
same rule. For times and errors, which span orders of magnitude, these are differences of logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import NamedTuple

from cells import Found, column
from pictures import deviation

FEW = 4
"""A claim names at most this many cases; if there are more, it gives their number."""


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper, and what we found."""

    text: str
    holds: bool | tuple[int, int] | None
    """Whether the claim holds, or in how many of how many cases; None if cells are missing."""
    figure: str
    ours: bool = False
    """Whether the claim is not from the paper but ours: a correction, or a statement about Mercer."""

    @property
    def verdict(self) -> str:
        if isinstance(self.holds, tuple):
            cases, count = self.holds
            words = {0: "does not hold", count: "holds"}.get(cases, f"holds in {cases} of {count} cases")
            return words if count else "not measured yet"
        return {True: "holds", False: "does not hold", None: "not measured yet"}[self.holds]

    def __str__(self) -> str:
        figure = "" if self.verdict == "not measured yet" else f" ({self.figure})"
        return f"**{self.verdict}**: {'*ours*: ' if self.ours else ''}{self.text}{figure}"


class Case(NamedTuple):
    """One set of runs compared with another."""

    amount: float
    """The difference to the other in points of accuracy; for all other quantities, the ratio."""
    side: int
    """1 if it is above the other, 0 if the two are level, -1 if it is below."""
    unit: str


MISSING = Case(math.nan, 0, "")


def side(values: Sequence[float], others: Sequence[float] = (0.0,)) -> int:
    apart = fmean(values) - fmean(others)
    return 0 if abs(apart) <= deviation(values) + deviation(others) else int(math.copysign(1.0, apart))


def runs(found: Found, cell: str, quantity: str) -> list[float]:
    """Return a quantity for every run; if an exact machine was not run, the forecast of its time."""
    return column(found, cell, quantity) or (column(found, cell, "predicted") if quantity == "processor" else [])


def beside(found: Found, first: str, second: str, quantity: str = "score") -> Case:
    one, other = runs(found, first, quantity), runs(found, second, quantity)
    if not one or not other:
        return MISSING
    if quantity == "score":
        return Case(fmean(one) - fmean(other), side(one, other), "points")
    return Case(median(one) / median(other), side(one, other), "times")


def differences(found: Found, first: str, second: str, quantity: str = "score") -> list[float]:
    scale = float if quantity == "score" else math.log
    both = ((one, found.get((second, seed), {})) for (cell, seed), one in sorted(found.items()) if cell == first)
    return [scale(one[quantity]) - scale(two[quantity]) for one, two in both if quantity in one and quantity in two]


def run_by_run(values: Sequence[float], quantity: str = "score") -> Case:
    """Judge a comparison by the differences of its runs."""
    if not values:
        return MISSING
    if quantity == "score":
        return Case(fmean(values), side(values), "points")
    return Case(math.exp(fmean(values)), side(values), "times")


def counted(
    text: str, cases: Mapping[str, Case], figure: str = "", ours: bool = False, or_level: bool = False, over: float = 0
) -> Claim:
    """Claim that the first is above the second (or level, if that is enough), and count in how many cases it is."""
    there = {name: case for name, case in cases.items() if case is not MISSING}
    above, level, reverse = ([name for name, case in there.items() if case.side == one] for one in (1, 0, -1))
    less_so = [name for name in above if there[name].amount <= over]
    parts = [figure or span((case.amount for case in there.values()), *{case.unit for case in there.values()})]
    for words, names in (("less so", less_so), ("level", level), ("the reverse", reverse)):
        if names:
            count = "all" if len(names) == len(there) else len(names)
            parts.append(f"{words} in {count}" + (f": {', '.join(names)}" if count in range(FEW + 1) else ""))
    held = len(above) - len(less_so) + or_level * len(level)
    return Claim(text, (held, len(there)), "; ".join(parts), ours)


def met(
    text: str,
    values: Mapping[str, float] | Iterable[float],
    least: float = -math.inf,
    most: float = math.inf,
    unit: str = "",
    ours: bool = False,
) -> Claim:
    """Claim that numbers lie between two bounds, and count in how many cases they do; numbers with names are listed."""
    listed = values.items() if isinstance(values, Mapping) else enumerate(values)
    there = [(name, value) for name, value in listed if not math.isnan(value)]
    figure = span((value for _, value in there), unit)
    if isinstance(values, Mapping):
        figure = ", ".join(f"{name} {value:.{2 if value < 10.0 else 0}f}" for name, value in there)
    return Claim(text, (sum(least <= value <= most for _, value in there), len(there)), figure, ours)


def span(values: Iterable[float], unit: str = "") -> str:
    """Format the smallest and the largest of the values that are not missing."""
    there = sorted(value for value in values if not math.isnan(value))
    points = unit == "points"
    ends = dict.fromkeys(f"{round(end, 1) + 0.0:+.1f}" if points else short(end) for end in (*there[:1], *there[-1:]))
    return f"{' to '.join(ends)} {unit}".strip()


def short(value: float, digits: int = 2) -> str:
    """Format a number without a power of ten."""
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:#.{digits}g}" if 1.0 <= rounded < 10.0 else f"{rounded:g}"
