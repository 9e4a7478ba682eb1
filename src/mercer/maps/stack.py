"""Stack: the features of two maps side by side, for the sum of their kernels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._array import Array, beside
from .._random import Stream
from ._base import FeatureMap, Native
from ._two_maps import TwoMaps
from ._writers import earliest, writer


class StackParameters(NamedTuple):
    """The parameters of both maps."""

    left: Any
    right: Any


class Stack(TwoMaps):
    r"""The sum of two kernels: the features of two maps side by side.

    For sums of kernels that no one map serves, such as a Gaussian and a polynomial; longer sums are stacks of stacks.
    Where one map serves the sum (two dot-product kernels, two shift-invariant ones), that map is simpler and deals out
    its width by itself. Weights belong to the kernels: the map of ``0.3 * k`` has features times the root of 0.3.
    Sparse rows have sparse features where they have under both maps.

    With independent parameters, :math:`\langle Z(x), Z(y)\rangle` is the sum of both estimates; means and variances
    add. Widths are for the caller to say, since errors add as :math:`a^2/D_1 + b^2/D_2`, with a and b the deviations of
    one feature: the best share is a : b, and equal halves never cost more than twice its variance.

    Parameters
    ----------
    left, right : FeatureMap
        Their seeds come from this map.
    n_components : int or None
        None: both maps keep their own widths. An int is shared in proportion to those, with one feature each at least.
    random_state, n_jobs : see :class:`FeatureMap`

    Attributes
    ----------
    left_, right_ : the two maps, fitted
    n_components_ : the sum of their widths, whatever they have rounded theirs to

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

    def __init__(
        self,
        left: FeatureMap,
        right: FeatureMap,
        *,
        n_components: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ):
        self.left = left
        self.right = right
        self.n_components: Any = n_components
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _width(self) -> Any:
        return self.left._width() + self.right._width() if self.n_components is None else self.n_components

    def _specify(self, rows: Any) -> None:
        self._check_arguments()
        own = int(self.left._width()), int(self.right._width())
        asked = max(2, int(self._width()))
        left = min(max(1, round(asked * own[0] / sum(own))), asked - 1)
        self._specify_both(rows, left, asked - left)
        self._settle(rows.n_features)

    def _settle(self, n_features: int) -> None:
        self.n_components_ = self.left_.n_components_ + self.right_.n_components_
        self.kernel_ = self.left_.kernel_ + self.right_.kernel_

    def _layout(self, n_features: int) -> StackParameters:
        return StackParameters(self.left_._layout(n_features), self.right_._layout(n_features))

    def _draw(self, rng: Stream, rows: Any) -> StackParameters:
        return StackParameters(*self._draw_both(rng, rows))

    def _apply(self, params: StackParameters, X: Array) -> Array:
        return beside(self.left_._mapped(params.left, X), self.right_._mapped(params.right, X))

    def _native(self, params: StackParameters, dtype: Any) -> Native:
        left, right = writer(self.left_, params.left, dtype), writer(self.right_, params.right, dtype)
        width = self.left_.n_components_

        def write(X: Any, out: NDArray[Any]) -> int | None:
            overflow = None
            for write_side, columns in ((left, out[:, :width]), (right, out[:, width:])):
                features = np.empty(columns.shape, dtype=dtype)
                overflow = earliest(overflow, write_side(X, features))
                columns[...] = features
            return overflow

        return write

    @property
    def _keeps_sparse(self) -> bool:
        return self.left_._keeps_sparse and self.right_._keeps_sparse

    def _apply_sparse(self, params: StackParameters, X: Any) -> Any:
        return beside(self.left_._apply_as_is(params.left, X), self.right_._apply_as_is(params.right, X))

    def _sparse_frame(self, X: Any) -> Any:
        return beside(self.left_._sparse_frame(X), self.right_._sparse_frame(X))

    def _mean(self, params: StackParameters, X: Any, Y: Any) -> NDArray[np.float64]:
        return self.left_._mean(params.left, X, Y) + self.right_._mean(params.right, X, Y)

    def _variance(self, params: StackParameters, X: Any, Y: Any) -> NDArray[np.float64]:
        return self.left_._variance(params.left, X, Y) + self.right_._variance(params.right, X, Y)

    @property
    def is_deterministic(self) -> bool:
        return self.left.is_deterministic and self.right.is_deterministic

    @property
    def _paired(self) -> bool:
        return self.left_._paired and self.right_._paired and self.left_.n_components_ % 2 == 0

    def _scratch(self, n_features: int) -> int:
        return self.left_._scratch(n_features) + self.right_._scratch(n_features) + self.n_components_
