"""The exponential dot-product kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from .._rows import Rows
from .bandwidth import LearnedBandwidth, median_squared_distance
from .families import DotProduct


@dataclass(frozen=True, repr=False)
class Exponential(LearnedBandwidth, DotProduct):
    """Exponential dot-product kernel, k(x, y) = exp(gamma <x, y>).

    Parameters
    ----------
    gamma : float or {"scale", "median"}, default=1.0
        The factor of the inner product, written 1 / sigma^2 in the literature. ``"scale"`` and ``"median"`` are
        learned from the rows as for :class:`Gaussian`.

    Examples
    --------
    >>> from mercer.kernels import Exponential
    >>> Exponential(0.5)([[2.0]], [[0.0], [1.0]]).round(3)
    array([[1.   , 2.718]])
    """

    description = "Grows with the inner product of rows; all products of columns count, those of many columns less."
    scale_powers: ClassVar[dict[str, float]] = {"gamma": 0.5}

    gamma: float | str = 1.0

    def _median(self, rows: Rows) -> float:
        return 1.0 / median_squared_distance(rows)

    def value(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._overwritten(np.array(t, dtype=np.float64))

    def _overwritten(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        t *= float(self.gamma)
        return np.exp(t, out=t)

    takes_tensors = True

    def of_tensor(self, t: Any) -> Any:
        return t.mul_(float(self.gamma)).exp_()

    has_gradient = True

    def slope(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        return float(self.gamma) * self.value(t)

    def series(self, count: int) -> NDArray[np.float64]:
        self.check_resolved()
        n = np.arange(count)
        with np.errstate(over="ignore", under="ignore"):
            return np.exp(n * np.log(float(self.gamma)) - gammaln(n + 1.0))
