"""The kernels that a search tries: families, each with several bandwidths, on columns scaled in some way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._random import Stream
from ..kernels import Kernel, parse
from ..kernels.bandwidth import RULES

LENGTHS = tuple(range(-3, 4))
"""The lengths that are tried first, as base-2 logarithms of their ratio to the length from the kernel's rule."""
STEPS = (-1.0, -0.5, 0.5)
"""The distances of the neighbours of the best kernel from it, in the same units."""
MEDIAN_ROWS = 500
DIGITS = 4


class Family(NamedTuple):
    """A kernel whose bandwidths are learned by rules from the prepared rows ``X``."""

    kernel: Kernel
    scale: str | None
    X: Any
    seed: int

    @property
    def bandwidths(self) -> list[str]:
        """The fields that are rules instead of numbers."""
        return [name for name, value in self.kernel.get_params().items() if isinstance(value, str) and value in RULES]

    def at(self, length: float) -> Candidate:
        """Return the kernel whose length is 2^length times the length of its rule, with four digits."""
        if not self.bandwidths:
            return Candidate(self.kernel, self, 0.0)
        # Applying the rule to rows that are this much further apart works for gamma, for its square and for a length.
        found = self.kernel.resolve(self.X * 2.0**length, self.seed)
        values = {name: float(f"{found.get_params()[name]:.{DIGITS}g}") for name in self.bandwidths}
        return Candidate(found.replace(**values), self, length)


class Candidate(NamedTuple):
    """A kernel of a family; ``length`` is the base-2 logarithm of the ratio of its length to that of the rule."""

    kernel: Kernel
    family: Family
    length: float

    @property
    def name(self) -> tuple[str, str | None]:
        """A key that identifies the candidate: its kernel and its scale."""
        return repr(self.kernel), self.family.scale

    def neighbours(self) -> list[Candidate]:
        """Return the kernels around it; two are narrower, since more rows and features support narrower kernels."""
        return [self.family.at(self.length + step) for step in STEPS] if self.family.bandwidths else []


def families_of(kernels: Sequence[Any]) -> tuple[Kernel, ...]:
    """Return kernels, some of which may be given as text."""
    found = tuple(parse(kernel) if isinstance(kernel, str) else kernel for kernel in kernels)
    if not found:
        raise ValueError("kernels must contain at least one kernel, found none")
    for kernel in found:
        if not isinstance(kernel, Kernel):
            raise TypeError(f"kernels must be kernels of mercer.kernels or text, found {kernel!r}")
    return found


def scales_of(kernel: Kernel, scale: str | None) -> tuple[str | None, ...]:
    """Return the scalings of columns to try for a kernel: two of them if the scaling is left open."""
    if scale != "auto":
        return (scale,)
    return (None,) if kernel.domain_is_non_negative else ("standard", "minmax")


def grid(family: Family) -> list[Candidate]:
    """Return the first candidates of a family, the widest last."""
    if not family.bandwidths:
        return [family.at(0.0)]
    # The length of a polynomial hardly matters if it is small, because the coefficients compensate for it.
    lengths = [length for length in LENGTHS if abs(length) <= 1 or not family.kernel.is_dot_product]
    return [family.at(float(length)) for length in lengths]


def some_rows(X: Any, seed: int) -> Any:
    """Return a few rows, for the rules of bandwidths."""
    chosen = Stream(seed, "tuning", "bandwidths").permutation(X.shape[0])[:MEDIAN_ROWS]
    return X[np.sort(chosen)].astype(np.float64)
