r"""What the papers guarantee, as functions, and corrected where a paper is wrong.

Every function gives a true bound on the probability of an error, over the seeds of a map, or the number of features
that brings it down to ``delta``. Chebyshev's (:func:`relative_error`, :func:`norm_error`) know the rows and the exact
variance of the map and are the ones to size a map with; Hoeffding's and the uniform bound hold for all rows of a ball
and are far too large in practice. Only :func:`pham_pagh_variance` states a claim that is false; its name says whose.
"""

from __future__ import annotations

import math
import numbers
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._checks import check_positive, check_whole
from .kernels import Kernel, Polynomial
from .kernels._base import check_matrix
from .maps import FeatureMap, TensorSketch
from .maps._moments import pair_moments

__all__ = [
    "hoeffding_count",
    "hoeffding_error",
    "maclaurin_lipschitz",
    "maclaurin_range",
    "norm_error",
    "pham_pagh_variance",
    "relative_error",
    "sketch_range",
    "tensor_sketch_components",
    "tensor_sketch_variance",
    "uniform_components",
    "uniform_error",
]

Matrix = NDArray[np.float64]

BLOCK_ROWS = 64
LARGEST_LOG = 700.0
SERIES_LENGTHS = (64, 512, 4096, 32768)
"""How far an endless series is followed for its derivative, if the shorter does not do."""


def relative_error(map: FeatureMap, X: Any, Y: Any = None, *, epsilon: float) -> Matrix:
    r"""Bound P[abs(<Z(x), Z(y)> - k) >= epsilon abs(k)] for every row x of X and y of Y by the map's exact variance.

    Use it to judge a width on the rows at hand; maps without an exact variance raise NotImplementedError. With b the
    bias, 0 for most maps, it is :math:`(\mathrm{Var} + b^2) / (\epsilon k)^2`, and 1 where k = 0: no relative error is
    small there. Lemma 7 of Pham and Pagh is this with their false :func:`pham_pagh_variance`.

    Parameters
    ----------
    map : a fitted FeatureMap; what it learned from data, not from its seed, is held fixed
    X, Y : rows, dense or CSR; Y defaults to X
    epsilon : the relative error

    Examples
    --------
    >>> from mercer import TensorSketch
    >>> X = [[3.0, 4.0], [4.0, 3.0]]
    >>> relative_error(TensorSketch(n_components=100).fit(X), X, epsilon=0.5).round(2)
    array([[0.09, 0.11],
           [0.11, 0.09]])
    """
    check_positive("epsilon", epsilon)
    variance, mean = map.variance(X, Y), map.mean(X, Y)
    exact = map.kernel_(*map._pair(X, Y))
    deviation = np.hypot(np.sqrt(variance), mean - exact)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        # 0 / 0 is NaN, and so is a variance that has overflowed; fmin makes 1 of them, which is always true.
        return np.fmin(1.0, (deviation / (epsilon * np.abs(exact))) ** 2)


def norm_error(map: FeatureMap, X: Any, *, epsilon: float) -> Matrix:
    r"""Bound P[abs(||Z(x)||^2 - k(x, x)) >= epsilon k(x, x)] for every row of X: how well a map keeps norms.

    Use it where a learner relies on normalised rows. It is the diagonal of :func:`relative_error` and replaces Lemma 10
    of Pham and Pagh. That takes the p-fold products of signs of a TensorSketch for independent signs and is false:
    for unit rows of 64 equal entries, degree 8, epsilon = 0.9 and delta = 0.01 it asks for 410 features and promises
    2 delta = 0.02; more than 0.05 of the seeds miss.

    >>> from mercer import TensorSketch
    >>> from mercer.kernels import Polynomial
    >>> row = [[0.125] * 64]
    >>> norm_error(TensorSketch(Polynomial(8), n_components=410).fit(row), row, epsilon=0.9).round(2)
    array([1.])
    >>> norm_error(TensorSketch(Polynomial(2), n_components=410).fit(row), row, epsilon=0.9).round(3)
    array([0.018])
    """
    starts = range(0, X.shape[0] if hasattr(X, "shape") else len(X), BLOCK_ROWS) or [0]  # no rows: the map's own error
    return np.concatenate([np.diag(relative_error(map, X[i : i + BLOCK_ROWS], epsilon=epsilon)) for i in starts])


def tensor_sketch_variance(X: Any, Y: Any, degree: int, n_components: int) -> Matrix:
    """The exact variance of TensorSketch's estimate of <x, y>^degree, for every row x of X and y of Y.

    Use it to see what a width would give before any map is fitted; a fitted map has ``variance``. The formula is in
    :class:`mercer.TensorSketch`.

    >>> tensor_sketch_variance([[1.0, 1.0]], [[1.0, 1.0]], 2, 16)
    array([[2.5625]])
    """
    sketch = TensorSketch(Polynomial(degree), n_components=n_components, random_state=0)
    return sketch.fit(X).variance(X, Y)


