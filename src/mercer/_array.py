"""The only file that knows NumPy, torch, CuPy, SciPy's sparse matrices and devices.

A map's ``apply`` is written once, with the few operations below and whatever the array's own namespace offers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib.util import find_spec
from typing import Any, TypeVar

import array_api_compat.numpy as numpy_namespace
import numpy as np
import scipy.fft
import scipy.sparse as sp
from array_api_compat import array_namespace, is_cupy_array, is_numpy_array, is_torch_array
from array_api_compat import device as device_of
from numpy.typing import NDArray

from . import _core
from .gpu.precision import current as current_precision
from .gpu.products import sign_product as sign_product_in_parts

Array = Any
Parameters = TypeVar("Parameters", bound=tuple)

SIGN_ELEMENTS = 1 << 20


class Traced(ABC):
    """An array without values whose operations are recorded, so that another program can repeat them.

    It has a shape, in which -1 stands for the number of rows, a type and its own namespace. Operations that no
    array namespace offers are recorded by name.
    """

    dtype: np.dtype[Any]

    @abstractmethod
    def record(self, operation: str, *arguments: Any) -> Any:
        """Record the operation with this name and return its result, which is traced as well."""


def is_foreign(X: Any) -> bool:
    """Return whether X is a torch or CuPy array, which scikit-learn's validation must not touch."""
    return is_torch_array(X) or is_cupy_array(X)


def is_cupy(X: Any) -> bool:
    """Return whether X is a CuPy array."""
    return bool(is_cupy_array(X))


def on_gpu(X: Any) -> bool:
    """Return whether X is in the memory of a GPU."""
    return is_cupy_array(X) or (is_torch_array(X) and X.device.type == "cuda")


def as_tensor(X: Array) -> Any:
    """Return a torch or CuPy array as a torch tensor, which shares its memory unless its order is reversed."""
    if is_torch_array(X):
        return X
    from torch.utils.dlpack import from_dlpack

    return from_dlpack(X if all(step >= 0 for step in X.strides) else X.copy())


def is_differentiated(X: Array) -> bool:
    """Return whether torch records what is done to X, for gradients."""
    if not is_torch_array(X) or not X.requires_grad:
        return False
    import torch

    return torch.is_grad_enabled()


def has_torch() -> bool:
    """Return whether torch is installed."""
    return find_spec("torch") is not None


def is_sparse(X: Any) -> bool:
    """Return whether X is one of SciPy's sparse matrices or arrays."""
    return bool(sp.issparse(X))


def namespace(X: Array) -> Any:
    """Return the array namespace of the dense form of X."""
    return numpy_namespace if sp.issparse(X) else array_namespace(X)


def to_numpy(X: Array) -> Any:
    """Return X as a NumPy array, with gaps where entries are masked; SciPy sparse matrices are returned unchanged."""
    if is_torch_array(X):
        _check_layout(X)
        X = X.detach()
        return (X.float() if X.dtype == array_namespace(X).bfloat16 else X).cpu().numpy()
    if isinstance(X, np.ma.MaskedArray):
        return unmasked(X)
    return X.get() if is_cupy_array(X) else X


def unmasked(X: Any) -> NDArray[Any]:
    """Return a masked array as a plain one: masked entries are NaN among numbers, NaT among times, and None elsewhere.

    Code that ignores the mask would use the values beneath it as if they were data.
    """
    mask, values = np.ma.getmaskarray(X), X.data
    if not mask.any():
        return np.asarray(values)
    if values.dtype.kind in "biuf":
        found = values.astype(np.result_type(values.dtype, np.float16))
        found[mask] = np.nan
    elif values.dtype.kind in "mM":
        found = values.copy()
        found[mask] = "NaT"
    else:
        found = values.astype(object)
        found[mask] = None
    return np.asarray(found)


