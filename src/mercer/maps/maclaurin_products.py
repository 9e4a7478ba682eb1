"""Random products: features that estimate a series sum a_n k^n by products of N scalar features of k."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .. import _core
from .._array import Array, is_sparse, namespace, ones, row_parts, send, sign_product, to_numpy
from .._random import Stream
from ..gpu import kernels
from ..kernels import Composition, Kernel, Scaled
from ._complex import others
from .array_layouts import Choice, Leaf, floats, signs
from .construction import Gpu
from .pair_moments import pair_moments

if TYPE_CHECKING:
    import torch

Series = NDArray[np.float64]

LONGEST_SERIES = 512
LONGEST_PRODUCT = 1 << 20
"""The highest degree of any series that a map can hold."""
RAREST_DEGREE = 60
"""Degrees of an infinite series with a probability below 2**-60 are not drawn."""


NativePart = Callable[[Any, NDArray[Any], int], int | None]
"""Writes features of a tile from a column on, and returns the first row in which one overflowed."""


class RandomProducts(NamedTuple):
    """Random products: feature i is ``weights[i]`` times the product of the next ``degrees[i]`` factors.

    A factor is <signs, x> with one row of signs or, in a composition, a random product of the inner kernel.
    """

    weights: NDArray[np.float64]
    degrees: NDArray[np.int32]
    factors: NDArray[np.int8] | RandomProducts


def canonical(kernel: Kernel) -> Kernel:
    """Return the same kernel with a weight in front of a composition moved into its series."""
    if isinstance(kernel, Scaled):
        inner = canonical(kernel.kernel)
        if isinstance(inner, Composition):
            return Scaled(kernel.weight, inner.outer).of(inner.inner)
    return kernel


def kernel_series(kernel: Kernel, base: float) -> Series:
    """Return the coefficients a_n of f, for f(<x, y>) or f(inner), up to the highest degree that can be drawn."""
    outer = kernel.outer if isinstance(kernel, Composition) else kernel
    if outer.max_degree is not None:
        return outer.series(outer.max_degree + 1)
    if isinstance(kernel, Composition) and kernel.has_spectrum:
        return outer.series(kernel.series_length())  # drawn by their share of the amplitude, whatever the base
    return outer.series(min(LONGEST_SERIES, 1 + math.ceil(RAREST_DEGREE / math.log2(base))))


def argument(kernel: Kernel) -> Kernel | None:
    """Return the argument of the series: an inner kernel, or None for <x, y>."""
    return kernel.inner if isinstance(kernel, Composition) else None


def degree_law(series: Series, base: float) -> Series:
    """Return P[n], proportional to base^-n over the degrees of the series."""
    degrees = np.flatnonzero(series)
    if degrees.size == 0:
        return np.zeros(len(series))
    with np.errstate(under="ignore"):
        law = np.where(series > 0, float(base) ** -(np.arange(len(series)) - float(degrees[0])).clip(0.0), 0.0)
    return law / law.sum()


def fixed_counts(law: Series, count: int) -> NDArray[np.int64]:
    """Return the number of features per degree: one each, most probable first, and the rest in proportion to P."""
    counts = np.zeros(len(law), dtype=np.int64)
    kept = np.flatnonzero(law)[:count]
    counts[kept] = 1
    exact = law[kept] / law[kept].sum() * (count - len(kept))
    counts[kept] += np.floor(exact).astype(np.int64)
    rest = count - int(counts.sum())
    counts[kept[np.argsort(np.floor(exact) - exact, kind="stable")[:rest]]] += 1
    return counts


def draw_products(
    rng: Stream, series: Series, inner: Kernel | None, base: float, count: int, n_features: int, fixed: bool = False
) -> RandomProducts:
    """Draw ``count`` independent scalar features of the series; with ``fixed`` counts per degree, one map."""
    law = degree_law(series, base)
    if not law.any():
        degrees, weights = np.zeros(count, dtype=np.int32), np.zeros(count)
    elif fixed:
        counts = fixed_counts(law, count)
        degrees = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
        weights = np.sqrt(series[degrees] / counts[degrees])
    else:
        degrees = rng.child("degrees").categories(law, count)
        weights = np.sqrt(series[degrees] / law[degrees])
    total = int(degrees.sum())
    if inner is None or total == 0:
        return RandomProducts(weights, degrees, rng.child("signs").signs((total, n_features)))
    nested = draw_products(rng.child("inner"), kernel_series(inner, base), argument(inner), base, total, n_features)
    return RandomProducts(weights, degrees, nested)


def product_layout(kernel: Kernel, count: int | None, n_features: int) -> RandomProducts:
    """Return the layout of random products, whose factors are signs or the products of an inner kernel."""
    inner, factors = argument(kernel), signs(None, n_features)
    if inner is not None:
        factors = Choice(factors, product_layout(inner, None, n_features))
    degrees: Any = Leaf(("int32",), (count,), 0, LONGEST_PRODUCT)
    return RandomProducts(floats(count, least=0.0), degrees, factors)


def check_products(params: RandomProducts) -> None:
    """Raise a ValueError if the degrees do not match the number of factors."""
    factors = params.factors
    found = len(factors.weights if isinstance(factors, RandomProducts) else factors)
    wanted = int(params.degrees.sum(dtype=np.int64))
    if found != wanted or len(params.weights) != len(params.degrees):
        raise ValueError(
            f"{len(params.weights)} products of {len(params.degrees)} degrees need {wanted} factors, found {found}"
        )
    if isinstance(factors, RandomProducts):
        check_products(factors)


def random_products(params: RandomProducts, X: Array) -> Array:
    """Compute the features of one tile."""
    xp = namespace(X)
    degrees = to_numpy(params.degrees)
    starts = np.cumsum(degrees) - degrees
    inner = random_products(params.factors, X) if isinstance(params.factors, RandomProducts) else None

    def factor(numbers: NDArray[Any]) -> Array:
        chosen = send(numbers, X)
        if inner is not None:
            return xp.take(inner, chosen, axis=1)
        return sign_product(X, xp.take(params.factors, chosen, axis=0))

    groups, order = [ones(X, 0)], [np.zeros(0, dtype=np.int64)]
    for degree in np.unique(degrees).tolist():
        owners = np.flatnonzero(degrees == degree)
        group = ones(X, len(owners))
        for place in range(degree):
            group = group * factor(starts[owners] + place)
        groups.append(group)
        order.append(owners)
    places = np.argsort(np.concatenate(order))
    return xp.take(xp.concat(groups, axis=1), send(places, X), axis=1) * params.weights


def pull_random_products(params: RandomProducts, X: NDArray[np.float64], G: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the gradients of <g, z(x)> of the features of :func:`random_products`, for every row x."""
    degrees, weighted = params.degrees, G * params.weights
    starts, inner = np.cumsum(degrees) - degrees, params.factors
    values = random_products(inner, X) if isinstance(inner, RandomProducts) else sign_product(X, inner)
    slopes = np.zeros_like(values)
    for degree in np.unique(degrees[degrees > 0]).tolist():
        owners = np.flatnonzero(degrees == degree)
        places = [starts[owners] + place for place in range(degree)]
        for place, rest in zip(places, others([values[:, one] for one in places]), strict=True):
            slopes[:, place] = weighted[:, owners] * rest
    return pull_random_products(inner, X, slopes) if isinstance(inner, RandomProducts) else slopes @ inner


