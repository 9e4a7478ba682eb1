"""Several penalties on one design: each fit equals a separate one, and scores come from left-out rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import mercer
from mercer import Nystrom, RandomFourier
from mercer._random import Stream
from mercer.data import ArrayTable
from mercer.kernels import Gaussian
from mercer.learn import KernelClassifier, KernelRegressor
from mercer.learn.context import FitContext
from mercer.learn.features.feature_matrix import HeldFeatures
from mercer.learn.fitting import penalty_path
from mercer.learn.fitting.penalty_path import STRENGTHS, PathState, held_out
from mercer.learn.left_out.decision_values import left_out_each
from mercer.learn.losses import Squared, SquaredHinge
from mercer.learn.passes.fit_passes import Passes
from mercer.learn.solvers.active_rows import USUAL_STEPS, step_cost
from mercer.learn.solvers.choice import SolverCost
from mercer.learn.solvers.newton import Newton, Report
from mercer.persist import train

from ..tables import every_value

KERNEL = Gaussian(0.5)
SEVERAL = [30.0, 0.1, 3.0]


def problem(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, size=(n, 2))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.4 * rng.standard_t(3, size=n)


def classes(y, count=3):
    return np.digitize(y, [-0.5, 0.7] if count == 3 else [0.0])


def counts(y):
    return np.floor(np.exp(np.clip(y, -4.0, 2.0)))


def features(D=30):
    return RandomFourier(KERNEL, n_components=D, random_state=0)


def landmarks(D=30):
    return Nystrom(KERNEL, n_components=D, random_state=0)


DESIGNS = {
    "features": lambda: {"map": features()},
    "streamed": lambda: {"map": features(), "memory": 1000},
    "landmarks": lambda: {"map": landmarks(), "solver": "landmarks"},
    "wide": lambda: {"map": features(), "solver": "wide"},
}
LOSSES = {
    "huber": {"delta": 0.4},
    "quantile": {"quantile": 0.3},
    "epsilon_insensitive": {"epsilon": 0.2},
    "poisson": {},
}


def targets(loss, y):
    return counts(y) if loss == "poisson" else y


# -- every fit is the one that it would be alone -----------------------------------------------------------------------


@every_value(loss=["squared_hinge", "logistic"], design=DESIGNS)
def test_objectives_are_those_of_fits_alone(design, loss):
    X, y = problem()
    given = {"loss": loss, "tol": 1e-9} | DESIGNS[design]()
    found = (
        KernelClassifier(C=SEVERAL, **({"kernel": None, "preparation": None} | given)).fit(X, classes(y)).penalty_path_
    )
    assert found.penalties == (0.1, 3.0, 30.0)
    alone = [
        KernelClassifier(C=C, **({"kernel": None, "preparation": None} | given)).fit(X, classes(y)).objective_
        for C in found.penalties
    ]
    np.testing.assert_allclose(found.objectives, alone, rtol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_objectives_of_regressors_are_those_of_fits_alone(loss):
    X, y = problem(100)
    given = {"loss": loss, "map": features(), "tol": 1e-6} | LOSSES[loss]
    found = (
        KernelRegressor(alpha=[0.1, 3.0], **({"kernel": None, "preparation": None} | given))
        .fit(X, targets(loss, y))
        .penalty_path_
    )
    assert found.penalties == (3.0, 0.1)
    alone = [
        KernelRegressor(alpha=alpha, **({"kernel": None, "preparation": None} | given))
        .fit(X, targets(loss, y))
        .convergence_.objectives[-1]
        for alpha in found.penalties
    ]
    np.testing.assert_allclose(found.objectives, alone, rtol=3e-6)


@pytest.mark.parametrize("design", ["landmarks", "wide", "wide by rows"])
@pytest.mark.parametrize("rule", ["loo", "gcv", "holdout", SEVERAL])
def test_ridge_regression_without_sums_chooses_among_penalties_too(rule, design):
    X, y = problem()
    Y = np.column_stack([y, np.cos(X[:, 1])])
    wide = {"map": features(400), "solver": "wide", "memory": 1000}
    given = {"preparation": None, "tol": 1e-10} | (wide if design == "wide by rows" else DESIGNS[design]())
    model = KernelRegressor(alpha=rule, **given).fit(X, Y)
    path = model.penalty_path_
    assert (model.solver_.name, path.rule) == (design.split()[0], "holdout" if rule == "holdout" else "loo")
    assert path.penalties == tuple(sorted(SEVERAL, reverse=True) if rule is SEVERAL else 1.0 / np.array(STRENGTHS))
    assert model.alpha_ == path.penalties[int(np.argmin(path.scores))]
    alone = KernelRegressor(alpha=model.alpha_, **(given | {"solver": "features"})).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), alone.predict(X), atol=1e-4)
    assert model.objective_ == pytest.approx(alone.objective_, rel=1e-7)


def test_ridge_regression_by_rows_starts_from_the_last_penalty():
    X, y = problem()
    given = {"map": features(400), "solver": "wide", "preparation": None, "tol": 1e-10}
    near, again = KernelRegressor(alpha=[10.0, 9.0], **given).fit(X, y).penalty_path_.n_iter
    alone = KernelRegressor(alpha=9.0, **given).fit(X, y)
    assert alone.n_iter_ == near
    assert again < near


@pytest.mark.parametrize("rule", ["loo", "holdout"])
def test_the_machine_is_that_of_the_best_penalty(rule):
    X, y = problem()
    model = KernelClassifier(C=rule, map=features(), tol=1e-9, preparation=None).fit(X, classes(y))
    path = model.penalty_path_
    assert path.rule == rule
    assert path.penalties == STRENGTHS
    assert STRENGTHS[0] == pytest.approx(0.01)
    assert STRENGTHS[-1] == pytest.approx(1000.0)
    assert path.penalties[int(np.argmin(path.scores))] == model.C_
    assert path.scores[0] > 1.2 * min(path.scores)
    alone = KernelClassifier(C=model.C_, map=features(), tol=1e-9, preparation=None).fit(X, classes(y))
    assert model.objective_ == pytest.approx(alone.objective_, rel=1e-8)
    np.testing.assert_allclose(model.decision_function(X), alone.decision_function(X), atol=1e-3)
    np.testing.assert_allclose(model.predict_proba(X), alone.predict_proba(X), atol=2e-3)
    assert model.convergence_.converged


def test_the_same_score_is_that_of_the_strongest_penalty():
    X, y = problem()
    model = KernelClassifier(C=[3.0, 3.0 * (1.0 + 1e-12)], map=features(), tol=1e-9, preparation=None).fit(
        X, classes(y)
    )
    assert model.C_ == 3.0
    squares = KernelClassifier(C=[3.0, 3.0 * (1.0 + 1e-12)], loss="squared", map=features(), preparation=None).fit(
        X, classes(y)
    )
    assert squares.C_ == 3.0


def test_warm_starts_spare_passes():
    X, y = problem(600)
    given = {"map": features(60), "loss": "logistic", "tol": 1e-6}
    path = (
        KernelClassifier(C="holdout", **({"kernel": None, "preparation": None} | given))
        .fit(X, classes(y))
        .convergence_.passes
    )
    alone = sum(
        KernelClassifier(C=C, **({"kernel": None, "preparation": None} | given)).fit(X, classes(y)).convergence_.passes
        for C in STRENGTHS
    )
    assert path < 0.8 * alone


def test_a_bad_preconditioner_is_not_taken_along():
    """It is not kept for a resumed run either, which would otherwise compute other digits."""
    X, y = problem()
    passes = Passes(ArrayTable(X), FitContext())
    design, loss = HeldFeatures(X, True, 1, passes), SquaredHinge(classes(y, 2), 2, np.ones(len(X)))
    solver = Newton(design, loss)
    solver.minimise(1e-3, 5)
    assert not solver.is_stale
    assert solver.after(loss.scaled(3.0)).factors is solver.factors
    solver.is_stale = True
    following, resumed = solver.after(loss.scaled(3.0)), Newton(design, loss)
    resumed.take_over(*solver.carried())
    assert following.factors is resumed.factors is None
    assert following.is_stale
    assert resumed.is_stale


# -- rows that are left out --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", [(60, 12), (12, 60)])
def test_leaving_out_a_row_is_exact_for_squares(shape, intercept):
    rng = np.random.default_rng(0)
    Z, Y = rng.normal(size=shape), rng.normal(size=(shape[0], 2))
    weight = rng.uniform(0.5, 3.0, shape[0])
    share = 1.0 / np.maximum(weight, 1.0)
    ones = np.column_stack([Z, np.ones(len(Z))]) if intercept else Z
    ridge = np.diag(np.r_[np.ones(shape[1]), 0.0]) if intercept else np.eye(shape[1])

    def solved(counted):
        return np.linalg.solve(ridge + (ones * counted[:, None]).T @ ones, (ones * counted[:, None]).T @ Y)

    found = left_out_each(Z, ones @ solved(weight), Squared(Y, weight, np.ones(2)), share, intercept)
    for row in range(len(Z)):
        less = weight.copy()
        less[row] -= share[row] * weight[row]
        np.testing.assert_allclose(found[row], ones[row] @ solved(less), atol=1e-8)


def left_out_losses(make, X, y, loss_of):
    """The mean loss of rows, each by a machine that is fitted without it."""
    found = []
    for row in range(len(X)):
        kept = np.arange(len(X)) != row
        found.append(loss_of(make().fit(X[kept], y[kept]), X[row : row + 1], y[row]))
    return float(np.mean(found))


def class_loss(loss):
    def loss_of(model, x, code):
        values = np.atleast_2d(model.decision_function(x))[0]
        if loss == "logistic" and len(values) > 1:
            return np.logaddexp.reduce(values) - values[code]
        signs = np.where(np.arange(len(values)) == code if len(values) > 1 else [code == 1], 1.0, -1.0)
        margins = signs * values
        each = {"logistic": np.logaddexp(0.0, -margins), "squared": (1.0 - margins) ** 2}
        return each.get(loss, np.maximum(1.0 - margins, 0.0) ** 2).sum()

    return loss_of


@pytest.mark.parametrize(
    ("loss", "count", "design", "C", "bound"),
    [
        ("squared", 3, "features", 1.0, 1e-8),
        ("squared", 3, "features", 100.0, 1e-8),
        ("squared_hinge", 2, "features", 1.0, 0.02),
        pytest.param("squared_hinge", 3, "landmarks", 1.0, 0.04, marks=pytest.mark.full),
        ("logistic", 2, "landmarks", 10.0, 0.03),
        ("logistic", 3, "features", 1.0, 0.03),
    ],
)
def test_scores_of_classes_are_those_of_rows_left_out(loss, count, design, C, bound):
    X, y = problem(50)
    y = classes(y, count)
    given = {"loss": loss, "tol": 1e-9} | DESIGNS[design]()
    given["map"] = given["map"] if design == "features" else Nystrom(KERNEL, landmarks=X[:20] + 0.01)
    (score,) = KernelClassifier(C=[C], **({"kernel": None, "preparation": None} | given)).fit(X, y).penalty_path_.scores
    expected = left_out_losses(
        lambda: KernelClassifier(C=C, **({"kernel": None, "preparation": None} | given)),
        X,
        y,
        class_loss(loss),
    )
    assert score == pytest.approx(expected, rel=bound)


@pytest.mark.parametrize(
    ("loss", "alpha", "bound"),
    [
        ("squared", 0.3, 1e-6),
        ("huber", 0.3, 0.02),
        ("poisson", 0.3, 0.06),
        ("quantile", 0.3, 0.15),
        pytest.param("epsilon_insensitive", 0.3, 0.15, marks=pytest.mark.full),
    ],
)
def test_scores_of_numbers_are_those_of_rows_left_out(loss, alpha, bound):
    X, y = problem(40)
    y = targets(loss, y)
    given = {"loss": loss, "map": features(16), "tol": 1e-4} | LOSSES.get(loss, {"solver": "wide", "tol": 1e-12})
    model = KernelRegressor(alpha=[alpha], **({"kernel": None, "preparation": None} | given)).fit(X, y)

    def loss_of(one, x, target):
        f, r = one.predict(x)[0], target - one.predict(x)[0]
        if loss == "poisson":
            return f - target * np.log(f) + (target * np.log(target) - target if target > 0.0 else 0.0)
        if loss == "squared":
            return 0.5 * r**2
        if loss == "huber":
            return 0.5 * r**2 if abs(r) <= 0.4 else 0.4 * (abs(r) - 0.2)
        return max(0.3 * r, -0.7 * r) if loss == "quantile" else max(0.0, abs(r) - 0.2)

    expected = left_out_losses(
        lambda: KernelRegressor(alpha=alpha, **({"kernel": None, "preparation": None} | given)),
        X,
        y,
        loss_of,
    )
    spread = np.abs(y - np.sort(y)[(len(y) - 1) // 2]).mean()
    power = {"huber": 2, "poisson": 0}.get(loss, 2)
    own = model.penalty_path_.scores[0] * spread**power
    assert own == pytest.approx(expected, rel=bound)


@every_value(memory=[None, 1000], loss=["squared_hinge", "logistic"])
def test_many_rows_have_the_scores_of_few(loss, memory, monkeypatch):
    X, y = problem(200)
    given = {"C": SEVERAL, "loss": loss, "map": features(), "memory": memory, "tol": 1e-7}
    weight = 0.5 + np.arange(200) % 3
    few = KernelClassifier(**({"kernel": None, "C": 1.0, "preparation": None} | given)).fit(X, classes(y), weight)
    monkeypatch.setattr(penalty_path, "SMALL", 10)
    many = KernelClassifier(**({"kernel": None, "C": 1.0, "preparation": None} | given)).fit(X, classes(y), weight)
    np.testing.assert_allclose(many.penalty_path_.scores, few.penalty_path_.scores, rtol=1e-4)
    monkeypatch.setattr(penalty_path, "KEPT", 100)
    some = KernelClassifier(**({"kernel": None, "C": 1.0, "preparation": None} | given)).fit(X, classes(y), weight)
    np.testing.assert_allclose(some.penalty_path_.scores, few.penalty_path_.scores, rtol=0.3)
    assert (np.array(some.penalty_path_.scores) != few.penalty_path_.scores).all()


@pytest.mark.parametrize("design", ["landmarks", "wide"])
def test_rows_left_out_together_are_forgotten(design, monkeypatch):
    monkeypatch.setattr(penalty_path, "SMALL", 10)
    X, y = problem(400)
    y = classes(y)
    given = DESIGNS[design]() | {"tol": 1e-6}
    given["map"] = given["map"] if design == "wide" else Nystrom(KERNEL, landmarks=X[:40] + 0.01, random_state=0)
    model = KernelClassifier(C=[0.3, 30.0], **({"kernel": None, "preparation": None} | given)).fit(X, y)
    words = Stream(model.map_.seed_).child("left out").words(len(X), 0)
    rows = np.sort(np.argsort(words, kind="stable")[:41])
    kept = np.setdiff1d(np.arange(len(X)), rows)
    for C, score in zip((0.3, 30.0), model.penalty_path_.scores, strict=True):
        alone = KernelClassifier(C=C, **({"kernel": None, "preparation": None} | given)).fit(X[kept], y[kept])
        expected = np.mean([class_loss("squared_hinge")(alone, X[row : row + 1], y[row]) for row in rows])
        assert score == pytest.approx(expected, rel=0.01)


# -- rows that are held out --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["squared", "squared_hinge", "logistic"])
def test_scores_of_a_holdout_are_those_of_rows_held_out(loss):
    X, y = problem(200)
    y = classes(y)
    weight = 0.5 + np.arange(len(X)) % 3
    model = KernelClassifier(C="holdout", loss=loss, map=features(), tol=1e-9, preparation=None).fit(X, y, weight)
    held = held_out(model.map_.seed_, 0, len(X))
    assert 0.1 < held.mean() < 0.3
    for place in (0, 5, 8):
        C = model.penalty_path_.penalties[place]
        alone = KernelClassifier(C=C, loss=loss, map=features(), tol=1e-9, preparation=None).fit(
            X[~held], y[~held], weight[~held]
        )
        losses = [class_loss(loss)(alone, X[row : row + 1], y[row]) for row in np.flatnonzero(held)]
        assert model.penalty_path_.scores[place] == pytest.approx(np.average(losses, weights=weight[held]), rel=1e-4)


def test_a_holdout_of_numbers():
    X, y = problem(200)
    Y = np.column_stack([y, 1e4 + 5.0 * X[:, 1]])
    model = KernelRegressor(alpha="holdout", map=features(), random_state=None, preparation=None).fit(X, Y)
    held = held_out(model.map_.seed_, 0, len(X))
    for place in (3, 20):
        alone = KernelRegressor(alpha=model.alphas_[place], map=features(), preparation=None).fit(X[~held], Y[~held])
        errors = (alone.predict(X[held]) - Y[held]) ** 2
        np.testing.assert_allclose(model.scores_[place], errors.mean(axis=0), rtol=1e-3)
    alone = KernelRegressor(alpha=model.alpha_, map=features(), preparation=None).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), alone.predict(X), rtol=1e-8)
    path = model.penalty_path_
    assert path.penalties == tuple(model.alphas_[::-1].tolist())
    assert path.scores[int(np.argmin(path.scores))] == pytest.approx(
        (model.scores_ / Y.var(axis=0)).sum(axis=1).min(), rel=1e-6
    )


def test_a_holdout_is_that_of_the_seed():
    X, y = problem()
    one, same, other = (
        KernelClassifier(KERNEL, n_components=30, map="RandomFourier", C="holdout", random_state=seed, preparation=None)
        .fit(X, classes(y))
        .penalty_path_.scores
        for seed in (0, 0, 1)
    )
    assert one == same
    assert one != other
    assert not np.array_equal(held_out(0, 0, 100), held_out(1, 0, 100))
    np.testing.assert_array_equal(held_out(0, 0, 100)[37:], held_out(0, 37, 63))


def test_few_rows_cannot_be_held_out():
    X, _ = problem(3)
    seed = next(seed for seed in range(99) if not held_out(seed, 0, 3).any())
    for model in (
        KernelClassifier(C="holdout", random_state=seed, kernel=None, preparation=None),
        KernelRegressor(alpha="holdout", random_state=seed, kernel=None, preparation=None),
    ):
        with pytest.raises(
            ValueError, match="'holdout' leaves no rows to train on or none to score among 3; use 'loo'"
        ):
            model.fit(X, [0, 1, 0])


# -- weights, precision, threads, files --------------------------------------------------------------------------------


@pytest.mark.parametrize("design", ["features", "landmarks"])
def test_weights_are_repeated_rows(design):
    X, y = problem(80)
    weight = 1 + np.arange(len(X)) % 3
    given = {"map": features() if design == "features" else Nystrom(KERNEL, landmarks=X[:20] + 0.01), "tol": 1e-10}
    given |= {"solver": "landmarks"} if design == "landmarks" else {}
    weighted = KernelClassifier(C=SEVERAL, **({"kernel": None, "preparation": None} | given)).fit(
        X, classes(y), sample_weight=weight
    )
    twice = np.repeat(np.arange(len(X)), weight)
    repeated = KernelClassifier(C=SEVERAL, **({"kernel": None, "preparation": None} | given)).fit(
        X[twice], classes(y)[twice]
    )
    np.testing.assert_allclose(weighted.penalty_path_.scores, repeated.penalty_path_.scores, rtol=1e-4)
    assert weighted.C_ == repeated.C_


@every_value(design=DESIGNS, rule=["loo", "holdout"])
def test_bits_do_not_depend_on_threads(design, rule, monkeypatch):
    monkeypatch.setattr(penalty_path, "SMALL", 10)
    X, y = problem(300)
    given = {"C": rule, "tol": 1e-3} | DESIGNS[design]()
    one, two = (
        KernelClassifier(
            n_jobs=n,
            **({"kernel": None, "C": 1.0, "preparation": None} | given),
        ).fit(X.astype(np.float32), classes(y))
        for n in (1, 2)
    )
    assert one.penalty_path_ == two.penalty_path_
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_float32_and_sparse_rows_agree():
    X, y = problem()
    dense = KernelClassifier(C=SEVERAL, map=features(), tol=1e-7, preparation=None).fit(X, classes(y))
    sparse = KernelClassifier(C=SEVERAL, map=features(), tol=1e-7, preparation=None).fit(sp.csr_array(X), classes(y))
    single = KernelClassifier(C=SEVERAL, map=features(), tol=1e-6, preparation=None).fit(
        X.astype(np.float32), classes(y)
    )
    np.testing.assert_allclose(sparse.penalty_path_.scores, dense.penalty_path_.scores, rtol=1e-6)
    np.testing.assert_allclose(single.penalty_path_.scores, dense.penalty_path_.scores, rtol=2e-3)


def test_several_tasks_are_chosen_together():
    X, y = problem()
    both = np.column_stack([classes(y), classes(X[:, 0] ** 2 - 1.0, 2)])
    model = KernelClassifier(C=SEVERAL, map=features(), loss="logistic", tol=1e-8, preparation=None).fit(X, both)
    parts = [
        KernelClassifier(C=SEVERAL, map=features(), loss="logistic", tol=1e-8, preparation=None).fit(X, one)
        for one in both.T
    ]
    sums = np.sum([part.penalty_path_.scores for part in parts], axis=0)
    np.testing.assert_allclose(model.penalty_path_.scores, sums, rtol=1e-4)


def test_landmarks_by_loss_do_not_see_rows_held_out(monkeypatch):
    from mercer.learn.fitting import landmark_fit

    monkeypatch.setattr(landmark_fit, "LEAST_PILOT", 16)
    X, y = problem(300)
    given = {"kernel": KERNEL, "map": "nystrom", "n_components": 64, "solver": "landmarks", "random_state": 0}
    model = KernelClassifier(C="holdout", **({"kernel": None, "preparation": None} | given)).fit(X, classes(y))
    held = held_out(model.map_.seed_, 0, len(X))
    other = np.where(held, (classes(y) + 1) % 3, classes(y))
    again = KernelClassifier(C="holdout", **({"kernel": None, "preparation": None} | given)).fit(X, other)
    np.testing.assert_array_equal(model.map_.component_indices_, again.map_.component_indices_)


@pytest.mark.parametrize(
    "model",
    [
        KernelClassifier(C=SEVERAL, map=features(), preparation=None),
        KernelClassifier(C="loo", loss="squared", map=features(), preparation=None),
        KernelClassifier(C="gcv", loss="squared", map=features(), preparation=None),
        KernelRegressor(alpha="loo", loss="huber", map=features(), preparation=None),
        KernelRegressor(alpha="holdout", map=features(), preparation=None),
    ],
)
def test_files_have_the_path(model, tmp_path):
    X, y = problem(80)
    train(model, X, classes(y).astype(float), output=tmp_path / "model")
    again = mercer.load(tmp_path / "model")
    assert again.penalty_path_ == model.penalty_path_
    assert again.solver_ == model.solver_
    name = "C_" if isinstance(model, KernelClassifier) else "alpha_"
    assert getattr(again, name) == getattr(model, name)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_files_of_earlier_versions_have_one_penalty(tmp_path):
    X, y = problem(80)
    model = KernelClassifier(C=3.0, map=features(), preparation=None).fit(X, classes(y))
    del model.C_, model.solver_
    mercer.save(model, tmp_path / "model")
    assert mercer.load(tmp_path / "model").C_ == 3.0


def test_files_with_half_a_path_are_refused(tmp_path):
    X, y = problem(80)
    model = KernelClassifier(C=SEVERAL, map=features(), preparation=None).fit(X, classes(y))
    model.penalty_path_ = model.penalty_path_._replace(scores=(1.0,))
    with pytest.raises(ValueError, match="do not belong together"):  # a file is read before it is kept
        mercer.save(model, tmp_path / "model")


# -- the solver and its cost -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (KernelClassifier(map=features(), C=1.0, preparation=None), "newton"),
        (KernelClassifier(map=features(), solver="wide", C=1.0, preparation=None), "wide"),
        (KernelClassifier(map=landmarks(), solver="landmarks", C=1.0, preparation=None), "landmarks"),
        (KernelClassifier(map=features(), loss="squared", C=1.0, preparation=None), "sums"),
        (KernelClassifier(map=features(), loss="squared", C="gcv", preparation=None), "sums"),
        (KernelRegressor(map=features(), loss="huber", alpha=1.0, preparation=None), "newton"),
        (KernelRegressor(map=features(), alpha="loo", preparation=None), "sums"),
    ],
)
def test_the_solver_reports_its_cost(model, name):
    X, y = problem()
    model.fit(X, classes(y))
    assert model.solver_.name == name
    assert model.solver_.expected > 0.0
    assert model.solver_.operations > 0.0
    assert model.n_iter_ >= 1
    if name != "sums":
        assert model.gap_ <= model.tol
        assert model.objective_ > 0.0


def test_what_is_not_counted_is_not_a_number():
    found = SolverCost.of(Report(True, 3, 0, (1.0,), 0.0, "liblinear"))  # as models of earlier versions hold it
    assert found.name == "liblinear"
    assert np.isnan(found.operations)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("width", [16, 400])
def test_iterations_of_liblinear_are_counted(loss, width):
    X, y = problem()
    n = len(X)
    assert 16 < n < 400
    map = mercer.RandomFourier(KERNEL, n_components=width, random_state=0)
    model = KernelClassifier(map=map, solver="liblinear", loss=loss, C=1.0).fit(X, y > np.median(y))
    dual = loss == "squared_hinge" and width == 400
    # Two products in float64 for every row: once in a pass of the dual method, and in each inner step of Newton's.
    one = 2.0 * 4.0 * 3.0 * n * width * (1.0 if dual else 5.0)
    assert model.solver_.operations == pytest.approx(model.n_iter_ * one)
    assert model.solver_.expected == pytest.approx((100.0 if dual else 8.0) * one)
    three = clone(model).fit(X, np.digitize(y, np.quantile(y, [0.3, 0.6])))
    assert three.solver_.expected == pytest.approx(3.0 * model.solver_.expected)
    assert three.n_iter_ * one < three.solver_.operations <= 3.0 * three.n_iter_ * one  # all classes count


def test_steps_of_the_exact_machine_are_counted():
    X, y = problem()
    model = KernelClassifier(KERNEL, map="exact", random_state=0, C=1.0, preparation=None).fit(X, classes(y))
    one = step_cost(len(X), [len(X)] * len(model.coef_))
    assert model.solver_.name == "exact"
    assert model.solver_.expected == USUAL_STEPS * one  # of so few rows all are candidates
    assert 0.0 < model.solver_.operations < model.n_iter_ * one  # but not all are active
    assert step_cost(0, [3, 6]) == 81.0


def test_more_operations_are_expected_of_more_penalties():
    X, y = problem()
    one = KernelClassifier(map=features(), C=1.0, preparation=None).fit(X, classes(y)).solver_
    two = KernelClassifier(map=features(), C=[0.5, 1.0], preparation=None).fit(X, classes(y)).solver_
    assert two.expected == pytest.approx(2.0 * one.expected, rel=0.5)
    assert two.expected > one.expected
    assert KernelClassifier(map=features(), loss="squared", C="loo", preparation=None).fit(
        X, classes(y)
    ).solver_.operations > (
        KernelClassifier(map=features(), loss="squared", C="gcv", preparation=None)
        .fit(X, classes(y))
        .solver_.operations
    )


# -- what cannot be ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (KernelClassifier(C="gcv", kernel=None, preparation=None), "C must be one of"),
        (KernelClassifier(C="cv", loss="squared", kernel=None, preparation=None), "C must be one of"),
        (
            KernelClassifier(C=[], kernel=None, preparation=None),
            "C must be a positive finite number, several, or one of",
        ),
        (KernelClassifier(C=[1.0, 0.0], kernel=None, preparation=None), "C must be a positive finite number, several"),
        (
            KernelClassifier(C=[1.0, np.inf], kernel=None, preparation=None),
            "C must be a positive finite number, several",
        ),
        (KernelClassifier(C=[[1.0]], kernel=None, preparation=None), "C must be a positive finite number, several"),
        (KernelClassifier(C=True, kernel=None, preparation=None), "C must be a positive finite number, several"),
        (KernelClassifier(C=None, kernel=None, preparation=None), "C must be a positive finite number, several"),
        (KernelClassifier(C=[1.0, 2.0], map="exact", kernel=None, preparation=None), "require a single C"),
        (KernelClassifier(C="loo", solver="liblinear", kernel=None, preparation=None), "require a single C"),
        (
            KernelRegressor(alpha="gcv", loss="huber", kernel=None, preparation=None),
            "alpha='gcv' requires loss='squared'",
        ),
        (
            KernelRegressor(alpha=[1.0, -1.0], loss="poisson", kernel=None, preparation=None),
            "alpha must be a positive finite number, several",
        ),
        *(
            (
                KernelRegressor(alpha=alpha, solver=solver, kernel=None, preparation=None),
                "alpha must be a positive number",
            )
            for alpha in (0.0, [1.0, 0.0], "evidence")
            for solver in ("wide", "landmarks")
        ),
    ],
)
def test_invalid_penalties_are_refused(model, message):
    X, y = problem(30)
    with pytest.raises(ValueError, match=message):
        model.fit(X, classes(y))


def test_batches_take_one_penalty():
    X, y = problem(60)
    y = classes(y)
    for C in ([0.1, 1.0], "loo", "holdout"):
        with pytest.raises(ValueError, match="needs all rows, which sums do not contain: give one number or 'gcv'"):
            KernelClassifier(C=C, loss="squared", map=features(), preparation=None).partial_fit(X, y, classes=[0, 1, 2])
        assert not hasattr(KernelClassifier(C=C, kernel=None, preparation=None), "partial_fit")
    batches = KernelClassifier(C="gcv", loss="squared", map=features(), preparation=None)
    for rows in (slice(0, 30), slice(30, 60)):
        batches.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
    whole = KernelClassifier(C="gcv", loss="squared", map=features(), preparation=None).fit(X, y)
    assert batches.C_ == whole.C_


def test_hessians_are_refused_before_any_pass():
    one, several = (KernelClassifier(map=features(3000), C=C, solver="newton", preparation=None) for C in (1.0, "loo"))
    extent = mercer.learn.estimates.memory_estimates.Extent(3000, 5000)
    assert several.bytes_needed(extent) - one.bytes_needed(extent) >= 16 * 3000**2
    assert KernelClassifier(map=features(3000), C="holdout", solver="newton", preparation=None).bytes_needed(
        extent
    ) == (one.bytes_needed(extent))


def test_the_last_report_is_about_the_solution():
    X, y = problem()
    seen = []
    KernelClassifier(C="holdout", map=features(), callback=seen.append, preparation=None).fit(X, classes(y))
    assert seen[-1].what == "solution"
    assert [one.what for one in seen].count("features") == 1


def test_a_checkpoint_has_all_of_a_path():
    report = Report(True, 4, 9, (3.0, 2.0), 1e-3, "newton")
    state = PathState(np.ones((2, 1)), np.zeros((2, 1)), report, 1, (0.5, 0.4), (7.0, 6.0), (3, 4), 21, (np.arange(3),))
    again = PathState.of(state.arrays())
    assert again[2:8] == state[2:8]
    for found, kept in zip((*again[:2], *again.carried), (*state[:2], *state.carried), strict=True):
        np.testing.assert_array_equal(found, kept)
