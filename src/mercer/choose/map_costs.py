"""The cost of features in operations, which depend on no clock, so that a seed makes the same choice everywhere.

An operation is a multiplication and an addition in a product of large matrices, in the precision of the rows. Every
construction states its cost per row. The factors were measured on one core of an x86-64 machine with AVX2; only their
ratios matter, which hardly differ between machines. Seconds are converted to operations by
:data:`mercer.learn.estimates.time_forecast.SPEED`.
"""

from __future__ import annotations

import math

from ..kernels import Kernel
from ..learn.estimates.time_forecast import SPEED
from ..maps import FeatureMap

EIGENVALUES = 10.0
"""The cost of decomposing a symmetric matrix, relative to a product of two such matrices."""
USUAL_DEGREE = 4
"""The degree assumed for an infinite series."""


def row_operations(map: FeatureMap, n_features: int, width: int) -> float:
    """Return the operations that map one row.

    Parameters
    ----------
    map : FeatureMap
        The map, not fitted. A map over others costs what the maps inside it cost, each as wide as the outer one.
    n_features : int
        The number of columns.
    width : int
        The number of features.

    Returns
    -------
    float
        The number of operations.
    """
    inside = [part for part in map.get_params(deep=False).values() if isinstance(part, FeatureMap)]
    if not inside:
        return map.construction.row_operations(n_features, width, _degree(map.kernel))
    return sum(row_operations(part, n_features, width) for part in inside) + width * (30.0 + math.log2(width + 1.0))


def fit_operations(map: FeatureMap, n_rows: int, n_features: int, width: int) -> float:
    """Return the operations that draw the parameters of a map.

    Parameters
    ----------
    map : FeatureMap
        The map, not fitted.
    n_rows : int
        The number of rows.
    n_features : int
        The number of columns.
    width : int
        The number of features.

    Returns
    -------
    float
        The number of operations.
    """
    drawn = 30.0 * n_features * width
    if not map.has_landmarks:
        return drawn
    passes = 1.0 if getattr(map, "landmarks", "uniform") == "uniform" else 2.0
    seen = min(n_rows, getattr(map, "max_rows", n_rows))  # the residual trace is measured on these rows
    return drawn + EIGENVALUES * float(width) ** 3 + passes * seen * float(width) ** 2


def work_operations(map: FeatureMap, n_rows: int, n_features: int, width: int) -> float:
    """Return the operations of least squares on a map: its fit, the features of all rows, their moments, a solution.

    Moments are included because features are computed for them, and wider maps pay for them.

    Parameters
    ----------
    map : FeatureMap
        The map, not fitted.
    n_rows : int
        The number of rows.
    n_features : int
        The number of columns.
    width : int
        The number of features.

    Returns
    -------
    float
        The number of operations.
    """
    D = float(width)
    rows = n_rows * (row_operations(map, n_features, width) + D**2)
    return fit_operations(map, n_rows, n_features, width) + rows + D**3 / 3.0


def operations_in(seconds: float) -> float:
    """Return the operations that one thread performs in the given time.

    Parameters
    ----------
    seconds : float
        The time.

    Returns
    -------
    float
        The number of operations.
    """
    return SPEED * seconds


def work_bytes(map: FeatureMap, n_rows: int, width: int, itemsize: int) -> float:
    """Return the size of the features of all rows, and of the matrices that landmarks need.

    Parameters
    ----------
    map : FeatureMap
        The map, not fitted.
    n_rows : int
        The number of rows.
    width : int
        The number of features.
    itemsize : int
        The number of bytes per feature.

    Returns
    -------
    float
        The number of bytes.
    """
    squares = 3 if map.has_landmarks else 0
    return float(n_rows) * width * itemsize + 8.0 * squares * float(width) ** 2


def _degree(kernel: Kernel) -> int:
    degree = kernel.max_degree if kernel.is_dot_product else None
    return USUAL_DEGREE if degree is None else max(1, int(degree))
