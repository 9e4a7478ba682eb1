"""The matrix of features of all rows on a device: stored there, or computed there again in every pass.

Coefficients, slopes and decision values come from NumPy and return to it; they are small compared with the features.
Products are in the full precision of the features, and sums of many rows in float64.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..._array import Array, dense, to_numpy
from ...data.block import BLOCK_ROWS
from ...gpu.device import Device, DeviceTiles, Tensor
from ...gpu.kernel_blocks import UnstoredBlock
from ...gpu.precision import full_precision
from ...gpu.shortage import is_shortage
from ...gpu.split_products import add_second_moments, mirrored
from ...gpu.transfers import block_rows, sent_blocks
from ...kernels import Kernel
from ...maps import FeatureMap
from ...maps.executor import features
from ...maps.nystrom_parameters import restored
from ...maps.row_checks import check_rows
from ..losses import Bend
from ..losses.row_values import column_sums
from ..passes.fit_passes import Passes
from .chosen_rows import ChosenRows, RowNumbers
from .feature_matrix import FeatureChunk, FeatureMatrix, among
from .prepared_rows import Chunk, PreparedRows

Matrix = NDArray[np.float64]
TensorFeatures = Callable[[Tensor, int], Tensor]
"""Returns the features of prepared rows, which are tensors, given the rows and the number of the first."""
Visit = Callable[[slice, Tensor], None]
"""Work on the features of rows, given with their positions among the rows that are visited."""

TILE_BYTES = 2**31
"""The number of features computed or multiplied at once; intermediate results take several times as much memory."""
SUMMED_ROWS = 65536
"""The largest number of rows that are summed in the precision of the features."""
UNSTORED_ROWS = 2**20
"""The number of rows that are multiplied at once if their features are not stored."""
LEFT_FREE = 2**30
"""Bytes of a device that are kept in reserve."""
FEW = 0.6
"""If a smaller share of rows has curvature, these rows are gathered once for all products of a Newton step.

