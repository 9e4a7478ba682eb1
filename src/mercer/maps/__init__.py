"""Feature maps: how a kernel is approximated."""

from ._base import FeatureMap
from .complex_sketch import ComplexSketch
from .compressed import Compressed
from .hadamard_sketch import HadamardSketch
from .random_maclaurin import RandomMaclaurin
from .stack import Stack
from .taylor_sketch import TaylorSketch
from .tensor_product import TensorProduct
from .tensor_sketch import TensorSketch
from .tree_sketch import TreeSketch

__all__ = [
    "ComplexSketch",
    "Compressed",
    "FeatureMap",
    "HadamardSketch",
    "RandomMaclaurin",
    "Stack",
    "TaylorSketch",
    "TensorProduct",
    "TensorSketch",
    "TreeSketch",
]
