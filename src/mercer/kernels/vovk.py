"""Vovk's real and infinite polynomial kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._checks import check_whole
from .families import DotProduct


@dataclass(frozen=True, repr=False)
class VovkReal(DotProduct):
    """Vovk's real polynomial kernel, k(x, y) = 1 + t + ... + t^(degree-1) with t = <x, y>.

    Parameters
    ----------
    degree : int
        The number of terms.

    Examples
    --------
    >>> from mercer.kernels import VovkReal
    >>> VovkReal(3)([[2.0]])
    array([[21.]])
    """

    description = "The first few powers of the inner product of rows, all with the same weight."

    degree: int

    def __post_init__(self) -> None:
        check_whole("degree", self.degree)

    @property
    def max_degree(self) -> int | None:
        return self.degree - 1

    def value(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        # The sum itself, because the closed form is 0 / 0 at t = 1.
        total = np.ones_like(t)
        for _ in range(self.degree - 1):
            total = total * t + 1.0
        return total

    def series(self, count: int) -> NDArray[np.float64]:
        return (np.arange(count) < self.degree).astype(np.float64)


@dataclass(frozen=True, repr=False)
class VovkInfinite(DotProduct):
    """Vovk's infinite polynomial kernel, k(x, y) = 1 / (1 - <x, y>), for rows of norm below 1.

    Examples
    --------
    >>> from mercer.kernels import VovkInfinite
    >>> VovkInfinite()([[0.5]]).round(3)
    array([[1.333]])
    """

    description = "All powers of the inner product of rows, all with the same weight."

    radius = 1.0

    def value(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        return 1.0 / (1.0 - t)

    has_gradient = True

    def slope(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        return 1.0 / (1.0 - t) ** 2

    def series(self, count: int) -> NDArray[np.float64]:
        return np.ones(count)
