"""Radial kernels of rows and landmarks with few columns, by differences: in one launch, with nothing in between."""

from __future__ import annotations

from ctypes import c_longlong

from ..device import Tensor
from . import compiler
from .compiler import Kernel

SHAPES = ("gaussian", "matern-1/2", "matern-3/2", "matern-5/2")
"""The functions of squared distances, in the order of the source."""
MOST_COLUMNS = 128
"""The largest number of columns: with more, differences take longer than inner products on tensor cores."""
TILE = 128
"""The numbers of rows and of landmarks of a block of threads."""
SHARED = 2 * 8 * (TILE + 1) * 4
"""The bytes for some columns of both."""


def radial_values(X: Tensor, landmarks: Tensor, shape: str, scale: float) -> Tensor:
    """Return a radial kernel of rows and landmarks, float32 tensors on one device with at most MOST_COLUMNS columns.

    Parameters
    ----------
    X : tensor of shape (n_rows, n_columns)
    landmarks : tensor of shape (n_landmarks, n_columns)
    shape : str
        The name of the function of squared distances.
    scale : float
        The factor of the squared distances, or of the distances.
    """
    found = X.new_empty((X.shape[0], landmarks.shape[0]))
    blocks = -(-X.shape[0] // TILE) * -(-landmarks.shape[0] // TILE)
    if blocks:
        kernel = Kernel("radial_values", threads=256, shared=SHARED, constants=(("SHAPE", SHAPES.index(shape)),))
        rows = X.contiguous(), c_longlong(X.shape[0]), landmarks, landmarks.shape[0], landmarks.shape[1]
        compiler.launch(kernel, blocks, X.device, (*rows, float(scale), found))
    return found
