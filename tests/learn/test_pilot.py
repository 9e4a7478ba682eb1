"""A pilot chooses the arguments that are left open: the kernel, scaling, penalty and scales of columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_limits

import mercer
from mercer.data import Blocks
from mercer.data.block import Block
from mercer.kernels import parse
from mercer.learn import KernelClassifier, KernelPCA, KernelRegressor
from mercer.learn.pilot import search
from mercer.learn.pilot.rows import drawn_again, pilot_rows
from mercer.learn.pilot.settled_arguments import fit_cost
from mercer.learn.pilot.trials import not_worse, ridge_trial
from mercer.learn.pilot.width import wider_widths, width_for
from mercer.learn.prepare.preparation import Preparation
from mercer.learn.solvers.ridge import LeaveOneOut, Path
from mercer.learn.statistics import Moments
from mercer.maps import Nystrom, RandomFourier


def regressor(*kernel, **arguments):
    return KernelRegressor(*kernel, **({"n_components": 64, "random_state": 0} | arguments))


def classifier(*kernel, **arguments):
    return KernelClassifier(*kernel, **({"n_components": 64, "random_state": 0} | arguments))


def waves(n=300, columns=2, seed=0):
    """A smooth function of the first column, with little noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, columns))
    return X, np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=n)


def heavy_rows(n=900, noise=4, seed=0):
    """Two columns that matter, with heavy tails and of very different size, and some that do not."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(1.5, size=(n, 2 + noise)) * 10.0 ** np.arange(2 + noise)
    return X, np.tanh(X[:, 0]) + np.sin(np.clip(X[:, 1] / 10.0, -3.0, 3.0)) + 0.1 * rng.normal(size=n)


@pytest.fixture(scope="module")
def heavy():
    X, y = heavy_rows()
    return X, y, regressor().fit(X[:700], y[:700])


def test_heavy_tails_and_columns_of_noise_do_not_spoil_the_fit(heavy):
    X, y, model = heavy
    plain = regressor(None, alpha="loo", preparation=None).fit(X[:700], y[:700])
    assert model.score(X[700:], y[700:]) > 0.75
    assert model.score(X[700:], y[700:]) > plain.score(X[700:], y[700:]) + 0.3
    assert model.choice_.scale == "standard"
    assert model.choice_.learned_columns
    assert model.choice_.held_error < model.choice_.other_error


@pytest.mark.parametrize(("learner", "penalty"), [(KernelRegressor, "alpha"), (KernelClassifier, "C")])
def test_everything_is_left_open_unless_it_is_given(learner, penalty, heavy):
    names = ("kernel", penalty, "scale", "missing", "preparation", "columns")
    assert {learner().get_params()[name] for name in names} == {"auto"}
    assert learner().n_components is None
    assert heavy[2].get_params() == regressor().get_params()  # which a fit leaves as they are


def test_column_scales_show_which_columns_matter(heavy):
    scales = heavy[2].preparation_.column_scales
    assert scales[:2].min() > 1.5 * scales[2:].max()


def test_columns_without_scales_of_their_own_on_request(heavy):
    X, y, _ = heavy
    model = regressor(columns=None).fit(X[:700], y[:700])
    assert not model.choice_.learned_columns
    assert model.column_scales_ is None
    assert model.choice_.other_error is None
    assert model.preparation_.column_scales is None


def test_the_gate_turns_down_scales_that_do_not_help():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(800, 5))
    model = regressor().fit(X, rng.normal(size=800))
    assert not model.choice_.learned_columns
    assert model.score(X, rng.normal(size=800)) < 0.1


def test_no_gate_where_scales_of_columns_are_requested():
    X = np.random.default_rng(7).normal(size=(240, 5))
    y = np.sin(X.sum(axis=1))  # in which all columns count alike
    model = regressor().fit(X, y)
    assert not model.choice_.learned_columns
    forced = regressor(columns="learned").fit(X, y)
    assert forced.choice_.learned_columns
    np.testing.assert_array_equal(forced.column_scales_, forced.preparation_.column_scales)
    assert forced.column_scales_.shape == (5,)
    assert forced.choice_.held_error == model.choice_.other_error
    assert forced.choice_.other_error == model.choice_.held_error


def test_columns_are_learned_for_a_kernel_by_a_rule():
    X, y = waves()
    model = regressor("gaussian", columns="learned").fit(X, y)
    assert model.choice_.learned_columns
    assert model.preparation_.column_scales[0] > 3.0 * model.preparation_.column_scales[1]
    assert model.map_.kernel_ == parse(model.choice_.kernel)


def test_very_many_columns_have_scales_by_gradients(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("too many columns to learn them one by one")

    monkeypatch.setattr(search, "learn_column_scales", refuse)
    X, _ = waves(300, columns=300)
    model = regressor().fit(X, 3.0 * X[:, 0])
    assert model.choice_.learned_columns
    assert model.preparation_.column_scales[0] > 1.5 * model.preparation_.column_scales[1:].max()


def test_classes_of_a_frame_with_levels_and_gaps():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(size=600), "z": rng.normal(size=600) * 1e6})
    frame["colour"] = rng.choice(["red", "green", "blue"], size=600)
    y = np.where(frame["x"] ** 2 + (frame["colour"] == "red") > 1.0, "in", "out")
    frame.loc[::7, "z"] = np.nan
    model = classifier().fit(frame[:400], y[:400])
    assert model.score(frame[400:], y[400:]) > 0.9
    assert model.predict_proba(frame[400:]).shape == (200, 2)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "squared"])
def test_every_loss_of_a_classifier_has_a_penalty(loss):
    X = np.random.default_rng(2).normal(size=(300, 2))
    y = (X**2).sum(axis=1) < 1.4
    model = classifier(loss=loss).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.9
    assert model.C_ > 0.0


@pytest.mark.parametrize("loss", ["huber", "quantile", "epsilon_insensitive", "poisson"])
def test_every_loss_of_a_regressor_has_a_penalty(loss):
    X = np.random.default_rng(2).normal(size=(300, 2))
    y = np.exp(np.sin(2.0 * X[:, 0]))
    model = regressor(loss=loss).fit(X[:200], y[:200])
    residual = y[200:] - model.predict(X[200:])
    assert np.mean(residual**2) < 0.3 * np.var(y)


def test_bits_depend_on_neither_threads_nor_blocks(heavy):
    X, y, model = heavy
    expected = model.predict(X[700:])
    again = regressor(n_jobs=2).fit(X[:700], y[:700])
    assert again.choice_ == model.choice_
    np.testing.assert_array_equal(again.predict(X[700:]), expected)
    blocks = Blocks(lambda: ((X[i : min(i + 130, 700)], y[i : min(i + 130, 700)]) for i in range(0, 700, 130)))
    again = regressor().fit(blocks)
    assert again.choice_ == model.choice_
    np.testing.assert_array_equal(again.predict(X[700:]), expected)


def test_bits_do_not_depend_on_the_threads_of_linear_algebra():
    X, y = waves()
    models = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            models.append(regressor().fit(X, y))
    assert models[0].choice_ == models[1].choice_
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)


def test_float32_rows_make_the_same_choice_up_to_rounding(heavy):
    X, y, model = heavy
    single = regressor().fit(X[:700].astype(np.float32), y[:700])
    assert single.choice_.scale == model.choice_.scale
    assert single.choice_.learned_columns == model.choice_.learned_columns
    assert abs(single.score(X[700:].astype(np.float32), y[700:]) - model.score(X[700:], y[700:])) < 0.01


def test_model_files_contain_the_choice(heavy, tmp_path):
    X, _, model = heavy
    mercer.save(model, tmp_path / "model.mercer")
    loaded = mercer.load(tmp_path / "model.mercer")
    assert loaded.choice_ == model.choice_
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_few_rows_are_fitted_by_rules():
    X = np.arange(10.0)[:, None]
    model = regressor().fit(X, X[:, 0])
    assert model.choice_ is None
    assert np.isfinite(model.predict(X)).all()


def test_even_sixteen_rows_choose_bandwidth_and_penalty():
    """Fixed ones explain only two thirds of a plane without noise."""
    scores = []
    for seed in range(5):
        X = np.random.default_rng(seed).normal(size=(216, 2))
        y = 3.0 * X[:, 0] + X[:, 1]
        scores.append(regressor().fit(X[:16], y[:16]).score(X[16:], y[16:]))
    assert np.median(scores) > 0.9


def test_targets_that_change_quickly_are_found():
    """No usual bandwidth explains anything of sixty periods along a column, nor of its steps."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(1400, 1))
    for y in (np.sin(120.0 * np.pi * X[:, 0]), rng.normal(size=100)[np.floor(100.0 * X[:, 0]).astype(int)]):
        y = y + 0.1 * rng.normal(size=1400)
        assert KernelRegressor(random_state=0).fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) > 0.75


