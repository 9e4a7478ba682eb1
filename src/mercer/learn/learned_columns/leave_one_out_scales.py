r"""One scale per column, learned by the exact leave-one-out error of kernel ridge regression.

With rows :math:`z_i = s \odot x_i`, weights w and :math:`A = K + \alpha\,\mathrm{diag}(1 / w)`, let P be the inverse of
A on coefficients that add up to 0, as a free intercept requires. Then the coefficients are :math:`\beta = P y`. One
copy of a row (or all of it, if its weight is below 1) is left out in closed form: with :math:`c_i = \min(w_i, 1)` its
error is

.. math:: e_i = \frac{\alpha w_i \beta_i}{q_i}, \qquad q_i = w_i (w_i - c_i) + c_i \alpha P_{ii},

which is :math:`\beta_i / P_{ii}` for a row of weight 1 (Cook and Weisberg, Residuals and influence in regression,
1982). The logarithm of the mean of :math:`w_i e_i^2` is minimised over the logarithms of s and :math:`\alpha` by
L-BFGS. Since :math:`dP = -P\,dA\,P`, its gradient needs one matrix of sensitivities to the entries of K, which is
contracted with the derivatives of the kernel: an evaluation costs one inverse and a few products of the size of K, and
no array of size rows x rows x columns is needed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy.linalg.lapack
import scipy.optimize
from numpy.typing import NDArray

from ..._checks import check_positive, check_whole
from ..._tiles import single_threaded_blas
from ...kernels import Kernel

Matrix = NDArray[np.float64]

REACH = 5.0
"""The largest distance of the logarithm of a scale from its starting point."""

SPREAD = 0.5
"""The prior standard deviation of the logarithms of scales about their common mean.

Minus half the number of rows times the logarithm of the error is used as a log-likelihood: the more rows, the less the
prior counts.
"""

PENALTIES = 1e-8, 1e4
"""The smallest and largest alpha, in units of the mean of k(x, x)."""

FIRST_PENALTY = 1e-2
"""The alpha that is tried first, in the same units."""

NOTABLY = 0.98
"""Each further power of ten must reduce the error to at most this share of its previous value.

