"""The figures of ``learners.py`` on MNIST, compared with linear models on scikit-learn's features and with its exact
SVC."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from cells import Cell, Figure, Found, Numbers, column, in_words, markdown, median, timed
from datasets import Split, digits, made_up
from machine import seconds_of
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

import mercer
from mercer.kernels import Gaussian
from mercer.learn import KernelClassifier

GAMMA = 0.02
SEEDS = 5
SLOW_SEEDS = 2
"""Of peers that take a minute each."""
PREDICTED = 2_000
"""Rows that the exact machine predicts."""
REPEATS = 5

LOSSES: dict[str, tuple[int, Callable[..., Any], int]] = {
    "squared": (4096, RidgeClassifier, SEEDS),
    "squared_hinge": (1024, LinearSVC, SLOW_SEEDS),
    "logistic": (1024, partial(LogisticRegression, max_iter=1000), SLOW_SEEDS),
}
"""The width, the peer and its number of seeds for every loss."""


@cache
def rows(tiny: bool) -> Split:
    return made_up(3) if tiny else digits()


def features(name: str, width: int, seed: int, gamma: float = GAMMA) -> mercer.FeatureMap:
    """A map of the Gaussian kernel by its name; "Nystrom kmeans" is one with these landmarks."""
    kind, _, landmarks = name.partition(" ")
    chosen = {"landmarks": landmarks} if landmarks else {}
    return getattr(mercer, kind)(Gaussian(gamma), n_components=width, random_state=seed, **chosen)


def judged(model: Any, split: Split) -> Numbers:
    """The seconds of ``fit``, after a small one for what is loaded on first use, and the accuracy."""
    few = np.concatenate([np.flatnonzero(split.y == label)[:40] for label in np.unique(split.y)])
    model.fit(split.X[few], split.y[few]).predict(split.X[:2])
    numbers = timed(lambda: model.fit(split.X, split.y))
    return numbers | {"accuracy": 100.0 * model.score(split.X_test, split.y_test)}


# -- mnist -------------------------------------------------------------------------------------------------------------


def ours(loss: str, width: int, tiny: bool, seed: int, _: Found) -> Numbers:
    return judged(
        KernelClassifier(map=features("StructuredFourier", width, seed), loss=loss, C=1.0, preparation=None), rows(tiny)
    )


def theirs(peer: Callable[..., Any], width: int, dtype: str, tiny: bool, seed: int, _: Found) -> Numbers:
    split, sampler = rows(tiny), RBFSampler(gamma=GAMMA, n_components=width, random_state=seed)
    return judged(make_pipeline(sampler, peer()), split._replace(X=split.X.astype(dtype)))


def objectives(width: int, tiny: bool, seed: int, _: Found) -> Numbers:
    """The least squared hinge by ours and by LIBLINEAR with a small ``tol``, on the same features.

    There is no intercept, which LIBLINEAR regularises and Mercer does not, so that both minimise the same function.
    """
    split = rows(tiny)
    model = KernelClassifier(
        map=features("StructuredFourier", width, seed), fit_intercept=False, C=1.0, preparation=None
    )
    model.fit(split.X, split.y)
    Z = model.map_.transform(split.X).astype(np.float64)
    peer = LinearSVC(fit_intercept=False, dual=False, tol=1e-7, max_iter=10_000)
    seconds = seconds_of(lambda: peer.fit(Z, split.y))
    signs = np.where(split.y[:, None] == model.classes_, 1.0, -1.0)

    def objective(coef: Any) -> float:
        return 0.5 * float((coef**2).sum()) + float((np.maximum(1.0 - signs * (Z @ coef.T), 0.0) ** 2).sum())

    return {"seconds": seconds, "ours": objective(model.coef_), "theirs": objective(peer.coef_)}


def mnist(tiny: bool) -> Figure:
    cells = []
    for loss, (full, peer, seeds) in LOSSES.items():
        width = 32 if tiny else full
        cells.append(Cell(f"{loss}, ours", partial(ours, loss, width, tiny), 2 if tiny else SEEDS))
        cells.append(
            Cell(f"{loss}, scikit-learn float32", partial(theirs, peer, width, "float32", tiny), 1 if tiny else seeds)
        )
    cells.append(
        Cell("squared, scikit-learn float64", partial(theirs, RidgeClassifier, 32 if tiny else 4096, "float64", tiny))
    )
    cells.append(Cell("objectives", partial(objectives, 32 if tiny else 1024, tiny)))
    return Figure("mnist", tuple(cells), mnist_table)


def mnist_table(found: Found) -> str:
    lines = []
    for loss, (width, peer, _) in LOSSES.items():
        base = median(found, f"{loss}, scikit-learn float32", "seconds")
        for who in ("ours", "scikit-learn float32", "scikit-learn float64"):
            seconds, accuracy = (column(found, f"{loss}, {who}", key) for key in ("seconds", "accuracy"))
            if not seconds:
                continue
            name = getattr(peer, "func", peer).__name__
            label = "KernelClassifier" if who == "ours" else f"RBFSampler + {name}, {who.split()[1]}"
            spread = f"{min(seconds):.3g} to {max(seconds):.3g}"
            mean, middle = statistics.fmean(accuracy), statistics.median(seconds)
            lines.append((f"{loss}, {label}", width, len(seconds), middle, spread, base / middle, mean))
    table = markdown(
        ("loss and learner", "D", "seeds", "fit, median s", "range", "times faster", "accuracy %"),
        ((*line[:3], f"{line[3]:.3g}", line[4], f"{line[5]:.2f}", f"{line[6]:.2f}") for line in lines),
    )
    least, mine = median(found, "objectives", "theirs"), median(found, "objectives", "ours")
    return (
        table
        + f"\nSquared hinge on the same features: objective {mine:.7g} by ours, {least:.7g} by LinearSVC with tol 1e-7 "
        + (f"({in_words(median(found, 'objectives', 'seconds'))}): {100 * (mine / least - 1):+.4f} %.\n")
    )


# -- svc ---------------------------------------------------------------------------------------------------------------

MODELS: tuple[tuple[str, int, str, float], ...] = (
    ("StructuredFourier", 2048, "squared_hinge", 1.0),
    ("StructuredFourier", 4096, "squared_hinge", 1.0),
    ("StructuredFourier", 8192, "squared", 10.0),
    ("StructuredFourier", 8192, "squared_hinge", 1.0),
    ("StructuredFourier", 16384, "squared", 10.0),
    ("StructuredFourier", 16384, "squared_hinge", 1.0),
    ("TaylorSketch", 4096, "squared_hinge", 1.0),
    ("TaylorSketch", 8192, "squared", 10.0),
    ("TaylorSketch", 16384, "squared_hinge", 1.0),
    ("Nystrom", 2048, "squared_hinge", 1.0),
    ("Nystrom", 4096, "squared", 100.0),
    ("Nystrom", 4096, "squared_hinge", 1.0),
)
"""Maps, widths, losses and C."""


def exact(tiny: bool, seed: int, _: Found) -> Numbers:
    split = rows(tiny)
    model = SVC(C=10.0, gamma=GAMMA, cache_size=2000)
    numbers = timed(lambda: model.fit(split.X, split.y))
    test, labels = split.X_test[:PREDICTED], split.y_test[:PREDICTED]
    answers: list[Any] = []
    predicting = seconds_of(lambda: answers.append(model.predict(test)))
    right = 100.0 * float((answers[0] == labels).mean())
    return numbers | {"accuracy": right, "rate": len(test) / predicting}


def approximate(model: tuple[str, int, str, float], tiny: bool, seed: int, _: Found) -> Numbers:
    name, width, loss, C = model
    split = rows(tiny)
    machine = KernelClassifier(map=features(name, 32 if tiny else width, seed), loss=loss, C=C, preparation=None)
    numbers = judged(machine, split)
    predicting = statistics.median(seconds_of(lambda: machine.predict(split.X_test)) for _ in range(REPEATS))
    return numbers | {"rate": len(split.X_test) / predicting}


def label_of(model: tuple[str, int, str, float]) -> str:
    name, width, loss, C = model
    return f"{name}, D = {width}, {loss}, C = {C:g}"


def svc(tiny: bool) -> Figure:
    cells = [Cell(label_of(model), partial(approximate, model, tiny)) for model in MODELS]
    return Figure("svc", (*cells, Cell("exact SVC", partial(exact, tiny))), svc_table)


def svc_table(found: Found) -> str:
    base, rate = (median(found, "exact SVC", key) for key in ("seconds", "rate"))
    lines = []
    for name, _ in sorted(found, key=lambda key: found[key]["seconds"]):
        seconds, accuracy, mine = (median(found, name, key) for key in ("seconds", "accuracy", "rate"))
        spent, shares = median(found, name, "processor"), (f"{seconds / base:.3f}", f"{mine / rate:.0f}")
        lines.append((name, f"{seconds:.1f}", f"{spent:.1f}", shares[0], f"{accuracy:.2f}", f"{mine:.3g}", shares[1]))
    return markdown(
        (
            "model",
            "fit, s",
            "processor, s",
            "share of SVC's fit",
            "accuracy %",
            "rows predicted a second",
            "times SVC's rate",
        ),
        lines,
    )
