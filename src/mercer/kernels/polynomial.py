"""The linear and polynomial kernels."""

from __future__ import annotations

import math
import numbers
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from .._array import Array
from .._checks import check_whole
from .._rows import Rows
from .bandwidth import LearnedBandwidth, median_squared_distance
from .families import CACHED_ELEMENTS, DotProduct, inner_products

MULTIPLIED = 8
"""Powers up to this one are computed as products: accurate to a few units in the last place and much faster."""


@dataclass(frozen=True, repr=False)
class Linear(DotProduct):
    """Linear kernel, k(x, y) = <x, y>.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, 0.0]])
    array([[3.]])
    """

    description = "The inner product of rows: the learned function is linear in the columns."

    max_degree = 1

    takes_tensors = True

    def value(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        return t

    def of_tensor(self, t: Any) -> Any:
        return t

    def series(self, count: int) -> NDArray[np.float64]:
        return (np.arange(count) == 1).astype(np.float64)


@dataclass(frozen=True, repr=False)
class Polynomial(LearnedBandwidth, DotProduct):
    """Polynomial kernel, k(x, y) = (gamma <x, y> + coef0)^degree.

    Parameters
    ----------
    degree : int, default=2
        The degree.
    gamma : float or {"scale", "median"}, default=1.0
        The factor of the inner product. ``"scale"`` and ``"median"`` are learned from the rows as for
        :class:`Gaussian`.
    coef0 : float, default=0.0
        The constant term. A kernel with a negative constant is evaluated exactly but has no feature map, because it is
        not positive definite.

    Examples
    --------
    >>> float(Polynomial(2, coef0=1.0)([[1.0, 2.0]], [[3.0, 0.0]])[0, 0])
    16.0
    """

    description = "A power of the inner product of rows: the learned function is a polynomial in the columns."
    scale_powers: ClassVar[dict[str, float]] = {"gamma": 0.5}

    degree: int = 2
    _: KW_ONLY
    gamma: float | str = 1.0
    coef0: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("degree", self.degree)
        if not isinstance(self.coef0, numbers.Real) or not np.isfinite(float(self.coef0)):
            raise ValueError(f"coef0 must be a finite number, found {self.coef0!r}")

    def _median(self, rows: Rows) -> float:
        return 1.0 / median_squared_distance(rows)

    @property
    def max_degree(self) -> int | None:
        return self.degree

    def value(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._overwritten(np.array(t, dtype=np.float64))

    def _overwritten(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        t *= float(self.gamma)
        t += self.coef0
        if self.degree > MULTIPLIED:
            return np.power(t, self.degree, out=t)
        rows = np.atleast_2d(t)
        step = max(1, CACHED_ELEMENTS // rows.shape[1])
        for start in range(0, rows.shape[0], step):
            part = rows[start : start + step]
            base = part.copy()
            for _ in range(self.degree - 1):
                part *= base
        return t

    takes_tensors = True

    def of_tensor(self, t: Any) -> Any:
        return t.mul_(float(self.gamma)).add_(float(self.coef0)).pow_(self.degree)

    def other_field_gradients(self, X: Array, Y: Array, weights: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        if not self.coef0 > 0.0:
            return {}
        of_products = (weights * self.slope(inner_products(X, Y))).sum()
        return {"coef0": np.asarray(of_products * self.coef0 / self.gamma)}

    def slope(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        base = float(self.gamma) * t + self.coef0
        return np.asarray(self.degree * float(self.gamma) * base ** (self.degree - 1))

    def series(self, count: int) -> NDArray[np.float64]:
        self.check_resolved()
        if self.coef0 < 0:
            raise ValueError(f"coef0 must not be negative for a feature map, found {self.coef0!r}")
        n = np.arange(min(count, self.degree + 1))
        coefficients = np.zeros(count)
        # In logarithms, because a binomial coefficient of high degree overflows long before its term does.
        binomial = gammaln(self.degree + 1.0) - gammaln(n + 1.0) - gammaln(self.degree - n + 1.0)
        powers = n * math.log(float(self.gamma)) + xlogy(self.degree - n, self.coef0)
        coefficients[: len(n)] = np.exp(binomial + powers)
        return coefficients
