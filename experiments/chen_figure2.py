"""Relative RMSE of kernel ridge regression, ||y - predicted|| / ||y|| on test rows, against the number of features l.

The paper shows SliceLocalization, which is missing; BlogFeedback (16,000 rows to learn from and 4,000 to test on, drawn
from all), UJIIndoorLoc (16,838 and 4,210, the longitude) and Cpu (6,554 and 1,638) stand in for it. Targets have mean
0, so that 1 is the error of a constant; that of BlogFeedback is log(1 + y). Bandwidth and regularisation come from
cross-validation of the exact machine on 1,500 training rows and are the same for all maps, each followed by ridge
regression in closed form, in float64. RKS is taken up to l = 4,096. The paper prints curves without figures.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from cells import Found, markdown, median
from chen import (
    ENDS,
    MAPS,
    OTHERS,
    RECORD,
    ROWS,
    TITLES,
    WIDER,
    WIDTHS,
    judged,
    mean_error,
    named,
    reached,
    regressions,
)
from experiment import Claim, Experiment, main
from pham import of_runs
from pictures import curve, legend, level, logarithmic, panels


def table(found: Found) -> str:
    lines: list[tuple[str, ...]] = [("SliceLocalization", "", "missing", *["missing"] * len(MAPS))]
    for name in ROWS:
        chosen = [median(found, f"{name}, cross-validation", what) for what in ("gamma", "alpha")]
        said = "" if any(map(math.isnan, chosen)) else f", gamma {chosen[0]:.2g}, alpha {chosen[1]:g}"
        best = of_runs(found, f"{name}, exact", "relative", 3)
        for width in ENDS:
            entries = (of_runs(found, named(name, method, width), "relative", 3) for method in MAPS)
            lines.append((f"{TITLES[name]}{said}", str(width), best, *entries))
    return markdown(("relative RMSE", "l", "exact", *MAPS), lines)


def picture(found: Found) -> object:
    figure, axes = panels(1, 3, height=3.2)
    for one, name in zip(axes[0], ROWS, strict=True):
        logarithmic(one, marks=(1.0, 2.0, 3.0, 5.0, 7.0))
        logarithmic(one, "x")
        for method in MAPS:
            names = [(width, named(name, method, width)) for width in (*WIDTHS, *WIDER)]
            curve(one, found, names, "relative", method)
        level(one, found, f"{name}, exact", "relative")
        one.set_xticks((*ENDS, WIDER[-1]), [str(width) for width in (*ENDS, WIDER[-1])])
        one.set_title(f"{TITLES[name]}, stand-in", fontsize=9)
        one.set_xlabel("l, features", fontsize=8)
    axes[0, 0].set_ylabel("relative RMSE", fontsize=8)
    legend(figure, axes)
    return figure


def fewer(found: Found, method: str, others: tuple[str, ...], name: str) -> float:
    """The features that a method needs for the error of the best of others at the largest l, as a share of it."""
    error = float(np.min([mean_error(found, name, other, WIDTHS[-1]) for other in others]))
    return reached(((width, mean_error(found, name, method, width)) for width in WIDTHS), error) / WIDTHS[-1]


def claims(found: Found) -> list[Claim]:
    listed = []
    whom = {"RKS": OTHERS[:1], "the best of RKS, Quasi, Comp and Fastfood": OTHERS}
    for method in ("TEFM-G", "TEFM-S"):
        for other, others in whom.items():
            text = f"{method} comes to the error of {other} at l = {WIDTHS[-1]} with at most half the features"
            listed.append(judged(text, ROWS, partial(fewer, found, method, others), 0.0, 0.5))
    return listed


EXPERIMENT = Experiment(
    name="chen_figure2",
    title="Chen et al. 2016, Figure 2: error of regression against l",
    about=__doc__ or "",
    cells=regressions,
    table=table,
    picture=picture,
    claims=claims,
    record=RECORD,
)

if __name__ == "__main__":
    main(EXPERIMENT)
