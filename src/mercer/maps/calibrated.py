"""Calibrated: another map with its frequencies weighed by the data."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._array import Array, double, namespace
from .._checks import check_positive, check_whole
from .._memory import check_memory
from .._random import Stream
from ..kernels import Kernel
from ._allotment import rounded
from ._base import FeatureMap, Native
from ._nonnegative import nonnegative_minimum
from ._stored import floats
from ._wrapper import MapWrapper
from ._writers import writer

Matrix = NDArray[np.float64]

HELD_OUT = 4
"""One sampled row in so many is held out to judge the weights."""
FEWEST_HELD_OUT = 2


class CalibratedParameters(NamedTuple):
    """The inner map's parameters, and the weight of each of its columns."""

    map: Any
    weights: Matrix


class Calibration(NamedTuple):
    """How the weights were found and judged.

    ``applied``: whether they helped; otherwise every weight is 1. ``error_before`` and ``error_after``: the relative
    Frobenius error of the Gram matrix of the ``n_held_out`` rows that the weights have not seen (an inner map that
    learns from rows may have), with weights of 1 and with theirs; NaN where there were too few rows to hold any out.
    ``n_rows``: the rows all of whose pairs taught them.
    """

    applied: bool
    error_before: float
    error_after: float
    n_rows: int
    n_held_out: int


