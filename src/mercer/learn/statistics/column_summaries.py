"""Means, deviations and ranges of columns, found block by block and joined."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._array import Array

WIDE, SUMMARISED = 2048, 256
"""If there are more columns than the first number, they are summarised in groups of the second."""
MODERATE = 400
"""Numbers from 2^-400 to 2^400 have squares whose sums neither overflow nor vanish; others are divided first."""
NOTHING = -3000
"""The exponent of columns that contain only zeros; joined with any other exponent, it is ignored."""

Vector = NDArray[np.float64]


class Summary(NamedTuple):
    """The results of a pass over encoded rows for every column, over entries that are not missing.

    ``deviation`` is the sum of squares about the mean, of entries divided by two to the power of ``exponent``.
    ``gaps`` counts the missing entries, whatever their weight.
    """

    weight: Vector
    mean: Vector
    deviation: Vector
    least: Vector
    most: Vector
    exponent: NDArray[np.int64]
    gaps: NDArray[np.int64]

    @property
    def spread(self) -> Vector:
        """The standard deviation."""
        variance = self.deviation / np.maximum(self.weight, np.finfo(np.float64).tiny)
        return np.ldexp(np.sqrt(variance), self.exponent)


def summarise(X: Array, weight: Vector | None) -> Summary:
    """Return the summary of one block, dense or CSR; entries that are not stored are zeros."""
    n, width = X.shape
    if sp.issparse(X):
        return _summarise_sparse(X.tocsc(), np.ones(n) if weight is None else weight)
    # Some columns at a time, because intermediate results take several times as much memory as they do.
    if width > WIDE:
        parts = [summarise(X[:, start : start + SUMMARISED], weight) for start in range(0, width, SUMMARISED)]
        return Summary(*(np.concatenate(one) for one in zip(*parts, strict=True)))
    values = X.astype(np.float64)
    known = ~np.isnan(values)
    least = np.where(known, values, np.inf).min(axis=0, initial=np.inf)
    most = np.where(known, values, -np.inf).max(axis=0, initial=-np.inf)
    exponent = exponents(least, most)
    values = divided(values, exponent)
    w = known * (1.0 if weight is None else weight[:, None])
    total = w.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(known, values, 0.0).T @ (np.ones(n) if weight is None else weight)
        mean = mean / total
    deviation = (w * np.where(known, values - mean, 0.0) ** 2).sum(axis=0)
    gaps = n - np.count_nonzero(known, axis=0)
    return Summary(total, np.ldexp(mean, exponent), deviation, least, most, exponent, gaps)


def exponents(least: Vector, most: Vector) -> NDArray[np.int64]:
    """Return the powers of 2 by which columns must be divided: 0 for columns of moderate size."""
    largest = np.maximum(
        np.where(np.isfinite(least), np.abs(least), 0.0), np.where(np.isfinite(most), np.abs(most), 0.0)
    )
    found = np.frexp(largest)[1].astype(np.int64)
    return np.where(largest == 0.0, NOTHING, np.where(np.abs(found) > MODERATE, found, 0))


def divided(values: Vector, exponent: NDArray[np.int64]) -> Vector:
    """Return numbers divided by powers of 2."""
    return np.ldexp(values, -exponent) if ((exponent != 0) & (exponent != NOTHING)).any() else values


def _summarise_sparse(X: Array, weight: Vector) -> Summary:
    width, column = X.shape[1], np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))
    values, w = X.data.astype(np.float64), weight[X.indices]
    known = ~np.isnan(values)
    values, w, column = values[known], w[known], column[known]

    def sums(terms: Vector) -> Vector:
        return np.bincount(column, terms, minlength=width).astype(np.float64)

    empty = np.repeat(np.arange(width), np.diff(X.indptr))[~known]
    gaps = np.bincount(empty, minlength=width)
    total = weight.sum() - np.bincount(empty, weight[X.indices][~known], minlength=width)
    full = np.bincount(column, minlength=width) == X.shape[0]
    least, most = np.full(width, np.inf), np.full(width, -np.inf)
    np.minimum.at(least, column, values)
    np.maximum.at(most, column, values)
    least, most = np.where(full, least, np.minimum(least, 0.0)), np.where(full, most, np.maximum(most, 0.0))
    exponent = exponents(least, most)
    values = divided(values, exponent[column])
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = sums(w * values) / total
    deviation = sums(w * (values - mean[column]) ** 2) + (total - sums(w)) * mean**2
    return Summary(total, np.ldexp(mean, exponent), deviation, least, most, exponent, gaps)


def joined(left: Summary, right: Summary) -> Summary:
    """Return the summary of both blocks, by Chan's update: a large mean costs no digits."""
    total = left.weight + right.weight
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(total > 0, right.weight / total, 0.0)
    ours, theirs = np.where(left.weight > 0, left.mean, right.mean), np.where(right.weight > 0, right.mean, left.mean)
    apart = theirs - ours
    exponent = np.maximum(left.exponent, right.exponent)
    deviations = (np.ldexp(one.deviation, 2 * (one.exponent - exponent)) for one in (left, right))
    between = np.ldexp(apart, -exponent) ** 2
    return Summary(
        total,
        ours + apart * share,
        sum(deviations) + np.where(total > 0, between * left.weight * share, 0.0),
        np.minimum(left.least, right.least),
        np.maximum(left.most, right.most),
        exponent,
        left.gaps + right.gaps,
    )
