"""The kernel of StructuredFourier."""

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


def structured(
    signs: NDArray[np.int8], radii: NDArray[np.float64], offset: NDArray[np.float64], scale: float, device: torch.device
) -> Writer | None:
    """Return a writer of scale (cos p, sin p, ...) with phases p from three rounds of signs and transforms.

    Parameters
    ----------
    signs : ndarray of shape (n_blocks, 3, width)
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
    group = ThreadGroup.of(signs.shape[2])
    if group is None or not group.fits(1, device):
        return None
    negative = signs < 0
    rounds = group.words(negative[:, 0]), group.last_words(negative[:, 1]), group.words(negative[:, 2])
    flips, radii_sent, offset_sent = sent(device, np.stack(rounds, axis=1), radii, offset)
    kernel, count = group.kernel("structured", arrays=1, resident=1), len(radii)

    def write(X: Tensor, out: Tensor) -> Tensor:
        lost = marks(X)
        rows = X, c_longlong(X.stride(0)), X.shape[0], X.shape[1]
        waves = flips, radii_sent, count, offset_sent, scale, longest_phase()
        compiler.launch(kernel, group.blocks(X.shape[0]), X.device, (*rows, *waves, out, out.shape[1], lost))
        return lost

    return write
