"""The Matern kernels."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, gammaln, kve, ndtri

from .._checks import check_positive
from .._random import Stream
from .._rows import Rows
from .bandwidth import median_squared_distance, total_variance
from .column_bandwidths import ColumnBandwidths
from .families import Radial

LARGE_NU = 50.0


def _by_bessel(nu: float, z: NDArray[np.float64]) -> NDArray[np.float64]:
    # In logarithms, because z^nu and K_nu leave the range of float64 long before their product does. Beyond 2000 the
    # product has left it too, for any nu below LARGE_NU, and K_nu is not computed; where K_nu overflows the limit is 1.
    safe = np.where(z > 0, np.minimum(z, 2000.0), 1.0)
    with np.errstate(over="ignore"):
        bessel = kve(nu, safe)
    logarithm = (1.0 - nu) * np.log(2.0) - gammaln(nu) + nu * np.log(safe) + np.log(bessel) - safe
    return np.where(z > 0, np.exp(np.minimum(logarithm, 0.0)), 1.0)


def _by_expansion(nu: float, z: NDArray[np.float64]) -> NDArray[np.float64]:
    # Debye's expansion of K_nu, uniform in z, divided by its value at 0: accurate to 1e-10, with no term out of range.
    def correction(p: Any) -> Any:
        u1 = (3 * p - 5 * p**3) / 24
        u2 = (81 * p**2 - 462 * p**4 + 385 * p**6) / 1152
        u3 = (30375 * p**3 - 369603 * p**5 + 765765 * p**7 - 425425 * p**9) / 414720
        u4 = p**4 * (4465125 - 94121676 * p**2 + 349922430 * p**4 - 446185740 * p**6 + 185910725 * p**8) / 39813120
        return 1 - u1 / nu + u2 / nu**2 - u3 / nu**3 + u4 / nu**4

    root = np.hypot(1.0, z / nu)
    excess = (z / nu) ** 2 / (1.0 + root)  # root - 1
    leading = np.exp(-nu * (excess - np.log1p(excess / 2.0))) / np.sqrt(root)
    return leading * correction(1.0 / root) / correction(1.0)


@dataclass(frozen=True, repr=False)
class Matern(ColumnBandwidths, Radial):
    """Matern kernel, k(x, y) = 2^(1-nu) / Gamma(nu) z^nu K_nu(z) with z = sqrt(2 nu) ||x - y|| / length_scale.

    Parameters
    ----------
    nu : float, default=1.5
        The smoothness: larger values make the learned function smoother. With ``nu=0.5`` the kernel is
        exp(-||x - y|| / length_scale); as nu grows, it approaches the Gaussian kernel.
    length_scale : float, {"scale", "median"} or tuple of float, default=1.0
        The length scale. ``"scale"`` is sqrt(n_features * X.var()) and ``"median"`` the median distance. With one
        number per column, each difference x_i - y_i is divided by its own scale.

    Examples
    --------
    >>> from mercer.kernels import Matern
    >>> Matern(0.5)([[0.0]], [[0.0], [1.0]]).round(3)
    array([[1.   , 0.368]])
    """

    description = "Rows are similar if they are close; nu sets how smooth the learned function is."
    scale_powers: ClassVar[dict[str, float]] = {"length_scale": -1.0}

    nu: float = 1.5
    _: KW_ONLY
    length_scale: float | str | tuple[float, ...] = 1.0

    bandwidth_field = "length_scale"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("nu", self.nu)

    def factor(self, widths: NDArray[np.float64]) -> NDArray[np.float64]:
        return 1.0 / widths

    def _scale(self, rows: Rows) -> float:
        return float(np.sqrt(total_variance(rows)))

    def _median(self, rows: Rows) -> float:
        return float(np.sqrt(median_squared_distance(rows)))

    @property
    def _shape(self) -> tuple[str, float] | None:
        name = {0.5: "matern-1/2", 1.5: "matern-3/2", 2.5: "matern-5/2"}.get(self.nu)
        return None if name is None else (name, math.sqrt(2.0 * self.nu) / self.width)

    def radial(self, squares: NDArray[np.float64]) -> NDArray[np.float64]:
        # The bound does not change any value, since the kernel is 0 there, but prevents infinity times 0 below.
        z = np.minimum(np.sqrt(2.0 * self.nu * squares) / self.width, 1e100)
        closed = {0.5: lambda: 1.0, 1.5: lambda: 1.0 + z, 2.5: lambda: 1.0 + z + z**2 / 3.0}
        if self.nu in closed:
            return closed[self.nu]() * np.exp(-z)
        return _by_bessel(self.nu, z) if self.nu < LARGE_NU else _by_expansion(self.nu, z)

    def radial_slope(self, squares: NDArray[np.float64]) -> NDArray[np.float64]:
        # The derivative of z^nu K_nu(z) is -z^nu K_(nu - 1)(z). Above nu = 1 that is the value of a smoother kernel;
        # below, K is even in its order.
        factor = self.nu / (2.0 * self.width**2)
        order = self.nu - 1.0
        if order > 0.0:
            smoother = Matern(order, length_scale=self.width * math.sqrt(order / self.nu))
            return -factor / order * smoother.radial(squares)
        z = np.where(squares > 0.0, np.minimum(np.sqrt(2.0 * self.nu * squares) / self.width, 1e100), 1.0)
        if self.nu == 0.5:
            values = np.exp(-z) / z
        else:
            constant = 2.0 ** (1.0 - self.nu) / math.gamma(self.nu)
            values = constant * z**order * kve(-order, np.minimum(z, 2000.0)) * np.exp(-z)
        return np.where(squares > 0.0, -2.0 * factor * values, 0.0)

    # A frequency has a multivariate t distribution: normals over the root of one shared chi-squared draw.

    def _scales(self, uniforms: NDArray[np.float64]) -> NDArray[np.float64]:
        chi2 = 2.0 * gammaincinv(float(self.nu), uniforms)
        return np.sqrt(2.0 * self.nu / chi2) / self.width

    def scales(self, rng: Stream, count: int) -> NDArray[np.float64]:
        return self._scales(rng.uniforms((count,)))

    def spectral_dimension(self, n_features: int) -> int:
        return n_features + 1

    def quantiles(self, points: NDArray[np.float64], n_features: int) -> NDArray[np.float64]:
        return self._scales(points[:, n_features:]) * ndtri(points[:, :n_features])

    def spectral_moment(self, n_features: int) -> float:
        if self.nu <= 1.0:
            return np.inf
        return n_features / self.width**2 * self.nu / (self.nu - 1.0)
