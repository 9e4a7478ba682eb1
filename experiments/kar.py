"""Kar and Karnick, Random feature maps for dot product kernels, AISTATS 2012: its data sets, kernels and methods.

LIBLINEAR is its primal solver for the squared hinge loss (-s 2, tolerance 0.01), without an intercept, because the
features include constants. The dual solver, which is its default, reaches its limit of 1,000 iterations if kernel
values go up to 1,024; on Adult, it took longer and was less accurate (measured once, not recorded). The other choices
are described in ``kar_table1.py``. The paper's RF is ``RandomMaclaurin`` here, and its data set IJCNN is IJCNN1.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np
from cells import Cell, Found, Numbers
from datasets import Matrix, Split, archive, from_zero_to_one
from experiment import SEEDS
from machines import exact, fitted, liblinear, mapped
from maclaurin import PapersMaclaurin
from pham import named
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.svm import SVC

import mercer
from mercer.kernels import Exponential, Kernel, Polynomial

TITLES = {
    "nursery": "Nursery",
    "spambase": "Spambase",
    "cod_rna": "Cod-RNA",
    "adult": "Adult",
    "ijcnn1": "IJCNN1",
    "covertype": "Covertype",
}
DEGREE = 10
POLYNOMIAL, EXPONENTIAL = f"(1 + <x, y>)^{DEGREE}", "exp(<x, y> / s^2)"
MOST = 20_000
"""The largest number of training rows, and of test rows."""
PAIRED = 2000
"""The number of rows whose distances are computed."""
TESTED = 1000
"""The number of rows that the exact machine predicts at a time."""
LIMITS = {True: 300.0, False: 10.0}
"""The seconds that an exact machine may take in the full and in the quick run."""
RECORD = "kar_training"
"""The file of cells that the table and the figure share."""

MAPS: dict[str, Callable[..., Any]] = {
    "RandomMaclaurin": lambda kernel, D, d, seed: PapersMaclaurin(kernel, D, seed),
    "H0/1": lambda kernel, D, d, seed: mercer.RandomMaclaurin(
        kernel, n_components=D + d + 1, exact_terms=True, random_state=seed
    ),
    "own degrees": lambda kernel, D, d, seed: mercer.RandomMaclaurin(kernel, n_components=D, random_state=seed),
    "Mercer": lambda kernel, D, d, seed: mercer.feature_map(kernel, n_components=D, random_state=seed),
}
"""Maps for rows with d columns: the paper's RF; H0/1, with D random features and d + 1 exact ones; Random Maclaurin
that only draws degrees of the kernel; and the map that Mercer chooses."""
OWN = {"Mercer": "auto", "Mercer, Nystrom": "nystrom"}
"""Mercer with the map that it chooses for the kernel, and with landmarks."""


# -- sets and kernels --------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def rows(name: str, seed: int) -> Split:
    """Split at random: 60 % of the rows for training, at most 20,000, and at most 20,000 others for testing."""
    file = archive(name)
    X, y = file["X"], classes(name, file["y"])
    order, count = np.random.default_rng(seed).permutation(len(y)), min(MOST, 3 * len(y) // 5)
    train, test = order[:count], order[count : count + MOST]
    parts = (np.ascontiguousarray(X[part], dtype=np.float32) for part in (train, test))
    return in_the_ball(from_zero_to_one(Split(next(parts), y[train], next(parts), y[test])))


def classes(name: str, y: Matrix) -> Matrix:
    """Return two classes."""
    if name == "nursery":
        return np.isin(y, (0, 2)).astype(np.int8)  # not_recom and very_recom
    return (y == 2).astype(np.int8) if name == "covertype" else y


def in_the_ball(split: Split) -> Split:
    """Divide all rows by the length of the longest training row."""
    longest = float(np.linalg.norm(split.X, axis=1).max())
    return split._replace(X=split.X / longest, X_test=split.X_test / longest)


def width(X: Matrix) -> float:
    """Compute the mean distance of pairs of rows."""
    return float(pdist(X[:PAIRED]).mean())


def kernel_on(X: Matrix, kernel: str) -> Kernel:
    if kernel == POLYNOMIAL:
        return Polynomial(DEGREE, coef0=1.0)
    return Exponential(1.0 / width(X) ** 2)


# -- machines ----------------------------------------------------------------------------------------------------------


class ExactMachine(ClassifierMixin, BaseEstimator):
    """LIBSVM on the matrix of a kernel that it does not have; predictions use only the support vectors."""

    def __init__(self, kernel: Any):
        self.kernel = kernel

    def fit(self, X: Any, y: Any) -> ExactMachine:
        self.machine_ = SVC(kernel="precomputed", C=1.0, cache_size=1000).fit(self.kernel(X), y)
        self.classes_, self.support_vectors_ = self.machine_.classes_, X[self.machine_.support_]
        return self

    def predict(self, X: Any) -> Any:
        parts = [X[start : start + TESTED] for start in range(0, len(X), TESTED)]
        weights = self.machine_.dual_coef_[0]
        decisions = np.concatenate([self.kernel(part, self.support_vectors_) @ weights for part in parts])
        return self.classes_[(decisions + self.machine_.intercept_[0] > 0.0).astype(int)]


def libsvm(kernel: Any) -> Any:
    """Return the exact machine."""
    if isinstance(kernel, Polynomial):
        return SVC(kernel="poly", degree=kernel.degree, gamma=1.0, coef0=kernel.coef0, C=1.0, cache_size=1000)
    return ExactMachine(kernel)


def trained(name: str, kernel: str, method: str, D: int, seed: int, _: Found) -> Numbers:
    """Measure a machine on a split: the paper's maps with LIBLINEAR, or Mercer with D features."""
    split = rows(name, seed)
    chosen = kernel_on(split.X, kernel)
    if method in OWN:
        machine = mercer.KernelClassifier(
            chosen, n_components=D, map=OWN[method], random_state=seed, C=1.0, preparation=None
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "TaylorSketch expects a relative error")  # the figures tell
            return fitted(machine, split)
    learner = liblinear(seed=seed).set_params(dual=False, tol=0.01, fit_intercept=False)
    return mapped(MAPS[method](chosen, D, split.X.shape[1], seed), learner, split)


def solved(name: str, kernel: str, limit: float, seed: int, _: Found) -> Numbers:
    """Measure the exact machine on a split."""
    split = rows(name, seed)
    chosen = kernel_on(split.X, kernel)
    return exact(lambda: libsvm(chosen), split, limit)


def machines(name: str, kernel: str, widths: Iterable[tuple[str, int]], full: bool) -> Iterator[Cell]:
    """Yield the cells of one data set and kernel: first the exact machine, then pairs of method and D."""
    splits = SEEDS if full else 1
    yield Cell(named(name, kernel, "exact"), partial(solved, name, kernel, LIMITS[full]), splits)
    for method, D in widths:
        yield Cell(named(name, kernel, method, D), partial(trained, name, kernel, method, D), splits)