Above it, products with all rows are faster than gathering rows each time.
"""


def tensor_features(map: FeatureMap, device: Device, dtype: DTypeLike) -> TensorFeatures:
    """Return the features of tensors by a fitted map: kernel values if it is not whitened."""
    if map.gives_kernel_values and isinstance(map.kernel_, Kernel):
        values = map.kernel_.tensor_values_at(restored(map.parameters_.landmarks, map.n_features_in_), device, dtype)
        return lambda X, first: values(X)
    return lambda X, first: features(map.fitted_, X, 1, first)


def unstored_features(
    map: FeatureMap, device: Device, dtype: DTypeLike, columns: int
) -> Callable[[Tensor], UnstoredBlock] | None:
    """Return what multiplies kernel values by so many columns without storing them; None if they are to be stored."""
    if not (map.gives_kernel_values and isinstance(map.kernel_, Kernel)):
        return None
    landmarks = restored(map.parameters_.landmarks, map.n_features_in_)
    return map.kernel_.unstored_values_at(landmarks, device, dtype, columns)


def sent_chunks(
    device: Device, rows: PreparedRows, kernel: Kernel, first: int = 0
) -> Iterator[tuple[Tensor, list[Chunk]]]:
    """Yield all rows in order, or those starting with number ``first``, as blocks of tensors with their chunks."""
    size = block_rows(rows.n_features, rows.dtype.itemsize)

    def parts() -> Iterator[tuple[Any, Chunk]]:
        for chunk in rows.chunks(min(size, BLOCK_ROWS), first):
            check_rows(kernel, chunk.X, chunk.first)
            yield dense(chunk.X), chunk

    yield from sent_blocks(device, parts(), size, rows.n_features, rows.dtype)


class DeviceFeatures(FeatureMatrix):
    """Features on a device.

    Parameters
    ----------
    device : Device
    n_rows, n_features, dtype, intercept, n_jobs, passes : as for all features
    """

    def __init__(
        self,
        device: Device,
        n_rows: int,
        n_features: int,
        dtype: np.dtype[Any],
        intercept: bool,
        n_jobs: int | None,
        passes: Passes,
    ):
        super().__init__(n_rows, n_features, dtype, intercept, n_jobs, passes)
        self.device = device
        bytes_of_row = max(1, n_features * np.dtype(dtype).itemsize)
        self.tiles = DeviceTiles(device, max(1, min(SUMMED_ROWS, TILE_BYTES // bytes_of_row)))
        self._bend: tuple[Any, RowNumbers | None, Tensor] | None = None

    @abstractmethod
    def visit(self, work: Visit, what: str, rows: RowNumbers | None = None) -> None:
        """Call ``work`` with the features of all rows in order, or of the rows with these numbers, some at a time.

        ``work`` must have no effect until it ends, since it may be called again with fewer rows.
        """

    def visit_products(self, work: Visit, columns: int, what: str, rows: RowNumbers | None = None) -> None:
        """Call ``work`` as :meth:`visit` does, if it only multiplies features by matrices with this many columns."""
        self.visit(work, what, rows)

    def visit_all(self, work: Visit, what: str) -> None:
        """Call ``work`` with the features of all rows, as one pass in full precision."""
        self.n_passes += 1
        with full_precision(self.device):
            self.visit(work, what)

    def worth(self, rows: RowNumbers | None) -> RowNumbers | None:
        """Return the rows to visit if only these count; None for all rows, if selecting some would take longer."""
        return rows

    def sent(self, array: NDArray[Any]) -> Tensor:
        """Return an array in the precision of the features, on the device."""
        return self.device.sent(array, self.dtype)

    def _sums(self, columns: int) -> Tensor:
        return self.device.zeros((self.n_features, columns), np.float64)

    # -- as solvers use them, by tensors -------------------------------------------------------------------------------

    def products_of(self, A: Tensor, what: str, rows: RowNumbers | None = None) -> Tensor:
        """Return Z A."""
        self.n_passes += 1
        F = self.device.empty((self.n_rows if rows is None else len(rows), A.shape[1]), self.dtype)

        def work(places: slice, Z: Tensor) -> None:
            F[places] = Z @ A

        with full_precision(self.device):
            self.visit_products(work, A.shape[1], what, rows)
        return F

    def sums_of(self, R: Tensor, what: str, rows: RowNumbers | None = None) -> Tensor:
        """Return Z' R in float64."""
        self.n_passes += 1
        G, rows = self._sums(R.shape[1]), self.worth(rows)
        chosen = R if rows is None else R[self.device.sent(rows)]

        def work(places: slice, Z: Tensor) -> None:
            part = Z.T @ chosen[places]
            G.add_(part)

        with full_precision(self.device):
            self.visit_products(work, R.shape[1], what, rows)
        return G

    def curved_by(
        self, A: Tensor, offsets: Tensor, bend: Bend, what: str, rows: RowNumbers | None
    ) -> tuple[Tensor, Tensor]:
        """Return Z' bend(Z A + offsets) in float64, and the sums over rows of the results of bend."""
        self.n_passes += 1
        G, totals = self._sums(A.shape[1]), self.device.zeros((A.shape[1],), np.float64)
        rows = self.worth(rows)
        curvature = self._curvature(bend, rows)

        def work(places: slice, Z: Tensor) -> None:
            F = (Z @ A).add_(offsets)
            if curvature is None:
                some = places if rows is None else rows[places]
                R = bend(some, F) if bend.on_device else self.sent(bend(some, self.device.received(F)))
            else:
                R = F.mul_(curvature[places])
            part, sums = Z.T @ R, R.sum(dim=0, dtype=self.device.torch.float64)
            G.add_(part)
            totals.add_(sums)

        with full_precision(self.device):
            self.visit_products(work, A.shape[1], what, rows)
        return G, totals

    def _curvature(self, bend: Bend, rows: RowNumbers | None) -> Tensor | None:
        """Return the diagonal of a bend on the device, which is sent once for all steps that use it."""
        if bend.diagonal is None:
            return None
        if self._bend is None or self._bend[0] is not bend.diagonal or self._bend[1] is not rows:
            self._bend = bend.diagonal, rows, self.sent(bend.diagonal if rows is None else bend.diagonal[rows])
        return self._bend[2]

    # -- as solvers use them, by arrays --------------------------------------------------------------------------------

    def products(self, W: Matrix, what: str, rows: RowNumbers | None = None) -> NDArray[Any]:
        F = self.products_of(self.sent(W[: self.n_features]), what, rows)
        if self.intercept:
            F += self.sent(W[self.n_features])
        return self.device.received(F)

    def transposed(self, R: NDArray[Any], what: str, rows: RowNumbers | None = None) -> Matrix:
        G = self.device.received(self.sums_of(self.sent(R), what, rows))
        return np.vstack([G, column_sums(R)]) if self.intercept else G

    def curved(self, W: Matrix, bend: Bend, what: str, rows: RowNumbers | None = None) -> Matrix:
        offsets = self.sent(W[self.n_features]) if self.intercept else self.device.zeros((W.shape[1],), self.dtype)
        G, totals = self.curved_by(self.sent(W[: self.n_features]), offsets, bend, what, rows)
        return self.device.received(self.device.torch.vstack([G, totals[None]]) if self.intercept else G)

    def moments(self, h: NDArray[Any], alone: bool) -> NDArray[Any]:
        return self.moments_of(h, lambda Z: Z)

    def half_moments(self, h: NDArray[Any]) -> NDArray[Any]:
        return self.moments_of(h, lambda Z: Z)

    def moments_of(self, h: NDArray[Any], turn: Callable[[Tensor], Tensor]) -> NDArray[Any]:
        """Return the second moments of turned features over the rows where h is positive."""
        self.n_passes += 1
        chosen = np.flatnonzero(h)
        gram, root = self.device.zeros((self.width, self.width), np.float64), self.sent(np.sqrt(h[chosen]))

        def work(places: slice, Z: Tensor) -> None:
            mine = root[places]
            scaled = turn(Z) * mine[:, None]
            if self.intercept:
                scaled = self.device.torch.hstack([scaled, mine[:, None]])
            add_second_moments(self.device, scaled, gram)

        if len(chosen):
            self.visit(work, "curvature", None if len(chosen) == self.n_rows else chosen)
        return self.device.received(mirrored(gram)).astype(self.dtype)

    def weighted_chunks(self, h: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any], NDArray[Any]]]:
        chosen = np.flatnonzero(h)
        for chunk in self.chunks(chosen):
            yield chunk.stop, chunk.features().values(), h[chunk.rows]

    def whole(self) -> NDArray[Any]:
        found = np.empty((self.n_rows, self.n_features), dtype=self.dtype)

        def work(places: slice, Z: Tensor) -> None:
            found[places] = self.device.received(Z)

        self.visit(work, "features")
        return found


