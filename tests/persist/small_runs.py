"""Small problems for runs, in many blocks of rows."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import RandomFourier
from mercer.kernels import Gaussian
from mercer.persist import train

ROWS = 200
BLOCK = 64
CHUNK = 32


def problem():
    X = np.random.default_rng(0).normal(size=(ROWS, 3))
    return X, np.array(["far", "left", "right"])[np.where(np.linalg.norm(X, axis=1) > 1.8, 0, 1 + (X[:, 0] > 0.2))]


def features(D=12, seed=0):
    return RandomFourier(Gaussian(0.3), n_components=D, random_state=seed)


def checkpoint_of(model, X, y, folder, at=4):
    """The checkpoint of a run that ends at this block of its sums."""
    seen = []

    def stop(progress):
        seen.append(progress.what)
        if seen.count("sums") == at:
            raise ArithmeticError

    with pytest.raises(ArithmeticError):
        train(model, X, y, output=folder / "model", every=0.0, progress=stop)
    return folder / "model.checkpoint"
