"""Where a fit computes: the one place that chooses between the CPU, a device and workers of a cluster."""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ..._memory import as_bytes
from ..._tiles import TILE, run_tiles, single_threaded_blas
from ...data import PartitionedTable
from ...gpu.device import Device
from ...kernels import Kernel
from ...maps import FeatureMap
from ...maps.nystrom_parameters import restored
from ..estimates.memory_estimates import room_for_features
from ..features.device_features import LEFT_FREE, DeviceFeatures, DeviceHeld, DeviceRecomputed, DeviceStreamed
from ..features.device_kernel_matrix import DeviceKernelMatrix, landmark_gram
from ..features.feature_matrix import FeatureMatrix, HeldFeatures, StreamedFeatures, values_of
from ..features.partitioned_features import PartitionedFeatures, PartitionedRoom, made, warn_of_little_room
from ..features.prepared_rows import PreparedRows
from ..passes.fit_passes import Passes, limit_of
from ..protocols import LinearMachine
from ..solvers.device_landmarks import DeviceLandmarkFeatures, DeviceRoot
from ..solvers.landmarks import LandmarkFeatures, LandmarkRoot
from ..solvers.partitioned_landmarks import PartitionedLandmarkFeatures
from ..solvers.row_ridge import HeldKernelMatrix, KernelMatrix
from .exact_rows import ExactRows

Matrix = NDArray[np.float64]

FIXED_BYTES = 2**28
"""Kernel values that take at least this many bytes in float32 are kept as 16-bit integers, which halves every pass."""


ROWS_SHARE = 0.25
"""The share of a device's free memory that rows may take if their features are computed again in every pass."""


class Placement(Protocol):
    """Where features, kernel values and factors are computed and stored."""

    def room(self, model: LinearMachine, work: int, memory: int | None) -> float:
        """Return the bytes that features may take in addition to ``work``."""
        ...

    def held(self, rows: PreparedRows, width: int, intercept: bool, n_jobs: int | None) -> Any:
        """Allocate the features of all rows."""
        ...

    def held_values(
        self, rows: PreparedRows, kernel: Kernel, count: int, intercept: bool, n_jobs: int | None, most_bytes: float
    ) -> Any:
        """Allocate kernel values at ``count`` landmarks; None if they take more than ``most_bytes``."""
        ...

    def fill(self, room: Any, rows: PreparedRows, map: FeatureMap, columns: slice) -> None:
        """Write the features of all rows by a map to these columns of a room, in one pass."""
        ...

    def streamed(self, rows: PreparedRows, map: FeatureMap, intercept: bool, n_jobs: int | None) -> FeatureMatrix:
        """Return features that are computed again in every pass."""
        ...

    def landmark_features(self, map: FeatureMap, values: FeatureMatrix, n_jobs: int | None) -> LandmarkFeatures:
        """Return the features of a map of kernel values, for a solver."""
        ...

    def kernel_matrix(self, rows: ExactRows, map: FeatureMap) -> KernelMatrix:
        """Return the kernel matrix of the rows of a map."""
        ...


