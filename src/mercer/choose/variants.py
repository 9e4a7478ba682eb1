"""The machines that a search tries after a pilot, and how they differ."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from ..kernels import Gaussian, Kernel, Matern
from ..learn.pilot.search import GAUSSIAN, MATERN_1, MATERN_3, Family, matern

MATERN_5 = Family(1, matern(2.5))
UNITS = {GAUSSIAN: 1.0, MATERN_5: 1.0, MATERN_3: 0.5, MATERN_1: 0.25}
"""Kernels from smooth to rough, with factors between their bandwidths: rough ones are wider."""
LOSSES = {"squared_hinge": 1.0, "squared": 1.0, "logistic": 4.0}
"""The losses of classifiers, with factors for C, which is larger for losses with less curvature."""
DIGITS = 6
"""The rounds in which machines are compared."""


class Variant(NamedTuple):
    """One machine: the arguments in which it differs from others."""

    family: Family
    gamma: float
    """The bandwidth of the kernel, 1 over its squared length."""
    features: int
    loss: str
    penalty: float
    """The alpha of a regressor, or the C of a classifier."""
    columns: int
    """The number of the learned scales of the columns; 0 means none."""

    @property
    def kernel(self) -> Kernel:
        """The kernel with its bandwidth."""
        return self.family.make(self.gamma)

    @property
    def name(self) -> tuple[object, ...]:
        """A key that identifies the machine: the variant with its numbers rounded."""
        gamma, penalty = (float(f"{number:.{DIGITS}g}") for number in (self.gamma, self.penalty))
        return self._replace(gamma=gamma, penalty=penalty)


def family_of(kernel: Kernel) -> tuple[Family, float]:
    """Return the family of a Gaussian or Matern kernel whose bandwidth is a number, and the bandwidth.

    Examples
    --------
    >>> family, gamma = family_of(Matern(1.5, length_scale=2.0))
    >>> family.make(gamma), gamma
    (Matern(nu=1.5, length_scale=2.0), 0.25)
    """
    if isinstance(kernel, Gaussian):
        return GAUSSIAN, float(kernel.gamma)  # type: ignore[arg-type]
    assert isinstance(kernel, Matern)
    by_smoothness = {0.5: MATERN_1, 1.5: MATERN_3, 2.5: MATERN_5}
    return by_smoothness[float(kernel.nu)], float(kernel.length_scale) ** -2.0  # type: ignore[arg-type]


def other_kernels(best: Variant, step: float) -> Iterator[Variant]:
    """Yield the machine with kernels that are smoother or rougher."""
    for family, unit in UNITS.items():
        if family != best.family:
            yield best._replace(family=family, gamma=best.gamma * unit / UNITS[best.family])


def other_bandwidths(best: Variant, step: float) -> Iterator[Variant]:
    """Yield the machine with wider and narrower kernels."""
    for factor in (1.0 / step, step):
        yield best._replace(gamma=best.gamma * factor)


def other_penalties(best: Variant, step: float) -> Iterator[Variant]:
    """Yield the machine with more and with less regularisation."""
    for factor in (1.0 / step, step):
        yield best._replace(penalty=best.penalty * factor**2)


def other_losses(best: Variant, step: float) -> Iterator[Variant]:
    """Yield the machine with other losses of a classifier."""
    for loss, bent in LOSSES.items():
        if loss != best.loss:
            yield best._replace(loss=loss, penalty=best.penalty * bent / LOSSES[best.loss])


def finer(step: float) -> float:
    """Return the next smaller step.

    Examples
    --------
    >>> finer(4.0)
    2.0
    """
    return math.sqrt(step)
