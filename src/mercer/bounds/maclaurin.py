"""Hoeffding's bound and the uniform bound for RandomMaclaurin over all rows of a ball."""

from __future__ import annotations

import math
import numbers

import numpy as np

from .._checks import check_positive, check_whole
from ..kernels import Kernel
from ..kernels.parse import as_kernel
from .hoeffding import least_count, tail

SERIES_LENGTHS = (64, 512, 4096, 32768)
"""The numbers of terms of an infinite series that are tried for its derivative, until the sum converges."""


def maclaurin_range(kernel: Kernel | str, radius: float, *, base: float = 2.0) -> float:
    r"""Return the largest product of two features of RandomMaclaurin, times their number D.

    It is the range that :func:`hoeffding_error` needs, for rows of 1-norm at most r.

    Parameters
    ----------
    kernel : Kernel or str
        A dot-product kernel with a number in every field, or text that describes one.
    radius : float
        The largest 1-norm r of a row. A ValueError is raised if base r^2 is outside the radius of convergence, where no
        bound exists.
    base : float, default=2.0
        The base q of the map.

    Returns
    -------
    float
        The range C = q / (q - 1) f(q r^2).

    Notes
    -----
    The map draws the degree N with P[n] = q^-n / S over the degrees with a_n > 0 that it can draw. Over all degrees, S
    would be q / (q - 1), so it is no larger, and the product is at most :math:`a_N / P[N] r^{2N} = S a_N (q r^2)^N \le
    C`: omitting degrees makes P larger and the product smaller. (The paper's q f(q r^2) is the same at q = 2;
    otherwise its P is not normalised.)

    The range is for the plain map of a dot-product kernel. With ``exact_terms``, give the kernel of the other degrees
    and their width; with ``max_degree``, degrees are not drawn and the range does not hold. An infinite series is
    truncated where P falls below 2^-60, which changes the mean by less than 2^-60 C. With a base below 1.085 it is
    truncated at degree 511, and the error is then meant up to base^-512 C.

    Examples
    --------
    >>> from mercer.kernels import Exponential
    >>> round(maclaurin_range(Exponential(), 0.5), 3)
    3.297
    """
    kernel = as_kernel(kernel)
    value = _value(kernel, _argument(kernel, radius, base))
    return _finite(base / (base - 1.0) * value, kernel)


def maclaurin_lipschitz(kernel: Kernel | str, radius: float, n_features: int, *, base: float = 2.0) -> float:
    r"""Return a Lipschitz constant of the error of RandomMaclaurin in the 1-norm ball of radius r.

    Parameters
    ----------
    kernel : Kernel or str
        A dot-product kernel with a number in every field, or text that describes one.
    radius : float
        The largest 1-norm r of a row.
    n_features : int
        The number d of columns.
    base : float, default=2.0
        The base q of the map.

    Returns
    -------
    float
        The constant L of :func:`uniform_error`, :math:`r f'(r^2) + \frac{q^2}{q-1} r \sqrt d f'(q r^2)`: the slope of
        the kernel plus that of the features.

    Notes
    -----
    Lemma 6 of Kar and Karnick lacks the r of the first term, which makes it false for r > 1; the second term is their
    Lemma 7 for any base.

    Examples
    --------
    For k = <x, y>^2 at x = y = r = 2, the slope is 2 <x, y> y = 16, where the paper has f'(r^2) = 8:
    >>> from mercer.kernels import Polynomial
    >>> k, r, h = Polynomial(2), 2.0, 1e-6
    >>> round((k([[r + h]], [[r]]).item() - k([[r - h]], [[r]]).item()) / (2 * h), 3), 2 * r**2
    (16.0, 8.0)
    >>> round(maclaurin_lipschitz(k, r, n_features=1), 9)  # 16 for the kernel, 128 for the features
    144.0
    """
    check_whole("n_features", n_features)
    kernel = as_kernel(kernel)
    t = _argument(kernel, radius, base)
    features = base**2 / (base - 1.0) * math.sqrt(n_features) * _slope(kernel, t)
    return _finite(radius * (_slope(kernel, t / base) + features), kernel)


