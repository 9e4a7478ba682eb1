"""The figure of ``learners.py`` on seven sets: ours, scikit-learn's maps with linear models, and exact machines."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from cells import Cell, Figure, Found, Numbers, markdown
from datasets import CLASSES, NUMBERS, Split, made_up, real_set, standardised
from memory import watched
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR, LinearSVC

from mercer.kernels import Gaussian
from mercer.learn import KernelClassifier, KernelRegressor

WIDTH = 2048
RULES = ("scale", "median")
CS = (1.0, 10.0, 100.0)
TUNED_ROWS, TUNED_WIDTH = 8000, 512
PEER_SECONDS = 12.0
"""What a peer may take to be fitted: where all rows take longer, it is given fewer."""
EXACT_POWER, LINEAR_POWER = 2.2, 1.2
"""Of the rows, as which the time of an exact machine and of a linear one on features grows, or a little faster."""
BINARY = ("adult",)
"""Sets of zeros and ones, which are taken as they are."""


@cache
def split_of(name: str, tiny: bool) -> Split:
    if tiny:
        return made_up(2 if name in CLASSES else None)
    split = real_set(name)
    return split if name in BINARY else standardised(split)


def learner(name: str, tiny: bool, kernel: Gaussian, C: float, width: int) -> Any:
    """Ours; the rows are standardised already, as the peers need them."""
    arguments: dict[str, Any] = {"n_components": 32 if tiny else width, "random_state": 0}
    if name in CLASSES:
        return KernelClassifier(kernel, C=C, **({"preparation": None} | arguments))
    return KernelRegressor(kernel, alpha=0.5 / C, **({"preparation": None} | arguments))


def tuned(name: str, tiny: bool, seed: int, _: Found) -> Numbers:
    """The rule for gamma, and C, that do best on rows held out of the training part."""
    split = split_of(name, tiny)
    few = slice(min(TUNED_ROWS, 2 * len(split.X) // 3))
    rest = slice(few.stop, few.stop + TUNED_ROWS // 2)
    scores = {}
    for rule in RULES:
        kernel = Gaussian(rule).resolve(split.X[few], 0)
        for C in CS:
            model = learner(name, tiny, kernel, C, TUNED_WIDTH).fit(split.X[few], split.y[few])
            scores[float(kernel.gamma), C] = model.score(split.X[rest], split.y[rest])
    gamma, C = max(scores, key=lambda key: scores[key])
    return {"gamma": gamma, "C": C}


def contestants(name: str, gamma: float, C: float, tiny: bool) -> dict[str, Callable[[], Any]]:
    width, is_classes = 32 if tiny else WIDTH, name in CLASSES
    linear = partial(LinearSVC, C=C) if is_classes else partial(Ridge, alpha=0.5 / C)
    maps = {"RBFSampler": RBFSampler, "Nystroem": Nystroem}
    peers: dict[str, Callable[[], Any]] = {
        f"{label} + {'LinearSVC' if is_classes else 'Ridge'}": lambda kind=kind: make_pipeline(
            kind(gamma=gamma, n_components=width, random_state=0), linear()
        )
        for label, kind in maps.items()
    }
    machines: dict[str, Callable[[], Any]] = (
        {"exact SVC": partial(SVC, C=C, gamma=gamma)}
        if is_classes
        else {
            "exact SVR": partial(SVR, C=C, gamma=gamma),
            "exact KernelRidge": partial(KernelRidge, alpha=0.5 / C, kernel="rbf", gamma=gamma),
        }
    )
    return {"Mercer": partial(learner, name, tiny, Gaussian(gamma), C, width), **peers, **machines}


def affordable(make: Callable[[], Any], split: Split, power: float) -> int:
    """Return about the largest number of rows on which a peer can be fitted in time, in steps of a factor of three."""
    n = min(1000, len(split.X))
    while n < len(split.X):
        start = time.perf_counter()
        make().fit(split.X[:n], split.y[:n])
        seconds = time.perf_counter() - start
        if 3.0**power * seconds > PEER_SECONDS:
            n = int(n * min(3.0, max(1.0, (PEER_SECONDS / seconds) ** (1.0 / power))))
            break
        n *= 3
    return min(n, len(split.X))


def contest(name: str, who: str, tiny: bool, seed: int, found: Found) -> Numbers:
    split, chosen = split_of(name, tiny), found[f"{name}, tuned", 0]
    make = contestants(name, chosen["gamma"], chosen["C"], tiny)[who]
    power = EXACT_POWER if who.startswith("exact") else LINEAR_POWER
    n = len(split.X) if who == "Mercer" else affordable(make, split, power)
    few = slice(min(n, 3000))
    model = make().fit(split.X[few], split.y[few])  # what is loaded on first use
    start = time.process_time()
    model, seconds, peak = watched(lambda: make().fit(split.X[:n], split.y[:n]))
    spent = time.process_time() - start
    score = model.score(split.X_test, split.y_test)
    return {"rows": n, "seconds": seconds, "processor": spent, "peak": peak / 1e6, "score": score}


def sets(tiny: bool) -> Figure:
    cells = []
    for name in (CLASSES[0], NUMBERS[0]) if tiny else (*CLASSES[:1], *NUMBERS[:1], *CLASSES[1:], *NUMBERS[1:]):
        cells.append(Cell(f"{name}, tuned", partial(tuned, name, tiny)))
        for who in contestants(name, 1.0, 1.0, tiny):
            cells.append(Cell(f"{name}, {who}", partial(contest, name, who, tiny)))
    return Figure("sets", tuple(cells), table)


def table(found: Found) -> str:
    lines = []
    for (cell, _), numbers in found.items():
        name, who = cell.split(", ")
        if who == "tuned":
            lines.append((f"**{name}**, gamma {numbers['gamma']:.3g}, C {numbers['C']:g}", "", "", "", "", ""))
        else:
            score, n = f"{numbers['score']:.4f}", f"{int(numbers['rows']):,}"
            lines.append(
                (who, n, score, f"{numbers['seconds']:.3g}", f"{numbers['processor']:.3g}", f"{numbers['peak']:.0f}")
            )
    return markdown(("learner", "rows", "accuracy or R2", "fit, s", "processor, s", "peak, MB"), lines)
