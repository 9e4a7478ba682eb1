r"""Guarantees for uniform landmarks that hold before any of them is drawn.

Let :math:`a_i` be the rows in the feature space of the kernel, :math:`K_{ij} = \langle a_i, a_j\rangle`, :math:`K_{ii}
\le \kappa`, :math:`M = \sum_i a_i a_i^\top`, which has the eigenvalues of K, and :math:`\hat M = \frac nc \sum_{i \in
I} a_i a_i^\top` for the c landmarks I, drawn uniformly without replacement. Nystrom's features with the k largest
eigenpairs of the landmarks' matrix have the Gram matrix :math:`\hat K_k = A^\top P A`, P the projection on the k
leading eigenvectors of :math:`\hat M`. With Q = I - P,

.. math:: \|K - \hat K_k\|_F = \|Q M Q\|_F \le \|Q \hat M Q\|_F + \|M - \hat M\|_F
    = \|\hat M - \hat M_k\|_F + \|M - \hat M\|_F \le \|K - K_k\|_F + 2\varphi, \qquad \varphi = \|M - \hat M\|_F,

because no matrix of rank k is nearer to :math:`\hat M` than :math:`\hat M_k`; with all c eigenpairs,
:math:`Q \hat M Q = 0` and only :math:`\varphi` remains. The same holds in the spectral norm. It remains to bound the
deviation of a sample mean:

- without replacement :math:`E\varphi^2 = \frac{n^2}{c} \frac{n-c}{n-1} \bigl(\frac1n \sum K_{ii}^2 - \frac1{n^2}
  \|K\|_F^2\bigr) \le \frac{n^2 (n-c)}{c (n-1)} \kappa^2`;
- replacing one landmark by another changes :math:`\varphi` by at most :math:`\frac nc \|a_i a_i^\top - a_j a_j^\top\|_F
  \le \frac nc \sqrt2 \kappa`. Drawing the landmarks one by one (or, if they are fewer, the rows that are not landmarks)
  gives a martingale with one step per draw: by Azuma and Hoeffding,
  :math:`P[\varphi \ge E\varphi + t] \le \exp(-t^2 c^2 / (n^2 \kappa^2 \min(c, n-c)))`.
"""

from __future__ import annotations

import math

from .._checks import check_choice, check_positive, check_probability, check_whole


def nystrom_error(
    n_landmarks: int, n_rows: int, *, delta: float, largest: float = 1.0, truncated: bool = False
) -> float:
    r"""Bound the root mean square error of the entries of a Nystrom Gram matrix, except with probability delta.

    Use it to choose a number of landmarks in advance; once the map is fitted, :func:`projection_residual` gives its
    actual error. The probability is over landmarks drawn uniformly without replacement from the n rows whose Gram
    matrix is approximated; the bound does not cover other rows or other ways to choose landmarks. It knows nothing
    about the rows, and is therefore far too large if the eigenvalues of K fall quickly, as they usually do.

    Parameters
    ----------
    n_landmarks : int
        The number c of landmarks.
    n_rows : int
        The number n of rows.
    delta : float
        The probability that the bound fails.
    largest : float, default=1.0
        The largest value kappa of k(x, x).
    truncated : bool, default=False
        Whether fewer eigenpairs than landmarks are kept.

    Returns
    -------
    float
        The bound. If ``truncated``, it bounds by how much the error exceeds that of the best matrix of the same rank.

    Notes
    -----
    With probability 1 - delta,

    .. math:: \frac{\|K - \hat K\|_F}{n} \le
        \kappa \Bigl(\sqrt{\frac{n-c}{(n-1)c}} + \frac{\sqrt{\min(c, n-c) \log(1/\delta)}}{c}\Bigr).

    If the features keep fewer eigenpairs than landmarks, twice this bounds by how much the error of :math:`\hat K_k`
    exceeds that of :math:`K_k`, the best matrix of this rank. The proof is at the head of :mod:`mercer.bounds.nystrom`.

    This is the theorem on uniform sampling that is often quoted, among others in Bellet's lecture, as :math:`\|K - \hat
    K_k\|_F \le \|K - K_k\|_F + O(\sqrt{n/c})`, which is FALSE: the last term is of order n / sqrt(c), and this order is
    necessary. Take k = c groups of n/c equal rows that have nothing in common. Then :math:`K = K_c`, but uniform
    landmarks miss 1/e of the groups, and :math:`\|K - \hat K\|_F` is about n / sqrt(e c). Drineas and Mahoney, who are
    credited with it, sample with probabilities :math:`K_{ii}^2 / \sum K_{jj}^2` and add epsilon :math:`\sum K_{ii}^2`.

    Examples
    --------
    >>> round(nystrom_error(1000, 100_000, delta=0.01), 3)
    0.099
    """
    check_whole("n_landmarks", n_landmarks)
    check_whole("n_rows", n_rows)
    check_probability("delta", delta)
    check_positive("largest", largest)
    check_choice("truncated", truncated, (True, False))
    if n_landmarks > n_rows:
        raise ValueError(f"n_landmarks must be at most n_rows={n_rows!r}, found {n_landmarks!r}")
    others = n_rows - n_landmarks
    mean = math.sqrt(others / max(1, n_rows - 1) / n_landmarks)
    deviation = math.sqrt(min(n_landmarks, others) * -math.log(delta)) / n_landmarks
    return (2.0 if truncated else 1.0) * largest * (mean + deviation)


def nystrom_landmarks(
    n_rows: int, *, epsilon: float, delta: float, largest: float = 1.0, truncated: bool = False
) -> int:
    """Return the number of uniform landmarks that brings :func:`nystrom_error` down to epsilon.

    Parameters
    ----------
    n_rows : int
        The number of rows.
    epsilon : float
        The root mean square error.
    delta : float
        The probability of a larger error.
    largest : float, default=1.0
        The largest value of k(x, x).
    truncated : bool, default=False
        Whether fewer eigenpairs than landmarks are kept.

    Returns
    -------
    int
        The number of landmarks, at most the number of rows.

    Examples
    --------
    >>> nystrom_landmarks(100_000, epsilon=0.1, delta=0.01)
    987
    """
    check_positive("epsilon", epsilon)
    nystrom_error(n_rows, n_rows, delta=delta, largest=largest, truncated=truncated)  # raises if an argument is invalid
    too_few, enough = 0, n_rows
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        error = nystrom_error(middle, n_rows, delta=delta, largest=largest, truncated=truncated)
        too_few, enough = (middle, enough) if error > epsilon else (too_few, middle)
    return enough
