"""Hoeffding's bound on an average of independent estimates."""

from __future__ import annotations

import math
from decimal import Decimal

from .._checks import check_positive, check_probability, check_whole

LARGEST_LOG = 700.0


def hoeffding_error(count: int, largest: float, *, epsilon: float) -> float:
    r"""Bound P[abs(average - k) >= epsilon] for the average of independent unbiased estimates within +-largest.

    For rows that are not known but for their 1-norm; :func:`relative_error` is far smaller where they are. It is
    :math:`2\exp(-n \epsilon^2 / (2 C^2))` for n estimates of at most C: the features of a RandomMaclaurin (C from
    :func:`maclaurin_range`; Kar and Karnick have a needless 8 for the 2), or whole TensorSketches (C from
    :func:`sketch_range`; Pham and Pagh's Lemma 9), of which each counts once, however wide.

    >>> from mercer.bounds import maclaurin_range, sketch_range
    >>> from mercer.kernels import Exponential
    >>> round(hoeffding_error(1000, maclaurin_range(Exponential(), 0.5), epsilon=0.4), 4)
    0.0013
    >>> round(hoeffding_error(500, sketch_range(2, 1.0), epsilon=0.2), 6)
    9.1e-05
    """
    return tail(count, largest, epsilon)


def hoeffding_count(largest: float, *, epsilon: float, delta: float) -> int:
    """The number of features or sketches that brings :func:`hoeffding_error` down to delta.

    >>> from mercer.bounds import sketch_range
    >>> hoeffding_count(sketch_range(2, 1.0), epsilon=0.2, delta=0.01)
    265
    """
    return least_count(delta, largest, epsilon)


def tail(count: int, largest: float, epsilon: float, log_events: float = 0.0) -> float:
    """min(1, 2 events exp(-count epsilon^2 / (2 largest^2))), in logarithms so that nothing overflows."""
    check_whole("the number of features or sketches", count)
    check_positive("the largest estimate", largest)
    check_positive("epsilon", epsilon)
    log_exponent = math.log(count) - math.log(2.0) + 2.0 * (math.log(epsilon) - math.log(largest))
    return math.exp(min(0.0, math.log(2.0) + log_events - math.exp(min(log_exponent, LARGEST_LOG))))


def least_count(delta: float, largest: float, epsilon: float, log_events: float = 0.0) -> int:
    """The least count at which ``tail`` is at most delta."""
    check_probability("delta", delta)
    check_positive("the largest estimate", largest)
    check_positive("epsilon", epsilon)
    exponent = math.log(2.0) - math.log(delta) + log_events
    return math.ceil(Decimal(math.log(2.0 * exponent) + 2.0 * (math.log(largest) - math.log(epsilon))).exp())
