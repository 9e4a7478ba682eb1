"""Kernels made from other kernels on the same rows: sums, positive multiples and products."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .._array import Array
from .._checks import check_positive
from .._random import Stream
from ..gpu.device import Device
from .base import Kernel, format_value, operation, operation_named


def settle_kernel(owner: Kernel, name: str) -> None:
    """Replace a field that was given as text by the kernel that the text describes."""
    object.__setattr__(owner, name, operation_named("as_kernel")(getattr(owner, name), name))


@dataclass(frozen=True, repr=False)
class _Pair(Kernel):
    """Base class of kernels that combine two kernels evaluated on the same rows."""

    left: Kernel
    right: Kernel

    def __post_init__(self) -> None:
        settle_kernel(self, "left")
        settle_kernel(self, "right")

    @property
    def is_dot_product(self) -> bool:
        return self.left.is_dot_product and self.right.is_dot_product

    @property
    def is_shift_invariant(self) -> bool:
        return self.left.is_shift_invariant and self.right.is_shift_invariant

    @property
    def has_spectrum(self) -> bool:
        return self.left.has_spectrum and self.right.has_spectrum and self.left.chart == self.right.chart

    @property
    def chart(self) -> Hashable:
        return self.left.chart

    def coordinates(self, X: Array) -> Array:
        return self.left.coordinates(X)

    def coordinate_slopes(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.left.coordinate_slopes(X)

    @property
    def has_gradient(self) -> bool:
        return self.left.has_gradient and self.right.has_gradient

    @property
    def is_rotation_invariant(self) -> bool:
        rotates = self.left.is_rotation_invariant and self.right.is_rotation_invariant
        return rotates and self.left.chart == self.right.chart

    def tensor_values_at(self, landmarks: Array, device: Device, dtype: DTypeLike) -> Callable[[Any], Any]:
        left, right = (side.tensor_values_at(landmarks, device, dtype) for side in (self.left, self.right))
        return lambda X: self.joined(left(X), right(X))

    @staticmethod
    @abstractmethod
    def joined(left: Any, right: Any) -> Any:
        """Combine the values of both kernels.

        Parameters
        ----------
        left : object
            A value of the left kernel: a number, an array or a tensor.
        right : object
            The same value of the right kernel.

        Returns
        -------
        object
            The value of the combined kernel.
        """

    @property
    def radius(self) -> float:
        return min(self.left.radius, self.right.radius)

    @property
    def takes_every_row(self) -> bool:
        return self.left.takes_every_row and self.right.takes_every_row

    def check_rows(self, X: Array) -> None:
        self.left.check_rows(X)
        self.right.check_rows(X)


@operation
@dataclass(frozen=True, repr=False)
class Sum(_Pair):
    """The sum of two kernels, k(x, y) = left(x, y) + right(x, y).

    Its features are the features of both kernels, concatenated. Usually written ``left + right``.

    Parameters
    ----------
    left : Kernel or str
        The first kernel, or text that :func:`parse` understands.
    right : Kernel or str
        The second kernel.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> 0.7 * Gaussian(0.5) + Linear()
    0.7 * Gaussian(gamma=0.5) + Linear()
    """

    description = "Rows are similar if either of two kernels says so; the learned function is a sum of two parts."

    def __repr__(self) -> str:
        right = f"({self.right!r})" if isinstance(self.right, Sum) else repr(self.right)
        return f"{self.left!r} + {right}"

    @staticmethod
    def joined(left: Any, right: Any) -> Any:
        return left + right

    def gram(self, X: Array, Y: Array) -> NDArray[np.float64]:
        return self.left.gram(X, Y) + self.right.gram(X, Y)

    def diagonal(self, X: Array) -> NDArray[np.float64]:
        return self.left.diagonal(X) + self.right.diagonal(X)

    def gradients(self, X: Array, Y: Array, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.left.gradients(X, Y, weights) + self.right.gradients(X, Y, weights)

    def field_gradients(self, X: Array, Y: Array, weights: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        sides = {name: getattr(self, name).field_gradients(X, Y, weights) for name in ("left", "right")}
        return {f"{side}__{name}": found for side, fields in sides.items() for name, found in fields.items()}

    def value(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.left.value(t) + self.right.value(t)

    @property
    def max_degree(self) -> int | None:
        left, right = self.left.max_degree, self.right.max_degree
        return None if left is None or right is None else max(left, right)

    def series(self, count: int) -> NDArray[np.float64]:
        return self.left.series(count) + self.right.series(count)

    @property
    def amplitude(self) -> float:
        return self.left.amplitude + self.right.amplitude

    def spectral_block(self, X: Array, Y: Array) -> NDArray[np.float64]:
        return self.left.spectral_block(X, Y) + self.right.spectral_block(X, Y)

    def frequencies(self, rng: Stream, count: int, n_features: int) -> NDArray[np.float64]:
        from_left = rng.child("side").uniforms((count, 1)) < self.left.amplitude / self.amplitude
        left = self.left.frequencies(rng.child("left"), count, n_features)
        return np.where(from_left, left, self.right.frequencies(rng.child("right"), count, n_features))

    def spectral_dimension(self, n_features: int) -> int:
        return 1 + max(self.left.spectral_dimension(n_features), self.right.spectral_dimension(n_features))

    def quantiles(self, points: NDArray[np.float64], n_features: int) -> NDArray[np.float64]:
        from_left, rest = points[:, :1] < self.left.amplitude / self.amplitude, points[:, 1:]
        left, right = (
            side.quantiles(rest[:, : side.spectral_dimension(n_features)], n_features)
            for side in (self.left, self.right)
        )
        return np.where(from_left, left, right)

    def spectral_moment(self, n_features: int) -> float:
        moments = [side.amplitude * side.spectral_moment(n_features) for side in (self.left, self.right)]
        return sum(moments) / self.amplitude

    def scales(self, rng: Stream, count: int) -> NDArray[np.float64]:
        from_left = rng.child("side").uniforms((count,)) < self.left.amplitude / self.amplitude
        left = self.left.scales(rng.child("left"), count)
        return np.where(from_left, left, self.right.scales(rng.child("right"), count))

    def radial(self, squares: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.left.radial(squares) + self.right.radial(squares)


@operation
@dataclass(frozen=True, repr=False)
class Product(_Pair):
    """The product of two kernels, k(x, y) = left(x, y) right(x, y).

    Its features are the tensor product of the features of both kernels. Usually written ``left * right``.

    Parameters
    ----------
    left : Kernel or str
        The first kernel, or text that :func:`parse` understands.
    right : Kernel or str
        The second kernel.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> float((Gaussian(0.5) * Linear())([[2.0]])[0, 0])
    4.0
    """

    description = "Rows are similar only if both of two kernels say so."

    def __repr__(self) -> str:
        left = f"({self.left!r})" if isinstance(self.left, Sum) else repr(self.left)
        right = f"({self.right!r})" if isinstance(self.right, Sum | Product | Scaled) else repr(self.right)
        return f"{left} * {right}"

    @staticmethod
    def joined(left: Any, right: Any) -> Any:
        return left * right

    def gram(self, X: Array, Y: Array) -> NDArray[np.float64]:
        return self.left.gram(X, Y) * self.right.gram(X, Y)

    def diagonal(self, X: Array) -> NDArray[np.float64]:
        return self.left.diagonal(X) * self.right.diagonal(X)

    def gradients(self, X: Array, Y: Array, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        of_left = self.left.gradients(X, Y, weights * self.right.gram(X, Y))
        return of_left + self.right.gradients(X, Y, weights * self.left.gram(X, Y))

    def field_gradients(self, X: Array, Y: Array, weights: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        sides = {
            "left": self.left.field_gradients(X, Y, weights * self.right.gram(X, Y)),
            "right": self.right.field_gradients(X, Y, weights * self.left.gram(X, Y)),
        }
        return {f"{side}__{name}": found for side, fields in sides.items() for name, found in fields.items()}

    def value(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.left.value(t) * self.right.value(t)

    @property
    def max_degree(self) -> int | None:
        left, right = self.left.max_degree, self.right.max_degree
        return None if left is None or right is None else left + right

    def series(self, count: int) -> NDArray[np.float64]:
        return np.convolve(self.left.series(count), self.right.series(count))[:count]

    @property
    def amplitude(self) -> float:
        return self.left.amplitude * self.right.amplitude

    def spectral_block(self, X: Array, Y: Array) -> NDArray[np.float64]:
        return self.left.spectral_block(X, Y) * self.right.spectral_block(X, Y)

    def frequencies(self, rng: Stream, count: int, n_features: int) -> NDArray[np.float64]:
        left = self.left.frequencies(rng.child("left"), count, n_features)
        return left + self.right.frequencies(rng.child("right"), count, n_features)

    def spectral_dimension(self, n_features: int) -> int:
        return self.left.spectral_dimension(n_features) + self.right.spectral_dimension(n_features)

    def quantiles(self, points: NDArray[np.float64], n_features: int) -> NDArray[np.float64]:
        cut = self.left.spectral_dimension(n_features)
        left = self.left.quantiles(points[:, :cut], n_features)
        return left + self.right.quantiles(points[:, cut:], n_features)

    def spectral_moment(self, n_features: int) -> float:
        return self.left.spectral_moment(n_features) + self.right.spectral_moment(n_features)

    def scales(self, rng: Stream, count: int) -> NDArray[np.float64]:
        return np.hypot(self.left.scales(rng.child("left"), count), self.right.scales(rng.child("right"), count))

    def radial(self, squares: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.left.radial(squares) * self.right.radial(squares)


@operation
@dataclass(frozen=True, repr=False)
class Scaled(Kernel):
    """A positive multiple of a kernel, k(x, y) = weight kernel(x, y).

    Usually written ``weight * kernel``.

    Parameters
    ----------
    weight : float
        The factor, which must be positive.
    kernel : Kernel or str
        The kernel, or text that :func:`parse` understands.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> 0.5 * Gaussian(2.0)
    0.5 * Gaussian(gamma=2.0)
    """

    description = "Another kernel, multiplied by a weight."

    weight: float
    kernel: Kernel

    def __post_init__(self) -> None:
        check_positive("the weight of a kernel", self.weight)
        settle_kernel(self, "kernel")

    def __repr__(self) -> str:
        inner = f"({self.kernel!r})" if isinstance(self.kernel, Sum | Product | Scaled) else repr(self.kernel)
        return f"{format_value(self.weight)} * {inner}"

    def gram(self, X: Array, Y: Array) -> NDArray[np.float64]:
        return self.weight * self.kernel.gram(X, Y)

    def tensor_values_at(self, landmarks: Array, device: Device, dtype: DTypeLike) -> Callable[[Any], Any]:
        values = self.kernel.tensor_values_at(landmarks, device, dtype)
        return lambda X: values(X).mul_(self.weight)

    def diagonal(self, X: Array) -> NDArray[np.float64]:
        return self.weight * self.kernel.diagonal(X)

    @property
    def has_gradient(self) -> bool:
        return self.kernel.has_gradient

    def gradients(self, X: Array, Y: Array, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.weight * self.kernel.gradients(X, Y, weights)

    def field_gradients(self, X: Array, Y: Array, weights: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        inner = self.kernel.field_gradients(X, Y, self.weight * weights)
        own = np.asarray((weights * self.gram(X, Y)).sum())
        return {"weight": own} | {f"kernel__{name}": found for name, found in inner.items()}

    def value(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.weight * self.kernel.value(t)

    @property
    def takes_every_row(self) -> bool:
        return self.kernel.takes_every_row

    def check_rows(self, X: Array) -> None:
        self.kernel.check_rows(X)

    @property
    def is_dot_product(self) -> bool:
        return self.kernel.is_dot_product

    @property
    def is_shift_invariant(self) -> bool:
        return self.kernel.is_shift_invariant

    @property
    def has_spectrum(self) -> bool:
        return self.kernel.has_spectrum

    @property
    def is_rotation_invariant(self) -> bool:
        return self.kernel.is_rotation_invariant

    @property
    def max_degree(self) -> int | None:
        return self.kernel.max_degree

    @property
    def radius(self) -> float:
        return self.kernel.radius

    def series(self, count: int) -> NDArray[np.float64]:
        return self.weight * self.kernel.series(count)

    @property
    def amplitude(self) -> float:
        return self.weight * self.kernel.amplitude

    @property
    def chart(self) -> Hashable:
        return self.kernel.chart

    def coordinates(self, X: Array) -> Array:
        return self.kernel.coordinates(X)

    def coordinate_slopes(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.kernel.coordinate_slopes(X)

    def spectral_block(self, X: Array, Y: Array) -> NDArray[np.float64]:
        return self.weight * self.kernel.spectral_block(X, Y)

    def frequencies(self, rng: Stream, count: int, n_features: int) -> NDArray[np.float64]:
        return self.kernel.frequencies(rng, count, n_features)

    def spectral_dimension(self, n_features: int) -> int:
        return self.kernel.spectral_dimension(n_features)

    def quantiles(self, points: NDArray[np.float64], n_features: int) -> NDArray[np.float64]:
        return self.kernel.quantiles(points, n_features)

    def spectral_moment(self, n_features: int) -> float:
        return self.kernel.spectral_moment(n_features)

    def scales(self, rng: Stream, count: int) -> NDArray[np.float64]:
        return self.kernel.scales(rng, count)

    def radial(self, squares: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.weight * self.kernel.radial(squares)


def without_weight(kernel: Kernel) -> tuple[float, Any]:
    """Split a kernel into its weight and the kernel that the weight multiplies."""
    weight = 1.0
    while isinstance(kernel, Scaled):
        weight, kernel = weight * float(kernel.weight), kernel.kernel
    return weight, kernel
