"""Solvers never report that they are closer to the minimum than they are."""

from __future__ import annotations

import warnings
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from mercer import RandomFourier
from mercer.data import ArrayTable
from mercer.kernels import Gaussian, Matern
from mercer.learn import KernelClassifier
from mercer.learn.context import FitContext
from mercer.learn.features.feature_matrix import HeldFeatures
from mercer.learn.losses import Logistic, Quantile, Softmax, SquaredHinge
from mercer.learn.passes.fit_passes import Passes
from mercer.learn.solvers import conjugate_gradients
from mercer.learn.solvers.intercepts import balancing
from mercer.learn.solvers.newton import Newton

from ..tables import every_pair

DIGITS, DIGIT = (part[:400] for part in load_digits(return_X_y=True))


def features(gamma=0.02, width=60):
    return RandomFourier(Gaussian(gamma), n_components=width, random_state=0)


def fitted(X, y, **options):
    """A machine, whether it warned, and its objective in float64."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = KernelClassifier(map=features(), **({"C": 1.0} | options)).fit(X, y)
    Z, C = model.map_.transform(X).astype(np.float64), model.C
    F = Z @ model.coef_.T + model.intercept_
    if model.loss == "squared_hinge":
        signs = np.where(y[:, None] == (model.classes_ if len(model.classes_) > 2 else model.classes_[1:]), 1.0, -1.0)
        loss = (np.maximum(1.0 - signs * F, 0.0) ** 2).sum()
    elif F.shape[1] == 1:
        loss = np.logaddexp(0.0, -np.where(y == model.classes_[1], 1.0, -1.0) * F[:, 0]).sum()
    else:
        top = F.max(axis=1)
        loss = (np.log(np.exp(F - top[:, None]).sum(axis=1)) + top - F[np.arange(len(y)), y]).sum()
    value = 0.5 * (model.coef_**2).sum() + C * loss
    return model, any(issubclass(one.category, ConvergenceWarning) for one in told), value


@cache
def least(classes, C, loss):
    """The smallest known objective, from the better of two long descents."""
    X, y = (DIGITS / 16.0), DIGIT if classes == 10 else DIGIT % 2
    return min(fitted(X, y, loss=loss, C=C, tol=tol, max_iter=60)[2] for tol in (1e-4, 1e-7))


@every_pair(
    classes=[2, 10],
    C=[1.0, 1e8, *(pytest.param(C, id=str(C), marks=pytest.mark.full) for C in (1e-4, 1e4))],
    loss=["squared_hinge", "logistic"],
    dtype=[np.float64, np.float32],
    wide=[pytest.param(False, id="newton"), pytest.param(True, id="conjugate gradients")],
)
@pytest.mark.xdist_group("claims")  # on one worker, so that every least objective is looked for once
def test_reported_gaps_are_true(monkeypatch, classes, C, loss, dtype, wide):
    """The best of several methods represents the minimum: no claimed gap may be below what is known to be possible."""
    X, y = (DIGITS / 16.0), DIGIT if classes == 10 else DIGIT % 2
    best = least(classes, C, loss)
    monkeypatch.setattr(conjugate_gradients, "is_cheaper", lambda *_: wide)
    model, warned, value = fitted(X.astype(dtype), y, loss=loss, C=C, max_iter=40 if not wide else 20)
    report, slack = model.convergence_, 10.0 * np.finfo(dtype).eps
    assert report.converged == (report.gap <= model.tol) == (not warned)
    assert (value - best) / value <= report.gap + slack


def test_a_step_that_is_not_finished_makes_no_claim():
    model, warned, value = fitted(DIGITS, DIGIT, C=1e6, max_iter=2)
    assert warned
    assert not model.convergence_.converged
    assert (value - fitted(DIGITS, DIGIT, C=1e6, max_iter=100)[2]) / value <= model.convergence_.gap


def test_steps_end_where_the_precision_does():
    X = (DIGITS / 16.0).astype(np.float32)
    model, warned, _ = fitted(X, DIGIT % 2, C=1e8, tol=1e-12, max_iter=500)
    assert warned
    assert model.convergence_.n_iter < 400


@pytest.mark.parametrize(
    ("C", "steps", "least"), [(1e3, 35, 1812.93), pytest.param(1e4, 100, 1821.59, marks=pytest.mark.full)]
)
def test_strong_losses_take_few_steps(C, steps, least):
    """Using the best intercepts before every step took twice as many steps, and never ended for the larger C."""
    X, y = load_digits(return_X_y=True)
    model = KernelClassifier("gaussian('scale')", n_components=256, C=C, random_state=0, preparation=None).fit(
        X / 16.0, y
    )
    assert model.convergence_.converged
    assert model.convergence_.n_iter <= steps
    assert model.convergence_.objectives[-1] == pytest.approx(least, rel=1e-4)


@pytest.mark.parametrize("C", [1e4, 1e5, 1e6])
def test_no_step_raises_the_objective(C):
    """The slope at the end of a step is compared with that at its start; at the end of a long step, it may be huge."""
    objectives = np.array(fitted(DIGITS / 16.0, DIGIT, C=C, max_iter=100)[0].convergence_.objectives)
    assert (np.diff(objectives) <= 1e-9 * objectives[1:]).all()


def test_intercepts_are_balanced_at_the_end():
    """Slopes of a class add up to 0 then, which the bound assumes."""
    model, warned, _ = fitted(DIGITS / 16.0, DIGIT, C=10.0)
    F = model.map_.transform(DIGITS / 16.0) @ model.coef_.T + model.intercept_
    signs = np.where(DIGIT[:, None] == model.classes_, 1.0, -1.0)
    slopes = signs * np.maximum(1.0 - signs * F, 0.0)
    assert not warned
    assert np.abs(slopes.sum(axis=0)).max() <= 1e-5 * np.abs(slopes).sum(axis=0).max()


@pytest.mark.parametrize("far", [0.0, 50.0, -1e4])
@pytest.mark.parametrize("kind", [SquaredHinge, Logistic, Softmax])
def test_intercepts_are_the_best_ones(kind, far):
    rng = np.random.default_rng(0)
    classes = 3 if kind is not Logistic else 2
    loss = kind(rng.integers(0, classes, 200), classes, rng.uniform(0.0, 2.0, 200))
    F = rng.normal(size=(200, loss.n_columns)) + (far if kind is not Softmax else 0.0)
    shift = balancing(loss, F, np.full(loss.n_columns, 1e-9))
    left = np.abs(loss.slope(F + shift).sum(axis=0))
    if kind is Softmax:  # a few steps towards it, each of which helps
        assert left.max() < 0.1 * np.abs(loss.slope(F).sum(axis=0)).max()
        assert loss.value(F + shift)[0] <= loss.value(F)[0]
    else:
        assert left.max() < 1e-6


def test_a_step_ends_where_the_slope_turns_however_steep_it_is_beyond():
    def slope(at):  # a gentle slope down to 0.3, then a wall
        return -1.0 + 1e9 * np.maximum(at - 0.3, 0.0)

    assert length_by(slope) == pytest.approx(0.3, rel=1e-8)


def length_by(slope):
    """The length of a step along which a loss of one row and one column has this slope."""
    steps = SimpleNamespace(
        ridge=np.zeros((1, 1)), loss=SimpleNamespace(slope=slope), sums=lambda M: M.sum(axis=0), by_problem=lambda M: M
    )
    one = np.ones((1, 1))
    return float(Newton.length(steps, 0.0 * one, one, one, one)[0])


def test_a_step_that_is_steep_only_at_its_start_goes_as_far_as_the_gentle_slope_leads():
    asked = []

    def slope(at):
        asked.append(float(at[0, 0]))
        return -1e6 * np.maximum(1e-4 - at, 0.0) - 0.01 * (0.3 - at)

    length = length_by(slope)
    # By its start the objective falls by 1e6 * 1e-8 / 2, by the rest of the way to 0.3 by 0.01 * 0.3^2 / 2.
    assert 0.01 * (length - 0.3) ** 2 / 2 <= 1e-8 * (0.005 + 0.00045)
    assert len(asked) < 40


def test_a_step_that_bends_at_every_row_is_searched_for_its_minimum():
    bends = np.logspace(-6, 0, 200)

    def slope(at):
        t = float(at[0, 0])
        return np.full((1, 1), -float(np.maximum(bends - t, 0.0).sum() / bends.sum()) - 1e-3 * (0.5 - t) * (t > 1e-6))

    least = length_by(slope)
    fine = np.linspace(0.0, 2.0, 200_001)
    heights = np.concatenate([[0.0], np.cumsum([float(slope(np.full((1, 1), t))[0, 0]) for t in fine[:-1]]) * 1e-5])
    here = np.interp(least, fine, heights)
    assert here - heights.min() <= 2e-4 * -heights.min()


@pytest.mark.parametrize(
    ("n", "width", "kernel", "C", "steps"),
    [(3000, 0.05, Matern(0.5, length_scale=7.0), 92.0, 15), (2000, 0.02, Matern(0.5, length_scale=2.0), 1e4, 9)],
)
def test_nearly_separable_classes_with_a_large_penalty_converge_in_few_steps(n, width, kernel, C, steps):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)) * [width, 1.0, width]
    y = (X[:, 1] > 0).astype(int)
    model = KernelClassifier(kernel, C=C, n_components=300, map="nystrom", solver="newton",
                             preparation=None, random_state=0).fit(X, y)  # fmt: skip
    assert model.convergence_.converged
    assert model.n_iter_ <= steps


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_intercept_that_no_row_opposes_goes_far_but_stays_finite(dtype):
    """Conjugate gradients continue for the other column, and the residual of this one must not grow meanwhile."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(60, 20)).astype(dtype)
    y = np.stack([np.where(np.arange(60) < 57, 1.0, -1.0), 1e-3 * rng.normal(size=60)], axis=1)
    design = HeldFeatures(Z, True, 1, Passes(ArrayTable(Z), FitContext()))
    loss = Quantile(y, np.ones(60), np.ones(2), np.array([0.9, 0.5])).about(np.zeros((60, 2)), 0.01)
    solver = Newton(design, loss)
    W, F = np.zeros((21, 2)), np.zeros((60, 2), dtype=dtype)
    assert not loss.curvature(F)[:, 0].any()
    gradient = solver.gradient(W, F, "gradient")
    reach = solver.reach(W, F)
    step = solver.step(F, gradient, reach)
    assert solver.products_taken[-1] > 1
    np.testing.assert_allclose(step[:20, 0], -gradient[:20, 0], rtol=1e-3)  # the Hessian is 1
    assert 100.0 * reach[0] < step[20, 0] < 1e4 * reach[0]
    assert (gradient * step).sum(axis=0).max() < 0.0