def uniform_error(
    n_components: int, kernel: Kernel | str, radius: float, n_features: int, *, epsilon: float, base: float = 2.0
) -> float:
    r"""Bound the probability that the error of RandomMaclaurin exceeds epsilon for any pair in a 1-norm ball.

    A guarantee for rows not seen yet; for single pairs use :func:`hoeffding_error`.

    Parameters
    ----------
    n_components : int
        The number D of features.
    kernel : Kernel or str
        A dot-product kernel with a number in every field, or text that describes one.
    radius : float
        The largest 1-norm r of a row.
    n_features : int
        The number d of columns.
    epsilon : float
        The absolute error.
    base : float, default=2.0
        The base of the map.

    Returns
    -------
    float
        A bound on P[sup abs(<Z(x), Z(y)> - k(x, y)) > epsilon].

    Notes
    -----
    This is Kar and Karnick's Theorem 8, :math:`2 \max(1, 32 r L/\epsilon)^{2d} \exp(-D \epsilon^2 / (8 C^2))` with L
    of :func:`maclaurin_lipschitz` and C of :func:`maclaurin_range`, which state the hypotheses. The paper omits the
    max; but a net has at least one point, and without the max the bound is false in small balls.

    Examples
    --------
    A single feature for exp(<x, y>) turns small rows into 2 or nearly 0, each with probability 1/2, and never into 1:

    >>> from mercer.kernels import Exponential
    >>> k, r, d, epsilon = Exponential(), 0.01, 10, 0.5
    >>> bool((32 * r * maclaurin_lipschitz(k, r, d) / epsilon) ** (2 * d) < 1e-20)  # the paper's first factor
    True
    >>> uniform_error(1, k, r, d, epsilon=epsilon)
    1.0
    >>> round(uniform_error(2000, k, 0.5, 1, epsilon=1.0), 8)
    8.2e-07
    """
    kernel = as_kernel(kernel)
    net = _log_pairs(kernel, radius, n_features, epsilon, base)
    return tail(n_components, maclaurin_range(kernel, radius, base=base), epsilon / 2.0, net)


def uniform_components(
    kernel: Kernel | str, radius: float, n_features: int, *, epsilon: float, delta: float, base: float = 2.0
) -> int:
    """Return the number of features that brings :func:`uniform_error` down to delta.

    Parameters
    ----------
    kernel : Kernel or str
        A dot-product kernel with a number in every field, or text that describes one.
    radius : float
        The largest 1-norm of a row.
    n_features : int
        The number of columns.
    epsilon : float
        The absolute error.
    delta : float
        The probability of a larger error.
    base : float, default=2.0
        The base of the map.

    Returns
    -------
    int
        The number of features.

    Examples
    --------
    >>> from mercer.kernels import Exponential
    >>> uniform_components(Exponential(), 0.5, 10, epsilon=0.4, delta=0.01)
    69132
    """
    kernel = as_kernel(kernel)
    net = _log_pairs(kernel, radius, n_features, epsilon, base)
    return least_count(delta, maclaurin_range(kernel, radius, base=base), epsilon / 2.0, net)


def _log_pairs(kernel: Kernel, radius: float, n_features: int, epsilon: float, base: float) -> float:
    """Return the logarithm of the number of pairs of points of an epsilon / (4 L)-net of the ball."""
    check_positive("epsilon", epsilon)
    slope = maclaurin_lipschitz(kernel, radius, n_features, base=base)
    size = math.log(32.0) + math.log(radius) + math.log(slope) - math.log(epsilon) if slope > 0.0 else 0.0
    return 2 * n_features * max(0.0, size)


def _finite(value: float, kernel: Kernel) -> float:
    if not value < math.inf:
        raise ValueError(f"the bound for {kernel!r} overflows, so that no width is large enough: scale the rows down")
    return float(value)


def _argument(kernel: Kernel, radius: float, base: float) -> float:
    """Return base radius^2, where the series must converge."""
    if not isinstance(base, numbers.Real) or not 1.0 < float(base) < math.inf:
        raise ValueError(f"base must be a finite number above 1, found {base!r}")
    check_positive("radius", radius)
    kernel.series(1)  # raises if the kernel has no series or one with negative coefficients
    t = float(base) * float(radius) * float(radius)
    if t >= kernel.radius:
        raise ValueError(
            f"base * radius^2 = {t:g} is not below {kernel.radius:g}, where the series of {kernel!r} diverges: "
            "the features have no bound there; scale the rows down or lower the base"
        )
    return t


def _value(kernel: Kernel, t: float) -> float:
    """Return f(t) of a dot-product kernel: its value at two equal rows of one column."""
    row = np.array([[math.sqrt(t)]])
    with np.errstate(over="ignore", invalid="ignore"):
        return _finite(kernel.gram(row, row).item(), kernel)


def _slope(kernel: Kernel, t: float) -> float:
    """Return f'(t) = sum n a_n t^(n - 1), as soon as the terms of f add up to f(t)."""
    value, end = _value(kernel, t), kernel.max_degree
    for length in SERIES_LENGTHS if end is None else (end + 1,):
        degrees = np.arange(length)
        with np.errstate(divide="ignore", over="ignore"):
            terms = np.exp(np.log(kernel.series(length)) + degrees * math.log(t))
        if math.isclose(terms.sum(), value, rel_tol=1e-10):
            return float(degrees @ terms) / t
    raise ValueError(f"the series of {kernel!r} cannot be summed at {t:g}: scale the rows down or lower the base")
