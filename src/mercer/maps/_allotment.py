"""Distributing a total width over the degrees of a series so that the expected squared error is smallest."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

MOST_UNITS = 256
"""The width is distributed in at most this many units: more make no difference, and the search is quadratic."""

TIE = 1e-6
"""Errors that differ by less are equal, so that the last digits of a sum cannot decide between two maps."""


class Term(NamedTuple):
    """One degree: its squared error if omitted or sketched at a given width, and the width that makes it exact."""

    degree: int
    omission: float
    error: Callable[[NDArray[np.int64]], Vector]
    exact_width: int | None


class Allotment(NamedTuple):
    """The width of each degree, the degrees that are exact, and the expected squared error of the whole map."""

    widths: dict[int, int]
    exact: tuple[int, ...]
    error: float


def rounded(values: Vector) -> Vector:
    """Round to six digits; beyond them, numbers differ from machine to machine."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(mantissa * 2.0**20) / 2.0**20, exponent)


def _deal(
    terms: list[Term], budget: int, omitted: Callable[[tuple[int, ...]], float], needed: set[int], skipping: bool
) -> tuple[dict[int, int], float]:
    """Find the best widths by dynamic programming over units of width; the degrees in ``needed`` must be included.

    With ``skipping``, degrees before the last included one may be omitted.
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
        # Omitted degrees may add up, so their joint cost replaces what the search assumed of each of them.
        error = omitted(tuple(widths)) + sum(float(prices[place][count]) for place, count in taken.items())
        if needed <= widths.keys() and error < found[1] * (1.0 - TIE):
            found = widths, error
    return found


def _taken(choices: list[NDArray[np.intp]], units: int) -> dict[int, int]:
    """Return the units that each term received, traced back from the last choice."""
    taken: dict[int, int] = {}
    for place in range(len(choices) - 1, -1, -1):
        count = int(choices[place][units])
        units -= count
        if count > 0:
            taken[place] = count
    return dict(sorted(taken.items()))


def _spend(terms: list[Term], widths: dict[int, int], rest: int) -> None:
    """Give the width that remains after division into units to the degree that gains most from it."""
    kept = [term for term in terms if term.degree in widths]
    if not kept or rest == 0:
        return

    def gain(term: Term) -> float:
        now, then = term.error(widths[term.degree] + np.array([0, rest]))
        return float(now - then)

    widths[max(kept, key=gain).degree] += rest


def _search(terms: list[Term], width: int, omitted: Callable[[tuple[int, ...]], float], needed: set[int]) -> Allotment:
    """Search over exact low degrees, skipped degrees and widths for the best map that is not empty."""
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
    """Choose the width of each degree, and which of degrees 0 and 1 are exact.

    Parameters
    ----------
    terms : list of Term
        The degrees of the series in order.
    width : int
        The total width.
    omitted : callable
        The squared error, relative to the kernel, if only the given degrees are kept.

    Returns
    -------
    Allotment
        The best allotment.
    """
    # A nearly empty map may have the least squared error, but is useless: the heaviest degree is therefore kept, unless
    # the width is so small that sketching it would be worse than omitting it and another degree is available.
    heaviest = {max(terms, key=lambda term: term.omission).degree}
    found = _search(terms, width, omitted, heaviest)
    if found.error <= 1.0:
        return found
    without = _search(terms, width, omitted, set())
    return without if without.exact else found
