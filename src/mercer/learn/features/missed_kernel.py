"""The part of a kernel that features miss if they are a projection of its own features, as those of landmarks are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..._array import Array, double
from ...maps import FeatureMap
from ...maps.opaque_kernels import Precomputed

Matrix = NDArray[np.float64]


def misses_kernel(map: FeatureMap) -> bool:
    """Return whether the features of a fitted map are a projection, so that the part they miss is known."""
    return map.fitted_.construction.evaluates_kernel and not isinstance(map.kernel_, Precomputed)


def missed_diagonal(map: FeatureMap, rows: Array, Z: NDArray[np.floating]) -> Matrix | None:
    """Return the part of k(x, x) that the features of prepared rows miss; None if they are not a projection."""
    if not misses_kernel(map):
        return None
    norms = np.einsum("ij,ij->i", Z, Z, dtype=np.float64)
    return np.maximum(map.kernel_.diagonal(double(rows)) - norms, 0.0)


def missed_matrix(map: FeatureMap, rows: Array, Z: Matrix) -> Matrix | None:
    """Return the part of the kernel matrix of prepared rows that their features miss; None under the same condition."""
    if not misses_kernel(map):
        return None
    return map.kernel_.gram(double(rows), double(rows)) - Z @ Z.T
