"""Where Mercer's defaults stand on all ten sets, beside the exact machine with the same kernel.

`KernelClassifier()` and `KernelRegressor()` as they come (Gaussian kernel with gamma = "scale", 1,024 features), and
scikit-learn's `SVC()` and `SVR()` with their defaults (the same kernel, C = 1). Columns are standardised, but for Adult
(zeros and ones), MNIST and UJIIndoorLoc (from 0 to 1); targets of regressions have mean 0 and variance 1. Covertype is
class 2 against the rest on 100,000 rows, the target of UJIIndoorLoc the longitude, that of BlogFeedback log(1 + y). The
score is accuracy or R2 in %, on the published test part (at most 10,000 rows of it) or on a fifth of the rows. On small
sets the exact machine is the quicker one, and where 1,024 features are few for the kernel it is the better one; the
regressions have other losses too, squared and epsilon-insensitive. Gisette and SliceLocalization are missing;
BlogFeedback and UJIIndoorLoc stand in for the latter as wide regressions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np
from cells import Cell, Found, Numbers, column, markdown, median
from claims import Claim
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


def exact_score(found: Found, name: str) -> str:
    cell = f"{name}, exact"
    if not column(found, cell, "predicted"):
        return of_runs(found, cell, "score")
    few = (median(found, cell, "score of part"), median(found, cell, "rows"))
    return "{:.2f} with {:,.0f} rows".format(*few)


def table(found: Found) -> str:
    lines = []
    for name, title in SETS.items():
        ours, share = f"{name}, Mercer", ratio(found, name)
        kind = "R2" if name in REGRESSIONS else "accuracy"
        scores = (of_runs(found, ours, "score"), exact_score(found, name))
        times = (in_seconds(found, ours), in_seconds(found, f"{name}, exact"))
        lines.append((f"{title}, {kind}", *scores, *times, "missing" if math.isnan(share) else f"{share:.2g}"))
    lines += [(f"{name}", *["missing"] * 5) for name in ("Gisette", "SliceLocalization")]
    return markdown(("set", "Mercer, %", "exact, %", "Mercer's time", "exact's time", "ratio of times"), lines)


def claims(found: Found) -> list[Claim]:
    shares = {title: ratio(found, name) for name, title in SETS.items() if not math.isnan(ratio(found, name))}
    slower = [f"{share:.2g} times on {title}" for title, share in shares.items() if share >= 1.0]
    text, figure = "Mercer trains sooner than the exact machine", f"longer: {', '.join(slower) or 'nowhere'}"
    listed = [Claim(text, (len(shares) - len(slower), len(shares)), figure, ours=True)]
    gains = {}
    for name, title in SETS.items():
        ours, theirs = column(found, f"{name}, Mercer", "score"), column(found, f"{name}, exact", "score")
        if ours and theirs:
            gains[title] = float(np.mean(ours)) - theirs[0]
    below = [f"{gain:+.1f} on {title}" for title, gain in gains.items() if gain < -1.0]
    text, figure = "Mercer is at most a point below the exact machine", f"further: {', '.join(below) or 'nowhere'}"
    return [*listed, Claim(text, (len(gains) - len(below), len(gains)), figure, ours=True)]


def picture(found: Found) -> object:
    figure, axes = panels(1, 2, height=3.6)
    colour, marker = STYLES["Mercer"]
    for place, name in enumerate(SETS):
        ours, theirs = column(found, f"{name}, Mercer", "score"), column(found, f"{name}, exact", "score")
        if ours and theirs:
            middle = float(np.mean(ours)) - theirs[0]
            axes[0, 0].errorbar(middle, place, xerr=deviation(ours), color=colour, marker=marker, capsize=2)
        times = (seconds(found, f"{name}, Mercer"), seconds(found, f"{name}, exact"))
        axes[0, 1].plot(times[0], place, color=colour, marker=marker, linestyle="", label="Mercer")
        style = {"label": "exact, forecast", "marker": "s"}
        if column(found, f"{name}, exact", "predicted"):
            hollow(axes[0, 1], [times[1]], [place], "exact", **style)
        else:
            axes[0, 1].plot(times[1], place, color=STYLES["exact"][0], **style | {"linestyle": "", "label": "exact"})
    axes[0, 0].axvline(0.0, color=STYLES["exact"][0], linewidth=1.0)
    axes[0, 0].set_yticks(range(len(SETS)), [f"{title}{' (R2)' * (one in REGRESSIONS)}" for one, title in SETS.items()])
    axes[0, 1].set_yticks(range(len(SETS)), [])
    axes[0, 0].set_xlabel("Mercer's accuracy or R2 less the exact one's, points", fontsize=8)
    axes[0, 1].set_xlabel("training, s of the processor", fontsize=8)
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
    claims=claims,
)

if __name__ == "__main__":
    main(EXPERIMENT)
