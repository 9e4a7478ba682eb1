"""Rows that stand for all others."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


def sampled(n_rows: int, count: int) -> NDArray[np.int64]:
    """Return ``count`` row numbers, one per run of equal length, at varying places in case the order is periodic."""
    starts = np.arange(count + 1) * n_rows // count
    return starts[:-1] + (np.arange(count) * GOLDEN % 1.0 * np.diff(starts)).astype(np.int64)
