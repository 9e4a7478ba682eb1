"""The pivoted factor of a kernel matrix on a device, with one row of length n_rows for every pivot."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from .device import Device, DeviceTiles, Tensor

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Indices = NDArray[np.int64]

TILE_ROWS = 2**18
"""The number of rows whose kernel values at pivots are computed at once."""


class DeviceFactor:
    """The rows of such a factor in float64.

    Parameters
    ----------
    device : Device
    rows : ndarray of shape (n_rows, n_features)
        The rows behind the kernel matrix.
    count : int
        The most pivots.
    values_at : callable
        Given some rows in float64, the kernel values of tensors at them, as a function.
    """

    def __init__(
        self, device: Device, rows: NDArray, count: int, values_at: Callable[[Matrix], Callable[[Tensor], Tensor]]
    ):
        self.device = device
        self._host, self._values_at = rows, values_at
        self._sent = device.sent(rows, np.float64)
        self._rows = device.empty((count, len(rows)), np.float64)
        self._found = 0
        self._tiles = DeviceTiles(device, TILE_ROWS)

    def at(self, numbers: Indices) -> Matrix:
        """Return its columns with these numbers."""
        return self.device.received(self._at(numbers))

    def _at(self, numbers: Indices) -> Tensor:
        return self._rows[: self._found][:, self.device.sent(numbers)]

    def further(self, chosen: Indices, lower: Matrix) -> Tensor:
        """Return the rows that these pivots add."""
        values = self._values_at(self._host[chosen].astype(np.float64))
        rest = self.device.empty((len(chosen), len(self._sent)), np.float64)
        known, known_here = self._rows[: self._found], self._at(chosen)

        def work(tile: slice) -> None:
            rest[:, tile] = values(self._sent[tile]).T - known_here.T @ known[:, tile]

        self._tiles.run(work, len(self._sent))
        # Multiply by the inverse of the small factor, since solving for millions of columns takes 100 times as long.
        inverse = solve_triangular(lower, np.eye(len(lower)), lower=True)
        return self.device.sent(inverse, np.float64) @ rest

    def row_squares(self, rows: Tensor) -> Vector:
        """Return the squared norms of rows."""
        return self.device.received((rows * rows).sum(dim=1))

    def keep(self, rows: Tensor) -> Vector:
        """Add these rows, and return the sums of squares of their columns."""
        self._rows[self._found : self._found + len(rows)] = rows
        self._found += len(rows)
        return self.device.received((rows * rows).sum(dim=0))
