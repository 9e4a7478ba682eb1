"""The error of features that are a projection of others, told after the fact from the rows themselves.

Features Z = F Q with orthonormal columns Q lose F F' - Z Z' = F (I - Q Q') F', which is positive semi-definite: no
eigenvalue of it is negative, and no entry is larger than the roots of the two diagonal entries beside it. Of
:class:`mercer.Compressed` with a TEFM method F are the features of the inner map. Of :class:`mercer.Nystrom` they are
those of the kernel itself, which nobody has to compute: F F' = K, and the columns of Q span the landmarks' features.
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
"""For every feature, what the computed length of a row may be wrong by, as a fraction of that length."""

NO_KERNEL = "nothing bounds the error of a map whose kernel is not positive semi-definite"


def projection_residual(map: Nystrom | Compressed, X: Any) -> Matrix:
    r"""How much of every row the map leaves out: k(x, x) - ||Z(x)||^2 for Nystrom, never negative. No probability.

    The certificate of a fitted map, on rows that need not be the ones of its fit. The sum is the nuclear norm of the
    error K - Z Z' on these rows, which is no smaller than its spectral and its Frobenius norm; single entries are
    bounded by :func:`projection_error`. For a Compressed that has learned its projection (TEFM) it is
    :math:`\|F(x)\|^2 - \|Z(x)\|^2`, with F the wide map, and tells what the projection loses, not how far F is from
    the kernel. Other maps err to both sides and are refused.

    What is lost in rounding, the width times 2e-15 of k(x, x), is the least that is returned. Where a Nystrom map has a
    function for a kernel, that the function is positive semi-definite is the promise of who wrote it; a ValueError says
    where ``fit`` or these rows have shown that it is not, for then nothing bounds the error.

    Parameters
    ----------
    map : a fitted Nystrom, or a fitted Compressed whose method is "tefm-g" or "tefm-s"
    X : rows as the map takes them, or an object that offers them by ``blocks()``

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
    r"""Bound abs(<Z(x), Z(y)> - k(x, y)) for every row x of X and y of Y, for certain, by the root of their residuals.

    Use it for the pairs that matter once a Nystrom map is fitted; it needs no kernel value between two of them. As the
    error is an inner product, it is at most :math:`\sqrt{r(x) r(y)}`, r the :func:`projection_residual`, of which the
    rest of the description holds: for TEFM it is the error against the inner map.

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
    r"""Bound the largest eigenvalue of F F' - Z Z', what TEFM's projection takes from the wide map, but for delta.

    For rows that need not be those of the fit, in ``power`` + 1 passes over them; :func:`projection_residual` has the
    sum of these eigenvalues, exactly and in one. F are the features of ``map.map_``, Z = F Q those of the map, Q its
    orthonormal columns: by how much F F' misses the kernel itself is not in it.

    The map and the rows are held fixed, and the probability is over the probes alone, which are drawn here: with
    probability at least 1 - delta they find a number that is not too small. (A ``random_state`` that somebody chose to
    make the number small voids that.) As :math:`FF^\top - ZZ^\top = BB^\top` with :math:`B = F(I - QQ^\top)`, every
    standard normal probe w has :math:`\|B(B^\top B)^q w\| \ge \sigma^{2q+1} |\langle v, w\rangle|`, where sigma is the
    norm of B, v its right singular vector, and <v, w> standard normal. All of r probes are within +-u with probability
    :math:`\mathrm{erf}(u/\sqrt2)^r`; let this be delta. Then, with probability 1 - delta,

    .. math:: \|FF^\top - ZZ^\top\| = \sigma^2 \le
        \Bigl(u^{-2} \max_i \|B(B^\top B)^q w_i\|^2\Bigr)^{1/(2q+1)}.

    At q = 0 and delta = 10^-r it is equation (4.3) of Halko, Martinsson and Tropp, squared, up to their bound
    :math:`\mathrm{erf}(u/\sqrt2) \le u\sqrt{2/\pi}`, and then no smaller than the trace of the residual, more or less;
    each power of B'B that a pass buys takes the root of what it is too large by.

    The O(n/l) of Chen et al.'s Theorem 1 for :math:`\|K - ZZ^\top\|` does not follow from l = k + 5 as in its proof:
    the constant it hides then grows with l. It does, for every q, with k = l/2 in Theorem 10.6 of Halko, Martinsson and
    Tropp, and :math:`l^2` wide features as they say.

    Parameters
    ----------
    map : a fitted Compressed whose method is "tefm-g" or "tefm-s"
    X : rows, dense or CSR, or an object that offers them by ``blocks()``
    delta : how often it may fail
    n_probes, power : r and q
    random_state : int, numpy Generator or RandomState, or None

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
    """That of one tile of rows."""
    kept = squares(_features(map, X))
    whole = squares(_features(map.map_, X)) if isinstance(map, Compressed) else _diagonal(map, X)
    residual = whole - kept
    if isinstance(map, Nystrom) and (residual < -NOISE * np.abs(whole)).any():
        _check_definite(map, X[[int(np.argmin(residual))]])
    # Below 0 it is rounding, and an error of its own.
    return np.maximum(np.abs(residual), ROUNDING * map.n_components_ * whole)


def _features(map: FeatureMap, X: Any) -> Matrix:
    """Those of a tile of rows that are validated already."""
    return np.asarray(features(map.fitted_, X, map.n_jobs))


def _check_definite(map: Nystrom, row: Any) -> None:
    """Raise where the kernel matrix of the landmarks and this row has a negative eigenvalue that is no rounding."""
    kernel, landmarks = map.kernel_, restored(map.parameters_.landmarks, row.shape[-1])
    cross = kernel_block(kernel, row, landmarks)
    whole = np.block([[kernel_block(kernel, landmarks, landmarks), cross.T], [cross, kernel_block(kernel, row, row)]])
    lowest = most_negative(np.linalg.eigvalsh(whole), float(np.finfo(np.float64).eps))
    if lowest < 0.0:
        raise ValueError(f"{NO_KERNEL}: with one of these rows the landmarks have the eigenvalue {lowest:.3g}")


def _diagonal(map: Nystrom, X: Any) -> Matrix:
    """k(x, x)."""
    if not hasattr(map.kernel_, "diagonal"):
        raise ValueError(
            "a precomputed kernel does not tell k(x, x) of the rows it is given; residual_trace_ has its sum"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        return map.kernel_.diagonal(X)


def _tiles(map: FeatureMap, X: Any) -> Iterator[Any]:
    """The rows in float64, few at a time: the features of a whole block may be too wide to hold."""
    for block in X.blocks() if is_rows(X) else [to_numpy(map.validated(X))]:
        map.kernel_.check_rows(block)
        for tile in tiles(block.shape[0], TILE_ROWS):
            yield double(block[tile])
