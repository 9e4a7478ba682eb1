"""The Cauchy kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._array import Array, dense
from .._rows import Rows
from .bandwidth import median_squared_distance, total_variance
from .column_bandwidths import ColumnBandwidths
from .families import FAR, by_columns, column_derivatives, column_product, refuse_far_rows


@dataclass(frozen=True, repr=False)
class Cauchy(ColumnBandwidths):
    """Cauchy kernel, k(x, y) = prod 1 / (1 + gamma^2 (x_i - y_i)^2).

    Parameters
    ----------
    gamma : float, {"scale", "median"} or tuple of float, default=1.0
        The inverse length scale, or one for every column. ``"scale"`` is 1 / sqrt(n_features * X.var()) and
        ``"median"`` is 1 / the median distance, both learned from the rows.

    Examples
    --------
    >>> from mercer.kernels import Cauchy
    >>> Cauchy(2.0)([[0.0]], [[0.0], [1.0]])
    array([[1. , 0.2]])
    """

    description = "Rows are similar if they are close in every column; similarity falls slowly, with heavy tails."
    scale_powers: ClassVar[dict[str, float]] = {"gamma": 1.0}

    gamma: float | str | tuple[float, ...] = 1.0

    def _scale(self, rows: Rows) -> float:
        return float(1.0 / np.sqrt(total_variance(rows)))

    def _median(self, rows: Rows) -> float:
        return float(1.0 / np.sqrt(median_squared_distance(rows)))

    @property
    def takes_every_row(self) -> bool:
        with np.errstate(over="ignore"):
            return not np.isfinite(np.square(np.float64(self.width) * FAR))

    def check_rows(self, X: Array) -> None:
        if not self.takes_every_row:
            refuse_far_rows(
                self, X, lambda rows: dense(abs(self.coordinates(rows)).max(axis=1)).ravel(), "largest entry"
            )

    def gram(self, X: Array, Y: Array) -> NDArray[np.float64]:
        return self.gram_against(Y)(X)

    def gram_against(self, Y: Array) -> Callable[[Any], NDArray[np.float64]]:
        gamma, Y = self.width, self.coordinates(Y)
        compiled = by_columns("cauchy", Y, gamma)

        def block(X: Array) -> NDArray[np.float64]:
            X = self.coordinates(X)
            values = compiled(X)
            return 1.0 / column_product(lambda delta: 1.0 + (gamma * delta) ** 2, X, Y) if values is None else values

        return block

    has_gradient = True

    def gradients(self, X: Array, Y: Array, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        square, slopes = self.width**2, weights * self.gram(X, Y)

        def term(delta: NDArray[np.float64]) -> NDArray[np.float64]:
            return delta / (1.0 + square * delta**2)

        in_coordinates = column_derivatives(term, self.coordinates(X), self.coordinates(Y), -2.0 * square * slopes)
        return self.coordinates(in_coordinates)  # the chain rule: coordinates multiplies columns

    def quantiles(self, points: NDArray[np.float64], n_features: int) -> NDArray[np.float64]:
        # Each coordinate has the Laplace distribution of scale gamma, whose transform is 1 / (1 + gamma^2 delta^2).
        centred = points - 0.5
        return -self.width * np.sign(centred) * np.log1p(-2.0 * np.abs(centred))

    def spectral_moment(self, n_features: int) -> float:
        return 2.0 * self.width**2 * n_features
