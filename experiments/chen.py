"""Chen, Yang, King and Lyu, Training-efficient feature map for shift-invariant kernels, IJCAI 2016: data sets and maps.

Where the paper gives no details, we chose the following. RKS (`RandomFourier`) uses pairs of a cosine and a sine (its
Eq. 2), TEFM-G applies F'F once (q = 1), Comp uses 4 l features as TEFM does, and Quasi is a scrambled Sobol sequence.
Columns have mean 0 and variance 1, except for A9a (zeros and ones), MNIST and UJIIndoorLoc (from 0 to 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from itertools import pairwise
from typing import Any

import numpy as np
from beyond_sets import strength
from cells import Cell, Found, Numbers, mean, median, timed
from datasets import Matrix, Split, archive, standardised
from experiment import SEEDS
from machines import few
from scipy.linalg import solve
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV

import mercer
from mercer.kernels import Gaussian

TITLES = {
    "cpu": "Cpu",
    "adult": "A9a",
    "blog_feedback": "BlogFeedback",
    "slice_localization": "SliceLocalization",
    "uji_indoor_loc": "UJIIndoorLoc",
    "mnist": "MNIST",
}
"""The data sets of the paper; SliceLocalization is missing."""
FACTOR = 4
"""The ratio d / l of the features that TEFM and Comp start from to those that they return."""


def compressed(method: str, power: int = 1, factor: int = FACTOR) -> Callable[..., Any]:
    """Return a function that makes a map which starts from so many times more features of RKS."""

    def make(kernel: Gaussian, width: int, seed: int) -> Any:
        inner = mercer.RandomFourier(kernel)
        return mercer.Compressed(
            inner, n_components=width, factor=factor, method=method, power=power, random_state=seed
        )

    return make


MAPS: dict[str, Callable[..., Any]] = {
    "RKS": lambda kernel, width, seed: mercer.RandomFourier(kernel, n_components=width, random_state=seed),
    "Quasi": lambda kernel, width, seed: mercer.QuasiFourier(kernel, n_components=width, random_state=seed),
    "Comp": compressed("craft"),
    "Fastfood": lambda kernel, width, seed: mercer.Fastfood(kernel, n_components=width, random_state=seed),
    "TEFM-G": compressed("tefm-g"),
    "TEFM-S": compressed("tefm-s", power=0),
    "Mercer": lambda kernel, width, seed: mercer.feature_map(kernel, n_components=width, random_state=seed),
    "Mercer, RPCholesky": lambda kernel, width, seed: mercer.Nystrom(
        kernel, n_components=width, landmarks="rpcholesky", random_state=seed
    ),
}
"""The six maps of the paper, the map that Mercer chooses for the kernel, and landmarks chosen from the rows."""

DASHED = {"TEFM-S": {"linestyle": "--"}}
"""Its curves coincide with those of TEFM-G."""
OTHERS = ("RKS", "Quasi", "Comp", "Fastfood")
"""The methods with which the paper compares TEFM."""
WIDTHS = (64, 128, 256, 512, 1024)
ENDS = (64, 256, 1024)
"""The numbers of features in the tables."""
WIDER = (2048, 4096)
"""Further numbers of features of RKS in regressions, to reach the errors of TEFM."""


def named(name: str, method: str, width: int) -> str:
    return f"{name}, {method}, l = {width}"


def drawn(name: str, count: int, share: float) -> Split:
    """Draw rows of a data set at random, a share of them for testing."""
    file = archive(name)
    chosen = np.random.default_rng(0).permutation(len(file["X"]))[:count]
    X, y = file["X"][chosen].astype(np.float32), file["y"][chosen].astype(np.float64)
    cut = round(len(X) * (1.0 - share))
    split = Split(X[:cut], y[:cut], X[cut:], y[cut:])
    if name in ("adult", "mnist", "uji_indoor_loc"):
        scaled = {"adult": lambda X: X, "mnist": lambda X: X / np.float32(255), "uji_indoor_loc": strength}[name]
        return split._replace(X=scaled(split.X), X_test=scaled(split.X_test))
    return standardised(split)


def on_sets(names: Iterable[str], number: Callable[[str], float]) -> dict[str, float]:
    return {TITLES[name]: number(name) for name in names}


# -- regression, of figures 2 and 3 ------------------------------------------------------------------------------------

ROWS = {"cpu": 8192, "blog_feedback": 20_000, "uji_indoor_loc": 21_048}
RECORD = "chen_regression"
SEARCHED = 1500
"""The number of training rows on which bandwidth and regularisation are chosen."""


@cache
def parts(name: str) -> Split:
    """Use four fifths of the rows for training; targets (BlogFeedback: log(1 + y)) have mean 0 and variance 1 there."""
    split = drawn(name, ROWS[name], 0.2)
    targets = [np.log1p(y) if name == "blog_feedback" else y for y in (split.y, split.y_test)]
    mean, deviation = targets[0].mean(), targets[0].std()
    X, X_test = split.X.astype(np.float64), split.X_test.astype(np.float64)
    return Split(X, (targets[0] - mean) / deviation, X_test, (targets[1] - mean) / deviation)


def relative(y: Matrix, predicted: Matrix) -> float:
    """Compute the relative RMSE of the paper."""
    return float(np.linalg.norm(y - predicted) / np.linalg.norm(y))


def ridge(Z: Matrix, y: Matrix, alpha: float) -> Matrix:
    """Return the coefficients that minimise ||y - Z w||^2 + alpha ||w||^2."""
    A = Z.T @ Z
    A.flat[:: len(A) + 1] += alpha
    return solve(A, Z.T @ y, assume_a="pos", overwrite_a=True)


def searched(name: str, seed: int, _: Found) -> Numbers:
    """Choose bandwidth and regularisation by cross-validation of the exact machine on some rows."""
    X, y = parts(name).X[:SEARCHED], parts(name).y[:SEARCHED]
    middle = Gaussian("median").resolve(X, 0).gamma
    grid = {"gamma": [middle * 4.0**power for power in range(-2, 3)], "alpha": [1e-3, 1e-2, 1e-1, 1.0]}
    return GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=3).fit(X, y).best_params_


def found_for(name: str, found: Found) -> tuple[Gaussian, float]:
    """Return the kernel and the alpha that were chosen for a data set."""
    gamma, alpha = (median(found, f"{name}, cross-validation", what) for what in ("gamma", "alpha"))
    return Gaussian(gamma), alpha


def regressed(name: str, method: str, width: int, seed: int, found: Found) -> Numbers:
    """Measure features followed by ridge regression in closed form."""
    split, (kernel, alpha) = parts(name), found_for(name, found)
    sketch, (X, y) = MAPS[method](kernel, width, seed), few(split)
    ridge(sketch.fit_transform(X), y, 1.0)  # what is loaded on first use
    kept: list[Matrix] = []
    mapping = timed(lambda: kept.append(sketch.fit(split.X).transform(split.X)))
    training = timed(lambda: kept.append(ridge(kept[0], split.y, alpha)))
    return {
        "mapping": mapping["processor"],
        "training": training["processor"],
        "processor": mapping["processor"] + training["processor"],
        "relative": relative(split.y_test, sketch.transform(split.X_test) @ kept[1]),
    }


def solved(name: str, seed: int, found: Found) -> Numbers:
    """Measure the exact machine."""
    split, (kernel, alpha) = parts(name), found_for(name, found)
    kept: list[Matrix] = []

    def train() -> None:
        K = kernel(split.X)
        K.flat[:: len(K) + 1] += alpha
        kept.append(solve(K, split.y, assume_a="pos", overwrite_a=True))

    return timed(train) | {"relative": relative(split.y_test, kernel(split.X_test, split.X) @ kept[0])}


def regressions(full: bool) -> Iterator[Cell]:
    for name in ROWS if full else ("cpu",):
        yield Cell(f"{name}, cross-validation", partial(searched, name))
        yield Cell(f"{name}, exact", partial(solved, name))
        for method in MAPS:
            for width in (*(WIDTHS if full else ENDS), *(WIDER if method == "RKS" else ())):
                yield Cell(named(name, method, width), partial(regressed, name, method, width), SEEDS if full else 1)


def mean_error(found: Found, name: str, method: str, width: int) -> float:
    return mean(found, named(name, method, width), "relative")


def reached(points: Iterable[tuple[float, float]], error: float) -> float:
    """Where a curve of costs and errors first comes down to an error: between its points on logarithmic scales.

    The first cost where its error is as low already, infinity where none is, NaN where too little was measured to tell.
    """
    listed = list(points)
    there = [point for point in listed if not any(map(math.isnan, point))]
    if math.isnan(error) or not there:
        return math.nan
    if there[0][1] <= error:
        return there[0][0]
    for (before, high), (after, low) in pairwise(there):
        if low <= error < high:
            return before * (after / before) ** (math.log(high / error) / math.log(high / low))
    return math.inf if there[-1] == listed[-1] else math.nan
