"""Mercer's defaults on all ten data sets, compared with the exact machine with the same kernel.

The table compares `KernelClassifier()` and `KernelRegressor()` with what were their defaults when it was made (Gaussian
kernel with gamma = "scale", 1,024 features of `OrthogonalFourier`), the same with `map="nystrom"`, which learns from
the rows, and scikit-learn's `SVC()` and `SVR()` with default settings (the same kernel, C = 1). Today's defaults choose
kernel, bandwidth and penalty from the rows; `benchmarks/README.md` shows their scores. Columns are standardised, except
for Adult (zeros and ones), MNIST and UJIIndoorLoc (from 0 to 1); regression targets have mean 0 and variance 1.
Covertype is class 2 against the rest on 100,000 rows; the target of UJIIndoorLoc is the longitude, that of BlogFeedback
log(1 + y). The score is accuracy or R2 in %, on the published test part (at most 10,000 rows) or on a fifth of the
rows.

On Nursery, the exact machine is faster (on Spambase, it is faster than `Nystrom`), and where 1,024 features are too few
for the kernel, it is better. In regression, the losses also differ: squared and epsilon-insensitive. Gisette and
SliceLocalization are missing; BlogFeedback and UJIIndoorLoc replace the latter as regressions with many columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np
from cells import Cell, Found, Numbers, column, markdown, median
from claims import Claim, beside, counted
from datasets import Split, digits, real_set, standardised
from experiment import SEEDS, Experiment, main
from machines import exact, fitted
from pham import LIMITS, in_seconds, of_runs, seconds
from pictures import STYLES, deviation, hollow, legend, logarithmic, panels
from sklearn.svm import SVC, SVR

from mercer.learn import KernelClassifier, KernelRegressor

SETS = {
    "spambase": "Spambase",
    "nursery": "Nursery",
    "adult": "Adult",
    "cod_rna": "Cod-RNA",
    "ijcnn1": "IJCNN1",
    "covertype": "Covertype",
    "mnist": "MNIST",
    "cpu": "Cpu",
    "uji_indoor_loc": "UJIIndoorLoc",
    "blog_feedback": "BlogFeedback",
}
METHODS = {"Mercer": "auto", "Mercer, Nystrom": "nystrom"}
REGRESSIONS = ("cpu", "uji_indoor_loc", "blog_feedback")
QUICK = ("spambase", "nursery", "cpu")


@cache
def rows(name: str) -> Split:
    if name == "mnist":
        return digits()
    split = real_set(name)
    if name in REGRESSIONS:
        mean, deviation = split.y.mean(dtype=np.float64), split.y.std(dtype=np.float64)
        split = split._replace(y=(split.y - mean) / deviation, y_test=(split.y_test - mean) / deviation)
    if name == "uji_indoor_loc":
        return split._replace(X=strength(split.X), X_test=strength(split.X_test))
    return split if name == "adult" else standardised(split)


def strength(X: Any) -> Any:
    """Convert signals (-104 to 0 dBm, or 100 for none) to numbers from 0, which means none, to 1."""
    return np.where(X == 100, 0.0, (X + 105.0) / 105.0).astype(np.float32)


def mercer(name: str, chosen: str, seed: int, _: Found) -> Numbers:
    kind = KernelRegressor if name in REGRESSIONS else KernelClassifier
    return fitted(kind(map=chosen, random_state=seed), rows(name))


def libsvm(name: str, limit: float, seed: int, _: Found) -> Numbers:
    return exact(partial(SVR if name in REGRESSIONS else SVC, cache_size=1000), rows(name), limit)


def cells(full: bool) -> Iterator[Cell]:
    for name in SETS if full else QUICK:
        for method, chosen in METHODS.items():
            yield Cell(f"{name}, {method}", partial(mercer, name, chosen), SEEDS if full else 2)
        yield Cell(f"{name}, exact", partial(libsvm, name, LIMITS[full]))


def ratio(found: Found, name: str, method: str = "Mercer") -> float:
    return seconds(found, f"{name}, {method}") / seconds(found, f"{name}, exact")


def exact_score(found: Found, name: str) -> str:
    cell = f"{name}, exact"
    if not column(found, cell, "predicted"):
        return of_runs(found, cell, "score")
    few = (median(found, cell, "score of part"), median(found, cell, "rows"))
    return "{:.2f} with {:,.0f} rows".format(*few)


def table(found: Found) -> str:
    lines = []
    for name, title in SETS.items():
        kind = "R2" if name in REGRESSIONS else "accuracy"
        ours = [of_runs(found, f"{name}, {method}", "score") for method in METHODS]
        times = [in_seconds(found, f"{name}, {method}") for method in (*METHODS, "exact")]
        share = ratio(found, name)
        share_in_words = "missing" if math.isnan(share) else f"{share:.2g}"
        lines.append((f"{title}, {kind}", *ours, exact_score(found, name), *times, share_in_words))
    lines += [(name, *["missing"] * 7) for name in ("Gisette", "SliceLocalization")]
    machines = (*METHODS, "exact")
    head = ("set", *(f"{one}, %" for one in machines), *(f"{one}, time" for one in machines), "Mercer's time / exact's")
    return markdown(head, lines)


def gain(found: Found, name: str, method: str) -> list[float]:
    """Return by how many points a method is above the exact machine; empty if either is missing."""
    best = column(found, f"{name}, exact", "score")
    return [score - best[0] for score in column(found, f"{name}, {method}", "score")] if best else []


def picture(found: Found) -> object:
    figure, axes = panels(1, 2, height=3.6)
    for place, name in enumerate(SETS):
        for shift, method in zip((-0.12, 0.12), METHODS, strict=True):
            style = dict(zip(("color", "marker"), STYLES[method], strict=True)) | {"linestyle": "", "label": method}
            gains = gain(found, name, method) or [math.nan]
            axes[0, 0].errorbar(np.mean(gains), place + shift, xerr=deviation(gains), capsize=2, **style)
            axes[0, 1].plot(seconds(found, f"{name}, {method}"), place + shift, **style)
        time = seconds(found, f"{name}, exact")
        if column(found, f"{name}, exact", "predicted"):
            hollow(axes[0, 1], [time], [place], "exact", label="exact, forecast")
        else:
            axes[0, 1].plot(time, place, color=STYLES["exact"][0], marker="s", linestyle="", label="exact")
    axes[0, 0].axvline(0.0, color=STYLES["exact"][0], linewidth=1.0)
    axes[0, 0].set_yticks(range(len(SETS)), [f"{title}{' (R2)' * (one in REGRESSIONS)}" for one, title in SETS.items()])
    axes[0, 1].set_yticks(range(len(SETS)), [])
    axes[0, 0].set_xlabel("accuracy or R2 less that of the exact machine, points", fontsize=8)
    axes[0, 1].set_xlabel("training, s of the processor", fontsize=8)
    for one in axes[0]:
        one.set_ylim(-0.6, len(SETS) - 0.4)
    logarithmic(axes[0, 1], "x", marks=(1.0,))
    legend(figure, axes)
    return figure


def claims(found: Found) -> list[Claim]:
    listed = []
    for method in METHODS:
        shares = {title: ratio(found, name, method) for name, title in SETS.items()}
        shares = {title: share for title, share in shares.items() if not math.isnan(share)}
        slower = [f"{share:.2g} times on {title}" for title, share in shares.items() if share >= 1.0]
        text, figure = f"{method} trains faster than the exact machine", f"slower: {', '.join(slower) or 'nowhere'}"
        listed.append(Claim(text, (len(shares) - len(slower), len(shares)), figure, ours=True))
        gains = {title: gain(found, name, method) for name, title in SETS.items()}
        gains = {title: float(np.mean(points)) for title, points in gains.items() if points}
        below = [f"{points:+.1f} on {title}" for title, points in gains.items() if points < -1.0]
        text = f"{method} is at most a point below the exact machine"
        figure = f"below that: {', '.join(below) or 'nowhere'}"
        listed.append(Claim(text, (len(gains) - len(below), len(gains)), figure, ours=True))
    cases = {title: beside(found, f"{name}, Mercer, Nystrom", f"{name}, Mercer") for name, title in SETS.items()}
    return [*listed, counted("`Nystrom` is more accurate than the map that Mercer chooses", cases, ours=True)]


EXPERIMENT = Experiment(
    name="beyond_sets",
    title="Beyond: Mercer's defaults on ten sets",
    about=__doc__ or "",
    cells=cells,
    table=table,
    picture=picture,
    claims=claims,
)

if __name__ == "__main__":
    main(EXPERIMENT)
