"""Products of radial kernel matrices with a few columns, whose kernel values are never stored."""

from __future__ import annotations

from ctypes import c_longlong

from ..device import Tensor
from . import compiler
from .compiler import Kernel
from .radial_values import SHAPES

MOST_COLUMNS, MOST_OUTPUTS = 16, 8
"""The largest widths of rows and of products: a thread has several of both in registers."""
THREADS = 128
ROWS = 4 * THREADS
"""The number of rows of a block of threads."""
LOADED = 128
"""The number of points that a block loads at once."""
ENOUGH_BLOCKS = 2048
"""With fewer blocks, a large GPU is partly idle: then the sums are divided into sections."""


def radial_products(X: Tensor, points: Tensor, weights: Tensor, shape: str, scale: float) -> Tensor:
    """Return K W for a radial kernel matrix K of rows and points, all of them float32 tensors on one device.

    Parameters
    ----------
    X : tensor of shape (n_rows, n_columns)
        The rows, with at most MOST_COLUMNS columns.
    points : tensor of shape (n_points, n_columns)
        The points that are summed over.
    weights : tensor of shape (n_points, n_outputs)
        W, with at most MOST_OUTPUTS columns.
    shape : str
        The name of the function of squared distances.
    scale : float
        The factor of the squared distances, or of the distances.
    """
    (n_rows, columns), (count, outputs) = X.shape, weights.shape
    blocks = -(-n_rows // ROWS)
    sections = max(1, min(-(-ENOUGH_BLOCKS // max(blocks, 1)), -(-count // LOADED)))
    found = X.new_zeros((sections, n_rows, outputs))
    if n_rows and count and outputs:
        constants = (("SHAPE", SHAPES.index(shape)), ("COLUMNS", columns), ("OUTPUTS", outputs))
        shared = LOADED * (columns + outputs) * 4
        kernel = Kernel("radial_products", threads=THREADS, shared=shared, constants=constants)
        given = X.contiguous(), c_longlong(n_rows), points.contiguous(), c_longlong(count), weights.contiguous()
        compiler.launch(kernel, blocks * sections, X.device, (*given, float(scale), sections, found))
    return found.double().sum(dim=0).to(found.dtype)
