"""Test error against the total training time, on MNIST and Covertype.

For a map, each point is a number of features; for the exact machine, it is a number of rows, up to all rows or to a
forecast of 10 minutes. The exact machine is `SVC` of scikit-learn-intelex, the fastest one for CPUs, if it is
installed, and otherwise that of scikit-learn. The kernel is Gaussian. MNIST has values from 0 to 1 (60,000 rows, gamma
= 0.02). Covertype is standardised, class 2 against the rest (100,000 rows, gamma = 0.1). C = 10 for the exact machine
and for Mercer with landmarks; C = 1 for random features, which do not benefit from 10.

scikit-learn's maps are followed by LIBLINEAR. So are those of the papers (dotted lines), which have a different kernel,
(1 + <x, y>)^2, on rows of length 1, and 80,000 rows of Covertype. Mercer is `KernelClassifier` with the map that it
chooses, and with `map="nystrom"`, which works on kernel values from 512 landmarks on. One run each, on one thread.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from cells import Cell, Found, Numbers, column, markdown, median
from claims import Claim, short
from datasets import Split, digits, real_set, standardised
from experiment import Experiment, main
from machines import fitted, liblinear, mapped
from pham import KERNELS, LIMITS, MAPS
from pham import rows as unit_rows_of
from pictures import STYLES, deviation, legend, logarithmic, panels
from sklearn.kernel_approximation import Nystroem, RBFSampler

import mercer
from mercer.kernels import Gaussian

try:
    from sklearnex.svm import SVC
except ImportError:
    from sklearn.svm import SVC

GAMMAS = {"mnist": 0.02, "covertype": 0.1}
TITLES = {"mnist": "MNIST, 60,000 rows", "covertype": "Covertype, 100,000 rows"}
PAPERS = ("TensorSketch", "RandomMaclaurin")
PEERS = {"RBFSampler": (RBFSampler, "RandomFourier"), "Nystroem": (Nystroem, "Nystrom")}
WIDTHS = {
    "Mercer": (256, 1024, 4096),
    "Mercer, Nystrom": (256, 512, 1024, 2048, 4096, 6144, 8192),
} | {name: (256, 1024) for name in (*PEERS, *PAPERS)}
SHARES = (32, 16, 8, 4, 2, 1)
"""The exact machine is trained on one of so many rows."""


class Point(NamedTuple):
    size: int
    error: float
    spread: float
    training: float
    testing: float
    runs: int


@cache
def rows(name: str) -> Split:
    return digits() if name == "mnist" else standardised(real_set(name))


def trained(name: str, method: str, D: int, seed: int, _: Found) -> Numbers:
    if method in PAPERS:
        return mapped(MAPS[method](KERNELS["(1 + <x, y>)^2"], D, seed), liblinear(seed=seed), unit_rows_of(name))
    if method in PEERS:
        kind = PEERS[method][0]
        return mapped(kind(gamma=GAMMAS[name], n_components=D, random_state=seed), liblinear(seed=seed), rows(name))
    chosen, C = ("nystrom", 10.0) if method == "Mercer, Nystrom" else ("auto", 1.0)
    machine = mercer.KernelClassifier(
        Gaussian(GAMMAS[name]),
        n_components=D,
        map=chosen,
        C=C,
        tol=1e-3,
        memory="4GB",
        random_state=seed,
        n_jobs=1,
        preparation=None,
    )
    return fitted(machine, rows(name))


def solved(name: str, share: int, limit: float, seed: int, found: Found) -> Numbers:
    """Train the exact machine on some rows, unless it would take too long, judging by how its time has grown so far."""
    times = [median(found, named(name, "exact", one), "processor") for one in (4 * share, 2 * share)]
    growth = max(2.0, times[1] / times[0]) if not any(map(math.isnan, times)) else 4.0
    forecast = median(found, named(name, "exact", 2 * share), "predicted")
    predicted = growth * (times[1] if math.isnan(forecast) else forecast)
    if predicted > limit:
        return {"predicted": predicted}
    split = rows(name)
    count = len(split.X) // share
    few = split._replace(X=split.X[:count], y=split.y[:count])
    return fitted(SVC(C=10.0, gamma=GAMMAS[name], cache_size=1000), few)


def named(name: str, method: str, size: int) -> str:
    return f"{name}, {method}, " + (f"1 row in {size}" if method == "exact" else f"D = {size}")


def cells(full: bool) -> Iterator[Cell]:
    for name in GAMMAS:
        for method, widths in WIDTHS.items():
            for D in widths if full else widths[:2]:
                yield Cell(named(name, method, D), partial(trained, name, method, D))
        for share in SHARES if full else SHARES[:3]:
            yield Cell(named(name, "exact", share), partial(solved, name, share, LIMITS[full]))


def points(found: Found, name: str, method: str) -> list[Point]:
    """Return the measurements, ordered by size."""
    listed = []
    for size in SHARES if method == "exact" else WIDTHS[method]:
        cell = named(name, method, size)
        errors = [100.0 - score for score in column(found, cell, "score")]
        if errors:
            times = (median(found, cell, "processor"), median(found, cell, "testing"))
            listed.append(Point(size, float(np.mean(errors)), deviation(errors), *times, len(errors)))
    return listed


def label(name: str, method: str, size: int) -> str:
    if method != "exact":
        rows_of_papers = ", 80,000 rows" if method in PAPERS and name == "covertype" else ""
        return f"{method}, D = {size}{rows_of_papers}"
    return f"exact, 1 row in {size}" if size > 1 else "exact, all rows"


def table(found: Found) -> str:
    lines = []
    for name, title in TITLES.items():
        for method in ("exact", *WIDTHS):
            for one in points(found, name, method):
                spread = f" ± {one.spread:.2f}" if one.runs > 1 else ""
                times = (f"{one.training:.3g}", "-" if math.isnan(one.testing) else short(one.testing))
                lines.append((title, label(name, method, one.size), f"{one.error:.2f}{spread}", *times, one.runs))
            for size in SHARES if method == "exact" else ():
                forecast = median(found, named(name, method, size), "predicted")
                if not math.isnan(forecast):
                    lines.append((title, label(name, method, size), "not run", f"about {forecast:.3g}", "", 0))
    return markdown(("set", "machine", "test error %", "training s", "prediction s", "runs"), lines)


def picture(found: Found) -> Any:
    figure, axes = panels(1, 2, height=3.8)
    for one, (name, title) in zip(axes[0], TITLES.items(), strict=True):
        for method in ("exact", *WIDTHS):
            listed = points(found, name, method)
            if listed:
                colour, marker = STYLES[PEERS[method][1] if method in PEERS else method]
                style = {"color": colour, "marker": marker, "markersize": 5, "linewidth": 1.4, "capsize": 2}
                if method in PAPERS:
                    style["linestyle"] = ":"
                bars = [point.spread for point in listed]
                xs, ys = [point.training for point in listed], [point.error for point in listed]
                one.errorbar(xs, ys, bars, label=method, **style)
        logarithmic(one, "x")
        logarithmic(one)
        one.set_title(title, fontsize=9)
        one.set_xlabel("training, s of the processor", fontsize=8)
    axes[0, 0].set_ylabel("test error, %", fontsize=8)
    legend(figure, axes)
    return figure


def sooner(found: Found, name: str, method: str) -> tuple[int, int]:
    """Count the widths, out of those with an error in the range of the exact machine, at which a method is faster."""
    line = sorted((one.error, one.training) for one in points(found, name, "exact"))
    if len(line) < 2:
        return 0, 0
    errors, times = zip(*line, strict=True)
    within = [one for one in points(found, name, method) if errors[0] <= one.error <= errors[-1]]
    needed = [math.exp(np.interp(one.error, errors, np.log(times))) for one in within]
    return sum(one.training < time for one, time in zip(within, needed, strict=True)), len(within)


def claims(found: Found) -> list[Claim]:
    listed = []
    for name, title in TITLES.items():
        for method in ("Mercer", "Mercer, Nystrom"):
            cases = sooner(found, name, method)
            text = f"{method} trains faster than an exact machine with the same error, on fewer rows: {title}"
            listed.append(Claim(text, cases, f"at {cases[0]} of the {cases[1]} widths in its range", ours=True))
        own, peer = ({one.size: one for one in points(found, name, method)} for method in ("Mercer", "RBFSampler"))
        both = [(own[size], peer[size]) for size in sorted(own.keys() & peer.keys())]
        faster = [short(theirs.training / ours.training) for ours, theirs in both]
        gains = [f"{ours.error - theirs.error:+.2f}" for ours, theirs in both]
        text = f"Mercer trains faster than RBFSampler with LIBLINEAR on as many features: {title}"
        figure = f"{' and '.join(faster)} times, with {' and '.join(gains)} points of error"
        listed.append(Claim(text, (sum(a.training < b.training for a, b in both), len(both)), figure, ours=True))
        exact, widest = points(found, name, "exact"), points(found, name, "Mercer")[-1:]
        times = exact[-1].testing / widest[0].testing if exact and widest else math.nan
        text = f"Mercer with the most features predicts faster than the exact machine with the most rows: {title}"
        listed.append(Claim(text, None if math.isnan(times) else times > 1.0, f"{short(times)} times", ours=True))
    return listed


EXPERIMENT = Experiment(
    name="beyond_time",
    title="Beyond: test error against training time",
    about=__doc__ or "",
    cells=cells,
    table=table,
    picture=picture,
    claims=claims,
)

if __name__ == "__main__":
    main(EXPERIMENT)
