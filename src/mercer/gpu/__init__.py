"""Arithmetic on a device, by torch: kernels in CUDA C++ for maps, products, factors and kernel blocks for learners.

Torch is imported no sooner than somebody asks for a device or gives rows that are on one.
"""

from .precision import PRECISIONS, precision

__all__ = ["PRECISIONS", "precision"]