def pham_pagh_variance(X: Any, Y: Any, degree: int, n_components: int) -> Matrix:
    r"""The claim of Pham and Pagh's Lemma 6: Var <= (<x, y>^(2p) + ||x||^(2p) ||y||^(2p)) / D. FALSE for p >= 2.

    For comparison with the paper only; :func:`tensor_sketch_variance` is the truth. The sign of an entry of the p-fold
    tensor product is a product of p signs, so the signs of four entries are not independent as the proof needs them.
    At p = 1 it is a true bound on a count sketch.

    Rows of 64 equal entries and unit norm, D = 256:

    >>> row, D = [[0.125] * 64], 256
    >>> [round(D * pham_pagh_variance(row, row, p, D).item(), 2) for p in (1, 2, 3, 4)]
    [2.0, 2.0, 2.0, 2.0]
    >>> [round(D * tensor_sketch_variance(row, row, p, D).item(), 2) for p in (1, 2, 3, 4)]
    [1.97, 5.89, 13.72, 29.38]
    """
    check_whole("degree", degree)
    check_whole("n_components", n_components)
    left = check_matrix(X).astype(np.float64)
    moments = pair_moments(left, left if Y is None else check_matrix(Y, "Y").astype(np.float64))
    return (moments.t ** (2 * degree) + moments.N**degree) / n_components


def tensor_sketch_components(X: Any, Y: Any, degree: int, *, epsilon: float, delta: float) -> Matrix:
    r"""The width from which on TensorSketch misses <x, y>^degree by a fraction epsilon with probability <= delta.

    Use it to size a TensorSketch for the pairs that matter: for every row of X and of Y (X where None) the inverse of
    :func:`relative_error`, as a matrix of whole floating numbers, infinite where <x, y> = 0. The variance is v/D + e
    w/D^2, e = 2 for even D and 1 for odd; at D = 1 and 3 it gives v and w, and what is then solved is a quadratic.

    >>> tensor_sketch_components([[3.0, 4.0]], [[3.0, 4.0], [-4.0, 3.0]], 2, epsilon=0.5, delta=0.1)
    array([[91., inf]])
    """
    check_positive("epsilon", epsilon)
    _check_delta(delta)
    rows = [None if M is None else check_matrix(M).astype(np.float64) for M in (X, Y)]
    target = delta * epsilon**2 * Polynomial(2 * degree)(*rows)  # which raises where it overflows
    one, three = (tensor_sketch_variance(X, Y, degree, width) for width in (1, 3))
    v = (9.0 * three - one) / 2.0
    w = one - v
    last_to_fail = np.zeros_like(v)
    with np.errstate(divide="ignore", invalid="ignore"):
        for e in (1, 2):
            discriminant = v**2 + 4.0 * e * w * target
            root = np.where(discriminant < 0.0, 0.0, (v + np.sqrt(np.abs(discriminant))) / (2.0 * target))
            below = np.ceil(root) - 1.0
            last_to_fail = np.maximum(last_to_fail, below - (below - e) % 2)
    return np.where(target > 0.0, last_to_fail + 1.0, np.inf)


def sketch_range(degree: int, radius: float) -> float:
    r"""The largest <Z(x), Z(y)> of a TensorSketch over rows of 1-norm at most R: R^(2 degree), Pham and Pagh's Lemma 8.

    For :func:`hoeffding_error`. It stands although their Lemma 6 fell: every entry of the tensor product goes into one
    bucket, so in the time domain ||Z(x)||_1 <= R^degree whatever the signs, and the spectrum has the same inner
    products. For (gamma t + coef0)^degree, R is sqrt(gamma) times the 1-norm, plus sqrt(coef0).

    >>> sketch_range(2, 1.5)
    5.0625
    """
    check_whole("degree", degree)
    check_positive("radius", radius)
    if 2 * degree * math.log(radius) > LARGEST_LOG:
        raise ValueError(f"radius^(2 degree) overflows at radius={radius!r}, degree={degree!r}: scale the rows down")
    return float(radius) ** (2 * degree)


