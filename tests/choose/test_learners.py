"""The learner and the task for a target."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import RandomFourier, data
from mercer.choose import MAPS, learner_for, maps_for, task_of
from mercer.kernels import AdditiveChi2, Gaussian

X = np.random.default_rng(0).normal(size=(100, 2))


@pytest.mark.parametrize(
    ("y", "task", "why"),
    [
        (np.arange(100) % 20, "classification", "integers with 20 different values"),
        (np.arange(100) % 21, "regression", "integers with more than 20"),
        ((np.arange(100) % 3).astype(float), "classification", "integers with 3"),
        (np.arange(100) / 2.0, "regression", "fractions"),
        (np.arange(100) > 50, "classification", "truth values"),
        (np.array([f"kind {number % 5}" for number in range(100)]), "classification", "text"),
    ],
)
def test_the_task_of_a_target(y, task, why):
    found = task_of(data.open(X, target=y))
    assert found.name == task
    assert why in found.why


def test_no_target_has_no_task():
    with pytest.raises(ValueError, match="the rows have no target"):
        task_of(data.open(X))


def test_the_scale_goes_by_the_kernel():
    assert learner_for("regression").asked_scale == "auto"
    assert learner_for("regression", kernel=AdditiveChi2()).asked_scale is None
    assert learner_for("regression", kernel=AdditiveChi2() + Gaussian("scale")).asked_scale is None
    assert learner_for("classification", map=RandomFourier("gaussian(1)")).asked_scale is None
    assert learner_for("classification", map=RandomFourier("gaussian('scale')")).asked_scale == "auto"
    assert learner_for("regression", kernel=AdditiveChi2(), scale="minmax").asked_scale == "minmax"


def test_a_map_brings_its_own_kernel():
    learner = learner_for("classification", map=RandomFourier(Gaussian(0.5), n_components=8, random_state=3))
    model = learner.fit(X, X[:, 0] > 0)
    assert (model.map_.kernel_, model.map_.n_components_, model.map_.seed_) == (Gaussian(0.5), 8, 3)


def test_unknown_tasks_are_refused():
    with pytest.raises(ValueError, match="regression needs a target of numbers, found text"):
        task_of(data.open(X, target=np.array(["a", "b"] * 50)), "regression")
    assert task_of(data.open(X, target=1), "classification").name == "classification"
    with pytest.raises(ValueError, match="task must be one of"):
        learner_for("auto")


def test_maps_that_serve_can_be_fitted():
    rows = np.abs(X)
    for kernel in ("gaussian('median')", "polynomial(3)", "skewed_chi2(1)", "exponential().of(additive_chi2())"):
        found = maps_for(kernel, n_components=64, random_state=0)
        assert "Nystrom" in found
        assert set(found) <= {note.name for note in MAPS}
        for map in found.values():
            assert map.fit(rows).n_components_ > 0


def test_numbers_as_text_are_classes_with_a_warning():
    with pytest.warns(UserWarning, match="the target is text that looks like numbers, such as '0'"):
        assert task_of(data.open(X, target=(np.arange(100) // 2).astype(str))).name == "classification"


def test_numbers_as_text_that_hardly_repeat_are_refused_as_classes():
    prices = np.array([f"${price:,.2f}" for price in np.linspace(900.0, 2000.0, 100)])
    with pytest.raises(ValueError, match=r"looks like numbers, such as .*; if each of its values is a class, ask for"):
        task_of(data.open(X, target=prices))
    assert task_of(data.open(X, target=prices), "classification").name == "classification"
