"""The Gaussian (RBF) kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._random import Stream
from ._bandwidth import LearnedBandwidth, median_squared_distance
from ._families import ShiftInvariant, squared_distances


@dataclass(frozen=True, repr=False)
class Gaussian(LearnedBandwidth, ShiftInvariant):
    """k(x, y) = exp(-gamma ||x - y||^2).

    ``gamma="scale"`` has scikit-learn's meaning; ``gamma="median"`` is 1 / (2 median squared distance).
    """

    gamma: float | str = 1.0

    def _median(self, rows: Any) -> float:
        return 0.5 / median_squared_distance(rows)

    def _block(self, X: Any, Y: Any) -> NDArray[np.float64]:
        return np.exp(-float(self.gamma) * squared_distances(X, Y))

    def frequencies(self, rng: Stream, count: int, n_features: int) -> NDArray[np.float64]:
        self.check_resolved()
        return np.sqrt(2.0 * float(self.gamma)) * rng.normals((count, n_features))
