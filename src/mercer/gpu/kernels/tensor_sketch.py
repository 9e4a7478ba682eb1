"""The kernel of TensorSketch."""

from __future__ import annotations

from ctypes import c_longlong
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..device import Tensor
from . import compiler
from .sketch_entries import sketch_entries
from .tensors import Writer, marks, sent
from .thread_groups import ThreadGroup

if TYPE_CHECKING:
    import torch


def tensor_sketch(
    buckets: NDArray[np.int32],
    signs: NDArray[np.int8],
    width: int,
    factor: float,
    constant: float,
    scale: float,
    device: torch.device,
) -> Writer | None:
    """Return a writer of the half spectrum of the convolution of count sketches.

    Parameters
    ----------
    buckets, signs : ndarray of shape (degree, n_columns)
        The place and the sign of every column; an additional last column belongs to the constant.
    width : int
        The number of places, and of features.
    factor, constant : float
        The factor of the entries of a row, and the constant that follows them.
    scale : float
        The factor of the spectrum's real values at both ends.
    device : torch.device

    Returns
    -------
    callable or None
        None where the width is not a power of two, or too large or too small for the device.
    """
    # A row is transformed as half as many complex numbers. With 32 of them a thread has enough work between waits.
    group = ThreadGroup.of(width // 2, held=5) if width & (width - 1) == 0 else None
    if group is None or not group.fits(2, device):
        return None
    table = sketch_entries(buckets, signs < 0)
    roots = np.exp(-1j * np.pi * np.arange(width // 2) / (width // 2))
    (turns,) = sent(device, np.stack([roots.real, roots.imag], axis=1))
    sketches = (*sent(device, *table), table.turns, turns)
    kernel, degree = group.kernel("tensor_sketch", arrays=2), len(buckets)

    def write(X: Tensor, out: Tensor) -> Tensor:
        lost = marks(X)
        rows = X, c_longlong(X.stride(0)), X.shape[0], X.shape[1], factor, constant, degree
        compiler.launch(kernel, group.blocks(X.shape[0]), X.device, (*rows, *sketches, scale, out, lost))
        return lost

    return write
