"""Bandwidths learned from rows: ``"scale"`` and ``"median"``."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from .._checks import check_positive
from .._rows import Rows
from .base import Kernel
from .families import manhattan_distances, squared_distances

RULES = ("scale", "median")
MEDIAN_ROWS = 1000


def check_bandwidth(name: str, value: object, alternatives: str = "") -> None:
    """Check that a bandwidth is a positive number or the name of a rule."""
    if isinstance(value, str) and value in RULES:
        return
    check_positive(name, value, f", {RULES[0]!r} or {RULES[1]!r}{alternatives}")


class LearnedBandwidth(Kernel):
    """Base class of kernels with one field, ``gamma`` by default, that can be learned from the rows in ``fit``."""

    bandwidth_field: ClassVar[str] = "gamma"
    """The name of that field."""

    def __post_init__(self) -> None:
        check_bandwidth(self.bandwidth_field, getattr(self, self.bandwidth_field))

    def _learns(self) -> str | None:
        return self.bandwidth_field if isinstance(getattr(self, self.bandwidth_field), str) else None

    @property
    def rows_sampled(self) -> int:
        return MEDIAN_ROWS if getattr(self, self.bandwidth_field) == "median" else 0

    def _with_learned_bandwidth(self, rows: Rows) -> Self:
        if self._learns() is None:
            return self
        rule = self._scale if getattr(self, self.bandwidth_field) == "scale" else self._median
        return self.replace(**{self.bandwidth_field: rule(rows)})

    def _scale(self, rows: Rows) -> float:
        return 1.0 / total_variance(rows)

    @abstractmethod
    def _median(self, rows: Rows) -> float:
        """Compute the value of ``"median"``."""


def total_variance(rows: Rows) -> float:
    """Compute the number of columns times the variance of all entries, the reciprocal of ``gamma="scale"``."""
    count, mean, deviation = 0.0, np.float64(0.0), 0.0
    for block, weight in rows.weighted_blocks():
        weight = np.ones(block.shape[0]) if weight is None else weight
        size = float(weight.sum()) * block.shape[1]
        block = block.astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            here = np.float64(_weighted_sum(block, weight) / size)
            # Deviations from each block's mean, combined by Chan's update: a large mean then costs no digits.
            deviation += _squared_deviation(block, weight, here) + (here - mean) ** 2 * count * size / (count + size)
            mean += (here - mean) * size / (count + size)
        count += size
    variance = float(deviation / count)
    _check_size("scale", rows.n_features * variance)
    if not variance > 1e-28 * mean**2:
        alone = ", found n_samples=1" if rows.n_rows == 1 else ", found n_features=1" if rows.n_features == 1 else ""
        raise ValueError(
            f"'scale' needs rows that vary: every entry of X is (nearly) the same{alone}; give a number instead"
        )
    return rows.n_features * variance


def _check_size(rule: str, found: float) -> None:
    """Refuse rows whose variance or distances overflow."""
    if not math.isfinite(found):
        raise ValueError(
            f"{rule!r} needs rows whose squared distances are below 1.8e308, but in X they are larger; scale the rows "
            f"down, or give a number instead"
        )


def _weighted_sum(block: Any, weight: Any) -> float:
    """Compute the weighted sum of all entries by pairwise addition, so that the mean of equal entries is exact."""
    if sp.issparse(block):
        return float((block.data * np.repeat(weight, np.diff(block.indptr))).sum())
    return float((block * weight[:, None]).sum())


def _squared_deviation(block: Any, weight: Any, mean: float) -> float:
    """Compute the weighted sum of (entry - mean)^2 over all entries."""
    if not sp.issparse(block):
        return float((weight @ (block - mean) ** 2).sum())
    block.sum_duplicates()
    stored = np.diff(block.indptr)
    of_stored = float(np.repeat(weight, stored) @ (block.data - mean) ** 2)
    return of_stored + float(weight @ (block.shape[1] - stored)) * mean**2


def _median(distances: Callable[[Any, Any], Any], rows: Rows) -> float:
    sample = rows.sample(MEDIAN_ROWS).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        matrix = distances(sample, sample)
    pairs = matrix[np.triu_indices_from(matrix, k=1)]
    pairs = np.where(np.isnan(pairs), np.inf, pairs)  # NaN arises from two infinite norms
    positive = pairs[pairs > 0]
    if positive.size == 0:
        raise ValueError("'median' needs rows that differ: all sampled rows are (nearly) equal; give a number instead")
    median = float(np.median(pairs))
    median = median if median > 0 else float(np.median(positive))  # mostly duplicates: use the pairs that differ
    _check_size("median", median)
    return median


def median_squared_distance(rows: Rows) -> float:
    """Compute the median squared Euclidean distance in a seeded sample of rows."""
    return _median(squared_distances, rows)


def median_manhattan_distance(rows: Rows) -> float:
    """Compute the median 1-norm distance in a seeded sample of rows."""
    return _median(manhattan_distances, rows)
