"""Feature maps: how a kernel is approximated."""

from .additive_map import AdditiveMap
from .calibrated import Calibrated
from .complex_sketch import ComplexSketch
from .composed import Composed
from .compressed import Compressed
from .estimator import FeatureMap
from .fastfood import Fastfood
from .hadamard_sketch import HadamardSketch
from .nystrom import Nystrom
from .orthogonal_fourier import OrthogonalFourier
from .quasi_fourier import QuasiFourier
from .random_fourier import RandomFourier
from .random_maclaurin import RandomMaclaurin
from .random_relu import RandomRelu
from .rules import feature_map as feature_map
from .stack import Stack
from .structured_fourier import StructuredFourier
from .taylor_sketch import TaylorSketch
from .tensor_product import TensorProduct
from .tensor_sketch import TensorSketch
from .tree_sketch import TreeSketch

__all__ = [
    "AdditiveMap",
    "Calibrated",
    "ComplexSketch",
    "Composed",
    "Compressed",
    "Fastfood",
    "FeatureMap",
    "HadamardSketch",
    "Nystrom",
    "OrthogonalFourier",
    "QuasiFourier",
    "RandomFourier",
    "RandomMaclaurin",
    "RandomRelu",
    "Stack",
    "StructuredFourier",
    "TaylorSketch",
    "TensorProduct",
    "TensorSketch",
    "TreeSketch",
]
