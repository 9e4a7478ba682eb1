"""TensorSketch: polynomial kernels by products of the spectra of count sketches."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .. import _core
from .._array import Array, count_sketch, interleave, irfft, namespace, rfft, row_parts
from .._random import RandomState, Stream
from ..gpu import kernels
from ..kernels import Kernel
from ..kernels.defaults import QUADRATIC
from ._complex import others
from ._polynomial import HomogeneousForm, PolynomialConstruction
from .array_layouts import places, signs
from .construction import Gpu, Native
from .description import MapDescription
from .estimator import FeatureMap
from .pair_moments import PairMoments, power

if TYPE_CHECKING:
    import torch


class Hashes(NamedTuple):
    """One count sketch per row."""

    buckets: NDArray[np.int32]
    signs: NDArray[np.int8]


def half_spectrum(spectrum: Array, width: int) -> Array:
    """Convert the half spectrum of a real row of this width to real features with equal inner products (Parseval)."""
    xp = namespace(spectrum)
    real, imaginary = xp.real(spectrum), xp.imag(spectrum)
    last = (width + 1) // 2
    middle = interleave(real[:, 1:last], imaginary[:, 1:last], width) * math.sqrt(2.0)
    return xp.concat([real[:, :1], middle, real[:, last : width // 2 + 1]], axis=1) / math.sqrt(width)


def product_spectrum(sketches: Iterable[Array]) -> Array:
    """Multiply the half spectra of real rows, which gives the spectrum of their convolution."""
    spectrum = None
    for sketch in sketches:
        # Bound to a name, because NumPy multiplies large temporaries in place, where complex numbers round differently,
        # and a row's bits would depend on the number of rows.
        transformed = rfft(sketch)
        spectrum = transformed if spectrum is None else spectrum * transformed
    return spectrum


def pull_half_spectrum(G: NDArray[np.float64]) -> NDArray[np.complex128]:
    """Return a with <g, half_spectrum(p)> = Re sum conj(a_k) p_k."""
    width = G.shape[1]
    last = (width + 1) // 2
    found = np.zeros((len(G), width // 2 + 1), dtype=np.complex128)
    found[:, 0] = G[:, 0]
    found[:, 1:last] = math.sqrt(2.0) * (G[:, 1 : 2 * last - 1 : 2] + 1j * G[:, 2 : 2 * last - 1 : 2])
    found[:, last:] = G[:, 2 * last - 1 :]
    return np.asarray(found / math.sqrt(width), dtype=np.complex128)


def pull_irfft(G: NDArray[np.float64]) -> NDArray[np.complex128]:
    """Return a with <g, irfft(p)> = Re sum conj(a_k) p_k."""
    width = G.shape[1]
    found = rfft(G) / width
    found[:, 1 : (width + 1) // 2] *= 2.0
    return found


def pull_rfft(A: NDArray[np.complex128], width: int) -> NDArray[np.float64]:
    """Return the real rows s with Re sum conj(a_k) rfft(c)_k = <s, c>."""
    A = A.copy()
    A[:, 1 : (width + 1) // 2] *= 0.5
    return width * irfft(A, width)


def pull_count_sketch(G: NDArray[np.float64], buckets: NDArray[Any], signs: NDArray[Any]) -> NDArray[np.float64]:
    """Apply the transpose of a count sketch: every column receives the signed value of its bucket."""
    return G[:, buckets] * signs


def pull_product(A: NDArray[np.complex128], sketches: Sequence[NDArray[np.float64]]) -> Iterator[NDArray[np.float64]]:
    """Return, for every sketch of a product of spectra, the gradient of Re sum conj(a_k) p_k with respect to it."""
    spectra = [rfft(sketch) for sketch in sketches]
    for rest, sketch in zip(others(spectra), sketches, strict=True):
        yield pull_rfft(A * np.conj(rest), sketch.shape[1])


def hashed_entries(params: Hashes, form: HomogeneousForm, dtype: DTypeLike) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Return buckets and numeric signs of the entries of rows, and of one additional constant."""
    places, signs = params.buckets, params.signs.astype(dtype)
    signs[:, : signs.shape[1] - (form.constant != 0.0)] *= form.scale
    if form.constant == 0.0:  # the bucket of an entry that is 0 does not matter
        places, signs = (np.pad(M, ((0, 0), (0, 1))) for M in (places, signs))
    return np.ascontiguousarray(places), signs


