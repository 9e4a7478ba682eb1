"""The choice of landmarks among the rows."""

from __future__ import annotations

import reprlib
import warnings
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from .._array import Array, Traced, dense, double, squares
from .._checks import is_whole
from .._memory import check_memory
from .._random import Stream
from .._rows import Rows
from .._tiles import tiles
from ..gpu.pivoted_factor import DeviceFactor
from ..kernels import Kernel
from ..kernels.base import check_matrix
from ..kernels.families import with_short_indices
from ._allotment import rounded
from .opaque_kernels import Precomputed, as_objects
from .rpcholesky import NOISE, Pivots, explained, rpcholesky
from .whitening import most_negative, whitening

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Indices = NDArray[np.int64]

BLOCK_ROWS = 1024
LLOYD_STEPS = 20
PROBES = 16
LANDMARKS_A_DIRECTION = 8
SMALLEST_RIDGE = 1e-9
"""The ridge of leverage scores is at least this fraction of the mean of k(x, x), so that no score is rounding."""


def kernel_block(kernel: Kernel, X: Array, landmarks: Any) -> Matrix:
    """Compute k of a tile of rows and landmarks, in float64."""
    if isinstance(X, Traced):
        return double(X).record("kernel_values", kernel, landmarks)
    with np.errstate(over="ignore", invalid="ignore"):
        return kernel.gram(double(X) if isinstance(kernel, Kernel) else X, landmarks)


def kernel_epsilon(kernel: Kernel, rows: Rows) -> float:
    """Return the precision of kernel values: that of float64, or that of a precomputed matrix."""
    return float(np.finfo(rows.dtype if isinstance(kernel, Precomputed) else np.float64).eps)


