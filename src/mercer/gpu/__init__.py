"""Graphics processors: kernels in CUDA C++ for maps, and the precision of their products.

Nothing here is needed on a CPU, and torch is imported only when rows are on a device.
"""

from .precision import PRECISIONS, precision

__all__ = ["PRECISIONS", "precision"]
