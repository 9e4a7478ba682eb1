"""The Gaussian (RBF) kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from .._random import Stream
from .._rows import Rows
from .bandwidth import LearnedBandwidth, median_squared_distance
from .families import Radial


@dataclass(frozen=True, repr=False)
class Gaussian(LearnedBandwidth, Radial):
    """k(x, y) = exp(-gamma ||x - y||^2).

    ``gamma="scale"`` has scikit-learn's meaning; ``gamma="median"`` is 1 / (2 median squared distance).
    """

    gamma: float | str = 1.0

    def _median(self, rows: Rows) -> float:
        return 0.5 / median_squared_distance(rows)

    @property
    def _shape(self) -> tuple[str, float]:
        return "gaussian", float(self.gamma)

    def radial(self, squares: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.exp(-float(self.gamma) * squares)

    def quantiles(self, points: NDArray[np.float64], n_features: int) -> NDArray[np.float64]:
        return math.sqrt(2.0 * float(self.gamma)) * ndtri(points)

    def scales(self, rng: Stream, count: int) -> NDArray[np.float64]:
        return np.full(count, math.sqrt(2.0 * float(self.gamma)))

    def spectral_moment(self, n_features: int) -> float:
        return 2.0 * float(self.gamma) * n_features
