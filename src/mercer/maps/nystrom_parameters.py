"""The parameters of Nystrom: landmarks, dense or sparse, and the matrix that whitens their kernel values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._array import in_double, to_numpy
from ..kernels import Kernel
from .array_layouts import Choice, Leaf, floats


class SparseRows(NamedTuple):
    """The parts of a CSR matrix."""

    data: NDArray[np.float64]
    indices: NDArray[Any]
    indptr: NDArray[Any]


@in_double
class NystromParameters(NamedTuple):
    """Landmarks, their row numbers if they have any, V Sigma^(-1/2), and the residual trace.

    Landmarks are float64 rows, the parts of a CSR matrix if that is smaller, an array of objects, or the columns of a
    precomputed matrix. Without whitening, V Sigma^(-1/2) has no rows and as many columns as there are landmarks.
    ``residual`` holds the residual trace, the trace, and the number of rows behind both. Everything is float64, because
    Sigma^(-1/2) would amplify the rounding errors of float32.
    """

    landmarks: Any
    indices: NDArray[np.int64]
    whitening: NDArray[np.float64]
    residual: NDArray[np.float64]


def stored(landmarks: Any) -> Any:
    """Return landmarks as plain arrays: the parts of a CSR matrix if they are sparse and that is smaller."""
    if not sp.issparse(landmarks):
        return landmarks
    matrix = sp.csr_array(landmarks)
    matrix.sort_indices()
    if matrix.nnz * (8 + matrix.indices.itemsize) > 8 * matrix.shape[0] * matrix.shape[1]:
        return matrix.toarray()
    return SparseRows(matrix.data, matrix.indices, matrix.indptr)


def restored(landmarks: Any, n_features: int) -> Any:
    """Return what :func:`stored` was given, as NumPy or SciPy arrays."""
    if not isinstance(landmarks, SparseRows):
        return to_numpy(landmarks)
    parts = SparseRows(*map(to_numpy, landmarks))
    return sp.csr_array(tuple(parts), shape=(len(parts.indptr) - 1, n_features))


def nystrom_layout(precomputed: bool, width: int, n_features: int) -> NystromParameters:
    """Return the layout of the parameters; objects are stored as Python objects rather than arrays."""
    rows = Leaf(("int64",), (None,), 0, n_features - 1) if precomputed else floats(None, n_features)
    parts = Leaf(("int32", "int64"), (None,), 0, n_features - 1), Leaf(("int32", "int64"), (None,), 0)
    sparse: Any = SparseRows(floats(None), *parts)  # type: ignore[arg-type]
    numbers: Any = Leaf(("int64",), (None,), 0)
    landmarks = rows if precomputed else Choice(rows, sparse)
    return NystromParameters(landmarks, numbers, floats(None, width), floats(3, finite=False))


def check_parameters(params: NystromParameters, kernel: Kernel, n_features: int, whiten: bool) -> None:
    """Raise a ValueError if the arrays are inconsistent, or landmarks are outside the kernel's domain."""
    landmarks = params.landmarks
    if isinstance(landmarks, SparseRows):
        ends = landmarks.indptr
        if (
            len(ends) < 2
            or ends[0] != 0
            or ends[-1] != len(landmarks.data)
            or len(landmarks.data) != len(landmarks.indices)
            or landmarks.indices.dtype != ends.dtype
            or (np.diff(ends) < 0).any()
        ):
            raise ValueError("the sparse landmarks are not a CSR matrix")
    rows = restored(landmarks, n_features)
    count = rows.shape[0]
    if not whiten and params.whitening.shape != (0, count):
        raise ValueError(f"{count} landmarks without whitening need an array of shape (0, {count}) in its place")
    if count == 0 or len(params.whitening) != count * whiten or len(params.indices) not in (0, count):
        found = params.whitening.shape[0], len(params.indices)
        raise ValueError(f"{count} landmarks need as many rows of whitening and row numbers or none, found {found}")
    kernel.check_rows(rows)
