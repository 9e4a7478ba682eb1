"""Certificates: the error of a fitted map on rows like the given ones, and its effect on predictions."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, solve

from .._array import to_numpy
from .._checks import check_positive, check_probability, check_whole
from .._kernel_error import whitened
from .._random import RandomState, Stream, as_seed
from .._rows import ArrayRows
from .._tiles import single_threaded_blas
from ..kernels import Kernel
from ..maps import FeatureMap
from .gram_errors import FEWEST_ROWS, LARGEST_LOGARITHM, Estimate, GramErrors, jackknife_reach, plain_features
from .learner_choice import MOST_CLASSES
from .samples import codes_of

Matrix = NDArray[np.float64]

CERTIFIED_ROWS = 1000
"""The number of rows whose pairs are all examined."""
MOST_PAIRS = 20_000
"""The number of pairs of different rows for the maximum."""
FUNCTIONS = 16
"""The number of functions that are drawn if no target is given."""
ALPHA = 1e-2
"""The penalty of ridge regression, in units of the mean k(x, x)."""


class MaximumError(NamedTuple):
    """The largest absolute error of an entry of the kernel matrix, and a statement about entries that were not seen.

    Parameters
    ----------
    observed : float
        The largest error among all pairs that were examined. No sample can bound the error of all possible pairs.
    bound : float
        The largest error among ``pairs`` pairs that share no row.
    share : float
        With the confidence of the certificate, at most this share of the pairs of two new rows has an error above
        ``bound``: the pairs are independent, and (1 - share)^pairs = 1 - confidence.
    pairs : int
        The number of pairs behind ``bound``.
    """

    observed: float
    bound: float
    share: float
    pairs: int

    def __str__(self) -> str:
        return (
            f"{self.observed:.4g} among the sampled pairs; at most {100.0 * self.share:.2g} % of new pairs are above "
            f"{self.bound:.4g}"
        )


class PredictionChange(NamedTuple):
    """The change that the approximation causes in kernel ridge regression, fitted to half of the sampled rows.

    Parameters
    ----------
    relative : Estimate
        The root mean square of the difference between the predictions with features and with the kernel itself, divided
        by the root mean square of the latter, on the other half. The interval takes into account that other rows could
        be predicted, but not that others could be learned from.
    rows : int
        The rows to learn from.
    alpha : float
        The penalty: what is added to the diagonal of the kernel matrix.
    exact_score, score : float
        With the kernel itself and with features: R2, or accuracy where the targets are classes; NaN without targets,
        when functions are drawn from the Gaussian process of the kernel.
    """

    relative: Estimate
    rows: int
    alpha: float
    exact_score: float
    score: float


class Certificate(NamedTuple):
    """The result of :func:`certify`.

    Parameters
    ----------
    map : str
        A description of the map.
    kernel : str
        A description of the kernel.
    n_components : int
        The number of features.
    n_rows : int
        The size of the kernel matrix to which the certificate applies.
    sampled : int
        The number of rows whose pairs were all examined.
    confidence : float
        The confidence of each interval on its own.
    relative_frobenius : Estimate
        ||Z Z' - K|| / ||K|| in the Frobenius norm, with an interval.
    maximum : MaximumError
        The largest entry of |Z Z' - K|.
    spectral : Estimate
        ||Z Z' - K|| / ||K|| in the spectral norm, with an interval.
    predictions : PredictionChange
        The change of predictions.
    """

    map: str
    kernel: str
    n_components: int
    n_rows: int
    sampled: int
    confidence: float
    relative_frobenius: Estimate
    maximum: MaximumError
    spectral: Estimate
    predictions: PredictionChange

    def __str__(self) -> str:
        """Return the certificate in a few lines."""
        change = self.predictions
        lines = [
            f"{self.map} of {self.kernel} with {self.n_components:,} features, on {self.sampled:,} sampled rows",
            f"relative Frobenius error  {self.relative_frobenius}",
            f"relative spectral error   {self.spectral}",
            f"largest absolute error    {self.maximum}",
            f"change in predictions     {change.relative}",
        ]
        if not math.isnan(change.score):
            lines.append(f"score of ridge regression {change.score:.4g}, and {change.exact_score:.4g} without features")
        lines.append(f"Intervals hold with {100.0 * self.confidence:g} % confidence for rows like these.")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as plain dictionaries, for JSON.

        Returns
        -------
        dict
            The fields by name.
        """
        return {name: _plain(value) for name, value in self._asdict().items()}


