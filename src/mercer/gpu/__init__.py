"""Arithmetic on a GPU by torch: CUDA C++ kernels for maps, and products, factors and kernel blocks for learners.

Torch is imported only when a device is requested or rows are on one.
"""

from .precision import PRECISIONS, precision

__all__ = ["PRECISIONS", "precision"]
