"""The arc-cosine kernel, which describes a wide layer of a random neural network."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._array import Array, squares
from .base import Kernel
from .families import inner_products

Matrix = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class ArcCosine(Kernel):
    r"""Arc-cosine kernel of order 1: an infinitely wide layer of rectified linear units with random weights.

    A row of zeros has the value 0 with every other row.

    Notes
    -----
    With the angle :math:`\theta` between x and y,

    .. math:: k(x, y) = \|x\| \|y\| \, (\sin\theta + (\pi - \theta) \cos\theta) / \pi.

    References
    ----------
    Cho and Saul, Kernel methods for deep learning, NIPS 2009.

    Examples
    --------
    >>> from mercer.kernels import ArcCosine
    >>> ArcCosine()([[3.0, 4.0], [-3.0, -4.0]]).round(6)
    array([[25.,  0.],
           [ 0., 25.]])
    """

    description = "Grows with the lengths of two rows and falls with their angle: a wide random neural network."

    def gram(self, X: Array, Y: Array) -> Matrix:
        return first_order(*norms_and_cosines(X, Y))

    def diagonal(self, X: Array) -> Matrix:
        return squares(X)


def norms_and_cosines(X: Array, Y: Array) -> tuple[Matrix, Matrix]:
    """Compute ||x|| ||y|| and the cosine of the angle for all pairs of rows."""
    norms = np.sqrt(squares(X))[:, None] * np.sqrt(squares(Y))
    cosines = np.divide(inner_products(X, Y), norms, out=np.zeros(norms.shape), where=norms > 0.0)
    return norms, np.clip(cosines, -1.0, 1.0)


def first_order(norms: Matrix, cosines: Matrix) -> Matrix:
    """Compute E[2 max(0, <w, x>) max(0, <w, y>)] for a normal vector w."""
    angles, sines = np.arccos(cosines), np.sqrt((1.0 - cosines) * (1.0 + cosines))
    return norms * (sines + (math.pi - angles) * cosines) / math.pi


def second_order(norms: Matrix, cosines: Matrix) -> Matrix:
    """Compute E[2 max(0, <w, x>)^2 max(0, <w, y>)^2] for a normal vector w."""
    angles, sines = np.arccos(cosines), np.sqrt((1.0 - cosines) * (1.0 + cosines))
    return norms**2 * (3.0 * sines * cosines + (math.pi - angles) * (1.0 + 2.0 * cosines**2)) / math.pi
