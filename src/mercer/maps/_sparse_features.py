"""Sparse features of sparse rows: equally many for every stored entry, in place from the start."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._array import canonical_csr
from .._memory import check_memory
from .._tiles import run_tiles, tile_entries, tile_rows
from ._row_check import Check


def sparse_features(map: Any, params: Any, X: Any, check: Check) -> Any:
    """The features of all CSR rows as CSR, for a fitted map that keeps rows sparse.

    ``check`` raises where it finds rows that are not to be mapped.
    """
    X = canonical_csr(X)
    length, itemsize = map.n_components_ // X.shape[1], X.dtype.itemsize + X.indices.itemsize
    check_memory((X.nnz, length), itemsize, "the sparse matrix of features")
    Z = map._sparse_frame(X)
    entries = map._native_entries(params, X.dtype) if _core.AVAILABLE else None
    if entries is not None:

        def fill_entries(tile: slice) -> None:
            if entries(X.data[tile], Z.data[tile.start * length : tile.stop * length]) is not None:
                check(X)

        run_tiles(fill_entries, X.nnz, tile_entries(length), map.n_jobs)
        return Z
    check(X)
    # A tile holds what its stored entries need, not what its dense rows would.
    rows = tile_rows(map._scratch(X.shape[1]) * X.nnz // (X.shape[0] * X.shape[1]))

    def fill(tile: slice) -> None:
        part = map._tile(params, X[tile], tile.start, as_is=True)
        Z.data[Z.indptr[tile.start] : Z.indptr[tile.stop]] = part.data

    run_tiles(fill, X.shape[0], rows, map.n_jobs)
    return Z