def test_equal_targets_leave_nothing_to_choose_by():
    X = np.random.default_rng(0).normal(size=(50, 2))
    model = regressor().fit(X, np.ones(50))
    assert model.choice_ is None
    np.testing.assert_allclose(model.predict(X), 1.0)


# -- some of it given --------------------------------------------------------------------------------------------------


def test_rows_stay_as_they_are_on_request():
    X, y = waves(200)
    X *= [1.0, 1e3]
    model = regressor(preparation=None).fit(X, y)
    np.testing.assert_array_equal(model.preparation_(X), X)
    assert {trial.scale for trial in model.choice_.trials} == {None}
    assert classifier("gaussian(0.5)", missing="error").fit(X, y > 0.0).choice_.scale is None
    with pytest.raises(ValueError, match="contains NaN"):
        regressor(preparation=None).fit(np.where(X > 2.0, np.nan, X), y)


def test_a_given_kernel_leaves_alpha_to_rows_left_out():
    X, y = waves()
    for kernel in ("gaussian(0.5)", "gaussian"):
        model, expected = regressor(kernel).fit(X, y), regressor(kernel, alpha="loo").fit(X, y)
        np.testing.assert_array_equal(model.coef_, expected.coef_)
        assert model.alpha_ == expected.alpha_
        assert not hasattr(model, "choice_")
    np.testing.assert_array_equal(regressor("gaussian(0.5)").fit(X, y).preparation_(X), X)


