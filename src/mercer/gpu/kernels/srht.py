"""The kernel of ComplexSketch with structured projections."""

from __future__ import annotations

from ctypes import c_longlong
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..device import Tensor
from . import compiler
from .tensors import Writer, marks, sent
from .thread_groups import ThreadGroup

if TYPE_CHECKING:
    import torch


def srht(
    turns: NDArray[np.int8],
    outputs: NDArray[np.int32],
    size: int,
    factor: float,
    constant: float,
    scale: float,
    device: torch.device,
) -> Writer | None:
    """Return a writer of the products of outputs of transforms of rows with complex signs.

    Parameters
    ----------
    turns : ndarray of shape (n_blocks, degree, n_columns)
        The sign of every column as a power of the imaginary unit; an additional last column belongs to the constant.
    outputs : ndarray of shape (degree, n_features)
        The output of its block's transforms that a feature uses.
    size : int
        The width of the transforms, a power of two.
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
    if group is None or not group.fits(3, device):
        return None
    padded = np.pad(turns, ((0, 0), (0, 0), (0, size - turns.shape[2])))
    tables = sent(device, group.words(padded >= 2), group.words(padded % 2 == 1), outputs)
    kernel, (degree, features) = group.kernel("srht", arrays=3, resident=2), outputs.shape

    def write(X: Tensor, out: Tensor) -> Tensor:
        lost = marks(X)
        rows = X, c_longlong(X.stride(0)), X.shape[0], X.shape[1], factor, constant, degree, features
        compiler.launch(kernel, group.blocks(X.shape[0]), X.device, (*rows, *tables, scale, out, out.shape[1], lost))
        return lost

    return write
