"""The variance of a TensorSketch, the width that it requires, and what its paper says about both."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks import check_positive, check_probability, check_whole
from ..kernels import Polynomial
from ..kernels.base import check_matrix
from ..maps import TensorSketch
from ..maps.pair_moments import pair_moments
from .hoeffding import LARGEST_LOG


def tensor_sketch_variance(X: Any, Y: Any, degree: int, n_components: int) -> NDArray[np.float64]:
    """Compute the exact variance of TensorSketch's estimate of <x, y>^degree.

    Use it to see what a width would give before any map is fitted; a fitted map has ``variance``. The formula is in
    :class:`mercer.TensorSketch`.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples_X, n_features)
        The rows x.
    Y : {array-like, sparse matrix} of shape (n_samples_Y, n_features)
        The rows y.
    degree : int
        The degree.
    n_components : int
        The number of features.

    Returns
    -------
    ndarray of shape (n_samples_X, n_samples_Y)
        The variances.

    Examples
    --------
    >>> tensor_sketch_variance([[1.0, 1.0]], [[1.0, 1.0]], 2, 16)
    array([[2.5625]])
    """
    sketch = TensorSketch(Polynomial(degree), n_components=n_components, random_state=0)
    return sketch.fit(X).variance(X, Y)


def pham_pagh_variance(X: Any, Y: Any, degree: int, n_components: int) -> NDArray[np.float64]:
    """Compute the variance bound of Pham and Pagh's Lemma 6, which is FALSE for p >= 2.

    The lemma claims Var <= (<x, y>^(2p) + ||x||^(2p) ||y||^(2p)) / D. This function is for comparison with the paper
    only; :func:`tensor_sketch_variance` is the truth.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples_X, n_features)
        The rows x.
    Y : {array-like, sparse matrix} of shape (n_samples_Y, n_features)
        The rows y.
    degree : int
        The degree p.
    n_components : int
        The number D of features.

    Returns
    -------
    ndarray of shape (n_samples_X, n_samples_Y)
        The claimed bounds.

    Notes
    -----
    The sign of an entry of the p-fold tensor product is a product of p signs, so the signs of four entries are not
    independent as the proof requires. At p = 1 it is a true bound for a count sketch.

    Examples
    --------
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


def tensor_sketch_components(X: Any, Y: Any, degree: int, *, epsilon: float, delta: float) -> NDArray[np.float64]:
    r"""Return the width at which TensorSketch misses <x, y>^degree by a fraction epsilon with probability <= delta.

    Use it to choose the width of a TensorSketch for the pairs that matter. It is the inverse of :func:`relative_error`.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples_X, n_features)
        The rows x.
    Y : {array-like, sparse matrix} of shape (n_samples_Y, n_features) or None
        The rows y. If None, ``X`` is used.
    degree : int
        The degree.
    epsilon : float
        The relative error.
    delta : float
        The probability of a larger error.

    Returns
    -------
    ndarray of shape (n_samples_X, n_samples_Y)
        The widths as floats, infinite where <x, y> = 0.

    Notes
    -----
    The variance is v/D + e w/D^2, with e = 2 for even D and 1 for odd D. Its values at D = 1 and 3 give v and w, and
    the width then solves a quadratic equation.

    Examples
    --------
    >>> tensor_sketch_components([[3.0, 4.0]], [[3.0, 4.0], [-4.0, 3.0]], 2, epsilon=0.5, delta=0.1)
    array([[91., inf]])
    """
    check_positive("epsilon", epsilon)
    check_probability("delta", delta)
    rows = [None if M is None else check_matrix(M).astype(np.float64) for M in (X, Y)]
    target = delta * epsilon**2 * Polynomial(2 * degree)(*rows)  # raises if it overflows
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
    r"""Return the largest <Z(x), Z(y)> of a TensorSketch over rows of 1-norm at most R: Pham and Pagh's Lemma 8.

    It is the range that :func:`hoeffding_error` needs.

    Parameters
    ----------
    degree : int
        The degree.
    radius : float
        The largest 1-norm R of a row. For the kernel (gamma t + coef0)^degree, it is sqrt(gamma) times the 1-norm, plus
        sqrt(coef0).

    Returns
    -------
    float
        The range R^(2 degree).

    Notes
    -----
    The lemma holds although their Lemma 6 does not: every entry of the tensor product goes into one bucket, so that in
    the time domain ||Z(x)||_1 <= R^degree whatever the signs, and the spectrum has the same inner products.

    Examples
    --------
    >>> sketch_range(2, 1.5)
    5.0625
    """
    check_whole("degree", degree)
    check_positive("radius", radius)
    if 2 * degree * math.log(radius) > LARGEST_LOG:
        raise ValueError(f"radius^(2 degree) overflows at radius={radius!r}, degree={degree!r}: scale the rows down")
    return float(radius) ** (2 * degree)
