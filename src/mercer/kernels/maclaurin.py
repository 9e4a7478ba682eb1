"""Any dot-product kernel, given by the coefficients of its power series."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks import check_positive
from .families import DotProduct

LONGEST_SERIES = 10_000
QUIET_TERMS = 8
LONGEST_GAP = 256


@dataclass(frozen=True, repr=False)
class Maclaurin(DotProduct):
    """Dot-product kernel given by its power series, k(x, y) = sum a_n <x, y>^n with a_n >= 0.

    Parameters
    ----------
    coefficients : sequence of float or callable
        The coefficients a_0, a_1, ..., or a function from n to a_n.
    tol : float, default=1e-15
        The relative precision of a sum whose coefficients are given by a function. The sum ends after eight terms
        below this fraction of it, or after 256 coefficients in a row that are zero.
    radius : float, default=inf
        The radius of convergence of a series whose coefficients are given by a function. Squared norms of rows must
        stay below it.

    Examples
    --------
    >>> float(Maclaurin((1.0, 0.0, 2.0))([[3.0]])[0, 0])
    163.0
    """

    description = "A power series in the inner product of rows: all products of columns, with a weight for each degree."

    coefficients: tuple[float, ...] | Callable[[int], float]
    _: KW_ONLY
    tol: float = 1e-15
    radius: float = np.inf

    def __post_init__(self) -> None:
        check_positive("tol", self.tol)
        if not self.radius > 0:
            raise ValueError(f"radius must be positive, found {self.radius!r}")
        if callable(self.coefficients):
            return
        given = self.coefficients
        coefficients = (
            given if isinstance(given, tuple) else tuple(np.atleast_1d(np.asarray(given, dtype=float)).tolist())
        )
        if not coefficients:
            raise ValueError("coefficients must not be empty")
        for n, a in enumerate(coefficients):
            self._check_coefficient(n, a)
        object.__setattr__(self, "coefficients", coefficients)  # a tuple, because a list is not hashable

    @staticmethod
    def _check_coefficient(n: int, a: Any) -> float:
        if not isinstance(a, numbers.Real) or not np.isfinite(float(a)):
            raise ValueError(f"Maclaurin coefficient a_{n} must be a finite number, found {a!r}")
        if float(a) < 0:
            raise ValueError(
                f"Maclaurin coefficient a_{n} = {a!r} is negative: "
                "the kernel is not positive definite in every dimension"
            )
        return float(a)

    def _coefficient(self, n: int) -> float:
        if not callable(self.coefficients):
            return float(self.coefficients[n])
        try:
            return self._check_coefficient(n, self.coefficients(n))
        except OverflowError as error:  # for example 1 / math.factorial(171), which may be 0 or infinite
            raise ValueError(f"Maclaurin coefficient a_{n} could not be computed: {error}; use floats") from error

    @property
    def max_degree(self) -> int | None:
        return None if callable(self.coefficients) else len(self.coefficients) - 1

    def value(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        if not callable(self.coefficients):
            return np.asarray(np.polynomial.polynomial.polyval(t, self.coefficients), dtype=np.float64)
        total, power, quiet, gap = np.zeros_like(t), np.ones_like(t), 0, 0
        for n in range(LONGEST_SERIES):
            coefficient = self._coefficient(n)
            # A single zero says nothing about the terms after it; a very long run of zeros does.
            gap = gap + 1 if coefficient == 0 else 0
            if coefficient > 0:
                term = coefficient * power
                total = total + term
                quiet = quiet + 1 if np.all(np.abs(term) <= self.tol * np.abs(total)) else 0
            if quiet == QUIET_TERMS or (gap == LONGEST_GAP and gap <= n):
                return total
            power = power * t
        raise ValueError(
            f"the series of {self!r} has not settled after {LONGEST_SERIES} terms: lower the norm of the rows"
        )

    def series(self, count: int) -> NDArray[np.float64]:
        length = count if self.max_degree is None else min(count, self.max_degree + 1)
        coefficients = np.zeros(count)
        coefficients[:length] = [self._coefficient(n) for n in range(length)]
        return coefficients
