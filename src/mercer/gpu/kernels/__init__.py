"""Fused kernels of maps for NVIDIA GPUs: each file builds the tables of one CUDA source and launches it.

A kernel maps float32 rows on the device in one launch, with only rows and features in device memory, and marks the rows
that it cannot map. See :meth:`mercer.maps.construction.Construction.gpu`.
"""

from .additive_waves import additive_waves
from .fastfood import fastfood
from .hadamard_sketch import hadamard_sketch
from .matrix_waves import matrix_waves
from .rectified import rectified
from .sign_products import sign_products
from .srht import srht
from .structured import structured
from .tensor_sketch import tensor_sketch

__all__ = [
    "additive_waves",
    "fastfood",
    "hadamard_sketch",
    "matrix_waves",
    "rectified",
    "sign_products",
    "srht",
    "structured",
    "tensor_sketch",
]
