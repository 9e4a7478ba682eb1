"""How many features each degree of a series gets: the least expected squared error for a total width."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

MOST_UNITS = 256
"""The width is dealt out in at most this many units: more would make no difference, and the search is quadratic."""

TIE = 1e-6
"""Errors that differ by less are equal, so that the last digits of a sum cannot decide between two maps."""


class Term(NamedTuple):
    """One degree: the squared error of leaving it out and, by width, of sketching it; the width that makes it exact."""

    degree: int
    omission: float
    error: Callable[[NDArray[np.int64]], Vector]
    exact_width: int | None


class Allotment(NamedTuple):
    """Width by degree, the degrees that are exact, and the expected squared error of the whole."""

    widths: dict[int, int]
    exact: tuple[int, ...]
    error: float


def rounded(values: Vector) -> Vector:
    """Six digits of each number: what differs beyond them differs from machine to machine."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(mantissa * 2.0**20) / 2.0**20, exponent)


def _deal(
    terms: list[Term], budget: int, omitted: Callable[[tuple[int, ...]], float], needed: set[int], skipping: bool
) -> tuple[dict[int, int], float]:
    """The best widths, the degrees ``needed`` among them, by dynamic programming over units of width.

    With ``skipping``, degrees may be left out before the last one that is kept.
    """
    unit = -(-budget // MOST_UNITS) if budget > 0 else 1
    unit += unit % 2 if unit > 1 else 0  # an odd width costs a little accuracy
    units = budget // unit
    before = np.arange(units + 1)[:, None] - np.arange(units + 1)[None, :]
    best = np.zeros(units + 1)
    prices: list[Vector] = []
    choices: list[NDArray[np.intp]] = []
    found: tuple[dict[int, int], float] = ({}, np.inf if needed else omitted(()))
    for term in terms:
        omission = term.omission if skipping and term.degree not in needed else np.inf
        prices.append(np.array([omission, *term.error(unit * np.arange(1, units + 1))]))
        total = np.where(before >= 0, best[np.maximum(before, 0)], np.inf) + prices[-1][None, :]
        choices.append(np.argmin(total, axis=1))
        best = total.min(axis=1)
        taken = _taken(choices, units)
        widths = {terms[place].degree: count * unit for place, count in taken.items()}
        # Omitted degrees may add up: what the search assumed of them one by one gives way to what they cost together.
        error = omitted(tuple(widths)) + sum(float(prices[place][count]) for place, count in taken.items())
        if needed <= widths.keys() and error < found[1] * (1.0 - TIE):
            found = widths, error
    return found


def _taken(choices: list[NDArray[np.intp]], units: int) -> dict[int, int]:
    """The units that each term took, where any, followed back from the last choice."""
    taken: dict[int, int] = {}
    for place in range(len(choices) - 1, -1, -1):
        count = int(choices[place][units])
        units -= count
        if count > 0:
            taken[place] = count
    return dict(sorted(taken.items()))


def _spend(terms: list[Term], widths: dict[int, int], rest: int) -> None:
    """Give what the units left over to the degree that gains most."""
    kept = [term for term in terms if term.degree in widths]
    if not kept or rest == 0:
        return

    def gain(term: Term) -> float:
        now, then = term.error(widths[term.degree] + np.array([0, rest]))
        return float(now - then)

    widths[max(kept, key=gain).degree] += rest


def _search(terms: list[Term], width: int, omitted: Callable[[tuple[int, ...]], float], needed: set[int]) -> Allotment:
    """The best of what exact low degrees, skipped degrees and widths can do, never a map of nothing."""
    constant = [term for term in terms if term.degree == 0]
    linear = [term for term in terms if term.degree == 1 and term.exact_width is not None]
    found = Allotment({}, (), np.inf)
    for exact in (constant + linear, constant) if linear else (constant,):
        costs = {term.degree: int(term.exact_width or 1) for term in exact}
        budget = width - sum(costs.values())
        if budget < 0:
            continue
        rest = [term for term in terms if term.degree not in costs]

        def left_out(kept: tuple[int, ...], costs: dict[int, int] = costs) -> float:
            return omitted(tuple(sorted((*costs, *kept))))

        for skipping in (False, True):
            widths, error = _deal(rest, budget, left_out, needed - costs.keys() if budget else set(), skipping)
            if (costs or widths) and error < found.error * (1.0 - TIE):
                _spend(rest, widths, budget - sum(widths.values()))
                found = Allotment(costs | widths, tuple(costs), error)
    return found


def allot(terms: list[Term], width: int, omitted: Callable[[tuple[int, ...]], float]) -> Allotment:
    """Choose widths, and which of degrees 0 and 1 are exact.

    Parameters
    ----------
    terms : the degrees of the series in order
    width : what there is to give
    omitted : the squared error, relative to the kernel, of leaving out all but the degrees named
    """
    # A map of next to nothing may well have the least squared error, and nobody wants it: the heaviest degree is kept,
    # unless the width is so small that it would be worse than nothing and something else is there.
    heaviest = {max(terms, key=lambda term: term.omission).degree}
    found = _search(terms, width, omitted, heaviest)
    if found.error <= 1.0:
        return found
    without = _search(terms, width, omitted, set())
    return without if without.exact else found