@pytest.mark.parametrize(("loss", "factor"), [("squared_hinge", 0.5), ("squared", 0.5), ("logistic", 2.0)])
def test_a_given_kernel_leaves_the_penalty_of_classes_to_the_pilot(loss, factor):
    X, y = waves()
    model = classifier("gaussian(0.5)", loss=loss).fit(X, y > 0.0)
    assert model.map_.kernel_ == parse("gaussian(0.5)")
    assert {trial.kernel for trial in model.choice_.trials} == {"Gaussian(gamma=0.5)"}
    assert not model.choice_.learned_columns
    np.testing.assert_allclose(model.C_, factor / model.choice_.alpha)
    given = classifier("gaussian(0.5)", loss=loss, C=model.C_).fit(X, y > 0.0)
    np.testing.assert_allclose(model.decision_function(X), given.decision_function(X), rtol=1e-3, atol=1e-3)


def test_a_kernel_is_chosen_for_the_penalty_that_is_given():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 10))
    y = X @ rng.normal(size=10) + rng.normal(size=400)
    free, given = (regressor(alpha=alpha, n_components=256).fit(X[:200], y[:200]) for alpha in ("auto", 1.0))
    assert free.alpha_ < 0.1  # with which a kernel far too wide for alpha = 1 is the best
    assert given.score(X[200:], y[200:]) > free.score(X[200:], y[200:]) - 0.1


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (regressor(alpha=0.5), [0.5]),
        (regressor(alpha=[0.01, 0.5]), [0.01, 0.5]),
        (regressor(alpha=0.0), [0.0]),
        (regressor(alpha=0.5, loss="poisson"), [0.5 / 3.0]),
        (regressor(alpha=0.5, loss="quantile"), [0.5 * 2.0 * np.sqrt(2.0)]),
        (classifier(C=0.1), [5.0]),
        (classifier(C=[0.1, 10.0], loss="squared"), [0.05, 5.0]),
        (classifier(C=0.1, loss="logistic"), [20.0]),
    ],
    ids=lambda value: repr(value).replace("\n", ""),
)
def test_trials_take_the_penalty_that_is_given(model, expected):
    X, _ = waves(200)
    X, y = X[np.argsort(X[:, 0])], np.repeat([1.0, 2.0, 3.0, 4.0, 5.0], 40)  # with mean 3 and variance 2
    taken = {trial.alpha for trial in model.fit(X, y).choice_.trials}
    if expected == [0.0]:
        assert max(taken) < 1e-10 * len(X)  # as little as rounding leaves
    else:
        assert all(np.isclose(expected, alpha, rtol=1e-12).any() for alpha in taken)


