"""Feature maps: how a kernel is approximated."""

from ._base import FeatureMap
from .calibrated import Calibrated
from .complex_sketch import ComplexSketch
from .compressed import Compressed
from .fastfood import Fastfood
from .hadamard_sketch import HadamardSketch
from .orthogonal_fourier import OrthogonalFourier
from .quasi_fourier import QuasiFourier
from .random_fourier import RandomFourier
from .random_maclaurin import RandomMaclaurin
from .structured_fourier import StructuredFourier
from .taylor_sketch import TaylorSketch
from .tensor_sketch import TensorSketch
from .tree_sketch import TreeSketch

__all__ = [
    "Calibrated",
    "ComplexSketch",
    "Compressed",
    "Fastfood",
    "FeatureMap",
    "HadamardSketch",
    "OrthogonalFourier",
    "QuasiFourier",
    "RandomFourier",
    "RandomMaclaurin",
    "StructuredFourier",
    "TaylorSketch",
    "TensorSketch",
    "TreeSketch",
]
