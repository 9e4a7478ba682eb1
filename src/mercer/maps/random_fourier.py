"""RandomFourier: shift-invariant kernels by independent random frequencies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from .._array import Array
from .._random import RandomState, Stream
from .._rows import Rows
from ..kernels import Kernel
from ..kernels.defaults import GAUSSIAN
from ._fourier import (
    FourierConstruction,
    FourierMap,
    Frequencies,
    draw_frequencies,
    draw_offsets,
    fourier_variance,
    frequency_layout,
    frequency_table,
)
from .description import MapDescription
from .fitted_map import FittedMap


@dataclass(frozen=True, kw_only=True, eq=False)
class RandomFourierConstruction(FourierConstruction):
    """Independent frequencies, each with a pair of features or with one feature and an offset."""

    form: str

    @property
    def paired(self) -> bool:
        return self.form == "paired"

    def draw(self, rng: Stream, rows: Rows) -> FittedMap:
        width, n_features = self.n_components, rows.n_features
        if self.paired:
            return self.fitted(draw_frequencies(self.kernel, rng, width, n_features))
        frequencies = self.kernel.frequencies(rng.child("frequencies"), width, n_features)
        return self.fitted(frequency_table(frequencies, draw_offsets(rng, width)))

    def layout(self) -> Frequencies:
        if self.paired:
            return super().layout()
        return frequency_layout(self.n_components, self.n_features, self.n_components)

    def variance(self, params: Any, X: Array, Y: Array) -> NDArray[np.float64]:
        return fourier_variance(self.kernel, X, Y, self.n_components, self.form)


class RandomFourier(FourierMap):
    r"""Random Fourier features: any kernel with a spectral distribution, by independent draws of frequencies.

    The classic map, with an exact variance, for every shift-invariant kernel, the skewed kernels, and their sums,
    products and compositions. For the Gaussian and Matern kernels, :class:`OrthogonalFourier` has a lower error at the
    same cost; for fewer than about 50 columns, so does :class:`QuasiFourier`.

    The spectral distribution of the kernel gives frequencies w with :math:`k(x, y) = k(0)\,E\cos\langle w, x -
    y\rangle`. With ``form="paired"``, D/2 of them give the features :math:`\sqrt{2/D}\,(\cos\langle w, x\rangle,
    \sin\langle w, x\rangle)`; with ``form="offset"``, D of them give :math:`\sqrt{2/D} \cos(\langle w, x\rangle + b)`
    with uniform b. For k(0) = 1 and :math:`\delta = x - y`, the exact variances are given by

    .. math:: D\,\mathrm{Var} = 1 + k(2\delta) - 2k(\delta)^2 \quad\text{or}\quad 1 + k(2\delta)/2 - k(\delta)^2.

    For the Gaussian and Laplacian kernels, pairs are never worse, and they need half as many projections.

    Parameters
    ----------
    kernel : Kernel or str, default=Gaussian("scale")
        A kernel with a spectral distribution.
    n_components : int, default=256
        The number of features; an odd number ends with a single feature with an offset.
    form : {"paired", "offset"}, default="paired"
        Whether each frequency gives a cosine and a sine, or one cosine with a random offset.
    random_state : int, Generator, RandomState or None, default=None
        Determines the parameters; an int makes them reproducible. See :class:`FeatureMap`.
    n_jobs : int or None, default=None
        The number of threads; see :class:`FeatureMap`.

    References
    ----------
    Rahimi and Recht, Random features for large-scale kernel machines, NIPS 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import RandomFourier, kernel_error
    >>> from mercer.kernels import Laplacian
    >>> X = np.random.default_rng(0).normal(size=(100, 4))
    >>> features = RandomFourier(Laplacian("median"), n_components=2048, random_state=0).fit(X)
    >>> bool(kernel_error(features, X).relative < 0.1)
    True
    """

    description = MapDescription(
        features="cosines and sines along independent random directions",
        kernels="shift-invariant, skewed, and compositions of them",
        when="the classic method, with an exact variance",
        cost="D nnz",
        variance="yes",
    )

    construction = RandomFourierConstruction
    _choices: ClassVar[dict[str, tuple[Any, ...]]] = {"form": ("paired", "offset")}

    def __init__(
        self,
        kernel: Kernel | str = GAUSSIAN,
        *,
        n_components: int = 256,
        form: Literal["paired", "offset"] = "paired",
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ):
        super().__init__(kernel, n_components=n_components, random_state=random_state, n_jobs=n_jobs)
        self.form = form
