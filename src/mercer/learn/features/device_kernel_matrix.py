"""Kernel matrices of rows in float64 on a device: computed block by block, as often as needed, and factored."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..._array import dense
from ..._memory import check_room
from ...gpu.device import Device, DeviceTiles, Tensor
from ...gpu.precision import full_precision
from ...gpu.triangular import DeviceTriangular
from ...maps import FeatureMap
from ...maps.nystrom_parameters import restored

Matrix = NDArray[np.float64]

TILE_BYTES = 2**30
"""The number of kernel values to compute at once."""


class DeviceKernelMatrix:
    """The kernel matrix of the rows that a map has as landmarks.

    On such a device, float64 is as fast as float32, or the kernel matrix is small; float64 is accurate where float32 is
    not.

    Parameters
    ----------
    device : Device
        The device.
    map : FeatureMap
        A map of kernel values.
    """

    def __init__(self, device: Device, map: FeatureMap):
        self.device = device
        landmarks = dense(restored(map.parameters_.landmarks, map.n_features_in_))
        self.rows = device.sent(landmarks, np.float64)
        self._values: Callable[[Tensor], Tensor] = map.kernel_.tensor_values_at(self.rows, device, np.float64)
        self._diagonal = device.sent(map.kernel_.diagonal(landmarks), np.float64)
        self.tiles = DeviceTiles(device, max(1, TILE_BYTES // (8 * len(landmarks))))
        self._held: Tensor | None = None
        """The matrix itself, kept once it has been factored, which takes the same amount of memory again."""

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def whole(self) -> Tensor:
        """Return the matrix itself."""
        check_room(16 * len(self) ** 2, f"the kernel matrix of {len(self)} rows and its factor", self.device.memory())
        gram = self.device.empty((len(self), len(self)), np.float64)

        def work(tile: slice) -> None:
            gram[tile] = self._values(self.rows[tile])

        self.tiles.run(work, len(self))
        gram.diagonal().copy_(self._diagonal)  # as exact as kernels compute it
        return gram

    def factor(self, added: Matrix) -> DeviceTriangular:
        """Return the factor of the matrix with this value added to its diagonal."""
        if self._held is None:
            self._held = self.whole()
        diagonal = self._held.diagonal()
        diagonal.copy_(self._diagonal + self.device.sent(added, np.float64))
        try:
            return DeviceTriangular.factor(self.device, self._held)
        finally:
            diagonal.copy_(self._diagonal)

    def times(self, B: Matrix) -> Matrix:
        """K B."""
        sent = self.device.sent(B, np.float64)
        if self._held is not None:
            return self.device.received(self._held @ sent)
        found = self.device.torch.empty_like(sent)

        def work(tile: slice) -> None:
            values = self._values(self.rows[tile])
            values.diagonal(tile.start).copy_(self._diagonal[tile])
            found[tile] = values @ sent

        with full_precision(self.device):
            self.tiles.run(work, len(self))
        return self.device.received(found)


def landmark_gram(device: Device, map: FeatureMap) -> Tensor:
    """Return the kernel matrix of a map's landmarks in float64."""
    return DeviceKernelMatrix(device, map).whole()
