"""Bellet, Large-scale kernel methods, lecture of 2020: its two maps on real sets, and those of Mercer beside them.

The lecture has no experiments: it states rates and orders, which are measured here. Gaussian kernel with the median
width, columns of mean 0 and variance 1 (MNIST between 0 and 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np
from cells import Found, column
from datasets import Split, digits, real_set, standardised
from experiment import Claim
from pictures import deviation

import mercer
from mercer.kernels import Gaussian

SETS = ("adult", "covertype", "mnist", "cod_rna")
TITLES = {"adult": "Adult", "covertype": "Covertype", "mnist": "MNIST", "cod_rna": "Cod-RNA"}

MAPS: dict[str, Callable[..., Any]] = {
    "RandomFourier": lambda kernel, c, seed: mercer.RandomFourier(
        kernel, n_components=c, form="offset", random_state=seed
    ),
    "Nystrom": lambda kernel, c, seed: mercer.Nystrom(kernel, n_components=c, random_state=seed),
    "Mercer": lambda kernel, c, seed: mercer.feature_map(kernel, n_components=c, random_state=seed),
    "Mercer, RPCholesky": lambda kernel, c, seed: mercer.Nystrom(
        kernel, n_components=c, landmarks="rpcholesky", random_state=seed
    ),
}
"""The lecture's two, with offsets and with uniform landmarks; Mercer's choice, and landmarks drawn by what is left."""


def shown(method: str) -> str:
    """The lecture's name: RKF are its random kernel features."""
    return "RKF" if method == "RandomFourier" else method


@cache
def rows(name: str) -> Split:
    return digits() if name == "mnist" else standardised(real_set(name))


@cache
def kernel_of(name: str) -> Gaussian:
    """The median of the distances of 1,000 training rows."""
    return Gaussian("median").resolve(rows(name).X[:1000].astype(np.float64))


def named(name: str, method: str, c: int) -> str:
    return f"{name}, {method}, c = {c}"


def side(found: Found, cell: str, other: str, quantity: str) -> float:
    """-1 where a cell has less of a quantity than another, 1 where it has more, NaN where one is missing.

    0, level, where the means are no farther apart than one deviation of each: their bands in a picture overlap.
    """
    values, others = column(found, cell, quantity), column(found, other, quantity)
    if not values or not others:
        return math.nan
    apart = float(np.mean(values) - np.mean(others))
    return 0.0 if abs(apart) <= deviation(values) + deviation(others) else math.copysign(1.0, apart)


LESS, LEVEL, MORE = -1.0, 0.0, 1.0


def counted(
    text: str, sides: Iterable[float], *wanted: float, words: tuple[str, str] = ("less", "more"), ours: bool = False
) -> Claim:
    """In how many comparisons the side is a wanted one."""
    there = [one for one in sides if not math.isnan(one)]
    named_sides = zip((words[0], "level", words[1]), (LESS, LEVEL, MORE), strict=True)
    figure = ", ".join(f"{word} in {there.count(one)}" for word, one in named_sides)
    return Claim(text, (sum(one in wanted for one in there), len(there)), figure, ours)
