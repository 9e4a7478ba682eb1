"""Several targets at once: each is learned as if it were the only one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score
from sklearn.model_selection import cross_val_predict

from mercer import RandomFourier
from mercer.data import Blocks
from mercer.kernels import Gaussian
from mercer.learn import KernelClassifier
from mercer.learn.features.feature_matrix import FeatureMatrix

from ..tables import every_value


def problem(n=800, dtype=np.float64, seed=0):
    """Two, three and again two classes, the last ones rare."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).astype(dtype)
    radius = np.linalg.norm(X, axis=1) + 0.3 * rng.normal(size=n)
    third = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n)
    return X, np.stack([radius > 1.5, np.digitize(radius, [1.2, 2.0]), third > 0.7], axis=1).astype(int)


def machine(**arguments):
    features = RandomFourier(Gaussian(0.3), n_components=40, random_state=0)
    return KernelClassifier(
        **({"kernel": None, "C": 1.0, "preparation": None} | {"map": features, "tol": 1e-11} | arguments)
    )


def alone(X, Y, weight=None, **arguments):
    return [machine(**arguments).fit(X, y, weight) for y in Y.T]


COLUMNS = [slice(0, 1), slice(1, 4), slice(4, 5)]


@every_value(
    arguments=[
        {},
        {"loss": "logistic"},
        {"loss": "squared"},
        {"loss": "logistic", "memory": 1000, "n_jobs": 2},
        {"loss": "logistic", "fit_intercept": False, "C": 30.0},
        {"class_weight": "balanced"},
        {"solver": "liblinear", "tol": 1e-4},
    ],
    weighted=[False, True],
)
def test_each_task_is_learned_as_if_alone(arguments, weighted):
    X, Y = problem()
    weight = np.random.default_rng(1).integers(1, 4, size=len(X)).astype(float) if weighted else None
    together = machine(**arguments).fit(X, Y, weight)
    scores = together.decision_function(X)
    assert isinstance(together.classes_, list)
    for task, (one, columns) in enumerate(zip(alone(X, Y, weight, **arguments), COLUMNS, strict=True)):
        np.testing.assert_array_equal(together.classes_[task], one.classes_)
        size = np.abs(one.coef_).max()
        np.testing.assert_allclose(together.coef_[columns], one.coef_, atol=1e-4 * size)
        np.testing.assert_allclose(together.intercept_[columns], one.intercept_, atol=1e-4 * size)
        np.testing.assert_allclose(scores[task], one.decision_function(X), atol=1e-3 * size)
        np.testing.assert_array_equal(together.predict(X)[:, task], one.predict(X))
        if "logistic" in arguments.values():
            np.testing.assert_allclose(together.predict_proba(X)[task], one.predict_proba(X), atol=1e-4)
            np.testing.assert_allclose(together.predict_log_proba(X)[task], one.predict_log_proba(X), atol=1e-2)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_objectives_add_up_and_every_task_converges(loss):
    X, Y = problem()
    Y[:, 2] = X[:, 0] > 0  # much easier than the others, so that its objective is a small part of the sum
    together, ones = machine(loss=loss).fit(X, Y), alone(X, Y, loss=loss)
    least = sum(one.convergence_.objectives[-1] for one in ones)
    assert together.convergence_.objectives[-1] == pytest.approx(least, rel=1e-6)
    for one, columns in zip(ones, COLUMNS, strict=True):
        np.testing.assert_allclose(together.coef_[columns], one.coef_, atol=1e-4 * np.abs(one.coef_).max())
    # The gap is that of the task that is furthest from its own minimum.
    easy = machine(loss=loss, tol=1e-2).fit(X, Y).convergence_
    assert easy.converged
    assert easy.gap <= 1e-2


def test_tasks_share_products(monkeypatch):
    widths = []
    products = FeatureMatrix.products
    monkeypatch.setattr(
        FeatureMatrix, "products", lambda self, W, what: widths.append(W.shape[1]) or products(self, W, what)
    )
    X, Y = problem()
    machine(loss="logistic").fit(X, Y)
    assert set(widths) == {5}


