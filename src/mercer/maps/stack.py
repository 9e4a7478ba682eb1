"""Stack: the concatenated features of two maps, for the sum of their kernels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .._array import Array, beside, feature_array
from .._random import RandomState, Stream
from .._rows import Rows
from ._wrappers import MapPair, PairConstruction
from .construction import Gpu, Native, in_tiles
from .description import MapDescription
from .estimator import FeatureMap
from .fitted_map import FittedMap, earliest

if TYPE_CHECKING:
    import torch


class StackParameters(NamedTuple):
    """The parameters of both maps."""

    left: Any
    right: Any


class StackConstruction(PairConstruction):
    """The concatenated features of two maps."""

    deterministic = True

    def settled(self) -> Self:
        width = self.left.n_components + self.right.n_components
        return replace(self, kernel=self.left.kernel + self.right.kernel, n_components=width)

    def layout(self) -> StackParameters:
        return StackParameters(self.left.layout(), self.right.layout())

    def draw(self, rng: Stream, rows: Rows) -> FittedMap:
        left, right = self.draw_both(rng, rows)
        parameters = StackParameters(left.parameters, right.parameters)
        return self.fitted(parameters, left=left.construction, right=right.construction)

    def apply(self, params: StackParameters, X: Array) -> Array:
        return beside(self.part("left", params).mapped(X), self.part("right", params).mapped(X))

    def native(self, params: StackParameters, dtype: DTypeLike) -> Native:
        left, right = (self.part(name, params).writer(dtype) for name in self.parts)
        width = self.left.n_components

        def write(X: Array, out: NDArray[Any]) -> int | None:
            overflow = None
            for write_side, columns in ((left, out[:, :width]), (right, out[:, width:])):
                features = np.empty(columns.shape, dtype=dtype)
                overflow = earliest(overflow, write_side(X, features))
                columns[...] = features
            return overflow

        return write

    def gpu(self, params: StackParameters, device: torch.device) -> Gpu | None:
        left, right = (inner.gpu(getattr(params, name), device) for name, inner in self.inner_maps.items())
        if left is None or right is None:
            return None
        width = self.left.n_components

        def write(X: Array, out: Array) -> Array:
            lost = None
            for write_side, columns in ((left, out[:, :width]), (right, out[:, width:])):
                features = feature_array(X, columns.shape[1])
                marked = write_side(X, features)
                lost = marked if lost is None else lost | marked
                columns[...] = features
            return lost

        return in_tiles(write, 2 * self.n_components)

    def pullback(self, params: StackParameters, X: NDArray[np.float64], G: NDArray[np.float64]) -> NDArray[np.float64]:
        width = self.left.n_components
        left = self.part("left", params).pullback(X, G[:, :width])
        return left + self.part("right", params).pullback(X, G[:, width:])

    @property
    def keeps_sparse(self) -> bool:
        return self.left.keeps_sparse and self.right.keeps_sparse

    def apply_sparse(self, params: StackParameters, X: Array) -> Any:
        return beside(self.part("left", params).apply_as_is(X), self.part("right", params).apply_as_is(X))

    def sparse_frame(self, X: Array) -> Any:
        return beside(self.left.sparse_frame(X), self.right.sparse_frame(X))

    def mean(self, params: StackParameters, X: Array, Y: Array) -> NDArray[np.float64]:
        return self.part("left", params).mean(X, Y) + self.part("right", params).mean(X, Y)

    def variance(self, params: StackParameters, X: Array, Y: Array) -> NDArray[np.float64]:
        return self.part("left", params).variance(X, Y) + self.part("right", params).variance(X, Y)

    @property
    def paired(self) -> bool:
        return self.left.paired and self.right.paired and self.left.n_components % 2 == 0

    @property
    def scratch(self) -> int:
        return self.left.scratch + self.right.scratch + self.n_components


class Stack(MapPair):
    r"""The sum of two kernels: the features of two maps, concatenated.

    For sums of kernels that no single map supports, such as a Gaussian and a polynomial; longer sums are stacks of
    stacks. If one map supports the sum (of two dot-product kernels, or two shift-invariant ones), that map is simpler
    and distributes its width by itself. Weights belong to the kernels: the map of ``0.3 * k`` has the features of k
    times sqrt(0.3). Sparse rows have sparse features if both maps keep them sparse.

    The parameters are independent, so :math:`\langle Z(x), Z(y)\rangle` is the sum of both estimates, and means and
    variances add. The widths are up to the caller: the variance is :math:`a^2/D_1 + b^2/D_2`, where a and b are the
    standard deviations of one feature, so the best ratio is a : b. Equal widths never cost more than twice its
    variance.

    Parameters
    ----------
    left : FeatureMap
        The first map. Its seed comes from this map.
    right : FeatureMap
        The second map. Its seed comes from this map.
    n_components : int or None, default=None
        The total number of features, divided in proportion to the widths of both maps, with at least one feature each.
        None lets both maps keep their own widths.
    random_state : int, Generator, RandomState or None, default=None
        Determines the parameters; an int makes them reproducible. See :class:`FeatureMap`.
    n_jobs : int or None, default=None
        The number of threads; see :class:`FeatureMap`.

    Attributes
    ----------
    left_ : FeatureMap
        The first map, fitted.
    right_ : FeatureMap
        The second map, fitted.
    n_components_ : int
        The sum of both widths, as rounded by the maps.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Stack, TaylorSketch, TensorSketch
    >>> from mercer.kernels import Gaussian, Polynomial
    >>> X = np.random.default_rng(0).normal(size=(40, 5))
    >>> stack = Stack(TaylorSketch(0.3 * Gaussian(0.1)), TensorSketch(Polynomial(2)), n_components=100, random_state=0)
    >>> stack.fit_transform(X).shape
    (40, 100)
    >>> stack.kernel_
    0.3 * Gaussian(gamma=0.1) + Polynomial(degree=2, gamma=1.0, coef0=0.0)
    """

    description = MapDescription(
        features="the features of two maps side by side, one for each term of the kernel",
        kernels="the sum of the two maps' kernels",
        when="sums of kernels that need different maps",
        cost="both maps",
        variance="if both are known",
        over=True,
    )

    construction = StackConstruction

    def __init__(
        self,
        left: FeatureMap,
        right: FeatureMap,
        *,
        n_components: int | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ):
        self.left = left
        self.right = right
        self.n_components: Any = n_components
        self.random_state = random_state
        self.n_jobs = n_jobs

    def width(self) -> Any:
        return self.left.width() + self.right.width() if self.n_components is None else self.n_components

    def _inner_widths(self) -> tuple[int, int]:
        own = int(self.left.width()), int(self.right.width())
        asked = max(2, int(self.width()))
        left = min(max(1, round(asked * own[0] / sum(own))), asked - 1)
        return left, asked - left
