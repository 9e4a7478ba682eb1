"""Fourier features: what all maps for shift-invariant kernels share, however they draw their frequencies."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.special import gammaincinv

from .. import _core
from .._array import Array, double, first_overflow, in_double, interleave, namespace, product, row_parts
from .._random import RandomState, Stream
from ..gpu import kernels
from ..kernels import Kernel
from ..kernels.defaults import GAUSSIAN
from .array_layouts import floats
from .construction import Construction, Gpu, Native
from .estimator import FeatureMap
from .refusals import unserved

if TYPE_CHECKING:
    import torch

LONG_PHASES = {"float32": 32.0, "float64": 2.0**22}
"""The longest phases that the compiled core resolves: to 1e-5 of a turn in float32, fully in float64."""
LONGEST_PHASE = 2.0**40
"""A longer phase has an error above 2^-13 of a turn in float64."""


@in_double
class Frequencies(NamedTuple):
    """A matrix with one frequency per row, and the offsets of the features that are not in pairs.

    Both are float64: in float32, a long row or a heavy-tailed frequency would leave no correct digit in a phase.
    """

    frequencies: NDArray[np.float64]
    offset: NDArray[np.float64]


def frequency_table(frequencies: NDArray[np.float64], offset: NDArray[np.float64]) -> Frequencies:
    """Return the parameters in the memory order that products with sparse rows read without a copy."""
    return Frequencies(np.asfortranarray(frequencies), offset)


def frequency_layout(count: int, n_features: int, offsets: int) -> Frequencies:
    """Return the layout of a table of frequencies."""
    return Frequencies(floats(count, n_features), floats(offsets))


def draw_offsets(rng: Stream, count: int) -> NDArray[np.float64]:
    """Draw uniform offsets in [0, 2 pi)."""
    return 2.0 * math.pi * rng.child("offset").uniforms((count,))


def draw_frequencies(kernel: Kernel, rng: Stream, width: int, n_features: int) -> Frequencies:
    """Draw the independent frequencies that paired features of this width need."""
    frequencies = kernel.frequencies(rng.child("frequencies"), (width + 1) // 2, n_features)
    return frequency_table(frequencies, draw_offsets(rng, 1))


def draw_radii(kernel: Kernel, rng: Stream, count: int, dimension: int, coupled: bool = False) -> NDArray[np.float64]:
    """Draw the lengths of ``count`` frequencies of a rotation-invariant kernel in this dimension.

    Coupled lengths come in pairs from uniform numbers u and 1 - u, so that a short frequency is paired with a long one.
    """

    def draw(stream: Stream, size: int) -> NDArray[np.float64]:
        chi2 = 2.0 * gammaincinv(dimension / 2.0, stream.child("radii").uniforms((size,)))
        return kernel.scales(stream.child("scales"), size) * np.sqrt(chi2)

    if not coupled:
        return draw(rng, count)
    pairs = (count + 1) // 2
    return np.stack([draw(rng, pairs), draw(rng.mirrored(), pairs)], axis=1).ravel()[:count]


def waves(phases: Array, offset: Array, width: int) -> Array:
    """Compute the D features sqrt(2 / D) (cos p_1, sin p_1, cos p_2, ...).

    If there are twice as many features as phases, all features are pairs. For every feature fewer, one phase at the end
    has a single feature, sqrt(2 / D) cos(p + offset). It has the right scale, since 2 cos cos averages to the cosine of
    the difference.
    """
    xp = namespace(phases)
    pairs = width - phases.shape[1]
    paired, single = phases[:, :pairs], phases[:, pairs:]
    features = interleave(xp.cos(paired), xp.sin(paired), 2 * pairs)
    if single.shape[1]:
        features = xp.concat([features, xp.cos(single + offset)], axis=1)
    return features * math.sqrt(2.0 / width)


def wave_slopes(
    phases: NDArray[np.float64], offset: NDArray[np.float64], G: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Compute the derivatives of <g, waves> with respect to every phase."""
    width, count = G.shape[1], phases.shape[1]
    pairs = width - count
    paired, single = phases[:, :pairs], phases[:, pairs:]
    cosines, sines = G[:, 0 : 2 * pairs : 2], G[:, 1 : 2 * pairs : 2]
    slopes = np.concatenate(
        [np.cos(paired) * sines - np.sin(paired) * cosines, -np.sin(single + offset) * G[:, 2 * pairs :]], axis=1
    )
    return slopes * math.sqrt(2.0 / width)


