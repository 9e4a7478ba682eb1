"""The error of features that are a projection of others, computed from the rows after the fact.

Features Z = F Q with orthonormal columns Q lose F F' - Z Z' = F (I - Q Q') F', which is positive semi-definite: it has
no negative eigenvalue, and no entry exceeds the geometric mean of the two diagonal entries in its row and column. For
:class:`mercer.Compressed` with a TEFM method, F are the features of the inner map. For :class:`mercer.Nystrom` they are
those of the kernel itself, which need not be computed: F F' = K, and the columns of Q span the landmarks' features.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfinv
from sklearn.utils.validation import check_is_fitted

from .._array import double, squares, to_numpy
from .._checks import check_probability, check_whole
from .._random import RandomState, Stream, as_seed
from .._tiles import tiles
from ..data import is_rows
from ..maps import Compressed, FeatureMap, Nystrom
from ..maps.executor import features
from ..maps.landmarks import kernel_block
from ..maps.nystrom_parameters import restored
from ..maps.rpcholesky import NOISE
from ..maps.whitening import most_negative

Matrix = NDArray[np.float64]

TILE_ROWS = 256
METHODS = ("tefm-g", "tefm-s")
ROUNDING = 10.0 * float(np.finfo(np.float64).eps)
"""The possible error of the computed length of a row, per feature and as a fraction of that length."""

NO_KERNEL = "nothing bounds the error of a map whose kernel is not positive semi-definite"


def projection_residual(map: Nystrom | Compressed, X: Any) -> Matrix:
    r"""Compute how much of every row the map misses: k(x, x) - ||Z(x)||^2 for Nystrom, never negative.

    This is the certificate of a fitted map, on any rows, and involves no probability. The sum is the nuclear norm of
    the error K - Z Z' on these rows, which is at least its spectral and its Frobenius norm; :func:`projection_error`
    bounds single entries. For a Compressed that has learned its projection (TEFM), the residual is :math:`\|F(x)\|^2 -
    \|Z(x)\|^2` with the wide map F: it measures what the projection loses, not how far F is from the kernel. Other maps
    err in both directions and are refused.

    Parameters
    ----------
    map : Nystrom or Compressed
        A fitted Nystrom, or a fitted Compressed with method "tefm-g" or "tefm-s".
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or Rows
        The rows in any form that the map accepts, or an object that provides them by ``blocks()``.

    Returns
    -------
    ndarray of shape (n_samples,)
        The residual of every row.

    Notes
    -----
    The result is never less than the rounding error, which is the width times 2e-15 of k(x, x). If the kernel of a
    Nystrom map is a function, its author must guarantee that it is positive semi-definite; a ValueError is raised if
    ``fit`` or these rows have shown that it is not, since nothing bounds the error then.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Nystrom
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> features = Nystrom(Gaussian(0.1), n_components=20, random_state=0).fit(X[:100])
    >>> residual, Z = projection_residual(features, X), features.transform(X)
    >>> error = np.linalg.eigvalsh(Gaussian(0.1)(X) - Z @ Z.T)
    >>> bool(np.isclose(np.abs(error).sum(), residual.sum()))
    True
    """
    _check_projection(map, "projection_residual", (Nystrom, Compressed))
    if isinstance(map, Nystrom) and math.isnan(map.residual_trace_.trace):
        raise ValueError(f"{NO_KERNEL}: fit has found a negative eigenvalue")
    return np.concatenate([_residual(map, tile) for tile in _tiles(map, X)])


def projection_error(map: Nystrom | Compressed, X: Any, Y: Any = None) -> Matrix:
    r"""Bound abs(<Z(x), Z(y)> - k(x, y)), with certainty, for every row x of X and y of Y.

    Use it for the pairs that matter once a Nystrom map is fitted; it does not evaluate the kernel between them. The
    error is an inner product and therefore at most :math:`\sqrt{r(x) r(y)}`, where r is the
    :func:`projection_residual`, whose conditions apply: for TEFM it is the error relative to the inner map.

    Parameters
    ----------
    map : Nystrom or Compressed
        A fitted Nystrom, or a fitted Compressed with method "tefm-g" or "tefm-s".
    X : {array-like, sparse matrix} of shape (n_samples_X, n_features)
        The rows x.
    Y : {array-like, sparse matrix} of shape (n_samples_Y, n_features), default=None
        The rows y. If None, ``X`` is used.

    Returns
    -------
    ndarray of shape (n_samples_X, n_samples_Y)
        The bounds.

    Examples
    --------
    >>> from mercer import Nystrom
    >>> from mercer.kernels import Polynomial
    >>> features = Nystrom(Polynomial(2), landmarks=[[1.0, 0.0], [0.0, 1.0]]).fit([[1.0, 0.0]])
    >>> projection_error(features, [[1.0, 1.0]], [[2.0, 1.0], [3.0, 0.0]]).round(3)
    array([[4., 0.]])
    """
    left = projection_residual(map, X)
    right = left if Y is None else projection_residual(map, Y)
    return np.sqrt(np.multiply.outer(left, right))


def projection_norm(
    map: Compressed,
    X: Any,
    *,
    delta: float,
    n_probes: int = 10,
    power: int = 1,
    random_state: RandomState = None,
) -> float:
    r"""Bound the largest eigenvalue of F F' - Z Z', the loss of TEFM's projection, except with probability delta.

    It applies to any rows and takes ``power`` + 1 passes over them; :func:`projection_residual` gives the sum of these
    eigenvalues exactly in one pass. F are the features of ``map.map_`` and Z = F Q those of the map, with orthonormal
    columns Q. The bound does not include the error of F F' with respect to the kernel.

    Parameters
    ----------
    map : Compressed
        A fitted Compressed with method "tefm-g" or "tefm-s".
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or Rows
        The rows, or an object that provides them by ``blocks()``.
    delta : float
        The probability that the bound fails.
    n_probes : int, default=10
        The number r of random probes.
    power : int, default=1
        The power q.
    random_state : int, Generator, RandomState or None, default=None
        Determines the probes.

    Returns
    -------
    float
        The bound.

    Notes
    -----
    The map and the rows are fixed, and the probability is only over the probes, which are drawn here. (It does not
    apply to a ``random_state`` that was chosen to make the number small.) As :math:`FF^\top - ZZ^\top = BB^\top` with
    :math:`B = F(I - QQ^\top)`, every standard normal probe w has :math:`\|B(B^\top B)^q w\| \ge \sigma^{2q+1} |\langle
    v, w\rangle|`, where sigma is the norm of B, v its right singular vector, and <v, w> standard normal. All r probes
    are within +-u with probability :math:`\mathrm{erf}(u/\sqrt2)^r`; let this be delta. Then, with probability
    1 - delta,

    .. math:: \|FF^\top - ZZ^\top\| = \sigma^2 \le
        \Bigl(u^{-2} \max_i \|B(B^\top B)^q w_i\|^2\Bigr)^{1/(2q+1)}.

    At q = 0 and delta = 10^-r this is equation (4.3) of Halko, Martinsson and Tropp, squared, up to their bound
    :math:`\mathrm{erf}(u/\sqrt2) \le u\sqrt{2/\pi}`, and roughly no smaller than the trace of the residual. Each power
    of B'B costs a pass and takes a root of the factor by which the bound is too large.

    The O(n/l) of Chen et al.'s Theorem 1 for :math:`\|K - ZZ^\top\|` does not follow from l = k + 5 as in its proof,
    because the hidden constant then grows with l. It does follow, for every q, from k = l/2 in Theorem 10.6 of Halko,
    Martinsson and Tropp, with :math:`l^2` wide features as they say.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Compressed, RandomFourier
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> features = Compressed(RandomFourier(), n_components=32, method="tefm-g", random_state=0).fit(X)
    >>> F, Z = features.map_.transform(X), features.transform(X)
    >>> bool(np.linalg.norm(F @ F.T - Z @ Z.T, 2) <= projection_norm(features, X, delta=0.01, random_state=0))
    True
    """
    check_probability("delta", delta)
    check_whole("n_probes", n_probes)
    check_whole("power", power, least=0)
    _check_projection(map, "projection_norm", (Compressed,))
    Q = map.parameters_.projection

    def outside(V: Matrix) -> Matrix:
        return V - Q @ (Q.T @ V)

    def total(part: Callable[[Matrix], Matrix]) -> Matrix:
        return sum((part(_features(map.map_, tile)) for tile in _tiles(map, X)), start=np.zeros(()))

    def gram(V: Matrix) -> Matrix:
        return total(lambda F: F.T @ (F @ V))

    probes = outside(Stream(as_seed(random_state), "probes").normals((Q.shape[0], n_probes)))
    for _ in range(power):
        probes = outside(gram(probes))
    lengths = total(lambda F: squares((F @ probes).T))
    within = np.sqrt(2.0) * erfinv(float(delta) ** (1.0 / n_probes))
    return float((lengths.max() / within**2) ** (1.0 / (2 * power + 1)))


def _check_projection(map: Any, name: str, kinds: tuple[type[FeatureMap], ...]) -> None:
    check_is_fitted(map)
    learned = map.method in METHODS if isinstance(map, Compressed) else isinstance(map, Nystrom)
    if not (learned and isinstance(map, kinds)):
        nystrom = "a Nystrom map or " if Nystrom in kinds else ""
        raise TypeError(
            f"{name} takes {nystrom}a Compressed with a method of {METHODS}, whose features are a projection; "
            f"the errors of others have either sign. Found {map!r}"
        )


def _residual(map: Nystrom | Compressed, X: Any) -> Matrix:
    """Compute the residual of one tile of rows."""
    kept = squares(_features(map, X))
    whole = squares(_features(map.map_, X)) if isinstance(map, Compressed) else _diagonal(map, X)
    residual = whole - kept
    if isinstance(map, Nystrom) and (residual < -NOISE * np.abs(whole)).any():
        _check_definite(map, X[[int(np.argmin(residual))]])
    # A negative value is rounding, and counts as an error.
    return np.maximum(np.abs(residual), ROUNDING * map.n_components_ * whole)


def _features(map: FeatureMap, X: Any) -> Matrix:
    """Compute the features of a tile of validated rows."""
    return np.asarray(features(map.fitted_, X, map.n_jobs))


def _check_definite(map: Nystrom, row: Any) -> None:
    """Raise a ValueError if the kernel matrix of the landmarks and this row has a negative eigenvalue."""
    kernel, landmarks = map.kernel_, restored(map.parameters_.landmarks, row.shape[-1])
    cross = kernel_block(kernel, row, landmarks)
    whole = np.block([[kernel_block(kernel, landmarks, landmarks), cross.T], [cross, kernel_block(kernel, row, row)]])
    lowest = most_negative(np.linalg.eigvalsh(whole), float(np.finfo(np.float64).eps))
    if lowest < 0.0:
        raise ValueError(f"{NO_KERNEL}: with one of these rows the landmarks have the eigenvalue {lowest:.3g}")


def _diagonal(map: Nystrom, X: Any) -> Matrix:
    """Compute k(x, x)."""
    if not hasattr(map.kernel_, "diagonal"):
        raise ValueError("a precomputed kernel does not provide k(x, x) of new rows; residual_trace_ has its sum")
    with np.errstate(over="ignore", invalid="ignore"):
        return map.kernel_.diagonal(X)


def _tiles(map: FeatureMap, X: Any) -> Iterator[Any]:
    """Yield the rows in float64, a few at a time, because the features of a whole block may be too wide to hold."""
    for block in X.blocks() if is_rows(X) else [to_numpy(map.validated(X))]:
        map.kernel_.check_rows(block)
        for tile in tiles(block.shape[0], TILE_ROWS):
            yield double(block[tile])
