"""Complex arrays without values: pairs of symbols, since operators do not support complex numbers."""

from __future__ import annotations

from typing import Any

from .._array import Traced
from .symbol import Symbol


class ComplexSymbol(Traced):
    """A complex array: its real and its imaginary parts."""

    def __init__(self, real: Symbol, imaginary: Symbol):
        self.real = real
        self.imaginary = imaginary
        self.dtype = real.dtype
        self.shape = real.shape

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return self.real.__array_namespace__(api_version)

    def __mul__(self, other: ComplexSymbol) -> ComplexSymbol:
        a, b, c, d = self.real, self.imaginary, other.real, other.imaginary
        return ComplexSymbol(a * c - b * d, a * d + b * c)

    def record(self, operation: str, *arguments: Any) -> Any:
        return self.real.tracing.operations[operation](self, *arguments)
