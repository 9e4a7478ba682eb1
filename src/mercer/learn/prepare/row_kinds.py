"""The kind of rows, recognised by their values: histograms, images, text or a table, and the scale that suits each.

The rule uses the ranges of columns and a sample of rows. It fits nothing and uses no targets.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..statistics.column_summaries import Summary

KINDS = {"table": "standard", "histograms": None, "images": "common", "text": "unit"}
"""The scale of every kind."""
WORDS = {
    "table": "a table: every column has its own unit",
    "histograms": "histograms: no entry is negative and all rows have the same sum",
    "images": "images, or other columns with a common unit: they share one range",
    "text": "text: few entries of a row are stored, and none is negative",
}
"""The description of every kind."""
LEAST_BINS = 3
"""The smallest number of columns of a histogram."""
EVEN = 0.01
"""The largest deviation of the sums of histograms, relative to their mean."""
BALANCED = 0.05
"""The largest variance of these sums, relative to the variances of columns."""
LEAST_PIXELS = 50
"""The smallest number of columns of an image that are not constant."""
MOST_OF_THEM, MOST_OF_THE_RANGE = 0.75, 0.5
"""At least the first share of an image's columns must each cover at least the second share of the common range."""
LEAST_WORDS = 100
"""The smallest number of columns of text."""
FEW = 0.1
"""The largest share of stored entries of text."""


def recognised(total: Summary, sample: Any) -> str:
    """Return the kind of rows of numbers, from summaries of columns and a sample."""
    varying = total.most > total.least
    if not varying.any():
        return "table"
    non_negative = bool((total.least[varying] >= 0.0).all())
    if non_negative and np.count_nonzero(varying) >= LEAST_BINS and _has_even_sums(sample, total.spread[varying]):
        return "histograms"
    if sp.issparse(sample) and non_negative and sample.shape[1] >= LEAST_WORDS:
        stored = np.count_nonzero(sample.data) / (sample.shape[0] * sample.shape[1])
        if stored <= FEW:
            return "text"
    if _has_one_range(total.least[varying], total.most[varying]):
        return "images"
    return "table"


def _has_even_sums(sample: Any, spread: NDArray[np.float64]) -> bool:
    """Return whether rows have the same sum, though their columns differ."""
    with np.errstate(over="ignore", invalid="ignore"):
        sums = np.asarray(sample.sum(axis=1, dtype=np.float64)).ravel()
        deviation = float(np.std(sums))
        columns = float(np.sqrt(np.sum(spread**2)))
    return deviation <= EVEN * float(np.mean(sums)) and deviation <= np.sqrt(BALANCED) * columns


def _has_one_range(least: NDArray[np.float64], most: NDArray[np.float64]) -> bool:
    """Return whether many columns reach over much of the same range."""
    with np.errstate(over="ignore"):
        reach = most - least >= MOST_OF_THE_RANGE * (most.max() - least.min())
    return len(least) >= LEAST_PIXELS and bool(np.mean(reach) >= MOST_OF_THEM)
