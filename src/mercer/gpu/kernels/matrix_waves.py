"""Cosines and sines of the product with a matrix of frequencies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..device import Tensor
from ..products import product
from . import compiler
from .compiler import Kernel
from .tensors import Writer, longest_phase, marks, sent

if TYPE_CHECKING:
    import torch

TILE = 16384
"""The number of rows whose phases are computed at once: enough to fill the device, with little memory."""
PHASE_BYTES = 512 * 2**20
WAVES = Kernel("phase_waves", threads=256)


def matrix_waves(
    frequencies: NDArray[np.float64], offsets: NDArray[np.float64], scale: float, device: torch.device
) -> Writer:
    """Return a writer of scale (cos p, sin p, ...) with phases p that are products of rows with frequencies.

    Parameters
    ----------
    frequencies : ndarray of shape (n_frequencies, n_columns)
        The frequencies, in half turns.
    offsets : ndarray
        The offsets of features without a partner, in half turns.
    scale : float
    device : torch.device
    """
    matrix, offsets_sent = sent(device, frequencies.T, offsets)
    tile = max(256, min(TILE, PHASE_BYTES // (4 * max(1, len(frequencies)))))

    def write(X: Tensor, out: Tensor) -> Tensor:
        lost = marks(X)
        phases = X.new_empty((min(tile, X.shape[0]), matrix.shape[1]))
        for start in range(0, X.shape[0], tile):
            rows = X[start : start + tile]
            product(rows, matrix, phases[: len(rows)])
            waves = phases, matrix.shape[1], offsets_sent, scale, longest_phase()
            compiler.launch(WAVES, len(rows), X.device, (*waves, out[start:], out.shape[1], lost[start:]))
        return lost

    return write