If alpha is so small that it has no effect, the error has no slope along it, and a search would not move away.
"""

JITTERS = 1e-10, 1e-8, 1e-6, 1e-4, 1e-2
"""The values that are tried on the diagonal of a matrix that is not positive definite, in the same units."""

BARRIER = 50.0
"""The value of the objective if a kernel overflows: above all others, but finite, so that a line search steps back."""

FEWEST_ROWS = 3


class ColumnScales(NamedTuple):
    """The scales that were learned from some rows."""

    scales: Matrix
    """The factors of the columns, one positive number per column."""
    alpha: float
    """The ridge penalty that belongs to them, for these rows."""
    error: float
    """The mean squared error of left-out rows, in units of the variance of the targets."""
    start_error: float
    """The same error at the start of the search, with a good power of ten for alpha."""
    n_iter: int
    jitter: float
    """The number that had to be added to the diagonal of the kernel matrix to make it positive definite; usually 0."""


class LeaveOneOutError(NamedTuple):
    """The leave-one-out error of all rows, and its derivatives."""

    error: float
    """The error, in units of the variance of the targets."""
    sensitivity: Matrix | None
    """The derivative of the logarithm of the error with respect to every entry of the kernel matrix."""
    of_penalty: float
    """The derivative with respect to the logarithm of alpha."""
    jitter: float


def learn_column_scales(
    X: Matrix,
    Y: Matrix,
    kernel: Kernel,
    *,
    weight: Matrix | None = None,
    alpha: float | None = None,
    start: Matrix | None = None,
    common_scale: bool = False,
    max_iter: int = 25,
    tol: float = 1e-4,
) -> ColumnScales:
    """Learn one scale per column, by which it is multiplied before the kernel is applied.

    The time grows with the cube of the number of rows: use about a thousand.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        Dense rows, prepared. A constant column keeps its initial scale.
    Y : ndarray of shape (n_rows,) or (n_rows, n_targets)
        Numbers, or codes of classes with one column per class. Errors are summed over columns, so columns with a larger
        spread count more; their means do not matter.
    kernel : Kernel
        A kernel with derivatives (``kernel.has_gradient``), whose bandwidths are numbers; the search starts from them.
    weight : ndarray of shape (n_rows,), default=None
        The weights of the rows.
    alpha : float, default=None
        The ridge penalty from which the search starts; None means a good power of ten.
    start : ndarray of shape (n_columns,), default=None
        The scales from which the search starts; None means ones.
    common_scale : bool, default=False
        Whether all columns share one factor, which makes it a search for a bandwidth and a penalty.
    max_iter : int, default=25
        The largest number of iterations of L-BFGS.
    tol : float, default=1e-4
        The search stops if an iteration reduces the logarithm of the error by less than this.

    Returns
    -------
    ColumnScales
        The scales, the penalty and the errors.

    Examples
    --------
    The second column says nothing about the target.

    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> found = learn_column_scales(X, np.sin(2.0 * X[:, 0]), Gaussian(0.5))
    >>> bool(found.scales[1] < 0.1 * found.scales[0])
    True
    """
    check_whole("max_iter", max_iter, 0)
    check_positive("tol", tol)
    if alpha is not None:
        check_positive("alpha", alpha)
    kernel.check_resolved()
    if not kernel.has_gradient:
        raise ValueError(f"{kernel!r} has no derivatives with respect to columns, which are needed to learn scales")
    X, Y, weight = checked_rows(X, Y, weight)
    begin = np.ones(X.shape[1]) if start is None else np.asarray(start, dtype=np.float64)
    if begin.shape != X.shape[1:] or not (np.isfinite(begin) & (begin > 0.0)).all():
        raise ValueError(f"start must be {X.shape[1]} positive numbers, one per column of X")
    with single_threaded_blas():
        search = ScaleSearch(X * begin, Y, weight, kernel, common_scale)
        return search.run(alpha, max_iter, tol, begin)


def checked_rows(X: Matrix, Y: Matrix, weight: Matrix | None) -> tuple[Matrix, Matrix, Matrix]:
    """Return rows of positive weight in float64, with centred targets."""
    X, Y = np.asarray(X, dtype=np.float64), np.asarray(Y, dtype=np.float64)
    Y = Y[:, None] if Y.ndim == 1 else Y
    weight = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)
    if X.ndim != 2 or Y.ndim != 2 or len(X) != len(Y) or weight.shape != (len(X),):
        raise ValueError(
            f"X, Y and weight must have the same number of rows, found shapes {X.shape}, {Y.shape} and {weight.shape}"
        )
    for name, values in (("X", X), ("Y", Y), ("weight", weight)):
        if not np.isfinite(values).all():
            raise ValueError(f"{name} must be finite, found NaN or infinity")
    if (weight < 0.0).any():
        raise ValueError("weight must not be negative")
    kept = weight > 0.0
    X, Y, weight = X[kept], Y[kept], weight[kept]
    if len(X) < FEWEST_ROWS:
        raise ValueError(f"learning scales requires at least {FEWEST_ROWS} rows of positive weight, found {len(X)}")
    return X, Y - weight @ Y / weight.sum(), weight


class ScaleSearch:
    """The logarithm of the error as a function of the logarithms of scales and penalty.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        The rows, multiplied by the scales from which the search starts.
    Y : ndarray of shape (n_rows, n_targets)
        The centred targets.
    weight : ndarray of shape (n_rows,)
        The weights, all positive.
    kernel : Kernel
    common_scale : bool
    """

    def __init__(self, X: Matrix, Y: Matrix, weight: Matrix, kernel: Kernel, common_scale: bool):
        self.X, self.Y, self.weight, self.kernel = X, Y, weight, kernel
        varies = np.ptp(X, axis=0) > 0.0
        # Every learned scale has a column in this matrix, which says which columns of X it multiplies.
        self.members = varies[:, None].astype(np.float64) if common_scale else np.eye(X.shape[1])[:, varies]
        self.stiffness = 1.0 / (float(weight.sum()) * SPREAD**2)

    def run(self, alpha: float | None, max_iter: int, tol: float, begin: Matrix) -> ColumnScales:
        """Search from scales of 1 and this alpha, or a good power of ten."""
        gram = self._gram(self.X)
        unit = float(np.mean(np.diag(gram))) or 1.0
        if not np.isfinite(gram).all():
            raise ValueError(f"{self.kernel!r} overflows float64 on these rows: scale them down")
        if alpha is None:
            alpha, first = self._good_power(gram, unit)
        else:
            first = leave_one_out(gram, self.Y, self.weight, alpha, unit, sensitive=False)
        if not math.isfinite(first.error):
            raise ValueError(
                f"{self.kernel!r} is not positive definite on these rows, even with {first.jitter:g} added to its "
                "diagonal: raise alpha, or take another kernel"
            )
        place = np.append(np.zeros(self.members.shape[1]), math.log(alpha))
        if max_iter == 0 or first.error == 0.0:
            return ColumnScales(begin, alpha, first.error, first.error, 0, first.jitter)
        lowest, highest = (math.log(factor * unit) for factor in PENALTIES)
        bounds = [(-REACH, REACH)] * (len(place) - 1) + [(min(lowest, place[-1]), max(highest, place[-1]))]
        options = {"maxiter": max_iter, "maxfun": 2 * max_iter + 2, "ftol": tol, "gtol": 1e-6}
        found = scipy.optimize.minimize(self, place, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        last = self._at(found.x, sensitive=False)
        if not last.error <= first.error:
            return ColumnScales(begin, alpha, first.error, first.error, 0, first.jitter)
        scales = begin * self._scales(found.x)
        return ColumnScales(scales, math.exp(found.x[-1]), last.error, first.error, int(found.nit), last.jitter)

    def _good_power(self, gram: Matrix, unit: float) -> tuple[float, LeaveOneOutError]:
        """Descend in powers of ten, as long as the error decreases enough, from a value that suits most machines."""

        def at(power: int) -> LeaveOneOutError:
            return leave_one_out(gram, self.Y, self.weight, FIRST_PENALTY * unit * 10.0**power, unit, sensitive=False)

        power, best = 0, at(0)
        for step in (-1, 1):
            while PENALTIES[0] < FIRST_PENALTY * 10.0 ** (power + step) < PENALTIES[1]:
                tried = at(power + step)
                if not tried.error < NOTABLY * best.error:
                    break
                power, best = power + step, tried
            if power != 0:
                break
        return FIRST_PENALTY * unit * 10.0**power, best

    def _scales(self, place: Matrix) -> Matrix:
        return np.exp(self.members @ place[:-1])

    def _gram(self, Z: Matrix) -> Matrix:
        with np.errstate(over="ignore", invalid="ignore"):
            return self.kernel.gram(Z, Z)

    def _at(self, place: Matrix, sensitive: bool) -> LeaveOneOutError:
        gram = self._gram(self.X * self._scales(place))
        unit = float(np.mean(np.diag(gram)))
        if not np.isfinite(gram).all():
            return LeaveOneOutError(np.inf, None, 0.0, 0.0)
        return leave_one_out(gram, self.Y, self.weight, math.exp(place[-1]), unit, sensitive)

    def __call__(self, place: Matrix) -> tuple[float, Matrix]:
        """Return the value to be minimised, and its gradient."""
        found = self._at(place, sensitive=True)
        logarithms = place[:-1] - place[:-1].mean() if len(place) > 1 else place[:-1]
        value = float(self.stiffness * logarithms @ logarithms)
        gradient = np.append(2.0 * self.stiffness * logarithms, 0.0)
        if found.sensitivity is None:
            return value + BARRIER, gradient
        Z = self.X * self._scales(place)
        # A scale multiplies both rows of a pair, and the sensitivities are symmetric.
        of_columns = 2.0 * np.einsum("ij,ij->j", Z, self.kernel.gradients(Z, Z, found.sensitivity))
        gradient += np.append(self.members.T @ of_columns, found.of_penalty)
        return value + math.log(found.error), gradient


def leave_one_out(
    gram: Matrix, Y: Matrix, weight: Matrix, alpha: float, unit: float, sensitive: bool
) -> LeaveOneOutError:
    """Return the leave-one-out error of kernel ridge regression with a free intercept.

    Parameters
    ----------
    gram : ndarray of shape (n_rows, n_rows)
    Y : ndarray of shape (n_rows, n_targets)
        The targets, centred by their weighted mean.
    weight : ndarray of shape (n_rows,)
    alpha : float
    unit : float
        The mean of k(x, x), in which jitter is measured.
    sensitive : bool
        Whether to compute derivatives.
    """
    inverse, jitter = inverse_of(gram, alpha / weight, unit)
    if inverse is None:
        return LeaveOneOutError(np.inf, None, 0.0, jitter)
    sums = inverse.sum(axis=1)
    projected = inverse - np.outer(sums, sums / sums.sum())
    own = np.diag(projected).copy()
    beta = projected @ Y
    copy = np.minimum(weight, 1.0)
    part = weight * (weight - copy) + copy * alpha * own
    errors = alpha * (weight / part)[:, None] * beta
    total = float(weight @ errors**2 @ np.ones(Y.shape[1]))
    spread = float(weight @ Y**2 @ np.ones(Y.shape[1]))
    if not total > 0.0 or not spread > 0.0:
        return LeaveOneOutError(0.0, None, 0.0, jitter)
    if not sensitive:
        return LeaveOneOutError(total / spread, None, 0.0, jitter)
    squares = (errors**2).sum(axis=1)
    of_own = 2.0 * alpha * weight * copy * squares / part
    of_beta = 2.0 * alpha * (weight**2 / part)[:, None] * errors
    root = projected * np.sqrt(of_own)
    through_beta = (projected @ of_beta) @ beta.T
    sensitivity = root @ root.T - 0.5 * (through_beta + through_beta.T)
    direct = 2.0 * weight @ (squares * (1.0 - alpha * copy * own / part))
    of_penalty = float(alpha * np.diag(sensitivity) @ (1.0 / weight) + direct)
    return LeaveOneOutError(total / spread, sensitivity / total, of_penalty / total, jitter)


def inverse_of(gram: Matrix, diagonal: Matrix, unit: float) -> tuple[Matrix | None, float]:
    """Return the inverse of a kernel matrix plus a diagonal, None if it is indefinite, and the jitter it needed."""
    for jitter in (0.0, *JITTERS):
        matrix = gram.T.copy(order="F")
        matrix[np.diag_indices_from(matrix)] += diagonal + jitter * unit
        factor, failed = scipy.linalg.lapack.dpotrf(matrix, lower=1, overwrite_a=1, clean=0)
        if failed == 0:
            inverse, _ = scipy.linalg.lapack.dpotri(factor, lower=1, overwrite_c=1)
            lower = np.tril(inverse)
            return lower + np.tril(lower, -1).T, jitter * unit
    return None, JITTERS[-1] * unit
