"""The compiled core: the only package that knows the shared library.

The library (``csrc/``) holds every hot kernel once per instruction set. The best one that the machine runs is chosen at
import; the environment variable ``MERCER_ISA`` forces another (``avx512``, ``avx2``, ``baseline``), and ``none`` leaves
the library unloaded. Without the library, as in a pure wheel, ``AVAILABLE`` is False and callers use their NumPy code.
"""

from ._additive import additive as additive
from ._additive import spread as spread
from ._arrays import aligned as aligned
from ._few_columns import add_curved as add_curved
from ._few_columns import add_transposed as add_transposed
from ._few_columns import few_columns as few_columns
from ._few_columns import to_fixed as to_fixed
from ._fourier import FastfoodTables as FastfoodTables
from ._fourier import fastfood as fastfood
from ._fourier import fastfood_tables as fastfood_tables
from ._fourier import structured as structured
from ._fourier import waves as waves
from ._library import AVAILABLE as AVAILABLE
from ._library import ISA as ISA
from ._libsvm import LibsvmError as LibsvmError
from ._libsvm import LibsvmRows as LibsvmRows
from ._libsvm import libsvm as libsvm
from ._pairs import ColumnRows as ColumnRows
from ._pairs import pairs as pairs
from ._pairs import radial as radial
from ._pairs import radial_values as radial_values
from ._product import Panels as Panels
from ._product import matrix_waves as matrix_waves
from ._product import panels as panels
from ._product import product as product
from ._scaled import scaled as scaled
from ._signs import SignProducts as SignProducts
from ._signs import dense_signs as dense_signs
from ._signs import in_stretches as in_stretches
from ._signs import sign_products as sign_products
from ._signs import sparse_signs as sparse_signs
from ._sketch import RowParts as RowParts
from ._sketch import SrhtTables as SrhtTables
from ._sketch import craft as craft
from ._sketch import hadamard as hadamard
from ._sketch import hadamard_sketch as hadamard_sketch
from ._sketch import srht as srht
from ._sketch import srht_tables as srht_tables
from ._tensor import spectrum as spectrum
from ._tensor import tensor_sketch as tensor_sketch
