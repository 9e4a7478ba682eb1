"""Rows outside the domain of a kernel: the library refuses them, and an exported model returns NaN."""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from ..kernels import Kernel, SkewedChi2, SkewedIntersection
from ..kernels.additive import Additive
from ..kernels.algebra import Product, Scaled, Sum
from ..kernels.composition import Composition, DistanceComposition
from ..kernels.families import DotProduct
from . import namespace as xp
from .operations.kernel_values import diagonal
from .symbol import Symbol


@singledispatch
def check_rows(kernel: Kernel, X: Symbol) -> None:
    """Make the model refuse rows outside the domain of a kernel."""
    if isinstance(kernel, DotProduct) and np.isfinite(kernel.radius):
        precise = X.astype(np.float64)
        xp.any(xp.sum(precise * precise, axis=1) >= kernel.radius)


@check_rows.register
def _(kernel: Additive, X: Symbol) -> None:
    xp.any(X < 0.0)


@check_rows.register
def _(kernel: SkewedChi2 | SkewedIntersection, X: Symbol) -> None:
    xp.any(~(X * (1.0 / kernel.skewedness) > -1.0))


@check_rows.register
def _(kernel: Sum | Product, X: Symbol) -> None:
    check_rows(kernel.left, X)
    check_rows(kernel.right, X)


@check_rows.register
def _(kernel: Scaled, X: Symbol) -> None:
    check_rows(kernel.kernel, X)


@check_rows.register
def _(kernel: DistanceComposition, X: Symbol) -> None:
    check_rows(kernel.inner, X)


@check_rows.register
def _(kernel: Composition, X: Symbol) -> None:
    check_rows(kernel.inner, X)
    if np.isfinite(kernel.outer.radius):
        xp.any(diagonal(kernel.inner, X.astype(np.float64)) >= kernel.outer.radius)
