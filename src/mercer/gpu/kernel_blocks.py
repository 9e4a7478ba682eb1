"""Kernel values of rows at landmarks on a device: inner products, and a function of distances behind them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from numpy.typing import DTypeLike

from .device import Device, Tensor
from .kernels import compiler, radial_products
from .kernels.radial_values import MOST_COLUMNS, radial_values
from .precision import full_precision

CANCELLED = 1e-6
"""Below this fraction of the squared norms, a squared distance made from inner products is computed again."""


class Landmarks(NamedTuple):
    """Landmarks minus an origin that keeps their norms small, and their squared norms."""

    rows: Tensor
    norms: Tensor
    origin: Tensor

    @classmethod
    def of(cls, landmarks: Tensor) -> Landmarks:
        """Return the kernel values of float64 rows; differences are computed before they are rounded."""
        origin = landmarks.mean(dim=0)
        shifted = landmarks - origin
        return cls(shifted, (shifted * shifted).sum(dim=1), origin)

    def rounded(self, dtype: DTypeLike) -> Landmarks:
        """Return them in this type of torch."""
        return Landmarks(*(part.to(dtype) for part in self))


def squared_distances(device: Device, X: Tensor, landmarks: Landmarks) -> Tensor:
    """Return squared distances between rows and landmarks; in float64, those of close rows are exact."""
    X = X - landmarks.origin
    norms = (X * X).sum(dim=1)
    with full_precision(device):
        distances = device.torch.addmm(landmarks.norms, X, landmarks.rows.T, alpha=-2.0)
    distances += norms[:, None]
    if X.dtype != device.torch.float64:
        return distances.clamp_min_(0.0)
    # A bound for all landmarks of a row first, since one for every pair would take another matrix.
    i, j = (distances <= CANCELLED * (norms + landmarks.norms.max())[:, None]).nonzero(as_tuple=True)
    is_near = distances[i, j] <= CANCELLED * (norms[i] + landmarks.norms[j])
    i, j = i[is_near], j[is_near]
    distances[i, j] = (X[i] - landmarks.rows[j]).square().sum(dim=1)  # all others are above 0
    return distances


def radial_block(device: Device, X: Tensor, landmarks: Landmarks, shape: str, scale: float) -> Tensor:
    """Return a radial kernel of rows and landmarks, by its name in the compiled core and its scale."""
    return SHAPES[shape](squared_distances(device, X, landmarks), scale)


def by_differences(device: Device, landmarks: Tensor, shape: str, scale: float) -> Callable[[Tensor], Tensor] | None:
    """Return a function of float32 rows that computes a radial kernel from differences.

    None where landmarks, given in float64, have more digits or too many columns, or the device has no compiler.
    """
    rounded = landmarks.float().contiguous()
    is_suitable = landmarks.shape[1] <= MOST_COLUMNS and bool((rounded.double() == landmarks).all())
    if not (is_suitable and compiler.runs_on(device.place)):
        return None
    return lambda X: radial_values(X, rounded, shape, scale)


class UnstoredBlock(NamedTuple):
    """Radial kernel values of rows at points, which are computed for every product and never stored.

    Parameters
    ----------
    rows, points : tensor of shape (n, n_columns)
        Float32 tensors.
    shape : str
        The name of the kernel in the compiled core.
    scale : float
        Its scale.
    """

    rows: Tensor
    points: Tensor
    shape: str
    scale: float

    @property
    def T(self) -> UnstoredBlock:
        """The values of the points at the rows."""
        return self._replace(rows=self.points, points=self.rows)

    def __matmul__(self, weights: Tensor) -> Tensor:
        return radial_products.radial_products(self.rows, self.points, weights, self.shape, self.scale)


def unstored(
    device: Device, landmarks: Tensor, shape: str, scale: float, outputs: int
) -> Callable[[Tensor], UnstoredBlock] | None:
    """Return a function of float32 rows for products of their kernel values with this many columns.

    None where the products with stored values are faster, or these values are not computed from differences.
    """
    is_narrow = landmarks.shape[1] <= radial_products.MOST_COLUMNS and outputs <= radial_products.MOST_OUTPUTS
    if not is_narrow or by_differences(device, landmarks, shape, scale) is None:
        return None
    rounded = landmarks.float().contiguous()
    return lambda X: UnstoredBlock(X, rounded, shape, scale)


def dot_product_block(device: Device, X: Tensor, landmarks: Tensor) -> Tensor:
    """Return inner products of rows and landmarks."""
    with full_precision(device):
        return X @ landmarks.T


def _gaussian(squares: Tensor, scale: float) -> Tensor:
    return squares.mul_(-scale).exp_()


def _half(squares: Tensor, scale: float) -> Tensor:
    return squares.sqrt_().mul_(-scale).exp_()


def _three_halves(squares: Tensor, scale: float) -> Tensor:
    z = squares.sqrt_().mul_(scale).clamp_max_(1e30)
    return (z + 1.0).mul_(z.neg_().exp_())


def _five_halves(squares: Tensor, scale: float) -> Tensor:
    z = squares.sqrt_().mul_(scale).clamp_max_(1e18)
    return (z * z).div_(3.0).add_(z).add_(1.0).mul_(z.neg_().exp_())


SHAPES: dict[str, Callable[[Tensor, float], Tensor]] = {
    "gaussian": _gaussian,
    "matern-1/2": _half,
    "matern-3/2": _three_halves,
    "matern-5/2": _five_halves,
}
"""Functions of squared distances, which may be written to, and a scale."""