class OnProcessor:
    """Computation on the CPU, by the compiled core and our own threads."""

    def room(self, model: LinearMachine, work: int, memory: int | None) -> float:
        """Return the bytes that features may take in addition to ``work``."""
        return room_for_features(model, work, memory)

    def held(self, rows: PreparedRows, width: int, intercept: bool, n_jobs: int | None) -> HeldFeatures:
        """Allocate the features of all rows."""
        return HeldFeatures.empty(rows, width, intercept, n_jobs)

    def held_values(
        self, rows: PreparedRows, kernel: Kernel, count: int, intercept: bool, n_jobs: int | None, most_bytes: float
    ) -> HeldFeatures | None:
        """Allocate kernel values.

        Large ones are stored as 16-bit integers, for which a kernel that is a mixture of Gaussians has the right range:
        an error of 1 / 131,070 of the largest is far below what landmarks leave of the kernel.
        """
        numbers, dtype = rows.n_rows * count, rows.dtype
        many = numbers * dtype.itemsize >= FIXED_BYTES
        fixed = many and _core.AVAILABLE and dtype == np.float32 and kernel.is_rotation_invariant
        if numbers * (2 if fixed else dtype.itemsize) > most_bytes:
            return None
        return HeldFeatures.empty(rows, count, intercept, n_jobs, float(kernel.amplitude) if fixed else None)

    def fill(self, room: HeldFeatures, rows: PreparedRows, map: FeatureMap, columns: slice) -> None:
        """Write the features of all rows by a map to these columns of a room, in one pass."""
        room.fill(rows, values_of(map), columns)

    def streamed(self, rows: PreparedRows, map: FeatureMap, intercept: bool, n_jobs: int | None) -> FeatureMatrix:
        """Return features that are computed again in every pass."""
        return StreamedFeatures(rows, values_of(map), int(map.n_components_), intercept, n_jobs)

    def landmark_features(self, map: FeatureMap, values: FeatureMatrix, n_jobs: int | None) -> LandmarkFeatures:
        """Return the features of a map of kernel values, for a solver."""
        return LandmarkFeatures(values, landmark_root(map, values.precision, n_jobs))

    def kernel_matrix(self, rows: ExactRows, map: FeatureMap) -> KernelMatrix:
        """Return the kernel matrix of the rows of a map."""
        return HeldKernelMatrix(rows.gram(map, np.zeros((0, 0)), np.float64, "rows"), rows.n_jobs)


class OnDevice:
    """Computation on a device.

    Parameters
    ----------
    device : Device
    """

    def __init__(self, device: Device):
        self.device = device

    def room(self, model: LinearMachine, work: int, memory: int | None) -> float:
        """Return the bytes that features may take in addition to ``work``: what is free there, or ``memory`` if less.

        Factors take twice their size, since their inverses are stored too.
        """
        free = self.device.free_memory() - 2.0 * work - LEFT_FREE
        return max(0.0, free if model.memory is None else min(free, as_bytes(model.memory)))

    def held(self, rows: PreparedRows, width: int, intercept: bool, n_jobs: int | None) -> DeviceHeld:
        """Allocate the features of all rows."""
        return DeviceHeld.empty(self.device, rows, width, intercept, n_jobs)

    def held_values(
        self, rows: PreparedRows, kernel: Kernel, count: int, intercept: bool, n_jobs: int | None, most_bytes: float
    ) -> DeviceHeld | None:
        """Allocate kernel values."""
        if rows.n_rows * count * rows.dtype.itemsize > most_bytes:
            return None
        return self.held(rows, count, intercept, n_jobs)

    def fill(self, room: DeviceHeld, rows: PreparedRows, map: FeatureMap, columns: slice) -> None:
        """Write the features of all rows by a map to these columns of a room, in one pass."""
        room.fill(rows, map, columns)

    def streamed(self, rows: PreparedRows, map: FeatureMap, intercept: bool, n_jobs: int | None) -> FeatureMatrix:
        """Return features that are computed again in every pass, from rows that stay on the device if they fit."""
        needed, limit = rows.n_rows * rows.n_features * rows.dtype.itemsize, limit_of(rows.passes)
        stay = needed <= ROWS_SHARE * (self.device.free_memory() - LEFT_FREE) and (limit is None or needed <= limit)
        kind = DeviceRecomputed if stay else DeviceStreamed
        return kind(self.device, rows, map, intercept, n_jobs)

    def landmark_features(self, map: FeatureMap, values: FeatureMatrix, n_jobs: int | None) -> LandmarkFeatures:
        """Return the features of a map of kernel values, for a solver."""
        assert isinstance(values, DeviceFeatures)
        root = DeviceRoot(self.device, landmark_gram(self.device, map), values.precision)
        return DeviceLandmarkFeatures(values, root)

    def kernel_matrix(self, rows: ExactRows, map: FeatureMap) -> KernelMatrix:
        """Return the kernel matrix of the rows of a map."""
        return DeviceKernelMatrix(self.device, map)


