"""The compiled core: the only package that knows the shared library.

The library (``csrc/``) holds every hot kernel once per instruction set.  The best one that the machine runs is picked
at import; the environment variable ``MERCER_ISA`` forces another (``avx512``, ``avx2``, ``baseline``) or, as ``none``,
leaves the library unloaded.  Without the library, as in a pure wheel, ``AVAILABLE`` is False and callers use their
NumPy code.
"""

from ._fourier import FastfoodTables, fastfood, fastfood_tables, structured, waves
from ._library import AVAILABLE, ISA, aligned
from ._sketch import RowParts, SrhtTables, craft, hadamard, hadamard_sketch, srht, srht_tables
from ._tensor import spectrum, tensor_sketch

__all__ = [
    "AVAILABLE",
    "ISA",
    "FastfoodTables",
    "RowParts",
    "SrhtTables",
    "aligned",
    "craft",
    "fastfood",
    "fastfood_tables",
    "hadamard",
    "hadamard_sketch",
    "spectrum",
    "srht",
    "srht_tables",
    "structured",
    "tensor_sketch",
    "waves",
]
