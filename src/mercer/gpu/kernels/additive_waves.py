"""The kernel of AdditiveMap."""

from __future__ import annotations

from ctypes import c_longlong
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..device import Tensor
from . import compiler
from .compiler import Kernel
from .tensors import Writer, marks

if TYPE_CHECKING:
    import torch

WAVES = Kernel("additive_waves", threads=256)


def additive_waves(frequencies: NDArray[np.float64], weights: NDArray[np.float64], device: torch.device) -> Writer:
    """Return a writer of root(x) and root(x) (cos, sin)(w log x), each times its weight, of every value x >= 0.

    Parameters
    ----------
    frequencies : ndarray of shape (m,)
    weights : ndarray of shape (2 m + 1,)
    device : torch.device
    """
    import torch

    tables = [torch.tensor(table, dtype=torch.float64, device=device) for table in (frequencies, weights)]

    def write(X: Tensor, out: Tensor) -> Tensor:
        lost, (rows, columns) = marks(X), X.shape
        values = X.contiguous(), c_longlong(rows * columns), columns
        blocks = -(-rows * columns // WAVES.threads)
        compiler.launch(WAVES, blocks, X.device, (*values, *tables, len(frequencies), out, lost))
        return lost

    return write