class Candidates:
    """The rows from which landmarks are chosen, a sample of at most ``count``, and their kernel matrix by blocks.

    ``negative`` is the most negative eigenvalue beyond rounding of the blocks that were examined, or 0.
    """

    def __init__(self, kernel: Kernel, rows: Rows, count: int):
        self.kernel = kernel
        self.rows = rows
        self.epsilon = kernel_epsilon(kernel, rows)
        self.numbers: Indices = rows.choose(count)
        # A precomputed matrix has as many columns as rows; its rows are read on demand.
        self._sample = None if isinstance(kernel, Precomputed) else rows.sample(count)
        self._noise = max(NOISE, 64.0 * self.epsilon)
        self.negative = 0.0
        if isinstance(kernel, Kernel):
            _ = self.diagonal  # raises an error that names a row that overflows, before the landmarks do

    def __len__(self) -> int:
        return len(self.numbers)

    def sample(self, places: Any) -> Any:
        """Return the candidates at these places, a slice or indices, as rows."""
        return self.rows.take(self.numbers[places]) if self._sample is None else self._sample[places]

    def landmarks(self, places: Indices) -> Any:
        """Return the candidates at these places as landmarks."""
        return as_landmarks(self.kernel, self.rows, self.numbers[places])

    def columns(self, places: Indices) -> Matrix:
        """Compute the columns of the kernel matrix at these places."""
        check_memory((len(self), len(places)), 8, "the kernel matrix of max_rows rows against landmarks")
        if self._sample is None:  # the matrix is symmetric, so these are its rows
            return dense(double(self.sample(places)[:, self.numbers])).T
        landmarks, values = self.landmarks(places), np.empty((len(self), len(places)))
        for tile in tiles(len(self), BLOCK_ROWS):
            values[tile] = kernel_block(self.kernel, self.sample(tile), landmarks)
        return values

    def block(self, places: Indices) -> Matrix:
        """Compute the rows and columns of the kernel matrix at these places."""
        return kernel_block(self.kernel, self.sample(places), self.landmarks(places))

    def whitening(self, W: Matrix, rank: int) -> Matrix:
        """Compute V Sigma^(-1/2) of the kernel matrix of some landmarks; see :func:`whitening`."""
        root, negative = whitening(W, self.epsilon, rank)
        self.negative = min(self.negative, negative)
        return root

    def unexplained(self, residual: Vector) -> Vector:
        """Return the residual diagonal with rounding errors replaced by 0."""
        return explained(residual, self.diagonal, self._noise)

    def probes(self, rng: Stream, residual: Vector | None, landmarks: Indices) -> Indices:
        """Choose a few candidates that are not landmarks, to test whether the kernel is positive semi-definite.

        Some have the lowest residual k(x, x) - ||phi(x)||^2, since a negative one disproves it; the others are random,
        for kernels whose diagonal says nothing, such as distances. All are random if no residual is known.
        """
        places = np.flatnonzero(~np.isin(self.numbers, landmarks))
        lowest = places[:0] if residual is None else places[np.argsort(residual[places], kind="stable")[:PROBES]]
        return np.union1d(lowest, places[rng.permutation(len(places))[:PROBES]])

    def judge(self, left: Matrix, landmarks: Matrix, cross: Matrix, inner: Matrix) -> None:
        """Look for negative eigenvalues if the part of the kernel that probes miss is not positive semi-definite.

        Parameters
        ----------
        left : ndarray of shape (n_probes, n_probes)
            The part of the probes' kernel matrix that the features miss.
        landmarks : ndarray of shape (n_landmarks, n_landmarks)
            The kernel matrix of the landmarks.
        cross : ndarray of shape (n_probes, n_landmarks)
            The kernel matrix of the probes and the landmarks.
        inner : ndarray of shape (n_probes, n_probes)
            The kernel matrix of the probes.
        """
        if np.linalg.eigvalsh(left)[0] >= -self._noise * float(np.abs(inner).max()):
            return
        # If the landmarks' matrix is nearly singular, rounding alone can make this part negative, but not the whole
        # matrix.
        whole = np.block([[landmarks, cross.T], [cross, inner]])
        self.negative = min(self.negative, most_negative(np.linalg.eigvalsh(whole), self.epsilon))

    def pivots(self, rng: Stream, count: int, tol: float) -> Pivots:
        """Choose at most ``count`` candidates by randomly pivoted Cholesky."""
        return rpcholesky(rng, self.diagonal, self.columns, self.block, count, tol, self._noise, self._factor(count))

    def _factor(self, count: int) -> DeviceFactor | None:
        """Return the factor of ``count`` rows on a device, or None if it is in memory."""
        device, rows = self.rows.device, self._sample
        if device is None or rows is None or not isinstance(self.kernel, Kernel):
            return None
        kernel = self.kernel
        return DeviceFactor(device, dense(rows), count, lambda some: kernel.tensor_values_at(some, device, np.float64))

    @cached_property
    def diagonal(self) -> Vector:
        """The values k(x, x) of the candidates."""
        values = np.empty(len(self))
        for tile in tiles(len(self), BLOCK_ROWS):
            X = self.sample(tile)
            if self._sample is None:
                values[tile] = dense(double(X[:, self.numbers[tile]])).diagonal()
            else:
                with np.errstate(over="ignore", invalid="ignore"):
                    values[tile] = self.kernel.diagonal(double(X) if isinstance(self.kernel, Kernel) else X)
        if not np.isfinite(values).all():
            row = int(self.numbers[np.argmin(np.isfinite(values))])
            raise ValueError(f"{self.kernel!r} overflows float64 at row {row}: scale the rows down or lower the degree")
        return values


def as_landmarks(kernel: Kernel, rows: Rows, numbers: Indices) -> Any:
    """Return these rows in the form in which kernels take landmarks: float64 rows, objects, or matrix columns."""
    if isinstance(kernel, Precomputed):
        return numbers
    landmarks = rows.take(numbers)
    return landmarks if landmarks.dtype == object else landmarks.astype(np.float64)


def leverage(rng: Stream, candidates: Candidates, count: int) -> Indices:
    """Draw ``count`` candidates without replacement, in proportion to their ridge leverage scores."""
    scores = leverage_scores(candidates, count)
    with np.errstate(divide="ignore"):
        # The smallest of exponential times: the same as drawing one by one, each in proportion to the remaining scores.
        times = -np.log(rng.uniforms((len(scores),))) / scores
    order = np.argsort(times, kind="stable")[:count]
    return np.sort(order[np.isfinite(times[order])])


