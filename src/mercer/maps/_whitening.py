"""From kernel values at landmarks to features: the inverse root of the landmarks' kernel matrix."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

NEGATIVE = 10.0
"""An eigenvalue below minus so many times the cut is no rounding: the kernel is not positive semi-definite."""


def check_symmetric(W: Matrix, eps: float, name: str) -> Matrix:
    """W with its two halves averaged; a ValueError where they differ by more than half of the digits."""
    difference = np.abs(W - W.T)
    if difference.max() > np.sqrt(eps) * np.abs(W).max():
        i, j = np.unravel_index(np.argmax(difference), W.shape)
        raise ValueError(
            f"{name} is not symmetric: {W[i, j]:g} and, in the other order, {W[j, i]:g} at landmarks {i} and {j}"
        )
    return (W + W.T) / 2.0


def whitening(W: Matrix, eps: float, rank: int) -> Matrix:
    """V Sigma^(-1/2) of the largest eigenpairs of W = V Sigma V', at most ``rank``, largest first.

    Eigenvalues up to len(W) * eps times the largest are rounding and left out: relative to the largest, so that
    neither duplicates nor the scale of the kernel matter. Of the two signs of an eigenvector the one with a positive
    largest entry is taken. Where nothing is left, as for a kernel that is 0, one column of zeros stands for it.
    """
    values, vectors = np.linalg.eigh(W)
    cut = len(W) * eps * float(np.abs(values).max())
    if values[0] < -NEGATIVE * cut:
        warnings.warn(
            f"the kernel matrix of the landmarks is not positive semi-definite: its most negative eigenvalue is "
            f"{values[0]:.3g}, its largest {values[-1]:.3g}; directions of negative eigenvalues are left out",
            UserWarning,
            stacklevel=2,
        )
    kept = min(rank, int(np.count_nonzero(values > cut)))
    if kept == 0:
        return np.zeros((len(W), 1))
    values, vectors = values[::-1][:kept], vectors[:, ::-1][:, :kept]
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None, :], axis=0)
    return vectors * (np.sign(largest) / np.sqrt(values))
