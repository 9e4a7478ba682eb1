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
BLOCK = 8192
"""The most rows of a block on the diagonal whose inverse is kept, which costs as much as hundreds of products.

An inverse of the whole triangle would take the cube of its rows, as much as the factor itself.
"""
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
    def _inverses(self) -> list[tuple[slice, Tensor]]:
        """The blocks on the diagonal and their inverses."""
        found, n = [], len(self)
        count = -(-n // BLOCK)
        for number in range(count):
            block = slice(n * number // count, n * (number + 1) // count)
            lower = self.lower[block, block]
            inverse = self.device.torch.zeros_like(lower)
            _invert(self.device, lower, inverse)
            found.append((block, inverse))
        return found

    def rounded(self, dtype: DTypeLike) -> DeviceTriangular:
        """Return this matrix in another precision, with the inverses that are already known."""
        wanted = self.device.type_of(dtype)
        other = DeviceTriangular(self.device, self.lower.to(wanted))
        if self._is_inverted:
            other._inverses = [(block, inverse.to(wanted)) for block, inverse in self._inverses]
        return other

    def _sent(self, B: Values | Tensor) -> Tensor:
        return self.device.sent(B, self.dtype)

    def solved(self, B: Tensor) -> Tensor:
        """Return L^-1 B, by products of blocks if their inverses are known; see :meth:`inverted`."""
        torch = self.device.torch
        if not self._is_inverted:
            return torch.linalg.solve_triangular(self.lower, B, upper=False)
        X = torch.empty_like(B, memory_format=torch.contiguous_format)
        for block, inverse in self._inverses:
            above = slice(0, block.start)
            right = torch.addmm(B[block], self.lower[block, above], X[above], alpha=-1) if block.start else B[block]
            torch.mm(inverse, right, out=X[block])
        return X

    def solved_transposed(self, B: Tensor) -> Tensor:
        """Return L^-T B."""
        torch, turned = self.device.torch, self.lower.T
        if not self._is_inverted:
            return torch.linalg.solve_triangular(turned, B, upper=True)
        X = torch.empty_like(B, memory_format=torch.contiguous_format)
        for block, inverse in reversed(self._inverses):
            below = slice(block.stop, len(self))
            is_last = block.stop == len(self)
            right = B[block] if is_last else torch.addmm(B[block], turned[block, below], X[below], alpha=-1)
            torch.mm(inverse.T, right, out=X[block])
        return X

    @property
    def _is_inverted(self) -> bool:
        return "_inverses" in self.__dict__

    def inverted(self) -> DeviceTriangular:
        """Invert the blocks on the diagonal and return the object itself: for many solutions, each by products."""
        _ = self._inverses
        return self

    def solve(self, B: Values) -> Values:
        """Return L^-1 B."""
        return self.device.received(self.solved(self._sent(B)))

    def solve_transposed(self, B: Values) -> Values:
        """Return L^-T B."""
        return self.device.received(self.solved_transposed(self._sent(B)))

    def inverse_times(self, B: Values | Tensor) -> Values | Tensor:
        """Return A^-1 B, as the same kind of array as B."""
        with full_precision(self.device):
            found = self.solved_transposed(self.solved(self._sent(B)))
        return self.device.received(found) if isinstance(B, np.ndarray) else found

    def times(self, B: Values) -> Values:
        """Return L B."""
        return self.device.received(self.lower @ self._sent(B))

    def transposed_times(self, B: Values) -> Values:
        """Return L' B."""
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
    """Write the inverse of a triangle, given the inverses of its two halves."""
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