def maclaurin_range(kernel: Kernel, radius: float, *, base: float = 2.0) -> float:
    r"""The largest product of two features of RandomMaclaurin, times D: C = q / (q - 1) f(q r^2), with base q.

    For :func:`hoeffding_error`, over rows of 1-norm at most r; a ValueError says where q r^2 is outside the series'
    radius and no bound exists. (The paper's q f(q r^2) is the same at q = 2; elsewhere its P is not normalised.)

    The map draws the degree N with P[n] = q^-n / S over those degrees with a_n > 0 that it draws at all. Over all
    degrees S would be q / (q - 1), so it is no larger, and the product is at most :math:`a_N / P[N] r^{2N} = S a_N (q
    r^2)^N \le C`: leaving degrees out makes P larger and the product smaller.

    It is for the plain map of a dot-product kernel. With ``exact_terms`` give the kernel of the other degrees and the
    width that they have; with ``max_degree`` degrees are not drawn and it does not hold. An endless series is cut where
    P falls below 2^-60, which moves the mean by less than 2^-60 C; a base below 1.085 is cut at degree 511, and the
    error is then meant up to base^-512 C.

    >>> from mercer.kernels import Exponential
    >>> round(maclaurin_range(Exponential(), 0.5), 3)
    3.297
    """
    value = _value(kernel, _argument(kernel, radius, base))
    return _finite(base / (base - 1.0) * value, kernel)


def hoeffding_error(count: int, largest: float, *, epsilon: float) -> float:
    r"""Bound P[abs(average - k) >= epsilon] for the average of independent unbiased estimates within +-largest.

    For rows that are not known but for their 1-norm; :func:`relative_error` is far smaller where they are. It is
    :math:`2\exp(-n \epsilon^2 / (2 C^2))` for n estimates of at most C: the features of a RandomMaclaurin (C from
    :func:`maclaurin_range`; Kar and Karnick have a needless 8 for the 2), or whole TensorSketches (C from
    :func:`sketch_range`; Pham and Pagh's Lemma 9), of which each counts once, however wide.

    >>> from mercer.kernels import Exponential
    >>> round(hoeffding_error(1000, maclaurin_range(Exponential(), 0.5), epsilon=0.4), 4)
    0.0013
    >>> round(hoeffding_error(500, sketch_range(2, 1.0), epsilon=0.2), 6)
    9.1e-05
    """
    return _tail(count, largest, epsilon)


def hoeffding_count(largest: float, *, epsilon: float, delta: float) -> int:
    """The number of features or sketches that brings :func:`hoeffding_error` down to delta.

    >>> hoeffding_count(sketch_range(2, 1.0), epsilon=0.2, delta=0.01)
    265
    """
    return _count(delta, largest, epsilon)


def maclaurin_lipschitz(kernel: Kernel, radius: float, n_features: int, *, base: float = 2.0) -> float:
    r"""How fast the error of RandomMaclaurin can change with x or y in the 1-norm ball of radius r.

    The L of :func:`uniform_error`: :math:`r f'(r^2) + \frac{q^2}{q-1} r \sqrt d f'(q r^2)`, the slope of the kernel and
    that of the features. Lemma 6 of Kar and Karnick lacks the r of the first term, which makes it false for r > 1; the
    second term is their Lemma 7 for any base.

    For k = <x, y>^2 at x = y = r = 2 the slope is 2 <x, y> y = 16, where the paper has f'(r^2) = 8:

    >>> from mercer.kernels import Polynomial
    >>> k, r, h = Polynomial(2), 2.0, 1e-6
    >>> round((k([[r + h]], [[r]]).item() - k([[r - h]], [[r]]).item()) / (2 * h), 3), 2 * r**2
    (16.0, 8.0)
    >>> round(maclaurin_lipschitz(k, r, n_features=1), 9)  # 16 for the kernel, 128 for the features
    144.0
    """
    check_whole("n_features", n_features)
    t = _argument(kernel, radius, base)
    features = base**2 / (base - 1.0) * math.sqrt(n_features) * _slope(kernel, t)
    return _finite(radius * (_slope(kernel, t / base) + features), kernel)


def uniform_error(
    n_components: int, kernel: Kernel, radius: float, n_features: int, *, epsilon: float, base: float = 2.0
) -> float:
    r"""Bound P[sup abs(<Z(x), Z(y)> - k) > epsilon] for RandomMaclaurin, over all pairs in a 1-norm ball at once.

    Kar and Karnick's Theorem 8, :math:`2 \max(1, 32 r L/\epsilon)^{2d} \exp(-D \epsilon^2 / (8 C^2))` with L of
    :func:`maclaurin_lipschitz` and C of :func:`maclaurin_range`, where the hypotheses are: a guarantee for rows not
    seen yet. For single pairs use :func:`hoeffding_error`. The paper leaves out the max; but a net has at least one
    point, and without it the bound is false in small balls.

    Parameters
    ----------
    n_components : D
    kernel : a dot-product kernel with every field a number
    radius, n_features : r, the largest 1-norm of a row, and d, the number of columns
    epsilon : the absolute error
    base : that of the map

    Examples
    --------
    A single feature for exp(<x, y>) makes 2 or nearly 0 of small rows, each with probability 1/2, and never about 1:

    >>> from mercer.kernels import Exponential
    >>> k, r, d, epsilon = Exponential(), 0.01, 10, 0.5
    >>> bool((32 * r * maclaurin_lipschitz(k, r, d) / epsilon) ** (2 * d) < 1e-20)  # the paper's first factor
    True
    >>> uniform_error(1, k, r, d, epsilon=epsilon)
    1.0
    >>> round(uniform_error(2000, k, 0.5, 1, epsilon=1.0), 8)
    8.2e-07
    """
    net = _log_pairs(kernel, radius, n_features, epsilon, base)
    return _tail(n_components, maclaurin_range(kernel, radius, base=base), epsilon / 2.0, net)


