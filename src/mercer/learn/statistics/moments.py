"""Second moments of features and targets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from ..._array import Array, is_foreign
from ...gpu.device import Device
from ...gpu.second_moments import moments_of_tensor, trace_of_tensor

Matrix = NDArray[np.float64]

CHUNK_ROWS = 4096
CHUNK_BYTES = 128 * 2**20
LEAST_ROWS = 16
EXACT_ROWS = 1024
"""The number of float32 rows that are copied to float64 at a time."""
POWER_STEPS = 8
"""The number of products with the second moments to estimate their largest eigenvalue."""
EPS = float(np.finfo(np.float64).eps)
SAFETY = 4.0
"""The allowed multiple of the measured rounding of sums."""


def chunk_rows(width: int, itemsize: int) -> int:
    """Return the number of rows whose features are summed at once: enough for a matrix product, few enough for memory.

    Sums in float32 lose digits as they grow longer, which limits the number. It depends only on the width, so that the
    bits of a sum do not depend on the machine.
    """
    rows = CHUNK_ROWS
    while rows > LEAST_ROWS and rows * width * itemsize > CHUNK_BYTES:
        rows //= 2
    return rows


class Centred(NamedTuple):
    """Moments about the weighted means."""

    gram: Matrix
    cross: Matrix
    squares: Matrix
    feature_mean: Matrix
    target_mean: Matrix

    def offset(self, coef: Matrix) -> Matrix:
        """Return the intercepts that belong to coefficients, given one column per target."""
        return self.target_mean - self.feature_mean @ coef


class Moments(NamedTuple):
    """Weighted sums over rows of features z and targets y: z z', z y', y y', z, y, 1, and the number of rows."""

    gram: Matrix
    cross: Matrix
    squares: Matrix
    features: Matrix
    targets: Matrix
    weight: Matrix
    rows: Matrix

    @classmethod
    def of(cls, Z: NDArray[Any], Y: Matrix, weight: Matrix | None, exact: bool = False) -> Self:
        """Return the moments of one chunk; products of features are in their precision, and should be added in float64.

        With ``exact``, they are in float64, which takes twice as long for float32. If features are on a device, large
        matrices stay there.
        """
        if is_foreign(Z):
            return cls(*moments_of_tensor(Device.holding(Z), Z, Y, weight, exact))
        if exact and Z.dtype != np.float64:
            return cls._exact(Z, Y, weight)
        if weight is not None and (weight == 1.0).all():
            weight = None  # and no copy of Z
        total = float(len(Z)) if weight is None else float(weight.sum())
        w = np.ones(len(Z)) if weight is None else weight
        features, targets = _weighted_sum(Z, w), w @ Y
        # With a large mean of the targets, a float32 product would have no digits left, so they are centred by the
        # chunk's mean.
        mean = targets / (total or 1.0)  # classes may have weight 0
        deviations = Y - mean
        root = np.sqrt(w)
        scaled = Z if weight is None else Z * root[:, None].astype(Z.dtype)
        gram = scaled.T @ scaled
        cross = (scaled.T @ (deviations * root[:, None]).astype(Z.dtype)).astype(np.float64)
        cross += np.outer(features, mean)
        with np.errstate(over="ignore"):  # reported where the moments are used
            squares = (deviations * w[:, None]).T @ deviations + total * np.outer(mean, mean)
        return cls(gram, cross, squares, features, targets, np.array([total]), np.array([float(len(Z))]))

    @classmethod
    def _exact(cls, Z: NDArray[Any], Y: Matrix, weight: Matrix | None) -> Self:
        """Return the moments of a chunk of float32 features in float64, a few rows at a time, with at most two sums."""
        sums: Self | None = None
        for start in range(0, len(Z), EXACT_ROWS):
            rows = slice(start, start + EXACT_ROWS)
            more = cls.of(Z[rows].astype(np.float64), Y[rows], None if weight is None else weight[rows])
            if sums is None:
                sums = more
            else:
                for total, part in zip(sums, more, strict=True):
                    total += part
        return cls.of(Z.astype(np.float64), Y, weight) if sums is None else sums

    def plus(self, other: Moments, sign: float = 1.0) -> Moments:
        """Return the sum of both sets of moments or, with sign -1, their difference."""
        return Moments(*(ours + sign * theirs for ours, theirs in zip(self, other, strict=True)))

    def parted(self, width: int) -> Moments:
        """Return moments without targets as those of the first ``width`` features, with all others as targets."""
        first, last = slice(width), slice(width, None)
        gram, cross, squares = self.gram[first, first], self.gram[first, last], self.gram[last, last]
        return Moments(gram, cross, squares, self.features[first], self.features[last], self.weight, self.rows)

    def faded(self, share: float) -> Moments:
        """Return the moments with every weight multiplied by a share; the number of rows does not change."""
        return Moments(*(share * total for total in self))._replace(rows=self.rows)

    def squared_errors(self, coef: Matrix, offset: Matrix) -> Matrix:
        """Return the sum of squared errors of a linear model on these rows, for every target."""
        about, total = self.centred(True), float(self.weight[0])
        spread = np.diag(about.squares) - (coef * (2.0 * about.cross - about.gram @ coef)).sum(axis=0)
        return np.maximum(spread, 0.0) + total * (about.offset(coef) - offset) ** 2

    def turned(self, turn: Callable[[Matrix], Matrix]) -> Moments:
        """Return the moments of features after a linear map, given as a function of columns."""
        gram = turn(turn(self.gram).T)
        gram = 0.5 * (gram + gram.T)
        places = np.diag_indices_from(gram)
        gram[places] = np.maximum(gram[places], 0.0)  # some consist of rounding errors only
        return self._replace(gram=gram, cross=turn(self.cross), features=turn(self.features[:, None])[:, 0])

    def largest(self) -> float:
        """Estimate the largest eigenvalue of the second moments; 0 if it is not finite."""
        vector = self.features + np.sqrt(np.diag(self.gram)) * (float(np.linalg.norm(self.features)) or 1.0) * 1e-3
        largest = 0.0
        for _ in range(POWER_STEPS):
            turned = self.gram @ vector
            length = float(np.linalg.norm(turned))
            if not 0.0 < length < np.inf:
                return 0.0
            largest, vector = length / float(np.linalg.norm(vector)), turned / length
        return largest

    def rounding(self, precision: float) -> float:
        """Return the possible error of eigenvalues of the second moments, if products of features have this precision.

        Products of chunks are rounded in their own precision, about the origin, and then added in float64: measured on
        maps of many kinds, their error is below one unit of the last place of the largest eigenvalue, whatever the
        width. Decompositions work in float64, with an error that grows with the width.
        """
        return (SAFETY * precision + len(self.gram) * EPS) * self.largest()

    def precision(self, rounded: float, eps: float) -> float:
        """Return the error of the second moments, relative to their largest eigenvalue.

        ``rounded`` is the trace of the products of chunks that were computed in a precision of ``eps``.
        """
        largest = self.largest()
        return max(EPS, eps * min(1.0, rounded / largest)) if largest > 0.0 else eps if rounded else EPS

    def are_of_rows(self, rounding: float, target_rounding: Matrix) -> bool:
        """Return whether rows of positive weight can have these moments.

        Those of features and targets, about their means, then have no negative eigenvalues beyond these errors.
        """
        about = self.centred(True)
        about.gram[np.diag_indices_from(about.gram)] += rounding
        try:
            factor = scipy.linalg.cholesky(about.gram.T, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            return False
        explained = scipy.linalg.solve_triangular(factor, about.cross, lower=True, check_finite=False)
        return bool((np.diag(about.squares) - (explained**2).sum(axis=0) >= -target_rounding).all())

    def centred(self, intercept: bool) -> Centred:
        """Return moments about the means, or unchanged if there is no intercept."""
        total = float(self.weight[0])
        if not intercept:
            zeros = np.zeros_like(self.features), np.zeros_like(self.targets)
            return Centred(self.gram, self.cross, self.squares, *zeros)
        z, y = self.features / total, self.targets / total
        products = np.outer(self.features, z)
        with np.errstate(over="ignore", invalid="ignore"):
            squares = self.squares - np.outer(self.targets, y)
        return Centred(
            np.subtract(self.gram, products, out=products), self.cross - np.outer(self.features, y), squares, z, y
        )


def trace_of(Z: Array, weight: Matrix | None) -> float:
    """Return the trace of Z' diag(weight) Z; infinite or NaN if it is too large for the precision of Z."""
    if is_foreign(Z):
        return trace_of_tensor(Device.holding(Z), Z, weight)
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.vdot(Z, Z)) if weight is None else float(weight @ np.einsum("ij,ij->i", Z, Z))


def precision_of(Z: Array) -> float:
    """Return the relative rounding of features."""
    return float(np.finfo(str(Z.dtype).removeprefix("torch.")).eps)


def _weighted_sum(Z: NDArray[Any], w: Matrix) -> Matrix:
    """Return the sum of w_i z_i in float64, a few rows at a time to avoid a copy of Z."""
    total = np.zeros(Z.shape[1])
    for start in range(0, len(Z), 256):
        rows = slice(start, start + 256)
        total += w[rows] @ Z[rows].astype(np.float64)
    return total
