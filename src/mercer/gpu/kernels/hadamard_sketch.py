"""The kernel of HadamardSketch."""

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


def hadamard_sketch(
    buckets: NDArray[np.int32],
    turns: NDArray[np.int8],
    size: int,
    factor: float,
    constant: float,
    scale: float,
    device: torch.device,
) -> Writer | None:
    """Return a writer of the products of the transforms of complex count sketches.

    Parameters
    ----------
    buckets, turns : ndarray of shape (degree, n_columns)
        The place of every column, and its sign as a power of the imaginary unit; an additional last column belongs to
        the constant.
    size : int
        The number of places, a power of two.
    factor, constant : float
        The factor of the entries of a row, and the constant that follows them.
    scale : float
        The factor of the products.
    device : torch.device

    Returns
    -------
    callable or None
        None where the transforms are too wide or too narrow for the device.
    """
    group = ThreadGroup.of(size)
    if group is None or not group.fits(2, device):
        return None
    places = group.padded(buckets) + group.padded_size * (turns % 2).astype(np.int32)
    table = sketch_entries(places, turns >= 2)
    sketches = (*sent(device, *table), table.turns)
    kernel, degree = group.kernel("hadamard_sketch", arrays=2, resident=3), len(buckets)

    def write(X: Tensor, out: Tensor) -> Tensor:
        lost = marks(X)
        rows = X, c_longlong(X.stride(0)), X.shape[0], X.shape[1], factor, constant, degree
        arguments = (*rows, *sketches, scale, out, out.shape[1], lost)
        compiler.launch(kernel, group.blocks(X.shape[0]), X.device, arguments)
        return lost

    return write
