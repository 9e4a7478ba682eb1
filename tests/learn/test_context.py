"""The context of a fit is passed to it and leaves no trace on the learner."""

import ast
import dataclasses
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import mercer
from mercer.learn import KernelCCA, KernelClassifier, KernelKMeans, KernelNovelty, KernelPCA, KernelRegressor
from mercer.learn.context import FitContext
from mercer.learn.passes.checkpoint_state import CheckpointState

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 3))
Y = np.sin(X[:, 0])
LEARNERS = {
    "ridge": (KernelRegressor(n_components=16, alpha="loo", random_state=0, kernel=None, preparation=None), Y),
    "hinge": (KernelClassifier(n_components=16, random_state=0, kernel=None, C=1.0, preparation=None), Y > 0),
    "squared": (
        KernelClassifier(n_components=16, loss="squared", random_state=0, kernel=None, C=1.0, preparation=None),
        Y > 0,
    ),
    "pca": (KernelPCA(n_components=16, random_state=0), None),
    "novelty": (KernelNovelty(n_components=16, random_state=0), None),
    "kmeans": (KernelKMeans(n_components=16, n_clusters=2, random_state=0), None),
    "cca": (KernelCCA(n_components=16, n_components_y=16, random_state=0), Y),
}


@pytest.fixture(params=LEARNERS)
def problem(request):
    learner, y = LEARNERS[request.param]
    return learner, y


def in_context(learner, y, **steered):
    return learner.fit_table(learner.table_to_fit(X, y), FitContext(**steered))


def test_a_context_leaves_nothing_on_the_learner(problem):
    learner, y = problem
    plain = clone(learner).fit(X, y)
    seen = []
    steered = in_context(clone(learner), y, progress=seen.append, checkpoint=CheckpointState(), memory=2**30)
    assert seen[-1].what == "solution"
    assert set(vars(steered)) == set(vars(plain))
    name = type(learner)._set_last
    np.testing.assert_array_equal(getattr(steered, name), getattr(plain, name))


def test_a_context_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        FitContext().memory = 1


def test_callbacks_of_the_learner_and_of_the_context_are_both_called():
    first, second = [], []
    learner = KernelRegressor(
        n_components=16, random_state=0, callback=first.append, kernel=None, alpha=1.0, preparation=None
    )
    in_context(learner, Y, progress=second.append)
    assert [one.what for one in first] == [one.what for one in second]
    assert len(first) > 2


def test_the_memory_of_a_context_is_that_of_its_fit_alone():
    learner = KernelRegressor(n_components=512, random_state=0, kernel=None, alpha=1.0, preparation=None)
    with pytest.raises(MemoryError, match="the sums over 512 features"):
        in_context(learner, Y, memory=10_000)
    learner.fit(X, Y)


def test_a_seed_that_a_checkpoint_has_kept_is_taken_again():
    keeper = CheckpointState()
    first = in_context(KernelRegressor(n_components=16, kernel=None, alpha=1.0, preparation=None), Y, checkpoint=keeper)
    again = CheckpointState()
    again.seeds = keeper.seeds
    second = in_context(KernelRegressor(n_components=16, kernel=None, alpha=1.0, preparation=None), Y, checkpoint=again)
    assert first.map_.seed_ == second.map_.seed_ == keeper.seeds[0]
    np.testing.assert_array_equal(first.coef_, second.coef_)


def test_hits_are_counted_where_a_context_asks():
    codes = np.where(Y > 0, 1.0, -1.0)
    learner = KernelRegressor(n_components=16, alpha="loo", random_state=0, kernel=None, preparation=None)
    model = in_context(learner, codes, counts_hits=True)
    assert model.hits_.shape == model.alphas_.shape
    assert 0.9 < model.hits_.max() <= 1.0
    assert not hasattr(learner.fit(X, codes), "hits_")


def test_weights_of_clusters_are_refused():
    with pytest.raises(TypeError, match="does not support weights"):
        KernelKMeans().table_to_fit(X, None, np.ones(len(X)))


def test_warnings_of_a_fit_point_at_its_caller():
    steep, twice = (
        KernelClassifier(n_components=16, C=1e6, max_iter=1, random_state=0, kernel=None, preparation=None),
        np.repeat(X[:, :1], 2, axis=1),
    )
    with pytest.warns(ConvergenceWarning) as found:
        steep.fit(X, Y > 0)
    assert [one.filename for one in found] == [__file__]
    with pytest.warns(UserWarning, match="linearly dependent") as found:
        KernelRegressor("linear()", n_components=4, alpha=0.0, random_state=0, preparation=None).fit(twice, Y)
    assert [one.filename for one in found] == [__file__]


def test_no_private_attribute_of_another_object_is_set():
    root = Path(mercer.__file__).parent
    found = []
    for package in ("learn", "choose", "persist/training.py", "report", "cli"):
        for path in sorted((root / package).rglob("*.py")) or [root / package]:
            for node in ast.walk(ast.parse(path.read_text())):
                targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else []
                found += [
                    f"{path.name}:{target.lineno}"
                    for target in targets
                    if isinstance(target, ast.Attribute)
                    and target.attr.startswith("_")
                    and not target.attr.startswith("__")
                    and not (isinstance(target.value, ast.Name) and target.value.id in ("self", "cls"))
                ]
    assert found == []
