"""The compiled core: the only package that knows the shared library.

The library (``csrc/``) holds every hot kernel once per instruction set.  The best one that the machine runs is picked
at import; the environment variable ``MERCER_ISA`` forces another (``avx512``, ``avx2``, ``baseline``) or, as ``none``,
leaves the library unloaded.  Without the library, as in a pure wheel, ``AVAILABLE`` is False and callers use their
NumPy code.
"""

from ._additive import additive, spread
from ._fourier import FastfoodTables, fastfood, fastfood_tables, structured, waves
from ._library import AVAILABLE, ISA, aligned
from ._libsvm import LibsvmError, LibsvmRows, libsvm
from ._few_columns import add_transposed, narrow
from ._pairs import ColumnRows, pairs, radial
from ._product import Panels, kept_panels, matrix_waves, panels, product
from ._scaled import scaled
from ._signs import SignProducts, dense_signs, in_chunks, sign_products, sparse_signs
from ._sketch import RowParts, SrhtTables, craft, hadamard, hadamard_sketch, srht, srht_tables
from ._tensor import spectrum, tensor_sketch

__all__ = [
    "AVAILABLE",
    "ISA",
    "ColumnRows",
    "FastfoodTables",
    "LibsvmError",
    "LibsvmRows",
    "Panels",
    "RowParts",
    "SignProducts",
    "SrhtTables",
    "add_transposed",
    "additive",
    "aligned",
    "craft",
    "dense_signs",
    "fastfood",
    "fastfood_tables",
    "hadamard",
    "hadamard_sketch",
    "in_chunks",
    "kept_panels",
    "libsvm",
    "matrix_waves",
    "narrow",
    "pairs",
    "panels",
    "product",
    "radial",
    "scaled",
    "sign_products",
    "sparse_signs",
    "spectrum",
    "spread",
    "srht",
    "srht_tables",
    "structured",
    "tensor_sketch",
    "waves",
]
