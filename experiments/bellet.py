"""Bellet, Large-scale kernel methods, lecture of 2020: its two maps on real data sets, compared with those of Mercer.

The lecture contains no experiments. It states rates and orders of growth, which are measured here, with a Gaussian
kernel of median bandwidth. Columns have mean 0 and variance 1 (MNIST: values from 0 to 1).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from cells import Found
from claims import Case, beside
from datasets import Split, digits, real_set, standardised

import mercer
from mercer.kernels import Gaussian

WIDTHS = (32, 64, 128, 256, 512, 1024)
TABLED = (64, 256, 1024)
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
"""The two maps of the lecture (offsets, uniform landmarks), Mercer's choice, and landmarks chosen by RPCholesky."""


def shown(method: str) -> str:
    """The names in the lecture: RKF are its random kernel features."""
    return "RKF" if method == "RandomFourier" else method


@cache
def rows(name: str) -> Split:
    return digits() if name == "mnist" else standardised(real_set(name))


@cache
def kernel_of(name: str) -> Gaussian:
    """Return the kernel whose bandwidth is the median distance of 1,000 training rows."""
    return Gaussian("median").resolve(rows(name).X[:1000].astype(np.float64))


def named(name: str, method: str, c: int) -> str:
    return f"{name}, {method}, c = {c}"


def against(found: Found, one: str, other: str, quantity: str) -> dict[str, Case]:
    """Compare two maps on all data sets."""
    return {
        f"{TITLES[name]} at c = {c}": beside(found, named(name, one, c), named(name, other, c), quantity)
        for name in SETS
        for c in WIDTHS
    }
