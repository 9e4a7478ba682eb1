"""Calibrated: another map with weights on its frequencies that are learned from the data."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .._array import Array, double, namespace, send
from .._checks import check_positive, check_whole
from .._memory import check_memory
from .._random import RandomState, Stream
from .._rows import Rows
from ..kernels import Kernel
from ._allotment import rounded
from ._nonnegative_least_squares import nonnegative_minimum
from ._wrappers import MapWrapper, WrapperConstruction
from .array_layouts import floats
from .construction import Gpu, Native
from .description import MapDescription
from .estimator import FeatureMap
from .executor import features
from .fitted_map import FittedMap

if TYPE_CHECKING:
    import torch

Matrix = NDArray[np.float64]

HELD_OUT = 4
"""One sampled row in this many is held out to evaluate the weights."""
FEWEST_HELD_OUT = 2


class CalibratedParameters(NamedTuple):
    """The inner map's parameters, and the weight of each of its columns."""

    map: Any
    weights: Matrix


class Calibration(NamedTuple):
    """How the weights were found and evaluated.

    Parameters
    ----------
    applied : bool
        Whether the weights helped; otherwise every weight is 1.
    error_before : float
        The relative Frobenius error of the Gram matrix of the held-out rows with all weights equal to 1.
    error_after : float
        The same with the learned weights. Both errors are NaN if there were too few rows to hold any out.
    n_rows : int
        The number of rows from which the weights were learned, using all their pairs.
    n_held_out : int
        The number of held-out rows, which the weights have not seen (although an inner map that learns from rows may
        have).
    """

    applied: bool
    error_before: float
    error_after: float
    n_rows: int
    n_held_out: int


