"""The Cauchy kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._random import Stream
from ._bandwidth import LearnedBandwidth, median_squared_distance, total_variance
from ._families import ShiftInvariant


@dataclass(frozen=True, repr=False)
class Cauchy(LearnedBandwidth, ShiftInvariant):
    """k(x, y) = prod 1 / (1 + gamma^2 (x_i - y_i)^2).

    gamma is an inverse length: ``"scale"`` is 1 / sqrt(width x variance), ``"median"`` 1 / median distance.
    """

    gamma: float | str = 1.0

    def _scale(self, rows: Any) -> float:
        return float(1.0 / np.sqrt(total_variance(rows)))

    def _median(self, rows: Any) -> float:
        return float(1.0 / np.sqrt(median_squared_distance(rows)))

    def _block(self, X: Any, Y: Any) -> NDArray[np.float64]:
        # Column by column: the kernel does not pass through an inner product, and n x m x d would not fit.
        columns: Any = range(X.shape[1])
        if sp.issparse(X) or sp.issparse(Y):
            X, Y = sp.csc_array(X), sp.csc_array(Y)
            occupied = np.diff(X.indptr) + np.diff(Y.indptr)
            columns = np.flatnonzero(occupied)
        reciprocal = np.ones((X.shape[0], Y.shape[0]))
        for j in columns:
            x, y = (M[:, [j]].toarray().ravel() if sp.issparse(M) else M[:, j] for M in (X, Y))
            reciprocal *= 1.0 + (float(self.gamma) * (x[:, None] - y[None, :])) ** 2
        return 1.0 / reciprocal

    def frequencies(self, rng: Stream, count: int, n_features: int) -> NDArray[np.float64]:
        self.check_resolved()
        # Each coordinate is Laplace with scale gamma: its characteristic function is 1 / (1 + gamma^2 delta^2).
        centred = rng.uniforms((count, n_features)) - 0.5
        return -float(self.gamma) * np.sign(centred) * np.log1p(-2.0 * np.abs(centred))
