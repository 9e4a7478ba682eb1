"""A run in a process of its own, for tests that kill it: it prints a line after every block of rows.

``python killed.py NAME OUTPUT [BEFORE]``: BEFORE is code that is run first.
"""

from __future__ import annotations

import sys

import numpy as np

from mercer import RandomFourier
from mercer.data import Blocks
from mercer.kernels import Gaussian
from mercer.learn import KernelClassifier, KernelRegressor

ROWS = 20_000


def rows(first):
    """The rows from one number on, some thousands of them, with their targets."""
    X = np.random.default_rng(first).normal(size=(5_000, 8))
    return X, np.linalg.norm(X, axis=1)


def learner(name):
    features = RandomFourier(Gaussian(0.2), n_components=128, random_state=0)
    if name == "regressor":
        return KernelRegressor(map=features, alpha="loo", scale="standard", kernel=None, preparation=None)
    return KernelClassifier(
        map=features,
        C=100.0,
        loss="logistic" if name == "softmax" else "squared_hinge",
        memory=1000,
        kernel=None,
        preparation=None,
    )


def data(name):
    X, radius = (np.concatenate(parts) for parts in zip(*map(rows, range(0, ROWS, 5_000)), strict=True))
    if name == "regressor":
        return X, radius
    return Blocks([(X, np.digitize(radius, [2.5, 3.0]) if name == "softmax" else radius > 2.8)]), None


if __name__ == "__main__":
    from mercer.persist import train

    exec("".join(sys.argv[3:]))
    train(
        learner(sys.argv[1]),
        *data(sys.argv[1]),
        output=sys.argv[2],
        every=0.0,
        resume=True,
        progress=lambda progress: print(progress.what, progress.rows, flush=True),
    )
