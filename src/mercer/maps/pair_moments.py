"""The second moments of pairs of rows, from which the variance of every product sketch is computed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._array import Array, squares
from ..kernels.families import inner_products

Matrix = NDArray[np.float64]


class PairMoments(NamedTuple):
    """Moments of pairs of rows x and y: ``t = <x, y>``, ``N = ||x||^2 ||y||^2`` and ``c = sum x_i^2 y_i^2``.

    With r a vector of independent signs, E[<r,x>^2 <r,y>^2] = R for real signs; with complex ones
    E|<r,x>|^2|<r,y>|^2 = A and E[<r,x>^2 conj(<r,y>^2)] = B.
    """

    t: Matrix
    N: Matrix
    c: Matrix

    @property
    def A(self) -> Matrix:
        return self.N + self.t**2 - self.c

    @property
    def B(self) -> Matrix:
        return 2.0 * self.t**2 - self.c

    @property
    def R(self) -> Matrix:
        return self.N + 2.0 * self.t**2 - 2.0 * self.c


def power(values: Matrix, degree: int) -> Matrix:
    """Compute an integer power by repeated squaring, much faster than NumPy's general ``**``."""
    result = np.ones_like(values)
    while degree > 0:
        if degree % 2:
            result *= values
        degree //= 2
        if degree:
            values = values * values
    return result


def pair_moments(X: Array, Y: Array) -> PairMoments:
    """Compute the moments of every row of X with every row of Y, dense or CSR."""
    squared = [M.multiply(M) if sp.issparse(M) else M * M for M in (X, Y)]
    with np.errstate(over="ignore"):  # products of four entries may overflow where the kernel does not
        return PairMoments(inner_products(X, Y), np.outer(squares(X), squares(Y)), inner_products(*squared))
