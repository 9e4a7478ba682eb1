"""The Laplacian kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._array import Array
from .._rows import Rows
from .bandwidth import median_manhattan_distance
from .column_bandwidths import ColumnBandwidths
from .families import FAR, column_derivatives, manhattan_distances_to, refuse_far_rows


@dataclass(frozen=True, repr=False)
class Laplacian(ColumnBandwidths):
    """Laplacian kernel, k(x, y) = exp(-gamma sum |x_i - y_i|).

    Parameters
    ----------
    gamma : float, {"scale", "median"} or tuple of float, default=1.0
        The inverse length scale. ``"scale"`` is 1 / (n_features * X.var()), as in scikit-learn; ``"median"`` is
        1 / the median 1-norm distance. With one number per column, the kernel is exp(-sum gamma_i |x_i - y_i|).

    Examples
    --------
    >>> from mercer.kernels import Laplacian
    >>> Laplacian(0.5)([[0.0, 0.0]], [[0.0, 0.0], [1.0, 1.0]]).round(3)
    array([[1.   , 0.368]])
    """

    description = "Rows are similar if they are close in every column; similarity falls sharply, to allow for kinks."
    scale_powers: ClassVar[dict[str, float]] = {"gamma": 1.0}

    gamma: float | str | tuple[float, ...] = 1.0

    def _median(self, rows: Rows) -> float:
        return 1.0 / median_manhattan_distance(rows)

    @property
    def takes_every_row(self) -> bool:
        with np.errstate(over="ignore"):
            return not np.exp(-self.width * np.float64(FAR)) > 0.0

    def check_rows(self, X: Array) -> None:
        if not self.takes_every_row:
            refuse_far_rows(self, X, lambda rows: np.asarray(abs(self.coordinates(rows)).sum(axis=1)).ravel(), "1-norm")

    def gram(self, X: Array, Y: Array) -> NDArray[np.float64]:
        return self.gram_against(Y)(X)

    def gram_against(self, Y: Array) -> Callable[[Any], NDArray[np.float64]]:
        distances = manhattan_distances_to(self.coordinates(Y))

        def block(X: Array) -> NDArray[np.float64]:
            values = distances(self.coordinates(X))
            values *= -self.width
            return np.exp(values, out=values)

        return block

    has_gradient = True

    def gradients(self, X: Array, Y: Array, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        slopes = -self.width * weights * self.gram(X, Y)
        return self.coordinates(column_derivatives(np.sign, X, Y, slopes))  # X and its coordinates have equal signs

    def quantiles(self, points: NDArray[np.float64], n_features: int) -> NDArray[np.float64]:
        # Each coordinate has the Cauchy distribution of scale gamma, whose transform is exp(-gamma |delta|).
        return self.width * np.tan(np.pi * (points - 0.5))

    def spectral_moment(self, n_features: int) -> float:
        return np.inf