def flattened(params: RandomProducts) -> RandomProducts:
    """Return the same features as products of sign projections only: products of products are products."""
    if not isinstance(params.factors, RandomProducts):
        return params
    inner, ends = flattened(params.factors), np.cumsum(params.degrees)
    counts = np.concatenate([[0], np.cumsum(inner.degrees)])
    weights = params.weights.astype(np.float64)
    np.multiply.at(weights, np.repeat(np.arange(len(weights)), params.degrees), inner.weights)
    return RandomProducts(weights, np.diff(counts[np.concatenate([[0], ends])]).astype(np.int32), inner.factors)


def native_random_products(params: RandomProducts, scale: float, dtype: DTypeLike) -> NativePart | None:
    """Return a function that writes scaled features; None if weights of nested products exceed the type."""
    flat = flattened(params)
    weights = (flat.weights.astype(np.float64) * scale).astype(dtype)
    if flat is not params and not ((weights >= np.finfo(dtype).tiny) & np.isfinite(weights)).all():
        return None
    factors: Any = flat.factors
    products = _core.in_stretches(flat.degrees, weights[:, None], factors.shape[1])
    return native_products(products, lambda start, stop: factors[start:stop] < 0)


def gpu_random_products(params: RandomProducts, scale: float, first: int, device: torch.device) -> Gpu | None:
    """Return a function that writes scaled features on a GPU from column ``first`` on, or None as above."""
    flat = flattened(params)
    weights = flat.weights.astype(np.float64) * scale
    single = weights.astype(np.float32)
    if flat is not params and not ((single >= np.finfo(np.float32).tiny) & np.isfinite(single)).all():
        return None
    factors: Any = flat.factors
    return kernels.sign_products(factors, flat.degrees, weights, first, device)


def native_products(products: _core.SignProducts, negative: Callable[[int, int], NDArray[Any]]) -> NativePart:
    """Return a function that writes such products; their signs are packed when the first rows arrive."""

    lock = Lock()  # otherwise all threads would pack at once

    @cache
    def packed(sparse: bool) -> NDArray[Any]:
        return (_core.sparse_signs if sparse else _core.dense_signs)(products, negative)

    def write(X: Array, out: NDArray[Any], first: int = 0) -> int | None:
        with lock:
            table = packed(is_sparse(X))
        return _core.sign_products(row_parts(X), table, products, out, first)

    return write


def second_moment(kernel: Kernel, base: float, X: Array, Y: Array, series: Series | None = None) -> Series:
    """Compute E[W(x)^2 W(y)^2] of one scalar feature W of the kernel, infinite where its series diverges.

    ``series`` replaces the kernel's own if only some of its degrees are drawn.
    """
    inner = argument(kernel)
    factor = pair_moments(X, Y).R if inner is None else second_moment(inner, base, X, Y)
    series = kernel_series(kernel, base) if series is None else series
    law = degree_law(series, base)
    weights = np.divide(series**2, law, out=np.zeros_like(series), where=law > 0)
    with np.errstate(over="ignore"):
        moment = np.polynomial.polynomial.polyval(factor, weights)
    outer = kernel.outer if isinstance(kernel, Composition) else kernel
    endless = outer.max_degree is None
    return np.where(endless & (base * factor >= outer.radius**2), np.inf, moment)
