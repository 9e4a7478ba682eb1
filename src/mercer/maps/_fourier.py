"""Fourier features of frequencies that somebody else has drawn."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._array import Array, double, interleave, namespace, product
from .._random import Stream
from ..kernels import Kernel


class Frequencies(NamedTuple):
    """One frequency a row, and the offset of the last feature where the width is odd."""

    frequencies: NDArray[np.float64]
    offset: NDArray[np.float64]

    @property
    def keeps_precision(self) -> bool:
        """Phases are computed in float64: in float32 a long row or a heavy-tailed frequency leaves no digit of them."""
        return True


def draw_frequencies(kernel: Kernel, rng: Stream, width: int, n_features: int) -> Frequencies:
    """As many frequencies of a shift-invariant kernel as paired features of this width need."""
    frequencies = kernel.frequencies(rng.child("frequencies"), (width + 1) // 2, n_features)
    return Frequencies(frequencies, 2.0 * math.pi * rng.child("offset").uniforms((1,)))


def paired_features(params: Frequencies, X: Array, width: int) -> Array:
    """sqrt(2 / D) (cos w_1 x, sin w_1 x, cos w_2 x, ...); an odd width ends in one sqrt(2 / D) cos(w x + b)."""
    xp = namespace(X)
    phases = product(double(X), params.frequencies.T)
    whole = width // 2
    features = interleave(xp.cos(phases[:, :whole]), xp.sin(phases[:, :whole]), width)
    if width % 2:
        # sqrt(2 / D) cos(wx + b) already has the weight of half a pair: 2 cos cos averages to cos(w (x - y)).
        features = xp.concat([features, xp.cos(phases[:, whole:] + params.offset)], axis=1)
    return xp.astype(features * math.sqrt(2.0 / width), X.dtype)


def paired_variance(value: NDArray[np.float64], doubled: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """Variance of the estimate, given k(delta) and k(2 delta) of a kernel with k(0) = 1."""
    pair = 1.0 + doubled - 2.0 * value**2
    if width % 2 == 0:
        return pair / width
    return ((width - 1) * pair + 1.0 + doubled / 2.0 - value**2) / width**2
