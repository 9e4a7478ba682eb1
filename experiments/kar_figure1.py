"""Error of the estimated kernel against D, on 100 random points of the unit ball in d dimensions.

The error is the mean of |<Z(x), Z(y)> - K(x, y)| over all entries of the matrix and over 5 runs, as in the paper, which
shows curves without numbers; the bands extend from the lowest to the highest run. Every run draws its own points,
uniformly from the ball (the paper does not say how), and its own map. RandomMaclaurin is the paper's RF. D counts
random features: H0/1 has d + 1 exact ones in addition, whereas Mercer has D in total, which is not enough for degree 1
if D is below d. s is the mean distance between the points. Claims are compared run by run.

For <x, y>^10, the paper's distribution of degrees, 2^-(n+1), is useless: only one feature in 2,048 is not 0. Up to D =
500, most runs have no such feature, and their error is the mean of the kernel itself; those that have some have larger
errors that vary widely. "Own degrees" only draws degree 10. Mercer uses `TreeSketch` here. Up to D = 500, it has the
largest error of all; with D = 5,000, it is better than an estimate of 0 only for d = 10. There is a reason to choose it
nonetheless: this kernel is nearly 0 off the diagonal, and then the mean absolute error favours estimates that are
mostly 0 and occasionally huge. In the second table, with ||Z Z' - K|| / ||K||, an estimate of 0 has an error of 1, and
only Mercer is well below that, from D = 500 on. For the other kernels, Mercer uses `TaylorSketch`, which is worse than
H0/1 on the exponential kernel until D is well above d.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from cells import Cell, Found, Numbers, column, markdown, mean
from claims import Claim, counted, differences, run_by_run, short, span
from datasets import Matrix
from experiment import SEEDS, Experiment, main
from kar import DEGREE, EXPONENTIAL, MAPS, POLYNOMIAL, kernel_on
from pictures import STYLES, curve, legend, logarithmic, panels

from mercer.kernels import Kernel, Polynomial

HOMOGENEOUS = f"<x, y>^{DEGREE}"
KERNELS = (HOMOGENEOUS, POLYNOMIAL, EXPONENTIAL)
POINTS = 100
DIMENSIONS = (10, 20, 50, 100, 200)
DRAWN = (10, 50, 200)
"""The dimensions in the picture and in the quick run."""
WIDTHS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
ENDS = (10, 100, 1000, 5000)
"""The widths in the quick run and in the table."""
METHODS = ("RandomMaclaurin", "own degrees", "H0/1", "Mercer")
PAPERS = ("RandomMaclaurin", "H0/1")


def methods(kernel: str) -> list[str]:
    """H0/1 needs degrees 0 and 1; only a kernel that lacks degrees can draw its own."""
    return [one for one in METHODS if one != ("H0/1" if kernel == HOMOGENEOUS else "own degrees")]


def named(kernel: str, d: int, method: str, D: int) -> str:
    return f"{kernel}, d = {d}, {method}, D = {D}"


def points(d: int, seed: int) -> Matrix:
    """Draw points uniformly from the unit ball."""
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


def part(found: Found, quantity: str, title: str) -> str:
    lines = []
    for kernel in KERNELS:
        for d in DIMENSIONS:
            entries = []
            for method in METHODS:
                values = [mean(found, named(kernel, d, method, D), quantity) for D in ENDS]
                texts = ("missing" if np.isnan(value) else short(value).removesuffix(".0") for value in values)
                entries.append(" ".join(texts) if method in methods(kernel) else "-")
            size = mean(found, named(kernel, d, "Mercer", ENDS[0]), "mean")
            text = f", whose mean is {short(size).removesuffix('.0')}"
            about = "" if quantity == "relative" or np.isnan(size) else text
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
                points = [(D, named(kernel, d, method, D)) for D in WIDTHS]
                curve(one, found, points, "error", method, centre=np.mean)  # as in the table
            size = mean(found, named(kernel, d, "Mercer", ENDS[0]), "mean")
            one.axhline(size, color=STYLES["exact"][0], linestyle=":", linewidth=1.0, label="mean of the kernel")
            one.set_title(f"{kernel}, d = {d}", fontsize=8)
        row[0].set_ylabel("mean absolute error", fontsize=8)
    for one in axes[-1]:
        one.set_xlabel("D, random features", fontsize=8)
    legend(figure, axes)
    return figure


# -- claims ------------------------------------------------------------------------------------------------------------


def factors(found: Found, kernel: str, method: str) -> list[float]:
    """Return by which factor the error falls from D = 10 to 5,000, for every d; the theory says 22, the root of 500."""
    ends = ([named(kernel, d, method, D) for D in (WIDTHS[0], WIDTHS[-1])] for d in DIMENSIONS)
    errors = ([mean(found, cell, "error") for cell in pair] for pair in ends)
    return [first / last for first, last in errors if not np.isnan(first / last)]


def falls(found: Found, curves: dict[str, tuple[str, str]]) -> str:
    """Describe in words by which factors the errors of methods fall."""
    words = []
    for title, (kernel, method) in curves.items():
        ratios = factors(found, kernel, method)
        grows = bool(ratios) and max(ratios) < 1.0
        by = span(1.0 / ratio if grows else ratio for ratio in ratios)
        words.append(f"{title} {'grows' if grows else 'falls'} by a factor of {by}")
    return ", ".join(words)


def drops(found: Found, text: str, curves: dict[str, tuple[str, str]], ours: bool = False) -> Claim:
    every = [ratio for kernel, method in curves.values() for ratio in factors(found, kernel, method)]
    text = f"the error drops quickly with D (to less than a tenth from D = 10 to 5,000): {text}"
    return Claim(text, (sum(ratio > 10.0 for ratio in every), len(every)), falls(found, curves), ours)


def least(*differing: list[float]) -> list[float]:
    """Return the smallest of several differences in every run, since all of them should be above 0."""
    return [min(values) for values in zip(*differing, strict=False)]


def sharper(found: Found, kernel: str) -> Claim:
    cases = {}
    for d in DIMENSIONS:
        ends = ([named(kernel, d, method, D) for D in (WIDTHS[0], WIDTHS[-1])] for method in PAPERS)
        drops_of_runs = (differences(found, *pair, "error") for pair in ends)
        more = [own - other for other, own in zip(*drops_of_runs, strict=False)]
        cases[f"d = {d}"] = run_by_run(more, "error")
    text = f"the error of H0/1 drops more sharply than that of RandomMaclaurin, from D = 10 to 5,000: `{kernel}`"
    return counted(text, cases, falls(found, {method: (kernel, method) for method in PAPERS}))


def smaller(found: Found, kernel: str, method: str, others: Sequence[str], quantity: str = "error") -> Claim:
    """Make a claim of our own."""
    cases = {}
    for d in DIMENSIONS:
        for D in WIDTHS:
            cell, rivals = named(kernel, d, method, D), [named(kernel, d, other, D) for other in others]
            below = least(*(differences(found, rival, cell, quantity) for rival in rivals))
            cases[f"d = {d} at D = {D}"] = run_by_run(below, quantity)
    word = {"error": "error", "relative": "relative error"}[quantity]
    text = f"{method} has a smaller {word} than {' and '.join(others)}, over all d and D: `{kernel}`"
    return counted(text, cases, ours=True)


def ranges(found: Found) -> Claim:
    held, tops = [], []
    for kernel, said in zip(KERNELS, (1.0, 1024.0, 2.73), strict=True):
        values = [mean(found, named(kernel, d, "Mercer", ENDS[0]), "largest") for d in DIMENSIONS]
        if there := [value for value in values if not np.isnan(value)]:
            held.append(abs(max(there) / said - 1.0) < 0.01)
            ends = dict.fromkeys(f"{pick(there):.4g}" for pick in (min, max))
            tops.append(f"{' to '.join(ends)} for `{kernel}`")
    text = "on points spread evenly in the ball, the kernels reach 1, 1024 and 2.73 (about e, the value for s = 1)"
    return Claim(text, (sum(held), len(held)), ", ".join(tops))


def ordered(found: Found) -> Claim:
    order, cases = (HOMOGENEOUS, EXPONENTIAL, POLYNOMIAL), {}
    for d in DIMENSIONS:
        for D in WIDTHS:
            low, middle, high = (named(kernel, d, "RandomMaclaurin", D) for kernel in order)
            rises = (differences(found, middle, low, "error"), differences(found, high, middle, "error"))
            cases[f"d = {d} at D = {D}"] = run_by_run(least(*rises), "error")
    last = ([named(kernel, d, "RandomMaclaurin", WIDTHS[-1]) for d in DIMENSIONS] for kernel in order)
    errors = [span(mean(found, cell, "error") for cell in names) for names in last]
    text = "errors are ordered like the ranges: `<x, y>^10`, then exponential, then polynomial (RandomMaclaurin)"
    return counted(text, cases, f"{', '.join(errors)} at D = 5,000")


def beside_zero(found: Found) -> Claim:
    """Compare with always estimating 0, whose error is the mean of the kernel."""
    cases = {}
    for kernel in KERNELS:
        for d in DIMENSIONS:
            size, error = (column(found, named(kernel, d, "Mercer", WIDTHS[-1]), one) for one in ("mean", "error"))
            cases[f"`{kernel}` at d = {d}"] = run_by_run((np.log(size) - np.log(error)).tolist(), "error")
    return counted("at D = 5,000, Mercer has a smaller error than always estimating 0", cases, ours=True)


def claims(found: Found) -> list[Claim]:
    listed = [
        drops(found, f"`{kernel}`", {one: (kernel, one) for one in PAPERS if one in methods(kernel)})
        for kernel in KERNELS
    ]
    listed += [*(sharper(found, kernel) for kernel in KERNELS[1:]), ranges(found), ordered(found)]
    listed += [smaller(found, kernel, "H0/1", ["RandomMaclaurin"]) for kernel in KERNELS[1:]]
    listed.append(drops(found, "Mercer", {f"`{kernel}`": (kernel, "Mercer") for kernel in KERNELS}, ours=True))
    listed += [smaller(found, kernel, "Mercer", methods(kernel)[:-1]) for kernel in KERNELS]
    return [*listed, beside_zero(found), smaller(found, HOMOGENEOUS, "Mercer", methods(HOMOGENEOUS)[:-1], "relative")]


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
