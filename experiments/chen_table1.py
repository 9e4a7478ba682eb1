"""How time grows with n rows, and d features before and l after the projection: measured powers and those of Table 1.

The paper states orders of growth without numbers. Here, rows are normally distributed with m = 64 columns, and a power
is the slope of log time against log size, with sizes that double: n from 2,048 to 16,384 with d = 2,048 and l = 256
(from 1,024 for the exact machine); d from 512 to 4,096 with n = 8,192 and l = 64; l from 64 to 512 with n = 8,192 and d
= 2,048. Times are processor seconds on one thread, the median of 3 runs. "Stated" is the slope of the formula in the
paper over the same sizes, with all constants equal to 1 and t = 2,000 rows to predict.

The formula for TEFM-S omits the product F Q of its last step, O(n d l), which is included in the formula for TEFM-G.
The table therefore also shows the time for learning the projection and that for the product separately. TEFM-G has q =
1; both recompute F in each pass. RKS is `RandomFourier`. The paper compares times with d = l^2, where the projection
pays off; with d = 4 l, as in its experiments, it does not (Figure 3).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from cells import Cell, Found, Numbers, markdown, median, slope, timed
from chen import compressed, ridge
from claims import Claim
from experiment import Experiment, main
from machines import BLOCK
from pictures import curve, legend, logarithmic, panels
from scipy.linalg import solve

import mercer
from mercer.kernels import Gaussian

COLUMNS, TESTED, REPEATS = 64, 2000, 3
KERNEL = Gaussian(1.0 / (4.0 * COLUMNS))
ALPHA = 1.0
TRIES, ENOUGH = 3, 0.5
"""How often short work is repeated, and the seconds after which it is not repeated."""
WITHIN = 0.2
"""By how much a measured power may exceed the stated one."""


class Size(NamedTuple):
    n: int
    d: int = 0
    l: int = 0  # noqa: E741 - the paper's letters

    def __str__(self) -> str:
        return ", ".join(f"{letter} = {value}" for letter, value in self._asdict().items() if value)


SIZES = {
    "n": [Size(n, 2048, 256) for n in (2048, 4096, 8192, 16384)],
    "d": [Size(8192, d, 64) for d in (512, 1024, 2048, 4096)],
    "l": [Size(8192, 2048, l) for l in (64, 128, 256, 512)],  # noqa: E741
}
"""The sizes that grow."""
METHODS = ("exact", "RKS", "TEFM-G", "TEFM-S")

STATED: dict[tuple[str, str], Callable[[Size], float]] = {
    ("exact", "mapping"): lambda size: COLUMNS * size.n**2,
    ("exact", "training"): lambda size: size.n**3,
    ("exact", "prediction"): lambda size: TESTED * COLUMNS * size.n,
    ("RKS", "mapping"): lambda size: size.n * COLUMNS * size.d,
    ("RKS", "training"): lambda size: size.n * size.d**2,
    ("RKS", "prediction"): lambda size: TESTED * (COLUMNS + 1) * size.d,
    ("TEFM-G", "mapping"): lambda size: size.d * (size.n * COLUMNS + size.l**2 + size.n * size.l),
    ("TEFM-G", "training"): lambda size: size.n * size.l**2,
    ("TEFM-G", "prediction"): lambda size: size.d * (TESTED * (COLUMNS + 1) + size.l),
    ("TEFM-S", "mapping"): lambda size: size.d * (size.n * COLUMNS + size.l**2 + size.n * math.log2(size.l)),
    ("TEFM-S", "training"): lambda size: size.n * size.l**2,
    ("TEFM-S", "prediction"): lambda size: size.d * (TESTED * (COLUMNS + 1) + size.l),
}
STAGES = ("mapping", "learning", "features", "training", "prediction")


def sizes(method: str, letter: str) -> list[Size]:
    """Return the sizes for a method; the exact machine has half the rows and no features."""
    if method == "exact":
        return [Size(size.n // 2) for size in SIZES["n"]] if letter == "n" else []
    if method == "RKS":
        return [size._replace(l=0) for size in SIZES[letter]] if letter != "l" else []
    return SIZES[letter]


def named(method: str, size: Size) -> str:
    return f"{method}, {size}"


@cache
def rows(n: int) -> tuple[Any, Any, Any]:
    """Return rows, targets, and rows to predict."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + TESTED, COLUMNS))
    return X[:n], np.sin(X[:n, 0]), X[n:]


def quickest(work: Callable[[], Any]) -> float:
    """Return processor seconds, the smallest of several measurements if these are short."""
    times: list[float] = []
    while not times or (len(times) < TRIES and sum(times) < ENOUGH):
        times.append(timed(work)["processor"])
    return min(times)


def in_blocks(transform: Callable[[Any], Any], X: Any) -> None:
    """Compute features of some rows at a time: allocating memory for all takes longer than writing to it."""
    for start in range(0, len(X), BLOCK):
        transform(X[start : start + BLOCK])


def solved(size: Size, seed: int, _: Found) -> Numbers:
    X, y, test = rows(size.n)
    K = KERNEL(X)
    K.flat[:: size.n + 1] += ALPHA
    coef = solve(K, y, assume_a="pos")
    return {
        "mapping": quickest(lambda: in_blocks(lambda block: KERNEL(block, X), X)),
        "training": quickest(lambda: solve(K, y, assume_a="pos")),
        "prediction": quickest(lambda: in_blocks(lambda block: KERNEL(block, X) @ coef, test)),
    }


