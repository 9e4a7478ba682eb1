"""Coverage of prediction intervals: the share of new targets inside them, on twenty random splits of three sets.

``MERCER_DATA=... python benchmarks/intervals.py coverage --csv intervals.csv`` fits ``KernelRegressor()``, with all its
defaults, to at most 4,000 rows, and counts how many of at most 4,000 others are inside intervals of 90 %: by conformal
prediction, with the method that ``ConformalRegressor`` chooses, with rows left out one by one, and with rows set aside;
and by the normal distribution about ``predict(return_std=True)``, which assumes one, and noise of one size. The width
is the median one, in standard deviations of the targets. Times are of the processor and one thread.
"""

from __future__ import annotations

import sys
import warnings
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from scipy.stats import norm

from mercer.learn import ConformalRegressor, KernelRegressor

sys.path.append(str(Path(__file__).parents[1] / "experiments"))

from cells import Cell, Figure, Found, Numbers, column, markdown
from defaults import Split, split
from figures import command

SETS = ("cpu", "blog_feedback", "uji_indoor_loc")
TINY_SETS = ("diabetes",)
METHODS = ("auto", "jackknife+", "split", "normal")
COVERAGE = 0.9
LOW, HIGH = 88.0, 92.0
"""Between which the mean share over splits is to be, in percent."""
ROWS, TESTED, SPLITS, TINY_ROWS = 4000, 4000, 20, 120


def coverage(tiny: bool) -> Figure:
    names = TINY_SETS if tiny else SETS
    cells = [
        Cell(f"{name}, {method}", partial(covered, name, method, tiny), 2 if tiny else SPLITS)
        for name in names
        for method in METHODS
    ]
    return Figure("coverage", tuple(cells), coverage_table)


def covered(name: str, method: str, tiny: bool, seed: int, _: Found) -> Numbers:
    """The share of new targets inside their intervals, and how wide these are."""
    rows = split(name, seed, TINY_ROWS if tiny else ROWS)
    new, truth = rows.new[:TESTED], rows.truth[:TESTED]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = process_time()
        low, high = (normal if method == "normal" else partial(conformal, method))(rows, seed, new)
        seconds = process_time() - began
    return {
        "coverage": 100.0 * float(np.mean((low <= truth) & (truth <= high))),
        "width": float(np.median(high - low) / np.std(rows.y)),
        "seconds": seconds,
    }


def conformal(method: Any, rows: Split, seed: int, new: Any) -> Any:
    model = ConformalRegressor(KernelRegressor(random_state=seed), method=method, coverage=COVERAGE, random_state=seed)
    return model.fit(rows.X, rows.y).predict_interval(new).T


def normal(rows: Split, seed: int, new: Any) -> Any:
    model = KernelRegressor(keep_statistics=True, random_state=seed).fit(rows.X, rows.y)
    mean, deviation = model.predict(new, return_std=True)
    reach = float(norm.ppf(0.5 + COVERAGE / 2)) * deviation
    return mean - reach, mean + reach


def coverage_table(found: Found) -> str:
    lines = []
    for cell in dict.fromkeys(cell for cell, _ in found):
        shares, widths, seconds = (column(found, cell, quantity) for quantity in ("coverage", "width", "seconds"))
        told = "yes" if LOW <= np.mean(shares) <= HIGH else "no"
        spread = f"{np.mean(shares):.2f} ± {np.std(shares, ddof=1) if len(shares) > 1 else 0.0:.2f}"
        least = f"{min(shares):.1f} to {max(shares):.1f}"
        lines.append((cell, len(shares), spread, least, told, f"{np.mean(widths):.3f}", f"{np.median(seconds):.1f}"))
    head = ("set, method", "splits", "covered, %", "least to most", f"{LOW:g} to {HIGH:g}", "median width", "s")
    return markdown(head, lines)


FIGURES = {"coverage": coverage}


def main(given: list[str] | None = None) -> None:
    assert __doc__ is not None
    command(FIGURES, __doc__, __file__, given, threads=1, is_apart=False)


if __name__ == "__main__":
    main()