@dataclass(frozen=True, kw_only=True, eq=False)
class TensorSketchConstruction(PolynomialConstruction):
    """Products of the spectra of count sketches."""

    output: str

    def draw_sketch(self, rng: Stream, degree: int, n_features: int) -> Hashes:
        shape = (degree, n_features)
        return Hashes(rng.child("buckets").buckets(self.n_components, shape), rng.child("signs").signs(shape))

    def layout(self) -> Hashes:
        shape = self.form.degree, self.form.width(self.n_features)
        return Hashes(places(self.n_components, *shape), signs(*shape))

    def sketch(self, params: Hashes, X: Array) -> Array:
        width = self.n_components
        hashes = zip(params.buckets, params.signs, strict=True)
        spectrum = product_spectrum(count_sketch(X, buckets, signs, width) for buckets, signs in hashes)
        return irfft(spectrum, width) if self.output == "time" else half_spectrum(spectrum, width)

    def pull_sketch(self, params: Hashes, X: NDArray[np.float64], G: NDArray[np.float64]) -> NDArray[np.float64]:
        hashes = list(zip(params.buckets, params.signs, strict=True))
        sketches = [count_sketch(X, *one, self.n_components) for one in hashes]
        A = pull_irfft(G) if self.output == "time" else pull_half_spectrum(G)
        found = np.zeros_like(X)
        for slopes, hashed in zip(pull_product(A, sketches), hashes, strict=True):
            found += pull_count_sketch(slopes, *hashed)
        return found

    def native(self, params: Hashes, dtype: DTypeLike) -> Native | None:
        form, tables = self.form, _core.spectrum(self.n_components, np.dtype(dtype))
        if tables is None:
            return None
        places, signs = hashed_entries(params, form, dtype)
        in_time = self.output == "time"
        scale = math.sqrt(form.weight * (1.0 if in_time else 2.0 / self.n_components))

        def write(X: Array, out: NDArray[Any]) -> int | None:
            factors, constants = [row_parts(X)] * form.degree, [form.constant] * form.degree
            return _core.tensor_sketch(factors, places, signs, constants, tables, in_time, scale, out)

        return write

    def gpu(self, params: Hashes, device: torch.device) -> Gpu | None:
        if self.output == "time":
            return None
        form, width = self.form, self.n_components
        scale = math.sqrt(form.weight / width)
        return kernels.tensor_sketch(params.buckets, params.signs, width, form.scale, form.constant, scale, device)

    def sketch_variance(self, moments: PairMoments, degree: int, n_features: int) -> NDArray[np.float64]:
        D, p = self.n_components, degree
        e = 2 if D % 2 == 0 else 1
        A, B, R, t2p = (power(part, p) for part in (moments.A, moments.B, moments.R, moments.t**2))
        return ((D - e) * (A + B) + e * R - (2 * D - e) * t2p) / D**2

    @property
    def scratch(self) -> int:
        return self.n_features + 5 * self.n_components


class TensorSketch(FeatureMap):
    r"""Polynomial kernels through the product of Fourier transforms of count sketches.

    The classic map for polynomial kernels of degree 2 and 3; sparse rows cost O(degree (nnz + D log D)). At equal
    width, :class:`ComplexSketch` has a lower error, and :class:`TaylorSketch` a much lower one on data with a nonzero
    mean. From degree 4 on, use :class:`Compressed` or :class:`TreeSketch`.

    For the kernel :math:`\langle x, y\rangle^p`, p count sketches with independent buckets and signs are transformed
    and multiplied. By Parseval's identity, the half spectrum of the product has the same inner products as its inverse
    transform, so ``output="spectrum"`` saves that transform; ``output="time"`` is the form of the paper. With
    :math:`t = \langle x,y\rangle`, :math:`N = \|x\|^2\|y\|^2`, :math:`c = \sum x_i^2 y_i^2`, :math:`A = N + t^2 - c`,
    :math:`B = 2t^2 - c`, :math:`R = N + 2t^2 - 2c`, and e = 2 for even D or 1 for odd D, the exact variance is given by

    .. math:: D^2 \mathrm{Var} = (D - e)(A^p + B^p) + e R^p - (2D - e) t^{2p}.

    The bound of the paper's Lemma 6 does not hold; see :mod:`mercer.bounds`.

    Parameters
    ----------
    kernel : Kernel or str, default=Polynomial(2, gamma="scale", coef0=1.0)
        Linear, Polynomial, or a multiple of one of them.
    n_components : int, default=256
        The number of features, even or odd.
    output : {"spectrum", "time"}, default="spectrum"
        Whether to omit the inverse transform, or to apply it as in the paper.
    random_state : int, Generator, RandomState or None, default=None
        Determines the parameters; an int makes them reproducible. See :class:`FeatureMap`.
    n_jobs : int or None, default=None
        The number of threads; see :class:`FeatureMap`.

    References
    ----------
    Pham and Pagh, Fast and scalable polynomial kernels via explicit feature maps, KDD 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import TensorSketch
    >>> from mercer.kernels import Polynomial
    >>> X = np.random.default_rng(0).normal(size=(100, 20))
    >>> TensorSketch(Polynomial(2, coef0=1.0), n_components=64, random_state=0).fit_transform(X).shape
    (100, 64)
    """

    description = MapDescription(
        features="products of Fourier transforms of random sums of columns, one for each degree",
        kernels="polynomial",
        when="the classic method for degrees 2 and 3, dense or sparse rows",
        cost="p (nnz + D log D)",
        variance="yes",
    )

    construction = TensorSketchConstruction
    _choices: ClassVar[dict[str, tuple[Any, ...]]] = {"output": ("spectrum", "time")}

    def __init__(
        self,
        kernel: Kernel | str = QUADRATIC,
        *,
        n_components: int = 256,
        output: Literal["spectrum", "time"] = "spectrum",
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ):
        super().__init__(kernel, n_components=n_components, random_state=random_state, n_jobs=n_jobs)
        self.output = output
