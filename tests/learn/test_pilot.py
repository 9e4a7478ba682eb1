"""A pilot chooses what a learner leaves to it: the kernel, scaling, penalty and scales of columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer.data import Blocks
from mercer.learn import KernelClassifier, KernelPCA, KernelRegressor
from mercer.learn.pilot.rows import distinct_rows
from mercer.learn.pilot.trials import not_worse, ridge_trial
from mercer.maps import Nystrom, RandomFourier

OPEN = {"scale": "auto", "missing": "auto", "random_state": 0}


def regressor(**arguments):
    return KernelRegressor("auto", **({"alpha": "auto", "n_components": 64} | OPEN | arguments))


def classifier(**arguments):
    return KernelClassifier("auto", **({"C": "auto", "n_components": 64} | OPEN | arguments))


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
    plain = KernelRegressor(n_components=64, alpha="loo", random_state=0).fit(X[:700], y[:700])
    assert model.score(X[700:], y[700:]) > 0.75
    assert model.score(X[700:], y[700:]) > plain.score(X[700:], y[700:]) + 0.3
    assert model.choice_.scale == "standard"
    assert model.choice_.learned_columns
    assert model.choice_.held_error < model.choice_.other_error
    assert model.kernel == "auto"
    assert model.alpha == "auto"


def test_scales_of_columns_tell_which_columns_matter(heavy):
    scales = heavy[2].preparation_.column_scales
    assert scales[:2].min() > 1.5 * scales[2:].max()


def test_columns_without_scales_of_their_own_on_request(heavy):
    X, y, _ = heavy
    model = regressor(columns=None).fit(X[:700], y[:700])
    assert not model.choice_.learned_columns
    assert model.choice_.other_error is None
    assert model.preparation_.column_scales is None


def test_the_gate_turns_down_scales_that_do_not_help():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(800, 5))
    model = regressor().fit(X, rng.normal(size=800))
    assert not model.choice_.learned_columns
    assert model.score(X, rng.normal(size=800)) < 0.1


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


def test_float32_rows_make_the_same_choice_up_to_rounding(heavy):
    X, y, model = heavy
    single = regressor().fit(X[:700].astype(np.float32), y[:700])
    assert single.choice_.scale == model.choice_.scale
    assert single.choice_.learned_columns == model.choice_.learned_columns
    assert abs(single.score(X[700:].astype(np.float32), y[700:]) - model.score(X[700:], y[700:])) < 0.01


def test_a_model_file_holds_the_choice(heavy, tmp_path):
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


def test_equal_targets_leave_nothing_to_choose_by():
    X = np.random.default_rng(0).normal(size=(50, 2))
    model = regressor().fit(X, np.ones(50))
    assert model.choice_ is None
    np.testing.assert_allclose(model.predict(X), 1.0)


def test_batches_are_for_settled_kernels():
    assert not hasattr(regressor(), "partial_fit")
    assert not hasattr(classifier(loss="squared"), "partial_fit")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (KernelPCA("auto"), "learners that have a target"),
        (KernelRegressor("auto", map=RandomFourier()), "brings its own kernel"),
        (KernelRegressor(alpha="auto"), "alpha must be"),
        (KernelClassifier(C="auto"), "C must be"),
        (regressor(columns="some"), "columns must be"),
    ],
)
def test_refusals(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 2)


def test_repeated_rows_count_as_weights_in_any_order():
    rng = np.random.default_rng(0)
    X, Y, weight = rng.normal(size=(40, 3)), rng.normal(size=(40, 1)), rng.integers(0, 4, size=40)
    repeated = rng.permutation(np.repeat(np.arange(40), weight))
    ours = distinct_rows(X, Y, weight.astype(float), 7)
    theirs = distinct_rows(X[repeated], Y[repeated], np.ones(len(repeated)), 7)
    np.testing.assert_array_equal(X[ours.numbers], X[repeated][theirs.numbers])
    np.testing.assert_array_equal(ours.weight, theirs.weight)
    assert not np.array_equal(ours.numbers, distinct_rows(X, Y, weight.astype(float), 8).numbers)


def test_a_trial_has_the_errors_of_rows_left_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    Y = np.sin(X[:, :1]) + 0.1 * rng.normal(size=(30, 1))
    map = Nystrom("gaussian(0.5)", n_components=8, random_state=0)
    found = ridge_trial(map, X, Y, np.ones(30))
    Z, errors = map.transform(X), []
    for row in range(30):
        others = np.arange(30) != row
        mean, target = Z[others].mean(axis=0), Y[others].mean(axis=0)
        centred = Z[others] - mean
        coef = np.linalg.solve(centred.T @ centred + found.alpha * np.eye(8), centred.T @ (Y[others] - target))
        errors.append(((Z[row] - mean) @ coef + target - Y[row]) ** 2)
    spread = float(((Y - Y.mean()) ** 2).sum())
    np.testing.assert_allclose(found.errors, np.ravel(errors) / spread, rtol=1e-8)
    np.testing.assert_allclose(found.error, found.errors.sum())


def test_one_standard_error_of_paired_differences():
    best = np.arange(10.0)
    assert not_worse(best + np.array([1.0, -1.0] * 5), best)
    assert not not_worse(best + 1.0, best)
