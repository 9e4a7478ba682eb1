r"""Where clusters lie: among the features of a map, or among those of landmarks, which are never made.

With landmarks L and the factor T of :math:`k(L, L) = T T^\top`, the features of a row are :math:`T^{-1} k(L, x)`. Means
of features are :math:`T^{-1}` times means of kernel values, and a centre c has the product
:math:`k(x, L) T^{-\top} c` with a row: a pass takes n D operations for every centre, and none of the n D^2 that
whitened features take. Distances are then those of the kernel itself,

.. math:: k(x, x) - 2 k(x, L) T^{-\top} c + \|c\|^2

which exceed distances among features by what the landmarks leave of a row, and that is the same for all centres.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._array import squares
from .._tiles import single_threaded_blas
from ..kernels import Kernel
from .features.feature_matrix import FeatureChunk, Features
from .solvers.landmarks import LandmarkRoot

Matrix = NDArray[np.float64]


class Centres(NamedTuple):
    """Centres as distances from rows need them.

    Parameters
    ----------
    points : ndarray of shape (n_clusters, D)
        What features are multiplied by.
    lengths : ndarray of shape (n_clusters,)
        The squared lengths of the centres.
    """

    points: Matrix
    lengths: Matrix

    def distances(self, Z: NDArray[Any], own: NDArray[Any]) -> NDArray[Any]:
        """The squared distances of rows with features Z and squared lengths ``own``."""
        products = Z @ self.points.astype(Z.dtype).T
        return np.maximum(own[:, None] - 2 * products + self.lengths.astype(Z.dtype), 0)


class FeatureSpace:
    """Features as a map makes them.

    Parameters
    ----------
    features : callable
        The features of prepared rows, given with the number of the first.
    """

    def __init__(self, features: Features):
        self.features = features

    def whole(self, X: Any) -> Matrix:
        """The coordinates of a few rows, in float64."""
        return self.features(X, 0).astype(np.float64)

    def centres(self, C: Matrix) -> Centres:
        """Centres at these coordinates."""
        return Centres(C, squares(C))

    def sums(self, totals: Matrix) -> Matrix:
        """The sums of coordinates of rows, from those of their features."""
        return totals

    def lengths(self, chunk: FeatureChunk, Z: NDArray[Any]) -> NDArray[Any]:
        """The squared lengths of the rows of a chunk with features Z."""
        return squares(Z)


class LandmarkSpace(FeatureSpace):
    """The features of landmarks, of which only kernel values are made.

    Parameters
    ----------
    values : callable
        The kernel values of prepared rows at the landmarks, given with the number of the first.
    kernel : Kernel
    root : LandmarkRoot or None
        None where no centres are to be found.
    n_rows : int
    dtype : dtype
        That of the rows.
    """

    def __init__(self, values: Features, kernel: Kernel, root: LandmarkRoot | None, n_rows: int, dtype: Any):
        super().__init__(self._watched)
        self._values, self._kernel, self._held_root = values, kernel, root
        self._lengths = np.empty(n_rows, dtype=dtype)

    @property
    def _root(self) -> LandmarkRoot:
        assert self._held_root is not None
        return self._held_root

    def _watched(self, X: Any, first: int) -> NDArray[Any]:
        """Kernel values; k(x, x) is found in passing, since no pass over the rows is made for it alone."""
        self._lengths[first : first + X.shape[0]] = self._kernel.diag(X)
        return self._values(X, first)

    def whole(self, X: Any) -> Matrix:
        with single_threaded_blas():
            return self._root.features(self._values(X, 0).astype(np.float64))

    def centres(self, C: Matrix) -> Centres:
        with single_threaded_blas():
            return Centres(np.ascontiguousarray(self._root.coefficients(C.T).T), squares(C))

    def sums(self, totals: Matrix) -> Matrix:
        with single_threaded_blas():
            return self._root.turned(totals.T).T

    def lengths(self, chunk: FeatureChunk, Z: NDArray[Any]) -> NDArray[Any]:
        return self._lengths[chunk.rows]