class Calibrated(MapWrapper):
    r"""Another map with non-negative weights on its frequencies, fitted to the kernel on pairs of rows.

    Wherever the rows to be mapped are like those of ``fit``: at the same width and the same cost of ``transform``, the
    error of Fourier features falls, the more the fewer columns the rows have (to a third with 8 columns, by 15 to 30 %
    with 20 to 800, for the Gaussian kernel at the median distance and 1,024 features). The estimate is biased towards
    the rows of ``fit``; for other rows prefer the inner map alone. Works over any map: where columns are the cosine
    and the sine of one frequency they share a weight, otherwise each column has its own.

    With m weights w, and :math:`s_i(x, y)` what frequency i adds to the estimate, the weights minimise

    .. math:: \frac{1}{n^2} \sum_{x, y} \Big(k(x, y) - \sum_i w_i s_i(x, y)\Big)^2
              + \frac{r}{n m^2} \|w - 1\|^2, \qquad w \ge 0,

    over all pairs of n sampled rows, each row with itself included, with k divided by the mean of k(x, x) and r the
    ``regularization``: all :math:`n^2` pairs cost no more than a few thousand random ones, for the sum over pairs of
    :math:`s_i s_j` is a square of entries of :math:`Z^\top Z`. On further rows, that nothing was fitted to, the weights
    must lower the error; otherwise every weight is 1, and ``calibration_`` tells.

    Parameters
    ----------
    map : FeatureMap
        Its seed comes from this map.
    n_components : the width of the output; None for that of the map
    n_rows : how many rows are sampled; three in four teach the weights and the others judge them
    regularization : how many rows it takes to be convinced that weights are not 1
    random_state, n_jobs : see :class:`FeatureMap`

    Attributes
    ----------
    map_ : the inner map, fitted
    weights_ : the weight of each column
    calibration_ : :class:`Calibration`

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

    _bias = "the weights are learned from rows"
    _learned: ClassVar[dict[str, Any]] = {"calibration_": Calibration}

    def __init__(
        self,
        map: FeatureMap,
        *,
        n_components: int | None = None,
        n_rows: int = 2000,
        regularization: float = 15.0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ):
        self.map = map
        self.n_components: Any = n_components
        self.n_rows = n_rows
        self.regularization = regularization
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def _paired(self) -> bool:
        return self.map_._paired

    def _width(self) -> Any:
        return self.map._width() if self.n_components is None else self.n_components

    def _check_arguments(self) -> None:
        check_whole("n_rows", self.n_rows)
        check_positive("regularization", self.regularization)
        super()._check_arguments()

    def _specify(self, rows: Any) -> None:
        self._wrap(rows)

    def _settle(self, n_features: int) -> None:
        super()._settle(n_features)
        if not isinstance(self.kernel_, Kernel):
            raise ValueError(f"Calibrated needs a map of a kernel of mercer.kernels, found one of {self.kernel_!r}")
        self.n_components_ = self.map_.n_components_

    def _draw(self, rng: Stream, rows: Any) -> CalibratedParameters:
        inner = self.map_._draw(rng.child("map"), rows)
        check_memory((min(int(self.n_rows), rows.n_rows), self.n_components_), 8, "the features of the sampled rows")
        sample = double(rows.sample(int(self.n_rows)))
        order = rng.child("rows").permutation(sample.shape[0])
        held_out, taught = np.split(order, [len(order) // HELD_OUT])
        weights, errors = np.ones(self.n_components_), (math.nan, math.nan)
        applied = False
        if len(held_out) >= FEWEST_HELD_OUT:
            fitted = self._fitted(*self._features_and_kernel(inner, sample[taught]))
            errors = _errors(fitted, *self._features_and_kernel(inner, sample[held_out]))
            # Digits that differ from machine to machine do not decide.
            before, after = rounded(np.array(errors))
            applied = bool(after < before)
            weights = fitted if applied else weights
        self.calibration_ = Calibration(applied, *errors, n_rows=len(taught), n_held_out=len(held_out))
        return CalibratedParameters(inner, weights)

    def _features_and_kernel(self, inner: Any, X: Any) -> tuple[Matrix, Matrix]:
        """Features and Gram matrix, both as of a kernel whose mean k(x, x) is 1."""
        Z, K = self.map_._features(inner, X, self.n_jobs), self.kernel_(X)
        size = float(K.diagonal().mean()) or 1.0
        return Z / math.sqrt(size), K / size

    def _fitted(self, Z: Matrix, K: Matrix) -> Matrix:
        """The weights of the columns that are best on all pairs of these rows."""
        step = 2 if self.map_._paired else 1
        starts = np.arange(0, Z.shape[1], step)
        check_memory((len(starts), len(starts)), 16, "the moments of the weights")
        gram = np.add.reduceat(np.add.reduceat((Z.T @ Z) ** 2, starts, axis=0), starts, axis=1)
        right = np.add.reduceat((Z * (K @ Z)).sum(axis=0), starts)
        # In units of n^2 times the mean over pairs.
        ridge = float(self.regularization) * len(Z) / len(starts) ** 2
        gram[np.diag_indices(len(starts))] += ridge
        return np.repeat(nonnegative_minimum(gram, right + ridge), step)[: Z.shape[1]]

    def _layout(self, n_features: int) -> CalibratedParameters:
        return CalibratedParameters(self.map_._layout(n_features), floats(self.n_components_, least=0.0))

    @property
    def _draws_from_rows(self) -> bool:
        return True

    def _adopt(self, params: CalibratedParameters, n_features: int) -> None:
        super()._adopt(params, n_features)
        self.weights_ = params.weights

    def _apply(self, params: CalibratedParameters, X: Array) -> Array:
        Z = self.map_._mapped(params.map, X)
        return Z * namespace(Z).sqrt(params.weights)

    def _native(self, params: CalibratedParameters, dtype: Any) -> Native:
        write_features, roots = writer(self.map_, params.map, dtype), np.sqrt(params.weights).astype(dtype)

        def write(X: Any, out: NDArray[Any]) -> int | None:
            overflow = write_features(X, out)
            np.multiply(out, roots, out=out)
            return overflow

        return write

    def _scratch(self, n_features: int) -> int:
        return self.map_._scratch(n_features) + self.n_components_


def _errors(weights: Matrix, Z: Matrix, K: Matrix) -> tuple[float, float]:
    """The relative Frobenius error without and with the weights."""
    size = float(np.linalg.norm(K)) or 1.0
    before, after = (float(np.linalg.norm(M @ Z.T - K)) / size for M in (Z, Z * weights))
    return before, after