def leverage_scores(candidates: Candidates, count: int) -> Vector:
    """Compute ridge leverage scores from a pilot map with ``count`` uniform landmarks.

    The score is phi' (Phi' Phi + ridge)^-1 phi + (k(x, x) - ||phi||^2) / ridge. The ridge is the part of the trace
    outside the largest ``count`` / 8 eigenvalues, divided by their number: directions below it are not worth a
    landmark, and each of the others gets several.
    """
    check_memory((3, len(candidates), count), 8, "the kernel values and features behind leverage scores")
    numbers = candidates.rows.choose(count)
    pilot = np.searchsorted(candidates.numbers, numbers)
    features = candidates.columns(pilot)
    features = features @ candidates.whitening(features[pilot], count)
    left = candidates.unexplained(candidates.diagonal - squares(features))
    values, vectors = np.linalg.eigh(features.T @ features)
    leading = -(-count // LANDMARKS_A_DIRECTION)
    tail = float(left.sum()) + float(values[:-leading].sum())
    ridge = max(tail / leading, SMALLEST_RIDGE * float(np.abs(candidates.diagonal).mean()))
    if ridge == 0.0:
        return np.zeros(len(candidates))
    turned = features @ vectors
    scores = np.einsum("ij,ij,j->i", turned, turned, 1.0 / (np.maximum(values, 0.0) + ridge)) + left / ridge
    return rounded(np.minimum(scores, 1.0))


def kmeans(X: Array, start: Any) -> Any:
    """Find the centres of Lloyd's algorithm on the rows X, starting from given rows."""
    X = with_short_indices(double(X))
    check_memory(start.shape, 8, "the cluster centres")
    start = dense(double(start))
    # All but one of several equal centres lose their rows, and scikit-learn would move them elsewhere.
    start = start[np.sort(np.unique(start, axis=0, return_index=True)[1])]
    # With given centres it draws nothing; on one thread its sums do not depend on the number of threads.
    model = KMeans(len(start), init=start, n_init=1, max_iter=LLOYD_STEPS, algorithm="lloyd")
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # duplicates: fewer distinct rows than centres
        centres = model.fit(X).cluster_centers_[np.unique(model.labels_)]  # without centres that have no rows left
    # Means lie between rows; rounding must not take them out of the kernel's domain, above all not below 0.
    return sp.csr_array(centres) if sp.issparse(X) else np.clip(centres, X.min(axis=0), X.max(axis=0))


def name_rows(landmarks: Any, rows: Rows) -> bool:
    """Return whether the user gave row numbers rather than objects like the rows."""
    if isinstance(landmarks, np.ndarray) and landmarks.dtype.kind in "iu":
        return True
    if not all(is_whole(item) for item in as_objects(landmarks, "landmarks")):
        return False
    if not any(is_whole(item) for block in rows.blocks() for item in block):
        return True
    if isinstance(landmarks, np.ndarray):
        return False
    raise ValueError(
        "landmarks and rows are both whole numbers: give row numbers as a NumPy array of integers, or landmarks "
        f"themselves as one of dtype object; found {reprlib.repr(landmarks)}"
    )


def given_numbers(landmarks: Any, n_rows: int) -> Indices:
    """Validate row numbers given by the user."""
    is_plain = isinstance(landmarks, np.ndarray) and landmarks.ndim == 1 and landmarks.dtype.kind in "iu"
    if not is_plain or not ((landmarks >= 0) & (landmarks < n_rows)).all():
        for place, number in enumerate(landmarks):
            if not is_whole(number):
                raise ValueError(f"landmarks must be whole row numbers or a matrix, found {number!r} at place {place}")
            if not 0 <= number < n_rows:
                expected = f"row numbers from 0 to {n_rows - 1}"
                raise ValueError(f"landmarks must be {expected}, found {number} at place {place}")
    numbers = np.array(landmarks, dtype=np.int64)
    values, counts = np.unique(numbers, return_counts=True)
    if (counts > 1).any():
        raise ValueError(f"landmarks must name no row twice, found row {values[np.argmax(counts > 1)]} more than once")
    if len(numbers) == 0:
        raise ValueError("landmarks must name at least one row, found none")
    return numbers


def given_rows(landmarks: Any, n_features: int) -> Any:
    """Validate landmark rows given by the user."""
    rows = check_matrix(landmarks, "landmarks").astype(np.float64)
    if rows.shape[1] != n_features:
        raise ValueError(f"landmarks has {rows.shape[1]} columns but X has {n_features}")
    return rows
