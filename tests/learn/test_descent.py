"""Conjugate gradients for wide features, applied to narrow ones, compared with Newton's method and scikit-learn."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

import mercer
from mercer import RandomFourier
from mercer.data import Blocks
from mercer.kernels import Gaussian
from mercer.learn import KernelClassifier
from mercer.learn.solvers import conjugate_gradients
from mercer.learn.solvers.conjugate_gradients import is_cheaper, sampled
from mercer.persist import train
from mercer.persist.checkpoints import read_checkpoint

from ..tables import every_value
from .test_classifier import PROBLEMS, features, objective, problem


@pytest.fixture
def wide(monkeypatch):
    """Treat every problem as one with many features, with a sample of some of the rows."""
    monkeypatch.setattr(conjugate_gradients, "is_cheaper", lambda *_: True)


@every_value(name=PROBLEMS, C=[0.01, 1.0, 100.0], weighted=[False, True])
def test_the_least_squared_hinge(wide, name, C, weighted):
    X, y = problem(**PROBLEMS[name])
    weight = np.random.default_rng(1).integers(1, 4, size=len(X)).astype(float) if weighted else None
    model = KernelClassifier(map=features(), C=C, tol=1e-6, max_iter=1000, fit_intercept=False, preparation=None).fit(
        X, y, weight
    )
    Z = model.map_.transform(X)
    reference = LinearSVC(C=C, tol=1e-9, dual=False, max_iter=100000, fit_intercept=False).fit(Z, y, weight)
    ours, theirs = (objective(one, Z, y, C, weight) for one in (model, reference))
    assert theirs * (1 - 1e-6) <= ours <= theirs * (1 + 1e-4)
    assert model.convergence_.method == "conjugate gradients"


@every_value(name=PROBLEMS, loss=["squared_hinge", "logistic"], C=[0.01, 1.0, 30.0])
def test_the_objective_is_that_of_newton(monkeypatch, name, loss, C):
    X, y = problem(**PROBLEMS[name])
    model = KernelClassifier(map=features(), loss=loss, C=C, tol=1e-8, preparation=None).fit(X, y)
    monkeypatch.setattr(conjugate_gradients, "is_cheaper", lambda *_: True)
    other = KernelClassifier(map=features(), loss=loss, C=C, tol=1e-4, max_iter=1000, preparation=None).fit(X, y)
    least, objectives = model.convergence_.objectives[-1], other.convergence_.objectives
    assert objectives[-1] <= least * (1 + 3e-4)
    assert all(later <= earlier * (1 + 1e-12) for earlier, later in pairwise(objectives))
    assert (model.convergence_.method, other.convergence_.method) == ("newton", "conjugate gradients")


def test_columns_that_are_almost_equal_and_of_very_different_scale(wide):
    rng = np.random.default_rng(2)
    base = rng.normal(size=(500, 6)) * np.logspace(0, -3, 6)
    X = np.hstack([base, base + 1e-5 * rng.normal(size=base.shape)])
    y = (base @ (1 / np.logspace(0, -3, 6)) + 0.5 * rng.normal(size=500) > 0).astype(int)
    kernel = RandomFourier(Gaussian(0.05), n_components=300, random_state=0)
    model = KernelClassifier(
        map=kernel, C=100.0, max_iter=2000, fit_intercept=False, kernel=None, preparation=None
    ).fit(X, y)
    Z = model.map_.transform(X)
    reference = LinearSVC(C=100.0, tol=1e-8, dual=False, max_iter=100000, fit_intercept=False).fit(Z, y)
    assert objective(model, Z, y, 100.0) <= objective(reference, Z, y, 100.0) * (1 + 1e-3)


@pytest.mark.parametrize("loss", ["squared_hinge", pytest.param("logistic", marks=pytest.mark.full)])
def test_blocks_and_threads_do_not_change_a_bit(wide, loss):
    X, y = problem(3, n=5000, dtype=np.float32)
    one, two, held = (
        KernelClassifier(map=features(), loss=loss, memory=memory, n_jobs=jobs, C=1.0, preparation=None).fit(X, y)
        for memory, jobs in ((1000, 1), (1000, 2), (None, 2))
    )
    blocks = [(X[start : start + 700], y[start : start + 700]) for start in range(0, 5000, 700)]
    cut = KernelClassifier(map=features(), loss=loss, memory=1000, C=1.0, preparation=None).fit(Blocks(blocks))
    np.testing.assert_array_equal(two.coef_, one.coef_)
    np.testing.assert_array_equal(cut.coef_, one.coef_)
    np.testing.assert_allclose(held.coef_, one.coef_, atol=1e-2 * np.abs(one.coef_).max())


def test_two_tasks_are_learned_side_by_side(wide):
    X, y = problem(3, n=800)
    both = KernelClassifier(map=features(), tol=1e-6, max_iter=1000, C=1.0, preparation=None).fit(
        X, np.column_stack([y, X[:, 0] > 0])
    )
    for task, own in enumerate((y, X[:, 0] > 0)):
        alone = KernelClassifier(map=features(), tol=1e-6, max_iter=1000, C=1.0, preparation=None).fit(X, own)
        np.testing.assert_allclose(both.decision_function(X)[task], alone.decision_function(X), atol=0.02)


class StoppedError(Exception):
    """The error that a callback raises."""


@pytest.mark.parametrize("loss", ["squared_hinge", pytest.param("logistic", marks=pytest.mark.full)])
def test_a_run_that_was_ended_continues_to_the_same_bytes(wide, loss, monkeypatch, tmp_path):
    monkeypatch.setattr(conjugate_gradients, "PATIENCE", 7)  # so that factors are computed again
    X, y = problem(3, n=5000)
    model = KernelClassifier(map=features(), loss=loss, C=10.0, memory=1000, preparation=None)
    train(clone(model), X, y, output=tmp_path / "whole")
    passes = mercer.load(tmp_path / "whole").convergence_.passes
    assert passes > 20
    for last in (6, 20, passes - 2):
        seen = set()

        def stop(progress, last=last, seen=seen):
            seen.add(progress.number)
            if len(seen) > last:
                raise StoppedError

        with pytest.raises(StoppedError):
            train(clone(model), X, y, output=tmp_path / "model", progress=stop, every=0.0)
        assert read_checkpoint(tmp_path / "model.checkpoint").found
        train(clone(model), X, y, output=tmp_path / "model", resume=True)
        assert (tmp_path / "model").read_bytes() == (tmp_path / "whole").read_bytes()
        (tmp_path / "model").unlink()


def test_too_few_steps_give_a_warning(wide):
    X, y = problem(3)
    with pytest.warns(ConvergenceWarning, match=r"after 5 steps the objective may be [\de.-]+ of itself above"):
        KernelClassifier(map=features(), max_iter=1, C=1.0, preparation=None).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert KernelClassifier(map=features(), tol=0.1, C=1.0, preparation=None).fit(X, y).convergence_.gap <= 0.1


def test_the_method_is_in_the_model_file(wide, tmp_path):
    X, y = problem()
    model = KernelClassifier(map=features(), C=1.0, preparation=None).fit(X, y)
    mercer.save(model, tmp_path / "model")
    assert mercer.load(tmp_path / "model").convergence_ == model.convergence_


def test_which_method_is_cheaper():
    assert is_cheaper(60_000, 8192, 10, 2.0)
    assert is_cheaper(100_000, 8192, 1, 2.0)
    assert not is_cheaper(60_000, 4096, 10, 1000.0)  # steps would be too many
    assert not is_cheaper(600, 50, 4, 2.0)
    assert not is_cheaper(60_000, 1024, 10, 2.0)


def test_a_sample_takes_rows_from_everywhere_once():
    for n, count in ((10, 10), (1000, 37), (60_000, 32_768), (5, 3)):
        rows = sampled(n, count)
        assert len(np.unique(rows)) == count
        assert 0 <= rows.min() <= rows.max() < n
        assert np.abs(np.sort(rows) - np.arange(count) * n / count).max() <= n / count + 1
    assert len(np.unique(sampled(1000, 100) % 10)) == 10  # rows whose order repeats every 10
