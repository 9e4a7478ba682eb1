"""Certificates: how far a fitted map is from its kernel on rows like these, with intervals, and what that changes."""

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
"""Rows all pairs of which are looked at."""
MOST_PAIRS = 20_000
"""Pairs of different rows for the maximum."""
FUNCTIONS = 16
"""Functions that are drawn where no target is given."""
ALPHA = 1e-2
"""The penalty of ridge regression, in units of the mean k(x, x)."""


class MaximumError(NamedTuple):
    """The largest absolute error of an entry of the kernel matrix, and what is known of entries that were not seen.

    Parameters
    ----------
    observed : float
        The largest error among all pairs that were looked at. No sample bounds that of all pairs there are.
    bound : float
        The largest error among ``pairs`` pairs that share no row.
    share : float
        With the confidence of the certificate, at most this share of the pairs of two new rows has an error above
        ``bound``: the pairs are independent, and (1 - share)^pairs = 1 - confidence.
    pairs : int
        The pairs behind ``bound``.
    """

    observed: float
    bound: float
    share: float
    pairs: int

    def __str__(self) -> str:
        return (
            f"{self.observed:.4g} was the largest; at most {100.0 * self.share:.2g} % of new pairs are above "
            f"{self.bound:.4g}"
        )


class PredictionChange(NamedTuple):
    """What the approximation changes in kernel ridge regression, fitted to half of the sampled rows.

    Parameters
    ----------
    relative : Estimate
        The root mean square of the difference between the predictions with features and those with the kernel itself,
        over that of the latter, on the other half. The interval is about further rows to predict, with the rows to
        learn from as they are.
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
    """What :func:`certify` found.

    Parameters
    ----------
    map, kernel : str
        Their descriptions.
    n_components : int
        The width of the map.
    n_rows : int
        The size of the kernel matrix that is spoken of.
    sampled : int
        The rows all pairs of which were looked at.
    confidence : float
        Of every interval on its own.
    relative_frobenius, spectral : Estimate
        ||Z Z' - K|| / ||K||, in the Frobenius norm and in the spectral norm, with an interval.
    maximum : MaximumError
        The largest entry of |Z Z' - K|.
    predictions : PredictionChange
        What becomes of predictions.
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
        """The certificate in a few lines."""
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
        """The same as plain dictionaries, for JSON."""
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
    r"""How far a fitted map is from its kernel on rows like those of X, with confidence intervals.

    Give rows that the map was not fitted on: landmarks are exact where they are. Rows must be a sample of those that
    the map is for, each drawn on its own; then

    - the relative Frobenius error is a ratio of U-statistics over all pairs of the sampled rows, with an interval by
      the jackknife over rows. A few rows that carry all of the error (polynomials of heavy-tailed columns) make it
      long, and even so it may be too short;
    - the relative spectral error is that of the sampled rows' matrix, corrected to ``n_rows`` by what halves of the
      sample differ from the whole (its bias falls as one over the rows), with the jackknife of the leading eigenvalues.
      This holds to first order, where the leading eigenvalues stand apart; it is no bound on the error of a matrix of
      another distribution, nor on eigenvalues after the first;
    - of the largest absolute error a sample can only say how many pairs of new rows exceed a bound, see
      :class:`~mercer.choose.MaximumError`;
    - predictions of kernel ridge regression with the features are compared with those of the kernel itself.

    Parameters
    ----------
    map : FeatureMap
        Fitted, of a kernel of :mod:`mercer.kernels`.
    X : matrix of shape (n_samples, n_features)
        Dense or CSR; at least 16 rows.
    y : array of shape (n_samples,) or None, default=None
        What to predict: classes where there are at most 20 different values, else numbers. None draws functions from
        the Gaussian process of the kernel.
    n_rows : int or None, default=None
        The size of the kernel matrix that is spoken of; None means that of X. It matters for small ones, whose diagonal
        counts.
    max_rows : int, default=1000
        How many rows are sampled from X. All of their pairs are looked at.
    confidence : float, default=0.95
        The confidence of every interval on its own.
    alpha : float or None, default=None
        The penalty of ridge regression; None means 0.01 times the mean of k(x, x).
    random_state : int, numpy Generator or RandomState, or None, default=0
        Names the sample.

    Returns
    -------
    certificate : Certificate
        The four errors; printed, it reads as a few lines.

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
        raise TypeError(f"certify takes a fitted feature map, found {type(map).__name__}; of a learner, give its map_")
    map = whitened(map)
    kernel = map.kernel_
    if not isinstance(kernel, Kernel):
        raise TypeError(f"certify needs a map of a kernel of mercer.kernels, found {kernel!r}")
    X = to_numpy(map.validated(X))
    if X.shape[0] < 2 * FEWEST_ROWS:
        raise ValueError(f"certify needs {2 * FEWEST_ROWS} rows at least, found n_samples={X.shape[0]}")
    if y is not None and len(y) != X.shape[0]:
        raise ValueError(f"y must have one entry per row of X, found {len(y)} for {X.shape[0]} rows")
    rng = Stream(as_seed(random_state), "certify")
    numbers = ArrayRows(X, rng.child("rows")).choose(max_rows)
    # In an order of its own, since halves of the sample must be samples themselves.
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
    """From pairs of rows that share none, so that they are independent."""
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
    if min(parts) > 0.0:  # what a sample of m rows adds falls as 1 / m
        value += (value - float(np.mean(np.log(parts)))) * (1.0 - m / max(n_rows, m))
    # Without row i the leading eigenvalue is smaller by the share of i in its vector, to first order.
    reach = min(jackknife_reach(direction**2 - vector**2, confidence), LARGEST_LOGARITHM)
    return Estimate(math.exp(value), math.exp(value - reach), math.exp(min(value + reach, LARGEST_LOGARITHM)))


def _leading(M: Matrix) -> tuple[float, NDArray[np.float64]]:
    """The eigenvalue of the largest size, and its vector."""
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
    """Whether targets are classes, and their columns."""
    if y is None:
        values, vectors = eigh(K)
        normals = rng.child("functions").normals((len(K), FUNCTIONS))
        return False, vectors @ (np.sqrt(np.maximum(values, 0.0))[:, None] * normals)
    return codes_of_targets(y)


def codes_of_targets(y: NDArray[Any]) -> tuple[bool, Matrix]:
    """Whether targets are classes, and a column of numbers for ridge regression, or one per class.

    Parameters
    ----------
    y : array of shape (n_rows,)
        Classes where they are no numbers, or have at most 20 different values.
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
    """The root of a ratio of two sums over rows, by the jackknife."""
    if change.sum() == 0.0:
        return Estimate(0.0, 0.0, 0.0)
    value = 0.5 * math.log(change.sum() / size.sum())
    without = 0.5 * np.log((change.sum() - change) / (size.sum() - size))
    reach = min(jackknife_reach(without, confidence), LARGEST_LOGARITHM)
    return Estimate(math.exp(value), math.exp(value - reach), math.exp(value + reach))


def _plain(value: Any) -> Any:
    return {name: _plain(part) for name, part in value._asdict().items()} if hasattr(value, "_fields") else value
