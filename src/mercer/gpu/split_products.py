"""Products of large float32 matrices on tensor cores, as accurate as float32.

Tensor cores multiply half-precision numbers at ten times the speed of float32, and add in float32. A matrix is split
into two matrices of half precision: :math:`Z = s (H + 2^{-11} L)` with a power of two s, so that H has the first 11
bits of every entry and L the next 11. What is left out is below :math:`2^{-22}` of an entry, or :math:`2^{-36}` of the
largest one. Products of half-precision numbers are exact in float32, so any device can compute them.
"""

from __future__ import annotations

from typing import NamedTuple

from .device import Device, Tensor

BITS = 11
"""Those of a half."""
PANELS = 8
"""The number of panels of columns in a symmetric product, of which the first have less work."""
SUMMED_ROWS = 8192
"""Rows that are split together, and whose products of trailing digits are added up in float32."""
CHAINED_ROWS = 2048
"""Rows whose products of leading digits are added up in float32; the sums of these are added up in float64.

Tensor cores cut sums off instead of rounding them. Squares are all positive, so this error grows with the rows.
"""


class Halves(NamedTuple):
    """A matrix as the scaled sum of two matrices of half precision."""

    high: Tensor
    low: Tensor
    scale: Tensor

    @classmethod
    def of(cls, device: Device, Z: Tensor, scale: Tensor | None = None) -> Halves:
        """Return the parts of a float32 matrix, with a scale for numbers at least as large as its entries."""
        scale = scale_of(device, Z) if scale is None else scale
        scaled = Z / scale
        high = scaled.half()
        low = scaled.sub_(high).mul_(2.0**BITS).half()
        return cls(high, low, scale)


def scale_of(device: Device, Z: Tensor) -> Tensor:
    """Return the power of two above all entries."""
    torch = device.torch
    largest = torch.linalg.vector_norm(Z, torch.inf) if Z.numel() else Z.new_zeros(())  # in one pass
    return torch.exp2(torch.ceil(torch.log2(largest.clamp_min(torch.finfo(Z.dtype).tiny))))


def product_of_halves(device: Device, A: Tensor, B: Tensor) -> Tensor:
    """Return A B in float32 for two matrices of half precision."""
    if device.is_cuda:
        return device.torch.mm(A, B, out_dtype=device.torch.float32)
    return A.float() @ B.float()


def split_product(device: Device, A: Halves, B: Halves) -> Tensor:
    """Return A B, as accurate as products of float32."""
    cross = product_of_halves(device, A.high, B.low)
    cross += product_of_halves(device, A.low, B.high)
    whole = product_of_halves(device, A.high, B.high).add_(cross, alpha=2.0**-BITS)
    return whole.mul_(A.scale * B.scale)


def add_second_moments(device: Device, Z: Tensor, sums: Tensor, exact: bool = False) -> None:
    """Add Z'Z to sums in float64, of which only the lower half is valid.

    Parameters
    ----------
    device : Device
        The device.
    Z : tensor of shape (n_rows, n)
        The features.
    sums : tensor of shape (n, n)
        The sums.
    exact : bool, default=False
        Whether products of float32 numbers are computed in float64.
    """
    torch, width = device.torch, Z.shape[1]
    if exact or Z.dtype == torch.float64:
        Z = Z.double()  # all that takes memory; what follows adds in place
        for panel in _panels(width):
            sums[panel, : panel.stop].addmm_(Z[:, panel].T, Z[:, : panel.stop])
        return
    scale, total = scale_of(device, Z), torch.zeros_like(sums)
    for start in range(0, Z.shape[0], SUMMED_ROWS):
        _add_by_halves(device, Halves.of(device, Z[start : start + SUMMED_ROWS], scale), total)
    sums.addcmul_(total, scale.double().square())  # all at once, so that nothing is added if memory runs out halfway


def _panels(width: int) -> list[slice]:
    size = max(1, -(-width // PANELS))
    return [slice(start, min(start + size, width)) for start in range(0, width, size)]


def _add_by_halves(device: Device, halves: Halves, total: Tensor) -> None:
    """Add the lower half of the second moments of a matrix divided by its scale."""
    high = halves.high
    cross = product_of_halves(device, high.T, halves.low)
    for panel in _panels(high.shape[1]):
        mine = total[panel, : panel.stop]
        mine.add_(cross[panel, : panel.stop] + cross[: panel.stop, panel].T, alpha=2.0**-BITS)
        for start in range(0, high.shape[0], CHAINED_ROWS):
            some = high[start : start + CHAINED_ROWS]
            mine.add_(product_of_halves(device, some[:, panel].T, some[:, : panel.stop]))


def mirrored(sums: Tensor) -> Tensor:
    """Copy the valid lower half of a symmetric matrix to its upper half."""
    return sums.tril() + sums.tril(-1).T
