"""Products of projections on signs, for RandomMaclaurin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..device import Tensor
from ..products import in_parts, sign_matrix, split_product
from . import compiler
from .compiler import Kernel
from .tensors import Writer, marks, sent

if TYPE_CHECKING:
    import torch

TILE = 16384
"""The number of rows whose projections are computed at once."""
FACTOR_BYTES = 1024 * 2**20
"""The largest number of bytes for the projections of a tile."""
MATRIX_BYTES = 2 * 2**30
"""The largest number of bytes for the signs on the device."""
PRODUCTS = Kernel("factor_products", threads=256)


def sign_products(
    signs: NDArray[np.int8], degrees: NDArray[np.int32], weights: NDArray[np.float64], first: int, device: torch.device
) -> Writer | None:
    """Return a writer of weighted products of projections to the columns starting with ``first``.

    Parameters
    ----------
    signs : ndarray of shape (n_projections, n_columns)
    degrees : ndarray of shape (n_products,)
        The number of projections of each product; the projections of a product are consecutive.
    weights : ndarray of shape (n_products,)
    first : int
    device : torch.device

    Returns
    -------
    callable or None
        None if the signs take too much memory.
    """
    if 6 * signs.size > MATRIX_BYTES:
        return None
    count, features = len(signs), len(degrees)
    starts, weights_sent = sent(device, np.concatenate([[0], np.cumsum(degrees)]), weights)
    matrix = sign_matrix(signs, device)
    tile = max(256, min(TILE, FACTOR_BYTES // (4 * max(1, count))))

    def write(X: Tensor, out: Tensor) -> Tensor:
        lost = marks(X)
        for start in range(0, X.shape[0], tile):
            factors = split_product(in_parts(X[start : start + tile]), matrix)
            table = factors, count, starts, weights_sent, features
            compiler.launch(
                PRODUCTS, factors.shape[0], X.device, (*table, out[start:, first:], out.shape[1], lost[start:])
            )
        return lost

    return write
