"""Chebyshev's bound for every map whose variance is known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks import check_positive
from ..maps import FeatureMap

BLOCK_ROWS = 64


def relative_error(map: FeatureMap, X: Any, Y: Any = None, *, epsilon: float) -> NDArray[np.float64]:
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
    >>> from mercer.kernels import Polynomial
    >>> X = [[3.0, 4.0], [4.0, 3.0]]
    >>> relative_error(TensorSketch(Polynomial(2), n_components=100).fit(X), X, epsilon=0.5).round(2)
    array([[0.09, 0.11],
           [0.11, 0.09]])
    """
    check_positive("epsilon", epsilon)
    variance, mean = map.variance(X, Y), map.mean(X, Y)
    exact = map.kernel_(*map.validated_pair(X, Y))
    deviation = np.hypot(np.sqrt(variance), mean - exact)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        # 0 / 0 is NaN, and so is a variance that has overflowed; fmin makes 1 of them, which is always true.
        return np.fmin(1.0, (deviation / (epsilon * np.abs(exact))) ** 2)


def norm_error(map: FeatureMap, X: Any, *, epsilon: float) -> NDArray[np.float64]:
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
