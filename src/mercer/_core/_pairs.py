"""Exact kernels between rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._arrays import checked, scratch, two_dimensional
from ._library import kernel
from ._product import SCRATCH_BYTES, Panels

SHAPES = ("square", "gaussian", "matern-1/2", "matern-3/2", "matern-5/2")

TERMS = {"intersection": 1, "manhattan": 1, "chi2": 1, "jensen-shannon": 2, "cauchy": 1, "skewed-chi2": 2}
"""Sums and products over columns, with how many numbers per column they use of every row."""
TOGETHER = 16
"""The rows on the right are padded to a multiple of this number, on every instruction set."""

Matrix = NDArray[np.float64]


def radial(values: Matrix, X: Matrix, Y: Matrix, norms: tuple[Matrix, Matrix], shape: str, scale: float) -> None:
    """Turn inner products of rows, shifted by the same vector, into a function of their distances.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_others)
        The inner products; overwritten.
    X, Y : ndarray of shape (n_rows, n_columns) and (n_others, n_columns)
        The rows themselves, shifted or not: they give the distances that are too small for inner products.
    norms : tuple of two ndarrays
        The squared norms of the shifted rows of X and of Y.
    shape : str
        The function of the squared distance s, one of ``SHAPES``.
    scale : float
        As in exp(-scale s) for "gaussian", and z = scale sqrt(s) for the Matern kernels.
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


def radial_values(
    X: NDArray[Any], landmarks: Panels, norms: NDArray[Any], shape: str, scale: float, out: NDArray[Any]
) -> None:
    """Write a function of the distances between rows and landmarks, in the precision of the rows.

    Distances come from inner products, so their error is the rounding of the squared norms: shift rows and landmarks to
    their mean, and use :func:`radial` if that rounding is not small compared with the width of the kernel.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns), float32 or float64
        The rows, shifted.
    landmarks : Panels
        The landmarks, shifted in the same way, one per column.
    norms : ndarray of shape (n_landmarks,)
        Their squared norms.
    shape : str
        The function of the squared distance, one of ``SHAPES`` except "square".
    scale : float
        As for :func:`radial`.
    out : ndarray of shape (n_rows, n_landmarks), in the type of X
        The output array.
    """
    if shape not in SHAPES[1:]:
        raise ValueError(f"shape must be one of {', '.join(SHAPES[1:])}, got {shape!r}")
    (rows, columns), dtype = two_dimensional("X", X), X.dtype
    squares, room = np.einsum("ij,ij->i", X, X), scratch(SCRATCH_BYTES // dtype.itemsize, dtype)
    kernel("radial_values", dtype)(
        checked("X", X, dtype, (rows, landmarks.rows)),
        rows,
        columns,
        squares.ctypes.data,
        checked("the landmarks", landmarks.numbers, dtype),
        landmarks.columns,
        checked("the norms", norms, dtype, (landmarks.columns,)),
        SHAPES.index(shape),
        scale,
        checked("out", out, dtype, (rows, landmarks.columns), True),
        room.ctypes.data,
    )


class ColumnRows:
    """Rows as :func:`pairs` takes them on the right: one or two matrices, stored by columns, padded with rows of 0."""

    def __init__(self, *planes: Matrix):
        self.count, self.columns = planes[0].shape
        self.planes = [np.zeros((self.columns, -(-self.count // TOGETHER) * TOGETHER)) for _ in planes]
        for plane, rows in zip(self.planes, planes, strict=True):
            plane[:, : self.count] = rows.T


def pairs(term: str, X: tuple[Matrix, ...], Y: ColumnRows, scale: float = 1.0) -> Matrix:
    """Return a sum or a product over columns for every row of X and every row of Y.

    Parameters
    ----------
    term : str
        One of ``TERMS``, which csrc/kernels.h explains.
    X : tuple of one or two ndarrays of shape (n_rows, n_columns)
        The rows on the left.
    Y : ColumnRows
        The rows on the right.
    scale : float, default=1.0
        The factor of differences, for "cauchy".

    Returns
    -------
    ndarray of shape (n_rows, n_others)
        The sums or products.
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
