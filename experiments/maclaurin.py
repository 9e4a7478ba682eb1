"""Random Maclaurin features as the papers draw them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

import mercer
from mercer.kernels import Polynomial

DEGREES = 64
"""The number of degrees considered; a higher one has a probability below 2^-64."""


class PapersMaclaurin(TransformerMixin, BaseEstimator):
    """Every feature draws its degree n from all, with probability 2^-(n+1), though a polynomial has few of them.

    A feature of a degree that the kernel lacks is 0. What is left are features of :class:`mercer.RandomMaclaurin`,
    which draws from the degrees of the kernel alone: a random number of them, and a scale that makes up for the zeros
    in the mean. Of ``<x, y>^4`` one feature in 32 is not 0, of ``<x, y>^10`` one in 2,048; of ``exp(<x, y>)`` all.
    """

    def __init__(self, kernel: Any = Polynomial(2), n_components: int = 256, random_state: int = 0):  # noqa: B008
        self.kernel, self.n_components, self.random_state = kernel, n_components, random_state

    def fit(self, X: Any, y: Any = None) -> PapersMaclaurin:
        kernel = self.kernel
        degrees = np.flatnonzero(kernel.series(DEGREES)).tolist()
        share = math.fsum(2.0 ** -(n + 1) for n in degrees)
        drawn = np.random.default_rng(self.random_state).geometric(0.5, size=self.n_components) - 1
        self.n_kept_ = int(np.isin(drawn, degrees).sum())
        kept = max(1, self.n_kept_)
        self.map_ = mercer.RandomMaclaurin(kernel, n_components=kept, random_state=self.random_state).fit(X)
        self.scale_ = math.sqrt(self.n_kept_ / (self.n_components * share))
        return self

    def transform(self, X: Any) -> Any:
        """Return the features without the columns of zeros."""
        Z = self.map_.transform(X)
        Z *= self.scale_
        return Z
