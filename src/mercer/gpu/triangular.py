"""Cholesky factors on a device.

Solving with a factor takes as many steps as it has rows, for which a device is poorly suited. If that is needed
repeatedly, the inverse is computed once, with as many operations as the factor itself, and then solving is a product.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .device import Device, Tensor
from .precision import full_precision

SMALL = 1024
"""The number of rows of a triangle that is inverted as a whole."""
PANEL = 2048
"""The number of columns of products of triangles, and of inverses, that are computed at once."""

Values = NDArray[Any]


class DeviceTriangular:
    """A lower triangular matrix L with L L' = A on a device, multiplied with matrices of NumPy.

    Parameters
    ----------
    device : Device
        The device.
    lower : tensor of shape (n, n)
        The matrix, with zeros above its diagonal.
    """

    def __init__(self, device: Device, lower: Tensor):
        self.device = device
        self.lower = lower

    @classmethod
    def factor(cls, device: Device, matrix: Tensor) -> DeviceTriangular:
        """Return the factor of a positive definite matrix, of which only the lower half is read.

        Raises
        ------
        numpy.linalg.LinAlgError
            If the matrix is not numerically positive definite.
        """
        lower, info = device.torch.linalg.cholesky_ex(matrix)
        if int(info) != 0:
            raise np.linalg.LinAlgError(f"the leading minor of order {int(info)} is not positive definite")
        if not bool(device.torch.isfinite(lower.diagonal()).all()):
            raise np.linalg.LinAlgError("the matrix has entries that are not finite")
        return cls(device, lower)

    def __len__(self) -> int:
        return int(self.lower.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type of the matrix and of what is solved with it."""
        return np.dtype(str(self.lower.dtype).removeprefix("torch."))

    @cached_property
    def inverse(self) -> Tensor:
        """L^-1."""
        found = self.device.torch.zeros_like(self.lower)
        _invert(self.device, self.lower, found)
        return found

    def _sent(self, B: Values) -> Tensor:
        return self.device.sent(B, self.dtype)

    def solved(self, B: Tensor) -> Tensor:
        """Return L^-1 B, as a product if the inverse is known; see :meth:`inverted`."""
        if self._is_inverted:
            return self.inverse @ B
        return self.device.torch.linalg.solve_triangular(self.lower, B, upper=False)

    def solved_transposed(self, B: Tensor) -> Tensor:
        """L^-T B."""
        if self._is_inverted:
            return self.inverse.T @ B
        return self.device.torch.linalg.solve_triangular(self.lower.T, B, upper=True)

    @property
    def _is_inverted(self) -> bool:
        return "inverse" in self.__dict__

    def inverted(self) -> DeviceTriangular:
        """Compute the inverse and return the object itself, for many solutions, each of which is then a product."""
        _ = self.inverse
        return self

    def solve(self, B: Values) -> Values:
        """L^-1 B."""
        return self.device.received(self.solved(self._sent(B)))

    def solve_transposed(self, B: Values) -> Values:
        """L^-T B."""
        return self.device.received(self.solved_transposed(self._sent(B)))

    def inverse_times(self, B: Values) -> Values:
        """A^-1 B."""
        with full_precision(self.device):
            return self.device.received(self.solved_transposed(self.solved(self._sent(B))))

    def times(self, B: Values) -> Values:
        """L B."""
        return self.device.received(self.lower @ self._sent(B))

    def transposed_times(self, B: Values) -> Values:
        """L' B."""
        return self.device.received(self.lower.T @ self._sent(B))

    def inverse_diagonal(self) -> Values:
        """Return the diagonal of A^-1: the squared norms of the columns of L^-1, which are not stored."""
        n, torch = len(self), self.device.torch
        found = torch.empty(n, dtype=self.lower.dtype, device=self.device.place)
        for start in range(0, n, PANEL):
            stop = min(start + PANEL, n)
            ones = torch.zeros((n - start, stop - start), dtype=self.lower.dtype, device=self.device.place)
            ones.diagonal().fill_(1.0)
            columns = torch.linalg.solve_triangular(self.lower[start:, start:], ones, upper=False)
            found[start:stop] = columns.square_().sum(dim=0)
        return self.device.received(found)

    def gram(self, dtype: DTypeLike) -> Tensor:
        """Return the lower half of L' L in this precision, on the device."""
        lower, n = self.lower.to(self.device.type_of(dtype)), len(self)
        product = self.device.torch.zeros_like(lower)
        for start in range(0, n, PANEL):
            stop = min(start + PANEL, n)
            self.device.torch.mm(lower[start:, start:stop].T, lower[start:, :stop], out=product[start:stop, :stop])
        return product


def _invert(device: Device, lower: Tensor, found: Tensor) -> None:
    """Write the inverse of a triangle, from those of its two halves."""
    n, torch = lower.shape[0], device.torch
    if n <= SMALL:
        ones = torch.eye(n, dtype=lower.dtype, device=device.place)
        found.copy_(torch.linalg.solve_triangular(lower, ones, upper=False))
        return
    half = SMALL * (-(-n // SMALL) // 2)
    first, last = slice(0, half), slice(half, n)
    _invert(device, lower[first, first], found[first, first])
    _invert(device, lower[last, last], found[last, last])
    torch.neg(found[last, last] @ (lower[last, first] @ found[first, first]), out=found[last, first])
