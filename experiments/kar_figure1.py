"""Error of the estimated kernel against D, on 100 random points of the unit ball in d dimensions.

The error is the mean of |<Z(x), Z(y)> - K(x, y)| over all entries of the matrix, as in the paper, over 5 runs; every
run draws its points, evenly in the ball (the paper does not say how), and its map. The paper prints curves without
figures. D counts random features: H0/1 has d + 1 exact ones more, Mercer has D in all, too few for degree 1 where D is
below d. The exponential kernel is exp(<x, y> / s^2), s the mean distance of the points.

For <x, y>^10 the paper's law of degrees, 2^-(n+1), is useless: one feature in 2,048 is not 0. Up to D = 500 most runs
have none, and the error is the mean of the kernel itself; with features that are not 0 it is larger, and does not drop.
"Own degrees" draws degree 10 alone. As this kernel is nearly 0 but on the diagonal, a mean absolute error favours
estimates that are mostly 0 and seldom huge; the second table, ||Z Z' - K|| / ||K||, where an estimate of 0 has 1, shows
that of the maps for <x, y>^10 only Mercer's is well below that. Its choice is `TreeSketch` for this kernel and
`TaylorSketch` for the others. On (1 + <x, y>)^10 RF errs by more than the mean of the kernel even at D = 5,000.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from cells import Cell, Found, Numbers, column, markdown
from datasets import Matrix
from experiment import SEEDS, Claim, Experiment, main
from kar import DEGREE, EXPONENTIAL, MAPS, POLYNOMIAL, kernel_on, short
from pictures import STYLES, curve, legend, logarithmic, panels

from mercer.kernels import Kernel, Polynomial

HOMOGENEOUS = f"<x, y>^{DEGREE}"
KERNELS = (HOMOGENEOUS, POLYNOMIAL, EXPONENTIAL)
POINTS = 100
DIMENSIONS = (10, 20, 50, 100, 200)
DRAWN = (10, 50, 200)
"""Of the picture and of the quick run."""
WIDTHS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
ENDS = (10, 100, 1000, 5000)
"""Of the quick run, and of the table."""
METHODS = ("RandomMaclaurin", "own degrees", "H0/1", "Mercer")


def methods(kernel: str) -> list[str]:
    """H0/1 needs degrees 0 and 1; only a kernel that lacks degrees can draw its own."""
    return [one for one in METHODS if one != ("H0/1" if kernel == HOMOGENEOUS else "own degrees")]


def named(kernel: str, d: int, method: str, D: int) -> str:
    return f"{kernel}, d = {d}, {method}, D = {D}"


def points(d: int, seed: int) -> Matrix:
    """Evenly in the unit ball."""
    rng = np.random.default_rng((d, seed))
    X = rng.normal(size=(POINTS, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True) * rng.random((POINTS, 1)) ** (1.0 / d)


def on(X: Matrix, kernel: str) -> Kernel:
    return Polynomial(DEGREE) if kernel == HOMOGENEOUS else kernel_on(X, kernel)


def error(kernel: str, d: int, method: str, D: int, seed: int, _: Found) -> Numbers:
    X = points(d, seed)
    chosen = on(X, kernel)
    K, Z = chosen(X), MAPS[method](chosen, D, d, seed).fit(X).transform(X)
    difference = Z @ Z.T - K
    return {
        "error": float(np.abs(difference).mean()),
        "relative": float(np.linalg.norm(difference) / np.linalg.norm(K)),
        "mean": float(np.abs(K).mean()),
        "largest": float(chosen(np.eye(1))[0, 0]),  # in the ball: f(1)
    }


def cells(full: bool) -> Iterator[Cell]:
    for kernel in KERNELS:
        for d in DIMENSIONS if full else DRAWN:
            for method in methods(kernel):
                for D in WIDTHS if full else ENDS:
                    work = partial(error, kernel, d, method, D)
                    yield Cell(named(kernel, d, method, D), work, SEEDS if full else 2)


def mean(found: Found, kernel: str, d: int, method: str, D: int, quantity: str = "error") -> float:
    """NaN where nothing was measured."""
    return float(np.mean(column(found, named(kernel, d, method, D), quantity) or [np.nan]))


def part(found: Found, quantity: str, title: str) -> str:
    lines = []
    for kernel in KERNELS:
        for d in DIMENSIONS:
            entries = []
            for method in METHODS:
                values = [mean(found, kernel, d, method, D, quantity) for D in ENDS]
                texts = ("missing" if np.isnan(value) else short(value) for value in values)
                entries.append(" ".join(texts) if method in methods(kernel) else "-")
            size = mean(found, kernel, d, "Mercer", ENDS[0], "mean")
            about = "" if quantity == "relative" or np.isnan(size) else f", whose mean is {short(size)}"
            lines.append((f"`{kernel}`, d = {d}{about}", *entries))
    return markdown((f"{title} at D = 10, 100, 1000 and 5000", *METHODS), lines)


def table(found: Found) -> str:
    return part(found, "error", "mean absolute error") + "\n" + part(found, "relative", "relative error")


def picture(found: Found) -> object:
    figure, axes = panels(len(KERNELS), len(DRAWN), height=2.3, sharey="row")
    for row, kernel in zip(axes, KERNELS, strict=True):
        for one, d in zip(row, DRAWN, strict=True):
            logarithmic(one, "x", marks=(1.0,))
            logarithmic(one, marks=(1.0,))
            for method in methods(kernel):
                curve(one, found, [(D, named(kernel, d, method, D)) for D in WIDTHS], "error", method)
            size = mean(found, kernel, d, "Mercer", ENDS[0], "mean")
            one.axhline(size, color=STYLES["exact"][0], linestyle=":", linewidth=1.0, label="mean of the kernel")
            one.set_title(f"{kernel}, d = {d}", fontsize=8)
        row[0].set_ylabel("mean absolute error", fontsize=8)
    for one in axes[-1]:
        one.set_xlabel("D, random features", fontsize=8)
    legend(figure, axes)
    return figure


# -- claims ------------------------------------------------------------------------------------------------------------


def drops(found: Found, kernel: str, method: str) -> Claim:
    """By chance alone an error falls by the root of 5000 / 10, which is 22."""
    factors = [mean(found, kernel, d, method, 10) / mean(found, kernel, d, method, 5000) for d in DIMENSIONS]
    text = f"the error drops quickly with D (to less than a tenth from D = 10 to 5,000): `{kernel}`, {method}"
    found_all = not np.isnan(factors).any()
    return Claim(text, min(factors) > 10.0 if found_all else None, f"{min(factors):.2g} to {max(factors):.2g} times")


def sharper(found: Found, kernel: str) -> Claim:
    pairs = [
        [mean(found, kernel, d, method, D) for method in ("H0/1", "RandomMaclaurin")]
        for d in DIMENSIONS
        for D in WIDTHS
    ]
    ratios = np.array([exact_terms / random for exact_terms, random in pairs])
    text = f"H0/1 has a smaller error than RF at every d and D: `{kernel}`"
    figure = f"{(ratios < 1.0).sum()} of {len(ratios)}; {ratios.min():.2g} to {ratios.max():.2g} of its error"
    return Claim(text, None if np.isnan(ratios).any() else bool((ratios < 1.0).all()), figure)


def ranges(found: Found) -> Iterator[Claim]:
    for kernel, said in zip(KERNELS, (1.0, 1024.0, 2.73), strict=True):
        values = [mean(found, kernel, d, "Mercer", ENDS[0], "largest") for d in DIMENSIONS]
        text = f"the kernel takes values up to {said:g} in the unit ball: `{kernel}`"
        holds = None if np.isnan(values).any() else bool(abs(max(values) / said - 1.0) < 0.01)
        yield Claim(text, holds, f"{min(values):.4g} to {max(values):.4g}, by d")


def claims(found: Found) -> list[Claim]:
    listed = [drops(found, kernel, method) for kernel in KERNELS for method in methods(kernel) if method != "Mercer"]
    listed += [sharper(found, kernel) for kernel in KERNELS[1:]]
    errors = [[mean(found, kernel, d, "RandomMaclaurin", 5000) for d in DIMENSIONS] for kernel in KERNELS]
    small, large, middle = np.array(errors)
    text = "errors differ between kernels as their ranges do: `<x, y>^10` least, then exponential, then polynomial"
    holds = None if np.isnan(errors).any() else bool((small < middle).all() and (middle < large).all())
    figure = f"{small.mean():.2g}, {middle.mean():.2g} and {large.mean():.2g} with RF at D = 5,000"
    return [*listed, *ranges(found), Claim(text, holds, figure)]


EXPERIMENT = Experiment(
    name="kar_figure1",
    title="Kar & Karnick 2012, Figure 1: error of the estimate",
    about=__doc__ or "",
    cells=cells,
    table=table,
    picture=picture,
    claims=claims,
)

if __name__ == "__main__":
    main(EXPERIMENT)
