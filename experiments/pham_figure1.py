"""Relative error of the estimated kernel against D, on Adult, for homogeneous and inhomogeneous kernels.

The paper prints curves of "the relative error from expectation" without saying how it is taken, over which pairs, or
whether rows were normalised. Here it is ||Z Z' - K|| / ||K|| on 1,000 test rows, 5 seeds, once for rows as they are
(zeros and ones, 14 ones a row) and once for rows of length 1. Random Maclaurin is shown as the paper has it, most of
whose features are 0 for a homogeneous kernel, and with degrees drawn from those of the kernel alone ("own degrees"):
that the paper finds it so much worse on homogeneous kernels is due to these zeros. Mercer's choice is `TaylorSketch`,
which takes low degrees exactly, after splitting off the mean where it helps.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial

import numpy as np
from cells import Cell, Found, Numbers, markdown, median
from datasets import real_set
from experiment import SEEDS, Claim, Experiment, main
from pham import KERNELS, MAPS
from pictures import curve, legend, logarithmic, panels

WIDTHS = (500, 1000, 1500, 2000, 2500, 3000)
ENDS = (500, 1000, 3000)
"""Of the quick run, and of the table."""
LENGTHS = ("rows as they are", "rows of length 1")
FITTED, TESTED = 5000, 1000
METHODS = [method for method in MAPS if method != "H0/1"]


def named(length: str, kernel: str, method: str, D: int) -> str:
    return f"{length}, {kernel}, {method}, D = {D}"


def shown() -> list[tuple[str, str]]:
    """Lengths and kernels; the relative error of a homogeneous kernel hardly depends on the length of rows."""
    pairs = [(length, kernel) for length in LENGTHS for kernel in KERNELS]
    return [(length, kernel) for length, kernel in pairs if length == LENGTHS[0] or KERNELS[kernel].coef0 > 0.0]


@cache
def sample(length: str) -> tuple[np.ndarray, np.ndarray]:
    split = real_set("adult")
    parts = (split.X[:FITTED].astype(np.float64), split.X_test[:TESTED].astype(np.float64))
    if length == LENGTHS[0]:
        return parts
    return tuple(X / np.linalg.norm(X, axis=1, keepdims=True) for X in parts)


def error(length: str, kernel: str, method: str, D: int, seed: int, _: Found) -> Numbers:
    train, test = sample(length)
    Z, K = MAPS[method](KERNELS[kernel], D, seed).fit(train).transform(test), KERNELS[kernel](test)
    difference = np.abs(Z @ Z.T - K)
    apart = ~np.eye(len(K), dtype=bool) & (K > 0.0)
    mean = float((difference[apart] / K[apart]).mean())
    return {"relative": float(np.linalg.norm(difference) / np.linalg.norm(K)), "mean of pairs": mean}


def cells(full: bool) -> Iterator[Cell]:
    for length, kernel in shown():
        for method in METHODS:
            for D in WIDTHS if full else ENDS:
                work = partial(error, length, kernel, method, D)
                yield Cell(named(length, kernel, method, D), work, SEEDS if full else 2)


def table(found: Found) -> str:
    head = ("error at D = 500, 1000 and 3000", *METHODS)
    lines = []
    for length, kernel in shown():
        entries = []
        for method in METHODS:
            values = [median(found, named(length, kernel, method, D), "relative") for D in ENDS]
            entries.append(" ".join("missing" if np.isnan(value) else f"{value:.3f}" for value in values))
        lines.append((f"`{kernel}`, {length}", *entries))
    return markdown(head, lines)


def picture(found: Found) -> object:
    figure, axes = panels(3, 3, height=2.3, sharey="row")
    for row, (length, coef0) in enumerate(((LENGTHS[0], 0.0), (LENGTHS[0], 1.0), (LENGTHS[1], 1.0))):
        kernels = [name for name, kernel in KERNELS.items() if kernel.coef0 == coef0]
        for one, kernel in zip(axes[row], kernels, strict=True):
            logarithmic(one)
            for method in METHODS:
                curve(one, found, [(D, named(length, kernel, method, D)) for D in WIDTHS], "relative", method)
            one.set_title(f"{kernel}, {length}", fontsize=8)
            one.set_xlabel("D, features", fontsize=8)
        axes[row, 0].set_ylabel("relative error", fontsize=8)
    legend(figure, axes)
    return figure


def claims(found: Found) -> list[Claim]:
    """The one sentence of the text that gives figures."""
    listed = []
    for length in LENGTHS:
        for degree in (2, 3, 4):
            kernel = f"(1 + <x, y>)^{degree}"
            sketch, maclaurin = (
                median(found, named(length, kernel, method, D), "relative")
                for method, D in (("TensorSketch", 500), ("RandomMaclaurin", 3000))
            )
            missing = np.isnan(sketch) or np.isnan(maclaurin)
            text = (
                f"TensorSketch has an error below 1 at D = 500, RandomMaclaurin needs over 3,000: `{kernel}`, {length}"
            )
            figure = f"{sketch:.2f} at 500, {maclaurin:.2f} at 3,000"
            listed.append(Claim(text, None if missing else bool(sketch < 1.0 < maclaurin), figure))
    return listed


EXPERIMENT = Experiment(
    name="pham_figure1",
    title="Pham & Pagh 2013, Figure 1: error of the estimate",
    about=__doc__ or "",
    cells=cells,
    table=table,
    picture=picture,
    claims=claims,
)

if __name__ == "__main__":
    main(EXPERIMENT)