def uniform_components(
    kernel: Kernel, radius: float, n_features: int, *, epsilon: float, delta: float, base: float = 2.0
) -> int:
    """The width that brings :func:`uniform_error` down to delta.

    >>> from mercer.kernels import Exponential
    >>> uniform_components(Exponential(), 0.5, 10, epsilon=0.4, delta=0.01)
    69132
    """
    net = _log_pairs(kernel, radius, n_features, epsilon, base)
    return _count(delta, maclaurin_range(kernel, radius, base=base), epsilon / 2.0, net)


def _log_pairs(kernel: Kernel, radius: float, n_features: int, epsilon: float, base: float) -> float:
    """The logarithm of the number of pairs of points of an epsilon / (4 L)-net of the ball."""
    check_positive("epsilon", epsilon)
    slope = maclaurin_lipschitz(kernel, radius, n_features, base=base)
    size = math.log(32.0) + math.log(radius) + math.log(slope) - math.log(epsilon) if slope > 0.0 else 0.0
    return 2 * n_features * max(0.0, size)


def _tail(count: int, largest: float, epsilon: float, log_events: float = 0.0) -> float:
    """min(1, 2 events exp(-count epsilon^2 / (2 largest^2))), in logarithms so that nothing overflows."""
    check_whole("the number of features or sketches", count)
    check_positive("the largest estimate", largest)
    check_positive("epsilon", epsilon)
    log_exponent = math.log(count) - math.log(2.0) + 2.0 * (math.log(epsilon) - math.log(largest))
    return math.exp(min(0.0, math.log(2.0) + log_events - math.exp(min(log_exponent, LARGEST_LOG))))


def _count(delta: float, largest: float, epsilon: float, log_events: float = 0.0) -> int:
    """The least count at which ``_tail`` is at most delta."""
    _check_delta(delta)
    check_positive("the largest estimate", largest)
    check_positive("epsilon", epsilon)
    exponent = math.log(2.0) - math.log(delta) + log_events
    return math.ceil(Decimal(math.log(2.0 * exponent) + 2.0 * (math.log(largest) - math.log(epsilon))).exp())


def _check_delta(delta: float) -> None:
    if not isinstance(delta, numbers.Real) or not 0.0 < float(delta) < 1.0:
        raise ValueError(f"delta must be a probability above 0 and below 1, found {delta!r}")


def _finite(value: float, kernel: Kernel) -> float:
    if not value < math.inf:
        raise ValueError(f"the bound for {kernel!r} overflows, so that no width would do: scale the rows down")
    return float(value)


def _argument(kernel: Kernel, radius: float, base: float) -> float:
    """base radius^2, where the series must converge."""
    if not isinstance(base, numbers.Real) or not 1.0 < float(base) < math.inf:
        raise ValueError(f"base must be a finite number above 1, found {base!r}")
    check_positive("radius", radius)
    kernel.series(1)  # raises where the kernel has no series or one with negative coefficients
    t = float(base) * float(radius) * float(radius)
    if t >= kernel.radius:
        raise ValueError(
            f"base * radius^2 = {t:g} is not below {kernel.radius:g}, where the series of {kernel!r} diverges: "
            "the features have no bound there; scale the rows down or lower the base"
        )
    return t


def _value(kernel: Kernel, t: float) -> float:
    """f(t) of a dot-product kernel: its value at two equal rows of one column."""
    row = np.array([[math.sqrt(t)]])
    with np.errstate(over="ignore", invalid="ignore"):
        return _finite(kernel._block(row, row).item(), kernel)


def _slope(kernel: Kernel, t: float) -> float:
    """f'(t) = sum n a_n t^(n - 1), as soon as the terms of f add up to f(t)."""
    value, end = _value(kernel, t), kernel.max_degree
    for length in SERIES_LENGTHS if end is None else (end + 1,):
        degrees = np.arange(length)
        with np.errstate(divide="ignore", over="ignore"):
            terms = np.exp(np.log(kernel.series(length)) + degrees * math.log(t))
        if math.isclose(terms.sum(), value, rel_tol=1e-10):
            return float(degrees @ terms) / t
    raise ValueError(f"the series of {kernel!r} cannot be summed at {t:g}: scale the rows down or lower the base")
