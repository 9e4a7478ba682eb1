"""The real sets of the folder ``MERCER_DATA``, as the figures of learners use them, and small made-up ones."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

CLASSES = ("spambase", "cod_rna", "ijcnn1", "adult", "covertype")
NUMBERS = ("cpu", "blog_feedback")
MOST_TRAIN, MOST_TEST = 100_000, 10_000
TINY = 300


class Split(NamedTuple):
    """Rows to learn from and rows to test on."""

    X: NDArray[np.float32]
    y: NDArray[Any]
    X_test: NDArray[np.float32]
    y_test: NDArray[Any]


def archive(name: str) -> Any:
    folder = os.environ.get("MERCER_DATA")
    if not folder:
        sys.exit(f"set MERCER_DATA to the folder that holds {name}.npz")
    return np.load(Path(folder) / f"{name}.npz")


def digits() -> Split:
    """MNIST with entries from 0 to 1: 60,000 and 10,000 rows."""
    file = archive("mnist")
    X, y, n = file["X"].astype(np.float32) / np.float32(255), file["y"], int(file["n_train"])
    return Split(X[:n], y[:n], X[n:], y[n:])


def real_set(name: str) -> Split:
    """A set, shuffled, in its published parts where it has some, else four fifths and one; targets as they are fitted.

    Covertype is class 2 against the rest, on 100,000 rows; the targets of BlogFeedback are log(1 + y).
    """
    file = archive(name)
    X, y = np.ascontiguousarray(file["X"], dtype=np.float32), file["y"]
    rng = np.random.default_rng(0)
    if "n_train" in file:
        n = int(file["n_train"])
        train, test = rng.permutation(n), n + rng.permutation(len(X) - n)
    else:
        order = rng.permutation(len(X))
        train, test = order[: 4 * len(X) // 5], order[4 * len(X) // 5 :]
    if name == "covertype":
        y = (y == 2).astype(np.int8)
    if name == "blog_feedback":
        y = np.log1p(y.astype(np.float64))
    train, test = train[:MOST_TRAIN], test[:MOST_TEST]
    return Split(X[train], y[train], X[test], y[test])


def made_up(n_classes: int | None) -> Split:
    """A few rows with classes, or with numbers."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * TINY, 4)).astype(np.float32)
    value = np.sin(X[:, 0]) + X[:, 1] ** 2
    y = value if n_classes is None else np.digitize(value, np.quantile(value, np.linspace(0, 1, n_classes + 1)[1:-1]))
    return Split(X[:TINY], y[:TINY], X[TINY:], y[TINY:])


def standardised(split: Split) -> Split:
    """Columns of mean 0 and variance 1 in the training rows."""
    mean, deviation = split.X.mean(axis=0, dtype=np.float64), split.X.std(axis=0, dtype=np.float64)
    deviation[deviation == 0.0] = 1.0
    scaled = (((X - mean) / deviation).astype(np.float32) for X in (split.X, split.X_test))
    return Split(next(scaled), split.y, next(scaled), split.y_test)
