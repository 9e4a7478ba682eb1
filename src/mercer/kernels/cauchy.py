"""The Cauchy kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._array import Array, dense
from .._rows import Rows
from .bandwidth import LearnedBandwidth, median_squared_distance, total_variance
from .families import FAR, ShiftInvariant, by_columns, column_product, refuse_far_rows


@dataclass(frozen=True, repr=False)
class Cauchy(LearnedBandwidth, ShiftInvariant):
    """k(x, y) = prod 1 / (1 + gamma^2 (x_i - y_i)^2).

    gamma is an inverse length: ``"scale"`` is 1 / sqrt(width x variance), ``"median"`` 1 / median distance.
    """

    gamma: float | str = 1.0

    def _scale(self, rows: Rows) -> float:
        return float(1.0 / np.sqrt(total_variance(rows)))

    def _median(self, rows: Rows) -> float:
        return float(1.0 / np.sqrt(median_squared_distance(rows)))

    @property
    def takes_every_row(self) -> bool:
        with np.errstate(over="ignore"):
            return not np.isfinite(np.square(np.float64(self.gamma) * FAR))

    def check_rows(self, X: Array) -> None:
        if not self.takes_every_row:
            refuse_far_rows(self, X, lambda rows: dense(abs(rows).max(axis=1)).ravel(), "largest entry")

    def gram(self, X: Array, Y: Array) -> NDArray[np.float64]:
        return self.gram_against(Y)(X)

    def gram_against(self, Y: Array) -> Callable[[Any], NDArray[np.float64]]:
        gamma = float(self.gamma)
        compiled = by_columns("cauchy", Y, gamma)

        def block(X: Array) -> NDArray[np.float64]:
            values = compiled(X)
            return 1.0 / column_product(lambda delta: 1.0 + (gamma * delta) ** 2, X, Y) if values is None else values

        return block

    def quantiles(self, points: NDArray[np.float64], n_features: int) -> NDArray[np.float64]:
        # Each coordinate is Laplace with scale gamma: its characteristic function is 1 / (1 + gamma^2 delta^2).
        centred = points - 0.5
        return -float(self.gamma) * np.sign(centred) * np.log1p(-2.0 * np.abs(centred))

    def spectral_moment(self, n_features: int) -> float:
        return 2.0 * float(self.gamma) ** 2 * n_features
