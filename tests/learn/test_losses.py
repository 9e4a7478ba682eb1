"""Losses of the regressor: against brute force, finite differences, ridge regression and their own definitions."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog, minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import mercer
from mercer import RandomFourier
from mercer.data import Blocks
from mercer.kernels import Gaussian
from mercer.learn import KernelRegressor
from mercer.learn.losses import EpsilonInsensitive, Huber, Poisson, Quantile
from mercer.learn.regressor import without_crossings
from mercer.learn.targets.regression_targets import Units, robust_scale, weighted_median
from mercer.persist import train

from ..tables import every_value

LOSSES = {
    "huber": {"delta": 0.4},
    "huber by itself": {"loss": "huber"},
    "quantile": {"quantile": 0.3},
    "quantiles": {"loss": "quantile", "quantile": [0.9, 0.1, 0.5]},
    "epsilon_insensitive": {"epsilon": 0.2},
    "poisson": {},
}


def learner(name, **options):
    given = {"loss": name, "alpha": 0.3} | LOSSES[name] | options
    return KernelRegressor(
        map=RandomFourier(Gaussian(0.5), n_components=24, random_state=0), **({"preparation": None} | given)
    )


@cache
def problem(n=200, dtype="float64"):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, size=(n, 2))
    y = np.sin(X[:, 0]) + X[:, 1] + 0.3 * rng.standard_t(2, size=n)
    return X.astype(dtype), y


def targets(name, y):
    return np.floor(np.exp(np.clip(y, -4.0, 4.0))) if name == "poisson" else y


# -- one row -----------------------------------------------------------------------------------------------------------


def cases():
    rng = np.random.default_rng(1)
    Y, weight, factors = rng.normal(size=(50, 3)), rng.uniform(0.5, 2.0, 50), np.array([1.0, 2.0, 0.5])
    prices = rng.uniform(-0.05, 0.05, size=(50, 3))
    yield Huber(Y, weight, factors, np.array([0.3, 1.0, 10.0]))
    yield Poisson(np.abs(Y).round(), weight, factors)
    for loss in (
        Quantile(Y, weight, factors, np.array([0.1, 0.5, 0.8])),
        EpsilonInsensitive(Y, weight, factors, np.array([0.0, 0.1, 1.0])),
    ):
        yield loss
        yield loss.about(prices, 0.3)


@pytest.mark.parametrize("loss", list(cases()), ids=lambda loss: type(loss).__name__)
def test_derivatives_are_those_of_the_values(loss):
    F, step = np.random.default_rng(2).normal(size=(50, 3)), 1e-6
    for row, column in ((0, 0), (7, 1), (20, 2), (33, 0), (49, 2)):
        move = np.zeros_like(F)
        move[row, column] = step
        rise = (loss.value(F + move) - loss.value(F - move)).sum() / (2.0 * step)
        turn = (loss.slope(F + move) - loss.slope(F - move))[row, column] / (2.0 * step)
        assert rise == pytest.approx(loss.slope(F)[row, column], abs=1e-6)
        assert turn == pytest.approx(loss.curvature(F)[row, column], rel=1e-5, abs=1e-7)


def test_smoothed_losses_touch_the_loss_itself():
    """A smoothed loss is never above the loss itself, and approaches it as the smoothing vanishes."""
    F = np.random.default_rng(3).normal(size=(50, 3))
    for loss in (case for case in cases() if hasattr(case, "about")):
        assert (loss.excess(F) >= 0.0).all()
        sharp = loss.about(np.zeros((50, 3)), 1e-9)
        np.testing.assert_allclose(sharp.value(F), loss.exact_value(F), atol=1e-6)
        assert (loss.about(np.zeros((50, 3)), 0.5).value(F) <= loss.exact_value(F)).all()


def test_a_large_count_overflows_nothing():
    loss = Poisson(np.array([[3.0]]), np.ones(1), np.ones(1))
    for dtype in (np.float32, np.float64):
        F = np.array([[5000.0]], dtype=dtype)
        assert all(np.isfinite(part).all() for part in (loss.value(F), loss.slope(F), loss.curvature(F)))


# -- the least objective -----------------------------------------------------------------------------------------------


def own_loss(name, y, f, options):
    r = y - f
    if name == "huber":
        delta = options["delta"]
        return np.where(np.abs(r) <= delta, 0.5 * r**2, delta * (np.abs(r) - 0.5 * delta))
    if name == "quantile":
        return np.maximum(options["quantile"] * r, (options["quantile"] - 1.0) * r)
    if name == "epsilon_insensitive":
        return np.maximum(np.abs(r) - options["epsilon"], 0.0)
    rest = np.where(y > 0.0, y * np.log(np.maximum(y, 1e-300)) - y, 0.0)
    return np.exp(f) - y * f + rest


def dual_value(name, Z, y, alpha, options):
    """The smallest objective from its dual, a quadratic programme with one variable per row."""
    low, high = (options["quantile"] - 1.0, options["quantile"]) if name == "quantile" else (-1.0, 1.0)
    tube = options.get("epsilon", 0.0)
    K = Z @ Z.T / alpha

    def value(q):
        return 0.5 * q[: len(y)] @ K @ q[: len(y)] - y @ q[: len(y)] + tube * np.abs(q).sum()

    if not tube:
        bounds = [(low, high)] * len(y)

        def slope(q):
            return K @ q - y

        found = minimize(value, np.zeros(len(y)), jac=slope, bounds=bounds, method="L-BFGS-B", options=TIGHT)
        return -found.fun
    # Prices as differences of two that are not negative have no corner.
    both = np.block([[K, -K], [-K, K]])
    costs = np.concatenate([tube - y, tube + y])
    found = minimize(
        lambda q: 0.5 * q @ both @ q + costs @ q,
        np.zeros(2 * len(y)),
        jac=lambda q: both @ q + costs,
        bounds=[(0.0, 1.0)] * (2 * len(y)),
        method="L-BFGS-B",
        options=TIGHT,
    )
    return -found.fun


TIGHT = {"maxiter": 100_000, "maxfun": 200_000, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 50}


@pytest.mark.parametrize("name", ["quantile", "epsilon_insensitive"])
def test_losses_with_corners_against_the_dual_programme(name):
    """There is no intercept, which would add a constraint to the dual."""
    X, y = problem(80)
    model = learner(name, tol=1e-8, fit_intercept=False).fit(X, y)
    Z = model.map_.transform(X)
    value = own_loss(name, y, Z @ model.coef_, LOSSES[name]).sum() + 0.15 * (model.coef_**2).sum()
    assert model.objective_ == pytest.approx(value, rel=1e-10)
    least = dual_value(name, Z, y, 0.3, LOSSES[name])
    assert -1e-9 * value <= value - least <= 1e-6 * value
    assert value - least <= model.gap_ * value + 1e-9 * value


@pytest.mark.parametrize("name", ["huber", "poisson"])
@pytest.mark.parametrize("intercept", [False, True])
def test_smooth_losses_against_another_solver(name, intercept):
    X, y = problem()
    y, weight = targets(name, y), np.random.default_rng(4).uniform(0.0, 3.0, len(y))
    model = learner(name, tol=1e-9, fit_intercept=intercept).fit(X, y, weight)
    Z = np.column_stack([model.map_.transform(X), np.full(len(y), float(intercept))])

    def value(w):
        return weight @ own_loss(name, y, Z @ w, LOSSES[name]) + 0.15 * (w[:-1] ** 2).sum()

    found = minimize(value, np.zeros(Z.shape[1]), method="BFGS", options={"gtol": 1e-6, "maxiter": 5000})
    here = value(np.append(model.coef_, model.intercept_))
    assert here == pytest.approx(model.objective_, rel=1e-9)
    assert here <= found.fun * (1.0 + 1e-6)
    assert here >= found.fun * (1.0 - 1e-6)


@pytest.mark.parametrize("level", [0.1, 0.5])
def test_a_quantile_without_a_penalty_is_that_of_a_linear_programme(level):
    X, y = problem(120)
    model = learner("quantile", quantile=level, alpha=1e-7, tol=1e-7).fit(X, y)
    Z = np.column_stack([model.map_.transform(X), np.ones(len(y))])
    costs = np.concatenate([np.zeros(Z.shape[1]), np.full(len(y), level), np.full(len(y), 1.0 - level)])
    rows = np.hstack([Z, np.eye(len(y)), -np.eye(len(y))])
    free = [(None, None)] * Z.shape[1] + [(0, None)] * (2 * len(y))
    found = linprog(costs, A_eq=rows, b_eq=y, bounds=free, method="highs")
    loss = own_loss("quantile", y, Z @ np.append(model.coef_, model.intercept_), {"quantile": level}).sum()
    penalty = 0.5e-7 * (found.x[: Z.shape[1] - 1] ** 2).sum()
    assert loss >= found.fun * (1.0 - 1e-9)
    assert model.objective_ <= (found.fun + penalty) * (1.0 + 1e-6)


@pytest.mark.parametrize("name", ["quantile", "epsilon_insensitive"])
def test_intercepts_are_the_best(name):
    """Any change of the intercept, which has no penalty, increases the objective, up to rounding."""
    X, y = problem()
    model = learner(name, tol=1e-8).fit(X, y)
    f = model.predict(X)
    here = own_loss(name, y, f, LOSSES[name]).sum()
    for shift in (-1e-2, -1e-4, 1e-4, 1e-2):
        assert own_loss(name, y, f + shift, LOSSES[name]).sum() >= here - 1e-7 * here


def test_huber_with_a_large_delta_is_ridge_regression():
    X, y = problem()
    ridge = learner("huber", loss="squared").set_params(delta=None).fit(X, y)
    model = learner("huber", delta=1e3, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(model.coef_, ridge.coef_, atol=1e-6 * np.abs(ridge.coef_).max())
    np.testing.assert_allclose(model.predict(X), ridge.predict(X), atol=1e-6)


def test_huber_finds_its_delta_in_the_residuals():
    X, y = problem()
    model = learner("huber by itself").fit(X, y)
    residuals = (y - model.predict(X))[:, None]
    assert model.delta_[0] == pytest.approx(1.35 * robust_scale(residuals, np.ones(len(y)))[0], rel=0.1)
    outliers = y + np.where(np.arange(len(y)) % 10 == 0, 1e3, 0.0)
    off = learner("huber by itself").fit(X, outliers)
    ridge = learner("huber by itself", loss="squared").fit(X, outliers)
    apart, ridge_apart = (np.abs(one.predict(X) - model.predict(X)) for one in (off, ridge))
    assert np.median(apart) < 0.01 * np.median(ridge_apart)


@every_value(name=LOSSES, unit=[1e-6, 1e6])
def test_the_unit_of_targets_does_not_matter(name, unit):
    """With alpha in its own unit: for a loss that grows linearly with the residual, alpha is proportional to one over
    the unit."""
    X, y = problem()
    y = targets(name, y)
    if name == "poisson":
        model, other = learner(name).fit(X, y), learner(name, alpha=0.3 * unit).fit(X, unit * y)
    else:
        alpha = 0.3 if name.startswith("huber") else 0.3 / unit
        scaled = {key: unit * value for key, value in LOSSES[name].items() if key in ("delta", "epsilon")}
        model, other = learner(name).fit(X, y), learner(name, alpha=alpha, **scaled).fit(X, unit * y + 5.0 * unit)
    shift = 0.0 if name == "poisson" else 5.0
    np.testing.assert_allclose(other.predict(X) / unit - shift, model.predict(X), atol=2e-2)
    assert other.convergence_.converged


# -- rows --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(LOSSES))
def test_a_weight_counts_as_a_number_of_rows(name):
    X, y = problem()
    y, weight = targets(name, y), np.random.default_rng(5).integers(0, 4, len(y))
    weighted = learner(name, tol=1e-8).fit(X, y, weight.astype(float))
    repeated = learner(name, tol=1e-8).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=2e-3)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-6)


@pytest.mark.parametrize("name", list(LOSSES))
def test_float32_and_sparse_rows(name):
    X, y = problem()
    y = targets(name, y)
    whole = learner(name).fit(X, y)
    for other in (X.astype(np.float32), sp.csr_matrix(X), sp.csr_matrix(X.astype(np.float32))):
        model = learner(name).fit(other, y)
        assert model.convergence_.converged
        assert model.objective_ == pytest.approx(whole.objective_, rel=3e-4)
        assert model.predict(other).dtype == np.float64


@pytest.mark.parametrize("name", list(LOSSES))
def test_features_that_are_recomputed_give_the_same(name):
    X, y = problem(900)
    y = targets(name, y)
    held = learner(name, scale="standard").fit(X, y)
    parts = [(X[start : start + 250], y[start : start + 250]) for start in range(0, 900, 250)]
    streamed = learner(name, scale="standard", memory=1000).fit(Blocks(parts))
    np.testing.assert_allclose(streamed.coef_, held.coef_, rtol=1e-9)
    assert streamed.score(Blocks(parts)) == pytest.approx(held.score(X, y))


@pytest.mark.parametrize("name", list(LOSSES))
def test_several_targets_are_learned_as_each_would_be(name):
    X, y = problem()
    Y = np.column_stack([targets(name, y), targets(name, 2.0 - y) * (3.0 if name != "poisson" else 1.0)])
    both = learner(name, tol=1e-7).fit(X, Y)
    for column in (0, 1):
        alone = learner(name, tol=1e-7).fit(X, Y[:, column])
        np.testing.assert_allclose(both.predict(X)[:, column], alone.predict(X), atol=5e-3)
    levels = 3 if name == "quantiles" else 1
    assert both.coef_.shape == (2 * levels, 24)
    assert both.predict(X).shape == ((200, 2, 3) if levels == 3 else (200, 2))


# -- quantiles ---------------------------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(
    arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=st.floats(-1e6, 1e6)),
    st.randoms(use_true_random=False),
)
def test_quantiles_do_not_cross(y, random):
    levels = [(place + 1.0) / (y.shape[1] + 1.0) for place in range(y.shape[1])]
    random.shuffle(levels)
    found = without_crossings(y, levels)
    assert (np.diff(found[:, np.argsort(levels)], axis=1) >= 0.0).all()
    np.testing.assert_array_equal(np.sort(found, axis=1), np.sort(y, axis=1))


def test_predicted_quantiles_are_in_order_and_cover_what_they_say():
    X, y = problem(2000)
    model = learner("quantile", quantile=[0.9, 0.1, 0.5, 0.52], alpha=0.01).fit(X, y)
    high, low, middle, above = model.predict(X).T
    assert ((low <= middle) & (middle <= above) & (above <= high)).all()
    for level, predicted in ((0.9, high), (0.1, low), (0.5, middle)):
        assert np.mean(y <= predicted) == pytest.approx(level, abs=0.02)
    assert model.quantiles_ == (0.9, 0.1, 0.5, 0.52)
    assert 0.0 < model.score(X, y) < 1.0


def test_medians_take_weights_into_account():
    values, weight = np.array([[3.0, 1.0], [1.0, 5.0], [2.0, 4.0]]), np.array([1.0, 1.0, 3.0])
    np.testing.assert_array_equal(weighted_median(values, weight), [2.0, 4.0])
    np.testing.assert_array_equal(robust_scale(np.zeros((3, 1)), weight), [1.0])
    units = Units.of(values, weight, True)
    np.testing.assert_allclose(units.within(values)[2], 0.0)


# -- what is refused, and what is said ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "absolute"}, "loss must be one of"),
        ({"loss": "huber", "delta": 0.0}, "delta must be a positive finite number or None"),
        ({"loss": "quantile", "quantile": 1.0}, "quantile must be a probability above 0 and below 1"),
        ({"loss": "quantile", "quantile": [0.1, 0.0]}, "quantile must be a probability"),
        ({"loss": "quantile", "quantile": []}, "quantile must be a number or a list of numbers"),
        ({"loss": "epsilon_insensitive", "epsilon": -1.0}, "epsilon must be a finite number of at least 0"),
        ({"loss": "huber", "alpha": "gcv"}, "alpha='gcv' requires loss='squared', found loss='huber'"),
        ({"loss": "huber", "alpha": 0.0}, "alpha must be a positive finite number, several, or one of"),
        ({"loss": "huber", "keep_statistics": True}, "keep_statistics requires loss='squared'"),
        ({"loss": "huber", "tol": 0.0}, "tol must be"),
        ({"loss": "huber", "max_iter": 0}, "max_iter must be"),
    ],
)
def test_invalid_arguments_are_refused(options, message):
    X, y = problem()
    with pytest.raises(ValueError, match=message):
        KernelRegressor(n_components=8, **({"kernel": None, "alpha": 1.0, "preparation": None} | options)).fit(X, y)


def test_targets_that_are_not_counts_are_refused():
    X, y = problem()
    with pytest.raises(ValueError, match=r"targets of at least 0, found -1 in row 7$"):
        learner("poisson").fit(X, np.where(np.arange(len(y)) == 7, -1.0, 2.0))
    with pytest.raises(ValueError, match="requires at least one target above 0"):
        learner("poisson").fit(X, np.zeros(len(y)))


def test_batches_are_only_for_the_squared_loss():
    X, y = problem()
    model = learner("huber")
    assert not any(hasattr(model, name) for name in ("partial_fit", "merge", "forget", "prepare"))
    with pytest.raises(ValueError, match="standard deviations require loss='squared'"):
        model.fit(X, y).predict(X, return_std=True)


@pytest.mark.parametrize("name", ["huber", "quantile"])
def test_an_uncertain_solution_gives_a_warning(name):
    X, y = problem()
    with pytest.warns(ConvergenceWarning, match="raise max_iter, tol or alpha"):
        model = learner(name, max_iter=1, alpha=1e-4, tol=1e-9).fit(X, y)
    assert not model.convergence_.converged
    assert model.gap_ > 1e-9


def test_callbacks_are_called_and_may_end_a_fit():
    X, y = problem()
    seen = []
    learner("quantile", callback=seen.append).fit(X, y)
    assert {"targets", "features", "gradient", "curvature", "decision values", "solution"} <= {one.what for one in seen}

    def stop(progress):
        raise ArithmeticError

    model = learner("quantile", callback=stop)
    with pytest.raises(ArithmeticError):
        model.fit(X, y)
    assert not hasattr(model, "coef_")


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(LOSSES))
def test_models_are_saved_and_loaded(name, tmp_path):
    X, y = problem()
    model = learner(name).fit(X, targets(name, y))
    mercer.save(model, tmp_path / "model")
    again = mercer.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    for attribute in ("convergence_", "objective_", "gap_", "n_iter_", "alpha_"):
        assert getattr(again, attribute) == getattr(model, attribute)
    assert getattr(again, "quantiles_", None) == getattr(model, "quantiles_", None)
    if model.loss == "huber":
        np.testing.assert_array_equal(again.delta_, model.delta_)


@pytest.mark.parametrize("name", ["huber by itself", "quantiles", "poisson"])
def test_a_run_that_was_stopped_continues_to_the_same_file(name, tmp_path):
    X, y = problem(300)
    y = targets(name, y)
    whole, passes = tmp_path / "whole", []
    train(learner(name), X, y, output=whole, progress=lambda one: passes.append(one.number))
    for share in (0.4, 0.9):
        output, last = tmp_path / f"model-{share}", int(share * len(passes))

        def stop(progress, last=last):
            if progress.number >= last:
                raise KeyboardInterrupt

        model = clone(learner(name))
        with pytest.raises(KeyboardInterrupt):
            train(model, X, y, output=output, every=0.0, progress=stop)
        train(clone(learner(name)), X, y, output=output, resume=True)
        assert output.read_bytes() == whole.read_bytes()
