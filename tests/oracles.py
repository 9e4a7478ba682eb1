"""Naive kernels for comparison: the textbook formula for one pair of rows, and two loops around it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import kv

Row = Sequence[float]


def dot(x: Row, y: Row) -> float:
    return math.fsum(a * b for a, b in zip(x, y, strict=True))


def distance(x: Row, y: Row) -> float:
    return math.sqrt(math.fsum((a - b) ** 2 for a, b in zip(x, y, strict=True)))


def linear(kernel: Any, x: Row, y: Row) -> float:
    return dot(x, y)


def polynomial(kernel: Any, x: Row, y: Row) -> float:
    return (kernel.gamma * dot(x, y) + kernel.coef0) ** kernel.degree


def exponential(kernel: Any, x: Row, y: Row) -> float:
    return math.exp(kernel.gamma * dot(x, y))


def vovk_real(kernel: Any, x: Row, y: Row) -> float:
    return math.fsum(dot(x, y) ** n for n in range(kernel.degree))


def vovk_infinite(kernel: Any, x: Row, y: Row) -> float:
    return 1.0 / (1.0 - dot(x, y))


def maclaurin(kernel: Any, x: Row, y: Row) -> float:
    given = kernel.coefficients
    coefficients = [given(n) for n in range(100)] if callable(given) else given
    return math.fsum(a * dot(x, y) ** n for n, a in enumerate(coefficients))


def gaussian(kernel: Any, x: Row, y: Row) -> float:
    return math.exp(-kernel.gamma * distance(x, y) ** 2)


def laplacian(kernel: Any, x: Row, y: Row) -> float:
    return math.exp(-kernel.gamma * math.fsum(abs(a - b) for a, b in zip(x, y, strict=True)))


def arc_cosine(kernel: Any, x: Row, y: Row) -> float:
    norms = math.sqrt(dot(x, x)) * math.sqrt(dot(y, y))
    if norms == 0.0:
        return 0.0
    angle = math.acos(max(-1.0, min(1.0, dot(x, y) / norms)))
    return norms * (math.sin(angle) + (math.pi - angle) * math.cos(angle)) / math.pi


def cauchy(kernel: Any, x: Row, y: Row) -> float:
    return math.prod(1.0 / (1.0 + (kernel.gamma * (a - b)) ** 2) for a, b in zip(x, y, strict=True))


def matern(kernel: Any, x: Row, y: Row) -> float:
    z = math.sqrt(2.0 * kernel.nu) * distance(x, y) / kernel.length_scale
    if z == 0.0:
        return 1.0
    return 2.0 ** (1.0 - kernel.nu) / math.gamma(kernel.nu) * z**kernel.nu * float(kv(kernel.nu, z))


def additive_chi2(kernel: Any, x: Row, y: Row) -> float:
    return math.fsum(2.0 * a * b / (a + b) for a, b in zip(x, y, strict=True) if a and b)


def intersection(kernel: Any, x: Row, y: Row) -> float:
    return math.fsum(min(a, b) for a, b in zip(x, y, strict=True))


def jensen_shannon(kernel: Any, x: Row, y: Row) -> float:
    pairs = [(a, b) for a, b in zip(x, y, strict=True) if a and b]
    return math.fsum(a * math.log1p(b / a) + b * math.log1p(a / b) for a, b in pairs) / (2.0 * math.log(2.0))


def hellinger(kernel: Any, x: Row, y: Row) -> float:
    return math.fsum(math.sqrt(a * b) for a, b in zip(x, y, strict=True))


def addition(kernel: Any, x: Row, y: Row) -> float:
    return value(kernel.left, x, y) + value(kernel.right, x, y)


def product(kernel: Any, x: Row, y: Row) -> float:
    return value(kernel.left, x, y) * value(kernel.right, x, y)


def scaled(kernel: Any, x: Row, y: Row) -> float:
    return kernel.weight * value(kernel.kernel, x, y)


def composition(kernel: Any, x: Row, y: Row) -> float:
    # A dot-product kernel of two numbers t and 1 is its function of t.
    return value(kernel.outer, [value(kernel.inner, x, y)], [1.0])


def distance_composition(kernel: Any, x: Row, y: Row) -> float:
    # A radial kernel of two points so far apart on a line.
    inner = value(kernel.inner, x, x) + value(kernel.inner, y, y) - 2.0 * value(kernel.inner, x, y)
    return value(kernel.outer, [math.sqrt(max(inner, 0.0))], [0.0])


def skewed_chi2(kernel: Any, x: Row, y: Row) -> float:
    c = kernel.skewedness
    return math.prod(2.0 * math.sqrt((a + c) * (b + c)) / (a + b + 2.0 * c) for a, b in zip(x, y, strict=True))


def skewed_intersection(kernel: Any, x: Row, y: Row) -> float:
    c = kernel.skewedness
    return math.prod(min(a + c, b + c) / math.sqrt((a + c) * (b + c)) for a, b in zip(x, y, strict=True))


FORMULAS: dict[str, Callable[[Any, Row, Row], float]] = {
    "AdditiveChi2": additive_chi2,
    "ArcCosine": arc_cosine,
    "Cauchy": cauchy,
    "Composition": composition,
    "DistanceComposition": distance_composition,
    "Exponential": exponential,
    "Gaussian": gaussian,
    "Hellinger": hellinger,
    "Intersection": intersection,
    "JensenShannon": jensen_shannon,
    "Laplacian": laplacian,
    "Linear": linear,
    "Maclaurin": maclaurin,
    "Matern": matern,
    "Polynomial": polynomial,
    "Product": product,
    "Scaled": scaled,
    "SkewedChi2": skewed_chi2,
    "SkewedIntersection": skewed_intersection,
    "Sum": addition,
    "VovkInfinite": vovk_infinite,
    "VovkReal": vovk_real,
}


def value(kernel: Any, x: Row, y: Row) -> float:
    """k(x, y) of one pair."""
    return FORMULAS[type(kernel).__name__](kernel, x, y)


def gram(kernel: Any, X: Any, Y: Any = None) -> np.ndarray:
    """The Gram matrix, pair by pair."""
    left, right = (
        (M.toarray() if sp.issparse(M) else np.asarray(M)).astype(float).tolist() for M in (X, X if Y is None else Y)
    )
    return np.array([[value(kernel, x, y) for y in right] for x in left])


def label(kernel: Any) -> str:
    """A name for tests: the repr without the address of a Python function, which differs between processes."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(kernel))
