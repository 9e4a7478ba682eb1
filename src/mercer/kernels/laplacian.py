"""The Laplacian kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .bandwidth import LearnedBandwidth, median_manhattan_distance
from .families import FAR, ShiftInvariant, manhattan_distances_to, refuse_far_rows


@dataclass(frozen=True, repr=False)
class Laplacian(LearnedBandwidth, ShiftInvariant):
    """k(x, y) = exp(-gamma sum |x_i - y_i|).

    ``gamma="scale"`` is 1 / (width x variance) as in scikit-learn, ``gamma="median"`` 1 / median 1-norm distance.
    """

    gamma: float | str = 1.0

    def _median(self, rows: Any) -> float:
        return 1.0 / median_manhattan_distance(rows)

    def check_rows(self, X: Any) -> None:
        with np.errstate(over="ignore"):
            reaches = np.exp(-np.float64(self.gamma) * FAR) > 0.0
        if reaches:
            refuse_far_rows(self, X, lambda rows: np.asarray(abs(rows).sum(axis=1)).ravel(), "1-norm")

    def _block(self, X: Any, Y: Any) -> NDArray[np.float64]:
        return self._against(Y)(X)

    def _against(self, Y: Any) -> Callable[[Any], NDArray[np.float64]]:
        distances = manhattan_distances_to(Y)

        def block(X: Any) -> NDArray[np.float64]:
            values = distances(X)
            values *= -float(self.gamma)
            return np.exp(values, out=values)

        return block

    def quantiles(self, points: NDArray[np.float64], n_features: int) -> NDArray[np.float64]:
        # Each coordinate is Cauchy with scale gamma: its characteristic function is exp(-gamma |delta|).
        return float(self.gamma) * np.tan(np.pi * (points - 0.5))

    def spectral_moment(self, n_features: int) -> float:
        return np.inf
