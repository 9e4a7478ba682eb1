"""How many features each degree of a series gets: the least expected squared error for a total width."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

MOST_UNITS = 256
"""The width is dealt out in at most so many units; finer would not be felt and the search is quadratic in them."""


class Term(NamedTuple):
    """One degree: its expected squared error as a function of its width, or the width at which it is exact."""

    degree: int
    error: Callable[[NDArray[np.int64]], Vector]
    exact_width: int | None


class Allotment(NamedTuple):
    """Width by degree, the degrees that are exact, and the expected squared error of the whole."""

    widths: dict[int, int]
    exact: tuple[int, ...]
    error: float


def _deal(terms: list[Term], budget: int, omitted: Callable[[int], float], least: int) -> tuple[dict[int, int], float]:
    """The best widths for the first terms, at least so many, by dynamic programming over units of width."""
    unit = -(-budget // MOST_UNITS) if budget > 0 else 1
    unit += unit % 2 if unit > 1 else 0  # an odd width costs a little accuracy
    units = budget // unit
    best = np.zeros(units + 1)
    choices: list[NDArray[np.int64]] = []
    found: tuple[float, int] = (omitted(0) if least == 0 else np.inf, 0)
    for count, term in enumerate(terms, start=1):
        if count > units:
            break
        price = np.full(units + 1, np.inf)
        price[1:] = term.error(unit * np.arange(1, units + 1))
        before = np.arange(units + 1)[:, None] - np.arange(units + 1)[None, :]
        total = np.where(before >= 0, best[np.maximum(before, 0)], np.inf) + price[None, :]
        choices.append(np.argmin(total, axis=1))
        best = total.min(axis=1)
        error = float(best[units]) + omitted(count)
        if count >= least and error < found[0]:
            found = (error, count)
    widths: dict[int, int] = {}
    left = units
    for index in range(found[1] - 1, -1, -1):
        taken = int(choices[index][left])
        widths[terms[index].degree] = taken * unit
        left -= taken
    return widths, found[0]


def _spend(terms: list[Term], widths: dict[int, int], rest: int) -> None:
    """Give what the units left over to the degree that gains most."""
    kept = [term for term in terms if term.degree in widths]
    if not kept or rest == 0:
        return

    def gain(term: Term) -> float:
        now = widths[term.degree]
        return float(term.error(np.array([now]))[0] - term.error(np.array([now + rest]))[0])

    widths[max(kept, key=gain).degree] += rest


def allot(terms: list[Term], width: int, omitted: Callable[[tuple[int, ...]], float]) -> Allotment:
    """Choose widths, and which of degrees 0 and 1 are exact.

    Parameters
    ----------
    terms : the degrees of the series in order
    width : what there is to give
    omitted : the expected squared error of leaving out all but the degrees named
    """
    constant = [term for term in terms if term.degree == 0]
    linear = [term for term in terms if term.degree == 1 and term.exact_width is not None]
    options = [constant, constant + linear] if linear else [constant]
    found = Allotment({}, (), np.inf)
    for exact in options:
        costs = {term.degree: int(term.exact_width or 1) for term in exact}
        budget = width - sum(costs.values())
        if budget < 0:
            continue
        rest = [term for term in terms if term.degree not in costs]

        def left_out(count: int, kept: list[int] = [*costs], rest: list[Term] = rest) -> float:  # noqa: B006
            return omitted((*kept, *(term.degree for term in rest[:count])))

        # A map of zeros may well have the least squared error; nobody wants it.
        widths, error = _deal(rest, budget, left_out, least=0 if costs else 1)
        if error < found.error:
            _spend(rest, widths, budget - sum(widths.values()))
            found = Allotment(costs | widths, tuple(costs), error)
    return found
