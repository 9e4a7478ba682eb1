r"""Rahimi and Recht's uniform bound for random Fourier features, proved anew.

Let k(0) = 1, else epsilon is one of k(0); M be the diameter, d the number of columns, m the number of frequencies
(D/2 paired, D with offsets), and S the average of their norms. For any share s in (0, 1) and any a > 0:

1. Pairs: the estimate less the kernel is a function of x - y, :math:`f(\delta) = \frac1m\sum\cos\langle w_i,
   \delta\rangle - E\cos\langle w, \delta\rangle`, so :math:`|f(\delta) - f(\delta')| \le (S + \sigma)\|\delta -
   \delta'\|`, as :math:`E\|w\| \le \sigma`.
2. S has a mean of at most sigma and a variance of at most sigma^2/m: by Cantelli :math:`P[S \ge (1+a)\sigma] \le
   1/(1 + m a^2)`. (Markov, as in the paper, has :math:`(1+a)^{-2}`.)
3. The differences lie in a ball of radius M. Points that are r apart have disjoint balls of radius r/2 in one of radius
   M + r/2, so there are at most :math:`(1+2M/r)^d`, and as many as possible leave nothing farther than r from all of
   them. Take :math:`r = s\epsilon / ((2+a)\sigma)`: unless S is large, f changes by less than s epsilon within r.
4. At each, f is an average of m terms within +-1: by Hoeffding it is beyond :math:`(1-s)\epsilon` with probability
   :math:`2\exp(-m(1-s)^2\epsilon^2/2)` at most.

.. math:: P \le \frac1{1+ma^2} + 2\Bigl(1 + \frac{2(2+a)\sigma M}{s\epsilon}\Bigr)^d e^{-m(1-s)^2\epsilon^2/2}

Offsets add :math:`h(v) = \frac1m\sum\cos(\langle w_i, v\rangle + 2b_i)` at v = x + y, which lies in a ball of
radius :math:`\sqrt2 M` (Jung). Its terms are cosines of uniform angles, :math:`E e^{t\cos} \le e^{t^2/4}`, so that
h is beyond u with probability :math:`2e^{-mu^2}`. Of epsilon, f gets the share :math:`\sqrt2/(1+\sqrt2)`, h the
rest; then both have the same exponent and the net of h is the larger:

.. math:: P \le \frac1{1+ma^2}
    + 4\Bigl(1 + \frac{(4+2\sqrt2)(1+a)\sigma M}{s\epsilon}\Bigr)^d e^{-m(1-s)^2\epsilon^2/(1+\sqrt2)^2}

Both hold for every s and a; what is computed is the least over a fixed grid of them.
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
"""Fractions of epsilon that are left to what happens between the points of the net."""
LOG_EXCESSES = math.log(10.0) * np.concatenate([np.arange(-3.0, 6.0, 0.1), np.arange(6.0, 160.0, 2.0)])
"""By how much the average frequency may exceed its root mean square, as a fraction of that, in logarithms."""

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
    r"""Bound P[sup abs(<Z(x), Z(y)> - k) >= epsilon] for RandomFourier, over all pairs in a set of rows at once.

    A guarantee for rows not seen yet, and for independent frequencies only: not for OrthogonalFourier, QuasiFourier
    and the like. It asks for some ten times too many features, see :mod:`mercer.bounds`; for the rows at hand
    :func:`relative_error` has the exact variance. The kernel must have frequencies w of finite :math:`\sigma^2 =
    E\|w\|^2`; the Laplacian, the skewed intersection and Matern kernels of nu <= 1 are refused.

    It stands for Claim 1 of Rahimi and Recht, :math:`2^8 (\sigma M/\epsilon)^2 e^{-D\epsilon^2/(4(d+2))}`, and is
    proved at the head of :mod:`mercer.bounds.fourier`. Their proof takes the mean of a gradient at a point that depends
    on the draw as if it did not, and its exponent is that of D frequencies with a cosine and a sine each, not of D
    features. Sutherland and Schneider (UAI 2015) mend it by closed formulas.

    Parameters
    ----------
    n_components : D; even where they come in pairs
    kernel : a kernel with a spectral law, or text that describes one, with every field a number
    diameter : M, the largest distance of two rows (of ``kernel.coordinates(X)`` for the skewed kernels)
    n_features : d, the number of columns
    epsilon : the absolute error
    form : "paired" or "offset", as in :class:`mercer.RandomFourier`

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
    """The width that brings :func:`fourier_uniform_error` down to delta.

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
    """sigma M / epsilon, epsilon relative to k(0)."""
    check_positive("epsilon", epsilon)
    check_positive("diameter", diameter)
    check_whole("n_features", n_features)
    kernel.check_resolved()
    if not kernel.has_spectrum:
        raise ValueError(f"the bound is for kernels with a spectral law, which {kernel!r} does not have")
    moment = kernel.spectral_moment(n_features)
    if not moment < math.inf:
        raise ValueError(
            f"the frequencies of {kernel!r} have no finite E ||w||^2, so that its estimates can be arbitrarily steep: "
            "no uniform bound is known; relative_error serves the rows at hand"
        )
    relative = math.sqrt(moment) * float(diameter) * kernel.amplitude / float(epsilon)
    if not relative < math.inf:
        raise ValueError(f"the bound for {kernel!r} overflows at epsilon={epsilon!r}: scale the rows down")
    return relative


def _log_probability(count: int, relative: float, n_features: int, epsilon: float, form: Form) -> float:
    """The logarithm of the bound for the given number of frequencies, at most 0."""
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
