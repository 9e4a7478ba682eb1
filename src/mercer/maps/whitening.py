"""From kernel values at landmarks to features: the inverse root of the landmarks' kernel matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

NEGATIVE = 10.0
"""An eigenvalue below minus this many cutoffs is no rounding error: the kernel is not positive semi-definite."""


def check_symmetric(W: Matrix, eps: float, name: str) -> Matrix:
    """Return W symmetrised; raise a ValueError if its halves differ by more than half of the digits."""
    difference = np.abs(W - W.T)
    if difference.max() > np.sqrt(eps) * np.abs(W).max():
        i, j = np.unravel_index(np.argmax(difference), W.shape)
        raise ValueError(
            f"{name} is not symmetric: {W[i, j]:g} and, in the other order, {W[j, i]:g} at landmarks {i} and {j}"
        )
    return (W + W.T) / 2.0


class Whitening(NamedTuple):
    """V Sigma^(-1/2), and the most negative eigenvalue beyond rounding, or 0."""

    root: Matrix
    negative: float


def rounding(values: Vector, eps: float) -> float:
    """Return the size up to which an eigenvalue may be a rounding error of 0, relative to the largest of these."""
    return len(values) * eps * float(np.abs(values).max())


def most_negative(values: Vector, eps: float) -> float:
    """Return the lowest of these eigenvalues, in ascending order, if it is negative beyond rounding; otherwise 0."""
    return float(values[0]) if values[0] < -NEGATIVE * rounding(values, eps) else 0.0


def whitening(W: Matrix, eps: float, rank: int) -> Whitening:
    """Compute V Sigma^(-1/2) from the largest eigenpairs of W = V Sigma V', at most ``rank``, largest first.

    Eigenvalues up to len(W) * eps times the largest are rounding errors and dropped; the cutoff is relative to the
    largest, so that neither duplicates nor the scale of the kernel matter. Each eigenvector has the sign that makes its
    largest entry positive. If nothing is left, as for a kernel that is 0, the result is one column of zeros.
    """
    values, vectors = np.linalg.eigh(W)
    negative = most_negative(values, eps)
    kept = min(rank, int(np.count_nonzero(values > rounding(values, eps))))
    if kept == 0:
        return Whitening(np.zeros((len(W), 1)), negative)
    values, vectors = values[::-1][:kept], vectors[:, ::-1][:, :kept]
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None, :], axis=0)
    return Whitening(vectors * (np.sign(largest) / np.sqrt(values)), negative)