def certify(
    map: FeatureMap,
    X: Any,
    y: Any = None,
    *,
    n_rows: int | None = None,
    max_rows: int = CERTIFIED_ROWS,
    confidence: float = 0.95,
    alpha: float | None = None,
    random_state: RandomState = 0,
) -> Certificate:
    """Measure how far a fitted map is from its kernel on rows like X, with confidence intervals.

    Give rows on which the map was not fitted, since it is exact at its landmarks. The rows must be an independent
    sample of those for which the map will be used.

    Parameters
    ----------
    map : FeatureMap
        A fitted map of a kernel of :mod:`mercer.kernels`.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        At least 16 rows.
    y : array-like of shape (n_samples,) or None, default=None
        What to predict: classes if there are at most 20 different values, otherwise numbers. None draws functions from
        the Gaussian process of the kernel.
    n_rows : int or None, default=None
        The size of the kernel matrix to which the certificate applies; None means the number of rows of X. It matters
        for small matrices, because of their diagonal.
    max_rows : int, default=1000
        The number of rows sampled from X. All of their pairs are examined.
    confidence : float, default=0.95
        The confidence of each interval on its own.
    alpha : float or None, default=None
        The penalty of ridge regression. None means 0.01 times the mean of k(x, x).
    random_state : int, Generator, RandomState or None, default=0
        Determines the sample.

    Returns
    -------
    Certificate
        The four errors; printed, it reads as a few lines.

    Notes
    -----
    - The relative Frobenius error is a ratio of U-statistics over all pairs of the sampled rows, with an interval by
      the jackknife over rows. If a few rows cause all of the error (polynomials of heavy-tailed columns), the interval
      is long, and may even so be too short.
    - The relative spectral error is computed for the matrix of the sampled rows and corrected to ``n_rows`` by
      comparing halves of the sample with the whole (its bias falls in proportion to one over the number of rows); the
      interval is from the jackknife of the leading eigenvalues. This is accurate to first order if the leading
      eigenvalues are well separated. It does not bound the error for rows of another distribution, or of eigenvalues
      after the first.
    - For the largest absolute error, a sample can only tell how many pairs of new rows exceed a bound; see
      :class:`~mercer.choose.MaximumError`.
    - Predictions of kernel ridge regression with the features are compared with those of the kernel itself.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).normal(size=(2000, 5))
    >>> map = mercer.OrthogonalFourier("gaussian('median')", n_components=512, random_state=0).fit(X[:1000])
    >>> certificate = mercer.certify(map, X[1000:])
    >>> certificate.relative_frobenius.low < mercer.kernel_error(map, X).relative < certificate.relative_frobenius.high
    True
    >>> certificate.maximum.pairs, certificate.maximum.share < 0.01
    (500, True)
    """
    check_whole("max_rows", max_rows, 2 * FEWEST_ROWS)
    check_probability("confidence", confidence)
    if n_rows is not None:
        check_whole("n_rows", n_rows, 2, " or None")
    if alpha is not None:
        check_positive("alpha", alpha, " or None")
    if not isinstance(map, FeatureMap):
        raise TypeError(
            f"certify expects a fitted feature map, found {type(map).__name__}; for a learner, give its map_"
        )
    map = whitened(map)
    kernel = map.kernel_
    if not isinstance(kernel, Kernel):
        raise TypeError(f"certify needs a map of a kernel of mercer.kernels, found {kernel!r}")
    X = to_numpy(map.validated(X))
    if X.shape[0] < 2 * FEWEST_ROWS:
        raise ValueError(f"certify needs at least {2 * FEWEST_ROWS} rows, found n_samples={X.shape[0]}")
    if y is not None and len(y) != X.shape[0]:
        raise ValueError(f"y must have one entry per row of X, found {len(y)} for {X.shape[0]} rows")
    rng = Stream(as_seed(random_state), "certify")
    numbers = ArrayRows(X, rng.child("rows")).choose(max_rows)
    # In random order, since halves of the sample must be samples themselves.
    numbers = numbers[rng.child("order").permutation(len(numbers))]
    n, m = X.shape[0] if n_rows is None else int(n_rows), len(numbers)
    with single_threaded_blas():
        Z, K = plain_features(map, X[numbers]), kernel(X[numbers]).astype(np.float64)
        errors = GramErrors.of(Z, K)
        estimates = _inner(Z)
        return Certificate(
            type(map).__name__,
            repr(kernel),
            map.n_components_,
            n,
            m,
            confidence,
            errors.relative(n, confidence),
            _maximum(map, X, float(errors.maximum(confidence).value), rng.child("pairs"), confidence),
            _spectral(estimates - K, K, n, confidence),
            _predictions(estimates, K, None if y is None else np.asarray(y)[numbers], alpha, rng, confidence),
        )


# -- the largest error -------------------------------------------------------------------------------------------------


