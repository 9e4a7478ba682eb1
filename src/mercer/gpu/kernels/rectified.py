"""Products with random directions, with negative ones replaced by 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..device import Tensor
from ..products import product
from .tensors import Writer, sent

if TYPE_CHECKING:
    import torch


def rectified(directions: NDArray[np.float64], device: torch.device) -> Writer:
    """Return a writer of max(0, <w, x>) for the rows w of a matrix.

    Parameters
    ----------
    directions : ndarray of shape (n_directions, n_columns)
    device : torch.device
    """
    (matrix,) = sent(device, directions.T)

    def write(X: Tensor, out: Tensor) -> Tensor:
        product(X, matrix, out)
        lost = ~out.sum(dim=1).isfinite()  # before an infinity below 0 is cut off
        out.clamp_min_(0.0)
        return lost

    return write
