"""The kernel of Fastfood."""

from __future__ import annotations

from ctypes import c_longlong
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..device import Tensor
from . import compiler
from .tensors import Writer, longest_phase, marks, sent
from .thread_groups import ThreadGroup

if TYPE_CHECKING:
    import torch


def fastfood(
    signs: NDArray[np.int8],
    orders: NDArray[np.int32],
    directions: NDArray[np.float64],
    radii: NDArray[np.float64],
    offset: NDArray[np.float64],
    scale: float,
    device: torch.device,
) -> Writer | None:
    """Return a writer of scale (cos p, sin p, ...) with phases p from signs, a permutation and two transforms.

    Parameters
    ----------
    signs, orders, directions : ndarray of shape (n_blocks, width)
    radii : ndarray of shape (n_frequencies,)
        The factors of the transforms, in half turns.
    offset : ndarray of shape (1,)
        The offset of a last feature without a partner, in half turns.
    scale : float
    device : torch.device

    Returns
    -------
    callable or None
        None where the transforms are too wide or too narrow for the device.
    """
    group = ThreadGroup.of(signs.shape[1])
    if group is None or not group.fits(1, device):
        return None
    tables = sent(device, group.words(signs < 0), group.by_register(orders), group.by_register(directions), radii)
    (offset_sent,) = sent(device, offset)
    kernel, count = group.kernel("fastfood", arrays=1, resident=1), len(radii)

    def write(X: Tensor, out: Tensor) -> Tensor:
        lost = marks(X)
        rows = X, c_longlong(X.stride(0)), X.shape[0], X.shape[1]
        waves = count, offset_sent, scale, longest_phase()
        compiler.launch(kernel, group.blocks(X.shape[0]), X.device, (*rows, *tables, *waves, out, out.shape[1], lost))
        return lost

    return write
