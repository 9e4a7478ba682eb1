"""Hoeffding's bound for an average of independent estimates."""

from __future__ import annotations

import math
from decimal import Decimal

from .._checks import check_positive, check_probability, check_whole

LARGEST_LOG = 700.0


def hoeffding_error(count: int, largest: float, *, epsilon: float) -> float:
    r"""Bound the probability that an average of independent unbiased estimates is off by epsilon or more.

    For rows of which only the 1-norm is known; if they are known, :func:`relative_error` is far smaller.

    Parameters
    ----------
    count : int
        The number n of estimates: the features of a RandomMaclaurin, or whole TensorSketches, each of which counts
        once, however wide it is.
    largest : float
        The largest absolute value C of an estimate, from :func:`maclaurin_range` or :func:`sketch_range`.
    epsilon : float
        The absolute error.

    Returns
    -------
    float
        The bound :math:`2\exp(-n \epsilon^2 / (2 C^2))`, at most 1.

    Notes
    -----
    For features of a RandomMaclaurin, Kar and Karnick have an unnecessary 8 in place of the 2. For TensorSketches this
    is Lemma 9 of Pham and Pagh.

    Examples
    --------
    >>> from mercer.bounds import maclaurin_range, sketch_range
    >>> from mercer.kernels import Exponential
    >>> round(hoeffding_error(1000, maclaurin_range(Exponential(), 0.5), epsilon=0.4), 4)
    0.0013
    >>> round(hoeffding_error(500, sketch_range(2, 1.0), epsilon=0.2), 6)
    9.1e-05
    """
    return tail(count, largest, epsilon)


def hoeffding_count(largest: float, *, epsilon: float, delta: float) -> int:
    """Return the number of features or sketches that brings :func:`hoeffding_error` down to delta.

    Parameters
    ----------
    largest : float
        The largest absolute value of an estimate, from :func:`maclaurin_range` or :func:`sketch_range`.
    epsilon : float
        The absolute error.
    delta : float
        The probability of a larger error.

    Returns
    -------
    int
        The number of estimates.

    Examples
    --------
    >>> from mercer.bounds import sketch_range
    >>> hoeffding_count(sketch_range(2, 1.0), epsilon=0.2, delta=0.01)
    265
    """
    return least_count(delta, largest, epsilon)


def tail(count: int, largest: float, epsilon: float, log_events: float = 0.0) -> float:
    """Compute min(1, 2 events exp(-count epsilon^2 / (2 largest^2))), in logarithms to avoid overflow."""
    check_whole("the number of features or sketches", count)
    check_positive("the largest estimate", largest)
    check_positive("epsilon", epsilon)
    log_exponent = math.log(count) - math.log(2.0) + 2.0 * (math.log(epsilon) - math.log(largest))
    return math.exp(min(0.0, math.log(2.0) + log_events - math.exp(min(log_exponent, LARGEST_LOG))))


def least_count(delta: float, largest: float, epsilon: float, log_events: float = 0.0) -> int:
    """Return the smallest count at which ``tail`` is at most delta."""
    check_probability("delta", delta)
    check_positive("the largest estimate", largest)
    check_positive("epsilon", epsilon)
    exponent = math.log(2.0) - math.log(delta) + log_events
    return math.ceil(Decimal(math.log(2.0 * exponent) + 2.0 * (math.log(largest) - math.log(epsilon))).exp())
