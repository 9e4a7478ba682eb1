"""RandomMaclaurin: any dot-product kernel, and compositions, by random products."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .._array import Array, dense, double, first_overflow, namespace, ones
from .._checks import check_whole
from .._random import RandomState, Stream
from .._rows import Rows
from ..gpu import kernels
from ..kernels import Composition, Kernel, Maclaurin
from ..kernels.defaults import QUADRATIC
from ._fourier import (
    Frequencies,
    draw_frequencies,
    fourier_features,
    fourier_variance,
    frequency_layout,
    matrix_waves,
    native_waves,
    wave_slopes,
)
from .array_layouts import exactly, floats
from .construction import Construction, Gpu, Native
from .description import MapDescription
from .estimator import FeatureMap
from .fitted_map import FittedMap, earliest
from .maclaurin_products import (
    NativePart,
    RandomProducts,
    argument,
    canonical,
    check_products,
    degree_law,
    draw_products,
    gpu_random_products,
    kernel_series,
    native_random_products,
    product_layout,
    pull_random_products,
    random_products,
    second_moment,
)
from .pair_moments import pair_moments
from .refusals import unserved

if TYPE_CHECKING:
    import torch


class MaclaurinParameters(NamedTuple):
    """The exact degrees and the scale of their features, then the random features for the other degrees and theirs."""

    exact: NDArray[np.int64]
    exact_scales: NDArray[np.float64]
    random: RandomProducts | Frequencies
    random_scale: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class MaclaurinConstruction(Construction):
    """Random products of random degrees, in addition to degrees that are kept exactly."""

    base: float
    exact_terms: bool
    max_degree: int | None

    def check_kernel(self) -> None:
        kernel = self.kernel
        inner = composed = canonical(kernel)
        while isinstance(inner, Composition) and not inner.has_spectrum:
            inner = inner.inner
        if not (inner.is_dot_product or (inner is composed and isinstance(composed, Composition))):
            needed = "a dot-product kernel, or one composed over a shift-invariant or a dot-product kernel"
            raise unserved(self.name, needed, kernel)
        if not self._series().any():
            raise ValueError(f"{kernel!r} has no positive coefficient up to max_degree={self.max_degree!r}")

    @property
    def paired(self) -> bool:
        return self._fourier_kernel() is not None and not self.exact_degrees

    # -- what is kept exactly, and what is drawn -----------------------------------------------------------------------

    def _series(self) -> NDArray[np.float64]:
        """Return a_n up to ``max_degree``, without degrees so rare that they cannot be drawn."""
        kernel, base = canonical(self.kernel), float(self.base)
        series = kernel_series(kernel, base)
        series = series if self.max_degree is None else series[: self.max_degree + 1]
        return series if kernel.has_spectrum else np.where(degree_law(series, base) > 0, series, 0.0)

    @cached_property
    def exact_degrees(self) -> tuple[int, ...]:
        """The degrees that are kept exactly."""
        series, left = self._series(), self.n_components
        kept: list[int] = []
        # The row itself can be a feature only if the series is one of <x, y>.
        costs = {1: self.n_features, 0: 1} if self.kernel.is_dot_product else {0: 1}
        for degree, cost in costs.items() if self.exact_terms else ():
            others = np.delete(series, [degree, *kept]).any() if degree < len(series) else True
            if degree < len(series) and series[degree] > 0 and left - cost >= int(others):
                kept.append(degree)
                left -= cost
        return tuple(sorted(kept))

    def _random_series(self) -> NDArray[np.float64]:
        """Return a_n of the degrees that are drawn at random."""
        series = self._series().copy()
        series[list(self.exact_degrees)] = 0.0
        return series

    @property
    def random_width(self) -> int:
        """The number of random features."""
        return self.n_components - sum(self.n_features if degree else 1 for degree in self.exact_degrees)

    def _fourier_kernel(self) -> Composition | None:
        """Return the random part if it is shift-invariant, so that frequencies add up."""
        kernel, series = canonical(self.kernel), self._random_series()
        if not isinstance(kernel, Composition) or not kernel.has_spectrum or not series.any():
            return None
        return Maclaurin(tuple(series.tolist())).of(kernel.inner)

    # -- the map -------------------------------------------------------------------------------------------------------

    def draw(self, rng: Stream, rows: Rows) -> FittedMap:
        series, fourier = self._random_series(), self._fourier_kernel()
        width = self.random_width
        random: RandomProducts | Frequencies
        if fourier is not None:
            random, scale = draw_frequencies(fourier, rng, width, rows.n_features), math.sqrt(fourier.amplitude)
        else:
            inner, fixed = argument(canonical(self.kernel)), self.max_degree is not None
            random = draw_products(rng, series, inner, float(self.base), width, rows.n_features, fixed)
            scale = 1.0 if fixed else 1.0 / math.sqrt(max(width, 1))
        exact = np.array(self.exact_degrees, dtype=np.int64)
        return self.fitted(MaclaurinParameters(exact, np.sqrt(self._series()[exact]), random, np.array([scale])))

    def layout(self) -> MaclaurinParameters:
        width = self.random_width
        random: RandomProducts | Frequencies = product_layout(canonical(self.kernel), width, self.n_features)
        if self._fourier_kernel() is not None:
            random = frequency_layout((width + 1) // 2, self.n_features, 1)
        scales = floats(len(self.exact_degrees), least=0.0)
        return MaclaurinParameters(exactly(self.exact_degrees), scales, random, floats(1, least=0.0))

    def check_parameters(self, params: MaclaurinParameters) -> None:
        if isinstance(params.random, RandomProducts):
            check_products(params.random)

    def apply(self, params: MaclaurinParameters, X: Array) -> Array:
        features = [
            (ones(X, 1) if degree == 0 else dense(X)) * params.exact_scales[place]
            for place, degree in enumerate(params.exact.tolist())
        ]
        return namespace(X).concat([*features, self._random_features(params, X)], axis=1)

    def _random_features(self, params: MaclaurinParameters, X: Array) -> Array:
        if isinstance(params.random, RandomProducts):
            return random_products(params.random, X) * params.random_scale
        width = self.random_width
        random = fourier_features(params.random, self.kernel.coordinates(double(X)), width)
        return namespace(X).astype(random, X.dtype) * params.random_scale

    def pullback(
        self, params: MaclaurinParameters, X: NDArray[np.float64], G: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        found, first = np.zeros_like(X), 0
        for place, degree in enumerate(params.exact.tolist()):
            if degree:
                found += G[:, first : first + X.shape[1]] * params.exact_scales[place]
            first += X.shape[1] if degree else 1
        rest = G[:, first:] * params.random_scale
        if isinstance(params.random, RandomProducts):
            return found + pull_random_products(params.random, X, rest)
        frequencies, offset = params.random
        slopes = wave_slopes(self.kernel.coordinates(X) @ frequencies.T, offset, rest)
        return found + (slopes @ frequencies) * self.kernel.coordinate_slopes(X)

    def native(self, params: MaclaurinParameters, dtype: DTypeLike) -> Native | None:
        exact = list(zip(params.exact.tolist(), params.exact_scales, strict=True))
        write = self._native_random(params, dtype)
        if write is None:
            return None

        def mapped(X: Array, out: NDArray[Any]) -> int | None:
            first = 0
            with np.errstate(over="ignore"):
                for degree, scale in exact:
                    width = X.shape[1] if degree else 1
                    out[:, first : first + width] = dense(X) * scale if degree else scale
                    first += width
            found = first_overflow(out[:, :first]) if exact else None, write(X, out, first)
            return earliest(*found)

        return mapped

    def gpu(self, params: MaclaurinParameters, device: torch.device) -> Gpu | None:
        exact = [
            (degree, float(scale)) for degree, scale in zip(params.exact.tolist(), params.exact_scales, strict=True)
        ]
        first, scale = self.n_components - self.random_width, float(params.random_scale[0])
        if not isinstance(params.random, RandomProducts):
            if exact or self.kernel.chart is not None:
                return None
            frequencies, offset = (part / math.pi for part in params.random)
            return kernels.matrix_waves(frequencies, offset, scale * math.sqrt(2.0 / self.random_width), device)
        write_random = gpu_random_products(params.random, scale, first, device)
        if write_random is None:
            return None

        def write(X: Array, out: Array) -> Array:
            isfinite = namespace(X).isfinite
            lost, place = write_random(X, out), 0
            lost |= ~isfinite(X.sum(dim=1))  # products without factors do not depend on the row
            for degree, scale in exact:
                width = X.shape[1] if degree else 1
                out[:, place : place + width] = X * scale if degree else scale
                lost |= ~isfinite(out[:, place : place + width].sum(dim=1))
                place += width
            return lost

        return write

    def _native_random(self, params: MaclaurinParameters, dtype: DTypeLike) -> NativePart | None:
        scale = float(params.random_scale[0])
        if isinstance(params.random, RandomProducts):
            return native_random_products(params.random, scale, dtype)
        frequencies, width = params.random, self.random_width
        scale *= math.sqrt(2.0 / width)
        native = native_waves(
            self.kernel,
            lambda precision: matrix_waves(frequencies, scale, precision),
            lambda X: self._random_features(params, X),
            dtype,
        )

        def write(X: Array, out: NDArray[Any], first: int) -> int | None:
            features = out if first == 0 else np.empty((len(out), width), dtype=dtype)
            native(X, features)
            out[:, first:] = features
            return None

        return write

    def _counts(self, random: RandomProducts) -> dict[int, int]:
        """Return the degrees that have features, with their number."""
        degrees, counts = np.unique(random.degrees[random.weights > 0], return_counts=True)
        return dict(zip(degrees.tolist(), counts.tolist(), strict=True))

    def mean(self, params: Any, X: Array, Y: Array) -> NDArray[np.float64]:
        series, inner = self._series().copy(), argument(canonical(self.kernel))
        if self.max_degree is not None and isinstance(params.random, RandomProducts):
            kept = [*self.exact_degrees, *self._counts(params.random)]
            series[np.setdiff1d(np.arange(len(series)), kept)] = 0.0
        drawn = Maclaurin(tuple(series.tolist()))
        return (drawn if inner is None else drawn.of(inner))(X, Y)

    def variance(self, params: Any, X: Array, Y: Array) -> NDArray[np.float64]:
        width, fourier = self.random_width, self._fourier_kernel()
        if fourier is not None:
            return fourier_variance(fourier, X, Y, width)
        kernel, series, base = canonical(self.kernel), self._random_series(), float(self.base)
        inner = argument(kernel)
        t = pair_moments(X, Y).t if inner is None else inner(X, Y)
        if self.max_degree is None:
            moment = second_moment(kernel, base, X, Y, series)
            return np.maximum(moment - np.polynomial.polynomial.polyval(t, series) ** 2, 0.0) / max(width, 1)
        factor = pair_moments(X, Y).R if inner is None else second_moment(inner, base, X, Y)
        variance = np.zeros_like(t)
        for n, count in self._counts(params.random).items():
            variance += series[n] ** 2 * np.maximum(factor**n - t ** (2 * n), 0.0) / count
        return variance

    @property
    def scratch(self) -> int:
        scalar_features = 8 if isinstance(canonical(self.kernel), Composition) else 0
        return self.n_features + (4 + scalar_features) * self.n_components

    @classmethod
    def row_operations(cls, n_features: int, width: int, degree: int) -> float:
        return width * (0.25 * n_features + 25.0)


class RandomMaclaurin(FeatureMap):
    r"""Any dot-product kernel :math:`f(\langle x, y\rangle) = \sum a_n \langle x, y\rangle^n`, by random degrees.

    Kar and Karnick's map supports every kernel with a non-negative series, and compositions f(k) with any
    shift-invariant or dot-product kernel k. For accuracy, prefer :class:`TaylorSketch`, whose error at equal width is
    often half as large or less.

    Each feature draws a degree N with probability P[N] proportional to :math:`base^{-N}` over the degrees of the series
    and is :math:`\sqrt{a_N / P[N]} \prod_{j \le N} \langle\omega_j, x\rangle / \sqrt D` with sign vectors
    :math:`\omega_j`. (The paper's P is normalised only for base 2.) Exactly, :math:`D\,\mathrm{Var} = \sum a_n^2 R^n /
    P[n] - f(t)^2` in the notation of :class:`TensorSketch`. For f(k) with a shift-invariant k, the features are Fourier
    features whose frequencies are sums of N frequencies of k.

    Parameters
    ----------
    kernel : Kernel or str, default=Polynomial(2, gamma="scale", coef0=1.0)
        A dot-product kernel, or a sum, product or multiple of such kernels, or ``f.of(k)``.
    n_components : int, default=256
        The number of features.
    base : float, default=2.0
        How fast the probability of a degree falls; greater than 1.
    exact_terms : bool, default=False
        Whether to keep degree 1 (the row itself) and then degree 0 (a constant) exactly, each only if a random feature
        remains: the paper's H0/1. ``exact_degrees_`` lists the exact degrees.
    max_degree : int or None, default=None
        Where to truncate the series. Every remaining degree then has a fixed number of features (frequencies of a
        composition are still drawn), and ``mean`` is the truncated kernel.
    random_state : int, Generator, RandomState or None, default=None
        Determines the parameters; an int makes them reproducible. See :class:`FeatureMap`.
    n_jobs : int or None, default=None
        The number of threads; see :class:`FeatureMap`.

    Attributes
    ----------
    exact_degrees_ : tuple of int
        The degrees that are kept exactly.

    References
    ----------
    Kar and Karnick, Random feature maps for dot product kernels, AISTATS 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import RandomMaclaurin
    >>> from mercer.kernels import Exponential
    >>> X = np.random.default_rng(0).normal(size=(10, 4)) / 4
    >>> sketch = RandomMaclaurin(Exponential(), n_components=100, exact_terms=True, random_state=0).fit(X)
    >>> sketch.exact_degrees_
    (0, 1)
    """

    description = MapDescription(
        features="products of a random number of random projections",
        kernels="dot-product, and `f.of(k)`",
        when="kernels that no other map supports; baseline of the papers",
        cost="D nnz times the mean degree",
        variance="yes",
    )

    construction = MaclaurinConstruction
    _choices: ClassVar[dict[str, tuple[Any, ...]]] = {"exact_terms": (True, False)}

    def __init__(
        self,
        kernel: Kernel | str = QUADRATIC,
        *,
        n_components: int = 256,
        base: float = 2.0,
        exact_terms: bool = False,
        max_degree: int | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ):
        super().__init__(kernel, n_components=n_components, random_state=random_state, n_jobs=n_jobs)
        self.base = base
        self.exact_terms = exact_terms
        self.max_degree = max_degree

    def check_arguments(self) -> None:
        if not isinstance(self.base, numbers.Real) or not 1.0 < float(self.base) < math.inf:
            raise ValueError(f"base must be a finite number above 1, found {self.base!r}")
        if self.max_degree is not None:
            check_whole("max_degree", self.max_degree, 0, " or None")
        super().check_arguments()

    @property
    def exact_degrees_(self) -> tuple[int, ...]:
        """The degrees that are kept exactly."""
        return self.construction_.exact_degrees