def as_stored(X: Any) -> Any:
    """Return rows ready for validation: without masks, and as sparse matrices only if all their indices exist.

    SciPy and scikit-learn do not check indices: a wrong one would make them read memory outside the matrix.
    """
    if not sp.issparse(X):
        return to_numpy(X) if isinstance(X, np.ma.MaskedArray) else X
    if X.format in ("csr", "csc", "bsr"):
        _check_compressed(X)
    elif X.format == "coo" and X.nnz:
        for indices, size in zip(X.coords, X.shape, strict=True):
            _check_indices(indices, size)
    return X


def _check_compressed(X: Any) -> None:
    block = X.blocksize if X.format == "bsr" else (1, 1)
    rows, columns = X.shape[0] // block[0], X.shape[1] // block[1]
    major, minor = (columns, rows) if X.format == "csc" else (rows, columns)
    starts, count = X.indptr, min(len(X.indices), len(X.data))
    if len(starts) != major + 1 or starts[0] != 0 or starts[-1] > count or (np.diff(starts) < 0).any():
        raise ValueError(f"the starts of a sparse matrix (indptr) must be {major + 1} numbers rising from 0 to {count}")
    _check_indices(X.indices[: starts[-1]], minor)


def _check_indices(indices: NDArray[Any], size: int) -> None:
    if len(indices) and not (indices.min() >= 0 and indices.max() < size):
        raise ValueError(f"the indices of a sparse matrix must be from 0 to {size - 1}")


def _check_layout(X: Any) -> None:
    """Refuse sparse and other tensors whose entries are not all stored."""
    if X.layout != array_namespace(X).strided or X.is_meta:
        found = "one without values" if X.is_meta else f"one of layout {str(X.layout).removeprefix('torch.')}"
        raise TypeError(f"expected a dense tensor, found {found}; pass sparse rows as a SciPy matrix")


def finite_tensor(X: Any) -> Any:
    """Return whether all numbers of a tensor are finite, found in one pass without temporary arrays."""
    import torch

    return torch.isfinite(torch.linalg.vector_norm(X, torch.inf))


def tree_to_numpy(tree: Any) -> Any:
    """Convert a tree of arrays to NumPy arrays."""
    if isinstance(tree, tuple):
        parts = [tree_to_numpy(part) for part in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)
    return to_numpy(tree)


def is_float32(X: Array) -> bool:
    """Return whether X is in float32."""
    return bool(X.dtype == namespace(X).float32)


def in_double(parameters: type[Parameters]) -> type[Parameters]:
    """Mark a NamedTuple of parameters whose arrays stay in float64 whatever the precision of the rows."""
    parameters.keeps_precision = True  # type: ignore[attr-defined]
    return parameters


def send(parameters: Any, like: Array, cast: bool = True) -> Any:
    """Return the tree of parameters on the device of ``like``, with floating-point arrays in its precision.

    Arrays of a NamedTuple marked by :func:`in_double` stay in float64.
    """
    if isinstance(parameters, tuple):
        cast = cast and not getattr(parameters, "keeps_precision", False)
        parts = [send(part, like, cast) for part in parameters]
        return type(parameters)(*parts) if hasattr(parameters, "_fields") else tuple(parts)
    if isinstance(parameters, Traced):
        return parameters
    floating = cast and like.dtype != object and np.issubdtype(parameters.dtype, np.floating)
    if sp.issparse(like) or is_numpy_array(like) or isinstance(like, Traced):
        with np.errstate(over="ignore"):  # features that overflow are refused, with their row
            return parameters.astype(like.dtype, copy=False) if floating else parameters
    xp = namespace(like)
    # A copy, because torch shares the memory of an array and has no read-only tensors.
    sent = xp.asarray(parameters.copy(order="K"), device=device_of(like))
    return xp.astype(sent, like.dtype) if floating else sent


def precision_and_device(X: Array) -> tuple[str, ...]:
    """Return the device and the precision of X as a key."""
    if is_foreign(X):
        return namespace(X).__name__, str(X.dtype), str(device_of(X))
    return "numpy", str(X.dtype)