def test_a_rule_for_the_bandwidth_is_applied_to_all_rows():
    X, y = waves()
    model = classifier("gaussian", scale="standard").fit(X, y > 0.0)
    assert model.map_.kernel_ == classifier("gaussian", scale="standard", C=1.0).fit(X, y > 0.0).map_.kernel_


def test_a_map_brings_its_own_kernel():
    X, y = waves()
    map = RandomFourier("gaussian(0.5)", n_components=64, random_state=0)
    model, expected = KernelRegressor(map=map).fit(X, y), KernelRegressor(map=map, alpha="loo").fit(X, y)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert KernelClassifier(map=map).fit(X, y > 0.0).C_ == 1.0


@pytest.mark.parametrize("solver", ["wide", "landmarks"])
def test_solvers_that_leave_no_rows_out_take_the_penalty_of_the_pilot(solver):
    X, y = waves()
    model = regressor(solver=solver).fit(X, y)
    assert model.alpha_ == model.choice_.alpha
    assert model.score(X, y) > 0.9


# -- batches -----------------------------------------------------------------------------------------------------------


def test_the_first_batch_is_that_of_the_pilot():
    X, y = waves(400)
    model = regressor().partial_fit(X[:200], y[:200])
    choice = model.choice_
    assert choice.n_rows == 200
    model.partial_fit(X[200:300], y[200:300])
    assert model.choice_ == choice
    assert model.map_.kernel_ == parse(choice.kernel)
    assert model.alpha_ == choice.alpha
    assert model.statistics_.rows[0] == 300
    assert model.score(X[300:], y[300:]) > 0.9
    assert regressor().fit(X[:200], y[:200]).choice_ == choice


def test_batches_of_classes_have_the_penalty_of_the_pilot():
    X, y = waves(400)
    model = classifier(loss="squared").partial_fit(X[:200], y[:200] > 0.0, classes=[False, True])
    model.partial_fit(X[200:300], y[200:300] > 0.0)
    np.testing.assert_allclose(model.C_, 0.5 / model.choice_.alpha, rtol=1e-12)
    assert model.score(X[300:], y[300:] > 0.0) > 0.9


def test_rows_that_come_later_keep_the_penalty():
    X, y = waves(400)
    model = regressor(keep_statistics=True).fit(X[:200], y[:200])
    alpha, choice = model.alpha_, model.choice_
    model.partial_fit(X[200:], y[200:])
    assert (model.alpha_, model.choice_) == (alpha, choice)
    model.forget(X[200:], y[200:])
    np.testing.assert_allclose(model.coef_, regressor().fit(X[:200], y[:200]).coef_, rtol=1e-6, atol=1e-6)


def test_rows_without_targets_prepare_by_rules():
    X, y = waves()
    model = regressor().prepare(X[:200])
    assert model.choice_ is None
    model.partial_fit(X[200:], y[200:])
    assert model.alpha_ == 1.0
    settled = regressor().prepare(X[:200], y[:200])
    assert settled.choice_ == regressor().fit(X[:200], y[:200]).choice_
    assert not hasattr(settled, "coef_")


@pytest.mark.parametrize(
    "model", [regressor(loss="huber"), regressor(map="exact"), classifier(), classifier(loss="logistic")]
)
def test_machines_that_need_all_rows_have_no_batches(model):
    assert not hasattr(model, "partial_fit")


# -- width -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gain", "expected"),
    [(-0.1, []), (0.0, []), (0.009, []), (0.011, [2048]), (0.019, [2048]), (0.021, [2048, 4096]), (0.9, [2048, 4096])],
)
def test_features_grow_for_as_long_as_they_pay(gain, expected):
    assert list(wider_widths(gain)) == expected