class DeviceRows(DeviceFeatures):
    """Features of rows that are on a device, stored or not, so that those of any rows are available."""

    @abstractmethod
    def _of(self, rows: Array) -> ChosenRows:
        """Return the features of a slice of rows, or of rows with these numbers."""

    def chunks(self, rows: RowNumbers | None = None) -> Iterator[FeatureChunk]:
        for start in range(0, self.n_rows, self.chunk_rows):
            stop = min(start + self.chunk_rows, self.n_rows)
            if rows is None:
                yield FeatureChunk(slice(start, stop), partial(self._of, slice(start, stop)), stop)
            elif len(some := among(rows, start, stop)):
                yield FeatureChunk(some, partial(self._of, self.device.sent(some)), stop)


class DeviceHeld(DeviceRows):
    """Features in the memory of a device.

    Parameters
    ----------
    device : Device
    Z : tensor of shape (n_rows, n_features)
    dtype : dtype
        The dtype of Z, as a NumPy dtype.
    intercept, n_jobs, passes : as for all features
    """

    def __init__(
        self, device: Device, Z: Tensor, dtype: np.dtype[Any], intercept: bool, n_jobs: int | None, passes: Passes
    ):
        super().__init__(device, int(Z.shape[0]), int(Z.shape[1]), dtype, intercept, n_jobs, passes)
        self.Z = Z
        self._gathered: tuple[Tensor, Tensor] | None = None

    @classmethod
    def empty(cls, device: Device, rows: PreparedRows, width: int, intercept: bool, n_jobs: int | None) -> DeviceHeld:
        """Allocate the features of all rows."""
        Z = device.empty((rows.n_rows, width), rows.dtype)
        return cls(device, Z, rows.dtype, intercept, n_jobs, rows.passes)

    def fill(self, rows: PreparedRows, map: FeatureMap, columns: slice) -> None:
        """Write the features of all rows by a map to these columns, in one pass."""
        tell, make = rows.passes.begin("features"), tensor_features(map, self.device, self.dtype)
        for X, chunks in sent_chunks(self.device, rows, map.kernel_):
            first = chunks[0].first

            def work(tile: slice, X: Tensor = X, first: int = first) -> None:
                self.Z[first + tile.start : first + tile.stop, columns] = make(X[tile], first + tile.start)

            self.tiles.run(work, X.shape[0])
            if tell is not None:
                tell(chunks[-1].last)

    def first(self, count: int) -> DeviceHeld:
        """Return the first ``count`` features, as a view."""
        Z = self.Z[:, :count]
        return DeviceHeld(self.device, Z, self.dtype, self.intercept, self.n_jobs, self.passes)

    def worth(self, rows: RowNumbers | None) -> RowNumbers | None:
        return None if rows is None or len(rows) > FEW * self.n_rows else rows

    def visit(self, work: Visit, what: str, rows: RowNumbers | None = None) -> None:
        tell = self.passes.begin(what)
        gathered = None if rows is None else self._rows(rows)
        index = None if rows is None or gathered is not None else self.device.sent(rows)

        held = self.Z if gathered is None else gathered

        def at(tile: slice) -> None:
            work(tile, held[tile if index is None else index[tile]])
            if tell is not None:
                tell(tile.stop if rows is None else int(rows[tile.stop - 1]) + 1)

        self.tiles.run(at, self.n_rows if rows is None else len(rows))

    def _rows(self, rows: RowNumbers) -> Tensor | None:
        """Return the features of these rows, kept until other rows are requested; None if there are many."""
        rows = self.device.sent(rows)
        if self._gathered is not None:
            known, Z = self._gathered
            if known is rows or self.device.torch.equal(known, rows):
                return Z
        self._gathered = None
        needed = len(rows) * self.n_features * np.dtype(self.dtype).itemsize
        if self.worth(rows) is None or needed + LEFT_FREE > self.device.free_memory():
            return None
        try:
            self._gathered = rows, self.Z[rows]
        except RuntimeError as error:  # free memory may be fragmented
            if not is_shortage(error):
                raise
            return None
        return self._gathered[1]

    def _of(self, rows: Array) -> ChosenRows:
        return ChosenRows.all(np.ascontiguousarray(self.device.received(self.Z[rows])))

    def exactly(self, rows: RowNumbers) -> Callable[[slice], Matrix]:
        return lambda some: self.device.received(self.Z[self.device.sent(rows[some])]).astype(np.float64)


