"""The linear and the polynomial kernel."""

from __future__ import annotations

import math
import numbers
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from .._checks import check_whole
from ._bandwidth import LearnedBandwidth, median_squared_distance
from ._families import DotProduct


@dataclass(frozen=True, repr=False)
class Linear(DotProduct):
    """k(x, y) = <x, y>."""

    max_degree = 1

    def value(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        return t

    def series(self, count: int) -> NDArray[np.float64]:
        return (np.arange(count) == 1).astype(np.float64)


@dataclass(frozen=True, repr=False)
class Polynomial(LearnedBandwidth, DotProduct):
    """k(x, y) = (gamma <x, y> + coef0)^degree.

    A negative ``coef0`` is evaluated exactly but has no feature map: the kernel is then not positive definite.

    >>> float(Polynomial(2, coef0=1.0)([[1.0, 2.0]], [[3.0, 0.0]])[0, 0])
    16.0
    """

    degree: int = 2
    _: KW_ONLY
    gamma: float | str = 1.0
    coef0: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("degree", self.degree)
        if not isinstance(self.coef0, numbers.Real) or not np.isfinite(float(self.coef0)):
            raise ValueError(f"coef0 must be a finite number, found {self.coef0!r}")

    def _median(self, rows: Any) -> float:
        return 1.0 / median_squared_distance(rows)

    @property
    def max_degree(self) -> int | None:
        return self.degree

    def value(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        values = np.asarray(float(self.gamma) * t)  # and no other array: t may be a large matrix
        values += self.coef0
        values **= self.degree
        return values

    def series(self, count: int) -> NDArray[np.float64]:
        self.check_resolved()
        if self.coef0 < 0:
            raise ValueError(f"coef0 must not be negative for a feature map, found {self.coef0!r}")
        n = np.arange(min(count, self.degree + 1))
        coefficients = np.zeros(count)
        # In logarithms: a binomial coefficient of a high degree overflows long before its term does.
        binomial = gammaln(self.degree + 1.0) - gammaln(n + 1.0) - gammaln(self.degree - n + 1.0)
        powers = n * math.log(float(self.gamma)) + xlogy(self.degree - n, self.coef0)
        coefficients[: len(n)] = np.exp(binomial + powers)
        return coefficients
