"""StructuredFourier: almost orthogonal frequencies made from random signs."""

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
from .array_layouts import floats, signs
from .complex_sketch import padded_width
from .construction import Gpu
from .description import MapDescription
from .fitted_map import FittedMap

if TYPE_CHECKING:
    import torch

SMALLEST_BLOCK = 64
"""Below this width, directions made by three sign flips are not random enough, and the estimate is biased."""


@in_double
class SignRotations(NamedTuple):
    """Three sign vectors per block, the lengths of the frequencies, and the offset of the last feature."""

    signs: NDArray[np.int8]
    radii: NDArray[np.float64]
    offset: NDArray[np.float64]


def block_width(n_features: int) -> int:
    """Return the number of frequencies per block, which is the padded width of a row."""
    return max(SMALLEST_BLOCK, padded_width(n_features))


class StructuredFourierConstruction(RotationInvariantConstruction):
    """Blocks of frequencies from three sign flips and three transforms."""

    bias = "three products of signs and Hadamard matrices are only nearly a random rotation"

    def draw(self, rng: Stream, rows: Rows) -> FittedMap:
        count, width = self.n_frequencies, block_width(rows.n_features)
        flips = rng.child("signs").signs((-(-count // width), 3, width))
        return self.fitted(SignRotations(flips, draw_radii(self.kernel, rng, count, width), draw_offsets(rng, 1)))

    def layout(self) -> Any:
        count, width = self.n_frequencies, block_width(self.n_features)
        return SignRotations(signs(-(-count // width), 3, width), floats(count), floats(1))

    def phases(self, params: SignRotations, X: Array) -> Array:
        xp = namespace(X)
        width, count = params.signs.shape[2], params.radii.shape[0]
        padded = pad(dense(X), width)
        blocks = []
        for block in range(params.signs.shape[0]):
            turned = padded
            for place in range(3):
                turned = hadamard(turned * xp.astype(params.signs[block, place], turned.dtype))
            blocks.append(turned[:, : count - block * width])
        return xp.concat(blocks, axis=1) * (params.radii / width**1.5)

    def pull_phases(self, params: SignRotations, slopes: NDArray[np.float64]) -> NDArray[np.float64]:
        width, count = params.signs.shape[2], params.radii.shape[0]
        slopes = slopes * (params.radii / width**1.5)
        total = np.zeros((len(slopes), width))
        for block in range(params.signs.shape[0]):
            turned = pad(slopes[:, block * width : min((block + 1) * width, count)], width)
            for place in reversed(range(3)):
                turned = hadamard(turned) * params.signs[block, place]
            total += turned
        return total[:, : self.n_features]

    def waves(self, params: SignRotations, dtype: DTypeLike) -> Waves:
        width = params.signs.shape[2]
        signs, offset = _core.aligned(params.signs, dtype), (params.offset / math.pi).astype(dtype)
        radii = _core.aligned(params.radii / (math.pi * width**1.5), dtype)

        def write(X: Array, out: NDArray[Any]) -> NDArray[Any]:
            return _core.structured(np.ascontiguousarray(dense(X)), signs, radii, offset, self.scale, out)

        return write

    def gpu_waves(self, params: SignRotations, device: torch.device) -> Gpu | None:
        radii = params.radii / (math.pi * params.signs.shape[2] ** 1.5)
        return kernels.structured(params.signs, radii, params.offset / math.pi, self.scale, device)

    @property
    def scratch(self) -> int:
        return super().scratch + 3 * block_width(self.n_features)

    @classmethod
    def row_operations(cls, n_features: int, width: int, degree: int) -> float:
        return 40.0 * max(width, n_features)


class StructuredFourier(FourierMap):
    r"""Almost orthogonal random Fourier features from signs and Walsh-Hadamard transforms, without a stored matrix.

    The choice for wide rows: O(D log d) operations per row instead of O(D d), and only a few signs per column to store.
    It is as accurate as :class:`OrthogonalFourier`, except for a bias below 0.001; to keep it that small, every row is
    padded to at least 64 columns.

    Instead of a random orthogonal matrix, each block of d' frequencies applies :math:`H D_1 H D_2 H D_3 / d'^{3/2}` to
    the row padded to the power of two d', with diagonal matrices D of random signs. Lengths have the distribution of
    frequencies in d' dimensions.

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
    Yu, Suresh, Choromanski, Holtmann-Rice and Kumar, Orthogonal random features, NIPS 2016 (there called SORF, with
    constant radii and without the padding, and so with a bias).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import StructuredFourier
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(10, 1000))
    >>> features = StructuredFourier(Gaussian("scale"), n_components=2048, random_state=0).fit(X)
    >>> features.transform(X).shape, features.parameters_.signs.nbytes
    ((10, 2048), 3072)
    """

    description = MapDescription(
        features="cosines and sines along nearly orthogonal directions, computed by fast transforms",
        kernels="functions of the distance",
        when="many columns: it stores no matrix; its bias is below 0.001",
        cost="D log d",
        variance="no",
    )

    construction = StructuredFourierConstruction