class DeviceStreamed(DeviceFeatures):
    """Features that are computed again in every pass, from rows that are sent to the device.

    Parameters
    ----------
    device : Device
    rows : PreparedRows
    map : FeatureMap
        Fitted.
    intercept : bool
    n_jobs : int or None
    """

    def __init__(self, device: Device, rows: PreparedRows, map: FeatureMap, intercept: bool, n_jobs: int | None):
        super().__init__(device, rows.n_rows, int(map.n_components_), rows.dtype, intercept, n_jobs, rows.passes)
        self._rows, self._map = rows, map
        self._features = tensor_features(map, device, rows.dtype)

    def visit(self, work: Visit, what: str, rows: RowNumbers | None = None) -> None:
        tell, rows = self.passes.begin(what), None if rows is None else to_numpy(rows)
        for X, chunks in sent_chunks(self.device, self._rows, self._map.kernel_):
            first, stop = chunks[0].first, chunks[-1].last
            place = first
            if rows is not None:
                some = among(rows, first, stop)
                place = int(np.searchsorted(rows, first))
                X = X[self.device.sent(some - first)]

            def at(tile: slice, X: Tensor = X, first: int = first, place: int = place) -> None:
                work(slice(place + tile.start, place + tile.stop), self._features(X[tile], first + tile.start))

            self.tiles.run(at, X.shape[0])
            if tell is not None:
                tell(stop)

    def chunks(self, rows: RowNumbers | None = None) -> Iterator[FeatureChunk]:
        for chunk in self._rows.chunks(self.chunk_rows):
            if rows is None:
                yield FeatureChunk(slice(chunk.first, chunk.last), partial(self._made, chunk.X, chunk), chunk.last)
            elif len(some := among(rows, chunk.first, chunk.last)):
                yield FeatureChunk(some, partial(self._made, chunk.X[some - chunk.first], chunk), chunk.last)

    def _made(self, X: Array, chunk: Chunk) -> ChosenRows:
        check_rows(self._map.kernel_, X, chunk.first)
        Z = self._features(self.device.sent(dense(X)), chunk.first)
        return ChosenRows.all(np.ascontiguousarray(self.device.received(Z)))

    def exactly(self, rows: RowNumbers) -> Callable[[slice], Matrix]:
        X = dense(self._rows.take(rows)).astype(np.float64)
        make = tensor_features(self._map, self.device, np.float64)
        return lambda some: self.device.received(make(self.device.sent(X[some]), int(rows[some.start])))


