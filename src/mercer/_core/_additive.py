"""Features of additive kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._arrays import checked
from ._library import kernel


def additive(
    values: NDArray[Any], frequencies: NDArray[np.float64], weights: NDArray[np.float64], out: NDArray[Any]
) -> int | None:
    """Write the features root(x) and root(x) (cos, sin)(w log x), each times its weight, of every value x >= 0.

    Parameters
    ----------
    values : ndarray of shape (n_values,), float32 or float64
        The values.
    frequencies : ndarray of shape (m,), float64
        The multiples w = L, 2 L, ..., m L of one number; there may be none.
    weights : ndarray of shape (2 m + 1,), float64
        Small enough that the features of any value are finite in the type of the values.
    out : ndarray of shape (n_values * (2 m + 1),), in the type of the values
        The output array; the features of a value are neighbours.

    Returns
    -------
    int or None
        The number of the first value that is negative or not finite; None if there is none.
    """
    order, width = len(frequencies), 2 * len(frequencies) + 1
    if not isinstance(values, np.ndarray) or values.ndim != 1:
        raise ValueError(f"values must be a NumPy array of one dimension, got {values!r}")
    first = kernel("additive", values.dtype)(
        checked("values", values, values.dtype),
        len(values),
        checked("frequencies", frequencies, np.float64, (order,)),
        order,
        checked("weights", weights, np.float64, (width,)),
        checked("out", out, values.dtype, (len(values) * width,), True),
    )
    return None if first == len(values) else int(first)


def spread(columns: NDArray[Any], width: int, out: NDArray[Any]) -> None:
    """Write c width, c width + 1, ..., c width + width - 1 for every column c.

    Parameters
    ----------
    columns : ndarray of shape (n_columns,), int32 or int64
        Without negative numbers; their multiples must fit into this type, too.
    width : int
        The number of adjacent columns that a column becomes.
    out : ndarray of shape (n_columns * width,), in the type of the columns
        The output array.
    """
    if columns.dtype not in (np.int32, np.int64):
        raise TypeError(f"columns must be int32 or int64, got {columns.dtype}")
    kernel("spread", np.dtype(np.float32 if columns.dtype == np.int32 else np.float64))(
        checked("columns", columns, columns.dtype, (columns.size,)),
        len(columns),
        width,
        checked("out", out, columns.dtype, (len(columns) * width,), True),
    )
