"""What a test finds."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray


class KernelTestResult(NamedTuple):
    """A statistic and how unusual it is where the hypothesis holds.

    Attributes
    ----------
    statistic : float
        The estimate of the squared MMD, or of HSIC.
    pvalue : float
        The share of the values below that are at least as large as the statistic, which counts as one of them.
    null : ndarray of shape (n_permutations,)
        The statistic of permuted rows, or of rows with random signs.
    method : str
        How these were made: "permutation" or "wild".
    """

    statistic: float
    pvalue: float
    null: NDArray[np.float64]
    method: str

    @classmethod
    def of(cls, statistic: float, null: NDArray[np.float64], method: str) -> Self:
        """The result of a statistic among its values under the hypothesis."""
        # What rounding tells apart are equal numbers: a permutation may only exchange equal rows.
        reached = np.count_nonzero(null >= statistic * (1.0 - 1e-12))
        return cls(float(statistic), float((1 + reached) / (1 + len(null))), null, method)
