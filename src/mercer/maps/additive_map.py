"""AdditiveMap: a map for the kernels of histograms, from samples of their spectrum."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from .. import _core
from .._array import Array, canonical_csr, dense, double, in_double, interleave, is_sparse, namespace, spread
from .._random import RandomState, Stream
from .._rows import Rows
from ..gpu import kernels
from ..kernels import AdditiveChi2, Kernel
from ..kernels.additive import SMALLEST, Additive
from ..kernels.algebra import without_weight
from ..kernels.families import inner_products
from .array_layouts import floats
from .construction import Construction, Entries, Gpu, Native
from .description import MapDescription
from .estimator import FeatureMap
from .fitted_map import FittedMap
from .refusals import unserved

if TYPE_CHECKING:
    import torch

GRID = 4096
"""The smallest number of ratios of two values at which the error is evaluated."""


@in_double
class SpectralSamples(NamedTuple):
    """The sampled frequencies, and the weight of every feature of a column."""

    frequencies: NDArray[np.float64]
    weights: NDArray[np.float64]


class AdditiveConstruction(Construction):
    """A few samples of the spectrum, the same for every column."""

    deterministic = True

    def check_kernel(self) -> None:
        if not isinstance(without_weight(self.kernel)[1], Additive):
            raise unserved(self.name, "an additive kernel", self.kernel)

    def settled(self) -> Self:
        kernel, n_features = without_weight(self.kernel)[1], self.n_features
        wanted = -(-(self.n_components - n_features) // (2 * n_features))
        order = max(1, wanted) if kernel.max_order is None else kernel.max_order
        return replace(self, n_components=n_features * (2 * order + 1))

    @property
    def order(self) -> int:
        """The number of frequencies."""
        return (self.n_components // self.n_features - 1) // 2

    @property
    def step(self) -> float:
        """The distance between two frequencies."""
        return without_weight(self.kernel)[1].step(self.order)

    @property
    def keeps_sparse(self) -> bool:
        return True

    @property
    def max_error(self) -> float:
        """The largest error of an estimate, divided by the sum of max(x_i, y_i)."""
        weight, kernel = without_weight(self.kernel)
        return weight * _largest_error(kernel, self.order, self.step)

    def layout(self) -> SpectralSamples:
        return SpectralSamples(floats(self.order), floats(2 * self.order + 1, least=0.0))

    def draw(self, rng: Stream, rows: Rows) -> FittedMap:
        weight, kernel = without_weight(self.kernel)
        energies = weight * _energies(kernel, self.order, self.step)
        weights = np.sqrt(np.concatenate([energies[:1], np.repeat(energies[1:], 2)]))
        return self.fitted(SpectralSamples(self.step * np.arange(1.0, self.order + 1.0), weights))

    def apply(self, params: SpectralSamples, X: Array) -> Array:
        if is_sparse(X):
            return dense(self.apply_sparse(params, X))
        xp = namespace(X)
        features = xp.reshape(_features(params, xp.reshape(X, (-1,))), (X.shape[0], self.n_components))
        return xp.astype(features, X.dtype)

    def pullback(self, params: SpectralSamples, X: NDArray[np.float64], G: NDArray[np.float64]) -> NDArray[np.float64]:
        slopes = _slopes(params, X.ravel()).reshape(*X.shape, -1)
        return np.einsum("ijk,ijk->ij", slopes, np.broadcast_to(G.reshape(len(G), X.shape[1], -1), slopes.shape))

    def apply_sparse(self, params: SpectralSamples, X: Array) -> Any:
        X = canonical_csr(X)
        Z = spread(X, len(params.weights))
        Z.data[:] = _features(params, X.data).ravel()
        return Z

    def native_entries(self, params: SpectralSamples, dtype: DTypeLike) -> Entries | None:
        # Beyond these, a feature may overflow, or a weight lose its digits, in float32.
        limit = math.sqrt(float(np.finfo(dtype).max))
        if not 1.0 / limit < float(params.weights.max()) < limit:
            return None
        return lambda values, out: _core.additive(values, params.frequencies, params.weights, out)

    def native(self, params: SpectralSamples, dtype: DTypeLike) -> Native | None:
        entries = self.native_entries(params, dtype)
        if entries is None:
            return None

        def rows(X: Array, out: NDArray[Any]) -> int | None:
            entry = entries(np.ascontiguousarray(dense(X)).ravel(), out.ravel())
            return None if entry is None else entry // X.shape[1]

        return rows

    def gpu(self, params: SpectralSamples, device: torch.device) -> Gpu:
        return kernels.additive_waves(params.frequencies, params.weights, device)

    @property
    def rows_alone(self) -> bool:
        return True

    def mean(self, params: Any, X: Array, Y: Array) -> NDArray[np.float64]:
        return inner_products(*(self.fitted(params).apply_as_is(M) for M in (X, Y)))

    def variance(self, params: Any, X: Array, Y: Array) -> NDArray[np.float64]:
        return np.zeros((X.shape[0], Y.shape[0]))

    @property
    def scratch(self) -> int:
        return self.n_features + 6 * self.n_components

    @classmethod
    def row_operations(cls, n_features: int, width: int, degree: int) -> float:
        return 40.0 * max(width, n_features)


class AdditiveMap(FeatureMap):
    r"""The chi-squared, intersection, Jensen-Shannon and Hellinger kernels of rows without negative values.

    The map for histograms: counts of words, gradients or species. It is deterministic (``random_state`` has no effect),
    sparse rows have sparse features, and its error falls quickly with the width, except for
    :class:`~mercer.kernels.Intersection`, where it falls like log(m) / m.

    With the spectrum :math:`\kappa` of the kernel and a step L that shrinks as m grows, each column x becomes 2m + 1
    adjacent columns, :math:`\sqrt{x L \kappa(0)}` and, for j = 1 .. m, :math:`\sqrt{2 x L \kappa(jL)}
    \,[\cos, \sin](j L \log x)`; 0 becomes 0. For :class:`~mercer.kernels.Hellinger`, the square root of x alone is
    exact. Like the kernel, the inner products of the features are homogeneous: scaling x by c scales them by c.

    Parameters
    ----------
    kernel : Kernel or str, default=AdditiveChi2()
        AdditiveChi2, Intersection, JensenShannon or Hellinger, or a multiple of one of them.
    n_components : int, default=256
        The minimum number of features. It is rounded up to a multiple d (2m + 1) of the number d of columns, with m at
        least 1; for Hellinger's kernel it is d.
    random_state : int, Generator, RandomState or None, default=None
        Determines the parameters; an int makes them reproducible. See :class:`FeatureMap`.
    n_jobs : int or None, default=None
        The number of threads; see :class:`FeatureMap`.

    Attributes
    ----------
    order_ : int
        The number m of frequencies.
    step_ : float
        The distance L between frequencies.
    max_error_ : float
        The error of an estimate is at most this number, which is known to three digits, times the sum of max(x_i, y_i).

    References
    ----------
    Vedaldi and Zisserman, Efficient additive kernels via explicit feature maps, IEEE TPAMI 2012.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).dirichlet(np.ones(8), size=50)
    >>> features = mercer.AdditiveMap(mercer.kernels.AdditiveChi2(), n_components=64).fit(X)
    >>> features.n_components_, features.order_
    (72, 4)
    >>> bool(mercer.kernel_error(features, X).relative < 0.01)
    True
    """

    description = MapDescription(
        features="a few cosines and sines of the logarithm of every column, at chosen rather than random frequencies",
        kernels="additive: chi2, intersection, ...",
        when="histograms; sparse rows give sparse features",
        cost="D, for stored entries only",
        variance="0",
    )

    construction = AdditiveConstruction

    def __init__(
        self,
        kernel: Kernel | str = AdditiveChi2(),  # noqa: B008 - frozen
        *,
        n_components: int = 256,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ):
        super().__init__(kernel, n_components=n_components, random_state=random_state, n_jobs=n_jobs)

    @property
    def order_(self) -> int:
        """The number m of frequencies."""
        return self.construction_.order

    @property
    def step_(self) -> float:
        """The distance L between frequencies."""
        return self.construction_.step

    @property
    def max_error_(self) -> float:
        """The largest error relative to the sum of max(x_i, y_i), computed on first access."""
        return self.construction_.max_error

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the features, made from the names of the columns.

        Parameters
        ----------
        input_features : sequence of str or None, default=None
            The names of the columns. None means the names seen in ``fit``, or "x0", "x1" and so on if there were none.

        Returns
        -------
        ndarray of str objects
            For two columns ``x0_sqrt``, ``x0_cos1``, ``x0_sin1``, ..., ``x1_sqrt``, ...
        """
        check_is_fitted(self)
        columns = _check_feature_names_in(self, input_features)
        waves = [f"{wave}{j}" for j in range(1, self.order_ + 1) for wave in ("cos", "sin")]
        return np.array([f"{column}_{part}" for column in columns for part in ("sqrt", *waves)], dtype=object)