def check_foreign(X: Array, finite: bool = True) -> Array:
    """Validate a torch or CuPy matrix like scikit-learn validates NumPy ones; check its entries if ``finite``."""
    xp = namespace(X)
    if is_torch_array(X):
        _check_layout(X)
    if X.ndim != 2 or X.shape[0] == 0:
        raise ValueError(f"expected a 2-dimensional array of at least one row, found shape {tuple(X.shape)}")
    if X.dtype not in (xp.float32, xp.float64):
        raise ValueError(f"expected float32 or float64, found {X.dtype}")
    if finite and not bool(xp.all(where := xp.isfinite(X))):
        row, column = np.argwhere(~to_numpy(where))[0]
        raise ValueError(f"Input X contains NaN or infinity.\nThe first is in row {row}, column {column}.")
    return X


def double(X: Array) -> Array:
    """Return a dense or sparse tile in float64; objects are returned unchanged."""
    if X.dtype == object:
        return X
    return X.astype(np.float64) if sp.issparse(X) else namespace(X).astype(X, namespace(X).float64)


def canonical_csr(X: Any) -> Any:
    """Return CSR rows in which every column is stored once and in order, copied if they were not."""
    if X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def spread(X: Any, length: int) -> Any:
    """Return CSR rows in which each stored entry of X becomes ``length`` adjacent ones, with values yet to be written.

    A column of X becomes ``length`` columns; the columns of X must be stored in order.
    """
    width, count = X.shape[1] * length, X.nnz * length
    index = X.indices.dtype if max(width, count) <= np.iinfo(X.indices.dtype).max else np.dtype(np.int64)
    columns = np.empty(count, dtype=index)
    if _core.AVAILABLE:
        _core.spread(np.ascontiguousarray(X.indices, dtype=index), length, columns)
    else:
        np.add.outer(X.indices * index.type(length), np.arange(length, dtype=index), out=columns.reshape(-1, length))
    values = np.empty(count, dtype=X.dtype)
    return type(X)((values, columns, X.indptr.astype(index) * length), shape=(X.shape[0], width))


def has_kernels(X: Array) -> bool:
    """Return whether the compiled core can read rows like these."""
    return not (is_foreign(X) or isinstance(X, Traced)) and X.dtype != object


def aligned(X: Any) -> Any:
    """Return X with aligned numbers, copied if they are not, as in a structured array."""
    if isinstance(X, np.ndarray) and not X.flags.aligned:
        return X.copy()
    if sp.issparse(X) and X.format == "csr" and not all(part.flags.aligned for part in (X.data, X.indices, X.indptr)):
        return X.copy()
    return X


def feature_array(X: Array, width: int) -> Array:
    """Allocate ``width`` features per row, on the rows' device and in their precision; float64 for objects."""
    if is_foreign(X):
        return namespace(X).empty((X.shape[0], width), dtype=X.dtype, device=device_of(X))
    return np.empty((X.shape[0], width), dtype=np.float64 if X.dtype == object else X.dtype)


def rounded_array(X: Array, width: int) -> Array | None:
    """Allocate ``width`` features per row in bfloat16 if that is the precision of the rows' features, or None."""
    return None if feature_type(X) == X.dtype else X.new_empty((X.shape[0], width), dtype=feature_type(X))


def feature_type(X: Array) -> Any:
    """Return the type of the features of numeric rows: their own, except on a GPU within ``precision("bfloat16")``."""
    if current_precision() != "bfloat16" or not on_gpu(X) or not is_float32(X):
        return X.dtype
    if is_cupy(X):
        raise TypeError('precision("bfloat16") needs torch tensors, found a CuPy array')
    return array_namespace(X).bfloat16


