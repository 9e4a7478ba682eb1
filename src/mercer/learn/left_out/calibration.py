r"""Probabilities of classes, computed from decision values.

Decision values of a class become probabilities by a curve with three numbers,

.. math:: p = \frac{1}{1 + e^{-(a f + c f |f| + b)}}, \qquad a, c \ge 0,

which is the sigmoid of Platt (1999) where c is 0. Least squares and the squared hinge estimate 2 p - 1, and the
log-odds grow faster than in proportion to it; c accounts for that. Two classes have one curve with b = 0, so that the
more likely class is the one that ``predict`` returns. Three or more classes have one curve each, whose values are
divided by their sum. If this makes another class the most likely one than ``predict`` returns, which can happen if both
are about equally likely, the two are swapped.

The logistic loss has its own probabilities, the softmax of its decision values f. Because of the penalty they are less
confident than they should be. One number a for all classes sharpens (or blunts) them to the softmax of a f, which does
not change the order of the classes.

The curve is learned on decision values like those of new rows. The decision values of the training rows are unsuitable,
since they lie too far on the side of their class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.optimize
from numpy.typing import ArrayLike, NDArray

from ..._array import to_numpy
from ..._random import Stream
from ..features.prepared_rows import Chunk
from ..targets.labels import Codes, Tasks

Matrix = NDArray[np.float64]

SMALL = 1000
"""Up to this number of rows, each of them is left out by itself."""
SAMPLE = 4096
"""The largest number of rows that are left out together."""
KEPT = 2048
"""If there are more rows than this, about this many are kept to be left out one by one."""
LEFT_OUT = 3
"""At most one row in this many is left out together with others."""
FORGOTTEN = 0.1
"""The gap at which these rows count as forgotten, per share of all rows; a model that memorises them needs more."""
STEPS = 100
ENOUGH = 1e-10
"""The gradient per row at which a curve counts as found."""
LEAST_SLOPE, MOST_SLOPE = 1e-2, 1e3
"""The limits of the factor that sharpens a model's own probabilities, positive so that the order of classes stays."""
HELD = 1e-9
"""The regularisation of the numbers of a curve that rows do not determine."""


class Calibration(NamedTuple):
    """The curves that turn decision values into probabilities.

    ``slopes`` are the a, ``bends`` the c and ``offsets`` the b of every column of decision values.
    """

    method: str
    """How new rows were imitated: by "leave-one-out", "approximate leave-one-out" or "left-out rows"."""
    rows: int
    """The number of rows from which the curves were learned."""
    slopes: tuple[float, ...]
    bends: tuple[float, ...]
    offsets: tuple[float, ...]

    def log_odds(self, values: NDArray[Any], columns: slice) -> NDArray[Any]:
        """Return numbers whose softmax gives the probabilities of a task, from its decision values."""
        a, c, b = (np.array(part[columns]) for part in (self.slopes, self.bends, self.offsets))
        f = values.reshape(len(values), -1).astype(np.float64)
        odds = a * f + c * f * np.abs(f) + b
        if values.ndim == 1:
            return odds[:, 0].astype(values.dtype)
        found = -np.logaddexp(0.0, -odds)
        rows, predicted, likely = np.arange(len(found)), values.argmax(axis=1), found.argmax(axis=1)
        most = found[rows, likely]
        found[rows, likely] = found[rows, predicted]
        found[rows, predicted] = most
        return found.astype(values.dtype)


def sharpened(values: NDArray[Any], slopes: tuple[float, ...]) -> NDArray[Any]:
    """Return numbers whose softmax gives the probabilities of a task, for a loss with probabilities of its own."""
    return (slopes[0] * values.astype(np.float64)).astype(values.dtype)


