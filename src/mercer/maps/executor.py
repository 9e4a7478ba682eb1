"""Running rows through a fitted map: cut into tiles, checked, mapped on threads or a device, and assembled."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from .._array import (
    Array,
    as_tensor,
    canonical_csr,
    feature_array,
    first_overflow,
    has_kernels,
    is_float32,
    is_foreign,
    namespace,
    on_gpu,
    stack_rows,
)
from .._memory import check_memory
from .._tiles import device_tile_rows, run_device_tiles, run_large_tiles, run_tiles, tile_entries, tile_rows
from .construction import Gpu
from .fitted_map import FittedMap
from .row_checks import Check

MENDED_ROWS = 4096
"""The number of rows that the reference maps at once after a fused kernel could not map them."""
CACHED_BYTES = 2**25
"""The number of features that are written to a buffer before they are copied, so few that they stay in cache."""
PAIR_BYTES = 8
"""The size of two features in float32, of which an address on a GPU must be a multiple to store them at once."""


def features(
    fitted: FittedMap,
    X: Array,
    n_jobs: int | None,
    first_row: int = 0,
    out: Array | None = None,
    check: Check | None = None,
) -> Array:
    """Compute the dense features of every row of X.

    Parameters
    ----------
    fitted : FittedMap
        The map.
    X : {ndarray, sparse matrix, tensor} of shape (n_samples, n_features)
        Validated rows.
    n_jobs : int or None
        The number of threads.
    first_row : int, default=0
        The number of the first row, for messages.
    out : ndarray or None, default=None
        The array that is written to and returned.
    check : callable or None, default=None
        Raises an error if a tile contains rows that must not be mapped.

    Returns
    -------
    {ndarray, tensor} of shape (n_samples, n_components)
        The features.
    """
    Z = feature_array(X, fitted.n_components) if out is None else out
    if on_gpu(X):
        return device_features(fitted, X, first_row, Z, check)
    fitted = fitted.on(X)
    native = fitted.native(Z.dtype) if has_kernels(X) else None
    plain = isinstance(X, np.ndarray) and X.flags.c_contiguous
    alone = native is not None and plain and fitted.construction.rows_alone

    def fill(tile: slice) -> None:
        part = X[tile]
        if check is not None and not alone:
            check(part)
        if native is None:
            Z[tile] = tile_features(fitted, part, first_row + tile.start)
            return
        row = native(part, Z[tile])
        if row is not None and check is not None:
            check(part)
        _refuse(row, first_row + tile.start, Z)

    if alone:
        run_large_tiles(fill, X.shape[0], n_jobs)
    else:
        rows = tile_rows(fitted.construction.scratch, fitted.construction.largest_tile)
        run_tiles(fill, X.shape[0], rows, 1 if is_foreign(X) else n_jobs)
    return Z


def device_features(fitted: FittedMap, X: Array, first_row: int, Z: Array, check: Check | None) -> Array:
    """Compute the features on a GPU, by the map's fused kernel in one go or by its reference in large tiles."""
    write = fitted.gpu(X)
    if write is not None:
        X, Z, given = as_tensor(X), as_tensor(Z), Z
    fitted = fitted.on(X)

    def fill(rows: Any) -> None:
        part = X[rows]
        if check is not None:
            check(part)
        features = tile_features(fitted, part, first_row + int(rows.start if write is None else rows[0]))
        Z[rows] = namespace(features).astype(features, Z.dtype, copy=False)

    if write is None:
        run_device_tiles(fill, X.shape[0], device_tile_rows(fitted.construction.scratch))
        return Z
    marked = written_at_once(write, X if X.stride(1) == 1 else X.contiguous(), Z)
    if bool(marked.any()):
        for row in marked.nonzero()[:, 0].split(MENDED_ROWS):
            fill(row)
    return given


def written_at_once(write: Gpu, X: Array, Z: Array) -> Array:
    """Write features by a fused kernel, through a buffer if it cannot write to Z itself; return its marks."""
    marks: list[Any] = []
    if takes_pairs(Z):
        run_device_tiles(lambda tile: marks.append(write(X[tile], Z[tile])), X.shape[0], X.shape[0])
        return stack_rows(marks)
    few = max(1, min(X.shape[0], CACHED_BYTES // (X.itemsize * Z.shape[1])))
    written = X.new_empty((few, Z.shape[1]))

    def work(tile: slice) -> None:
        features = written[: tile.stop - tile.start]
        marks.append(write(X[tile], features))
        Z[tile] = features

    run_device_tiles(work, X.shape[0], few)
    return stack_rows(marks)


def takes_pairs(Z: Array) -> bool:
    """Return whether fused kernels, which store two features in float32 at once, can write to a tensor."""
    return is_float32(Z) and bool(Z.is_contiguous()) and Z.data_ptr() % PAIR_BYTES == 0


def tile_features(fitted: FittedMap, X: Array, first_row: int, as_is: bool = False) -> Array:
    """Compute the features of one tile by the reference; with ``as_is``, they may be sparse."""
    with np.errstate(over="ignore", invalid="ignore"):
        Z = fitted.apply_as_is(X) if as_is else fitted.apply(X)
    _refuse(first_overflow(Z), first_row, Z)
    return Z


def _refuse(row: int | None, first_row: int, Z: Array) -> None:
    """Raise an error if a row of a tile that begins with row ``first_row`` has overflowed."""
    if row is not None:
        row += first_row
        raise ValueError(f"the features of row {row} overflow {Z.dtype}: scale the rows down or lower the degree")


def sparse_features(fitted: FittedMap, X: Array, n_jobs: int | None, check: Check) -> Any:
    """Compute the features of all CSR rows as CSR, for a map that keeps rows sparse."""
    fitted, X = fitted.on(X), canonical_csr(X)
    construction = fitted.construction
    length, itemsize = fitted.n_components // X.shape[1], X.dtype.itemsize + X.indices.itemsize
    check_memory((X.nnz, length), itemsize, "the sparse matrix of features")
    Z = construction.sparse_frame(X)
    entries = construction.native_entries(fitted.parameters, X.dtype) if _core.AVAILABLE else None
    if entries is not None:

        def fill_entries(tile: slice) -> None:
            if entries(X.data[tile], Z.data[tile.start * length : tile.stop * length]) is not None:
                check(X)

        run_tiles(fill_entries, X.nnz, tile_entries(length), n_jobs)
        return Z
    check(X)
    # The memory of a tile is that of its stored entries, not that of dense rows.
    rows = tile_rows(construction.scratch * X.nnz // (X.shape[0] * X.shape[1]))

    def fill(tile: slice) -> None:
        part = tile_features(fitted, X[tile], tile.start, as_is=True)
        Z.data[Z.indptr[tile.start] : Z.indptr[tile.stop]] = part.data

    run_tiles(fill, X.shape[0], rows, n_jobs)
    return Z
