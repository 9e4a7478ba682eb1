""" "auto" chooses the exact machine if, by a count of operations, it costs no more than the machine on a map."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer.kernels import Gaussian, Polynomial
from mercer.learn import KernelClassifier, KernelRegressor, map_choice
from mercer.learn.context import FitContext
from mercer.learn.estimates.memory_estimates import Extent
from mercer.learn.solvers import choice
from mercer.learn.solvers.choice import exact_margins_cost, exact_squares_cost, is_cheaper_exactly

KERNEL = Gaussian(0.5)
GIB = 2**30


def problem(n=60):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, size=(n, 3))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1]


@pytest.fixture
def small(monkeypatch):
    """Make problems small and cheap: 40 features, with kernel values and factors that cost nothing."""
    monkeypatch.setattr(map_choice, "LEARNER_WIDTH", 40)
    monkeypatch.setattr(choice, "FACTOR_COST", 0.0)
    monkeypatch.setattr(choice, "FEATURE_OPERATIONS", 0.0)
    monkeypatch.setattr(choice, "CANDIDATE_LANDMARKS", 8)


def ridge(**given):
    return KernelRegressor(KERNEL, **({"alpha": 0.1, "random_state": 0, "preparation": None} | given))


def hinge(**given):
    return KernelClassifier(KERNEL, **({"C": 2.0, "random_state": 0, "preparation": None} | given))


# -- costs -------------------------------------------------------------------------------------------------------------


def test_costs_rise_with_rows_columns_and_factors():
    rows = [1000, 1500, 3000, 10_000, 60_000]
    for costs in (
        [exact_squares_cost(n, 1) for n in rows],
        [exact_squares_cost(2000, factors) for factors in (1, 2, 51)],
        [exact_margins_cost(n, 3) for n in rows],
        [exact_margins_cost(2000, columns) for columns in (1, 3, 10)],
    ):
        assert (np.diff(costs) > 0.0).all()


def cheaper(model, n_rows, columns=1, alpha=0.5, memory=64 * GIB):
    extent = Extent(model.n_components, n_rows, columns, 8, 1)
    return is_cheaper_exactly(model, extent, model._n_factors, alpha, memory)


@pytest.mark.parametrize(
    ("model", "columns", "most"),
    [
        (hinge(map="nystrom", n_components=1024), 1, None),  # whose candidates cost as much
        (hinge(map="nystrom", n_components=4096), 1, 5296),
        (hinge(map="nystrom", n_components=4096), 3, 4256),
        (ridge(map="nystrom", n_components=1024), 1, 1152),
        (ridge(map="nystrom", n_components=1024, alpha="loo"), 1, None),  # with a factor for every alpha
        (ridge(map="orthogonal_fourier", n_components=1024), 1, None),
    ],
)
def test_the_exact_machine_is_taken_up_to_as_many_rows_as_cost_no_more(model, columns, most):
    width = model.n_components
    taken = [n for n in range(width + 16, 2 * width + 1, 16) if cheaper(model, n, columns)]
    assert taken == ([] if most is None else list(range(width + 16, most + 1, 16)))  # none is left out between
    assert not cheaper(model, width, columns)  # all rows are landmarks then
    assert not any(cheaper(model, n, columns, memory=8 * width**2) for n in taken)


def test_the_choice_depends_on_penalty_and_kernel():
    model = hinge(map="nystrom", n_components=4096)
    assert cheaper(model, 4200)
    assert not cheaper(model, 4200, alpha=1e-7)  # which rounding would drown
    assert not cheaper(model.set_params(kernel=Polynomial(2, gamma=1.0)), 4200)
    assert not cheaper(model.set_params(kernel=lambda x, y: x @ y), 4200)


# -- fits --------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("model", "targets"),
    [
        (ridge(), "numbers"),
        (ridge(alpha="gcv"), "numbers"),
        (ridge(alpha="auto"), "numbers"),
        (hinge(loss="squared"), "classes"),
        (hinge(loss="squared"), "tasks"),
        (hinge(), "classes"),
    ],
)
def test_a_chosen_exact_machine_is_that_of_map_exact(model, targets):
    X, y = problem()
    y = {"numbers": y, "classes": y > 0, "tasks": np.column_stack([y > 0, X[:, 2] > 0])}[targets]
    assert model.fit(X, y).solver_.name == "exact"
    assert model.map == "auto"
    asked = type(model)(**(model.get_params(deep=False) | {"map": "exact"})).fit(X, y)
    for name in ("predict", "predict_proba"):
        if hasattr(asked, name):
            np.testing.assert_array_equal(getattr(model, name)(X), getattr(asked, name)(X))
    assert model.solver_ == asked.solver_
    again = type(model)(**model.get_params(deep=False)).fit(X, y)
    np.testing.assert_array_equal(again.coef_, model.coef_)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    "model",
    [
        ridge(map="orthogonal_fourier"),
        ridge(n_components=40),
        ridge(solver="features"),
        ridge(keep_statistics=True),
        ridge(alpha="holdout"),
        ridge(alpha=0.0),
        ridge(loss="huber"),
        hinge(solver="newton"),
        hinge(loss="logistic"),
        hinge(C=[1.0, 2.0]),
        ridge(alpha=1e-7),
    ],
)
def test_what_is_asked_for_is_done(model):
    X, y = problem()
    model.fit(X, y > 0 if hasattr(model, "C") else y)
    assert model.solver_.name != "exact"
    assert model.map_.n_components_ == 40


@pytest.mark.usefixtures("small")
def test_many_rows_and_several_tasks_are_learned_on_a_map():
    X, y = problem(81)
    assert ridge().fit(X[:80], y[:80]).solver_.name == "exact"
    assert ridge().fit(X, y).solver_.name == "sums"
    assert hinge().fit(X[:60], np.column_stack([y > 0, X[:, 2] > 0])[:60]).solver_.name == "newton"


@pytest.mark.usefixtures("small")
def test_a_fit_that_counts_hits_is_on_a_map():
    X, y = problem()
    model = ridge(alpha="loo")
    model.fit_table(model.table_to_fit(X, np.sign(y)), FitContext(counts_hits=True))
    assert model.solver_.name == "sums"
    assert model.hits_.max() > 0.8


@pytest.mark.usefixtures("small")
def test_model_files_contain_the_exact_machine(tmp_path):
    X, y = problem()
    found = mercer.persist.train(ridge(), X, y, output=tmp_path / "model")
    again = mercer.load(tmp_path / "model")
    assert again.solver_ == found.solver_
    assert again.map == "auto"
    np.testing.assert_array_equal(again.predict(X), found.predict(X))


@pytest.mark.usefixtures("small")
def test_batches_after_an_exact_fit_start_again():
    X, y = problem()
    model = ridge().fit(X, y)
    with pytest.warns(UserWarning, match="partial_fit starts from the beginning"):
        model.partial_fit(X, y)
    alone = ridge().partial_fit(X, y)
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))
    assert model.map_.n_components_ == 40


def test_a_pilot_leaves_the_choice_open():
    X, y = problem(1100)
    y = y + 2.0 * np.random.default_rng(1).normal(size=len(y))  # so that more features do not pay
    model = KernelRegressor(alpha=0.1, columns=None, scale="standard", random_state=0).fit(X, y)
    assert (model.solver_.name, model.map_.n_components_) == ("exact", 1100)
    assert model.choice_.n_components == 1024
    asked = KernelRegressor(alpha=0.1, columns=None, scale="standard", map="nystrom", random_state=0).fit(X, y)
    assert asked.solver_.name != "exact"
    assert asked.choice_.kernel == model.choice_.kernel


def test_alphas_of_exact_ridge_regression_have_their_objectives():
    X, y = problem()
    model = ridge(map="exact", alpha=[0.1, 10.0, 1.0]).fit(X, y)
    path = model.penalty_path_
    assert path.penalties == (10.0, 1.0, 0.1)
    for alpha, objective in zip(path.penalties, path.objectives, strict=True):
        assert objective == pytest.approx(ridge(map="exact", alpha=alpha).fit(X, y).objective_)
    np.testing.assert_array_equal(np.argsort(path.scores), np.argsort(model.scores_.sum(axis=1)[[1, 2, 0]]))