def test_labels_of_different_kinds_and_blocks():
    X, Y = problem(600)
    frame = pd.DataFrame({"far": np.where(Y[:, 0] == 1, "far", "near"), "ring": Y[:, 1], "third": Y[:, 2] == 1})
    model = machine().fit(X, frame)
    assert [classes.tolist() for classes in model.classes_] == [["far", "near"], [0, 1, 2], [False, True]]
    predicted = model.predict(X)
    assert predicted.shape == (600, 3)
    assert [type(label) for label in predicted[0].tolist()] == [str, int, bool]
    numbers = machine().fit(X, Y)
    np.testing.assert_array_equal(predicted[:, 1].astype(int), numbers.predict(X)[:, 1])
    assert numbers.predict(X).dtype.kind == "i"
    assert model.score(X, frame) == pytest.approx((predicted == frame.to_numpy()).all(axis=1).mean())
    blocks = Blocks([(X[start : start + 70], Y[start : start + 70]) for start in range(0, 600, 70)])
    np.testing.assert_array_equal(machine().fit(blocks).coef_, numbers.coef_)


def test_scores_are_those_of_whole_rows():
    X, Y = problem(300)
    model, weight = machine().fit(X, Y), np.random.default_rng(2).random(300)
    right = (model.predict(X) == Y).all(axis=1)
    assert model.score(X, Y, weight) == pytest.approx(weight @ right / weight.sum())
    binary = machine().fit(X, Y[:, [0, 2]])
    assert binary.score(X, Y[:, [0, 2]]) == pytest.approx(accuracy_score(Y[:, [0, 2]], binary.predict(X)))
    logistic = machine(loss="logistic", tol=1e-4)
    folds = cross_val_predict(logistic, X, Y, cv=3, method="predict_proba")
    assert [part.shape for part in folds] == [(300, 2), (300, 3), (300, 2)]


def test_batches_of_several_tasks():
    X, Y = problem(600)
    whole, classes = machine(loss="squared").fit(X, Y), [[0, 1], [0, 1, 2], [0, 1]]
    model = machine(loss="squared").partial_fit(X[:200], Y[:200], classes).partial_fit(X[200:], Y[200:])
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-10)
    model.partial_fit(X[:50], Y[:50], classes).forget(X[:50], Y[:50])
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-8)
    with pytest.raises(ValueError, match="unknown label 2 in row 0; known labels are 0, 1"):
        model.partial_fit(X[:1], [[2, 0, 0]])
    with pytest.raises(ValueError, match=r"expected y of shape \(n_rows, 3\), found \(50, 2\)"):
        model.partial_fit(X[:50], Y[:50, :2])
    with pytest.raises(ValueError, match=r"expected y of shape \(n_rows, 3\), found \(50,\)"):
        model.partial_fit(X[:50], Y[:50, 0])
    with pytest.raises(ValueError, match="differ from the first call's"):
        model.partial_fit(X, Y, classes[:2])


def test_class_weights_of_tasks():
    X, Y = problem()
    given = [{0: 1.0, 1: 3.0}, {0: 1.0, 1: 0.5, 2: 2.0}, {0: 1.0, 1: 4.0}]
    together = machine(class_weight=given).fit(X, Y)
    for one, y, columns in zip(given, Y.T, COLUMNS, strict=True):
        single = machine(class_weight=one).fit(X, y)
        np.testing.assert_allclose(together.coef_[columns], single.coef_, atol=1e-4 * np.abs(single.coef_).max())
    for wrong in ({0: 1.0, 1: 2.0}, given[:2]):
        with pytest.raises(ValueError, match="class_weight must be None, 'balanced' or a list of 3 dicts"):
            machine(class_weight=wrong).fit(X, Y)
    with pytest.raises(ValueError, match="class_weight must be None, 'balanced' or a dict"):
        machine(class_weight=given[:1]).fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="which share one sum over the rows"):
        machine(loss="squared", class_weight="balanced").fit(X, Y)


def test_a_task_of_one_class_is_named():
    X, Y = problem(50)
    Y[:, 1] = 7
    with pytest.raises(ValueError, match="needs at least 2 classes, found 1 class in column 1 of y: 7"):
        machine().fit(X, Y)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        machine().fit(X, X[:, :2])
