"""QuasiFourier: frequencies from points that fill the unit cube evenly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from .._random import RandomState, Stream
from .._rows import Rows
from ..kernels import Kernel
from ..kernels.defaults import GAUSSIAN
from . import _low_discrepancy
from ._fourier import FourierConstruction, FourierMap, draw_offsets, frequency_table
from .description import MapDescription
from .fitted_map import FittedMap


@dataclass(frozen=True, kw_only=True, eq=False)
class QuasiFourierConstruction(FourierConstruction):
    """Frequencies from a scrambled low-discrepancy sequence."""

    sequence: str

    def check_kernel(self) -> None:
        super().check_kernel()
        self.kernel.spectral_dimension(1)  # a composition raises an error here, with the reason

    def draw(self, rng: Stream, rows: Rows) -> FittedMap:
        points_of = _low_discrepancy.sobol if self.sequence == "sobol" else _low_discrepancy.halton
        points = points_of(rng.child("points"), self.n_frequencies, self.kernel.spectral_dimension(rows.n_features))
        return self.fitted(frequency_table(self.kernel.quantiles(points, rows.n_features), draw_offsets(rng, 1)))


class QuasiFourier(FourierMap):
    r"""Fourier features at quasi-Monte Carlo frequencies: unbiased, with an error that falls faster than 1 / sqrt(D).

    The best plain map for rows with up to about 50 columns, and for kernels that :class:`OrthogonalFourier` does not
    support (Laplacian, Cauchy, the skewed kernels). With hundreds of columns it has no advantage over
    :class:`RandomFourier`.

    Scrambled Sobol or Halton points in the unit cube are mapped to frequencies by the quantile functions of the
    kernel's spectral distribution, coordinate by coordinate.

    Parameters
    ----------
    kernel : Kernel or str, default=Gaussian("scale")
        A kernel with a spectral distribution, or a sum, product or multiple of such kernels, but not a composition.
    n_components : int, default=256
        The number of features; powers of two suit Sobol points best.
    sequence : {"sobol", "halton"}, default="sobol"
        The sequence of points.
    random_state : int, Generator, RandomState or None, default=None
        Determines the parameters; an int makes them reproducible. See :class:`FeatureMap`.
    n_jobs : int or None, default=None
        The number of threads; see :class:`FeatureMap`.

    References
    ----------
    Yang, Sindhwani, Avron and Mahoney, Quasi-Monte Carlo feature maps for shift-invariant kernels, ICML 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import QuasiFourier, RandomFourier, kernel_error
    >>> from mercer.kernels import Laplacian
    >>> X = np.random.default_rng(0).normal(size=(100, 4))
    >>> errors = [
    ...     kernel_error(make(Laplacian("median"), n_components=1024, random_state=0).fit(X), X).relative
    ...     for make in (QuasiFourier, RandomFourier)
    ... ]
    >>> errors[0] < 0.8 * errors[1]
    True
    """

    description = MapDescription(
        features="cosines and sines along evenly spread directions",
        kernels="shift-invariant, skewed",
        when="up to 50 columns; Laplacian and Cauchy",
        cost="D nnz",
        variance="no",
    )

    construction = QuasiFourierConstruction
    _choices: ClassVar[dict[str, tuple[Any, ...]]] = {"sequence": ("sobol", "halton")}

    def __init__(
        self,
        kernel: Kernel | str = GAUSSIAN,
        *,
        n_components: int = 256,
        sequence: Literal["sobol", "halton"] = "sobol",
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ):
        super().__init__(kernel, n_components=n_components, random_state=random_state, n_jobs=n_jobs)
        self.sequence = sequence
