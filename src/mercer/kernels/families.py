"""The families of kernels with their own feature maps: dot-product, shift-invariant and rotation-invariant."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray
from sklearn.metrics.pairwise import manhattan_distances as sklearn_manhattan_distances

from .. import _core
from .._array import Array, canonical_csr, dense, squares
from .._random import Stream
from .._tiles import TILE, tiles
from ..gpu.device import Device
from ..gpu.kernel_blocks import Landmarks, UnstoredBlock, by_differences, dot_product_block, radial_block, unstored
from .base import BLOCK_ELEMENTS, Kernel, row_values

CACHED_ELEMENTS = 1 << 15
"""The number of pairs of entries handled at a time, small enough to stay in cache."""
LARGEST_ROUNDING = 1e-4
"""The largest error in a kernel value that products in float32 may cause; beyond it they are computed in float64."""
CANCELLED = 1e-6
"""Below this fraction of the squared norms, a squared distance is not taken from inner products but recomputed."""


def inner_products(X: Array, Y: Array) -> NDArray[np.float64]:
    """Compute the dense matrix of inner products."""
    values = X @ Y.T
    return values.toarray() if sp.issparse(values) else values


FAR = 1e303
"""Squares of this size, and their sums over columns, do not overflow float64."""


def refuse_far_rows(kernel: Kernel, X: Array, size: Callable[[Any], NDArray[np.float64]], what: str) -> None:
    """Raise a ValueError if distances would overflow before the kernel, which is very wide, has decayed to 0."""
    sizes = row_values(size, X)
    far = ~(sizes <= FAR / 4.0)
    if far.any():
        row = int(np.argmax(far))
        raise ValueError(
            f"{kernel!r} is for rows of a {what} up to {FAR / 4.0:g}, beyond which distances overflow float64; "
            f"row {row} has {sizes[row]:g}: scale the rows down"
        )


class DotProduct(Kernel):
    """Base class of kernels k(x, y) = f(<x, y>) with f(t) = sum a_n t^n and a_n >= 0."""

    is_dot_product = True

    @abstractmethod
    def value(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute f(t).

        Parameters
        ----------
        t : ndarray
            Inner products, or values of an inner kernel.

        Returns
        -------
        ndarray
            The values of f, in the shape of t.
        """

    def _overwritten(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute f(t), reusing the memory of t: for a large matrix a copy costs as much as the arithmetic."""
        return self.value(t)

    @property
    def has_gradient(self) -> bool:
        return self.max_degree is not None

    def slope(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the derivative f'(t).

        Parameters
        ----------
        t : ndarray
            Inner products.

        Returns
        -------
        ndarray
            The derivatives, in the shape of t.
        """
        if self.max_degree is None:
            raise ValueError(f"{self!r} has no derivative in closed form")
        series = np.polynomial.polynomial.polyder(self.series(self.max_degree + 1))
        return np.asarray(np.polynomial.polynomial.polyval(t, series), dtype=np.float64)

    def gradients(self, X: Array, Y: Array, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        return (weights * self.slope(inner_products(X, Y))) @ Y

    def gram(self, X: Array, Y: Array) -> NDArray[np.float64]:
        return self._overwritten(inner_products(X, Y))

    def single_core_gram_against(self, Y: Array) -> Callable[[Any], NDArray[np.float64]]:
        if not _core.AVAILABLE or sp.issparse(Y):
            return self.gram_against(Y)
        products = packed_products(Y)

        def block(X: Array) -> NDArray[np.float64]:
            return self.gram(X, Y) if sp.issparse(X) else self._overwritten(products(np.ascontiguousarray(X)))

        return block

    def tensor_values_at(self, landmarks: Array, device: Device, dtype: DTypeLike) -> Callable[[Any], Any]:
        if not self.takes_tensors:
            return super().tensor_values_at(landmarks, device, dtype)
        # Always in float64: powers of inner products would lose the digits of float32.
        others = device.sent(dense(landmarks), np.float64)

        def values(X: Any) -> Any:
            return self.of_tensor(dot_product_block(device, X.double(), others)).to(device.type_of(dtype))

        return values

    takes_tensors = False
    """Whether :meth:`of_tensor` is implemented."""

    def of_tensor(self, t: Any) -> Any:
        """Compute f(t) of a float64 tensor, which may be overwritten.

        Parameters
        ----------
        t : tensor
            Inner products.

        Returns
        -------
        tensor
            The values of f, in the shape of t.
        """
        raise ValueError(f"{self!r} has no values on a device")

    def diagonal(self, X: Array) -> NDArray[np.float64]:
        return self.value(squares(X))

    @property
    def takes_every_row(self) -> bool:
        return not np.isfinite(self.radius)

    def check_rows(self, X: Array) -> None:
        if not self.takes_every_row:
            # In float64: near the edge of the domain, float32 would admit values at which the series diverges.
            self.check_arguments(row_values(squares, X), "squared norm")


class ShiftInvariant(Kernel):
    """Base class of kernels k(x, y) = g(x - y) with g(0) = 1: g is the characteristic function of the spectrum."""

    is_shift_invariant = True

    @property
    def amplitude(self) -> float:
        return 1.0

    def diagonal(self, X: Array) -> NDArray[np.float64]:
        return np.ones(X.shape[0])

    def frequencies(self, rng: Stream, count: int, n_features: int) -> NDArray[np.float64]:
        self.check_resolved()
        return self.quantiles(rng.uniforms((count, self.spectral_dimension(n_features))), n_features)

    def spectral_dimension(self, n_features: int) -> int:
        return n_features


class Radial(ShiftInvariant):
    """Base class of kernels k(x, y) = g(||x - y||^2) with g(0) = 1: mixtures of Gaussians, as Schoenberg showed."""

    is_rotation_invariant = True
    has_gradient = True

    @abstractmethod
    def radial(self, squares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute g of squared distances.

        Parameters
        ----------
        squares : ndarray
            Squared distances ||x - y||^2.

        Returns
        -------
        ndarray
            The values of g, in the shape of ``squares``.
        """

    @abstractmethod
    def radial_slope(self, squares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the derivative g'; where it is infinite, which can happen only at distance 0, return 0.

        Parameters
        ----------
        squares : ndarray
            Squared distances ||x - y||^2.

        Returns
        -------
        ndarray
            The derivatives, in the shape of ``squares``.
        """

    def gradients(self, X: Array, Y: Array, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        X, Y = self.coordinates(X), self.coordinates(Y)
        # A shift does not change distances, and x - y loses fewer digits when both are near the origin.
        origin = Y.mean(axis=0)
        slopes = weights * self.radial_slope(Distances(Y)(X))
        in_coordinates = 2.0 * (slopes.sum(axis=1)[:, None] * (X - origin) - slopes @ (Y - origin))
        return self.coordinates(in_coordinates)  # the chain rule: coordinates multiplies columns

    def column_gradients(self, X: Array, Y: Array, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        X, Y = self.coordinates(X), self.coordinates(Y)
        slopes, origin = weights * self.radial_slope(Distances(Y)(X)), Y.mean(axis=0)
        X, Y = X - origin, Y - origin
        # Twice the squared differences of a column, as both rows are stretched, summed over pairs.
        apart = slopes.sum(axis=1) @ X**2 + slopes.sum(axis=0) @ Y**2 - 2.0 * (X * (slopes @ Y)).sum(axis=0)
        return np.asarray(2.0 * apart)

    @property
    def takes_every_row(self) -> bool:
        with np.errstate(over="ignore"):
            return not self.radial(np.array([FAR]))[0] > 0.0  # a distance that overflows then rightly gives 0

    def check_rows(self, X: Array) -> None:
        if not self.takes_every_row:
            refuse_far_rows(self, X, lambda rows: squares(self.coordinates(rows)), "squared norm")

    @property
    def _shape(self) -> tuple[str, float] | None:
        """Return the compiled core's name for g and its scale, or None if the core provides only the distances."""
        return None

    def gram(self, X: Array, Y: Array) -> NDArray[np.float64]:
        return self.gram_against(Y)(X)

    def gram_against(self, Y: Array) -> Callable[[Any], NDArray[np.float64]]:
        return self._of(Distances(self.coordinates(Y)))

    def single_core_gram_against(self, Y: Array) -> Callable[[Any], NDArray[np.float64]]:
        return self._of(Distances(self.coordinates(Y), packed=True))

    def values_at(self, landmarks: Array, dtype: DTypeLike) -> Callable[[Any, NDArray[Any]], None]:
        exact = super().values_at(landmarks, dtype)
        shape = self._shape
        if np.dtype(dtype) != np.float32 or shape is None or not _core.AVAILABLE or sp.issparse(landmarks):
            return exact
        centres = self.coordinates(landmarks)
        origin = centres.mean(axis=0)
        shifted = np.ascontiguousarray(centres - origin)
        norms = row_squares(shifted)
        if not self._takes_rounding(float(np.finfo(np.float32).eps * norms.max())):
            return exact
        panels, norms, origin = _core.panels(shifted.T, np.float32), norms.astype(np.float32), origin.astype(np.float32)

        def write(X: Array, out: NDArray[Any]) -> None:
            if sp.issparse(X) or not out.flags.c_contiguous:
                exact(X, out)
            else:
                _core.radial_values(np.ascontiguousarray(self.coordinates(X) - origin), panels, norms, *shape, out)

        return write

    def tensor_values_at(self, landmarks: Array, device: Device, dtype: DTypeLike) -> Callable[[Any], Any]:
        if self._shape is None:
            return super().tensor_values_at(landmarks, device, dtype)
        (shape, scale), wanted = self._shape, device.type_of(dtype)
        centres = device.sent(dense(landmarks), np.float64)
        factors = None
        if self.chart is not None:
            factors = device.sent(self.coordinates(np.ones((1, centres.shape[1]))), np.float64)
            centres = centres * factors
        differences = None
        if self.chart is None and dtype == np.float32:
            differences = by_differences(device, centres, shape, scale)
        exact = Landmarks.of(centres)
        rounding = float(np.finfo(np.float32).eps * float(exact.norms.max()))
        used = device.type_of(np.float32 if dtype == np.float32 and self._takes_rounding(rounding) else np.float64)
        others = exact.rounded(used)
        factors = None if factors is None else factors.to(used)

        def values(X: Any) -> Any:
            if differences is not None and X.dtype == wanted:
                return differences(X)
            X = X.to(others.rows.dtype)
            return radial_block(device, X if factors is None else X * factors, others, shape, scale).to(wanted)

        return values

    def unstored_values_at(
        self, landmarks: Array, device: Device, dtype: DTypeLike, outputs: int
    ) -> Callable[[Any], UnstoredBlock] | None:
        if self._shape is None or self.chart is not None or dtype != np.float32:
            return None
        return unstored(device, device.sent(dense(landmarks), np.float64), *self._shape, outputs)

    def _takes_rounding(self, error: float) -> bool:
        """Return whether an error of this size in squared distances changes no value by more than float32 allows."""
        return bool(1.0 - self.radial(np.array([error]))[0] <= LARGEST_ROUNDING)

    def _of(self, distances: Distances) -> Callable[[Any], NDArray[np.float64]]:
        shape = self._shape

        def block(X: Array) -> NDArray[np.float64]:
            X = self.coordinates(X)
            if shape is not None and distances.are_compiled(X):
                return distances(X, *shape)
            return self.radial(distances(X))

        return block


def column_sum(term: Callable[[Any, Any], Any], X: Array, Y: Array) -> NDArray[np.float64]:
    """Compute sum_j term(x_j, y_j) column by column, without an n x m x d array; a term is 0 if x_j or y_j is 0."""
    total = np.zeros((X.shape[0], Y.shape[0]))
    X, Y = _by_column(X), _by_column(Y)
    for column in np.intersect1d(_occupied(X), _occupied(Y), assume_unique=True).tolist():
        (rows, x), (others, y) = _entries(X, column), _entries(Y, column)
        full = len(rows) == total.shape[0] and len(others) == total.shape[1]
        step = max(1, CACHED_ELEMENTS // max(1, len(y)))
        for start in range(0, len(x), step):
            part = slice(start, start + step)
            total[part if full else np.ix_(rows[part], others)] += term(x[part, None], y)
    return total


def column_derivatives(
    term: Callable[[NDArray[np.float64]], NDArray[np.float64]], X: Array, Y: Array, weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Compute sum_l weights[i, l] term(x_ij - y_lj) for every row i of X and every column j of dense rows."""
    totals = np.empty(X.shape)
    step = max(1, CACHED_ELEMENTS // max(1, Y.shape[0]))
    for start in range(0, X.shape[0], step):
        part = slice(start, start + step)
        for column in range(X.shape[1]):
            terms = term(X[part, column, None] - Y[:, column])
            totals[part, column] = np.einsum("il,il->i", terms, weights[part])
    return totals


Planes = Callable[[NDArray[np.float64]], tuple[NDArray[np.float64], ...]]


def by_columns(
    term: str, Y: Array, scale: float = 1.0, planes: Planes = lambda rows: (rows,)
) -> Callable[[Any], NDArray[np.float64] | None]:
    """Return a sum or product over columns, computed by the compiled core, as a function of X.

    The function returns None if X or Y is sparse. ``planes`` turns rows into the values that the term reads, once for
    the rows of Y.
    """
    others = _core.ColumnRows(*planes(Y)) if _core.AVAILABLE and not sp.issparse(Y) else None

    def values(X: Array) -> NDArray[np.float64] | None:
        if others is None or sp.issparse(X):
            return None
        return _core.pairs(term, tuple(map(np.ascontiguousarray, planes(X))), others, scale)

    return values


def column_product(factor: Callable[[Any], Any], X: Array, Y: Array) -> NDArray[np.float64]:
    """Compute prod_j factor(x_j - y_j), column by column, for an even factor with factor(0) = 1."""
    if sp.issparse(X) or sp.issparse(Y):
        return np.exp(_column_logarithms(factor, sp.csr_array(X), sp.csr_array(Y)))
    product = np.ones((X.shape[0], Y.shape[0]))
    for x, y in zip(X.T, Y.T, strict=True):
        product *= factor(x[:, None] - y[None, :])
    return product


def _column_logarithms(factor: Callable[[Any], Any], X: Array, Y: Array) -> NDArray[np.float64]:
    """Compute sum_j log factor(x_j - y_j) of CSR rows from their stored entries."""

    def alone(M: Any) -> NDArray[np.float64]:
        M = canonical_csr(M)
        logarithms = sp.csr_array((np.log(factor(M.data)), M.indices, M.indptr), shape=M.shape)
        return np.asarray(logarithms.sum(axis=1)).ravel()

    def together(x: Any, y: Any) -> Any:
        return np.log(factor(x - y)) - np.log(factor(x)) - np.log(factor(y))

    apart = alone(X)[:, None] + alone(Y)[None, :]
    total = apart + column_sum(together, X, Y)
    for i, j in _near_pairs(total, apart, X, Y):
        total[i, j] = alone(X[i] - Y[j])
    return total


def _by_column(X: Array) -> Any:
    """Convert the matrix to a format with fast access to columns, without stored zeros."""
    if not sp.issparse(X):
        return X
    X = canonical_csr(X).tocsc()
    X.eliminate_zeros()
    return X


def _occupied(X: Array) -> NDArray[np.int64]:
    """Return the columns that contain a nonzero value."""
    return np.flatnonzero(np.diff(X.indptr) if sp.issparse(X) else X.any(axis=0))


def _entries(X: Array, column: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return the rows in which a column is nonzero, and its values there."""
    if sp.issparse(X):
        part = slice(X.indptr[column], X.indptr[column + 1])
        return X.indices[part], X.data[part]
    rows = np.flatnonzero(X[:, column])
    return rows, X[rows, column]


def squared_distances(X: Array, Y: Array) -> NDArray[np.float64]:
    """Compute dense squared Euclidean distances: never negative, and exactly 0 between equal rows."""
    left, right = X, Y
    if not sp.issparse(X) and not sp.issparse(Y):
        # A shift does not change distances, and this one leaves few pairs that must be recomputed below.
        origin = Y.mean(axis=0)
        left, right = X - origin, Y - origin
    norms = squares(left)[:, None] + squares(right)[None, :]
    distances = norms - 2 * inner_products(left, right)
    for i, j in _near_pairs(distances, norms, X, Y):
        distances[i, j] = _pair_distances(X[i], Y[j])
    return distances


class Distances:
    """Squared Euclidean distances to the rows of Y, or functions of them; everything about Y is prepared once.

    If Y is packed, the distances of a row do not depend on the other rows in the same block.
    """

    def __init__(self, Y: Array, packed: bool = False):
        self._others = Y
        self._dense = _core.AVAILABLE and not sp.issparse(Y)
        if self._dense:
            self._others = np.ascontiguousarray(Y)
            self._origin = Y.mean(axis=0)
            self._products = (packed_products if packed else plain_products)(self._others, self._origin)
            parts = (self._others[tile] - self._origin for tile in tiles(self._others.shape[0], TILE))
            self._norms = np.concatenate([row_squares(part) for part in parts])

    def are_compiled(self, X: Array) -> bool:
        """Return whether the compiled core computes the distances and functions of them."""
        return self._dense and not sp.issparse(X)

    def __call__(self, X: Array, shape: str = "square", scale: float = 1.0) -> NDArray[np.float64]:
        """Compute the dense distances from the rows of X; other shapes are available only if compiled."""
        if not self.are_compiled(X):
            return squared_distances(X, self._others)
        X = np.ascontiguousarray(X)
        shifted = X - self._origin
        values = self._products(shifted)
        _core.radial(values, X, self._others, (row_squares(shifted), self._norms), shape, scale)
        return values


Products = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def plain_products(Y: NDArray[np.float64], origin: NDArray[np.float64]) -> Products:
    """Return the inner products with the rows of Y minus an origin, as a function of rows."""
    shifted = Y - origin
    return lambda X: X @ shifted.T


def packed_products(Y: NDArray[np.float64], origin: NDArray[np.float64] | None = None) -> Products:
    """Return the same function computed by the compiled core, for contiguous rows."""
    panels = _core.panels(np.ascontiguousarray(Y).T, np.float64, origin)

    def products(X: NDArray[np.float64]) -> NDArray[np.float64]:
        values = np.empty((X.shape[0], panels.columns))
        _core.product(X, panels, values)
        return values

    return products


def row_squares(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the squared norm of every row of a dense matrix, without a matrix of squares."""
    return np.einsum("ij,ij->i", X, X)


def _near_pairs(distances: Any, norms: Any, X: Array, Y: Array) -> Iterator[tuple[Any, Any]]:
    """Yield, in blocks, the pairs of rows so close that the digits of their distance have cancelled."""
    near_x, near_y = np.nonzero(~(distances > CANCELLED * norms))  # includes NaN, which is infinity minus infinity
    both_sparse = sp.issparse(X) and sp.issparse(Y)
    width = (X.nnz + Y.nnz) // (X.shape[0] + Y.shape[0]) if both_sparse else X.shape[1]
    step = max(1, BLOCK_ELEMENTS // max(1, width))
    for start in range(0, len(near_x), step):
        yield near_x[start : start + step], near_y[start : start + step]


def _pair_distances(X: Array, Y: Array) -> NDArray[np.float64]:
    """Compute the squared distance between each row of X and the row of Y with the same index."""
    return squares(X - Y if sp.issparse(X) == sp.issparse(Y) else dense(X) - dense(Y))


def manhattan_distances(X: Array, Y: Array) -> NDArray[np.float64]:
    """Compute dense 1-norm distances."""
    return manhattan_distances_to(Y)(X)


def manhattan_distances_to(Y: Array) -> Callable[[Any], NDArray[np.float64]]:
    """Return the dense 1-norm distances to the rows of Y as a function of X."""
    compiled = by_columns("manhattan", Y)

    def distances(X: Array) -> NDArray[np.float64]:
        values = compiled(X)
        return sklearn_manhattan_distances(*map(with_short_indices, (X, Y))) if values is None else values

    return distances


def with_short_indices(X: Array) -> Any:
    """Return X with int32 indices if it is sparse, the only ones that scikit-learn's loop over entries accepts."""
    if not sp.issparse(X) or X.indices.dtype == X.indptr.dtype == np.int32:
        return X
    largest = np.iinfo(np.int32).max
    if max(X.nnz, X.shape[1]) > largest:
        raise ValueError(f"expected at most {largest} columns and stored entries, found {X.shape[1]} and {X.nnz}")
    return sp.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
