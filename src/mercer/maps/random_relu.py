"""RandomRelu: the arc-cosine kernel by random rectified linear units."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._array import Array, namespace, product
from .._random import RandomState, Stream
from .._rows import Rows
from ..gpu import kernels
from ..kernels import ArcCosine, Kernel
from ..kernels.algebra import without_weight
from ..kernels.arc_cosine import first_order, norms_and_cosines, second_order
from .array_layouts import floats
from .construction import Construction, Gpu
from .description import MapDescription
from .estimator import FeatureMap
from .fitted_map import FittedMap
from .refusals import unserved

if TYPE_CHECKING:
    import torch


class Directions(NamedTuple):
    """One normal vector per feature."""

    directions: NDArray[np.float64]


class RandomReluConstruction(Construction):
    """Rectified linear units in random directions."""

    def check_kernel(self) -> None:
        if not isinstance(without_weight(self.kernel)[1], ArcCosine):
            raise unserved(self.name, "an ArcCosine kernel", self.kernel)

    def draw(self, rng: Stream, rows: Rows) -> FittedMap:
        return self.fitted(Directions(rng.child("directions").normals((self.n_components, rows.n_features))))

    def layout(self) -> Directions:
        return Directions(floats(self.n_components, self.n_features))

    @property
    def scale(self) -> float:
        """The factor of every unit."""
        return math.sqrt(2.0 * without_weight(self.kernel)[0] / self.n_components)

    def apply(self, params: Directions, X: Array) -> Array:
        projected = product(X, params.directions.T)
        active = namespace(X).astype(projected > 0.0, projected.dtype)
        return projected * active * self.scale

    def gpu(self, params: Directions, device: torch.device) -> Gpu:
        return kernels.rectified(self.scale * params.directions, device)

    def pullback(self, params: Directions, X: NDArray[np.float64], G: NDArray[np.float64]) -> NDArray[np.float64]:
        return ((X @ params.directions.T > 0.0) * G) @ params.directions * self.scale

    def variance(self, params: Any, X: Array, Y: Array) -> NDArray[np.float64]:
        weight, pairs = without_weight(self.kernel)[0], norms_and_cosines(X, Y)
        return weight**2 * (2.0 * second_order(*pairs) - first_order(*pairs) ** 2) / self.n_components


class RandomRelu(FeatureMap):
    r"""Random rectified linear units, for the arc-cosine kernel of an infinitely wide layer of a neural network.

    For rows whose direction matters more than their length, and for comparisons with neural networks: the features are
    the first layer of a network whose weights are never trained, so a linear model on them is a network with one random
    hidden layer.

    With D normal vectors w, the features are :math:`\sqrt{2/D}\,\max(0, \langle w, x\rangle)`. Their exact variance,
    with the arc-cosine kernels :math:`k_1` and :math:`k_2` of orders 1 and 2, is given by

    .. math:: D\,\mathrm{Var} = 2 k_2(x, y) - k_1(x, y)^2.

    Parameters
    ----------
    kernel : Kernel or str, default=ArcCosine()
        ArcCosine, or a multiple of it.
    n_components : int, default=256
        The number of features. A larger map starts with the smaller one.
    random_state : int, Generator, RandomState or None, default=None
        Determines the parameters; an int makes them reproducible. See :class:`FeatureMap`.
    n_jobs : int or None, default=None
        The number of threads; see :class:`FeatureMap`.

    References
    ----------
    Cho and Saul, Kernel methods for deep learning, NIPS 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import RandomRelu, kernel_error
    >>> X = np.random.default_rng(0).normal(size=(100, 8))
    >>> features = RandomRelu(n_components=2048, random_state=0).fit(X)
    >>> bool(kernel_error(features, X).relative < 0.1)
    True
    """

    description = MapDescription(
        features="random projections with negative values set to 0, as in a neural network",
        kernels="arc-cosine",
        when="only directions matter; comparison with neural networks",
        cost="D nnz",
        variance="yes",
    )

    construction = RandomReluConstruction

    def __init__(
        self,
        kernel: Kernel | str = ArcCosine(),  # noqa: B008 - frozen
        *,
        n_components: int = 256,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ):
        super().__init__(kernel, n_components=n_components, random_state=random_state, n_jobs=n_jobs)
