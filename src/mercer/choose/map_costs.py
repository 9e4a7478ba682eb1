"""What features cost, in operations: arithmetic that knows no clock, so that a seed makes the same choice everywhere.

An operation is a multiplication and an addition in a product of large matrices, in the precision of the rows. Every
construction says what a row costs it. The factors were measured on one core of an x86-64 machine with AVX2; only their
ratios decide, which hardly differ between machines. Seconds become operations by
:data:`mercer.learn.estimates.time_forecast.SPEED`.
"""

from __future__ import annotations

import math
from typing import Any

from ..learn.estimates.time_forecast import SPEED
from ..maps import FeatureMap

EIGENVALUES = 10.0
"""Of a symmetric matrix, over the operations of a product of two such matrices."""
USUAL_DEGREE = 4
"""Of a series that does not end."""


def row_operations(map: FeatureMap, n_features: int, width: int) -> float:
    """Operations that map one row.

    Parameters
    ----------
    map : FeatureMap
        Not fitted; a map over others costs what the maps inside it do, each as wide as the map around them.
    n_features : int
    width : int
    """
    inside = [part for part in map.get_params(deep=False).values() if isinstance(part, FeatureMap)]
    if not inside:
        return map.construction.row_operations(n_features, width, _degree(map.kernel))
    return sum(row_operations(part, n_features, width) for part in inside) + width * (30.0 + math.log2(width + 1.0))


def fit_operations(map: FeatureMap, n_rows: int, n_features: int, width: int) -> float:
    """Operations that draw the parameters of a map.

    Parameters
    ----------
    map : FeatureMap
        Not fitted.
    n_rows : int
    n_features : int
    width : int
    """
    drawn = 30.0 * n_features * width
    if not map.has_landmarks:
        return drawn
    passes = 1.0 if getattr(map, "landmarks", "uniform") == "uniform" else 2.0
    seen = min(n_rows, getattr(map, "max_rows", n_rows))  # whose residual trace is measured
    return drawn + EIGENVALUES * float(width) ** 3 + passes * seen * float(width) ** 2


def work_operations(map: FeatureMap, n_rows: int, n_features: int, width: int) -> float:
    """Operations of a machine of least squares on a map: its fit, the features of all rows, their moments, a solution.

    Moments count because they are what features are made for, and wider maps pay for them.

    Parameters
    ----------
    map : FeatureMap
        Not fitted.
    n_rows : int
    n_features : int
    width : int
    """
    D = float(width)
    rows = n_rows * (row_operations(map, n_features, width) + D**2)
    return fit_operations(map, n_rows, n_features, width) + rows + D**3 / 3.0


def operations_in(seconds: float) -> float:
    """What one thread does in the given number of seconds.

    Parameters
    ----------
    seconds : float
    """
    return SPEED * seconds


def work_bytes(map: FeatureMap, n_rows: int, width: int, itemsize: int) -> float:
    """Bytes of the features of all rows, and of the matrices that landmarks need.

    Parameters
    ----------
    map : FeatureMap
        Not fitted.
    n_rows : int
    width : int
    itemsize : int
    """
    squares = 3 if map.has_landmarks else 0
    return float(n_rows) * width * itemsize + 8.0 * squares * float(width) ** 2


def _degree(kernel: Any) -> int:
    degree = kernel.max_degree if kernel.is_dot_product else None
    return USUAL_DEGREE if degree is None else max(1, int(degree))
