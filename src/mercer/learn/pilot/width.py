"""How many features a machine has where that is left to the rows: more where more have paid, within a budget.

A trial is made twice, with half the features and with all of them. Where doubling has lowered the error by a share g,
doubling again is taken to lower it by g / 2, then by g / 4, and the width grows for as long as that is worth it. The
budget is in operations, of which the fit is expected to take no more, so that the same rows always have the same width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..._defaults import LEARNER_WIDTH, WIDEST_LEARNER

WORTH = 0.01
"""The share by which the error must fall for twice the features."""
BUDGET, ROW_BUDGET = 1e11, 2e7
"""Operations of a fit, and those that every row adds to them: seconds for thousands of rows, a minute for many more."""


def wider_widths(gain: float) -> Iterator[int]:
    """Yield the widths that are worth their features if doubling has reduced the error by this share, in order."""
    width = LEARNER_WIDTH
    while gain >= WORTH and 2 * width <= WIDEST_LEARNER:
        width, gain = 2 * width, gain / 2.0
        yield width


def width_for(gain: float, n_rows: int, cost: Callable[[int], float], fits: Callable[[int], bool]) -> int:
    """The width for so many rows.

    Parameters
    ----------
    gain : float
        The share by which twice the features have lowered the error of a trial.
    n_rows : int
    cost : callable
        The operations that a fit with this width is expected to take.
    fits : callable
        Whether there is memory for a fit with this width.

    Returns
    -------
    int
        The number of features.

    Examples
    --------
    >>> width_for(0.2, 20_000, lambda width: 1e4 * width**2, lambda width: True)
    4096
    >>> width_for(0.2, 20_000, lambda width: 1e5 * width**2, lambda width: True)
    2048
    """
    chosen = LEARNER_WIDTH
    for width in wider_widths(gain):
        if cost(width) > BUDGET + ROW_BUDGET * n_rows or not fits(width):
            break
        chosen = width
    return chosen
