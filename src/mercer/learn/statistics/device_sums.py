"""Sums over all rows of features on a device, and values of linear models for rows that are sent there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..._array import Array, dense, is_foreign
from ...gpu.device import Device, DeviceTiles, Tensor
from ...gpu.precision import full_precision
from ...maps import FeatureMap
from ..features.device_features import TILE_BYTES, sent_chunks, tensor_features
from ..features.prepared_rows import Chunk, PreparedRows

TILE_ROWS = 65536
"""The largest number of rows whose features are computed and summed at once."""

Part = Callable[[Any, Chunk], tuple[Any, ...]]
"""Computes the terms of a sum from the features of a chunk: tensors that stay on the device, and small arrays."""


def device_sums(device: Device, map: FeatureMap, part: Part, rows: PreparedRows, what: str) -> tuple[Any, ...]:
    """Return the sums over all rows of the results of ``part`` for features on a device.

    Sums stay there until the end of the pass. If a checkpoint keeps them, they are fetched after every block.

    Parameters
    ----------
    device : Device
    map : FeatureMap
        Fitted.
    part : callable
        Called with the features of some rows, and these rows as a chunk.
    rows : PreparedRows
    what : str
        The purpose of the pass.
    """
    make, width = tensor_features(map, device, rows.dtype), int(map.n_components_)
    tiles = DeviceTiles(device, max(1, min(TILE_ROWS, TILE_BYTES // (width * rows.dtype.itemsize))))
    is_kept = rows.passes.context.checkpoint is not None

    def add(first: int, totals: Any, tell: Callable[[int], None] | None) -> tuple[Any, ...]:
        totals, there = [] if totals is None else totals, Sums()
        for X, chunks in sent_chunks(device, rows, map.kernel_, first):
            whole = joined(chunks)

            def work(tile: slice, X: Tensor = X, whole: Chunk = whole) -> None:
                there.add(part(make(X[tile], whole.first + tile.start), part_of_chunk(whole, X[tile], tile)))

            tiles.run(work, X.shape[0])
            if is_kept:
                there.fetch(device, totals)
            if tell is not None:
                tell(chunks[-1].last)
        there.fetch(device, totals)
        return tuple(totals)

    return rows.passes.summed(what, add)


class Sums:
    """Sums of tensors and arrays, which are added to in place."""

    def __init__(self) -> None:
        self._totals: list[Any] = []

    def add(self, parts: tuple[Any, ...]) -> None:
        """Add the sums over one part of the rows."""
        if not self._totals:
            self._totals = list(parts)
            return
        for total, part in zip(self._totals, parts, strict=True):
            total += part

    def fetch(self, device: Device, totals: list[NDArray[Any]]) -> None:
        """Add all of them to sums in NumPy, and start again from 0."""
        found = [device.received(one) if is_foreign(one) else one for one in self._totals]
        self._totals = []
        if not totals:
            totals.extend(np.array(one, dtype=np.float64) for one in found)
            return
        for total, one in zip(totals, found, strict=bool(found)):
            total += one


def joined(chunks: list[Chunk]) -> Chunk:
    """Return consecutive chunks as one, without their rows, which are on the device."""
    if len(chunks) == 1:
        return chunks[0]
    y = None if chunks[0].y is None else np.concatenate([np.asarray(chunk.y) for chunk in chunks])
    weight = None if chunks[0].weight is None else np.concatenate([chunk.weight for chunk in chunks])
    return Chunk(chunks[0].first, None, y, weight)


def part_of_chunk(chunk: Chunk, X: Tensor, tile: slice) -> Chunk:
    """Return some rows of a chunk, given as tensors."""
    y = None if chunk.y is None else chunk.y[tile]
    return Chunk(chunk.first + tile.start, X, y, None if chunk.weight is None else chunk.weight[tile])


class RowValues:
    """The values of a function of features, for rows that are sent to a device.

    Parameters
    ----------
    device : Device
    map : FeatureMap
        Fitted.
    function : callable
        Returns a tensor with one row for every row of features.
    width : int
        The number of its columns.
    dtype : dtype
        The precision of features and results.
    """

    def __init__(
        self, device: Device, map: FeatureMap, function: Callable[[Tensor], Tensor], width: int, dtype: DTypeLike
    ):
        self.device, self.dtype = device, np.dtype(dtype)
        self._features = tensor_features(map, device, self.dtype)
        self._function, self._width = function, width
        self._tiles = DeviceTiles(device, max(1, TILE_BYTES // (int(map.n_components_) * self.dtype.itemsize)))

    @classmethod
    def linear(cls, device: Device, map: FeatureMap, coef: NDArray[Any], dtype: DTypeLike) -> RowValues:
        """Return <coef, z> as a function of rows, for coefficients of shape (n_columns, n_features)."""
        columns = device.sent(coef.T, dtype)
        return cls(device, map, lambda Z: Z @ columns, len(coef), dtype)

    def __call__(self, X: Array, first: int) -> NDArray[Any]:
        """Return the values of prepared rows, dense or CSR, the first of which has this number."""
        rows = self.device.sent(dense(X), self.dtype)
        found = self.device.empty((X.shape[0], self._width), self.dtype)

        def work(tile: slice) -> None:
            found[tile] = self._function(self._features(rows[tile], first + tile.start))

        with full_precision(self.device):
            self._tiles.run(work, X.shape[0])
        return self.device.received(found)