class OnPartitions:
    """Computation where the partitions of the rows are, by another placement in each of them.

    Parameters
    ----------
    table : PartitionedTable
    there : Placement
        How features are made and held in one partition.
    """

    def __init__(self, table: PartitionedTable, there: Placement):
        self.table, self.there = table, there

    def room(self, model: LinearMachine, work: int, memory: int | None) -> float:
        """Return the bytes that features may take in all partitions together.

        Only the arguments of the learner decide: if the memory of the workers mattered, results would depend on their
        number.
        """
        return room_for_features(model, work, memory)

    def held(self, rows: PreparedRows, width: int, intercept: bool, n_jobs: int | None) -> PartitionedRoom:
        """Allocate the features of all rows."""
        warn_of_little_room(self.table.parts, rows.n_rows * width * rows.dtype.itemsize)
        make = partial(room_there, self.there, width, intercept, self.table.parts.threads(n_jobs))
        return PartitionedRoom(rows, make, self.there.fill, width, intercept, n_jobs, None)

    def held_values(
        self, rows: PreparedRows, kernel: Kernel, count: int, intercept: bool, n_jobs: int | None, most_bytes: float
    ) -> PartitionedRoom | None:
        """Allocate kernel values."""
        if rows.n_rows * count * rows.dtype.itemsize > most_bytes:
            return None
        return self.held(rows, count, intercept, n_jobs)

    def fill(self, room: PartitionedRoom, rows: PreparedRows, map: FeatureMap, columns: slice) -> None:
        """Write the features of all rows by a map to these columns of a room, in one pass."""
        room.fill(map, columns)

    def streamed(self, rows: PreparedRows, map: FeatureMap, intercept: bool, n_jobs: int | None) -> PartitionedFeatures:
        """Return features that are computed again in every pass."""
        threads = self.table.parts.threads(n_jobs)
        make = partial(streamed_there, self.there, map, intercept, threads)
        parts = self.table.parts.kept(partial(made, rows.apart(n_jobs), make))
        return PartitionedFeatures(parts, rows, int(map.n_components_), intercept, n_jobs)

    def landmark_features(self, map: FeatureMap, values: FeatureMatrix, n_jobs: int | None) -> LandmarkFeatures:
        """Return the features of a map of kernel values, for a solver that runs in this process."""
        assert isinstance(values, PartitionedFeatures)
        return PartitionedLandmarkFeatures(values, landmark_root(map, values.precision, n_jobs))

    def kernel_matrix(self, rows: ExactRows, map: FeatureMap) -> KernelMatrix:
        """Return the kernel matrix of the rows of a map, which are few."""
        return self.there.kernel_matrix(rows, map)


def room_there(there: Placement, width: int, intercept: bool, n_jobs: int | None, rows: PreparedRows) -> Any:
    """Allocate the features of the rows of one partition."""
    return there.held(rows, width, intercept, n_jobs)


def streamed_there(
    there: Placement, map: FeatureMap, intercept: bool, n_jobs: int | None, rows: PreparedRows
) -> FeatureMatrix:
    """Return the features of the rows of one partition, made again in every pass."""
    return there.streamed(rows, map, intercept, n_jobs)


PROCESSOR = OnProcessor()


def placement_of(passes: Passes) -> Placement:
    """Return where the fit of these passes computes."""
    place: Placement = PROCESSOR if passes.device is None else OnDevice(passes.device)
    return place if passes.partitions is None else OnPartitions(passes.partitions, place)


def is_on_processor(place: Placement) -> bool:
    """Return whether features are made by the CPU, here or where the partitions are."""
    return place is PROCESSOR or (isinstance(place, OnPartitions) and place.there is PROCESSOR)


def landmark_root(map: FeatureMap, precision: float, n_jobs: int | None) -> LandmarkRoot:
    """Return the factor of the kernel matrix of a map's landmarks, for kernel values of this relative precision."""
    landmarks = restored(map.parameters_.landmarks, map.n_features_in_)
    gram, at_landmarks = np.empty((landmarks.shape[0],) * 2), map.kernel_.single_core_gram_against(landmarks)

    def work(some: slice) -> None:
        gram[some] = at_landmarks(landmarks[some])

    run_tiles(work, len(gram), TILE, n_jobs)
    with single_threaded_blas():
        return LandmarkRoot(gram, precision, n_jobs)
