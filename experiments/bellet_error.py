"""Error of the Gram matrix against c, the number of random features or of sampled columns.

The lecture states bounds: O(1 / sqrt(c)) for both maps, and O(1 / c) for Nystrom "when eigengap of G is large". Here, G
is the Gram matrix of the 2,000 training rows to which the maps are fitted, and the error is ||G - G^|| / ||G|| in the
Frobenius norm, the median of 5 runs; "unseen" is the same on 1,000 test rows. RKF, random kernel features, are those of
the lecture (`RandomFourier` with offsets). Nystrom has uniform landmarks and k = c. "Best rank" is the best
approximation of G of rank c, which no map with c features can beat on these rows.

Slopes are fitted to the logarithms from c = 32 to 256. Beyond that, the landmarks are such a large part of the rows
that the error decreases for this reason alone. For a Gaussian kernel, Mercer chooses `OrthogonalFourier`, which, like
RKF, does not use the rows: it is better than RKF and worse than Nystrom. Mercer's `Nystrom` can also choose landmarks
one after another by what the earlier ones do not explain (RPCholesky, which is more recent than the lecture's source).
They are better than uniform landmarks from c = 128 on, or equally good on MNIST.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
from bellet import MAPS, SETS, TABLED, TITLES, WIDTHS, against, kernel_of, named, rows, shown
from cells import Cell, Found, Numbers, markdown, median, slope
from claims import Claim, counted, met, span
from experiment import SEEDS, Experiment, main
from pictures import curve, legend, logarithmic, panels

QUICK = (64, 128, 256)
SLOPED = (32, 64, 128, 256)
FITTED, TESTED = 2000, 1000
BEST = "best rank"
ENOUGH = 8
"""How many columns per unit of the rank whose error they should reach."""


@cache
def sample(name: str) -> tuple[Any, Any]:
    split = rows(name)
    return split.X[:FITTED].astype(np.float64), split.X_test[:TESTED].astype(np.float64)


@cache
def gram(name: str, is_unseen: bool) -> Any:
    return kernel_of(name)(sample(name)[is_unseen])


@cache
def eigenvalues(name: str) -> Any:
    """The eigenvalues of G, the largest first."""
    return np.linalg.eigvalsh(gram(name, False))[::-1]


def error(name: str, method: str, c: int, seed: int, _: Found) -> Numbers:
    train, test = sample(name)
    fitted = MAPS[method](kernel_of(name), c, seed).fit(train)
    found = {}
    for is_unseen, quantity, X in ((False, "training", train), (True, "unseen", test)):
        Z, G = fitted.transform(X), gram(name, is_unseen)
        found[quantity] = float(np.linalg.norm(Z @ Z.T - G) / np.linalg.norm(G))
    return found


def truncated(name: str, c: int, seed: int, _: Found) -> Numbers:
    left = eigenvalues(name)[c:]
    return {"training": float(np.linalg.norm(left) / np.linalg.norm(gram(name, False)))}


def cells(full: bool) -> Iterator[Cell]:
    for name in SETS if full else SETS[:2]:
        for c in WIDTHS if full else QUICK:
            yield Cell(named(name, BEST, c), partial(truncated, name, c))
            for method in MAPS:
                yield Cell(named(name, method, c), partial(error, name, method, c), SEEDS if full else 2)


def power(found: Found, name: str, method: str, quantity: str = "unseen") -> float:
    return slope((c, median(found, named(name, method, c), quantity)) for c in SLOPED)


def table(found: Found) -> str:
    def entry(name: str, method: str, quantity: str) -> str:
        if method == BEST and quantity == "unseen":
            return ""
        values = [median(found, named(name, method, c), quantity) for c in TABLED]
        text = " ".join("missing" if math.isnan(value) else f"{value:.2g}" for value in values)
        steepness = power(found, name, method, quantity)
        return text if math.isnan(steepness) else f"{text}; {steepness:.2f}"

    lines = [
        (f"{TITLES[name]}, {quantity} rows", *(entry(name, method, quantity) for method in (*MAPS, BEST)))
        for name in SETS
        for quantity in ("training", "unseen")
    ]
    return markdown(("error at c = 64, 256 and 1024; slope to 256", *map(shown, MAPS), BEST), lines)


def picture(found: Found) -> object:
    figure, axes = panels(2, 2, height=2.7)
    for one, name in zip(axes.ravel(), SETS, strict=True):
        logarithmic(one, marks=(1.0,))
        logarithmic(one, "x")
        for method in MAPS:
            points = [(c, named(name, method, c)) for c in WIDTHS]
            curve(one, found, points, "training", method, label=shown(method))
        curve(one, found, [(c, named(name, BEST, c)) for c in WIDTHS], "training", "bound", label=BEST, linestyle="--")
        one.set_xticks(WIDTHS, [str(c) for c in WIDTHS])
        one.set_title(f"{TITLES[name]}, {FITTED:,} training rows", fontsize=9)
        one.set_xlabel("c, features or columns", fontsize=8)
        one.set_ylabel("relative error of G", fontsize=8)
    legend(figure, axes)
    return figure


def near_best(found: Found) -> Claim:
    """In the lecture, k is fixed and c grows."""

    def ratios(columns: int) -> list[float]:
        pairs = [(named(name, "Nystrom", columns * k), named(name, BEST, k)) for name in SETS for k in WIDTHS]
        return [median(found, one, "training") / median(found, best, "training") for one, best in pairs]

    text = "if c is large enough, Nystrom is nearly as good as the best rank k"
    claim = met(f"{text} (at most 1.1 times its error at c = {ENOUGH} k, training rows)", ratios(ENOUGH), most=1.1)
    return replace(claim, figure=f"{claim.figure} times at c = {ENOUGH} k, {span(ratios(1))} times at c = k")


def claims(found: Found) -> list[Claim]:
    powers = {one: {TITLES[name]: power(found, name, one) for name in SETS} for one in ("RandomFourier", "Nystrom")}
    gaps = {
        f"{TITLES[name]}: {BEST} {power(found, name, BEST, 'training'):.2f}, Nystrom": power(found, name, "Nystrom")
        for name in SETS
    }
    gap = f"Nystrom can achieve O(1 / c) when the eigengap of G is large (a power below -0.9; compare {BEST})"
    root = "the error falls as O(1 / sqrt(c))"
    better = "Nystrom tends to be better than RKF at equal c: a smaller error on unseen rows"
    uniform = "uniform sampling tends to work best: a smaller error than RPCholesky on unseen rows"
    chosen = "Mercer's choice has a smaller error than"
    return [
        met(f"RKF: {root} (a power from -0.65 to -0.35)", powers["RandomFourier"], -0.65, -0.35),
        met(f"Nystrom: {root} or faster (a power below -0.35)", powers["Nystrom"], most=-0.35),
        met(gap, gaps, most=-0.9),
        near_best(found),
        counted(better, against(found, "RandomFourier", "Nystrom", "unseen")),
        counted(uniform, against(found, "Mercer, RPCholesky", "Nystrom", "unseen")),
        counted(f"{chosen} RKF", against(found, "RandomFourier", "Mercer", "unseen"), ours=True),
        counted(f"{chosen} Nystrom", against(found, "Nystrom", "Mercer", "unseen"), ours=True),
    ]


EXPERIMENT = Experiment(
    name="bellet_error",
    title="Bellet 2020: error of Nystrom and of random features at equal c",
    about=__doc__ or "",
    cells=cells,
    table=table,
    picture=picture,
    claims=claims,
)

if __name__ == "__main__":
    main(EXPERIMENT)
