"""Feature maps: how a kernel is approximated."""

from ._base import FeatureMap
from .additive_map import AdditiveMap
from .complex_sketch import ComplexSketch
from .compressed import Compressed
from .hadamard_sketch import HadamardSketch
from .random_maclaurin import RandomMaclaurin
from .taylor_sketch import TaylorSketch
from .tensor_sketch import TensorSketch
from .tree_sketch import TreeSketch

__all__ = [
    "AdditiveMap",
    "ComplexSketch",
    "Compressed",
    "FeatureMap",
    "HadamardSketch",
    "RandomMaclaurin",
    "TaylorSketch",
    "TensorSketch",
    "TreeSketch",
]