def test_features_are_kept_within_operations_and_memory():
    assert width_for(0.9, 1000, lambda width: 1.2e11 * width / 4096, lambda width: True) == 4096
    assert width_for(0.9, 1000, lambda width: 1.3e11 * width / 4096, lambda width: True) == 2048
    assert width_for(0.9, 1000, lambda width: 0.0, lambda width: width < 4096) == 2048
    assert width_for(0.9, 1000, lambda width: 0.0, lambda width: False) == 1024


def test_trials_show_how_many_features_are_worthwhile(monkeypatch):
    monkeypatch.setattr(search, "FEATURES", 32)
    X, _ = waves(200)
    rough = regressor(n_components=None, columns=None).fit(X, np.sin(4.0 * X).sum(axis=1))
    assert [trial.n_features for trial in rough.choice_.trials[-2:]] == [32, 16]
    assert rough.choice_.n_components == 4096
    assert rough.map_.n_components_ <= 200
    smooth = regressor(n_components=None, columns=None).fit(X, X[:, 0])
    assert smooth.choice_.n_components == 1024
    assert regressor().fit(X, X[:, 0]).choice_.n_components == 64


# -- what it is made of ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (KernelPCA("auto"), "requires a learner with a target"),
        (regressor(columns="some"), "columns must be"),
        (regressor(preparation="some"), "preparation must be"),
        (regressor("gaussian(1)", columns="learned"), "columns='learned' requires a kernel that is 'auto' or whose"),
        (
            classifier(map=RandomFourier("gaussian(1)"), columns="learned"),
            "columns='learned' requires a kernel that is",
        ),
        (regressor(solver="wide", keep_statistics=True), "keeps no sums over rows"),
    ],
)
def test_bad_arguments_are_refused(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 2)


def test_repeated_rows_count_as_weights_in_any_order():
    rng = np.random.default_rng(0)
    X, Y, weight = rng.normal(size=(40, 3)), rng.normal(size=(40, 1)), rng.integers(0, 4, size=40)
    repeated = rng.permutation(np.repeat(np.arange(40), weight))
    ours = pilot_rows(X, Y, weight.astype(float), 7)
    theirs = pilot_rows(X[repeated], Y[repeated], np.ones(len(repeated)), 7)
    np.testing.assert_array_equal(X[ours.numbers], X[repeated][theirs.numbers])
    np.testing.assert_array_equal(ours.weight, theirs.weight)
    assert not np.array_equal(ours.numbers, pilot_rows(X, Y, weight.astype(float), 8).numbers)


