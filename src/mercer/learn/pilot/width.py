"""The number of features of a machine if it is left open: more if more have paid off, within a budget.

A trial is run twice, with half the features and with all of them. If doubling has reduced the error by a share g,
doubling again is assumed to reduce it by g / 2, then by g / 4, and the width grows for as long as this is worthwhile.
The budget is a number of operations that the fit should not exceed, so the same rows always lead to the same width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..._defaults import LEARNER_WIDTH, WIDEST_LEARNER

WORTH = 0.01
"""The share by which doubling the features must reduce the error."""
BUDGET, ROW_BUDGET = 1e11, 2e7
"""The operations of a fit, plus those for each row: seconds for thousands of rows, a minute for many more."""


def wider_widths(gain: float) -> Iterator[int]:
    """Yield the widths that are worth their features if doubling has reduced the error by this share, in order."""
    width = LEARNER_WIDTH
    while gain >= WORTH and 2 * width <= WIDEST_LEARNER:
        width, gain = 2 * width, gain / 2.0
        yield width


def width_for(gain: float, n_rows: int, cost: Callable[[int], float], fits: Callable[[int], bool]) -> int:
    """Return the width for this number of rows.

    Parameters
    ----------
    gain : float
        The share by which doubling the features has reduced the error of a trial.
    n_rows : int
    cost : callable
        Returns the expected operations of a fit with this width.
    fits : callable
        Returns whether there is memory for a fit with this width.

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
