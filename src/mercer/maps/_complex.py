"""Complex signs and products, as pairs of real arrays.

The maps that use them multiply p complex projections z and return the real and imaginary parts alternately, scaled by
sqrt(2 / D): E[z(x) conj z(y)] = <x, y>^p. The variance grows like 2^p, compared with 3^p for real signs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._array import Array, interleave
from .pair_moments import PairMoments, power

Pair = tuple[Array, Array]


def others(factors: Sequence[NDArray[Any]]) -> Iterator[NDArray[Any]]:
    """For every factor of a product of several, compute the product of all others, without a division."""
    after = [np.ones_like(factors[-1])]
    for factor in factors[:0:-1]:
        after.append(factor * after[-1])
    before: Any = 1.0
    for factor, rest in zip(factors, reversed(after), strict=True):
        yield before * rest
        before = before * factor


def parts(turns: Array) -> Pair:
    """Return the real and imaginary parts of i**turns: 1, 0, -1, 0 and 0, 1, 0, -1."""
    odd = turns % 2
    return (1 - turns) * (1 - odd), (2 - turns) * odd


def multiply(left: Pair | None, right: Pair) -> Pair:
    """Multiply two complex arrays; None stands for 1."""
    if left is None:
        return right
    (a, b), (c, d) = left, right
    return a * c - b * d, a * d + b * c


def to_real(product: Pair, width: int) -> Array:
    """Return the scaled features Re z_1, Im z_1, Re z_2, ... of this width."""
    return interleave(*product, width) * math.sqrt(2.0 / width)


def pull_to_real(G: NDArray[np.float64], count: int) -> NDArray[np.complex128]:
    """Return a with <g, to_real(z)> = Re sum conj(a_i) z_i, one for each of ``count`` products."""
    width = G.shape[1]
    both = np.zeros((len(G), 2 * count))
    both[:, :width] = G * math.sqrt(2.0 / width)
    return both[:, 0::2] + 1j * both[:, 1::2]


def independent_variance(moments: PairMoments, degree: int, width: int) -> NDArray[np.float64]:
    """Compute the variance of the estimate from uncorrelated complex features; an odd width ends with a real part."""
    p, D = degree, width
    t2p, whole = power(moments.t, 2 * p), power(moments.A, p) + power(moments.B, p)
    if D % 2 == 0:
        return (whole - 2.0 * t2p) / D
    half = whole - (power(moments.B, p) - power(moments.c, p)) / 2.0 - t2p
    return ((D - 1) * (whole - 2.0 * t2p) + half) / D**2
