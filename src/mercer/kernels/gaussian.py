"""The Gaussian (RBF) kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from .._random import Stream
from .._rows import Rows
from .bandwidth import median_squared_distance
from .column_bandwidths import ColumnBandwidths
from .families import Radial


@dataclass(frozen=True, repr=False)
class Gaussian(ColumnBandwidths, Radial):
    """Gaussian (RBF) kernel, k(x, y) = exp(-gamma ||x - y||^2).

    Parameters
    ----------
    gamma : float, {"scale", "median"} or tuple of float, default=1.0
        The inverse squared length scale. ``"scale"`` is 1 / (n_features * X.var()), as in scikit-learn; ``"median"``
        is 1 / (2 * the median squared distance). With one number per column, the kernel is
        exp(-sum gamma_i (x_i - y_i)^2).

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> Gaussian(0.5)([[0.0, 0.0]], [[0.0, 0.0], [1.0, 1.0]]).round(3)
    array([[1.   , 0.368]])
    >>> float(Gaussian((0.0625, 1.0))([[4.0, 1.0]], [[0.0, 2.0]])[0, 0]) == math.exp(-2.0)
    True
    """

    description = "Rows are similar if they are close; similarity falls smoothly with the squared distance."
    scale_powers: ClassVar[dict[str, float]] = {"gamma": 0.5}

    gamma: float | str | tuple[float, ...] = 1.0

    def factor(self, widths: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.sqrt(widths)

    def _median(self, rows: Rows) -> float:
        return 0.5 / median_squared_distance(rows)

    @property
    def _shape(self) -> tuple[str, float]:
        return "gaussian", self.width

    def radial(self, squares: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.exp(-self.width * squares)

    def radial_slope(self, squares: NDArray[np.float64]) -> NDArray[np.float64]:
        return -self.width * self.radial(squares)

    def quantiles(self, points: NDArray[np.float64], n_features: int) -> NDArray[np.float64]:
        return math.sqrt(2.0 * self.width) * ndtri(points)

    def scales(self, rng: Stream, count: int) -> NDArray[np.float64]:
        return np.full(count, math.sqrt(2.0 * self.width))

    def spectral_moment(self, n_features: int) -> float:
        return 2.0 * self.width * n_features
