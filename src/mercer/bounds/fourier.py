r"""Rahimi and Recht's uniform bound for random Fourier features, with a new proof.

Let k(0) = 1 (otherwise epsilon is relative to k(0)); let M be the diameter, d the number of columns, m the number of
frequencies (D/2 for pairs, D with offsets), and S the average of their norms. For any share s in (0, 1) and any a > 0:
1. Pairs: the estimate minus the kernel is a function of x - y, :math:`f(\delta) = \frac1m\sum\cos\langle w_i,
   \delta\rangle - E\cos\langle w, \delta\rangle`, so :math:`|f(\delta) - f(\delta')| \le (S + \sigma)\|\delta -
   \delta'\|`, as :math:`E\|w\| \le \sigma`.
2. S has a mean of at most sigma and a variance of at most sigma^2/m: by Cantelli's inequality, :math:`P[S \ge
   (1+a)\sigma] \le 1/(1 + m a^2)`. (Markov's inequality, as in the paper, gives :math:`(1+a)^{-2}`.)
3. The differences lie in a ball of radius M. Points at distances of at least r have disjoint balls of radius r/2 inside
   a ball of radius M + r/2, so there are at most :math:`(1+2M/r)^d` of them; a largest such set leaves no point farther
   than r from all of them. Take :math:`r = s\epsilon / ((2+a)\sigma)`: unless S is large, f changes by less than
   s epsilon within r.
4. At each of these points, f is an average of m terms within +-1: by Hoeffding's inequality, it exceeds
   :math:`(1-s)\epsilon` with probability at most :math:`2\exp(-m(1-s)^2\epsilon^2/2)`.

.. math:: P \le \frac1{1+ma^2} + 2\Bigl(1 + \frac{2(2+a)\sigma M}{s\epsilon}\Bigr)^d e^{-m(1-s)^2\epsilon^2/2}

Offsets add :math:`h(v) = \frac1m\sum\cos(\langle w_i, v\rangle + 2b_i)` at v = x + y, which lies in a ball of
radius :math:`\sqrt2 M` (Jung). Its terms are cosines of uniform angles with :math:`E e^{t\cos} \le e^{t^2/4}`, so that
h exceeds u with probability at most :math:`2e^{-mu^2}`. Give f the share :math:`\sqrt2/(1+\sqrt2)` of epsilon and h the
rest; then both have the same exponent, and the net of h is the larger:

.. math:: P \le \frac1{1+ma^2}
    + 4\Bigl(1 + \frac{(4+2\sqrt2)(1+a)\sigma M}{s\epsilon}\Bigr)^d e^{-m(1-s)^2\epsilon^2/(1+\sqrt2)^2}

Both hold for every s and a; the functions compute the minimum over a fixed grid of them.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from .._checks import check_choice, check_positive, check_probability, check_whole
from ..kernels import Kernel
from ..kernels.parse import as_kernel
from .hoeffding import LARGEST_LOG

FORMS = ("paired", "offset")
SHARES = np.geomspace(1e-3, 0.5, 28)[:, None]
"""The fractions of epsilon reserved for changes between the points of the net."""
LOG_EXCESSES = math.log(10.0) * np.concatenate([np.arange(-3.0, 6.0, 0.1), np.arange(6.0, 160.0, 2.0)])
"""Logarithms of the fractions by which the average frequency may exceed its root mean square."""

Form = Literal["paired", "offset"]


def fourier_uniform_error(
    n_components: int,
    kernel: Kernel | str,
    diameter: float,
    n_features: int,
    *,
    epsilon: float,
    form: Form = "paired",
) -> float:
    r"""Bound the probability that the error of RandomFourier reaches epsilon for any pair in a set of rows.

    A guarantee for rows not seen yet, and for independent frequencies only, not for OrthogonalFourier, QuasiFourier and
    the like. It asks for some ten times too many features, see :mod:`mercer.bounds`; for the rows at hand,
    :func:`relative_error` uses the exact variance.

    Parameters
    ----------
    n_components : int
        The number D of features; even if they come in pairs.
    kernel : Kernel or str
        A kernel with a spectral distribution and a number in every field, or text that describes one. Its frequencies w
        must have a finite :math:`\sigma^2 = E\|w\|^2`; the Laplacian, the skewed intersection and Matern kernels with
        nu <= 1 are refused.
    diameter : float
        The largest distance M of two rows (in ``kernel.coordinates(X)`` for the skewed kernels).
    n_features : int
        The number d of columns.
    epsilon : float
        The absolute error.
    form : {"paired", "offset"}, default="paired"
        The form of the features, as in :class:`mercer.RandomFourier`.

    Returns
    -------
    float
        A bound on P[sup abs(<Z(x), Z(y)> - k(x, y)) >= epsilon].

    Notes
    -----
    The bound replaces Claim 1 of Rahimi and Recht, :math:`2^8 (\sigma M/\epsilon)^2 e^{-D\epsilon^2/(4(d+2))}`; the
    proof is at the head of :mod:`mercer.bounds.fourier`. Their proof takes the mean of a gradient at a point that
    depends on the draw as if it did not, and its exponent is that of D frequencies with a cosine and a sine each, not
    of D features. Sutherland and Schneider (UAI 2015) repair it by closed formulas.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> round(fourier_uniform_error(43000, Gaussian(0.5), 2.0, 10, epsilon=0.1), 4)
    0.0003
    >>> fourier_uniform_error(43000, Gaussian(0.5), 2.0, 10, epsilon=0.1, form="offset")
    1.0
    """
    check_whole("n_components", n_components)
    check_choice("form", form, FORMS)
    if form == "paired" and n_components % 2:
        raise ValueError(f"n_components must be even where features come in pairs, found {n_components!r}")
    kernel = as_kernel(kernel)
    radius = _relative_diameter(kernel, diameter, n_features, epsilon)
    count = n_components // 2 if form == "paired" else n_components
    return math.exp(_log_probability(count, radius, n_features, epsilon / kernel.amplitude, form))


def fourier_uniform_components(
    kernel: Kernel | str, diameter: float, n_features: int, *, epsilon: float, delta: float, form: Form = "paired"
) -> int:
    """Return the number of features that brings :func:`fourier_uniform_error` down to delta.

    Parameters
    ----------
    kernel : Kernel or str
        A kernel with a spectral distribution and a number in every field, or text that describes one.
    diameter : float
        The largest distance of two rows.
    n_features : int
        The number of columns.
    epsilon : float
        The absolute error.
    delta : float
        The probability of a larger error.
    form : {"paired", "offset"}, default="paired"
        The form of the features, as in :class:`mercer.RandomFourier`.

    Returns
    -------
    int
        The number of features.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> fourier_uniform_components(Gaussian(0.5), 2.0, 10, epsilon=0.1, delta=0.01)
    40586
    >>> fourier_uniform_components(Gaussian(0.5), 2.0, 10, epsilon=0.1, delta=0.01, form="offset")
    63086
    """
    check_choice("form", form, FORMS)
    check_probability("delta", delta)
    kernel = as_kernel(kernel)
    radius = _relative_diameter(kernel, diameter, n_features, epsilon)

    def fails(count: int) -> bool:
        return _log_probability(count, radius, n_features, epsilon / kernel.amplitude, form) > math.log(delta)

    enough = 1
    while fails(enough):
        enough *= 2
    too_few = enough // 2
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        too_few, enough = (middle, enough) if fails(middle) else (too_few, middle)
    return 2 * enough if form == "paired" else enough


def _relative_diameter(kernel: Kernel, diameter: float, n_features: int, epsilon: float) -> float:
    """Return sigma M / epsilon, with epsilon relative to k(0)."""
    check_positive("epsilon", epsilon)
    check_positive("diameter", diameter)
    check_whole("n_features", n_features)
    kernel.check_resolved()
    if not kernel.has_spectrum:
        raise ValueError(f"the bound is for kernels with a spectral distribution, which {kernel!r} does not have")
    moment = kernel.spectral_moment(n_features)
    if not moment < math.inf:
        raise ValueError(
            f"the frequencies of {kernel!r} have no finite E ||w||^2, so that its estimates can be arbitrarily steep: "
            "no uniform bound is known; use relative_error for the rows at hand"
        )
    relative = math.sqrt(moment) * float(diameter) * kernel.amplitude / float(epsilon)
    if not relative < math.inf:
        raise ValueError(f"the bound for {kernel!r} overflows at epsilon={epsilon!r}: scale the rows down")
    return relative


def _log_probability(count: int, relative: float, n_features: int, epsilon: float, form: Form) -> float:
    """Return the logarithm of the bound for the given number of frequencies, at most 0."""
    excess = np.exp(LOG_EXCESSES)
    steep = -np.logaddexp(0.0, math.log(count) + 2.0 * LOG_EXCESSES)
    if form == "paired":
        events, level, cells = 2.0, 1.0 / math.sqrt(2.0), 2.0 * (2.0 + excess)
    else:
        events, level, cells = 4.0, 1.0 / (1.0 + math.sqrt(2.0)), (4.0 + 2.0 * math.sqrt(2.0)) * (1.0 + excess)
    with np.errstate(over="ignore"):
        points = n_features * np.log1p(cells * relative / SHARES)
    log_exponent = math.log(count) + 2.0 * (np.log1p(-SHARES) + math.log(level) + math.log(epsilon))
    wrong = math.log(events) + points - np.exp(np.minimum(log_exponent, LARGEST_LOG))
    return min(0.0, float(np.logaddexp(steep, wrong).min()))
