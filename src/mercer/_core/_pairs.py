"""Exact kernels between rows, in float64."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._library import checked, kernel, two_dimensional

SHAPES = ("square", "gaussian", "matern-1/2", "matern-3/2", "matern-5/2")

Matrix = NDArray[np.float64]


def radial(values: Matrix, X: Matrix, Y: Matrix, norms: tuple[Matrix, Matrix], shape: str, scale: float) -> None:
    """Turn inner products of rows, shifted by the same vector, into a function of their distances.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_others), overwritten
    X, Y : the rows themselves, shifted or not, which tell distances that are too small for inner products to tell
    norms : the squared norms of the shifted rows of X and of Y
    shape : what to make of the squared distance s: one of ``SHAPES``
    scale : exp(-scale s) for "gaussian"; z = scale sqrt(s) for Matern's kernels
    """
    (rows, others), (_, columns) = two_dimensional("values", values), two_dimensional("X", X)
    if shape not in SHAPES:
        raise ValueError(f"shape must be one of {', '.join(SHAPES)}, got {shape!r}")
    kernel("radial", np.dtype(np.float64))(
        checked("values", values, np.float64, written=True),
        rows,
        others,
        checked("X", X, np.float64, (rows, columns)),
        checked("Y", Y, np.float64, (others, columns)),
        columns,
        checked("the norms of X", norms[0], np.float64, (rows,)),
        checked("the norms of Y", norms[1], np.float64, (others,)),
        SHAPES.index(shape),
        scale,
    )
