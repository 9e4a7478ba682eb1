"""HadamardSketch: TensorSketch over the group (Z_2)^m, with additions only."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .. import _core
from .._array import Array, count_sketch, hadamard, namespace, pad, row_parts
from .._random import RandomState, Stream
from ..gpu import kernels
from ..kernels import Kernel
from ..kernels.defaults import QUADRATIC
from ._complex import Pair, independent_variance, multiply, others, pull_to_real, to_real
from ._polynomial import PolynomialConstruction
from .array_layouts import places, quarter_turns
from .construction import Gpu, Native
from .description import MapDescription
from .estimator import FeatureMap
from .pair_moments import PairMoments
from .tensor_sketch import pull_count_sketch

if TYPE_CHECKING:
    import torch


class ComplexHashes(NamedTuple):
    """One count sketch with complex signs per row."""

    buckets: NDArray[np.int32]
    turns: NDArray[np.int8]


class HadamardSketchConstruction(PolynomialConstruction):
    """Products of the Walsh-Hadamard transforms of complex count sketches."""

    @property
    def bits(self) -> int:
        """The number of bits of a bucket."""
        return ((self.n_components + 1) // 2 - 1).bit_length()

    def draw_sketch(self, rng: Stream, degree: int, n_features: int) -> ComplexHashes:
        shape = (degree, n_features)
        return ComplexHashes(rng.child("buckets").hashes(self.bits, shape), rng.child("turns").quarter_turns(shape))

    def layout(self) -> ComplexHashes:
        shape = self.form.degree, self.form.width(self.n_features)
        return ComplexHashes(places(1 << self.bits, *shape), quarter_turns(*shape))

    def sketch(self, params: ComplexHashes, X: Array) -> Array:
        size, kept = 1 << self.bits, (self.n_components + 1) // 2
        product: Pair | None = None
        for buckets, turns in zip(params.buckets, params.turns, strict=True):
            # A complex sign is a real sign and a choice of part: one real count sketch holds both parts.
            xp = namespace(buckets)
            part = xp.astype(turns % 2, buckets.dtype)
            both = count_sketch(X, buckets + size * part, 1 - 2 * (turns // 2), 2 * size)
            both = hadamard(both.reshape(-1, 2, size))
            product = multiply(product, (both[:, 0, :kept], both[:, 1, :kept]))
        assert product is not None
        return to_real(product, self.n_components)

    def pull_sketch(self, params: ComplexHashes, X: NDArray[np.float64], G: NDArray[np.float64]) -> NDArray[np.float64]:
        size, kept = 1 << self.bits, (self.n_components + 1) // 2
        hashes, factors = [], []
        for buckets, turns in zip(params.buckets, params.turns, strict=True):
            hashes.append((buckets + np.int32(size) * (turns % 2), 1 - 2 * (turns // 2)))
            both = hadamard(count_sketch(X, *hashes[-1], 2 * size).reshape(-1, 2, size))
            factors.append(both[:, 0, :kept] + 1j * both[:, 1, :kept])
        found, A = np.zeros_like(X), pull_to_real(G, kept)
        for rest, hashed in zip(others(factors), hashes, strict=True):
            slopes = A * np.conj(rest)
            both = hadamard(pad(np.stack([slopes.real, slopes.imag], axis=1), size))
            found += pull_count_sketch(both.reshape(len(X), 2 * size), *hashed)
        return found

    def native(self, params: ComplexHashes, dtype: DTypeLike) -> Native:
        form, size = self.form, 1 << self.bits
        places = params.buckets + np.int32(size) * (params.turns % 2)
        signs = (1 - 2 * (params.turns // 2)).astype(dtype)
        signs[:, : signs.shape[1] - (form.constant != 0.0)] *= form.scale
        if form.constant == 0.0:  # the bucket of an entry that is 0 does not matter
            places, signs = (np.pad(M, ((0, 0), (0, 1))) for M in (places, signs))
        scale = math.sqrt(2.0 * form.weight / self.n_components)

        def write(X: Array, out: NDArray[Any]) -> int | None:
            return _core.hadamard_sketch(row_parts(X), places, signs, form.constant, scale, out)

        return write

    def gpu(self, params: ComplexHashes, device: torch.device) -> Gpu | None:
        form, scale = self.form, math.sqrt(2.0 * self.form.weight / self.n_components)
        size = 1 << self.bits
        return kernels.hadamard_sketch(params.buckets, params.turns, size, form.scale, form.constant, scale, device)

    def sketch_variance(self, moments: PairMoments, degree: int, n_features: int) -> NDArray[np.float64]:
        return independent_variance(moments, degree, self.n_components)

    @property
    def scratch(self) -> int:
        return self.n_features + (8 << self.bits)

    @property
    def rows_alone(self) -> bool:
        return True


class HadamardSketch(FeatureMap):
    r"""Polynomial kernels through the product of Walsh-Hadamard transforms of complex count sketches.

    The map for sparse rows: O(degree (nnz + D log D)) per row, using only additions and no complex Fourier transform.
    On dense rows, :class:`ComplexSketch` has a somewhat lower error at degrees 2 and 3.

    Buckets are combined by XOR instead of addition modulo D, signs are drawn from :math:`\{1, i, -1, -i\}`, and any
    :math:`\lceil D/2\rceil` outputs of the transform are kept. They are uncorrelated, so that for even D exactly

    .. math:: D\,\mathrm{Var} = A^p + B^p - 2t^{2p}

    in the notation of :class:`TensorSketch`. A larger map starts with the smaller one.

    Parameters
    ----------
    kernel : Kernel or str, default=Polynomial(2, gamma="scale", coef0=1.0)
        Linear, Polynomial, or a multiple of one of them.
    n_components : int, default=256
        The number of features.
    random_state : int, Generator, RandomState or None, default=None
        Determines the parameters; an int makes them reproducible. See :class:`FeatureMap`.
    n_jobs : int or None, default=None
        The number of threads; see :class:`FeatureMap`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import HadamardSketch
    >>> from mercer.kernels import Polynomial
    >>> X = np.eye(3)
    >>> Z = HadamardSketch(Polynomial(3), n_components=10, random_state=0).fit_transform(X)
    >>> np.allclose((Z * Z).sum(axis=1), 1.0)
    True
    """

    description = MapDescription(
        features="products of fast transforms of random sums of columns, one for each degree",
        kernels="polynomial",
        when="sparse rows; a larger map begins with the features of a smaller one",
        cost="p (nnz + D log D)",
        variance="yes",
    )

    construction = HadamardSketchConstruction

    def __init__(
        self,
        kernel: Kernel | str = QUADRATIC,
        *,
        n_components: int = 256,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ):
        super().__init__(kernel, n_components=n_components, random_state=random_state, n_jobs=n_jobs)