def check_output(out: Any, X: Array, width: int) -> None:
    """Refuse an array into which the features of X cannot be written directly."""
    shape, dtype = (X.shape[0], width), np.dtype(np.float64) if X.dtype == object else feature_type(X)
    if is_foreign(X) or is_foreign(out):
        if type(out) is not type(X) or device_of(out) != device_of(X):
            raise TypeError(f"out must be a {type(X).__name__} on the device of X, found {type(out).__name__}")
    elif not isinstance(out, np.ndarray):
        raise TypeError(f"out must be a NumPy array, found {type(out).__name__}")
    elif not (out.flags.c_contiguous and out.flags.aligned and out.flags.writeable):
        raise ValueError("out must be C-contiguous and writeable")
    if _overlap(out, X.data if sp.issparse(X) else X):
        raise ValueError("out must not overlap X")
    if tuple(out.shape) != shape or out.dtype != dtype:
        raise ValueError(f"out must have shape {shape} and dtype {dtype}, found {tuple(out.shape)} and {out.dtype}")


def _overlap(left: Array, right: Array) -> bool:
    if is_torch_array(left):
        return bool(left.untyped_storage().data_ptr() == right.untyped_storage().data_ptr())
    return bool(namespace(left).may_share_memory(left, right))


def first_overflow(Z: Array) -> int | None:
    """Return the first row with a value that is not finite, or None."""
    if on_gpu(Z) and is_torch_array(Z) and bool(finite_tensor(Z)):
        return None
    values = Z.data if sp.issparse(Z) else Z
    finite = namespace(values).isfinite(values)
    if bool(finite.all()):
        return None
    if sp.issparse(Z):
        return int(np.searchsorted(Z.indptr, np.argmin(finite), side="right")) - 1
    return int(np.argmin(to_numpy(namespace(finite).all(finite, axis=1))))


def dense(X: Array) -> Array:
    """Return a tile as a dense array."""
    return X.toarray() if sp.issparse(X) else X


def stack_rows(parts: list[Array]) -> Array:
    """Concatenate the rows of several tiles; a single one is returned unchanged."""
    if len(parts) == 1:
        return parts[0]
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else namespace(parts[0]).concat(parts, axis=0)


def row_parts(X: Any) -> _core.RowParts:
    """Return a NumPy or CSR tile as the compiled core reads it."""
    if not sp.issparse(X):
        return _core.RowParts(np.ascontiguousarray(X))
    return _core.RowParts(X.data, X.indices, X.indptr.astype(np.int64, copy=False), X.shape[1])


def product(X: Array, matrix: Array) -> Array:
    """Compute ``X @ matrix`` with a dense result, in O(nnz) per column for sparse X."""
    return X @ matrix


