"""Where Mercer's defaults stand on all ten sets, beside the exact machine with the same kernel.

`KernelClassifier()` and `KernelRegressor()` as they come (Gaussian kernel with gamma = "scale", 1,024 features), and
scikit-learn's `SVC()` and `SVR()` with their defaults (the same kernel, C = 1). Columns are standardised, but for Adult
(zeros and ones), MNIST and UJIIndoorLoc (from 0 to 1); targets of regressions have mean 0 and variance 1. Covertype is
class 2 against the rest on 100,000 rows, the target of UJIIndoorLoc the longitude, that of BlogFeedback log(1 + y). The
score is accuracy or R2 in %, on the published test part (at most 10,000 rows of it) or on a fifth of the rows. Gisette
and SliceLocalization are missing; BlogFeedback and UJIIndoorLoc stand in for the latter as wide regressions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np
from cells import Cell, Found, Numbers, column, markdown, median
from datasets import Split, digits, real_set, standardised
from experiment import SEEDS, Experiment, main
from machines import exact, fitted
from pham import LIMITS, in_seconds, of_runs, seconds
from pictures import STYLES, legend, logarithmic, panels
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
    """Signals of -104 to 0 dBm, and 100 for none, as numbers from 0 for none to 1."""
    return np.where(X == 100, 0.0, (X + 105.0) / 105.0).astype(np.float32)


def machine(name: str, seed: int) -> Any:
    return KernelRegressor(random_state=seed) if name in REGRESSIONS else KernelClassifier(random_state=seed)


def mercer(name: str, seed: int, _: Found) -> Numbers:
    return fitted(machine(name, seed), rows(name))


def libsvm(name: str, limit: float, seed: int, _: Found) -> Numbers:
    return exact(partial(SVR if name in REGRESSIONS else SVC, cache_size=1000), rows(name), limit)


def cells(full: bool) -> Iterator[Cell]:
    for name in SETS if full else QUICK:
        yield Cell(f"{name}, Mercer", partial(mercer, name), SEEDS if full else 2)
        yield Cell(f"{name}, exact", partial(libsvm, name, LIMITS[full]))


def ratio(found: Found, name: str) -> float:
    return seconds(found, f"{name}, Mercer") / seconds(found, f"{name}, exact")


def table(found: Found) -> str:
    lines = []
    for name, title in SETS.items():
        ours, theirs = f"{name}, Mercer", f"{name}, exact"
        score = "not run" if column(found, theirs, "predicted") else of_runs(found, theirs, "score")
        share = ratio(found, name)
        kind = "R2" if name in REGRESSIONS else "accuracy"
        scores, times = (of_runs(found, ours, "score"), score), (in_seconds(found, ours), in_seconds(found, theirs))
        lines.append((f"{title}, {kind}", *scores, *times, "missing" if math.isnan(share) else f"{share:.2g}"))
    lines += [(f"{name}", *["missing"] * 5) for name in ("Gisette", "SliceLocalization")]
    return markdown(("set", "Mercer, %", "exact, %", "Mercer's time", "exact's time", "ratio of times"), lines)


def picture(found: Found) -> object:
    figure, axes = panels(1, 2, height=3.6)
    places = range(len(SETS))
    for method in ("exact", "Mercer"):
        colour, marker = STYLES[method]
        style = {"color": colour, "marker": marker, "linestyle": "", "label": method, "markersize": 5}
        axes[0, 0].plot([median(found, f"{name}, {method}", "score") for name in SETS], places, **style)
        axes[0, 1].plot([seconds(found, f"{name}, {method}") for name in SETS], places, **style)
    axes[0, 0].set_yticks(places, list(SETS.values()))
    axes[0, 1].set_yticks(places, [])
    axes[0, 0].set_xlabel("accuracy or R2, %", fontsize=8)
    axes[0, 1].set_xlabel("training, s of the processor (a forecast where not run)", fontsize=8)
    for one in axes[0]:
        one.set_ylim(-0.6, len(SETS) - 0.4)
    logarithmic(axes[0, 1], "x", marks=(1.0,))
    legend(figure, axes)
    return figure


EXPERIMENT = Experiment(
    name="beyond_sets",
    title="Beyond: Mercer's defaults on ten sets",
    about=__doc__ or "",
    cells=cells,
    table=table,
    picture=picture,
)

if __name__ == "__main__":
    main(EXPERIMENT)