def learned_sharpness(
    method: str, tasks: Tasks, values: Matrix, codes: Codes, weights: Sequence[Matrix]
) -> Calibration:
    """Return one slope for all columns of a task, for a loss whose probabilities are the softmax of decision values."""
    slopes: list[float] = []
    for columns, mine, weight in zip(tasks.columns, codes.T, weights, strict=True):
        F = values[:, columns]
        F = np.hstack([np.zeros_like(F), F]) if F.shape[1] == 1 else F
        slopes += (columns.stop - columns.start) * [sharpness(F, mine, weight)]
    nothing = (0.0,) * len(slopes)
    return Calibration(method, len(values), tuple(slopes), nothing, nothing)


def sharpness(F: Matrix, codes: NDArray[np.int64], weight: Matrix) -> float:
    """Return the a with the largest likelihood of the softmax of a F.

    As in :func:`curve`, a row belongs to its class with a probability slightly below 1, as if there were one more row
    of every class without features, so that a stays finite for classes that do not overlap.
    """
    weight = weight / min(1.0, float(weight.max(initial=1e-300)))
    size = max(float(np.abs(F).max(initial=0.0)), 1e-300)
    F, count = F / size, F.shape[1]
    doubt = count / (float(weight.sum()) + count)
    wanted = (1.0 - doubt) * F[np.arange(len(F)), codes] + doubt * F.mean(axis=1)
    low, high = LEAST_SLOPE * size, MOST_SLOPE * size

    def slope(a: float) -> float:
        """Return the derivative of the loss, which rises with a."""
        odds = a * F
        p = np.exp(odds - odds.max(axis=1, keepdims=True))
        return float(weight @ ((p * F).sum(axis=1) / p.sum(axis=1) - wanted))

    if slope(low) >= 0.0:
        return LEAST_SLOPE
    if slope(high) <= 0.0:
        return MOST_SLOPE
    return float(scipy.optimize.brentq(slope, low, high, rtol=1e-10)) / size


def learned(method: str, tasks: Tasks, values: Matrix, codes: Codes, weights: Sequence[Matrix]) -> Calibration:
    """Return the curves of all columns, learned from decision values like those of new rows, and weights by task."""
    signs, curves = tasks.signs(codes), []
    for columns, weight in zip(tasks.columns, weights, strict=True):
        alone = columns.stop - columns.start == 1
        for f, sign in zip(values[:, columns].T, signs[:, columns].T, strict=True):
            curves.append(curve(f, sign > 0.0, weight, alone))
    return Calibration(method, len(values), *(tuple(part) for part in zip(*curves, strict=True)))


def curve(values: Matrix, is_class: NDArray[np.bool_], weight: Matrix, alone: bool) -> tuple[float, float, float]:
    """Return the a, c and b of one column with the largest likelihood; b is 0 if it is ``alone``, for two classes.

    Following Platt, a row belongs to its class with a probability slightly below 1: if the rows of a class have the
    weight N, it is (N + 1) / (N + 2), so that the curve has a finite slope even for classes that do not overlap.
    """
    weight = weight / min(1.0, float(weight.max(initial=1e-300)))  # weights far below 1 are shares rather than counts
    mine, others = float(weight[is_class].sum()), float(weight[~is_class].sum())
    targets = np.where(is_class, (mine + 1.0) / (mine + 2.0), 1.0 / (others + 2.0))
    size = max(float(np.abs(values).max(initial=0.0)), 1e-300)
    f = values / size
    parts = np.stack([f, f * np.abs(f), np.ones_like(f)], axis=1)
    for rising in ([0, 1], [0], [1], []):  # if the curve would decrease, use one with fewer parameters
        chosen = rising if alone else [*rising, 2]
        found = np.zeros(3)
        found[chosen] = most_likely(parts[:, chosen], targets, weight)
        if (found[:2] >= 0.0).all():
            break
    a, c, b = found.tolist()
    return a / size, c / size**2, b