def check_phases(phases: Array) -> None:
    """Raise a ValueError if half the phases of a row are so long that float64 has no digits left for their cosine."""
    xp = namespace(phases)
    lengths = xp.abs(phases)
    lost = xp.sum(xp.astype(lengths > LONGEST_PHASE, phases.dtype), axis=1) > phases.shape[1] / 2
    if bool(xp.any(lost)):
        raise ValueError(
            f"expected phases <w, x> below {LONGEST_PHASE:.1g}, found {float(xp.max(lengths)):.1g}, where float64 has "
            "no digits left: standardise the columns, or give a wider kernel"
        )


def fourier_features(params: Frequencies, X: Array, width: int) -> Array:
    """Compute the features of rows in float64."""
    phases = product(X, params.frequencies.T)
    check_phases(phases)
    return waves(phases, params.offset, width)


def fourier_variance(kernel: Kernel, X: Array, Y: Array, width: int, form: str = "paired") -> NDArray[np.float64]:
    """Compute the variance of the estimate from independent frequencies.

    With k the kernel divided by its amplitude, D Var is 1 + k(2 delta) - 2 k^2 for pairs and 1 + k(2 delta) / 2 - k^2
    for single features with an offset.
    """
    U, V = kernel.coordinates(X), kernel.coordinates(Y)
    value, doubled = (kernel.spectral_block(c * U, c * V) / kernel.amplitude for c in (1.0, 2.0))
    single = 1.0 + doubled / 2.0 - value**2
    paired = 1.0 + doubled - 2.0 * value**2
    pairs = width // 2 if form == "paired" else 0
    # Where equal numbers are subtracted, rounding may leave a negative one.
    variance = np.maximum(2 * pairs * paired + (width - 2 * pairs) * single, 0.0)
    return kernel.amplitude**2 * variance / width**2


Waves = Callable[[Any, NDArray[Any]], NDArray[Any]]
"""Writes the features of rows, and returns their longest phases."""


def matrix_waves(params: Frequencies, scale: float, dtype: DTypeLike) -> Waves:
    """Return a function that writes scale (cos <w, x>, sin <w, x>, ...) of rows, for a matrix of frequencies."""
    panels, offset = _core.panels(params.frequencies.T, dtype), params.offset.astype(dtype)

    def write(X: Array, out: NDArray[Any]) -> NDArray[Any]:
        return _core.matrix_waves(row_parts(X), panels, offset, scale, out)

    return write


def native_waves(
    kernel: Kernel, waves: Callable[[Any], Waves], reference: Callable[[Any], Any], dtype: DTypeLike
) -> Native:
    """Return the compiled version of Fourier features; rows with long phases are mapped in float64 or by ``reference``.

    ``waves`` takes a type of rows and returns a function that writes the features of such rows.
    """
    write, limit = waves(dtype), LONG_PHASES[np.dtype(dtype).name]

    @cache
    def in_float64() -> Native:
        return native_waves(kernel, waves, reference, np.float64)

    def mapped(X: Array, out: NDArray[Any]) -> int | None:
        rows = X if kernel.chart is None else kernel.coordinates(double(X)).astype(dtype)
        longest = write(rows, out)
        if longest.max() <= limit:
            return None
        long = np.flatnonzero(~(longest <= limit))
        wrong = first_overflow(X[long])
        if wrong is not None:
            return int(long[wrong])
        if dtype == np.float32:  # these rows need the digits of float64
            precise = np.empty((len(long), out.shape[1]))
            in_float64()(double(X[long]), precise)
            out[long] = precise
        else:
            out[long] = reference(X[long])
        return None

    return mapped


