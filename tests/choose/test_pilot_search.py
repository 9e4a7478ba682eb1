"""The search from the default learner: its changes, its result, and its time."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

import mercer
from mercer import data
from mercer._caller import warn_caller, without_warnings
from mercer.choose import PilotSearch, Trial, fit_times, pilot_search, variants
from mercer.choose.pilot_search import Tried, better_in_both_halves, chosen
from mercer.choose.time_budget import Clock
from mercer.data import ArrayTable
from mercer.data.block import rows_of
from mercer.kernels import Gaussian, Matern
from mercer.learn.context import FitContext
from mercer.learn.pilot.trials import clearly_better

from ..tables import every_value

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 4))
MORE = np.random.default_rng(1).normal(size=(900, 4))
WAVES = np.sin(3.0 * X[:, 0]) + 0.1 * RNG.normal(size=400)
CLASSES = np.where((X[:, :2] ** 2).sum(axis=1) < 1.4, "in", "out")


def heavy_tails(seed):
    rng = np.random.default_rng(seed)
    rows = rng.standard_cauchy(size=(400, 3))
    return rows, np.tanh(rows[:, 0]) + 0.1 * rng.standard_t(2, size=400)


def noise(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(300, 3)), rng.normal(size=300)


def search(y=WAVES, task="regression", rows=X, **options):
    return PilotSearch(data.open(rows, target=y), task, **({"rounds": 1, "features": 64} | options))


SMALL = {"n_components": 64, "alpha": 1e-6, "scale": "standard", "columns": None, "random_state": 0}
"""A machine that overfits: it follows every row."""


def drawn(made):
    """The rows from which a search learns, and the rows that it holds out."""
    block, count = made._drawn, made.n_held
    return rows_of(block, slice(count, len(block.y) - count)), rows_of(block, slice(count))


# -- never worse -------------------------------------------------------------------------------------------------------


@every_value(seed=[0, 1, 2], table=["waves", "heavy tails", "noise", "classes"])
def test_the_result_is_never_worse_on_held_out_rows_than_the_default(table, seed):
    rows, y = {"waves": (X, WAVES), "classes": (X, CLASSES)}.get(table) or {
        "heavy tails": heavy_tails,
        "noise": noise,
    }[table](seed)
    task = "classification" if table == "classes" else "regression"
    made = search(y, task, rows, random_state=seed)
    found = made.run()
    learned, held = drawn(made)
    kind = mercer.KernelClassifier if task == "classification" else mercer.KernelRegressor
    default = kind(n_components=64, random_state=seed)
    context = FitContext(preparation=made._columns_of_all)
    default.fit_table(default.table_to_fit(ArrayTable(*learned)), context)
    assert found.trials[0].score == pytest.approx(default.score(held.X, held.y), abs=1e-9)
    ended = found.fits[-1]
    if found.notes == ["nothing was better than the default learner"]:
        assert_array_equal(found.model.coef_, kind(n_components=64, random_state=seed).fit(rows, y).coef_)
        assert found.model.kernel == "auto"
    else:
        kept = [one for one in found.trials[1:] if one[1:5] == ended[1:5]]
        assert max(one.score for one in kept) > found.trials[0].score
    assert table != "noise" or found.model.score(rows, y) < 0.5


def tried(errors, features):
    variant = variants.Variant(variants.GAUSSIAN, 1.0, features, "squared", 1.0, 0)
    return Tried(variant, Trial(1, "", None, "squared", 1.0, 100, features, "", 0.0, 1.0), np.asarray(errors))


def test_the_narrowest_of_those_that_are_no_worse_is_taken():
    flip = np.tile([0.1, -0.1], 50)
    default, wide = tried(np.full(100, 1.0), 64), tried(np.full(100, 0.8), 256)
    slightly, narrow = tried(1.0 + flip - 1e-3, 64), tried(0.8 + flip + 1e-3, 128)  # by less than a standard error
    assert chosen(default, []) is default
    assert chosen(default, [slightly]) is default
    assert chosen(default, [slightly, wide]) is wide
    assert chosen(default, [wide, narrow, slightly]) is narrow
    assert chosen(default, [wide, tried(np.full(100, 0.9), 128)]) is wide
    same = tried(np.full(100, 0.7), 256)
    assert chosen(default, [wide, same]) is same


def test_both_halves_have_to_be_better():
    before = np.full(100, 1.0)
    assert better_in_both_halves(np.full(100, 0.9), before, 1.0)
    uneven = np.where(np.arange(100) < 50, 0.4, 1.01)
    assert clearly_better(uneven, before)
    assert not better_in_both_halves(uneven, before, 1.0)
    even = 0.99 + np.tile([0.05, -0.05], 50)  # better by two standard errors
    assert better_in_both_halves(even, before, 1.5)
    assert not better_in_both_halves(even, before, 2.5)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_what_only_looks_better_is_not_confirmed(monkeypatch, seed):
    """If a worse machine looks better on the comparison rows, the confirmation rows correct this."""
    made = search(WAVES, random_state=seed)
    errors = made._errors

    def misled(model, held):
        found = errors(model, held)
        is_default = model.kernel == "auto"
        return found if held is made._last or is_default else 0.01 * found / found.sum()

    monkeypatch.setattr(made, "_errors", misled)
    plain = mercer.KernelRegressor(n_components=64, random_state=seed)
    monkeypatch.setattr(made, "_machine", lambda variant: plain.__class__(kernel=Gaussian(50.0), **SMALL))
    found = made.run()
    assert max(one.score for one in found.trials) == pytest.approx(0.99)
    assert found.notes == [pilot_search.CONFIRMED]
    assert found.model.kernel == "auto"


def test_rows_that_confirm_the_result_are_not_used_for_learning(monkeypatch):
    """The confirmation rows are not used for training until the best machine is fitted to all rows."""
    made = search(rounds=1)
    last = {row.tobytes() for row in made._last.X}
    seen = []
    fit_table = mercer.KernelRegressor.fit_table

    def watched(learner, table, context):
        seen.append({row.tobytes() for row in next(iter(table.blocks())).X})
        return fit_table(learner, table, context)

    monkeypatch.setattr(mercer.KernelRegressor, "fit_table", watched)
    made.run()
    assert len(last) == 80
    assert all(last.isdisjoint(rows) for rows in seen[:-1])
    assert last < seen[-1]


def test_time_that_is_left_goes_to_other_rows(monkeypatch):
    """The search starts again with other held-out rows, but with the same confirmation rows."""
    made, laps = search(rounds=None, features=16, seconds=1e6), []
    searched = made._searched_through

    def watched(default, number):
        laps.append(set(made._held_numbers))
        return searched(default, number)

    monkeypatch.setattr(made, "_searched_through", watched)
    made.run()
    assert len(laps) == pilot_search.LAPS
    assert all(one.isdisjoint(other) for place, one in enumerate(laps) for other in laps[:place])
    assert all(max(one) < 320 for one in laps)


# -- what is searched --------------------------------------------------------------------------------------------------


def test_one_thing_is_changed_at_a_time():
    found = search(CLASSES, "classification").run()
    first, second = (np.array([one.kernel, one.loss, one.features, one.learned_columns]) for one in found.trials[:2])
    assert np.count_nonzero(first != second) == 1
    assert {one.loss for one in found.trials} == {"squared_hinge", "squared", "logistic"}
    assert {one.kernel.split("(")[0] for one in found.trials} == {"Gaussian", "Matern"}
    assert len({one.regularisation for one in found.trials}) >= 3
    assert {one.measure for one in found.trials} == {"held-out accuracy"}
    only = search(CLASSES, "classification", loss="logistic").run()
    assert {one.loss for one in only.trials} == {"logistic"}


def test_changes_of_a_machine():
    best = variants.Variant(*variants.family_of(Matern(1.5, length_scale=2.0)), 64, "squared_hinge", 8.0, 0)
    assert best.kernel == Matern(1.5, length_scale=2.0)
    kernels = [one.kernel for one in variants.other_kernels(best, 2.0)]
    assert kernels[0] == Gaussian(0.5)
    assert [kernel.nu for kernel in kernels[1:]] == [2.5, 0.5]
    assert kernels[2].length_scale == pytest.approx(2.0 * np.sqrt(2.0))
    assert [one.gamma for one in variants.other_bandwidths(best, 2.0)] == [0.125, 0.5]
    assert [one.penalty for one in variants.other_penalties(best, 2.0)] == [2.0, 32.0]
    assert [(one.loss, one.penalty) for one in variants.other_losses(best, 2.0)] == [
        ("squared", 8.0),
        ("logistic", 32.0),
    ]
    assert best._replace(gamma=0.25 * (1.0 + 1e-12)).name == best.name


def test_width_grows_where_it_helps(monkeypatch):
    monkeypatch.setattr(pilot_search, "LEARNER_WIDTH", 16)
    found = search(np.cos(2.0 * MORE[:, :2]).sum(axis=1), rows=MORE, features=50, rounds=3).run()
    widths = [one.features for one in found.trials]
    assert widths[0] == 16
    assert {32, 50} <= set(widths) <= {16, 32, 50}
    assert found.model.n_components > 16


def test_a_search_starts_with_fewer_features_than_the_default_has(monkeypatch):
    monkeypatch.setattr(pilot_search, "FIRST_WIDTH", 16)
    found = search(np.sin(3.0 * MORE[:, 0]), rows=MORE, features=64).run()
    widths = [one.features for one in found.trials]
    assert widths[:2] == [64, 16]
    assert widths[-1] == 64  # the result is compared with the default learner of the same width
    assert set(widths) == {16, 64}


def test_columns_are_learned_from_more_rows(monkeypatch):
    monkeypatch.setattr(pilot_search, "COLUMN_ROWS", 80)
    monkeypatch.setattr(pilot_search, "MOST_COLUMN_ROWS", 300)
    told = []
    found = search(np.sin(X[:, 0]), rounds=2, progress=told.append).run()
    assert [line for line in told if line.startswith("columns")] == ["columns: 160 rows", "columns: 240 rows"]
    assert any(one.learned_columns for one in found.trials)


# -- rows --------------------------------------------------------------------------------------------------------------


def test_the_model_takes_raw_rows_and_is_saved(tmp_path):
    frame = pd.DataFrame({"x": np.exp(3.0 * X[:, 0]), "town": RNG.choice(["oslo", "rome"], 400), "z": X[:, 1]})
    frame.loc[3, "x"] = np.nan
    frame["y"] = np.sin(2.0 * X[:, 0]) + (frame["town"] == "rome")
    found = mercer.tune(frame, "y", rounds=1, features=64)
    told = found.model.predict(frame.drop(columns="y"))
    assert found.model.score(frame.drop(columns="y"), frame["y"]) > 0.7
    mercer.save(found.model, tmp_path / "m.mercer")
    again = mercer.load(tmp_path / "m.mercer")
    assert_array_equal(again.predict(frame.drop(columns="y")), told)


def test_a_winner_has_learned_columns_and_explicit_arguments():
    rows = np.random.default_rng(5).normal(size=(400, 8))
    found = search(np.sin(3.0 * rows[:, 0]), rows=rows, features=128).run()
    assert "nothing was better than the default learner" not in found.notes
    model, last = found.model, found.fits[-1]
    (trial,) = (one for one in found.trials[1:] if one[1:5] == last[1:5] and one.features == model.n_components)
    assert trial.learned_columns
    scales = model.preparation_.column_scales
    assert scales[0] > 3.0 * scales[1:].max()
    assert repr(model.kernel) == repr(model.map_.kernel_) == last.kernel
    assert (model.alpha, model.columns) == (last.regularisation, None)
    assert (last.rows, last.measure) == (400, "fit")


def test_equal_seeds_and_rounds_make_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        found = mercer.tune(X, WAVES, rounds=1, features=32, random_state=3)
        mercer.save(found.model, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_sparse_rows_and_weights():
    rows = sp.csr_array(np.where(RNG.uniform(size=(400, 4)) < 0.5, X, 0.0))
    weight = RNG.integers(0, 3, 400) * 1.0
    found = mercer.tune(rows, WAVES, sample_weight=weight, rounds=1, features=32)
    assert found.trials[0].score <= max(one.score for one in found.trials)


def test_balanced_classes_are_scored_as_balanced():
    y = np.where(RNG.random(400) < 0.1, "rare", "common")
    made = search(y, "classification", class_weight="balanced", loss="squared")
    found = made.run()
    assert {one.measure for one in found.trials} == {"held-out balanced accuracy"}
    assert found.model.class_weight == "balanced"

    class Constant:
        def predict(self, rows):
            return np.full(rows.n_rows, "common")

    assert made._errors(Constant(), made._held).sum() == pytest.approx(0.5)


@pytest.mark.parametrize("count", [30, 79])
def test_few_rows_are_left_to_the_default(count):
    found = search(WAVES[:count], rows=X[:count]).run()
    assert found.notes == ["there are too few rows to hold some out: the model is the default learner"]
    assert found.trials == []
    plain = mercer.KernelRegressor(n_components=64, random_state=0).fit(X[:count], WAVES[:count])
    assert_array_equal(found.model.coef_, plain.coef_)


def test_gaps_are_filled_unless_they_are_refused():
    rows = X.copy()
    rows[5, 1] = np.nan
    assert search(rows=rows).run().model.predict(rows[:10]).shape == (10,)
    with pytest.raises(ValueError, match="row 5 of ndarray, column 1 is missing"):
        search(rows=rows, missing="error").run()


# -- time --------------------------------------------------------------------------------------------------------------


class Simulated:
    """A simulated clock, which only fits advance, by a formula."""

    def __init__(self, monkeypatch, first=1.0):
        self.now, self.first = 0.0, first
        monkeypatch.setattr(Clock, "spent", property(lambda clock: self.now))
        for kind in (mercer.KernelClassifier, mercer.KernelRegressor):
            monkeypatch.setattr(kind, "fit_table", self.timed(kind.fit_table))

    def timed(self, fit):
        def longer(learner, table, context):
            width = learner.n_components or 1024
            self.now += 3e-9 * fit_times.work_of(table.n_rows, width)
            self.now += self.first if learner.kernel == "auto" else 0.0
            fit(learner, table, context)
            if context.progress is not None:
                context.progress(None)  # as late as can be
            return learner

        return longer


@every_value(
    seconds=[5.0, 12.0, 25.0, 100.0],
    ending=[pytest.param(None, id="alone"), pytest.param(lambda fit: 1.0 + 0.1 * fit.seconds, id="with an end")],
)
def test_a_search_ends_within_its_time_and_uses_it(monkeypatch, seconds, ending):
    time = Simulated(monkeypatch)  # 1.7 s for the default learner and 0.7 s for others of its width
    y = np.sin(6.0 * X[:, 0]) * np.cos(6.0 * X[:, 1])
    found = search(y, features=256, rounds=None, seconds=seconds, ending=ending).run()
    whole = time.now + (ending(found.fits[-1]) if ending else 0.0)
    assert whole <= seconds
    if any("for lack of time" in note for note in found.notes):
        assert whole >= 0.5 * seconds
    assert seconds < 100.0 or not any("lack of time" in note for note in found.notes)


def test_time_is_kept_for_what_follows_the_fit(monkeypatch):
    time = Simulated(monkeypatch)
    y = np.sin(6.0 * X[:, 0]) * np.cos(6.0 * X[:, 1])
    found = search(y, features=256, rounds=None, seconds=25.0, ending=lambda fit: 12.0).run()
    assert len(found.trials) > 1
    assert time.now <= 13.0


def test_what_does_not_start_in_time_is_the_default(monkeypatch):
    Simulated(monkeypatch, first=10.0)
    found = search(seconds=12.0, rounds=None).run()
    assert found.notes == ["there was no time to search: the model is the default learner"]
    assert found.model.kernel == "auto"


def test_time_that_a_fit_takes_is_judged_by_the_nearest():
    def fit(features, seconds, loss="squared"):
        return Trial(1, "", None, loss, 1.0, 1000, features, "", 0.5, seconds)

    fits = [fit(64, 1.0), fit(256, 20.0), fit(256, 50.0, "logistic")]
    grown = fit_times.work_of(1000, 512) / fit_times.work_of(1000, 256)
    assert fit_times.seconds_like(fits, 1000, 512, "squared") == pytest.approx(20.0 * grown)
    assert fit_times.seconds_like(fits, 1000, 256, "logistic") == 50.0
    assert fit_times.seconds_like(fits, 10, 2, "logistic") == 12.5


def test_every_trial_is_reported():
    told = []
    found = search(progress=told.append).run()
    assert told[0] == "the default learner: 240 rows"
    assert sum(line.startswith("round 1: ") for line in told) == len(found.trials) - 1
    assert {line.split(",")[0] for line in told if line.startswith("confirmation")} == {"confirmation: 320 rows"}
    assert told[-1].startswith("fit: 400 rows")
    assert search(seconds=100.0).seconds_left == pytest.approx(100.0, abs=5.0)
    assert search().seconds_left is None


def test_wrong_arguments_are_refused():
    for wrong in ({"rounds": 0}, {"seconds": 0}, {"features": 0}, {"loss": "hinge"}, {"task": "auto"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            search(**wrong)
    with pytest.raises(ValueError, match="needs at least 2 classes"):
        search(np.full(400, "a"), "classification").run()


def test_warnings_of_other_code_are_heard_while_machines_are_tried():
    X = np.random.default_rng(0).normal(size=(120, 2))

    def told(line):
        warnings.warn("from the caller", RuntimeWarning, stacklevel=1)

    with pytest.warns(RuntimeWarning, match="from the caller"):
        PilotSearch(ArrayTable(X, X[:, 0]), "regression", rounds=1, features=16, progress=told).run()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with without_warnings():
            warn_caller("ours")
        with pytest.raises(UserWarning, match="ours"):
            warn_caller("ours")