def _maximum(map: FeatureMap, X: Any, observed: float, rng: Stream, confidence: float) -> MaximumError:
    """Return the error from pairs that share no row, so that they are independent."""
    order = rng.permutation(X.shape[0])
    count = min(X.shape[0] // 2, MOST_PAIRS)
    largest = 0.0
    for start in range(0, count, CERTIFIED_ROWS // 2):
        pairs = slice(start, min(start + CERTIFIED_ROWS // 2, count))
        left, right = X[order[:count][pairs]], X[order[count : 2 * count][pairs]]
        products = (_dense(plain_features(map, left)) * _dense(plain_features(map, right))).sum(axis=1)
        exact = map.kernel_(left, right).diagonal()
        largest = max(largest, float(np.abs(products - exact).max()))
    return MaximumError(max(observed, largest), largest, 1.0 - (1.0 - confidence) ** (1.0 / count), count)


def _dense(Z: Any) -> Matrix:
    dense: Matrix = (Z.toarray() if hasattr(Z, "toarray") else Z).astype(np.float64)
    return dense


def _inner(Z: Any) -> Matrix:
    Z = _dense(Z)
    return Z @ Z.T


# -- the spectral norm -------------------------------------------------------------------------------------------------


def _spectral(E: Matrix, K: Matrix, n_rows: int, confidence: float) -> Estimate:
    m = len(K)
    norm, vector = _leading(E)
    if norm == 0.0:
        return Estimate(0.0, 0.0, 0.0)
    whole, direction = _leading(K)
    halves = [slice(None, m // 2), slice(m // 2, None)]
    parts = [_leading(E[half, half])[0] / _leading(K[half, half])[0] for half in halves]
    value = math.log(norm / whole)
    if min(parts) > 0.0:  # the bias of a sample of m rows falls as 1 / m
        value += (value - float(np.mean(np.log(parts)))) * (1.0 - m / max(n_rows, m))
    # To first order, leaving out row i reduces the leading eigenvalue by the share of i in its vector.
    reach = min(jackknife_reach(direction**2 - vector**2, confidence), LARGEST_LOGARITHM)
    return Estimate(math.exp(value), math.exp(value - reach), math.exp(min(value + reach, LARGEST_LOGARITHM)))


def _leading(M: Matrix) -> tuple[float, NDArray[np.float64]]:
    """Return the eigenvalue of the largest magnitude, and its vector."""
    ends = [eigh(M, subset_by_index=[place, place]) for place in (0, len(M) - 1)]
    values, vectors = max(ends, key=lambda end: abs(float(end[0][0])))
    return abs(float(values[0])), vectors[:, 0]


# -- predictions -------------------------------------------------------------------------------------------------------


def _predictions(
    estimates: Matrix, K: Matrix, y: Any, alpha: float | None, rng: Stream, confidence: float
) -> PredictionChange:
    half = len(K) // 2
    alpha = ALPHA * float(K.diagonal().mean()) if alpha is None else float(alpha)
    classes, targets = _targets(K, y, rng)
    exact, approximate = (
        M[half:, :half] @ solve(M[:half, :half] + alpha * np.eye(half), targets[:half], assume_a="pos")
        for M in (K, estimates)
    )
    change, size = ((approximate - exact) ** 2).sum(axis=1), (exact**2).sum(axis=1)
    if y is None:
        scores = [math.nan, math.nan]
    else:
        scores = [_score(predicted, targets[half:], classes) for predicted in (exact, approximate)]
    return PredictionChange(_ratio(change, size, confidence), half, alpha, *scores)


def _targets(K: Matrix, y: Any, rng: Stream) -> tuple[bool, Matrix]:
    """Return whether targets are classes, and their columns."""
    if y is None:
        # The symmetric root of K is the same on every machine, unlike eigenvectors, whose signs LAPACK is free to
        # choose.
        values, vectors = eigh(K)
        normals = rng.child("functions").normals((len(K), FUNCTIONS))
        return False, vectors @ (np.sqrt(np.maximum(values, 0.0))[:, None] * (vectors.T @ normals))
    return codes_of_targets(y)


def codes_of_targets(y: NDArray[Any]) -> tuple[bool, Matrix]:
    """Return whether targets are classes, and a column of numbers for ridge regression, or one per class.

    Parameters
    ----------
    y : array of shape (n_rows,)
        Classes if they are not numbers, or have at most 20 different values.

    Returns
    -------
    tuple of bool and ndarray
        Whether they are classes, and the columns.
    """
    if y.dtype.kind in "iuf" and len(np.unique(y)) > MOST_CLASSES:
        return False, (y - y.mean()).astype(np.float64).reshape(len(y), -1)
    return True, codes_of(y)


def _score(predicted: Matrix, targets: Matrix, classes: bool) -> float:
    if not classes:
        return 1.0 - float(((targets - predicted) ** 2).sum() / ((targets - targets.mean(axis=0)) ** 2).sum())
    if targets.shape[1] == 1:
        return float(((predicted > 0.0) == (targets > 0.0)).mean())
    return float((predicted.argmax(axis=1) == targets.argmax(axis=1)).mean())


def _ratio(change: NDArray[np.float64], size: NDArray[np.float64], confidence: float) -> Estimate:
    """Return the square root of a ratio of two sums over rows, with its jackknife interval."""
    if change.sum() == 0.0:
        return Estimate(0.0, 0.0, 0.0)
    value = 0.5 * math.log(change.sum() / size.sum())
    without = 0.5 * np.log((change.sum() - change) / (size.sum() - size))
    reach = min(jackknife_reach(without, confidence), LARGEST_LOGARITHM)
    return Estimate(math.exp(value), math.exp(value - reach), math.exp(value + reach))


def _plain(value: Any) -> Any:
    return {name: _plain(part) for name, part in value._asdict().items()} if hasattr(value, "_fields") else value
