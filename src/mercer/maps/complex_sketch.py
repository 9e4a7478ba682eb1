"""ComplexSketch: products of complex projections, dense or structured."""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .. import _core
from .._array import Array, dense, hadamard, namespace, pad, send, sign_product
from .._random import RandomState, Stream
from ..gpu import kernels
from ..kernels import Kernel
from ..kernels.defaults import QUADRATIC
from ._complex import Pair, independent_variance, multiply, others, parts, pull_to_real, to_real
from ._polynomial import PolynomialConstruction
from .array_layouts import places, quarter_turns
from .construction import Gpu, Native
from .description import MapDescription
from .estimator import FeatureMap
from .maclaurin_products import native_products
from .pair_moments import PairMoments, power

if TYPE_CHECKING:
    import torch


class Srht(NamedTuple):
    """Complex signs (block, degree, column), and the transform's outputs that each feature uses (degree, feature)."""

    turns: NDArray[np.int8]
    outputs: NDArray[np.int32]


class Rademacher(NamedTuple):
    """Complex signs (feature, degree, column)."""

    turns: NDArray[np.int8]


def padded_width(n_features: int) -> int:
    """Return the next power of two."""
    return 1 << (n_features - 1).bit_length()


def draw_srht(rng: Stream, degree: int, n_features: int, width: int) -> Srht:
    """Draw fresh signs and a fresh permutation for every degree and every block of features."""
    size, features = padded_width(n_features), (width + 1) // 2
    blocks = range(-(-features // size))
    turns = [rng.child("turns", block).quarter_turns((degree, n_features)) for block in blocks]
    outputs = [[rng.child("outputs", block, s).permutation(size) for block in blocks] for s in range(degree)]
    return Srht(np.stack(turns), np.stack([np.concatenate(row)[:features] for row in outputs]))


def srht_layout(degree: int, n_features: int, width: int) -> Any:
    """Return the layout of the arrays of :func:`draw_srht`."""
    size, features = padded_width(n_features), (width + 1) // 2
    return Srht(quarter_turns(-(-features // size), degree, n_features), places(size, degree, features))


def srht_tables(params: Srht, dtype: DTypeLike, columns: int = 0, scale: float = 1.0) -> _core.SrhtTables:
    """Return the parameters as the compiled core reads them, with the first ``columns`` columns of rows scaled."""
    real, imaginary = (part.astype(np.float64) for part in parts(params.turns))
    for part in (real, imaginary):
        part[..., :columns] *= scale
    return _core.srht_tables(real, imaginary, params.outputs, dtype)


def apply_srht(params: Srht, X: Array, width: int) -> Array:
    """Compute the real features of this width that estimate <x, y>^degree."""
    xp = namespace(X)
    blocks, degree, n_features = params.turns.shape
    size = padded_width(n_features)
    X = dense(X)[:, None, :]
    # Output j of a feature's block, where the outputs of all blocks are concatenated.
    first = send(np.arange(params.outputs.shape[1], dtype=np.int32) // size * size, X)
    z: Pair | None = None
    for s in range(degree):
        signs = (xp.astype(part, X.dtype) for part in parts(params.turns[:, s, :]))
        turned = (xp.reshape(hadamard(pad(X * sign, size)), (X.shape[0], blocks * size)) for sign in signs)
        real, imaginary = (xp.take(part, first + params.outputs[s], axis=1) for part in turned)
        z = multiply(z, (real, imaginary))
    assert z is not None
    return to_real(z, width)


def pull_srht(params: Srht, X: NDArray[np.float64], G: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the gradients of <g, z(x)> of the features of :func:`apply_srht`, for every row x."""
    blocks, degree, n_features = params.turns.shape
    size, count = padded_width(n_features), params.outputs.shape[1]
    first = np.arange(count) // size * size
    signs = [[part.astype(np.float64) for part in parts(params.turns[:, s, :])] for s in range(degree)]
    places = [first + params.outputs[s] for s in range(degree)]
    factors = []
    for s in range(degree):
        real, imaginary = (
            hadamard(pad(X[:, None, :] * sign, size)).reshape(len(X), -1)[:, places[s]] for sign in signs[s]
        )
        factors.append(real + 1j * imaginary)
    found, A = np.zeros_like(X), pull_to_real(G, count)
    for s, rest in enumerate(others(factors)):
        slopes = A * np.conj(rest)
        for part, sign in zip((slopes.real, slopes.imag), signs[s], strict=True):
            spread = np.zeros((len(X), blocks * size))
            spread[:, places[s]] = part
            turned = hadamard(spread.reshape(len(X), blocks, size))[:, :, :n_features]
            found += (turned * sign).sum(axis=1)
    return found


def srht_pairs(n_features: int, width: int) -> int:
    """Count the ordered pairs of features that share a block, as in D^2 Var; an odd last real part counts half."""
    size, whole, odd = padded_width(n_features), width // 2, width % 2
    full, rest = divmod(whole, size)
    return 2 * full * size * (size - 1) + 2 * rest * (rest - 1) + 2 * odd * rest


def srht_correction(moments: PairMoments, degree: int, n_features: int) -> NDArray[np.float64]:
    """Return the contribution to D^2 Var of each pair in a block, which is negative where the structure helps."""
    others = max(padded_width(n_features) - 1, 1)
    t2 = moments.t**2
    A, B = t2 - (moments.N - moments.c) / others, t2 - (t2 - moments.c) / others
    return power(A, degree) + power(B, degree) - 2.0 * power(t2, degree)


def srht_variance(moments: PairMoments, degree: int, n_features: int, width: int) -> NDArray[np.float64]:
    """Compute the variance of the estimate from these features."""
    shared = srht_pairs(n_features, width) * srht_correction(moments, degree, n_features)
    return np.maximum(independent_variance(moments, degree, width) + shared / width**2, 0.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class ComplexSketchConstruction(PolynomialConstruction):
    """Products of complex projections."""

    projection: str

    def draw_sketch(self, rng: Stream, degree: int, n_features: int) -> Srht | Rademacher:
        if self.projection == "srht":
            return draw_srht(rng, degree, n_features, self.n_components)
        features = (self.n_components + 1) // 2
        return Rademacher(rng.child("turns").quarter_turns((features, degree, n_features)))

    def layout(self) -> Any:
        degree, width = self.form.degree, self.form.width(self.n_features)
        if self.projection == "srht":
            return srht_layout(degree, width, self.n_components)
        return Rademacher(quarter_turns((self.n_components + 1) // 2, degree, width))

    def sketch(self, params: Srht | Rademacher, X: Array) -> Array:
        if isinstance(params, Srht):
            return apply_srht(params, X, self.n_components)
        z: Pair | None = None
        for s in range(params.turns.shape[1]):
            real, imaginary = parts(params.turns[:, s, :])
            z = multiply(z, (sign_product(X, real), sign_product(X, imaginary)))
        assert z is not None
        return to_real(z, self.n_components)

    def pull_sketch(
        self, params: Srht | Rademacher, X: NDArray[np.float64], G: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        if isinstance(params, Srht):
            return pull_srht(params, X, G)
        signs = [parts(params.turns[:, s, :].astype(np.float64)) for s in range(params.turns.shape[1])]
        factors = [X @ real.T + 1j * (X @ imaginary.T) for real, imaginary in signs]
        found, A = np.zeros_like(X), pull_to_real(G, len(params.turns))
        for rest, (real, imaginary) in zip(others(factors), signs, strict=True):
            slopes = A * np.conj(rest)
            found += slopes.real @ real + slopes.imag @ imaginary
        return found

    def native(self, params: Srht | Rademacher, dtype: DTypeLike) -> Native:
        form = self.form
        if isinstance(params, Srht):
            return self._srht_native(params, dtype)
        features, degree, columns = params.turns.shape
        # A power of i, rotated by 45 degrees, is (+-1 +- i) / sqrt(2), which is two real signs; rotations multiply.
        rotation = math.sqrt(2.0 * form.weight / self.n_components) * cmath.rect(
            0.5 ** (degree / 2), -math.pi / 4 * degree
        )
        weights = np.tile(np.array([rotation.real, rotation.imag], dtype=dtype), (features, 1))
        turns = params.turns.reshape(-1, columns)

        def negative(start: int, stop: int) -> NDArray[Any]:
            part = turns[start // 2 : stop // 2]
            return np.stack([(part == 1) | (part == 2), part >= 2], axis=1).reshape(-1, columns)

        products = _core.in_stretches(np.full(features, degree, dtype=np.int32), weights, columns)
        write = native_products(products, negative)
        return lambda X, out: write(form.lift(X), out, 0)

    def _srht_native(self, params: Srht, dtype: DTypeLike) -> Native:
        form = self.form
        columns = params.turns.shape[2] - (form.constant != 0.0)
        tables = srht_tables(params, dtype, columns, form.scale)
        scale = math.sqrt(2.0 * form.weight / self.n_components)

        def write(X: Array, out: NDArray[Any]) -> int | None:
            return _core.srht(np.ascontiguousarray(dense(X)), tables, scale, out, form.constant)

        return write

    def gpu(self, params: Srht | Rademacher, device: torch.device) -> Gpu | None:
        if not isinstance(params, Srht):
            return None
        form, size = self.form, padded_width(params.turns.shape[2])
        scale = math.sqrt(2.0 * form.weight / self.n_components)
        return kernels.srht(params.turns, params.outputs, size, form.scale, form.constant, scale, device)

    def sketch_variance(self, moments: PairMoments, degree: int, n_features: int) -> NDArray[np.float64]:
        if self.projection == "srht":
            return srht_variance(moments, degree, n_features, self.n_components)
        return independent_variance(moments, degree, self.n_components)

    @property
    def scratch(self) -> int:
        return 6 * padded_width(self.n_features + 1) + 4 * self.n_components

    @property
    def rows_alone(self) -> bool:
        return self.projection == "srht"


class ComplexSketch(FeatureMap):
    r"""Polynomial kernels through products of complex random projections.

    The plain map with the lowest error for dense rows at degrees 2 to 4. Sparse rows are better served by
    :class:`HadamardSketch`, which has the variance of ``projection="rademacher"`` at O(nnz) cost.

    Each feature is :math:`\prod_{s=1}^p \langle r_s, x\rangle` with complex signs :math:`r_s`, and its real and
    imaginary parts are returned. For even D, :math:`D\,\mathrm{Var} = A^p + B^p - 2t^{2p}` in the notation of
    :class:`TensorSketch`, where real signs would give :math:`R^p - t^{2p}`. ``projection="srht"`` uses rows of
    :math:`H\,\mathrm{diag}(r_s)` without replacement, computed by a fast transform of the padded row; features of a
    block are then negatively correlated, which lowers the variance further. A larger map starts with the smaller one.

    Parameters
    ----------
    kernel : Kernel or str, default=Polynomial(2, gamma="scale", coef0=1.0)
        Linear, Polynomial, or a multiple of one of them.
    n_components : int, default=256
        The number of features.
    projection : {"srht", "rademacher"}, default="srht"
        Whether projections are structured and computed by fast transforms, or independent.
    random_state : int, Generator, RandomState or None, default=None
        Determines the parameters; an int makes them reproducible. See :class:`FeatureMap`.
    n_jobs : int or None, default=None
        The number of threads; see :class:`FeatureMap`.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).normal(size=(50, 16)) / 4
    >>> sketch = mercer.ComplexSketch(mercer.kernels.Polynomial(2), n_components=512, random_state=0).fit(X)
    >>> bool(mercer.kernel_error(sketch, X).relative < 0.25)
    True
    """

    description = MapDescription(
        features="products of random projections with complex signs, one for each degree",
        kernels="polynomial",
        when="dense rows, degrees 2 to 4",
        cost="p (d + D) log d",
        variance="yes",
    )

    construction = ComplexSketchConstruction
    _choices: ClassVar[dict[str, tuple[Any, ...]]] = {"projection": ("srht", "rademacher")}

    def __init__(
        self,
        kernel: Kernel | str = QUADRATIC,
        *,
        n_components: int = 256,
        projection: Literal["srht", "rademacher"] = "srht",
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ):
        super().__init__(kernel, n_components=n_components, random_state=random_state, n_jobs=n_jobs)
        self.projection = projection
