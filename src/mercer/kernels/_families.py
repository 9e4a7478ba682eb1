"""The families that have feature maps of their own: dot-product, shift-invariant and rotation-invariant kernels."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.metrics.pairwise import manhattan_distances as sklearn_manhattan_distances

from .._array import dense, squares
from .._random import Stream
from ._base import BLOCK_ELEMENTS, Kernel, row_values

CANCELLED = 1e-6
"""Below this fraction of the squared norms, a squared distance made from inner products is computed again."""


def inner_products(X: Any, Y: Any) -> NDArray[np.float64]:
    """The matrix of inner products, dense."""
    values = X @ Y.T
    return values.toarray() if sp.issparse(values) else values


class DotProduct(Kernel):
    """k(x, y) = f(<x, y>) with f(t) = sum a_n t^n, a_n >= 0."""

    is_dot_product = True

    @abstractmethod
    def value(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """f(t)."""

    def _block(self, X: Any, Y: Any) -> NDArray[np.float64]:
        return self.value(inner_products(X, Y))

    def _diagonal(self, X: Any) -> NDArray[np.float64]:
        return self.value(squares(X))

    def check_rows(self, X: Any) -> None:
        if np.isfinite(self.radius):
            # In float64: at the edge of the domain float32 would let through what the kernel then diverges on.
            self.check_arguments(row_values(squares, X), "squared norm")


class ShiftInvariant(Kernel):
    """k(x, y) = g(x - y) with g(0) = 1: the characteristic function of its spectral law."""

    is_shift_invariant = True

    @property
    def amplitude(self) -> float:
        return 1.0

    def _diagonal(self, X: Any) -> NDArray[np.float64]:
        return np.ones(X.shape[0])

    def frequencies(self, rng: Stream, count: int, n_features: int) -> NDArray[np.float64]:
        self.check_resolved()
        return self.quantiles(rng.uniforms((count, self.spectral_dimension(n_features))), n_features)

    def spectral_dimension(self, n_features: int) -> int:
        return n_features


class Radial(ShiftInvariant):
    """k(x, y) = g(||x - y||^2) with g(0) = 1, in every dimension: a mixture of Gaussians (Schoenberg)."""

    is_rotation_invariant = True

    @abstractmethod
    def radial(self, squares: NDArray[np.float64]) -> NDArray[np.float64]:
        """g."""

    def _block(self, X: Any, Y: Any) -> NDArray[np.float64]:
        return self.radial(squared_distances(X, Y))


def column_product(factor: Callable[[Any], Any], X: Any, Y: Any) -> NDArray[np.float64]:
    """prod_j factor(x_j - y_j) with factor(0) = 1, column by column: n x m x d would not fit."""
    columns: Any = range(X.shape[1])
    if sp.issparse(X) or sp.issparse(Y):
        X, Y = sp.csc_array(X), sp.csc_array(Y)
        columns = np.flatnonzero(np.diff(X.indptr) + np.diff(Y.indptr))
    product = np.ones((X.shape[0], Y.shape[0]))
    for j in columns:
        x, y = (M[:, [j]].toarray().ravel() if sp.issparse(M) else M[:, j] for M in (X, Y))
        product *= factor(x[:, None] - y[None, :])
    return product


def squared_distances(X: Any, Y: Any) -> NDArray[np.float64]:
    """Squared Euclidean distances, dense; never negative, exactly 0 between equal rows."""
    left, right = X, Y
    if not sp.issparse(X) and not sp.issparse(Y):
        # Distances do not change under a shift; with this one, few pairs of rows far from the origin remain for below.
        origin = Y.mean(axis=0)
        left, right = X - origin, Y - origin
    norms = squares(left)[:, None] + squares(right)[None, :]
    distances = norms - 2 * inner_products(left, right)
    # Rows much nearer to each other than to the origin: the digits that count have cancelled.
    near_x, near_y = np.nonzero(~(distances > CANCELLED * norms))  # so that NaN, infinity less infinity, is among them
    both_sparse = sp.issparse(X) and sp.issparse(Y)
    width = (X.nnz + Y.nnz) // (X.shape[0] + Y.shape[0]) if both_sparse else X.shape[1]
    step = max(1, BLOCK_ELEMENTS // max(1, width))
    for start in range(0, len(near_x), step):
        i, j = near_x[start : start + step], near_y[start : start + step]
        distances[i, j] = _pair_distances(X[i], Y[j])
    return distances


def _pair_distances(X: Any, Y: Any) -> NDArray[np.float64]:
    """The squared distance of every row of X to the same row of Y."""
    return squares(X - Y if sp.issparse(X) == sp.issparse(Y) else dense(X) - dense(Y))


def manhattan_distances(X: Any, Y: Any) -> NDArray[np.float64]:
    """1-norm distances, dense."""
    return sklearn_manhattan_distances(with_short_indices(X), with_short_indices(Y))


def with_short_indices(X: Any) -> Any:
    """X with int32 indices where it is sparse: scikit-learn's loop over its entries takes no others."""
    if not sp.issparse(X) or X.indices.dtype == X.indptr.dtype == np.int32:
        return X
    largest = np.iinfo(np.int32).max
    if max(X.nnz, X.shape[1]) > largest:
        raise ValueError(f"expected at most {largest} columns and stored entries, found {X.shape[1]} and {X.nnz}")
    return sp.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