def _features(params: SpectralSamples, values: Array) -> Array:
    """Compute a row of features in float64 for every value."""
    xp = namespace(values)
    values = double(values)
    one = xp.ones_like(values)
    phases = xp.log(xp.where(values > 0.0, values, one))[:, None] * params.frequencies
    turns = interleave(xp.cos(phases), xp.sin(phases), 2 * phases.shape[1])
    return xp.concat([one[:, None], turns], axis=1) * (xp.sqrt(values)[:, None] * params.weights)


def _slopes(params: SpectralSamples, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the derivative of every feature of every value; 0 at a value of 0, where features have a corner."""
    positive = values > 0.0
    known = np.where(positive, values, 1.0)
    phases = np.log(known)[:, None] * params.frequencies
    cosines, sines = np.cos(phases), np.sin(phases)
    turns = interleave(
        0.5 * cosines - params.frequencies * sines,
        0.5 * sines + params.frequencies * cosines,
        2 * phases.shape[1],
    )
    slopes = np.concatenate([np.full((len(values), 1), 0.5), turns], axis=1)
    return slopes * ((positive / np.sqrt(known))[:, None] * params.weights)


def _energies(kernel: Additive, order: int, step: float) -> NDArray[np.float64]:
    """Return L kappa(0) and 2 L kappa(j L), the contribution of every frequency to k(1, 1)."""
    energies = step * kernel.spectrum(step * np.arange(order + 1.0))
    energies[1:] *= 2.0
    return energies


def _largest_error(kernel: Additive, order: int, step: float) -> float:
    """Find the largest error of k(1, y) over 0 < y <= 1, on a fine grid of log y.

    The estimate of K is periodic in log y. Beyond one period it is multiplied by so small a root of y that the error
    only falls; on a grid over one period, the sum over frequencies is a Fourier transform.
    """
    count = max(GRID, 16 * order)
    period = np.fft.fft(_energies(kernel, order, step), n=count).real
    logs = -2.0 * math.pi / step * np.arange(count + 1.0) / count
    estimates = np.exp(logs / 2.0) * np.append(period, period[0])
    values = np.maximum(np.exp(logs), SMALLEST)
    return float(np.abs(estimates - kernel.coordinate(np.ones(1), values)).max())
