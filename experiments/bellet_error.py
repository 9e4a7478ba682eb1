"""Error of the Gram matrix against c, the number of random features or of sampled columns, and its slope.

The lecture states bounds: O(1 / sqrt(c)) for both maps, O(1 / c) for Nystrom where the eigenvalues of the matrix fall
off, and that Nystrom tends to be better at equal c. Here G is that of 2,000 training rows, which both maps are fitted
on, and the error is ||G - G^|| / ||G|| in the Frobenius norm; "unseen" is the same on 1,000 test rows. "Best rank" is
the c-th truncation of G, which no map of c features can beat on these rows. Slopes are lines through the logarithms
from c = 64 to 1,024. Mercer's choice by default is `QuasiFourier` or `OrthogonalFourier` (data-independent, for rows
that come later); its `Nystrom` can draw landmarks by what earlier ones leave ("Mercer, Nystrom").
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np
from bellet import MAPS, SETS, TITLES, kernel_of, named, rows
from cells import Cell, Found, Numbers, markdown, median, slope
from experiment import SEEDS, Claim, Experiment, main
from pictures import curve, legend, logarithmic, panels

WIDTHS = (32, 64, 128, 256, 512, 1024)
QUICK = (64, 256, 1024)
FITTED, TESTED = 2000, 1000
BEST = "best rank"


@cache
def sample(name: str) -> tuple[Any, Any]:
    split = rows(name)
    return split.X[:FITTED].astype(np.float64), split.X_test[:TESTED].astype(np.float64)


@cache
def gram(name: str, is_unseen: bool) -> Any:
    return kernel_of(name)(sample(name)[is_unseen])


@cache
def eigenvalues(name: str) -> Any:
    """Of G, the largest first."""
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


def power(found: Found, name: str, method: str) -> float:
    return slope((c, median(found, named(name, method, c), "training")) for c in WIDTHS if c >= QUICK[0])


def table(found: Found) -> str:
    head = ("error at c = 64, 256 and 1024; slope", *MAPS, BEST)
    lines = []
    for name in SETS:
        for quantity in ("training", "unseen"):
            entries = []
            for method in (*MAPS, BEST):
                values = [median(found, named(name, method, c), quantity) for c in QUICK]
                text = " ".join("missing" if math.isnan(value) else f"{value:.2g}" for value in values)
                if quantity == "training" and not any(map(math.isnan, values)):
                    text += f"; {power(found, name, method):.2f}"
                entries.append("" if method == BEST and quantity == "unseen" else text)
            lines.append((f"{TITLES[name]}, {quantity} rows", *entries))
    return markdown(head, lines)


def picture(found: Found) -> object:
    figure, axes = panels(2, 2, height=2.7)
    for one, name in zip(axes.ravel(), SETS, strict=True):
        logarithmic(one, marks=(1.0,))
        logarithmic(one, "x")
        for method in MAPS:
            curve(one, found, [(c, named(name, method, c)) for c in WIDTHS], "training", method)
        points = [(c, named(name, BEST, c)) for c in WIDTHS]
        curve(one, found, points, "training", "exact", label=BEST, linestyle="--")
        one.set_xticks(WIDTHS, [str(c) for c in WIDTHS])
        one.set_title(TITLES[name], fontsize=9)
        one.set_xlabel("c, features or columns", fontsize=8)
        one.set_ylabel("relative error of G", fontsize=8)
    legend(figure, axes)
    return figure


def claims(found: Found) -> list[Claim]:
    listed = []
    for name in SETS:
        random, nystrom = (power(found, name, method) for method in ("RandomFourier", "Nystrom"))
        errors = [median(found, named(name, method, 256), "unseen") for method in ("RandomFourier", "Nystrom")]
        title, is_missing = TITLES[name], math.isnan(random) or math.isnan(nystrom)
        near = None if is_missing else abs(random + 0.5) < 0.1
        listed += [
            Claim(f"random features: the error falls as c^-1/2 on {title}", near, f"c^{random:.2f}"),
            Claim(
                f"Nystrom: the error falls as c^-1/2 or faster on {title}",
                None if is_missing else nystrom < -0.4,
                f"c^{nystrom:.2f}",
            ),
            Claim(
                f"Nystrom is better than random features at equal c, unseen rows of {title}",
                None if any(map(math.isnan, errors)) else errors[1] < errors[0],
                f"{errors[1]:.2g} and {errors[0]:.2g} at c = 256",
            ),
        ]
    return listed


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
