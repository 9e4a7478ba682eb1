"""Chebyshev's bound for every map whose variance is known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks import check_positive
from ..maps import FeatureMap

BLOCK_ROWS = 64


def relative_error(map: FeatureMap, X: Any, Y: Any = None, *, epsilon: float) -> NDArray[np.float64]:
    r"""Bound the probability of a large relative error by Chebyshev's inequality with the map's exact variance.

    Use it to judge a width on the rows at hand. Maps without an exact variance raise NotImplementedError.

    Parameters
    ----------
    map : FeatureMap
        The fitted map. What it learned from data rather than from its seed is held fixed.
    X : {array-like, sparse matrix} of shape (n_samples_X, n_features)
        The rows x.
    Y : {array-like, sparse matrix} of shape (n_samples_Y, n_features), default=None
        The rows y. If None, ``X`` is used.
    epsilon : float
        The relative error.

    Returns
    -------
    ndarray of shape (n_samples_X, n_samples_Y)
        Bounds on P[abs(<Z(x), Z(y)> - k(x, y)) >= epsilon abs(k(x, y))].

    Notes
    -----
    With the bias b, which is 0 for most maps, the bound is :math:`(\mathrm{Var} + b^2) / (\epsilon k)^2`, and 1 where
    k = 0, since no relative error is small there. Lemma 7 of Pham and Pagh is this bound with their false
    :func:`pham_pagh_variance`.

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
        # 0 / 0 is NaN, and so is a variance that has overflowed; fmin turns both into 1, which is always true.
        return np.fmin(1.0, (deviation / (epsilon * np.abs(exact))) ** 2)


def norm_error(map: FeatureMap, X: Any, *, epsilon: float) -> NDArray[np.float64]:
    r"""Bound the probability that a map changes the squared norm of a row by a relative error of epsilon or more.

    Use it if a learner relies on normalised rows. It is the diagonal of :func:`relative_error`.

    Parameters
    ----------
    map : FeatureMap
        The fitted map.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows.
    epsilon : float
        The relative error.

    Returns
    -------
    ndarray of shape (n_samples,)
        Bounds on P[abs(||Z(x)||^2 - k(x, x)) >= epsilon k(x, x)].

    Notes
    -----
    The bound replaces Lemma 10 of Pham and Pagh, which treats the p-fold products of signs of a TensorSketch as
    independent and is false: for unit rows of 64 equal entries, degree 8, epsilon = 0.9 and delta = 0.01, it asks for
    410 features and promises a failure probability of 2 delta = 0.02, but more than 0.05 of the seeds fail.

    Examples
    --------
    >>> from mercer import TensorSketch
    >>> from mercer.kernels import Polynomial
    >>> row = [[0.125] * 64]
    >>> norm_error(TensorSketch(Polynomial(8), n_components=410).fit(row), row, epsilon=0.9).round(2)
    array([1.])
    >>> norm_error(TensorSketch(Polynomial(2), n_components=410).fit(row), row, epsilon=0.9).round(3)
    array([0.018])
    """
    starts = range(0, X.shape[0] if hasattr(X, "shape") else len(X), BLOCK_ROWS) or [0]  # no rows: the map complains
    return np.concatenate([np.diag(relative_error(map, X[i : i + BLOCK_ROWS], epsilon=epsilon)) for i in starts])
