"""Feature maps: how a kernel is approximated."""

from ._base import FeatureMap
from .complex_sketch import ComplexSketch
from .compressed import Compressed
from .hadamard_sketch import HadamardSketch
from .nystrom import Nystrom
from .random_maclaurin import RandomMaclaurin
from .taylor_sketch import TaylorSketch
from .tensor_sketch import TensorSketch
from .tree_sketch import TreeSketch

__all__ = [
    "ComplexSketch",
    "Compressed",
    "FeatureMap",
    "HadamardSketch",
    "Nystrom",
    "RandomMaclaurin",
    "TaylorSketch",
    "TensorSketch",
    "TreeSketch",
]
