"""A plan predicts the map, the width and the memory of the fit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import KernelClassifier, KernelRegressor
from mercer.learn.estimates import memory_estimates
from mercer.report import plan

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 3))
Y = np.sin(X[:, 0])
KINDS = np.where(X[:, 0] > 0.5, "a", np.where(X[:, 1] > 0.0, "b", "c"))
FRAME = pd.DataFrame({"x": X[:, 0].astype(np.float32), "town": np.where(X[:, 1] > 0, "Oslo", "Rome")})
DATED = FRAME.assign(day=pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(600), unit="D"))

CASES = {
    "sums": (KernelRegressor(n_components=48, kernel=None, alpha=1.0, preparation=None), X, Y),
    "a path of alphas": (KernelRegressor(n_components=48, alpha="loo", kernel=None, preparation=None), X, Y),
    "single precision": (
        KernelRegressor(n_components=48, alpha="gcv", kernel=None, preparation=None),
        X.astype(np.float32),
        Y,
    ),
    "landmarks of all rows": (KernelRegressor("gaussian(9)", n_components=2000, alpha="loo"), X, Y),
    "levels": (
        KernelRegressor(n_components=48, map="RandomFourier", kernel=None, alpha=1.0, preparation=None),
        FRAME,
        Y,
    ),
    "held features of levels": (
        KernelClassifier(n_components=48, map="RandomFourier", kernel=None, C=1.0, preparation=None),
        FRAME,
        KINDS,
    ),
    "held features of dates": (
        KernelClassifier(n_components=48, map="RandomFourier", kernel=None, C=1.0, preparation=None),
        DATED,
        KINDS,
    ),
    "least squares of classes": (
        KernelClassifier(n_components=48, loss="squared", kernel=None, C=1.0, preparation=None),
        X,
        KINDS,
    ),
    "two classes": (KernelClassifier(n_components=48, kernel=None, C=1.0, preparation=None), X, KINDS == "a"),
    "three classes": (
        KernelClassifier(n_components=48, loss="logistic", kernel=None, C=1.0, preparation=None),
        X,
        KINDS,
    ),
    "features made again": (
        KernelClassifier(n_components=48, memory=1000, kernel=None, C=1.0, preparation=None),
        X,
        KINDS,
    ),
    "copies of LIBLINEAR": (
        KernelClassifier(n_components=48, solver="liblinear", kernel=None, C=1.0, preparation=None),
        X.astype(np.float32),
        KINDS,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_memory_of_a_plan_is_that_of_the_fit(name, monkeypatch):
    learner, rows, y = CASES[name]
    asked = []
    original = memory_estimates.fit_memory

    def recorded(model, extent, memory=None):
        asked.append(original(model, extent, memory))
        return asked[-1]

    for module in ("estimates.memory_estimates", "fitting.loss_fit"):
        monkeypatch.setattr(f"mercer.learn.{module}.fit_memory", recorded)
    table = mercer.data.open(rows, target=y)
    found = plan(learner.set_params(random_state=0), table)
    model = learner.fit(table)
    assert asked
    assert (found.held, found.streamed) == (asked[-1].total, asked[-1].streamed)
    assert found.width == model.map_.n_components_
    assert found.map == type(model.map_).__name__


def test_a_plan_counts_what_solves_the_sums():
    """Five copies of the second moments, of which only one was counted: 134 MB of 671."""
    table = mercer.data.open(np.vstack([X] * 10), target=np.tile(Y, 10))
    found = plan(KernelRegressor(n_components=4096, alpha="loo", kernel=None, preparation=None), table)
    assert found.held >= 5 * 8 * 4097**2


@pytest.mark.parametrize(("rows", "exact"), [(600, False), (1100, True), (1500, False)])
def test_a_plan_foresees_that_the_exact_machine_is_taken(rows, exact):
    X = np.random.default_rng(0).normal(size=(rows, 3))
    y = np.sin(X[:, 0])
    learner = KernelRegressor(alpha=0.1, preparation=None, random_state=0)
    found = plan(learner, mercer.data.open(np.column_stack([X, y]), target=3))
    assert (found.map == "exact") == exact
    assert (learner.fit(X, y).solver_.name == "exact") == exact
    if exact:
        assert found.width == rows
        assert found.held >= 8 * rows**2
