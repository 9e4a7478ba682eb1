"""Exact kernels between rows, in float64."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._arrays import checked, two_dimensional
from ._library import kernel

SHAPES = ("square", "gaussian", "matern-1/2", "matern-3/2", "matern-5/2")

TERMS = {"intersection": 1, "manhattan": 1, "chi2": 1, "jensen-shannon": 2, "cauchy": 1, "skewed-chi2": 2}
"""Sums and products over columns, with how many numbers of every row they look at in a column."""
TOGETHER = 16
"""Rows that stand side by side come in a multiple of so many, on any instruction set."""

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


class ColumnRows:
    """Rows as :func:`pairs` takes those on the right: one or two matrices, by columns, padded with rows of 0."""

    def __init__(self, *planes: Matrix):
        self.count, self.columns = planes[0].shape
        self.planes = [np.zeros((self.columns, -(-self.count // TOGETHER) * TOGETHER)) for _ in planes]
        for plane, rows in zip(self.planes, planes, strict=True):
            plane[:, : self.count] = rows.T


def pairs(term: str, X: tuple[Matrix, ...], Y: ColumnRows, scale: float = 1.0) -> Matrix:
    """A sum or a product over columns for every row of X and of Y.

    Parameters
    ----------
    term : one of ``TERMS``, which csrc/mercer.h explains
    X : one or two matrices of shape (n_rows, n_columns)
    Y : the same of other rows
    scale : what differences are multiplied by, for "cauchy"

    Returns
    -------
    values : ndarray of shape (n_rows, n_others)
    """
    if term not in TERMS:
        raise ValueError(f"term must be one of {', '.join(TERMS)}, got {term!r}")
    if not len(X) == len(Y.planes) == TERMS[term]:
        raise ValueError(f"{term!r} takes {TERMS[term]} matrices of X and of Y, got {len(X)} and {len(Y.planes)}")
    shape = rows, columns = two_dimensional("X", X[0])
    if columns != Y.columns:
        raise ValueError(f"X has {columns} columns but Y has {Y.columns}")
    values = np.empty((rows, Y.count))
    left = [checked("X", plane, np.float64, shape) for plane in X]
    right = [checked("Y", plane, np.float64, Y.planes[0].shape) for plane in Y.planes]
    stride = Y.planes[0].shape[1]
    kernel("pairs", values.dtype)(
        left[0],
        left[-1],
        rows,
        right[0],
        right[-1],
        Y.count,
        stride,
        columns,
        list(TERMS).index(term),
        scale,
        values.ctypes.data,
    )
    return values
