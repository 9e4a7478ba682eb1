"""The score of a calibration row that bounds the score of a new row.

Among n + 1 scores in random order, the last is one of the k smallest with a probability of at least k / (n + 1).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

ROUNDING = 1e-9
"""How far a product may exceed an integer and still be treated as that integer."""
FEW = 4096
"""Up to this number of rows, their values are sorted; with more rows, values are counted machine by machine."""
HALVINGS = 64
"""The number of times to halve an interval until only rounding errors are left."""


def rank(coverage: float, count: int) -> int:
    """Return the position, starting with 1, of the score that covers a new one; ``count + 1`` if none does."""
    return min(count + 1, int(np.ceil((count + 1) * coverage * (1.0 - ROUNDING))))


def bound(scores: Matrix, coverage: float) -> float:
    """Return the score that a new one does not exceed with at least this probability; infinity if there are too few.

    Examples
    --------
    >>> import numpy as np
    >>> bound(np.arange(1.0, 20.0), 0.9), bound(np.arange(1.0, 4.0), 0.9)
    (18.0, inf)
    """
    place = rank(coverage, len(scores))
    return float(np.partition(scores, place - 1)[place - 1]) if place <= len(scores) else np.inf


def smallest(centres: Matrix, machine: NDArray[np.int64], residuals: Matrix, place: int) -> Matrix:
    """Return, for every new row, the value at this position (starting with 1) among the values of all rows.

    Parameters
    ----------
    centres : ndarray of shape (n_new_rows, n_machines)
        The prediction of every machine for every new row.
    machine : ndarray of shape (n_rows,)
        The machine of every row.
    residuals : ndarray of shape (n_rows,)
        The residuals; the values are ``centres[:, machine] + residuals``.
    place : int
        The position. Beyond the number of rows the value is infinite, and at 0 minus infinity.

    Returns
    -------
    ndarray of shape (n_new_rows,)
        The values.
    """
    if not 1 <= place <= len(residuals):
        return np.full(len(centres), -np.inf if place < 1 else np.inf)
    if len(residuals) <= FEW:
        return np.partition(centres[:, machine] + residuals, place - 1, axis=1)[:, place - 1]
    parts = [np.sort(residuals[machine == one]) for one in range(centres.shape[1])]
    low = centres.min(axis=1) + residuals.min()
    high = centres.max(axis=1) + residuals.max()
    for _ in range(HALVINGS):  # at least ``place`` values never exceed high
        middle = low + 0.5 * (high - low)
        count = sum(
            np.searchsorted(part, middle - centre, "right") for part, centre in zip(parts, centres.T, strict=True)
        )
        enough = count >= place
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high