class DeviceRecomputed(DeviceRows):
    """Features that are computed again in every pass, from rows that stay on the device.

    Products of kernel values at landmarks with few columns are computed without storing these values, if the device has
    code for it.

    Parameters
    ----------
    device : Device
    rows : PreparedRows
    map : FeatureMap
        Fitted.
    intercept : bool
    n_jobs : int or None
    """

    def __init__(self, device: Device, rows: PreparedRows, map: FeatureMap, intercept: bool, n_jobs: int | None):
        super().__init__(device, rows.n_rows, int(map.n_components_), rows.dtype, intercept, n_jobs, rows.passes)
        self._rows, self._map = rows, map
        self._features = tensor_features(map, device, rows.dtype)
        self._unstored: dict[int, Callable[[Tensor], Any] | None] = {}
        self._unstored_tiles = DeviceTiles(device, UNSTORED_ROWS)

    @cached_property
    def X(self) -> Tensor:
        """The prepared rows, which are sent when they are needed for the first time."""
        X = self.device.empty((self.n_rows, self._rows.n_features), self.dtype)
        for block, chunks in sent_chunks(self.device, self._rows, self._map.kernel_):
            X[chunks[0].first : chunks[-1].last] = block
        return X

    def visit(self, work: Visit, what: str, rows: RowNumbers | None = None) -> None:
        self._visit(work, self._features, self.tiles, what, rows)

    def visit_products(self, work: Visit, columns: int, what: str, rows: RowNumbers | None = None) -> None:
        if columns not in self._unstored:
            self._unstored[columns] = unstored_features(self._map, self.device, self.dtype, columns)
        unstored = self._unstored[columns]
        if unstored is None:
            return self.visit(work, what, rows)
        self._visit(work, lambda X, first: unstored(X), self._unstored_tiles, what, rows)

    def _visit(self, work: Visit, make: TensorFeatures, tiles: DeviceTiles, what: str, rows: RowNumbers | None) -> None:
        tell, index = self.passes.begin(what), None if rows is None else self.device.sent(rows)

        def at(tile: slice) -> None:
            work(tile, make(self.X[tile if index is None else index[tile]], tile.start))
            if tell is not None:
                tell(tile.stop if rows is None else int(rows[tile.stop - 1]) + 1)

        tiles.run(at, self.n_rows if rows is None else len(rows))

    def _of(self, rows: Array) -> ChosenRows:
        return ChosenRows.all(np.ascontiguousarray(self.device.received(self._features(self.X[rows], 0))))

    def exactly(self, rows: RowNumbers) -> Callable[[slice], Matrix]:
        make = tensor_features(self._map, self.device, np.float64)
        return lambda some: self.device.received(make(self.X[self.device.sent(rows[some])].double(), 0))
