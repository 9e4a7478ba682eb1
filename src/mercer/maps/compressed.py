"""Compressed: a wide map, projected down."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .._array import Array, hadamard, namespace, pad
from .._checks import check_whole
from .._random import Stream
from ._base import FeatureMap
from .complex_sketch import padded_width


class CraftParameters(NamedTuple):
    """The inner map's parameters, then the signs and the kept outputs of the projection."""

    map: Any
    signs: NDArray[np.int8]
    outputs: NDArray[np.int32]


class Compressed(FeatureMap):
    r"""Another map at ``factor`` times the width, compressed by a fast random projection.

    The choice for polynomial kernels of degree 4 and more, where an estimate needs many features but a learner wants
    few. Below degree 3 the projection costs more accuracy than the wider map gains.

    With E = factor D up-features z of the inner map, the output is D rows, without replacement, of
    :math:`H\,\mathrm{diag}(signs)\, z / \sqrt D`: about :math:`D\,\mathrm{Var} = k(x,x)k(y,y) + k(x,y)^2 +
    D\,\mathrm{Var}_E`, so the degree enters only through the wide map.

    Parameters
    ----------
    map : FeatureMap
        Its ``n_components`` is replaced, its seed comes from this map.
    n_components : the width of the output
    factor : the width of the inner map over that of the output
    method : "craft"
    random_state, n_jobs : see :class:`FeatureMap`

    References
    ----------
    Hamid, Xiao, Gittens and DeCoste, Compact random feature maps, ICML 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Compressed, TensorSketch
    >>> from mercer.kernels import Polynomial
    >>> X = np.random.default_rng(0).normal(size=(5, 10))
    >>> narrow = Compressed(TensorSketch(Polynomial(4)), n_components=16, random_state=0).fit(X)
    >>> narrow.transform(X).shape, narrow.map_.n_components_
    ((5, 16), 128)
    """

    _choices: ClassVar[dict[str, tuple[Any, ...]]] = {"method": ("craft",)}

    def __init__(
        self,
        map: FeatureMap,
        *,
        n_components: int = 256,
        factor: int = 8,
        method: Literal["craft"] = "craft",
        random_state: Any = None,
        n_jobs: int | None = None,
    ):
        self.map = map
        self.n_components = n_components
        self.factor = factor
        self.method = method
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _specify(self, rows: Any) -> None:
        if not isinstance(self.map, FeatureMap):
            raise TypeError(f"map must be a feature map, found {self.map!r}")
        check_whole("factor", self.factor)
        self._check_arguments()
        self.n_components_ = int(self.n_components)
        self.map_: FeatureMap = clone(self.map).set_params(n_components=int(self.factor) * self.n_components_)
        self.map_._specify(rows)
        self.kernel_ = self.map_.kernel_

    def _draw(self, rng: Stream, rows: Any) -> CraftParameters:
        width = self.map_.n_components_
        return CraftParameters(
            self.map_._draw(rng.child("map"), rows),
            rng.child("signs").signs((width,)),
            rng.child("outputs").permutation(self._padded(width))[: self.n_components_],
        )

    def _padded(self, width: int) -> int:
        """The width of the transform: that of the output where few rows made the inner map narrower."""
        return padded_width(max(width, self.n_components_))

    def _adopt(self, params: CraftParameters, n_features: int) -> None:
        super()._adopt(params, n_features)
        self.map_._adopt(params.map, n_features)

    def _apply(self, params: CraftParameters, X: Array) -> Array:
        xp = namespace(X)
        up = self.map_._apply(params.map, X)
        turned = hadamard(pad(up * xp.astype(params.signs, up.dtype), self._padded(up.shape[1])))
        return xp.take(turned, params.outputs, axis=1) / math.sqrt(self.n_components_)

    def fold(self, coef: Any) -> NDArray[Any]:
        """The coefficients on the inner map's features that give the same linear model as ``coef`` on these.

        ``transform(X) @ coef`` equals ``map_.transform(X) @ fold(coef)``, so a trained linear model predicts without
        the projection.

        Parameters
        ----------
        coef : array of shape (..., n_components_)
        """
        check_is_fitted(self)
        coef, params = np.asarray(coef), self.parameters_
        if coef.ndim == 0 or coef.shape[-1] != self.n_components_:
            raise ValueError(f"coef must end in an axis of {self.n_components_} coefficients, found shape {coef.shape}")
        size = self._padded(len(params.signs))
        scattered = np.zeros((*coef.shape[:-1], size), dtype=np.result_type(coef, np.float32))
        scattered[..., params.outputs] = coef
        return hadamard(scattered)[..., : len(params.signs)] * params.signs / math.sqrt(self.n_components_)

    def _mean(self, params: Any, X: Any, Y: Any) -> NDArray[np.float64]:
        return self.map_._mean(params.map, X, Y)

    def _scratch(self, n_features: int) -> int:
        return self.map_._scratch(n_features) + 3 * self._padded(self.map_.n_components_)
