"""Sketches of (gamma <x, y> + coef0)^p, reduced here to sketches of <x, y>^p."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._array import Array, affine
from .._random import Stream
from .._rows import Rows
from ..kernels import Kernel, Linear, Polynomial, Scaled
from .construction import Construction
from .fitted_map import FittedMap
from .pair_moments import PairMoments, pair_moments
from .refusals import unserved


class HomogeneousForm(NamedTuple):
    """A polynomial kernel written as weight <x', y'>^degree, where x' = (scale x, constant)."""

    weight: float
    degree: int
    scale: float
    constant: float

    def lift(self, X: Array) -> Array:
        """Return the rows x'."""
        return affine(X, self.scale, self.constant)

    def width(self, n_features: int) -> int:
        """Return the number of columns of x'."""
        return n_features + (self.constant != 0.0)


def homogeneous_form(kernel: Kernel) -> HomogeneousForm | None:
    """Return the form of a linear or polynomial kernel or a multiple of one; None for any other."""
    if isinstance(kernel, Scaled):
        inner = homogeneous_form(kernel.kernel)
        return inner and inner._replace(weight=inner.weight * float(kernel.weight))
    if isinstance(kernel, Linear):
        return HomogeneousForm(1.0, 1, 1.0, 0.0)
    if isinstance(kernel, Polynomial):
        if kernel.coef0 < 0:
            raise ValueError(f"coef0 must not be negative for a feature map, found {kernel.coef0!r}")
        roots = math.sqrt(float(kernel.gamma)), math.sqrt(kernel.coef0)
        return HomogeneousForm(1.0, int(kernel.degree), *roots)
    return None


class PolynomialConstruction(Construction):
    """Base class of maps for polynomial kernels, which only have to sketch <x, y>^p."""

    @abstractmethod
    def draw_sketch(self, rng: Stream, degree: int, n_features: int) -> Any:
        """Draw the parameters of a sketch of <x, y>^degree for rows of this width."""

    @abstractmethod
    def sketch(self, params: Any, X: Array) -> Array:
        """Compute the features of one tile."""

    @abstractmethod
    def pull_sketch(self, params: Any, X: NDArray[np.float64], G: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the gradients of <g, sketch>, as ``pullback`` does."""

    def pullback(self, params: Any, X: NDArray[np.float64], G: NDArray[np.float64]) -> NDArray[np.float64]:
        form = self.form
        lifted = self.pull_sketch(params, form.lift(X), G * math.sqrt(form.weight))
        return form.scale * lifted[:, : X.shape[1]]

    def sketch_variance(self, moments: PairMoments, degree: int, n_features: int) -> NDArray[np.float64]:
        """Compute the variance of the estimate of <x, y>^degree."""
        return super().variance(None, None, None)

    @classmethod
    def row_operations(cls, n_features: int, width: int, degree: int) -> float:
        return degree * (25.0 * width + 20.0 * n_features)

    @property
    def form(self) -> HomogeneousForm:
        """The kernel as a multiple of a power of an inner product."""
        form = homogeneous_form(self.kernel)
        assert form is not None
        return form

    def check_kernel(self) -> None:
        if homogeneous_form(self.kernel) is None:
            raise unserved(self.name, "a Linear or Polynomial kernel", self.kernel)

    def draw(self, rng: Stream, rows: Rows) -> FittedMap:
        form = self.form
        return self.fitted(self.draw_sketch(rng, form.degree, form.width(rows.n_features)))

    def apply(self, params: Any, X: Array) -> Array:
        form = self.form
        Z = self.sketch(params, form.lift(X))
        return Z if form.weight == 1.0 else Z * math.sqrt(form.weight)

    def variance(self, params: Any, X: Array, Y: Array) -> NDArray[np.float64]:
        form = self.form
        moments = pair_moments(form.lift(X), form.lift(Y))
        variance = self.sketch_variance(moments, form.degree, form.width(X.shape[1]))
        # Where the formulas subtract equal numbers, rounding may leave a negative one.
        return form.weight**2 * np.maximum(variance, 0.0)
