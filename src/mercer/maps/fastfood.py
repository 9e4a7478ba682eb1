"""Fastfood: Gaussian frequencies made from signs, a permutation and a diagonal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .. import _core
from .._array import Array, dense, hadamard, in_double, namespace, pad
from .._random import Stream
from .._rows import Rows
from ..gpu import kernels
from ._fourier import FourierMap, RotationInvariantConstruction, Waves, draw_offsets, draw_radii
from .array_layouts import floats, places, signs
from .complex_sketch import padded_width
from .construction import Gpu
from .description import MapDescription
from .fitted_map import FittedMap

if TYPE_CHECKING:
    import torch


@in_double
class FastfoodParameters(NamedTuple):
    """Signs, a permutation and a direction for every block; the lengths of the frequencies; the last offset."""

    signs: NDArray[np.int8]
    orders: NDArray[np.int32]
    directions: NDArray[np.float64]
    radii: NDArray[np.float64]
    offset: NDArray[np.float64]


class FastfoodConstruction(RotationInvariantConstruction):
    """Blocks of frequencies from signs, a permutation, a direction and lengths."""

    def draw(self, rng: Stream, rows: Rows) -> FittedMap:
        count, width = self.n_frequencies, padded_width(rows.n_features)
        blocks = -(-count // width)
        normals = rng.child("directions").normals((blocks, width))
        parameters = FastfoodParameters(
            rng.child("signs").signs((blocks, width)),
            np.stack([rng.child("orders", block).permutation(width) for block in range(blocks)]),
            normals / np.linalg.norm(normals, axis=1, keepdims=True),
            draw_radii(self.kernel, rng, count, width),
            draw_offsets(rng, 1),
        )
        return self.fitted(parameters)

    def layout(self) -> Any:
        count, width = self.n_frequencies, padded_width(self.n_features)
        shape = -(-count // width), width
        return FastfoodParameters(signs(*shape), places(width, *shape), floats(*shape), floats(count), floats(1))

    def phases(self, params: FastfoodParameters, X: Array) -> Array:
        xp = namespace(X)
        width, count = params.signs.shape[1], params.radii.shape[0]
        padded = pad(dense(X), width)
        blocks = []
        for block in range(params.signs.shape[0]):
            turned = hadamard(padded * xp.astype(params.signs[block], padded.dtype))
            turned = hadamard(xp.take(turned, params.orders[block], axis=1) * params.directions[block])
            blocks.append(turned[:, : count - block * width])
        return xp.concat(blocks, axis=1) * (params.radii / math.sqrt(width))

    def pull_phases(self, params: FastfoodParameters, slopes: NDArray[np.float64]) -> NDArray[np.float64]:
        width, count = params.signs.shape[1], params.radii.shape[0]
        slopes = slopes * (params.radii / math.sqrt(width))
        total = np.zeros((len(slopes), width))
        for block in range(params.signs.shape[0]):
            turned = pad(slopes[:, block * width : min((block + 1) * width, count)], width)
            ordered = np.empty((len(slopes), width))
            ordered[:, params.orders[block]] = hadamard(turned) * params.directions[block]
            total += hadamard(ordered) * params.signs[block]
        return total[:, : self.n_features]

    def waves(self, params: FastfoodParameters, dtype: DTypeLike) -> Waves:
        tables = _core.fastfood_tables(params.signs, params.orders, params.directions, dtype)
        radii = _core.aligned(params.radii / (math.pi * math.sqrt(params.signs.shape[1])), dtype)
        offset = (params.offset / math.pi).astype(dtype)

        def write(X: Array, out: NDArray[Any]) -> NDArray[Any]:
            return _core.fastfood(np.ascontiguousarray(dense(X)), tables, radii, offset, self.scale, out)

        return write

    def gpu_waves(self, params: FastfoodParameters, device: torch.device) -> Gpu | None:
        radii = params.radii / (math.pi * math.sqrt(params.signs.shape[1]))
        tables = params.signs, params.orders, params.directions
        return kernels.fastfood(*tables, radii, params.offset / math.pi, self.scale, device)

    @property
    def scratch(self) -> int:
        return super().scratch + 3 * padded_width(self.n_features)

    @classmethod
    def row_operations(cls, n_features: int, width: int, degree: int) -> float:
        return 40.0 * max(width, n_features)


class Fastfood(FourierMap):
    r"""Unbiased random Fourier features in O(D log d) per row, from two Walsh-Hadamard transforms per block.

    The predecessor of :class:`StructuredFourier`, whose frequencies are nearly orthogonal and whose error is therefore
    lower. Use this one for comparisons, or if even a bias of 0.001 is too much.

    Blocks of d' frequencies are the rows of :math:`S H G P H B / \sqrt{d'}`, applied to the row padded to the power of
    two d': signs B, a permutation P, a random unit vector G on the diagonal, and independent lengths S with the
    distribution of the kernel's frequencies in d' dimensions. Each row has exactly the distribution of a frequency;
    rows of one block are dependent.

    Parameters
    ----------
    kernel : Kernel or str, default=Gaussian("scale")
        A rotation-invariant kernel: Gaussian, Matern, and their sums, products, multiples and compositions.
    n_components : int, default=256
        The number of features.
    random_state : int, Generator, RandomState or None, default=None
        Determines the parameters; an int makes them reproducible. See :class:`FeatureMap`.
    n_jobs : int or None, default=None
        The number of threads; see :class:`FeatureMap`.

    References
    ----------
    Le, Sarlos and Smola, Fastfood: approximating kernel expansions in loglinear time, ICML 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Fastfood
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(10, 100))
    >>> Fastfood(Gaussian("scale"), n_components=512, random_state=0).fit_transform(X).shape
    (10, 512)
    """

    description = MapDescription(
        features="cosines and sines along random directions, computed by fast transforms",
        kernels="functions of the distance",
        when="for comparisons",
        cost="D log d",
        variance="no",
    )

    construction = FastfoodConstruction
