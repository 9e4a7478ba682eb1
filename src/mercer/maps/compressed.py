"""Compressed: a wide map followed by a projection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.utils.validation import check_is_fitted

from .._array import Array, double, feature_array, send
from .._checks import check_whole
from .._random import RandomState, Stream
from .._rows import Rows
from ._compression import CraftParameters, Tefm, TefmParameters, draw_craft
from ._wrappers import MapWrapper, WrapperConstruction
from .array_layouts import floats, places, signs
from .complex_sketch import padded_width
from .construction import Gpu, Native, in_tiles
from .description import MapDescription
from .estimator import FeatureMap
from .executor import features
from .fitted_map import FittedMap, earliest

if TYPE_CHECKING:
    import torch

FACTORS = {"craft": 8, "tefm-g": 4, "tefm-s": 4}
"""The values used in the papers."""

SIZED_ROWS = 16
"""The number of rows whose features determine the scale."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CompressedConstruction(WrapperConstruction):
    """A wide map and a projection of its features.

    ``captured`` is learned from rows: the share of the wide map's trace that the projection keeps, if it is known.
    """

    method: str
    power: int
    n_jobs: int | None
    captured: float | None = None

    learned: ClassVar[dict[str, tuple[str, Any]]] = {"captured_": ("captured", float | None)}

    @property
    def draws_from_rows(self) -> bool:
        return self.method != "craft" or super().draws_from_rows

    def layout(self) -> Any:
        inner, wide, width = self.map.layout(), self.map.n_components, self.n_components
        if self.method != "craft":
            return TefmParameters(inner, floats(wide, width))
        return CraftParameters(inner, signs(wide), places(padded_width(max(wide, width)), width))

    def draw(self, rng: Stream, rows: Rows) -> FittedMap:
        inner, width = self.map.draw(rng.child("map"), rows), self.n_components
        if self.method == "craft":
            parameters = draw_craft(rng, inner.parameters, inner.n_components, width)
            return self.fitted(parameters, map=inner.construction)

        # The projection does not depend on the scale of the features, but their powers may leave the range of float64.
        with np.errstate(over="ignore", invalid="ignore"):
            some = np.abs(inner.apply(double(rows.sample(SIZED_ROWS))))
        size = float(some[np.isfinite(some)].max(initial=0.0)) or 1.0

        def wide(X: Array, first_row: int) -> NDArray[np.float64]:
            return features(inner, double(X), 1, first_row) / size

        tefm = Tefm(wide, rows, inner.n_components, self.n_jobs)
        projection, captured = tefm.learn(rng, self.method, int(self.power), width)
        return self.fitted(TefmParameters(inner.parameters, projection), map=inner.construction, captured=captured)

    def apply(self, params: CraftParameters | TefmParameters, X: Array) -> Array:
        return params.project(self.part("map", params).mapped(X))

    def pullback(
        self, params: CraftParameters | TefmParameters, X: NDArray[np.float64], G: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        return self.part("map", params).pullback(X, params.fold(G))

    def gpu(self, params: CraftParameters | TefmParameters, device: torch.device) -> Gpu | None:
        write_wide, wide = self.map.gpu(params.map, device), self.map.n_components
        if write_wide is None:
            return None

        projections: list[Any] = []  # sent with the first tile

        def write(X: Array, out: Array) -> Array:
            features = feature_array(X, wide)
            lost = write_wide(X, features)
            if not projections:
                projections.append(send(params._replace(map=()), X))
            out[...] = projections[0].project(features)
            return lost

        return in_tiles(write, 4 * wide)

    def native(self, params: CraftParameters | TefmParameters, dtype: DTypeLike) -> Native:
        write_wide, project = self.part("map", params).writer(dtype), params.native(dtype)

        def write(X: Array, out: NDArray[Any]) -> int | None:
            wide = np.empty((X.shape[0], self.map.n_components), dtype=dtype)
            return earliest(write_wide(X, wide), project(wide, out))

        return write

    def linear(self, fitted: FittedMap, coef: NDArray[Any]) -> tuple[FittedMap, NDArray[Any] | None]:
        """Fold the projection into the coefficients, so that a linear model does not need it."""
        return fitted.part("map").linear(fitted.parameters.fold(coef))

    def mean(self, params: Any, X: Array, Y: Array) -> NDArray[np.float64]:
        if self.method == "craft":
            return self.part("map", params).mean(X, Y)
        raise NotImplementedError(f"the mean of Compressed is not known: {self.method} learns its projection")

    @property
    def scratch(self) -> int:
        return self.map.scratch + 3 * padded_width(max(self.map.n_components, self.n_components))


class Compressed(MapWrapper):
    r"""Another map at ``factor`` times the width, compressed by a projection.

    ``method="craft"`` projects at random. It is the choice for polynomial kernels of degree 4 and higher, where an
    estimate needs many features but a learner wants few; below degree 3 the projection costs more accuracy than the
    wider map gains. With E = factor D up-features z of the inner map, the output is D rows, chosen without replacement,
    of :math:`H\,\mathrm{diag}(signs)\, z / \sqrt D`. Approximately, :math:`D\,\mathrm{Var} = k(x,x)k(y,y) + k(x,y)^2 +
    D\,\mathrm{Var}_E`, so the degree enters only through the wide map.

    ``method="tefm-g"`` and ``"tefm-s"`` (training-efficient feature maps) learn the projection from the rows. They are
    the choice if there are more training rows than features and the rows to be mapped resemble them: the error is then
    close to that of the wide map, for every kernel and inner map. (Over :class:`Calibrated` Fourier features both gains
    add up for a wide kernel, but not for a narrow one in many columns.) With the n x E matrix F of up-features, which
    is never stored as a whole,

    .. math:: Y = (F^\top F)^{power} F^\top \Theta, \qquad Q R = Y, \qquad Z = F Q.

    Theta is n x D standard normal for ``"tefm-g"``, and D random columns of :math:`\mathrm{diag}(signs) H / \sqrt D`
    for ``"tefm-s"``, which saves one of the 2 ``power`` + 1 products with F. ``fit`` reads the rows ``power`` + 1
    times. A projection shrinks: the eigenvalues of :math:`Z Z^\top` are at most those of :math:`F F^\top`, so the
    estimate is biased. If the rows span at most D dimensions (for example, if there are at most D rows),
    :math:`Z Z^\top = F F^\top` on them, and the remaining columns project on random directions.

    Parameters
    ----------
    map : FeatureMap
        The map to compress. Its ``n_components`` is replaced, and its seed comes from this map.
    n_components : int, default=256
        The number of features.
    factor : int or None, default=None
        The ratio of the width of the inner map to that of the output. None means 8 for "craft" and 4 for the others.
    method : {"craft", "tefm-g", "tefm-s"}, default="craft"
        How the projection is found.
    power : int, default=1
        The number of times F'F is applied to the sketch, for "tefm-g" and "tefm-s". 0 is the fastest and, for "tefm-s",
        what the paper describes; beyond 2 there is little to gain.
    random_state : int, Generator, RandomState or None, default=None
        Determines the parameters; an int makes them reproducible. See :class:`FeatureMap`.
    n_jobs : int or None, default=None
        The number of threads; see :class:`FeatureMap`.

    Attributes
    ----------
    map_ : FeatureMap
        The inner map, fitted.
    captured_ : float or None
        The projection keeps at least this share of :math:`\|F\|_F^2`, the trace of the wide map's Gram matrix on the
        rows of ``fit``. None if it is not computed: for "craft", and with ``power=0``.

    References
    ----------
    Hamid, Xiao, Gittens and DeCoste, Compact random feature maps, ICML 2014.
    Chen, Yang, King and Lyu, Training-efficient feature map for shift-invariant kernels, IJCAI 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Compressed, TensorSketch
    >>> from mercer.kernels import Polynomial
    >>> X = np.random.default_rng(0).normal(size=(300, 10))
    >>> narrow = Compressed(TensorSketch(Polynomial(4)), n_components=16, random_state=0).fit(X)
    >>> narrow.transform(X).shape, narrow.map_.n_components_
    ((300, 16), 128)
    >>> learned = Compressed(TensorSketch(Polynomial(4)), n_components=16, method="tefm-g", random_state=0).fit(X)
    >>> learned.map_.n_components_, bool(0.4 < learned.captured_ < 1.0)
    (64, True)
    """

    description = MapDescription(
        features="a map with many features, projected down to fewer that keep most of the kernel",
        kernels="the kernels of the inner map",
        when="TEFM: highest accuracy per feature; CRAFT: high degrees",
        cost="the inner map at f D, then f D^2 or f D log f D",
        variance="no",
        over=True,
    )

    construction = CompressedConstruction
    _choices: ClassVar[dict[str, tuple[Any, ...]]] = {"method": ("craft", "tefm-g", "tefm-s")}

    def __init__(
        self,
        map: FeatureMap,
        *,
        n_components: int = 256,
        factor: int | None = None,
        method: Literal["craft", "tefm-g", "tefm-s"] = "craft",
        power: int = 1,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ):
        self.map = map
        self.n_components = n_components
        self.factor = factor
        self.method = method
        self.power = power
        self.random_state = random_state
        self.n_jobs = n_jobs

    def check_arguments(self) -> None:
        if self.factor is not None:
            check_whole("factor", self.factor, alternatives=" or None")
        check_whole("power", self.power, least=0)
        super().check_arguments()

    def _inner_width(self) -> int:
        return int(self.width()) * (FACTORS[self.method] if self.factor is None else int(self.factor))

    @property
    def captured_(self) -> float | None:
        """A lower bound of the share of the wide map's trace that the projection keeps, or None if it is unknown."""
        return self.construction_.captured

    def fold(self, coef: Any) -> NDArray[Any]:
        """Return the coefficients on the inner map's features that give the same linear model as ``coef`` on these.

        ``transform(X) @ coef`` equals ``map_.transform(X) @ fold(coef)``, so a trained linear model predicts without
        the projection.

        Parameters
        ----------
        coef : array-like of shape (..., n_components_)
            The coefficients of linear models on these features.

        Returns
        -------
        ndarray of shape (..., map_.n_components_)
            The coefficients on the features of the inner map.
        """
        check_is_fitted(self)
        coef = np.asarray(coef)
        if coef.ndim == 0 or coef.shape[-1] != self.n_components_:
            raise ValueError(f"coef must end in an axis of {self.n_components_} coefficients, found shape {coef.shape}")
        return self.parameters_.fold(coef.astype(np.result_type(coef, np.float32)))
