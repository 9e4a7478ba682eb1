"""Estimates of how far features are from a kernel, from all pairs of sampled rows, with intervals."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from .._array import is_foreign, is_sparse, to_numpy
from ..kernels.families import inner_products
from ..maps import FeatureMap

Vector = NDArray[np.float64]

FEWEST_ROWS = 8
"""The smallest number of rows whose pairs allow an estimate of the error."""
TAIL_SHARE = 0.1
"""The number of largest row maxima that show how fast the tail of the errors falls."""
FEWEST_IN_TAIL = 5
FEWEST_FREEDOMS = 4.0
"""The smallest number of degrees of freedom; with fewer, a few rows cause all of the error."""
LARGEST_LOGARITHM = 700.0


class Estimate(NamedTuple):
    """An estimate, and an interval that contains the true value with a stated confidence.

    Parameters
    ----------
    value : float
        The estimate.
    low : float
        The lower end of the interval.
    high : float
        The upper end of the interval.
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g})"


class GramErrors(NamedTuple):
    """Sums over the pairs of m sampled rows, in units of the largest kernel value.

    For every row, ``errors`` and ``kernels`` contain the sum over all other rows of the squared error and of the
    squared kernel; ``own_errors`` and ``own_kernels`` those of the row with itself; ``maxima`` the largest absolute
    error of the row with any row. ``unit`` is the largest kernel value.
    """

    errors: Vector
    kernels: Vector
    own_errors: Vector
    own_kernels: Vector
    maxima: Vector
    unit: float

    @classmethod
    def of(cls, Z: NDArray[Any], K: NDArray[Any]) -> GramErrors:
        """Return the sums for features and the exact kernel matrix of the same rows.

        Parameters
        ----------
        Z : ndarray of shape (n_rows, n_components)
            The features.
        K : ndarray of shape (n_rows, n_rows)
            The kernel matrix.

        Returns
        -------
        GramErrors
            The sums.
        """
        unit = float(np.abs(K).max()) or 1.0
        error = inner_products(Z.astype(np.float64, copy=False), Z) / unit - K / unit
        maxima = np.abs(error).max(axis=1)
        squares, kernels = np.square(error, out=error), np.square(K.astype(np.float64) / unit)
        own_errors, own_kernels = squares.diagonal().copy(), kernels.diagonal().copy()
        return cls(
            squares.sum(axis=1) - own_errors,
            kernels.sum(axis=1) - own_kernels,
            own_errors,
            own_kernels,
            maxima,
            unit,
        )

    def relative(self, n_rows: int, confidence: float) -> Estimate:
        """Return the relative Frobenius error of the kernel matrix of ``n_rows`` new rows, with a two-sided interval.

        Rows are drawn, not pairs: the interval comes from leaving out each row with all of its pairs (the jackknife of
        a ratio of U-statistics), on a logarithmic scale.

        Parameters
        ----------
        n_rows : int
            The size of the matrix, which determines the weight of its diagonal.
        confidence : float
            The confidence of the interval.

        Returns
        -------
        Estimate
            The error with its interval.
        """
        m, own = len(self.errors), (self.own_errors, self.own_kernels)
        error = _mean_square(self.errors.sum(), own[0].sum(), m, n_rows)
        kernel = _mean_square(self.kernels.sum(), own[1].sum(), m, n_rows)
        if error == 0.0:
            return Estimate(0.0, 0.0, 0.0)
        root = math.sqrt(error / kernel) if kernel > 0.0 else math.inf
        with np.errstate(divide="ignore", invalid="ignore"):
            without = _mean_square(*_left_out(self.errors, own[0]), m - 1, n_rows) / _mean_square(
                *_left_out(self.kernels, own[1]), m - 1, n_rows
            )
        if not (np.isfinite(without) & (without > 0.0)).all():
            # One row has all of the error: such a sample says nothing about other rows.
            return Estimate(root, 0.0, math.inf)
        logs = 0.5 * np.log(without)
        reach = min(jackknife_reach(logs, confidence), LARGEST_LOGARITHM)
        return Estimate(root, root * math.exp(-reach), root * math.exp(reach))

    def maximum(self, confidence: float) -> Estimate:
        """Return the largest absolute error among as many new rows as these, with an upper bound.

        The largest error in a sample is exceeded in the next sample of the same size as often as not. The bound adds
        what separates the maxima of two samples if errors beyond those of nine rows in ten decay exponentially, which
        errors of bounded kernels do, or faster.

        Parameters
        ----------
        confidence : float
            The confidence of the bound.

        Returns
        -------
        Estimate
            The error with its bound.
        """
        rising = np.sort(self.maxima)
        count = min(max(FEWEST_IN_TAIL, int(TAIL_SHARE * len(rising))), len(rising) - 1)
        excess = float((rising[-count:] - rising[-count - 1]).mean())
        reach = excess * math.log(confidence / (1.0 - confidence))
        largest = float(rising[-1])
        return Estimate(largest * self.unit, largest * self.unit, (largest + reach) * self.unit)


def jackknife_reach(without: Vector, confidence: float) -> float:
    """Return half the length of an interval for a statistic, from its values with each of the rows left out.

    The degrees of freedom of Student's distribution match how well the variance of these values is known: fewer than
    the number of rows if a few rows dominate, by the kurtosis of the values (Satterthwaite).

    Parameters
    ----------
    without : ndarray of shape (n_rows,)
        The values with each of the rows left out.
    confidence : float
        The confidence of the interval.

    Returns
    -------
    float
        Half the length.
    """
    m, apart = len(without), without - without.mean()
    square = float((apart**2).mean())
    if square == 0.0:
        return 0.0
    kurtosis = float(((apart / math.sqrt(square)) ** 4).mean())
    freedom = min(2.0 * m / max(kurtosis - 1.0, 2.0 * m / (m - 1)), m - 1.0)
    return float(student.ppf(0.5 + 0.5 * confidence, max(freedom, FEWEST_FREEDOMS))) * math.sqrt((m - 1) * square)


def _mean_square(pairs: Any, own: Any, m: int, n_rows: int) -> Any:
    """Return the mean square in a matrix of ``n_rows`` rows, from sums over the pairs of m rows and over these rows."""
    return ((n_rows - 1) * pairs / (m * (m - 1)) + own / m) / n_rows


def _left_out(sums: Vector, own: Vector) -> tuple[Vector, Vector]:
    """Return sums over pairs and over rows, each without one of the rows."""
    return np.maximum(sums.sum() - 2.0 * sums, 0.0), np.maximum(own.sum() - own, 0.0)


def gram_errors(map: FeatureMap, X: Any, K: NDArray[Any] | None = None) -> GramErrors:
    """Return the errors of a fitted map on rows.

    Parameters
    ----------
    map : FeatureMap
        The fitted map.
    X : ndarray or CSR matrix of shape (n_rows, n_features)
        The rows.
    K : ndarray of shape (n_rows, n_rows) or None, default=None
        The exact kernel matrix, if it is known.

    Returns
    -------
    GramErrors
        Sums over all pairs of rows.
    """
    return GramErrors.of(plain_features(map, X), map.kernel_(X) if K is None else K)


def plain_features(map: FeatureMap, X: Any) -> NDArray[Any]:
    """Return features as a NumPy array or a CSR matrix, whatever ``set_output`` and the type of the rows say."""
    Z = map.transform(X)
    return to_numpy(Z) if is_sparse(Z) or is_foreign(Z) else np.asarray(Z)