class FourierConstruction(Construction):
    """Fourier features of frequencies w that a subclass draws.

    A subclass that does not store the frequencies as a matrix also computes the phases <w, x>.
    """

    def check_kernel(self) -> None:
        if not self.kernel.has_spectrum:
            raise unserved(self.name, "a shift-invariant kernel", self.kernel)

    @property
    def paired(self) -> bool:
        return True

    @property
    def n_frequencies(self) -> int:
        """The number of frequencies, one for every two features."""
        return (self.n_components + 1) // 2

    def layout(self) -> Any:
        return frequency_layout(self.n_frequencies, self.n_features, 1)

    def phases(self, params: Any, X: Array) -> Array:
        """Compute <w, x> for every frequency w and every row of a tile in float64."""
        return product(X, params.frequencies.T)

    def pull_phases(self, params: Any, slopes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the sums of frequencies times these slopes: the transpose of ``phases``."""
        return slopes @ params.frequencies

    def pullback(self, params: Any, X: NDArray[np.float64], G: NDArray[np.float64]) -> NDArray[np.float64]:
        slopes = wave_slopes(self.phases(params, self.kernel.coordinates(X)), params.offset, G)
        in_coordinates = self.pull_phases(params, slopes * math.sqrt(self.kernel.amplitude))
        return in_coordinates * self.kernel.coordinate_slopes(X)

    @property
    def scale(self) -> float:
        """The factor of a cosine."""
        return math.sqrt(2.0 * self.kernel.amplitude / self.n_components)

    def waves(self, params: Any, dtype: DTypeLike) -> Waves:
        """Return a function that writes the features of rows of this type and returns their longest phases."""
        return matrix_waves(params, self.scale, dtype)

    def gpu(self, params: Any, device: torch.device) -> Gpu | None:
        return self.gpu_waves(params, device) if self.kernel.chart is None else None

    def gpu_waves(self, params: Any, device: torch.device) -> Gpu | None:
        """Return a function that writes the features on a GPU, or None if no GPU kernel takes these frequencies."""
        return kernels.matrix_waves(params.frequencies / math.pi, params.offset / math.pi, self.scale, device)

    def native(self, params: Any, dtype: DTypeLike) -> Native:
        return native_waves(
            self.kernel, lambda type_: self.waves(params, type_), lambda X: self.apply(params, X), dtype
        )

    def apply(self, params: Any, X: Array) -> Array:
        phases = self.phases(params, self.kernel.coordinates(double(X)))
        check_phases(phases)
        features = waves(phases, params.offset, self.n_components) * math.sqrt(self.kernel.amplitude)
        return namespace(X).astype(features, X.dtype)

    @property
    def scratch(self) -> int:
        return 2 * self.n_features + 5 * self.n_components

    @classmethod
    def row_operations(cls, n_features: int, width: int, degree: int) -> float:
        return width * (0.5 * n_features + 30.0)  # each frequency gives two features

    @property
    def rows_alone(self) -> bool:
        return self.kernel.chart is None


class RotationInvariantConstruction(FourierConstruction):
    """Frequencies that are directions times lengths, for kernels that prefer no direction."""

    def check_kernel(self) -> None:
        super().check_kernel()
        if not self.kernel.is_rotation_invariant:
            raise unserved(self.name, "a kernel that depends only on ||x - y||", self.kernel)


class FourierMap(FeatureMap):
    """Features :math:`\\sqrt{2k(0)/D}\\,(\\cos\\langle w_1, x\\rangle, \\sin\\langle w_1, x\\rangle, \\dots)`."""

    def __init__(
        self,
        kernel: Kernel | str = GAUSSIAN,
        *,
        n_components: int = 256,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ):
        super().__init__(kernel, n_components=n_components, random_state=random_state, n_jobs=n_jobs)
