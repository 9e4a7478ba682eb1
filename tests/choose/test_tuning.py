"""The search among given kernels: its rounds, its scores and its end."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import mercer
from mercer import data
from mercer.choose import PilotSearch, Search, Trial, fit_times, growth, halving
from mercer.choose.candidates import Family, grid
from mercer.choose.halving import expected, promoted, rounds_of
from mercer.choose.samples import balanced_weights
from mercer.choose.time_budget import Clock
from mercer.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial
from mercer.learn.context import FitContext

from ..tables import every_value

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 3))
NUMBERS = np.abs(X).sum(axis=1)
CLASSES = np.where((X**2).sum(axis=1) < 2.0, "in", np.where(X[:, 0] > 0.0, "right", "left"))


@pytest.fixture
def small(monkeypatch):
    """Rounds with few rows and features."""
    monkeypatch.setattr(halving, "FIRST_ROWS", 100)
    monkeypatch.setattr(halving, "FIRST_WIDTH", 16)


def search(y=NUMBERS, task="regression", rows=X, **options):
    given = {"kernels": ["gaussian('median')", "laplacian('median')"], "rounds": 1, "features": 64}
    return Search(data.open(rows, target=y), task, **(given | options))


# -- candidates and rounds ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "field", "power"),
    [
        (Gaussian("median"), "gamma", -2),
        (Laplacian("scale"), "gamma", -1),
        (Matern(1.5, length_scale="median"), "length_scale", 1),
        (2.0 * Gaussian("median"), "kernel__gamma", -2),
    ],
)
def test_lengths_are_powers_of_two(kernel, field, power):
    if kernel == Laplacian("scale"):
        power = -2  # this rule is one over a variance
    found = [one.kernel.get_params()[field] for one in grid(Family(kernel, None, X, 0))]
    np.testing.assert_allclose(np.diff(np.log2(found)), power, atol=1e-3)
    middle = kernel.resolve(X, 0).get_params()[field]
    assert found[3] == pytest.approx(middle, rel=1e-3)


def test_kernels_without_rules_are_tried_once():
    only = Family(Gaussian(0.5) + Linear(), "unit", X, 0)
    assert [one.kernel for one in grid(only)] == [only.kernel]
    assert only.at(0.0).neighbours() == []
    assert len(grid(Family(Polynomial(2, gamma="median"), None, X, 0))) == 3


def test_rounds_grow_up_to_the_limits():
    assert [tuple(one) for one in rounds_of(10_000, 40, 4096, 9)] == [
        (1, 2000, 512, 40),
        (2, 6000, 1024, 8),
        (3, 10_000, 2048, 2),
        (4, 10_000, 4096, 2),
    ]
    assert [tuple(one) for one in rounds_of(50, 7, 16, 4)] == [(1, 50, 16, 7)]
    assert [tuple(one) for one in rounds_of(600, 8, 4096, 4)] == [(1, 600, 512, 8), (2, 600, 1024, 2)]


def trial(score, seconds=1.0):
    return Trial(1, "", None, "squared", 1.0, 100, 10, "", score, seconds)


def test_the_best_continues_with_its_neighbours():
    entered = grid(Family(Gaussian("median"), None, X, 0))
    ranked = [(entered[place], trial(0.5)) for place in (2, 4, 0)]  # all others were not in the round
    kept = promoted(ranked, 2)
    assert kept[:2] == [entered[2], entered[4]]
    gamma = float(entered[2].kernel.gamma)
    np.testing.assert_allclose([one.kernel.gamma / gamma for one in kept[2:]], [4.0, 2.0, 0.5], rtol=2e-3)
    grown = (3 * 400 * 20**2 + 10 * 20**3) / (3 * 100 * 10**2 + 10 * 10**3)
    assert expected(ranked, rounds_of(400, 3, 20, 1)[0], 2, 1) == pytest.approx(2 * 0.7 * grown)


# -- scores ------------------------------------------------------------------------------------------------------------


def test_scores_are_those_of_leaving_out_rows():
    found = search(kernels=["gaussian(0.3)"], scale=None).run()
    (one,) = found.trials
    errors = []
    for row in range(0, 600, 40):
        rest = np.arange(600) != row
        model = mercer.KernelRegressor(Gaussian(0.3), n_components=64, alpha=one.regularisation, random_state=0)
        errors.append(model.fit(X[rest], NUMBERS[rest]).predict(X[[row]])[0] - NUMBERS[row])
    whole = mercer.KernelRegressor(Gaussian(0.3), n_components=64, alpha="loo", random_state=0).fit(X, NUMBERS)
    assert one.regularisation == pytest.approx(whole.alpha_, rel=1e-6)
    assert one.score == pytest.approx(1.0 - whole.scores_.min() / NUMBERS.var(), rel=1e-9)
    assert np.mean(np.square(errors)) == pytest.approx(whole.scores_.min(), rel=0.8)  # 15 rows of 600


@pytest.mark.parametrize("y", [CLASSES, CLASSES == "in"], ids=["three", "two"])
@pytest.mark.parametrize("weighted", [False, True])
def test_classes_are_ranked_by_the_accuracy_of_leaving_out_rows(y, weighted):
    few, weight = slice(0, 60), np.random.default_rng(1).integers(0, 3, 60) * 1.0
    table = data.open(X[few], target=y[few], weight=weight if weighted else None)
    options = {"kernels": ["gaussian(0.3)"], "scale": None, "loss": "squared", "rounds": 1, "features": 16}
    (one,) = Search(table, "classification", **options).run().trials
    assert one.measure == "leave-one-out accuracy"
    codes = np.where(y[few, None] == np.unique(y)[1 if len(np.unique(y)) == 2 else slice(None)], 1.0, -1.0)
    features = mercer.feature_map("gaussian(0.3)", n_components=16, random_state=0).fit(X[few])
    Z, w = features.transform(X[few]), weight if weighted else np.ones(60)
    hits = []
    for row in range(60):
        rest = np.where(np.arange(60) == row, 0.0, w)
        z, c = np.average(Z, axis=0, weights=rest), np.average(codes, axis=0, weights=rest)
        gram = (Z - z).T @ (rest[:, None] * (Z - z)) + one.regularisation * np.eye(Z.shape[1])
        coef = np.linalg.solve(gram, (Z - z).T @ (rest[:, None] * (codes - c)))
        told = (Z[row] - z) @ coef + c
        right = told[0] * codes[row, 0] > 0 if len(told) == 1 else told.argmax() == codes[row].argmax()
        hits.append(float(right))
    assert one.score == pytest.approx(np.average(hits, weights=w), abs=1e-9)


def test_kernels_of_equal_accuracy_are_ranked_by_r2(monkeypatch):
    monkeypatch.setattr(halving, "accuracy", lambda learner: 0.9)
    found = search(CLASSES, "classification", kernels=["linear()", "gaussian(0.5)"], loss="squared", scale=None).run()
    assert repr(found.model.kernel) == "Gaussian(gamma=0.5)"


def test_the_right_kernel_wins():
    y = np.sign(np.sin(4.0 * X[:, 0]))
    found = search(y=y, kernels=["gaussian('median')", "linear()"], features=128).run()
    best = max(found.trials, key=lambda one: one.score)
    assert best.kernel.startswith("Gaussian")
    assert best.score > 0.3
    assert repr(found.model.kernel) == best.kernel
    assert found.model.score(X, y) > 0.4


def test_classes_are_scored_on_rows_apart():
    found = search(CLASSES, "classification", kernels=["gaussian('median')"], loss="squared_hinge").run()
    apart = [one for one in found.trials if one.measure == "accuracy"]
    assert 2 <= len(apart) <= 5
    assert {one.rows for one in apart} == {480}
    best = max(apart, key=lambda one: one.score)
    assert best.regularisation == found.model.C
    assert found.fits[-1].rows == 600
    squared = search(CLASSES, "classification", kernels=["gaussian('median')"], scale=None, loss="squared").run()
    assert {one.measure for one in squared.trials} == {"leave-one-out accuracy"}
    top = max(squared.trials, key=lambda one: one.score)
    assert pytest.approx(0.5 / top.regularisation) == squared.model.C


@pytest.mark.parametrize("better", [True, False])
@pytest.mark.parametrize("hurried", [True, False])
def test_the_loss_that_did_better_comes_last(monkeypatch, better, hurried):
    scores = {"squared": 0.8, "squared_hinge": 0.9 if better else 0.8}
    monkeypatch.setattr(
        Search,
        "_compared",
        lambda self, best, trial, loss: trial._replace(loss=loss.name, regularisation=loss.C, score=scores[loss.name]),
    )
    if hurried:
        monkeypatch.setattr(growth, "ITERATED", math.inf)
    found = search(CLASSES, "classification", kernels=["gaussian(0.5)"], features=32, seconds=1e6).run()
    losses = [fit.loss for fit in found.fits]
    assert losses == (["squared", "squared_hinge"] if better and not hurried else ["squared"])
    assert found.model.loss == losses[-1]
    assert bool(found.notes) == (better and hurried)


@pytest.mark.parametrize("steps", [(0.5, 0.6, 0.7, 0.6), (0.5, 0.4, 0.6, 0.5), (0.5, 0.4, 0.3)])
def test_c_climbs_towards_better_scores(monkeypatch, steps):
    scores = iter(steps)
    monkeypatch.setattr(
        Search, "_compared", lambda self, best, trial, loss: trial._replace(regularisation=loss.C, score=next(scores))
    )
    middle = growth.Loss("squared_hinge", 1.0)
    (name, C), tried = search(CLASSES, "classification")._climbed(None, trial(0.5), middle)
    assert name == "squared_hinge"
    assert [one.regularisation for one in tried] == {
        (0.5, 0.6, 0.7, 0.6): [1.0, 4.0, 16.0, 64.0],
        (0.5, 0.4, 0.6, 0.5): [1.0, 4.0, 0.25, 0.0625],
        (0.5, 0.4, 0.3): [1.0, 4.0, 0.25],
    }[steps]
    assert max(tried, key=lambda one: one.score).regularisation == C


# -- rows --------------------------------------------------------------------------------------------------------------


def test_frames_with_levels_gaps_and_weights():
    frame = pd.DataFrame({"x": X[:, 0], "town": RNG.choice(["oslo", "rome"], 600), "w": RNG.integers(0, 3, 600) * 1.0})
    frame["y"] = np.abs(frame["x"]) + (frame["town"] == "rome")
    frame.loc[5, ["x", "w"]] = np.nan, 1.0
    table = data.open(frame, target="y", weight="w")
    found = Search(table, "regression", kernels=["laplacian('median')"], features=64, rounds=1, missing="mean").run()
    assert found.model.score(table) > 0.9
    with pytest.raises(ValueError, match=r"row 5 of DataFrame, column 'x' is missing"):
        Search(table, "regression", kernels=["gaussian(1)"], features=64, rounds=1, missing="error").run()


def test_sparse_rows():
    rows = sp.csr_array(np.where(RNG.uniform(size=(600, 3)) < 0.5, X, 0.0))
    found = search(np.abs(rows.toarray()).sum(axis=1), rows=rows, kernels=["laplacian('median')"]).run()
    assert max(one.score for one in found.trials) > 0.9


def test_what_refuses_the_rows_is_left_out():
    found = search(kernels=["additive_chi2()", "gaussian(0.5)"]).run()
    assert [math.isnan(one.score) for one in found.trials] == [True, False, False]
    assert found.in_order()[2].kernel == "AdditiveChi2()"
    with pytest.raises(ValueError, match="Negative values in data passed to AdditiveChi2"):
        search(kernels=["additive_chi2()"]).run()


def test_wrong_arguments():
    with pytest.raises(ValueError, match="needs at least 2 classes, found 1 class: 'a'"):
        search(np.full(600, "a"), "classification").run()
    with pytest.raises(ValueError, match="kernels must contain at least one kernel"):
        search(kernels=[])
    with pytest.raises(TypeError, match="kernels must be kernels"):
        search(kernels=[3])
    for wrong in ({"rounds": 0}, {"seconds": 0}, {"features": 0}, {"loss": "hinge"}, {"task": "auto"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            search(**wrong)


# -- time and width ----------------------------------------------------------------------------------------------------


class Simulated:
    """A simulated clock, which only fits advance, by a formula."""

    def __init__(self, monkeypatch, square, cubic):
        self.now, self.square, self.cubic = 0.0, square, cubic
        monkeypatch.setattr(Clock, "spent", property(lambda clock: self.now))
        for kind in (mercer.KernelClassifier, mercer.KernelRegressor):
            monkeypatch.setattr(kind, "fit_table", self.timed(kind.fit_table))

    def seconds(self, rows, width):
        return self.square * rows * width**2 + self.cubic * width**3

    def timed(self, fit):
        def longer(learner, table, context, *others):
            self.now += self.seconds(table.n_rows, learner.n_components)
            fit(learner, table, context, *others)
            if context.progress is not None:
                context.progress(None)  # as late as can be
            return learner

        return longer


@every_value(
    seconds=[6.0, 25.0, 60.0, 200.0],
    task=["classification", "regression"],
    ending=[
        *(pytest.param(None, id="alone"), pytest.param(lambda fit: 0.5 * fit.seconds + 1.0, id="with an end")),
    ],
)
def test_a_search_ends_within_its_time_and_uses_it(monkeypatch, small, seconds, task, ending):
    time = Simulated(monkeypatch, 2e-6, 2e-5)  # 0.13 s for a trial of the first round, 11 s for the widest model
    y = NUMBERS if task == "regression" else CLASSES
    options = {"kernels": ["gaussian('median')"], "rounds": 4, "features": 64, "n_jobs": 1, "ending": ending}
    found = search(y=y, task=task, seconds=seconds, **options).run()
    all_of_it = time.now + (ending(found.fits[-1]) if ending else 0.0)
    assert all_of_it <= 1.1 * seconds
    if found.notes:  # the trials that were left out would not have ended in time
        assert all_of_it >= 0.5 * seconds, found.notes
    else:
        assert found.model.n_components == 64
        assert {trial.round for trial in found.trials} - {None} == set(range(1, len(search(**options).plan()) + 1))
    assert seconds < 200.0 or not found.notes


def test_a_round_that_was_left_out_is_made_up_for(monkeypatch, small):
    """The time of a fit to all rows is only guessed before the first one; remaining time is used afterwards."""
    time = Simulated(monkeypatch, 2e-6, 1e-7)
    monkeypatch.setattr(Search, "_fit_alike", lambda self, trial, width: trial._replace(seconds=30.0))
    options = {"kernels": ["gaussian('median')"], "rounds": 3, "features": 64, "n_jobs": 1}
    found = search(**options, seconds=35.0).run()
    assert max(trial.round for trial in found.trials if trial.round) == 3
    assert found.notes == []
    assert 20.0 < time.now <= 35.0
    assert [fit.features for fit in found.fits][:2] == [32, 64]  # before the last round
    best = [trial for trial in found.trials if trial.round == 3]
    assert repr(found.model.kernel) == max(best, key=lambda one: one.score).kernel


def test_a_first_fit_is_narrower_where_there_is_little_time(monkeypatch, small):
    Simulated(monkeypatch, 1e-6, 1e-3)
    monkeypatch.setattr(growth, "LEAST_WIDTH", 4)
    found = search(kernels=["gaussian(0.5)"], scale=None, rounds=1, features=64, seconds=10.0, n_jobs=1).run()
    assert found.fits[0].features < 16
    assert found.notes[-1].startswith("there was no time for more than")


def test_what_is_left_of_a_search(monkeypatch, small):
    time = Simulated(monkeypatch, 1e-5, 1e-6)
    left, known = [], []

    def told(line):
        left.append((time.now, unlimited.seconds_left))
        known.append(line)

    unlimited = search(kernels=["gaussian('median')"], rounds=2, features=64, n_jobs=1, progress=told)
    unlimited.run()
    assert left[0] == (0.0, None)
    assert all(seconds is not None and seconds >= 0.0 for _, seconds in left[1:])
    assert known[0].startswith("round 1 of 2")
    limited = search(seconds=100.0)
    time.now += 30.0
    assert limited.seconds_left == 100.0 - time.now


def test_forecasts_of_fits_are_close():
    def fit(features, seconds):
        return Trial(None, "", None, "squared", 1.0, 1000, features, "fit", math.nan, seconds)

    law = [fit(width, 2.0 * width**2 + 3.0 * width**3) for width in (16, 32)]
    assert fit_times.seconds_at(64, law) == pytest.approx(2.0 * 64**2 + 3.0 * 64**3)
    assert fit_times.seconds_at(32, law[:1]) > 4.0 * law[0].seconds
    slower = [fit(16, 8.0), fit(32, 8.0)]  # as if it cost nothing to be wider
    assert fit_times.seconds_at(64, slower) == pytest.approx(32.0)
    wide = [fit(width, 1e-6 * width**2) for width in (512, 1024)]
    assert fit_times.widest(wide, 8192, 100.0) == 2048
    assert fit_times.widest(wide, 1500, 100.0) == 1500
    assert fit_times.widest(wide, 8192, 1e-6 * 1600**2) == 1600
    assert fit_times.widest(wide, 8192, 1.0) == 1024


def test_a_fit_that_does_not_end_leaves_the_one_before(monkeypatch, small):
    told = []
    monkeypatch.setattr(Clock, "tick", lambda self, one=None: (_ for _ in ()).throw(growth.OutOfTimeError))
    common = {"kernels": ["gaussian(0.5)"], "scale": None, "rounds": 1, "progress": told.append}
    found = search(CLASSES, "classification", features=32, loss="squared_hinge", **common).run()
    assert found.notes == ["the fit with 32 features did not end in time: the model has 16"]
    assert found.model.n_components == 16
    assert found.model.callback is None
    assert told[-1] == "fit: 600 rows, 32 features, squared_hinge"


def test_features_that_depend_on_each_other_end_the_growth(monkeypatch, small):
    def made(self, best, width, **_):
        C = 1e-3 if width == 16 else 1e30
        return mercer.KernelClassifier(
            best.kernel, n_components=width, loss="squared", C=C, random_state=0, preparation=None
        )

    monkeypatch.setattr(Search, "_learner", made)
    found = search(
        CLASSES, "classification", loss="squared", kernels=["gaussian(1e-12)"], scale=None, features=32
    ).run()
    assert found.notes == ["the fit with 32 features needs more regularisation: the model has 16"]


@pytest.mark.parametrize(("kernel", "nested"), [(Gaussian(0.3), True), (Polynomial(3, coef0=1.0), False)])
def test_a_wider_fit_starts_with_the_narrower_one(kernel, nested):
    def machine(width):
        return mercer.KernelClassifier(
            kernel, n_components=width, scale="minmax", tol=1e-9, random_state=0, C=1.0, preparation=None
        )

    narrow, cold, warm = machine(64).fit(X, CLASSES), machine(128).fit(X, CLASSES), machine(128)
    warm.fit_table(warm.table_to_fit(X, CLASSES), FitContext(warm_start=narrow))
    np.testing.assert_allclose(warm.decision_function(X), cold.decision_function(X), atol=1e-3)
    first, began = warm.convergence_.objectives[0], cold.convergence_.objectives[0]
    if nested:
        # The old features are smaller by a factor of sqrt(2), and their coefficients larger by this factor.
        penalty = 0.5 * float((narrow.coef_**2).sum())
        assert first == pytest.approx(narrow.convergence_.objectives[-1] + penalty, rel=1e-4)
        assert first < began
    else:
        assert first == began


def test_a_search_among_balanced_classes_weighs_its_sample():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(1000) < 0.05, "rare", "common")
    table = data.open(rng.normal(size=(1000, 2)), target=y, weight=rng.uniform(1.0, 2.0, 1000))
    options = {"kernels": ["gaussian('median')"], "rounds": 1, "features": 16}
    plain, weighed = (Search(table, "classification", class_weight=one, **options).sample for one in (None, "balanced"))
    rare = plain.Y[:, 0] > 0
    assert weighed.weight[rare].mean() / weighed.weight[~rare].mean() == pytest.approx(
        (~rare).sum() / rare.sum(), rel=0.1
    )
    assert plain.weight[rare].mean() == pytest.approx(plain.weight[~rare].mean(), rel=0.1)
    assert weighed.weight.mean() == pytest.approx(plain.weight.mean(), rel=0.1)
    with pytest.raises(ValueError, match="class_weight is for classification"):
        Search(table, "regression", kernels=["gaussian(1)"], class_weight="balanced")
    with pytest.raises(ValueError, match="class_weight must be one of"):
        Search(table, "classification", kernels=["gaussian(1)"], class_weight={"rare": 2.0})


# -- one call ----------------------------------------------------------------------------------------------------------

QUICK = {"kernels": ["gaussian(0.5)", "linear()"], "scale": None, "rounds": 1, "features": 32}


@pytest.mark.parametrize("y", [NUMBERS, CLASSES], ids=["numbers", "classes"])
def test_tune_takes_arrays_frames_and_tables_alike(y):
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=y)
    given = [(X, y), (pd.DataFrame(X, columns=list("abc")), y), (frame, "y"), (data.open(frame, target="y"),)]
    found = [mercer.tune(*rows, **QUICK) for rows in given]
    kind = mercer.KernelRegressor if y is NUMBERS else mercer.KernelClassifier
    for one in found:
        assert isinstance(one, mercer.choose.Tuned)
        assert isinstance(one.model, kind)
        assert [trial._replace(seconds=0.0) for trial in one.trials if trial.round] == [
            trial._replace(seconds=0.0) for trial in found[0].trials if trial.round
        ]
        np.testing.assert_array_equal(one.model.coef_, found[0].model.coef_)


def test_tune_has_the_defaults_of_the_command_line(monkeypatch):
    made = []
    for kind in (PilotSearch, Search):
        monkeypatch.setattr(kind, "run", lambda self: made.append(self))
    mercer.tune(X, NUMBERS)
    mercer.tune(X, NUMBERS, rounds=2)
    mercer.tune(X, NUMBERS, rounds=2, seconds=7.0, task="classification", sample_weight=np.ones(600))
    mercer.tune(X, NUMBERS, kernels=["linear()"])
    assert [type(one) for one in made] == [PilotSearch] * 3 + [Search]
    seconds = [(one.setting.clock.seconds, one.rounds) for one in made]
    assert seconds == [(120.0, None), (None, 2), (7.0, 2), (120.0, 4)]
    assert [one.task for one in made[:3]] == ["regression", "regression", "classification"]
    assert next(made[2].table.blocks()).weight is not None


def test_balanced_classes_count_the_weights_of_rows():
    y, weight = np.repeat(["a", "b"], [90, 10]), np.repeat([1.0, 9.0], [90, 10])
    for given in (None, weight):
        found = balanced_weights(y, given)
        assert found[:90].sum() == pytest.approx(found[90:].sum())
        assert found.sum() == pytest.approx(100.0 if given is None else 180.0)


@pytest.mark.parametrize("kernels", [None, ["linear()"]], ids=["none", "given"])
def test_tune_passes_on_what_the_search_takes(monkeypatch, kernels):
    made = []
    for kind in (PilotSearch, Search):
        monkeypatch.setattr(kind, "run", lambda self: made.append(self))
    mercer.tune(X, CLASSES, kernels=kernels, class_weight="balanced", dates="parts", missing="mean", unknown="error")
    assert made[0].class_weight == "balanced"
    assert {"missing": "mean", "unknown": "error", "dates": "parts"}.items() <= made[0].preparing.items()
    with pytest.raises(TypeError, match="map must be 'auto' or the name of a map"):
        mercer.tune(X, NUMBERS, kernels=kernels, map=mercer.RandomFourier())


def test_tune_refuses_bad_arguments():
    with pytest.raises(ValueError, match="tune needs a target"):
        mercer.tune(X)
    with pytest.raises(ValueError, match="a table has its own target"):
        mercer.tune(data.open(X, target=NUMBERS), NUMBERS)
    with pytest.raises(ValueError, match="task"):
        mercer.tune(X, NUMBERS, task="clustering")
