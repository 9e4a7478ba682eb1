"""Composed: a map over the features of another map, for kernels of kernels."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from .._array import Array, double, first_overflow, in_double, is_sparse, namespace
from .._random import Stream
from ..kernels import Kernel
from ._base import FeatureMap, Native
from ._mapped_rows import MappedRows
from ._writers import earliest, writer


@in_double
class ComposedParameters(NamedTuple):
    """The parameters of both maps: rounded to float32, long inner features would leave outer phases no digits."""

    inner: Any
    outer: Any


class Composed(FeatureMap):
    r"""A kernel of a kernel: the features of an outer map, applied to the features of an inner one.

    For kernels ``f.of(k)`` and ``g.of_distance(k)`` that no one map serves, above all the kernels of histograms over an
    :class:`AdditiveMap`: the exponential chi2 kernel :math:`\exp(-\gamma \sum (x_i - y_i)^2 / (x_i + y_i))` is a
    Gaussian over the features of chi2. Where one map serves the composition (:class:`RandomMaclaurin` does over
    shift-invariant kernels) it has one source of error, not two.

    With inner features u and v, <u, v> is about k(x, y) and :math:`\lVert u - v\rVert^2` about k(x, x) + k(y, y) -
    2 k(x, y), the distance of k. An outer map of a dot-product kernel f(<u, v>) then estimates f(k(x, y)), one of a
    kernel g that depends on :math:`\lVert u - v\rVert` alone (Gaussian, Matern) estimates g of the distance. Over a
    deterministic inner map, mean and variance are those of the outer map on its features. Sparse inner features go
    into the outer map as they are.

    Parameters
    ----------
    outer : FeatureMap
        Of a dot-product kernel, or of one that depends on the distance alone. A bandwidth by rule, and whatever else
        it learns, it learns from the inner features. Its ``n_components`` is replaced, its seed comes from this map.
    inner : FeatureMap
        Keeps its own ``n_components``; its seed comes from this map. Where it is random, the outer map may learn
        parameters from its features, but no bandwidths or widths.
    n_components : the width of the output
    random_state, n_jobs : see :class:`FeatureMap`

    Attributes
    ----------
    outer_, inner_ : the two maps, fitted

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

    _parts: ClassVar[tuple[str, ...]] = ("inner", "outer")

    def __init__(
        self,
        outer: FeatureMap,
        inner: FeatureMap,
        *,
        n_components: int = 256,
        random_state: Any = None,
        n_jobs: int | None = None,
    ):
        self.outer = outer
        self.inner = inner
        self.n_components = n_components
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_arguments(self) -> None:
        for name in ("outer", "inner"):
            if not isinstance(getattr(self, name), FeatureMap):
                raise TypeError(f"{name} must be a feature map, found {getattr(self, name)!r}")
        super()._check_arguments()

    def _specify(self, rows: Any) -> None:
        self._check_arguments()
        self.inner_: FeatureMap = clone(self.inner)
        self.inner_._specify(rows)
        # Any stream draws the features of a map that is not random; those of a random one are not known yet.
        known = self.inner_._draw(Stream(0), rows) if self.inner_.is_deterministic else None
        self.outer_: FeatureMap = clone(self.outer).set_params(n_components=int(self.n_components))
        self.outer_._specify(MappedRows(self.inner_, known, rows))
        self._settle(rows.n_features)

    def _settle(self, n_features: int) -> None:
        self.n_components_ = self.outer_.n_components_
        self.kernel_ = composition(self.outer_.kernel_, self.inner_.kernel_)

    def _columns_of(self, part: str, n_features: int) -> int:
        return n_features if part == "inner" else self.inner_.n_components_

    def _layout(self, n_features: int) -> ComposedParameters:
        return ComposedParameters(self.inner_._layout(n_features), self.outer_._layout(self.inner_.n_components_))

    def _draw(self, rng: Stream, rows: Any) -> ComposedParameters:
        inner = self.inner_._draw(rng.child("inner"), rows)
        outer = self.outer_._draw(rng.child("outer"), MappedRows(self.inner_, inner, rows))
        return ComposedParameters(inner, outer)

    def _adopt(self, params: ComposedParameters, n_features: int) -> None:
        super()._adopt(params, n_features)
        self._hand_on(self.inner_, params.inner, n_features)
        self.outer_._adopt(params.outer, self.inner_.n_components_)

    def _apply(self, params: ComposedParameters, X: Array) -> Array:
        features = self.outer_._mapped(params.outer, self.inner_._apply_as_is(params.inner, double(X)))
        return namespace(features).astype(features, X.dtype)

    def _native(self, params: ComposedParameters, dtype: Any) -> Native:
        outer, inner = (
            writer(map, part, np.float64) for map, part in ((self.outer_, params.outer), (self.inner_, params.inner))
        )

        def write(X: Any, out: NDArray[Any]) -> int | None:
            overflow = None
            if is_sparse(X) and self.inner_._keeps_sparse:
                rows = self.inner_._apply_as_is(params.inner, double(X))
            else:
                rows = np.empty((X.shape[0], self.inner_.n_components_))
                overflow = inner(double(X), rows)
            features = out if dtype == np.float64 else np.empty(out.shape)
            overflow = earliest(overflow, outer(rows, features))
            if features is not out:
                with np.errstate(over="ignore"):
                    out[...] = features
                overflow = earliest(overflow, first_overflow(out))
            return overflow

        return write

    @property
    def is_deterministic(self) -> bool:
        return self.outer.is_deterministic and self.inner.is_deterministic

    @property
    def _paired(self) -> bool:
        return self.outer_._paired

    def _mean(self, params: ComposedParameters, X: Any, Y: Any) -> NDArray[np.float64]:
        if not self.inner_.is_deterministic:
            raise NotImplementedError(
                "the mean of Composed is not known: the outer kernel bends that of random features"
            )
        return self.outer_._mean(params.outer, *(self.inner_._apply_as_is(params.inner, M) for M in (X, Y)))

    def _variance(self, params: ComposedParameters, X: Any, Y: Any) -> NDArray[np.float64]:
        if not self.inner_.is_deterministic:
            return super()._variance(params, X, Y)
        return self.outer_._variance(params.outer, *(self.inner_._apply_as_is(params.inner, M) for M in (X, Y)))

    def _scratch(self, n_features: int) -> int:
        return self.inner_._scratch(n_features) + self.outer_._scratch(self.inner_.n_components_)


def composition(outer: Any, inner: Kernel) -> Kernel:
    """What a map of the outer kernel estimates on features of the inner one."""
    if isinstance(outer, Kernel) and outer.is_dot_product:
        return outer.of(inner)
    if isinstance(outer, Kernel) and outer.is_rotation_invariant:
        return outer.of_distance(inner)
    raise ValueError(
        "Composed needs an outer map of a dot-product kernel, or of a kernel that depends on ||x - y|| alone, "
        f"found one of {outer!r}"
    )