def mapped(method: str, size: Size, seed: int, _: Found) -> Numbers:
    X, y, test = rows(size.n)
    if method == "RKS":
        sketch: Any = mercer.RandomFourier(KERNEL, n_components=size.d, random_state=seed)
    else:
        kind, power = ("tefm-g", 1) if method == "TEFM-G" else ("tefm-s", 0)
        sketch = compressed(kind, power, size.d // size.l)(KERNEL, size.l, seed)
    Z = sketch.fit_transform(X)
    wide = sketch if method == "RKS" else sketch.map_
    coef = ridge(Z, y, ALPHA) if method == "RKS" else sketch.fold(ridge(Z, y, ALPHA))
    numbers = {
        "learning": quickest(lambda: sketch.fit(X)),
        "features": quickest(lambda: in_blocks(sketch.transform, X)),
        "training": quickest(lambda: ridge(Z, y, ALPHA)),
        "prediction": quickest(lambda: in_blocks(lambda block: wide.transform(block) @ coef, test)),
    }
    return numbers | {"mapping": numbers["learning"] + numbers["features"]}


def cells(full: bool) -> Iterator[Cell]:
    listed: dict[str, Cell] = {}
    for method in METHODS:
        for letter in SIZES:
            for size in sizes(method, letter)[: None if full else 3]:
                work = partial(solved, size) if method == "exact" else partial(mapped, method, size)
                listed[named(method, size)] = Cell(named(method, size), work, REPEATS if full else 1)
    yield from listed.values()


def powers(found: Found, method: str, stage: str, letter: str) -> tuple[float, float]:
    """Return the stated and the measured power of a size; NaN if it is not stated or not measured."""
    there = [size for size in sizes(method, letter) if not math.isnan(median(found, named(method, size), stage))]
    measured = slope([(getattr(size, letter), median(found, named(method, size), stage)) for size in there])
    formula = STATED.get((method, stage))
    return slope([(getattr(size, letter), formula(size)) for size in there]) if formula else math.nan, measured


def table(found: Found) -> str:
    lines = []
    for method in METHODS:
        for stage in STAGES:
            if stage in ("learning", "features") and not method.startswith("TEFM"):
                continue
            both = (powers(found, method, stage, letter) for letter in SIZES)
            entries = (("" if math.isnan(one) else f"{one:.2f}") for pair in both for one in pair)
            part = {"learning": "mapping, of it learning", "features": "mapping, of it F Q"}.get(stage, stage)
            lines.append((f"{method}, {part}", *entries))
    head = [f"{letter}, {what}" for letter in SIZES for what in ("stated", "measured")]
    return markdown(("power of", *head), lines)


def picture(found: Found) -> object:
    figure, axes = panels(1, 3, height=3.4, sharey=True)
    titles = {"n": "n, rows", "d": "d, features before", "l": "l, features after the projection"}
    for one, (letter, title) in zip(axes[0], titles.items(), strict=True):
        logarithmic(one, marks=(1.0,))
        logarithmic(one, "x")
        for method in METHODS:
            names = [(getattr(size, letter), named(method, size)) for size in sizes(method, letter)]
            curve(one, found, names, "mapping", method, label=f"{method}, mapping")
            curve(one, found, names, "training", method, label=f"{method}, training", linestyle=":")
        values = sorted({getattr(size, letter) for method in METHODS for size in sizes(method, letter)})
        one.set_xticks(values, [str(value) for value in values])
        one.set_xlabel(title, fontsize=8)
    axes[0, 0].set_ylabel("time, s of the processor", fontsize=8)
    legend(figure, axes)
    return figure


def claims(found: Found) -> list[Claim]:
    listed = []
    for method in METHODS:
        pairs = {
            f"{stage} against {letter}": powers(found, method, stage, letter)
            for name, stage in STATED
            for letter in SIZES
            if name == method
        }
        above = {what: ours - theirs for what, (theirs, ours) in pairs.items() if not math.isnan(ours - theirs)}
        worst = max(above, key=above.__getitem__, default="")
        figure = f"largest excess in {worst}: {pairs[worst][1]:.2f}, stated {pairs[worst][0]:.2f}" if above else ""
        text = f"{method}: time grows as stated (with a power at most {WITHIN} larger)"
        listed.append(Claim(text, (sum(one <= WITHIN for one in above.values()), len(above)), figure))
    return [*listed, left_out(found), *(square(found, method) for method in METHODS[2:])]


def left_out(found: Found) -> Claim:
    """Judge our correction of the formula for TEFM-S."""
    cell = named("TEFM-S", SIZES["l"][-1])
    product, mapping = (median(found, cell, stage) for stage in ("features", "mapping"))
    text = "the time of F Q, which the formula for TEFM-S leaves out, grows faster with l than the formula"
    (_, ours), (stated, _) = (powers(found, "TEFM-S", stage, "l") for stage in ("features", "mapping"))
    figure = f"powers {ours:.2f} and {stated:.2f}; {product / mapping:.0%} of mapping, {SIZES['l'][-1]}"
    return Claim(text, None if math.isnan(ours + stated) else ours > stated, figure, ours=True)


def square(found: Found, method: str) -> Claim:
    """Judge what the text says about the table: with d = l^2, TEFM takes much less time than RKS with d features."""
    size = SIZES["d"][-1]
    names = named(method, size), named("RKS", size._replace(l=0))
    ours, theirs = (sum(median(found, name, stage) for stage in ("mapping", "training")) for name in names)
    text = f"with d = l^2, {method} takes much less time than RKS with d features (at most half)"
    return Claim(
        text, None if math.isnan(ours / theirs) else ours <= 0.5 * theirs, f"{ours:.2f} s and {theirs:.2f} s, {size}"
    )


EXPERIMENT = Experiment(
    name="chen_table1",
    title="Chen et al. 2016, Table 1: how time grows",
    about=__doc__ or "",
    cells=cells,
    table=table,
    picture=picture,
    claims=claims,
)

if __name__ == "__main__":
    main(EXPERIMENT)
