"""Which of the scores of rows that were not learned from bounds that of a new row.

Of n + 1 scores whose order is random, the last is among the k smallest with a probability of k / (n + 1) at least.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

ROUNDING = 1e-9
"""How far a product may be above a whole number that it is taken for."""
FEW = 4096
"""Rows whose values are sorted one by one; those of more are counted by machine."""
HALVINGS = 64
"""Of an interval, until rounding is all that is left of it."""


def rank(coverage: float, count: int) -> int:
    """The place, from 1 on, of the score among so many that covers a new one; one more than all where none does."""
    return min(count + 1, int(np.ceil((count + 1) * coverage * (1.0 - ROUNDING))))


def bound(scores: Matrix, coverage: float) -> float:
    """The score that a new one is not above, with this probability at least; infinity where there are too few.

    Examples
    --------
    >>> import numpy as np
    >>> bound(np.arange(1.0, 20.0), 0.9), bound(np.arange(1.0, 4.0), 0.9)
    (18.0, inf)
    """
    place = rank(coverage, len(scores))
    return float(np.partition(scores, place - 1)[place - 1]) if place <= len(scores) else np.inf


def smallest(centres: Matrix, machine: NDArray[np.int64], residuals: Matrix, place: int) -> Matrix:
    """The value at this place, from 1 on, among those of all rows, for every new row.

    Parameters
    ----------
    centres : ndarray of shape (n_new_rows, n_machines)
        What every machine predicts for every new row.
    machine, residuals : ndarray of shape (n_rows,)
        The values are ``centres[:, machine] + residuals``.
    place : int
        Up to the number of rows; infinity is what is found beyond, and minus infinity at 0.
    """
    if not 1 <= place <= len(residuals):
        return np.full(len(centres), -np.inf if place < 1 else np.inf)
    if len(residuals) <= FEW:
        return np.partition(centres[:, machine] + residuals, place - 1, axis=1)[:, place - 1]
    parts = [np.sort(residuals[machine == one]) for one in range(centres.shape[1])]
    low = centres.min(axis=1) + residuals.min()
    high = centres.max(axis=1) + residuals.max()
    for _ in range(HALVINGS):  # as many values as the place asks for are never above high
        middle = low + 0.5 * (high - low)
        count = sum(
            np.searchsorted(part, middle - centre, "right") for part, centre in zip(parts, centres.T, strict=True)
        )
        enough = count >= place
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high
