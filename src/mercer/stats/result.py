"""The result of a test."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .._caller import warn_caller

FEW = 32
"""With fewer rows, random signs give false alarms too often: at a level of 5 %, 6 to 8 % for 16 rows, 28 % for 2."""


class KernelTestResult(NamedTuple):
    """A statistic, and how unusual it is if the null hypothesis holds.

    Attributes
    ----------
    statistic : float
        The estimate of the squared MMD, or of HSIC.
    pvalue : float
        The share of the values in ``null`` that are at least as large as the statistic, which counts as one of them.
    null : ndarray of shape (n_permutations,)
        The statistics of permuted rows, or of rows with random signs.
    method : str
        The method that gave the values in ``null``: "permutation" or "wild".
    """

    statistic: float
    pvalue: float
    null: NDArray[np.float64]
    method: str

    def __repr__(self) -> str:
        test = f"statistic={self.statistic:.6g}, pvalue={self.pvalue:.6g}, method={self.method!r}"
        return f"{type(self).__name__}({test}, null of {len(self.null)} values)"

    @classmethod
    def of(cls, statistic: float, null: NDArray[np.float64], method: str, noise: float = 0.0) -> Self:
        """Return the result for a statistic among its values under the null hypothesis.

        Parameters
        ----------
        statistic : float
            The statistic.
        null : ndarray of shape (n_permutations,)
            Its values under the null hypothesis.
        method : str
            The method that gave the values in ``null``.
        noise : float, default=0.0
            The rounding error of the root of a statistic.

        Returns
        -------
        KernelTestResult
            The result.
        """
        # Numbers that differ only by rounding count as equal: a permutation may exchange equal rows only.
        least = max(float(np.sqrt(statistic)) - noise, 0.0) ** 2
        reached = np.count_nonzero(null >= least * (1.0 - 1e-12))
        return cls(float(statistic), float((1 + reached) / (1 + len(null))), null, method)


def warn_of_few(n_rows: int, remedy: str) -> None:
    """Issue a warning if there are too few rows for random signs."""
    if n_rows < FEW:
        warn_caller(f"p-values from random signs are too small with only {n_rows} rows, fewer than {FEW}: {remedy}")