def sign_product(X: Array, signs: Array) -> Array:
    """Compute ``X @ signs.T`` for rows of small integers, which are converted to floats block by block."""
    xp = namespace(X)
    if on_gpu(X) and is_torch_array(X) and X.dtype == xp.float32:
        return sign_product_in_parts(X, signs)
    step = max(16, SIGN_ELEMENTS // X.shape[1])
    blocks = [signs[start : start + step] for start in range(0, signs.shape[0], step)]
    return xp.concat([product(X, xp.astype(block, X.dtype).T) for block in blocks], axis=1)


def squares(X: Array) -> Array:
    """Compute the squared norm of every row."""
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return namespace(X).sum(X * X, axis=1)


def affine(X: Array, scale: float, constant: float) -> Array:
    """Compute ``scale * X``, with an additional column of ``constant`` unless that is 0."""
    scaled = X if scale == 1.0 else X * scale
    if constant == 0.0:
        return scaled
    column = ones(X, 1) * constant
    if sp.issparse(X):
        return sp.hstack([scaled, column], format="csr", dtype=X.dtype)
    return namespace(X).concat([scaled, column], axis=1)


def ones(X: Array, width: int) -> Array:
    """Return ``width`` columns of ones for the rows of X."""
    if sp.issparse(X):
        return np.ones((X.shape[0], width), dtype=X.dtype)
    return namespace(X).ones((X.shape[0], width), dtype=X.dtype, device=device_of(X))


def beside(left: Array, right: Array) -> Array:
    """Concatenate the columns of two tiles, both dense or both CSR."""
    if sp.issparse(left):
        return sp.hstack([left, right], format="csr")
    return namespace(left).concat([left, right], axis=1)


def pad(X: Array, width: int) -> Array:
    """Pad dense X with zeros up to ``width`` along its last axis."""
    missing = width - X.shape[-1]
    if missing == 0:
        return X
    xp = namespace(X)
    zeros = xp.zeros((*X.shape[:-1], missing), dtype=X.dtype, device=device_of(X))
    return xp.concat([X, zeros], axis=-1)


def count_sketch(X: Array, buckets: Array, signs: Array, width: int) -> Array:
    """Add ``signs[j] * X[:, j]`` into column ``buckets[j]`` of a dense result, O(nnz) for sparse X."""
    if isinstance(X, Traced):
        return X.record("count_sketch", buckets, signs, width)
    if is_torch_array(X):
        sketch = X.new_zeros((X.shape[0], width))
        return sketch.index_add_(1, buckets.long(), X * signs.to(X.dtype))
    if is_cupy_array(X):
        xp = namespace(X)
        sketch = xp.zeros((X.shape[0], width), dtype=X.dtype)
        xp.add.at(sketch, (slice(None), buckets), X * signs)
        return sketch
    # Every row of the hashing matrix has a single +-1, so SciPy adds in column order whatever rows are in the tile.
    hashing = sp.csr_array(
        (signs.astype(X.dtype), buckets, np.arange(len(buckets) + 1, dtype=np.int32)), shape=(len(buckets), width)
    )
    if sp.issparse(X):
        return (X @ hashing).toarray()
    return np.ascontiguousarray((hashing.T @ X.T).T)


def hadamard(X: Array) -> Array:
    """Compute the unnormalised Walsh-Hadamard transform of the last axis, whose length is a power of two."""
    if isinstance(X, np.ndarray) and _core.AVAILABLE:
        result = np.array(X, order="C").reshape(-1, X.shape[-1])
        _core.hadamard(result)
        return result.reshape(X.shape)
    return X.record("hadamard") if isinstance(X, Traced) else hadamard_reference(X)


def hadamard_reference(X: Array) -> Array:
    """Compute the same as :func:`hadamard` in any array namespace, without the compiled core."""
    xp = namespace(X)
    shape, width, half = X.shape, X.shape[-1], 1
    while half < width:
        pairs = xp.reshape(X, (-1, width // (2 * half), 2, half))
        upper, lower = pairs[:, :, 0, :], pairs[:, :, 1, :]
        X = xp.stack([upper + lower, upper - lower], axis=2)
        half *= 2
    return xp.reshape(X, shape)


def rfft(X: Array) -> Array:
    """Compute the half spectrum of real rows, in their own precision."""
    if isinstance(X, Traced):
        return X.record("rfft")
    # Only SciPy's transform vectorises over rows and keeps float32 in every supported version.
    return scipy.fft.rfft(X, axis=1) if isinstance(X, np.ndarray) else namespace(X).fft.rfft(X, axis=1)


def irfft(spectrum: Array, width: int) -> Array:
    """Compute the real rows with this half spectrum."""
    if isinstance(spectrum, Traced):
        return spectrum.record("irfft", width)
    if isinstance(spectrum, np.ndarray):
        return scipy.fft.irfft(spectrum, n=width, axis=1)
    return namespace(spectrum).fft.irfft(spectrum, n=width, axis=1)


def interleave(real: Array, imaginary: Array, width: int) -> Array:
    """Return the columns real_0, imaginary_0, real_1, ... truncated to ``width``."""
    xp = namespace(real)
    both = xp.reshape(xp.stack([real, imaginary], axis=2), (real.shape[0], 2 * real.shape[1]))
    return both[:, :width]
