"""Pham and Pagh, Fast and scalable polynomial kernels via explicit feature maps, KDD 2013: its sets, kernels, methods.

The paper says that data is normalised before any kernel method, but not how: here rows have length 1, columns of
Covertype lie between 0 and 1 before. Chosen where it is silent: C = 1 for all machines; LIBLINEAR by its defaults,
which have no intercept; Covertype is class 2 against the rest, 80,000 of 100,000 sampled rows to learn from. The
paper's exact machines on Adult, which for degree 4 are worse than its linear ones and take 2 hours, look like those of
rows that were not normalised, with a nearly hard margin: Tables 1 and 2 have such rows too, as a set of their own.

In claims one method is above another where all its runs are, by at least a quarter of a point of accuracy or a tenth of
any other quantity. Otherwise the two are level.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from typing import Any

from cells import Cell, Found, Numbers, column, median
from datasets import Split, digits, from_zero_to_one, real_set, unit_rows
from experiment import SEEDS, Claim
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
"""The paper's three; Random Maclaurin that draws only the degrees of the kernel; and the map that Mercer chooses."""

SETS = ("adult", "covertype", "mnist")
AS_IT_IS = "adult as it is"
"""Adult's rows, 14 ones each, not brought to length 1."""
WIDTHS = {"adult": 200, AS_IT_IS: 200, "covertype": 500, "mnist": 1000, "gisette": 5000}
"""The D of the tables."""
TITLES = {
    "adult": "Adult",
    AS_IT_IS: "Adult, rows as they are",
    "covertype": "Covertype",
    "mnist": "MNIST",
    "gisette": "Gisette",
}
LIMITS = {True: 600.0, False: 10.0}
"""Seconds that an exact machine may take in the full and in the quick run."""
FEW = 3
"""Cases that a claim names; of more it gives the number."""
RECORD = "pham_training"
"""Trained machines are measured once for all tables and figures that show them."""


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
    """A machine on a set: the paper's maps with LIBLINEAR, or Mercer's own at the same width."""
    if method == "Mercer":
        return fitted(mercer.KernelClassifier(KERNELS[kernel], n_components=D, random_state=seed), rows(name))
    learner = liblinear(seed=seed).set_params(fit_intercept=False)
    return mapped(MAPS[method](KERNELS[kernel], D, seed), learner, rows(name))


def solved(name: str, kernel: str, limit: float, seed: int, _: Found) -> Numbers:
    """The exact machine."""
    return exact(lambda: libsvm(KERNELS[kernel]), rows(name), limit)


def machines(name: str, kernel: str, methods: Iterable[str], widths: Iterable[int], full: bool) -> Iterator[Cell]:
    """Cells of one set and kernel; that of the exact machine is the first."""
    yield Cell(named(name, kernel, "exact"), partial(solved, name, kernel, LIMITS[full]))
    for method in methods:
        for D in widths:
            work = partial(trained, name, kernel, method, D)
            yield Cell(named(name, kernel, method, D), work, SEEDS if full else 1)


def of_runs(found: Found, name: str, quantity: str, digits: int = 2) -> str:
    """Mean and deviation, for a table."""
    values = column(found, name, quantity)
    if not values:
        return "missing"
    spread = f" ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.{digits}f}{spread}"


def accuracy(found: Found, name: str) -> float:
    """In %, the mean of the runs."""
    return statistics.fmean(column(found, name, "score") or [math.nan])


def seconds(found: Found, name: str) -> float:
    """Of the processor, the median of the runs; the forecast where an exact machine was too slow."""
    taken = median(found, name, "processor")
    return median(found, name, "predicted") if math.isnan(taken) else taken


def in_seconds(found: Found, name: str) -> str:
    taken = seconds(found, name)
    about = "about " if column(found, name, "predicted") else ""
    return "missing" if math.isnan(taken) else f"{about}{short(taken, 3)} s"


def said(entry: str) -> tuple[float, float]:
    """Accuracy and seconds of an entry of the paper's tables."""
    score, time = entry.split(", ")
    amount, unit = time.removeprefix("< ").split()
    return float(score.split()[0]), float(amount) * {"s": 1.0, "min": 60.0, "h": 3600.0}[unit]


# -- claims ------------------------------------------------------------------------------------------------------------


def against(one: str, other: str, cases: Iterable[tuple[str, str, int]]) -> dict[str, tuple[str, str]]:
    """The cells of two methods, for sets, kernels and D."""
    return {
        f"{TITLES[name]} `{kernel}` at D = {D}": (named(name, kernel, one, D), named(name, kernel, other, D))
        for name, kernel, D in cases
    }


def gap(found: Found, first: str, second: str, quantity: str) -> float:
    """By how many points of accuracy a cell is above another; of all else, how many times it is the other."""
    if quantity == "score":
        return accuracy(found, first) - accuracy(found, second)
    middle = seconds if quantity == "processor" else partial(median, quantity=quantity)
    return middle(found, first) / middle(found, second)


def order(found: Found, first: str, second: str, quantity: str) -> int:
    """1 where a cell is above another, -1 where it is below, 0 where they are level."""
    # A forecast stands for an exact machine that was not run.
    one, other = (column(found, cell, quantity) or column(found, cell, "predicted") for cell in (first, second))
    apart, overlap = gap(found, first, second, quantity), min(one) <= max(other) and min(other) <= max(one)
    slight = abs(apart) < 0.25 if quantity == "score" else max(apart, 1.0 / apart) < 1.1
    return 0 if slight or overlap else 1 if min(one) > max(other) else -1


def counted(
    text: str, found: Found, pairs: Mapping[str, tuple[str, str]], quantity: str = "score", ours: bool = False
) -> Claim:
    """That the first of two cells is above the second: in how many of the cases that were measured."""
    gaps = {case: gap(found, *pair, quantity) for case, pair in pairs.items()}
    there = {case: value for case, value in gaps.items() if not math.isnan(value)}
    orders = {case: order(found, *pairs[case], quantity) for case in there}
    parts = [between(list(there.values()), "points" if quantity == "score" else "times")]
    for words, sign in (("level", 0), ("the reverse", -1)):
        cases = [case for case, value in orders.items() if value == sign]
        if cases:
            count = "all" if len(cases) == len(orders) else len(cases)
            parts.append(f"{words} in {count}" + (f": {', '.join(cases)}" if count in range(FEW + 1) else ""))
    return Claim(text, (list(orders.values()).count(1), len(orders)), "; ".join(parts), ours)


def met(text: str, values: Iterable[float], test: Callable[[float], bool], unit: str = "", ours: bool = False) -> Claim:
    """That numbers pass a test: in how many of the cases that were measured."""
    there = [value for value in values if not math.isnan(value)]
    return Claim(text, (sum(map(test, there)), len(there)), between(there, unit).strip(), ours)


def between(values: list[float], unit: str) -> str:
    """From the least to the most."""
    in_digits = "{:.2f}".format if unit == "points" else short
    ends = dict.fromkeys(in_digits(pick(values)) for pick in (min, max)) if values else {}
    return f"{' to '.join(ends)} {unit}"


def short(value: float, digits: int = 2) -> str:
    """Without a power of ten."""
    return f"{value:#.{digits}g}" if 1.0 <= value < 9.9 else f"{float(f'{value:.{digits}g}'):g}"
