"""Pham and Pagh, Fast and scalable polynomial kernels via explicit feature maps, KDD 2013: data sets, kernels, methods.

The paper says that data are normalised before any kernel method, but not how. Here, rows have length 1, and the columns
of Covertype are first scaled to values from 0 to 1. Other details that the paper leaves open: C = 1 for all machines;
LIBLINEAR with its default settings, which have no intercept; Covertype is class 2 against the rest, with 80,000 of
100,000 sampled rows for training. The exact machines of the paper on Adult, which are worse than its linear ones for
degree 4 and take 2 hours, correspond to rows that were not normalised and a nearly hard margin. Tables 1 and 2
therefore also include such rows, as a separate data set.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from typing import Any

from cells import Cell, Found, Numbers, column
from claims import Case, beside, runs, short
from datasets import Split, digits, from_zero_to_one, real_set, unit_rows
from experiment import SEEDS
from machines import exact, fitted, liblinear, mapped
from maclaurin import PapersMaclaurin
from sklearn.svm import SVC

import mercer
from mercer.kernels import Polynomial

KERNELS = {
    "<x, y>^2": Polynomial(2),
    "(1 + <x, y>)^2": Polynomial(2, coef0=1.0),
    "<x, y>^3": Polynomial(3),
    "(1 + <x, y>)^3": Polynomial(3, coef0=1.0),
    "<x, y>^4": Polynomial(4),
    "(1 + <x, y>)^4": Polynomial(4, coef0=1.0),
}

MAPS: dict[str, Callable[..., Any]] = {
    "TensorSketch": lambda kernel, D, seed: mercer.TensorSketch(
        kernel, n_components=D, output="time", random_state=seed
    ),
    "RandomMaclaurin": lambda kernel, D, seed: PapersMaclaurin(kernel, D, seed),
    "H0/1": lambda kernel, D, seed: mercer.RandomMaclaurin(kernel, n_components=D, exact_terms=True, random_state=seed),
    "own degrees": lambda kernel, D, seed: mercer.RandomMaclaurin(kernel, n_components=D, random_state=seed),
    "Mercer": lambda kernel, D, seed: mercer.feature_map(kernel, n_components=D, random_state=seed),
}
"""The paper's methods, Random Maclaurin that only draws degrees of the kernel, and the map that Mercer chooses."""

SETS = ("adult", "covertype", "mnist")
AS_IT_IS = "adult as it is"
"""The rows of Adult as they are, with 14 ones each, not scaled to length 1."""
WIDTHS = {"adult": 200, AS_IT_IS: 200, "covertype": 500, "mnist": 1000, "gisette": 5000}
"""The values of D in the tables."""
TITLES = {
    "adult": "Adult",
    AS_IT_IS: "Adult, rows as they are",
    "covertype": "Covertype",
    "mnist": "MNIST",
    "gisette": "Gisette",
}
LIMITS = {True: 600.0, False: 10.0}
"""The seconds that an exact machine may take in the full and in the quick run."""
RECORD = "pham_training"
"""The file of cells that tables and figures share."""


@cache
def rows(name: str) -> Split:
    """Adult has 32,561 rows to learn from, MNIST 60,000, Covertype 80,000."""
    if name == AS_IT_IS:
        return real_set("adult", 80_000, 20_000)
    split = digits() if name == "mnist" else real_set(name, 80_000, 20_000)
    return unit_rows(from_zero_to_one(split) if name == "covertype" else split)


def named(name: str, kernel: str, method: str, D: int = 0) -> str:
    """The exact machine has no D."""
    return f"{name}, {kernel}, {method}" + (f", D = {D}" if method != "exact" else "")


def libsvm(kernel: Polynomial) -> SVC:
    return SVC(kernel="poly", degree=kernel.degree, gamma=1.0, coef0=kernel.coef0, C=1.0, cache_size=1000)


def trained(name: str, kernel: str, method: str, D: int, seed: int, _: Found) -> Numbers:
    """Measure a machine on a data set: the paper's maps with LIBLINEAR, or Mercer with as many features."""
    if method == "Mercer":
        return fitted(
            mercer.KernelClassifier(KERNELS[kernel], n_components=D, random_state=seed, C=1.0, preparation=None),
            rows(name),
        )
    learner = liblinear(seed=seed).set_params(fit_intercept=False)
    return mapped(MAPS[method](KERNELS[kernel], D, seed), learner, rows(name))


def solved(name: str, kernel: str, limit: float, seed: int, _: Found) -> Numbers:
    """Measure the exact machine."""
    return exact(lambda: libsvm(KERNELS[kernel]), rows(name), limit)


def machines(name: str, kernel: str, methods: Iterable[str], widths: Iterable[int], full: bool) -> Iterator[Cell]:
    """Yield the cells of one data set and kernel, that of the exact machine first."""
    yield Cell(named(name, kernel, "exact"), partial(solved, name, kernel, LIMITS[full]))
    for method in methods:
        for D in widths:
            work = partial(trained, name, kernel, method, D)
            yield Cell(named(name, kernel, method, D), work, SEEDS if full else 1)


def of_runs(found: Found, name: str, quantity: str, digits: int = 2) -> str:
    """Format mean and standard deviation for a table."""
    values = column(found, name, quantity)
    if not values:
        return "missing"
    spread = f" ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.{digits}f}{spread}"


def seconds(found: Found, name: str) -> float:
    """Return the median processor seconds of the runs, or the forecast if an exact machine was too slow."""
    return statistics.median(runs(found, name, "processor") or [math.nan])


def in_seconds(found: Found, name: str) -> str:
    taken = seconds(found, name)
    about = "about " if column(found, name, "predicted") else ""
    return "missing" if math.isnan(taken) else f"{about}{short(taken, 3)} s"


def said(entry: str) -> tuple[float, float]:
    """Read accuracy and seconds from an entry of the paper's tables."""
    score, time = entry.split(", ")
    amount, unit = time.removeprefix("< ").split()
    return float(score.split()[0]), float(amount) * {"s": 1.0, "min": 60.0, "h": 3600.0}[unit]


def against(
    found: Found, one: str, other: str, cases: Iterable[tuple[str, str, int]], quantity: str = "score"
) -> dict[str, Case]:
    """Compare two methods for data sets, kernels and D."""
    return {
        f"{TITLES[name]} `{kernel}` at D = {D}": beside(
            found, named(name, kernel, one, D), named(name, kernel, other, D), quantity
        )
        for name, kernel, D in cases
    }
