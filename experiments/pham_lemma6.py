"""Lemma 6 bounds the variance of TensorSketch by (t^2p + N^p) / D; for p >= 2 it does not hold.

t is the inner product of two rows, and N is the product of their squared lengths. The paper applies its Lemma 3 to a
single Count Sketch, which requires 4-wise independent signs, but products of p signs are not 4-wise independent. With c
= sum x_i^2 y_i^2, A = N + t^2 - c, B = 2 t^2 - c, R = N + 2 t^2 - 2 c and e = 2 for even D, 1 for odd D, the variance
is exactly ((D - e)(A^p + B^p) + e R^p - (2 D - e) t^2p) / D^2, which `TensorSketch.variance` computes. Here, both
formulas are compared with a simulation of 4,000 sketches with 256 features (1,000 in the quick run), for a row of 64
equal entries with itself, for two orthogonal rows, for which the bound holds, and for two rows of Adult.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
from cells import Cell, Found, Numbers, markdown, median
from claims import Claim, met
from datasets import real_set
from experiment import Experiment, main
from pictures import STYLES, legend, logarithmic, panels

import mercer
from mercer.kernels import Polynomial

WIDTH, DEGREES = 256, (1, 2, 3, 4)
LABEL = "simulated, within 4 standard errors"
PAIRS = ("equal entries", "orthogonal", "adult")


def rows_of(pair: str) -> np.ndarray:
    """Return two rows of length 1."""
    ones = np.ones(64)
    if pair == "adult":
        X = real_set("adult", 2, 2).X.astype(np.float64)
    else:
        X = np.array([ones, ones if pair == "equal entries" else np.resize([1.0, -1.0], 64)])
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def simulated(pair: str, degree: int, count: int, seed: int, _: Found) -> Numbers:
    X, kernel = rows_of(pair), Polynomial(degree)
    estimates = np.empty(count)
    for draw in range(count):
        sketch = mercer.TensorSketch(kernel, n_components=WIDTH, random_state=draw + count * seed, n_jobs=1).fit(X)
        estimates[draw] = np.prod(sketch.transform(X), axis=0).sum()
    t, squares = float(X[0] @ X[1]), (estimates - float(kernel(X)[0, 1])) ** 2
    return {
        "measured": float(squares.mean()),
        "uncertainty": float(squares.std() / math.sqrt(count)),
        "exact": float(sketch.variance(X)[0, 1]),
        "lemma": (t ** (2 * degree) + 1.0) / WIDTH,
    }


def named(pair: str, degree: int) -> str:
    return f"{pair}, p = {degree}"


def cells(full: bool) -> Iterator[Cell]:
    for pair in PAIRS:
        for degree in DEGREES:
            yield Cell(named(pair, degree), partial(simulated, pair, degree, 4000 if full else 1000))


def values(found: Found, pair: str, degree: int) -> list[float]:
    return [WIDTH * median(found, named(pair, degree), key) for key in ("measured", "uncertainty", "exact", "lemma")]


def table(found: Found) -> str:
    lines = []
    for pair in PAIRS:
        for degree in DEGREES:
            measured, spread, exact, lemma = values(found, pair, degree)
            if not math.isnan(measured):
                line = (f"{measured:.3f} ± {spread:.3f}", f"{exact:.3f}", f"{lemma:.3f}")
                lines.append((pair, degree, *line))
            else:
                lines.append((pair, degree, *["missing"] * 3))
    return markdown(("two rows", "p", "D times the variance, simulated", "exact formula", "bound of Lemma 6"), lines)


def picture(found: Found) -> object:
    figure, axes = panels(1, 3, height=2.8, sharey="row")
    for one, pair in zip(axes[0], PAIRS, strict=True):
        points = np.array([values(found, pair, degree) for degree in DEGREES])
        one.plot(DEGREES, points[:, 3], "--", color=STYLES["bound"][0], label="bound of Lemma 6")
        one.plot(DEGREES, points[:, 2], color="#000000", linewidth=1.0, label="exact formula")
        given = {"color": STYLES["TensorSketch"][0], "linestyle": "", "capsize": 5, "label": LABEL}
        one.errorbar(DEGREES, points[:, 0], 4.0 * points[:, 1], **given)
        logarithmic(one)
        one.set_xticks(DEGREES)
        one.set_xlim(0.7, 4.3)
        one.set_title("two rows of Adult" if pair == "adult" else pair, fontsize=9)
        one.set_xlabel("degree p", fontsize=8)
    axes[0, 0].set_ylabel("D times the variance", fontsize=8)
    legend(figure, axes)
    return figure


def claims(found: Found) -> list[Claim]:
    every = [values(found, pair, degree) for pair in PAIRS for degree in DEGREES]
    there = [one for one in every if not math.isnan(one[0])]
    above = sum((measured - lemma) / spread > 4.0 for measured, spread, _, lemma in there)
    worst = max((measured / lemma for measured, _, _, lemma in there), default=math.nan)
    apart = [abs(measured - exact) / spread for measured, spread, exact, _ in there]
    figure = f"exceeded by over 4 standard errors in {above} of {len(there)}, up to {worst:.1f} times"
    return [
        # A lemma that fails once does not hold.
        Claim("Lemma 6 bounds the variance", above == 0 if there else None, figure),
        met("the exact formula gives the variance (within 4 standard errors)", apart, most=4.0, ours=True),
    ]


EXPERIMENT = Experiment(
    name="pham_lemma6",
    title="Pham & Pagh 2013, Lemma 6: the variance",
    about=__doc__ or "",
    cells=cells,
    table=table,
    picture=picture,
    claims=claims,
)

if __name__ == "__main__":
    main(EXPERIMENT)
