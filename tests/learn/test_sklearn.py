"""scikit-learn's contract: every estimator check on every learner, grids and pickles."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import estimator_checks_generator

from mercer import RandomFourier, learn
from mercer.kernels import Gaussian, Linear
from mercer.learn import KernelCCA, KernelClassifier, KernelKMeans, KernelPCA, KernelRegressor

LEARNERS = [
    KernelRegressor(),
    KernelRegressor(alpha="gcv", scale="standard"),
    KernelRegressor(alpha="loo", missing="mean"),
    KernelRegressor(map="RandomFourier", n_components=64, random_state=0),
    KernelClassifier(),
    KernelClassifier(loss="logistic", scale="minmax"),
    KernelClassifier(loss="squared", keep_statistics=True),
    KernelPCA(),
    KernelRegressor("precomputed"),
    KernelClassifier("precomputed"),
    KernelCCA(),
    KernelKMeans(),
]


def checks():
    for learner in LEARNERS:
        for estimator, check in estimator_checks_generator(learner):
            # Leaving out a row of weight 2 leaves out both of its copies: another model, by definition.
            if "sample_weight_equivalence" in check.func.__name__ and "alpha='loo'" in repr(learner):
                continue
            yield pytest.param(estimator, check, id=f"{learner!r}-{check.func.__name__}".replace("\n", ""))


@pytest.mark.parametrize(("estimator", "check"), list(checks()))
@pytest.mark.filterwarnings("ignore:the kernel matrix is not positive semi-definite")  # scikit-learn's is none
def test_estimator_checks(estimator, check):
    check(estimator)


def test_every_learner_is_checked():
    assert {type(learner).__name__ for learner in LEARNERS} == {name for name in learn.__all__ if name.startswith("K")}


def problem():
    X = np.random.default_rng(0).normal(size=(120, 3))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1]


@pytest.mark.parametrize(
    ("learner", "name", "values"),
    [
        (KernelRegressor(Gaussian(1.0), n_components=50, random_state=0), "kernel__gamma", [1e-3, 0.5, 50.0]),
        (
            KernelRegressor(Gaussian(1.0) + Linear(), n_components=50, random_state=0),
            "kernel__left__gamma",
            [1e-3, 0.5, 50.0],
        ),
        (
            KernelRegressor(map=RandomFourier(Gaussian(1.0), n_components=50, random_state=0)),
            "map__kernel__gamma",
            [1e-3, 0.5, 50.0],
        ),
        (KernelRegressor(random_state=0), "alpha", [1e-3, 1.0, 100.0]),
    ],
)
def test_a_grid_changes_the_scores(learner, name, values):
    X, y = problem()
    scores = GridSearchCV(learner, {name: values}, cv=3).fit(X, y).cv_results_["mean_test_score"]
    assert len(set(np.round(scores, 6))) == 3


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_pickles_and_clones(learner):
    X, y = problem()
    X = X @ X.T if learner.kernel == "precomputed" else X
    y = (y > 0).astype(int) if isinstance(learner, KernelClassifier) else y
    model = clone(learner).set_params(random_state=None if isinstance(learner.map, RandomFourier) else 0).fit(X, y)
    use = "predict" if hasattr(model, "predict") else "transform"
    for other in (pickle.loads(pickle.dumps(model)), clone(model).fit(X, y)):
        np.testing.assert_array_equal(getattr(other, use)(X), getattr(model, use)(X))