def most_likely(parts: Matrix, targets: Matrix, weight: Matrix) -> Matrix:
    """Return the coefficients of a logistic regression on targets between 0 and 1, by Newton's method."""
    total = float(weight.sum())

    def loss(w: Matrix) -> float:
        odds = parts @ w
        return float(weight @ (np.logaddexp(0.0, odds) - targets * odds)) + 0.5 * HELD * total * float(w @ w)

    w = np.zeros(parts.shape[1])
    least = loss(w)
    if not len(w):
        return w
    for _ in range(STEPS):
        p = 1.0 / (1.0 + np.exp(-np.clip(parts @ w, -500.0, 500.0)))
        gradient = parts.T @ (weight * (p - targets)) + HELD * total * w
        if np.abs(gradient).max() <= ENOUGH * total:
            break
        hessian = (parts * (weight * p * (1.0 - p))[:, None]).T @ parts + HELD * total * np.eye(len(w))
        step = np.linalg.solve(hessian, -gradient)
        length = 1.0
        while (now := loss(w + length * step)) > least and length > 1e-10:
            length *= 0.5
        if now >= least:
            break
        w, least = w + length * step, now
    return w


# -- decision values as new rows would have them -----------------------------------------------------------------------


def chosen_rows(seed: int, weight: Matrix) -> NDArray[np.int64]:
    """Return some of the rows with positive weight, to be left out together, chosen by the seed of the map."""
    counted = np.flatnonzero(weight > 0.0)
    words = Stream(seed).child("calibration").words(len(weight), 0)[counted]
    return np.sort(counted[np.argsort(words, kind="stable")[: min(SAMPLE, len(counted) // LEFT_OUT)]])


class KeptRows:
    """Some rows with their features, kept while the sums over all rows are computed.

    Parameters
    ----------
    seed : int
        The seed of the map.
    n_rows : int
        The number of rows.
    targets : callable
        Converts targets, given with the number of the first row, to codes of classes or numbers.
    """

    def __init__(self, seed: int, n_rows: int, targets: Callable[[ArrayLike, int], NDArray[Any]]):
        self._rng = Stream(seed).child("calibration")
        self._below = 2**64 if n_rows <= KEPT else 2**64 * KEPT // n_rows
        self._targets = targets
        self._parts: dict[int, tuple[NDArray[Any], ...]] = {}
        self._lengths: dict[int, int] = {}

    def fresh(self) -> Self:
        """Return an observer that keeps the same rows and has seen none yet."""
        other = copy(self)
        other._parts, other._lengths = {}, {}
        return other

    def joined(self, later: Self) -> Self:
        """Return the rows that both have kept."""
        other = copy(self)
        other._parts, other._lengths = self._parts | later._parts, self._lengths | later._lengths
        return other

    def take_over(self, other: Self) -> None:
        """Add the rows that another observer has seen."""
        self._parts, self._lengths = other._parts, other._lengths

    def __contains__(self, chunk: Chunk) -> bool:
        return chunk.first in self._parts

    @property
    def n_seen(self) -> int:
        """The number of rows that were shown."""
        return sum(self._lengths.values())

    def watch(self, Z: NDArray[Any], chunk: Chunk) -> None:
        """Keep the chosen rows of a chunk that count."""
        weight = np.ones(len(Z)) if chunk.weight is None else chunk.weight
        words = self._rng.words(len(Z), chunk.first)
        chosen = np.flatnonzero((words < self._below if self._below < 2**64 else True) & (weight > 0.0))
        targets = self._targets(np.asarray(chunk.y)[chosen], chunk.first)
        self._lengths[chunk.first] = len(Z)
        self._parts[chunk.first] = to_numpy(Z[chosen]), targets, weight[chosen]

    def all(self) -> tuple[Matrix, NDArray[Any], Matrix]:
        """Return the features, targets and weights of the kept rows."""
        parts = zip(*(self._parts[first] for first in sorted(self._parts)), strict=True)
        Z, targets, weight = (np.concatenate(part) for part in parts)
        return Z, targets, weight
