"""Feature maps: how a kernel is approximated.

Each import below registers a map: it makes the map public here and in :mod:`mercer`. Every list of maps follows the
order of these lines.
"""

# isort: skip_file

from .estimator import FeatureMap as FeatureMap
from .orthogonal_fourier import OrthogonalFourier as OrthogonalFourier
from .structured_fourier import StructuredFourier as StructuredFourier
from .quasi_fourier import QuasiFourier as QuasiFourier
from .random_fourier import RandomFourier as RandomFourier
from .fastfood import Fastfood as Fastfood
from .nystrom import Nystrom as Nystrom
from .additive_map import AdditiveMap as AdditiveMap
from .tensor_sketch import TensorSketch as TensorSketch
from .hadamard_sketch import HadamardSketch as HadamardSketch
from .complex_sketch import ComplexSketch as ComplexSketch
from .tree_sketch import TreeSketch as TreeSketch
from .taylor_sketch import TaylorSketch as TaylorSketch
from .random_maclaurin import RandomMaclaurin as RandomMaclaurin
from .random_relu import RandomRelu as RandomRelu
from .calibrated import Calibrated as Calibrated
from .compressed import Compressed as Compressed
from .stack import Stack as Stack
from .tensor_product import TensorProduct as TensorProduct
from .composed import Composed as Composed
from .rules import feature_map as feature_map

MAPS: tuple[type[FeatureMap], ...] = tuple(
    value
    for value in list(globals().values())
    if isinstance(value, type) and issubclass(value, FeatureMap) and value is not FeatureMap
)
"""Every map, in the order in which they are listed."""

__all__ = sorted(["FeatureMap", *(map.__name__ for map in MAPS)])
