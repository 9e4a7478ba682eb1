"""Composed: a map on the features of another map, for kernels of kernels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.base import clone

from .._array import Array, double, first_overflow, in_double, is_sparse, namespace
from .._random import RandomState, Stream
from .._rows import Rows
from ..kernels import Kernel
from ._wrappers import MappedRows, check_map, construction_of
from .construction import Construction, Native
from .description import MapDescription
from .estimator import FeatureMap
from .fitted_map import FittedMap, earliest


@in_double
class ComposedParameters(NamedTuple):
    """The parameters of both maps, in float64, because outer phases may need more digits than float32 features have."""

    inner: Any
    outer: Any


@dataclass(frozen=True, kw_only=True, eq=False)
class ComposedConstruction(Construction):
    """An outer map on the features of an inner one."""

    inner: Construction
    outer: Construction

    parts: ClassVar[tuple[str, ...]] = ("inner", "outer")
    deterministic = True

    @classmethod
    def takes_rows(cls, part: str) -> bool:
        return part == "inner"

    def settled(self) -> Self:
        kernel = composition(self.outer.kernel, self.inner.kernel)
        return replace(self, kernel=kernel, n_components=self.outer.n_components)

    def layout(self) -> ComposedParameters:
        return ComposedParameters(self.inner.layout(), self.outer.layout())

    def draw(self, rng: Stream, rows: Rows) -> FittedMap:
        inner = self.inner.draw(rng.child("inner"), rows)
        outer = self.outer.draw(rng.child("outer"), MappedRows(self.inner, inner, rows))
        parameters = ComposedParameters(inner.parameters, outer.parameters)
        return self.fitted(parameters, inner=inner.construction, outer=outer.construction)

    def apply(self, params: ComposedParameters, X: Array) -> Array:
        features = self.part("outer", params).mapped(self.part("inner", params).apply_as_is(double(X)))
        return namespace(features).astype(features, X.dtype)

    def pullback(
        self, params: ComposedParameters, X: NDArray[np.float64], G: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        inner = self.part("inner", params)
        return inner.pullback(X, self.part("outer", params).pullback(inner.apply(X), G))

    def native(self, params: ComposedParameters, dtype: DTypeLike) -> Native:
        inner, outer = self.part("inner", params), self.part("outer", params)
        write_inner, write_outer = inner.writer(np.float64), outer.writer(np.float64)

        def write(X: Array, out: NDArray[Any]) -> int | None:
            overflow = None
            if is_sparse(X) and inner.keeps_sparse:
                rows = inner.apply_as_is(double(X))
            else:
                rows = np.empty((X.shape[0], inner.n_components))
                overflow = write_inner(double(X), rows)
            features = out if dtype == np.float64 else np.empty(out.shape)
            overflow = earliest(overflow, write_outer(rows, features))
            if features is not out:
                with np.errstate(over="ignore"):
                    out[...] = features
                overflow = earliest(overflow, first_overflow(out))
            return overflow

        return write

    @property
    def paired(self) -> bool:
        return self.outer.paired

    def mean(self, params: ComposedParameters, X: Array, Y: Array) -> NDArray[np.float64]:
        if not self.inner.is_deterministic:
            raise NotImplementedError(
                "the mean of Composed is not known: the outer kernel is not linear in the random inner features"
            )
        inner = self.part("inner", params)
        return self.part("outer", params).mean(inner.apply_as_is(X), inner.apply_as_is(Y))

    def variance(self, params: ComposedParameters, X: Array, Y: Array) -> NDArray[np.float64]:
        if not self.inner.is_deterministic:
            return super().variance(params, X, Y)
        inner = self.part("inner", params)
        return self.part("outer", params).variance(inner.apply_as_is(X), inner.apply_as_is(Y))

    @property
    def scratch(self) -> int:
        return self.inner.scratch + self.outer.scratch


class Composed(FeatureMap):
    r"""A kernel of a kernel: an outer map applied to the features of an inner one.

    For kernels ``f.of(k)`` and ``g.of_distance(k)`` that no single map supports, above all the kernels of histograms
    over an :class:`AdditiveMap`: the exponential chi-squared kernel :math:`\exp(-\gamma \sum (x_i - y_i)^2 / (x_i +
    y_i))` is a Gaussian of the chi-squared features. If one map supports the composition, as :class:`RandomMaclaurin`
    does over shift-invariant kernels, it has one source of error instead of two.

    For inner features u and v, <u, v> approximates k(x, y), and :math:`\lVert u - v\rVert^2` approximates the squared
    distance k(x, x) + k(y, y) - 2 k(x, y) of the kernel. An outer map of a dot-product kernel f(<u, v>) therefore
    estimates f(k(x, y)), and one of a kernel g that depends only on :math:`\lVert u - v\rVert` (Gaussian, Matern)
    estimates g of the distance. If the inner map is deterministic, mean and variance are those of the outer map on its
    features. Sparse inner features stay sparse on their way into the outer map.

    Parameters
    ----------
    outer : FeatureMap
        A map of a dot-product kernel, or of one that depends only on the distance. It learns its bandwidth, and
        whatever else it learns, from the inner features. Its ``n_components`` is replaced, and its seed comes from this
        map.
    inner : FeatureMap
        A map that keeps its own ``n_components``; its seed comes from this map. If it is random, the outer map may
        learn parameters from its features, but no bandwidths or widths.
    n_components : int, default=256
        The number of features.
    random_state : int, Generator, RandomState or None, default=None
        Determines the parameters; an int makes them reproducible. See :class:`FeatureMap`.
    n_jobs : int or None, default=None
        The number of threads; see :class:`FeatureMap`.

    Attributes
    ----------
    outer_ : FeatureMap
        The outer map, fitted.
    inner_ : FeatureMap
        The inner map, fitted.

    References
    ----------
    Vempati, Vedaldi, Zisserman and Jawahar, Generalized RBF feature maps for efficient detection, BMVC 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import AdditiveMap, Composed, RandomFourier, kernel_error
    >>> from mercer.kernels import AdditiveChi2, Gaussian
    >>> X = np.random.default_rng(0).dirichlet(np.ones(8), size=50)
    >>> inner = AdditiveMap(AdditiveChi2(), n_components=40)
    >>> features = Composed(RandomFourier(Gaussian(0.5)), inner, n_components=1024, random_state=0).fit(X)
    >>> features.kernel_
    Gaussian(gamma=0.5).of_distance(AdditiveChi2())
    >>> bool(kernel_error(features, X).relative < 0.05)
    True
    """

    description = MapDescription(
        features="the features of one map, passed through another map",
        kernels="`f.of(k)`, `g.of_distance(k)`",
        when="kernels of kernels, such as the exponential chi2 kernel",
        cost="both maps",
        variance="over `AdditiveMap`",
        over=True,
    )

    construction = ComposedConstruction

    def __init__(
        self,
        outer: FeatureMap,
        inner: FeatureMap,
        *,
        n_components: int = 256,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ):
        self.outer = outer
        self.inner = inner
        self.n_components = n_components
        self.random_state = random_state
        self.n_jobs = n_jobs

    def check_arguments(self) -> None:
        check_map("outer", self.outer)
        check_map("inner", self.inner)
        super().check_arguments()

    def construct(self, rows: Rows) -> Construction:
        self.check_arguments()
        inner = clone(self.inner).construct(rows)
        # The features of a map that is not random are known before parameters are drawn; any stream gives them.
        known = inner.draw(Stream(0), rows) if inner.is_deterministic else None
        outer = construction_of(self.outer, int(self.n_components), MappedRows(inner, known, rows))
        return self.settled(rows.n_features, inner=inner, outer=outer)


def composition(outer: Any, inner: Kernel) -> Kernel:
    """Return the kernel that a map of the outer kernel estimates on features of the inner one."""
    if isinstance(outer, Kernel) and outer.is_dot_product:
        return outer.of(inner)
    if isinstance(outer, Kernel) and outer.is_rotation_invariant:
        return outer.of_distance(inner)
    raise ValueError(
        "Composed needs an outer map of a dot-product kernel, or of a kernel that depends only on ||x - y||, found one "
        f"of {outer!r}"
    )
