r"""The space in which clusters lie: the features of a map, or the features of landmarks, which are never computed.

With landmarks L and the factor T of :math:`k(L, L) = T T^\top`, the features of a row are :math:`T^{-1} k(L, x)`. Means
of features are :math:`T^{-1}` times means of kernel values, and the inner product of a centre c and a row is
:math:`k(x, L) T^{-\top} c`: a pass takes n D operations for every centre, and saves the n D^2 operations of whitened
features. Distances are then the distances of the kernel itself,

.. math:: k(x, x) - 2 k(x, L) T^{-\top} c + \|c\|^2

which exceed the distances between features by the part of a row that the landmarks miss; this part is the same for all
centres.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .._array import squares
from .._tiles import single_threaded_blas
from ..kernels import Kernel
from .features.feature_matrix import FeatureChunk, Features
from .features.prepared_rows import PreparedRows
from .solvers.landmarks import LandmarkRoot

Matrix = NDArray[np.float64]

LENGTH_ROWS = 65536
"""The number of rows that are read at once where only k(x, x) is computed."""


class Centres(NamedTuple):
    """Centres in the form that is needed to compute distances from rows.

    Parameters
    ----------
    points : ndarray of shape (n_clusters, D)
        The vectors by which features are multiplied.
    lengths : ndarray of shape (n_clusters,)
        The squared lengths of the centres.
    """

    points: Matrix
    lengths: Matrix

    def distances(self, Z: NDArray[Any], own: NDArray[Any]) -> NDArray[Any]:
        """Return the squared distances of rows with features Z and squared lengths ``own``."""
        return self.distances_of(Z @ self.points.astype(Z.dtype).T, own)

    def distances_of(self, products: NDArray[Any], own: NDArray[Any]) -> NDArray[Any]:
        """Return squared distances, given the products of features with points."""
        return np.maximum(own[:, None] - 2 * products + self.lengths.astype(products.dtype), 0)


class FeatureSpace:
    """Features as a map computes them.

    Parameters
    ----------
    features : callable
        Returns the features of prepared rows, given the rows and the number of the first.
    """

    def __init__(self, features: Features):
        self.features = features

    def whole(self, X: Any) -> Matrix:
        """Return the coordinates of a few rows, in float64."""
        return self.features(X, 0).astype(np.float64)

    def centres(self, C: Matrix) -> Centres:
        """Return centres at these coordinates."""
        return Centres(C, squares(C))

    def sums(self, totals: Matrix) -> Matrix:
        """Return the sums of coordinates of rows, from the sums of their features."""
        return totals

    def lengths(self, chunk: FeatureChunk, Z: NDArray[Any]) -> NDArray[Any]:
        """Return the squared lengths of the rows of a chunk, given their features Z."""
        return squares(Z)

    @property
    def known_lengths(self) -> NDArray[Any] | None:
        """The squared lengths of all rows, if they are not those of their features."""
        return None

    def measure(self, rows: PreparedRows) -> None:
        """Compute the lengths of all rows, if features are computed without :attr:`features`."""


class LandmarkSpace(FeatureSpace):
    """The features of landmarks, for which only kernel values are computed.

    Parameters
    ----------
    values : callable
        Returns the kernel values of prepared rows at the landmarks, given the rows and the number of the first.
    kernel : Kernel
        The kernel.
    root : LandmarkRoot or None
        The factor of the kernel matrix of the landmarks; None if no centres are to be found.
    n_rows : int
        The number of rows.
    dtype : dtype
        The type of the rows.
    """

    def __init__(self, values: Features, kernel: Kernel, root: LandmarkRoot | None, n_rows: int, dtype: DTypeLike):
        super().__init__(self._watched)
        self._values, self._kernel, self._held_root = values, kernel, root
        self._lengths = np.empty(n_rows, dtype=dtype)

    @property
    def _root(self) -> LandmarkRoot:
        assert self._held_root is not None
        return self._held_root

    def _watched(self, X: Any, first: int) -> NDArray[Any]:
        """Return kernel values; k(x, x) is computed along the way, which saves a separate pass over the rows."""
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

    @property
    def known_lengths(self) -> NDArray[Any]:
        return self._lengths

    def measure(self, rows: PreparedRows) -> None:
        for chunk in rows.chunks(LENGTH_ROWS):
            self._lengths[chunk.first : chunk.last] = self._kernel.diag(chunk.X)
