"""Signed sums of columns by buckets."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..symbol import ROWS, Symbol, numbers


def count_sketch(X: Symbol, buckets: NDArray[Any], signs: NDArray[Any], width: int) -> Symbol:
    """Add ``signs[j] * X[:, j]`` into column ``buckets[j]``, without a matrix of zeros and signs."""
    columns = (X * signs.astype(X.dtype)).node("Transpose", shape=(len(buckets), ROWS), perm=(1, 0))
    rows = X.node("Shape", shape=(1,), dtype=np.int64, start=0, end=1)
    sizes = X.tracing.constant(numbers([width])).node("Concat", rows, shape=(2,), axis=0)
    zeros = X.tracing.constant(np.zeros(1, X.dtype)).node("Expand", sizes, shape=(width, ROWS))
    sums = zeros.node("ScatterND", numbers(buckets)[:, None], columns, reduction="add")
    return sums.node("Transpose", shape=(ROWS, width), perm=(1, 0))