def cells(n, kind, seed=0):
    """Rows of a few categories, whose classes depend on all of them together: surely, or in nine of ten cases."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, size=(n, 3))
    likely = rng.permutation(np.arange(64) % 2 * 0.8 + 0.1)[X @ [16, 4, 1]]
    y = (likely > 0.5) if kind == "sure" else rng.random(n) < likely
    return X, y.astype(int)


@pytest.mark.parametrize("kind", ["sure", "noisy"])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, lambda X: pd.DataFrame(X.astype(str)).add_prefix("c")])
def test_tables_of_few_categories_are_learned(kind, convert):
    """New rows are equal to known ones, whose classes need not be related to those of other rows."""
    X, y = cells(1600, kind)
    rows, labels = convert(X[:1200]), y[:1200]
    model = KernelClassifier(random_state=0).fit(rows, labels)
    assert model.choice_.n_rows == 1200
    assert model.solver_.name == "newton"  # the few distinct rows are no crowd of landmarks
    assert model.score(convert(X[1200:]), y[1200:]) > (0.99 if kind == "sure" else 0.86)
    order = np.random.default_rng(1).permutation(1200)
    other = KernelClassifier(random_state=0).fit(convert(X[:1200][order]), labels[order])
    np.testing.assert_array_equal(other.predict(rows), model.predict(rows))


def test_copies_of_rows_are_left_out_together():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(400, 2)), rng.normal(size=(400, 1))
    bootstrap = rng.integers(0, 400, size=400)
    balanced = np.r_[np.arange(400), np.repeat(np.arange(40), 9)]
    often = rng.integers(0, 400, size=2000)
    for rows in (np.tile(np.arange(400), 5), bootstrap, balanced, often):
        used = pilot_rows(X[rows], Y[rows], np.ones(len(rows)), 0)
        assert len(used.numbers) == len(np.unique(rows))
        assert used.weight.sum() == len(rows)


def with_heads(n, kind, seed=0):
    """Rows of which six in ten are copies of six rows, each with its own class: always, or in nine of ten cases."""
    rng = np.random.default_rng(seed)
    X, head = rng.normal(size=(n, 5)), rng.integers(6, size=n)
    y = X[:, 0] * X[:, 1] + X[:, 2] > 0.0
    is_head = rng.random(n) < 0.6
    X[is_head], y[is_head] = rng.normal(size=(6, 5))[head[is_head]], head[is_head] % 2 == 0
    return X, (y if kind == "sure" else y ^ (is_head & (rng.random(n) < 0.1))).astype(int)


@pytest.mark.parametrize(("kind", "least"), [("sure", 0.94), ("noisy", 0.87)])
def test_a_few_rows_that_occur_again_and_again_do_not_hide_the_others(kind, least):
    """Left out as a whole, each would be a large part of the table, and the flattest model would seem best."""
    X, y = with_heads(1600, kind)
    model = KernelClassifier(random_state=0).fit(X[:600], y[:600])
    assert model.choice_.n_rows == 600
    assert model.score(X[600:], y[600:]) > least


def test_cells_with_different_classes_are_learned_though_most_have_one_or_two_rows():
    rng = np.random.default_rng(0)
    X, likely = rng.integers(20, size=(2000, 2)), rng.integers(2, size=(20, 20)) * 0.8 + 0.1
    y = (rng.random(2000) < likely[X[:, 0], X[:, 1]]).astype(int)
    model = KernelClassifier(random_state=0).fit(X[:1000], y[:1000])
    assert model.choice_.n_rows == 1000
    assert model.score(X[1000:], y[1000:]) > 0.75


def test_copies_that_balance_several_classes_are_not_new_rows():
    """The most frequent of ten classes is not copied, and rows occur five times on average."""
    rng = np.random.default_rng(0)
    y = np.r_[np.zeros(100, dtype=int), np.repeat(np.arange(1, 10), 10)]
    centres = rng.normal(size=(10, 6))
    X, new, labels = centres[y] + rng.normal(size=(190, 6)), rng.normal(size=(1000, 6)), rng.integers(10, size=1000)
    rows = np.r_[np.arange(100), *(rng.choice(np.flatnonzero(y == label), 100) for label in range(1, 10))]
    model = KernelClassifier(random_state=0).fit(X[rows], y[rows])
    assert model.choice_.n_rows == len(np.unique(rows))
    assert model.score(centres[labels] + new, labels) > 0.45


def test_tables_that_count_rows_are_learned_like_their_rows():
    X, y = cells(4000, "noisy")
    counted, times = np.unique(np.column_stack([X, y])[:2500], axis=0, return_counts=True)
    model = KernelClassifier(random_state=0).fit(counted[:, :3], counted[:, 3], sample_weight=times)
    assert model.score(X[2500:], y[2500:]) > 0.86
    used = pilot_rows(counted[:, :3] * 1.0, counted[:, 3:] * 1.0, times * 1.0, 0)
    assert used.weight.sum() == 2500
    np.testing.assert_array_equal(np.bincount(used.numbers), np.minimum(times, 4))
    apart = pilot_rows(counted[:, :3] * 1.0, counted[:, 3:] * 1.0, times + 0.5, 0)  # not the numbers of rows
    assert len(apart.numbers) == len(counted)


def test_which_rows_were_drawn_again():
    def found(rows, targets):
        return drawn_again(list(zip(rows, targets, strict=True)))

    many = [bytes([number]) for number in range(100)]
    some = [b"0", b"1"] * 50
    assert found(many, some) == set()
    assert found(many + many[:40], some + some[:40]) == set()
    assert found(many + many[1::2] * 10, some + [b"1"] * 500) == set()  # as often as others of their class
    assert found([*many, many[0]], [*some, b"1"]) == set(many)  # the only repeated row is no copy
    assert found(many + many[:40] + many[:1], [*some, *some[:40], b"1"]) == {many[0]}
    assert found(many + many[:1] * 9, some + some[:1] * 9) == {many[0]}
    assert found(many + many[:1] * 8, some + some[:1] * 8) == set()
    numbers = [bytes([number, 1]) for number in range(100)]
    assert found(many + many[:1] * 9, numbers + numbers[:1] * 9) == {many[0]}
    assert found(many * 5, some * 5) == set()
    assert found([], []) == set()


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_tables_of_few_categories_are_recognised_by_targets_or_columns(convert):
    rng = np.random.default_rng(0)
    doses = np.repeat(rng.normal(size=(20, 2)), rng.integers(1, 12, size=20), axis=0)
    categories = rng.integers(0, 3, size=(200, 3)) * 1.0
    kinds = rng.integers(0, 5, size=(200, 3)) * 1.0  # 125, so that most occur once or twice
    noise, weight = rng.normal(size=(200, 1)), np.ones(200)
    for X, Y, one_by_one in (
        (doses, noise[: len(doses)], True),
        (doses, doses[:, :1] ** 2, False),
        (categories, noise, True),
        (categories, categories[:, :1], True),
        (kinds, kinds[:, :1], False),
    ):
        used = pilot_rows(convert(X), Y, weight[: len(X)], 0)
        assert (len(used.numbers) == len(X)) is one_by_one


def test_rows_of_few_kinds_are_used_one_by_one_in_any_order():
    X, y = cells(300, "noisy")
    weight = np.arange(300) % 3.0
    order = np.random.default_rng(0).permutation(300)
    ours, theirs = (pilot_rows(X[rows] * 1.0, y[rows, None] * 1.0, weight[rows], 7) for rows in (slice(None), order))
    assert len(np.unique(ours.numbers)) == len(ours.numbers) == 200
    np.testing.assert_array_equal(X[ours.numbers], X[order][theirs.numbers])
    np.testing.assert_array_equal(y[ours.numbers], y[order][theirs.numbers])
    np.testing.assert_array_equal(ours.weight, theirs.weight)
    np.testing.assert_array_equal(ours.weight, weight[ours.numbers])
    held = X[ours.numbers[: ours.n_held]] @ [16, 4, 1]
    assert len(np.unique(held)) > 20  # not a few kinds of rows, each held out whole


def test_a_trial_has_the_errors_of_rows_left_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    Y = np.sin(X[:, :1]) + 0.1 * rng.normal(size=(30, 1))
    map = Nystrom("gaussian(0.5)", n_components=8, random_state=0)
    found = ridge_trial(map, X, Y, np.ones(30))
    Z, errors = found.features.of(X), []
    for row in range(30):
        others = np.arange(30) != row
        mean, target = Z[others].mean(axis=0), Y[others].mean(axis=0)
        centred = Z[others] - mean
        coef = np.linalg.solve(centred.T @ centred + found.alpha * np.eye(8), centred.T @ (Y[others] - target))
        errors.append(((Z[row] - mean) @ coef + target - Y[row]) ** 2)
    spread = float(((Y - Y.mean()) ** 2).sum())
    np.testing.assert_allclose(found.errors, np.ravel(errors) / spread, rtol=1e-8)
    np.testing.assert_allclose(found.error, found.errors.sum())


def test_rows_held_out_have_no_part_in_the_search():
    X, y = waves(240)
    preparation = Preparation.automatic()
    preparation.learn_columns([X])
    preparation.take_scale(preparation.summed_up([(X, None)]), lambda: Block(X, y))
    rows = pilot_rows(X, y[:, None], np.ones(240), 0)
    other = y.copy()
    other[rows.numbers[: rows.n_held]] *= -3.0

    def make_map(kernel, n_components):
        return Nystrom(kernel, n_components=n_components, random_state=0)

    def run(targets):
        pilot = search.Pilot(preparation, X, targets[:, None], rows, make_map, 16)
        return pilot.run(("standard", "common"), None, "learned")

    (ours, scales, gain), (theirs, other_scales, other_gain) = run(y), run(other)
    assert ours.trials == theirs.trials
    assert gain == other_gain
    np.testing.assert_array_equal(scales, other_scales)
    assert ours.held_error < 0.5 < theirs.held_error


def test_one_standard_error_of_paired_differences():
    best = np.arange(10.0)
    assert not_worse(best + np.array([1.0, -1.0] * 5), best)
    assert not not_worse(best + 1.0, best)


def test_a_trial_has_the_best_penalty_of_the_whole_path():
    for seed in range(6):
        X, y = waves(120, seed=seed)
        Y, weight = np.column_stack([y, X[:, 1] > 0.0]), np.ones(120)
        found = ridge_trial(Nystrom("gaussian(0.3)", n_components=30, random_state=0), X, Y, weight)
        Z = found.features.of(X)
        moments = Moments.of(Z, Y, weight)
        path, centred = Path.of(moments, True, float(np.finfo(np.float64).eps)), moments.centred(True)
        alphas = path.alphas()
        left_out = LeaveOneOut(path, alphas, centred.feature_mean, centred.target_mean)
        errors = (left_out.errors(Z, Y, weight) ** 2).sum(axis=(0, 2))
        assert found.alpha == alphas[np.argmin(errors)]


def test_a_kernel_that_is_clearly_worse_is_not_tried_again():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, size=(600, 2))
    choice = regressor(n_components=32, columns=None).fit(X, np.sin(6.0 * X[:, 0])).choice_
    tried = [(trial.scale, trial.kernel) for trial in choice.trials if trial.scale == choice.scale]
    smoothest = min(tried, key=lambda one: parse(one[1]).gamma if one[1].startswith("Gaussian") else np.inf)
    assert tried.count(smoothest) == 1
    assert any(tried.count(one) == 2 for one in tried)  # the others are, on all rows


def test_noise_rarely_gets_column_scales():
    # Were there scales in one table of noise in twenty, more than seven of sixty would have some once in 100 times.
    taken = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        model = regressor(n_components=32).fit(rng.normal(size=(200, 4)), rng.normal(size=200))
        taken += model.choice_.learned_columns
    assert taken <= 7


def test_a_fit_costs_more_where_the_penalty_is_small():
    """Steps grow with the square root of C, until Hessians take over."""
    costs = [fit_cost("squared_hinge", 10_000, 2048, 5, alpha) for alpha in (8.0, 2.0, 0.5, 1e-3, 1e-5)]
    fixed = fit_cost("squared_hinge", 10_000, 2048, 5, 1e12)
    np.testing.assert_allclose((costs[1] - fixed) / (costs[0] - fixed), 2.0, rtol=1e-4)
    np.testing.assert_allclose((costs[2] - fixed) / (costs[1] - fixed), 2.0, rtol=1e-4)
    assert costs[3] == costs[4] > costs[2]
    assert fit_cost("squared", 10_000, 2048, 5, 8.0) == fit_cost("squared", 10_000, 2048, 5, 1e-5)


def test_few_columns_of_thousands_are_found_in_rounds():
    """One round of gradients is not enough for five columns of 4,500 in 200 rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4500))
    y = X[:, :5].sum(axis=1) + 0.5 * rng.normal(size=400)
    model = KernelRegressor(random_state=0).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.8
    assert model.column_scales_[:5].min() > 6.0 * model.column_scales_[5:].max()


def test_rounds_of_gradients_end_where_held_out_rows_do_not_gain():
    """In this example, later rounds have lower leave-one-out errors but classify worse."""
    X, y = make_classification(550, 3000, n_informative=10, n_redundant=10, random_state=2)
    model = KernelClassifier(random_state=0).fit(X[:250], y[:250])
    assert model.choice_.learned_columns
    assert model.score(X[250:], y[250:]) > 0.85


def test_without_noise_errors_that_differ_by_a_millionth_are_equal():
    """Otherwise the smallest penalty would always be the best, and float32 rows could not resolve what it changes."""
    X = np.random.default_rng(0).normal(size=(200, 2))
    map = Nystrom("linear", n_components=2, random_state=0)
    penalties, data = np.logspace(-4, 2, 7), (X, X[:, :1] + X[:, 1:], np.ones(200))
    errors = [ridge_trial(map, *data, np.array([penalty])).error for penalty in penalties]
    equal = penalties[np.array(errors) <= min(errors) + 1e-6]
    assert len(equal) > 1
    assert ridge_trial(map, *data, penalties).alpha == pytest.approx(equal[-1])
