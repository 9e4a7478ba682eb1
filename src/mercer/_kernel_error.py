"""The error of a map's estimates of the kernel on given rows."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ._array import is_foreign, is_sparse, to_numpy
from .kernels.families import inner_products
from .maps import FeatureMap
from .maps.nystrom_parameters import restored

BLOCK_ELEMENTS = 1 << 22


class KernelError(NamedTuple):
    """The error of a feature map, as returned by :func:`kernel_error`.

    Parameters
    ----------
    relative : float
        The relative error ||Z Z' - K|| / ||K|| in the Frobenius norm.
    maximum : float
        The largest absolute entry of Z Z' - K.
    """

    relative: float
    maximum: float


def kernel_error(map: FeatureMap, X: Any) -> KernelError:
    """Compare the Gram matrix of a fitted map's features with the exact kernel matrix.

    Only blocks of the n x n matrices are held in memory. For an honest figure, use rows that the map was not fitted on.
    Plain kernel values at landmarks, like those of learners with landmarks, are whitened first.

    Parameters
    ----------
    map : FeatureMap
        The fitted map.
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or sequence
        The rows, in any form that the map accepts. For a precomputed kernel, the square matrix of its fit.

    Returns
    -------
    KernelError
        The relative and the maximum error.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).normal(size=(50, 8))
    >>> sketch = mercer.TensorSketch(n_components=1024, random_state=0).fit(X)
    >>> bool(mercer.kernel_error(sketch, X).relative < 0.2)
    True
    """
    if not isinstance(map, FeatureMap):
        name = type(map).__name__
        raise TypeError(
            f"kernel_error takes a feature map, found {name}; of a pipeline, give the map and the rows it sees"
        )
    map = whitened(map)
    Z = map.transform(X)
    Z = to_numpy(Z) if is_sparse(Z) or is_foreign(Z) else np.asarray(Z)
    X = to_numpy(map.validated(X))
    n = Z.shape[0]
    step = max(1, BLOCK_ELEMENTS // n)
    errors, kernels, maximum = [], [], 0.0
    for start in range(0, n, step):
        exact = map.kernel_(X[start : start + step], X).astype(np.float64)
        error = inner_products(Z[start : start + step].astype(np.float64), Z) - exact
        errors.append(_norm(error))
        kernels.append(_norm(exact))
        maximum = max(maximum, float(np.abs(error).max()))
    error_norm, kernel_norm = math.hypot(*errors), math.hypot(*kernels)
    if kernel_norm == 0.0:
        return KernelError(0.0 if error_norm == 0.0 else math.inf, maximum)
    return KernelError(error_norm / kernel_norm, maximum)


def whitened(map: FeatureMap) -> FeatureMap:
    """Return a fitted map whose inner products are estimates, which whitens plain kernel values at landmarks."""
    if not map.gives_kernel_values:
        return map
    landmarks = restored(map.parameters_.landmarks, map.n_features_in_)
    return clone(map).set_params(kernel=map.kernel_, landmarks=landmarks, whiten=True).fit(landmarks)


def _norm(M: NDArray[np.float64]) -> float:
    """Compute the Frobenius norm, even if the squares of entries overflow float64."""
    size = float(np.abs(M).max())
    return size * float(np.linalg.norm(M / size)) if size > 0.0 else 0.0