@dataclass(frozen=True, kw_only=True, eq=False)
class CalibratedConstruction(WrapperConstruction):
    """A map and weights for its columns.

    ``calibration``, which describes how the weights were found, is learned from rows.
    """

    n_rows: int
    regularization: float
    n_jobs: int | None
    calibration: Calibration | None = None

    bias = "the weights are learned from rows"
    learned: ClassVar[dict[str, tuple[str, Any]]] = {"calibration_": ("calibration", Calibration)}

    def settled(self) -> Self:
        if not isinstance(self.map.kernel, Kernel):
            raise ValueError(f"Calibrated needs a map of a kernel of mercer.kernels, found one of {self.map.kernel!r}")
        return replace(super().settled(), n_components=self.map.n_components)

    @property
    def paired(self) -> bool:
        return self.map.paired

    @property
    def draws_from_rows(self) -> bool:
        return True

    def draw(self, rng: Stream, rows: Rows) -> FittedMap:
        inner = self.map.draw(rng.child("map"), rows)
        check_memory((min(int(self.n_rows), rows.n_rows), self.n_components), 8, "the features of the sampled rows")
        sample = double(rows.sample(int(self.n_rows)))
        order = rng.child("rows").permutation(sample.shape[0])
        held_out, taught = np.split(order, [len(order) // HELD_OUT])
        weights, errors = np.ones(self.n_components), (math.nan, math.nan)
        applied = False
        if len(held_out) >= FEWEST_HELD_OUT:
            found = self._weights(*self._features_and_kernel(inner, sample[taught]))
            errors = _errors(found, *self._features_and_kernel(inner, sample[held_out]))
            # Digits that differ from machine to machine must not affect the decision.
            before, after = rounded(np.array(errors))
            applied = bool(after < before)
            weights = found if applied else weights
        calibration = Calibration(applied, *errors, n_rows=len(taught), n_held_out=len(held_out))
        parameters = CalibratedParameters(inner.parameters, weights)
        return self.fitted(parameters, map=inner.construction, calibration=calibration)

    def _features_and_kernel(self, inner: FittedMap, X: Array) -> tuple[Matrix, Matrix]:
        """Compute features and Gram matrix, both for a kernel scaled to a mean k(x, x) of 1."""
        Z, K = features(inner, X, self.n_jobs), self.kernel(X)
        size = float(K.diagonal().mean()) or 1.0
        return Z / math.sqrt(size), K / size

    def _weights(self, Z: Matrix, K: Matrix) -> Matrix:
        """Find the weights of the columns that are best on all pairs of these rows."""
        step = 2 if self.map.paired else 1
        starts = np.arange(0, Z.shape[1], step)
        check_memory((len(starts), len(starts)), 16, "the moments of the weights")
        gram = np.add.reduceat(np.add.reduceat((Z.T @ Z) ** 2, starts, axis=0), starts, axis=1)
        right = np.add.reduceat((Z * (K @ Z)).sum(axis=0), starts)
        # In units of n^2 times the mean over pairs.
        ridge = float(self.regularization) * len(Z) / len(starts) ** 2
        gram[np.diag_indices(len(starts))] += ridge
        return np.repeat(nonnegative_minimum(gram, right + ridge), step)[: Z.shape[1]]

    def layout(self) -> CalibratedParameters:
        return CalibratedParameters(self.map.layout(), floats(self.n_components, least=0.0))

    def apply(self, params: CalibratedParameters, X: Array) -> Array:
        Z = self.part("map", params).mapped(X)
        return Z * namespace(Z).sqrt(params.weights)

    def pullback(
        self, params: CalibratedParameters, X: NDArray[np.float64], G: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        return self.part("map", params).pullback(X, G * np.sqrt(params.weights))

    def native(self, params: CalibratedParameters, dtype: DTypeLike) -> Native:
        write_features, roots = self.part("map", params).writer(dtype), np.sqrt(params.weights).astype(dtype)

        def write(X: Array, out: NDArray[Any]) -> int | None:
            overflow = write_features(X, out)
            np.multiply(out, roots, out=out)
            return overflow

        return write

    def gpu(self, params: CalibratedParameters, device: torch.device) -> Gpu | None:
        write_features = self.map.gpu(params.map, device)
        if write_features is None:
            return None

        def write(X: Array, out: Array) -> Array:
            lost = write_features(X, out)
            out *= send(np.sqrt(params.weights), X)
            return lost

        return write

    @property
    def scratch(self) -> int:
        return self.map.scratch + self.n_components


class Calibrated(MapWrapper):
    r"""Another map with non-negative weights on its frequencies, fitted to the kernel on pairs of rows.

    If the rows to be mapped resemble those of ``fit``, the error of Fourier features falls at the same width and the
    same cost of ``transform``, the more so the fewer columns the rows have: to a third with 8 columns, and by 15 to
    30 % with 20 to 800 columns, for the Gaussian kernel at the median distance and 1,024 features. The estimate is
    biased towards the rows of ``fit``; for other rows, prefer the inner map alone. It works with any map: the cosine
    and the sine of one frequency share a weight, and every other column has its own.

    With m weights w, and the contribution :math:`s_i(x, y)` of frequency i to the estimate, the weights minimise

    .. math:: \frac{1}{n^2} \sum_{x, y} \Big(k(x, y) - \sum_i w_i s_i(x, y)\Big)^2
              + \frac{r}{n m^2} \|w - 1\|^2, \qquad w \ge 0,

    over all pairs of n sampled rows, including each row with itself, where k is divided by the mean of k(x, x) and r is
    the ``regularization``. All :math:`n^2` pairs cost no more than a few thousand random ones, because the sum over
    pairs of :math:`s_i s_j` is the square of an entry of :math:`Z^\top Z`. The weights must lower the error on other
    rows, to which nothing was fitted; otherwise every weight is 1, and ``calibration_`` says so.

    Parameters
    ----------
    map : FeatureMap
        The map to calibrate. Its seed comes from this map.
    n_components : int or None, default=None
        The number of features. None means as many as the map has.
    n_rows : int, default=2000
        The number of rows to sample. Three quarters of them determine the weights, and the others evaluate them.
    regularization : float, default=15.0
        How strongly the weights are pulled towards 1, as a number of rows: with many more rows, the data prevail.
    random_state : int, Generator, RandomState or None, default=None
        Determines the parameters; an int makes them reproducible. See :class:`FeatureMap`.
    n_jobs : int or None, default=None
        The number of threads; see :class:`FeatureMap`.

    Attributes
    ----------
    map_ : FeatureMap
        The inner map, fitted.
    weights_ : ndarray of shape (n_components_,)
        The weight of each column.
    calibration_ : Calibration
        How the weights were found and evaluated.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Calibrated, OrthogonalFourier, kernel_error
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(700, 3)) * [3.0, 1.0, 0.3]
    >>> features = Calibrated(OrthogonalFourier(Gaussian("median")), random_state=0).fit(X[:500])
    >>> features.calibration_.applied
    True
    >>> bool(kernel_error(features, X[500:]).relative < 0.5 * kernel_error(features.map_, X[500:]).relative)
    True
    """

    description = MapDescription(
        features="the features of another map, with weights fitted to the kernel on pairs of rows",
        kernels="the kernels of the inner map",
        when="new rows resemble the training rows",
        cost="as the inner map",
        variance="no",
        over=True,
    )

    construction = CalibratedConstruction

    def __init__(
        self,
        map: FeatureMap,
        *,
        n_components: int | None = None,
        n_rows: int = 2000,
        regularization: float = 15.0,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ):
        self.map = map
        self.n_components: Any = n_components
        self.n_rows = n_rows
        self.regularization = regularization
        self.random_state = random_state
        self.n_jobs = n_jobs

    def width(self) -> Any:
        return self.map.width() if self.n_components is None else self.n_components

    def check_arguments(self) -> None:
        check_whole("n_rows", self.n_rows)
        check_positive("regularization", self.regularization)
        super().check_arguments()

    @property
    def weights_(self) -> Matrix:
        """The weight of each column."""
        return self.parameters_.weights

    @property
    def calibration_(self) -> Calibration | None:
        """How the weights were found and evaluated."""
        return self.construction_.calibration


def _errors(weights: Matrix, Z: Matrix, K: Matrix) -> tuple[float, float]:
    """Compute the relative Frobenius error without and with the weights."""
    size = float(np.linalg.norm(K)) or 1.0
    before, after = (float(np.linalg.norm(M @ Z.T - K)) / size for M in (Z, Z * weights))
    return before, after
