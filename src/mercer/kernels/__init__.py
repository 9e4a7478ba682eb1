"""Exact kernels and their algebra: what a feature map approximates."""

from .additive import AdditiveChi2, Hellinger, Intersection, JensenShannon
from .algebra import Product, Scaled, Sum
from .arc_cosine import ArcCosine
from .base import Kernel
from .cauchy import Cauchy
from .composition import Composition, DistanceComposition
from .exponential import Exponential
from .gaussian import Gaussian
from .laplacian import Laplacian
from .maclaurin import Maclaurin
from .matern import Matern
from .parse import KernelSyntaxError, parse
from .polynomial import Linear, Polynomial
from .skewed import SkewedChi2, SkewedIntersection
from .vovk import VovkInfinite, VovkReal

__all__ = [
    "AdditiveChi2",
    "ArcCosine",
    "Cauchy",
    "Composition",
    "DistanceComposition",
    "Exponential",
    "Gaussian",
    "Hellinger",
    "Intersection",
    "JensenShannon",
    "Kernel",
    "KernelSyntaxError",
    "Laplacian",
    "Linear",
    "Maclaurin",
    "Matern",
    "Polynomial",
    "Product",
    "Scaled",
    "SkewedChi2",
    "SkewedIntersection",
    "Sum",
    "VovkInfinite",
    "VovkReal",
    "parse",
]
