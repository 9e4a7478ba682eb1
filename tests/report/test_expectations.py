"""Warnings about models that are worse than expected."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mercer import KernelClassifier, KernelRegressor, data, report
from mercer.choose import learner_for
from mercer.report.concerns import Outlying

from .models import GIVEN
from .pages import checked

pytestmark = pytest.mark.xdist_group("expectations")  # on one worker, so that what they share is made once

RNG = np.random.default_rng(0)


def heavy():
    """Columns with heavy tails, where generalised cross-validation mistakes distant rows for well explained ones."""
    rng = np.random.default_rng(1)
    X = rng.standard_t(1.2, size=(2000, 4))
    y = X[:, 0] + np.sign(X[:, 1]) * np.abs(X[:, 1]) ** 1.5 + rng.normal(size=2000)
    return X, y


def distrusted(train):
    """A model whose penalty generalised cross-validation has chosen badly, with the warning of its fit."""
    with pytest.warns(UserWarning, match="alpha='gcv' is unreliable on these rows"):
        return learner_for("regression", n_components=256, random_state=0, **(GIVEN | {"alpha": "gcv"})).fit(train)


@pytest.fixture(scope="module")
def failed():
    X, y = heavy()
    train, test = data.open(X, target=y).split(0.5, seed=0)
    return distrusted(train), train, test


def test_an_error_far_above_the_expected_one_is_reported(failed):
    model, _, test = failed
    expected = np.sqrt(model.scores_[model.alphas_ == model.alpha_][0, 0])
    assert report.expected_error(model) == expected
    error = report.evaluate(model, test)[1]
    assert error.value > 100 * expected
    below, far = report.concerns(model, test)
    assert below.message.startswith("R2 is -0.422 on the held-out rows: worse than always predicting their mean")
    assert far.message.startswith(f"RMSE is {error.value:.4g} on the held-out rows")
    assert f"{expected:.4g} that generalised cross-validation expected" in far.message
    assert "(alpha='loo', or --alpha loo)" in far.advice
    y = np.concatenate([block.y for block in test.blocks()])
    squares = np.sort((y - model.predict(test)) ** 2)[::-1]
    share = squares[:5].sum() / squares.sum()
    assert f"5 of {test.n_rows:,} rows make {100 * share:.0f} % of the squared error" in far.message


def test_a_model_of_noise_is_no_better_than_the_mean():
    rng = np.random.default_rng(0)
    train, test = data.open(rng.normal(size=(300, 2)), target=rng.normal(size=300)).split(0.5, seed=0)
    model = learner_for("regression", random_state=0).fit(train)
    assert -0.1 < report.evaluate(model, test)[0].value < 0.0
    (found,) = report.concerns(model, test)
    assert "no better than always predicting their mean" in found.message
    assert found.advice.startswith("check that the columns contain what the target depends on")


@pytest.mark.parametrize("alpha", ["auto", [1e-6, 1e-5]])
def test_an_alpha_without_a_rule_was_chosen_by_leave_one_out(alpha):
    X, y = heavy()
    train, test = data.open(X, target=y).split(0.5, seed=0)
    model = learner_for("regression", n_components=64, random_state=0, **(GIVEN | {"alpha": alpha})).fit(train)
    model.scores_ = model.scores_ * 1e-6  # as if far less had been expected
    found = report.concerns(model, test)[-1]
    assert "that leave-one-out expected" in found.message
    assert "alpha='loo'" not in found.advice


def test_the_outlying_rows_are_named_as_in_the_file(tmp_path):
    X, y = heavy()
    frame = pd.DataFrame(X).assign(y=y)
    frame.columns = [*"abcd", "y"]
    frame.to_csv(tmp_path / "rows.csv", index=False)
    table = data.open(tmp_path / "rows.csv", target="y")
    train, test = table.split(0.5, seed=0)
    again = distrusted(train)
    told = str(report.concerns(again, test)[-1])
    outlying = Outlying.of_model(again, test)
    assert test.where(int(outlying.rows[0])) in told
    assert "rows.csv" in told


def test_leave_one_out_and_light_tails_are_quiet(failed):
    X, y = heavy()
    train, test = data.open(X, target=y).split(0.5, seed=0)
    model = learner_for("regression", n_components=256, random_state=0, **GIVEN).fit(train)
    assert not report.concerns(model, test)
    X = RNG.normal(size=(600, 3))
    for alpha in ("gcv", "loo", 0.1):
        train, test = data.open(X, target=np.sin(X[:, 0]) + 0.3 * RNG.normal(size=600)).split(0.5, seed=0)
        model = learner_for("regression", n_components=64, random_state=0, **(GIVEN | {"alpha": alpha})).fit(train)
        assert not report.concerns(model, test, baselines=report.baselines(model, train, test))
    assert np.isnan(report.expected_error(model))


@pytest.mark.parametrize(("value", "low", "told"), [(1.6, 1.1, True), (1.6, 0.9, False), (1.4, 1.1, False)])
def test_far_is_half_as_much_again_and_beyond_the_interval(value, low, told):
    X = RNG.normal(size=(50, 2))
    model = KernelRegressor(n_components=8, alpha=[1.0], random_state=0, kernel=None, preparation=None).fit(X, X[:, 0])
    model.scores_ = np.ones((1, 1))
    scores = [report.Score("R2", 0.5, 0.4, 0.6), report.Score("RMSE", value, low, 2.0)]
    found = report.concerns(model, data.open(X, target=X[:, 0]), scores=scores)
    assert bool(found) == told


def test_accuracy_below_the_majority_class():
    X = RNG.normal(size=(400, 3))
    y = np.where(RNG.uniform(size=400) < 0.7, "common", "rare")
    train, test = data.open(X, target=y).split(0.5, seed=0)
    model = KernelClassifier("gaussian(2)", n_components=400, C=1e4, loss="squared", random_state=0).fit(train)
    found = report.concerns(model, test, baselines=report.baselines(model, train, test, trained=False))
    assert len(found) == 1
    assert found[0].message.startswith(
        "The majority class baseline (always common) has accuracy 0.6939 on the same held-out rows"
    )
    assert "mercer tune" in found[0].advice


def test_accuracy_just_below_the_majority_class_is_reported_too():
    X, y = RNG.normal(size=(50, 2)), np.arange(50) % 2
    model = KernelClassifier(n_components=8, loss="squared", random_state=0, kernel=None, C=1.0, preparation=None).fit(
        X, y
    )
    scores = [report.Score("accuracy", 0.6, 0.5, 0.7)]
    for name, told in (("majority class", True), ("linear model", False)):
        other = report.Baseline(name, "", 50, scores, report.Score("accuracy", -0.02, -0.1, 0.06))
        assert bool(report.concerns(model, data.open(X, target=y), scores=scores, baselines=[other])) == told


def test_a_better_model_is_named_and_on_the_page():
    X = RNG.normal(size=(900, 3))
    train, test = data.open(X, target=3.0 * X[:, 0] + X[:, 1]).split(0.5, seed=0)
    model = KernelRegressor("gaussian(10)", n_components=64, alpha=1.0, random_state=0).fit(train)
    others = report.baselines(model, train, test)
    scores = report.evaluate(model, test)
    found = report.concerns(model, test, scores=scores, baselines=others)
    (linear,) = (one for one in found if "linear model" in one.message)
    assert "has R2 1 on the same held-out rows" in linear.message
    assert linear.advice.endswith("or use the other model")
    text = report.training_page("a", model, train, test, scores=scores, baselines=others, concerns=found)
    page = checked(text)
    assert text.count('class="alarm" role="alert"') == 1
    assert text.index('class="alarm"') < text.index('class="cards"')
    assert str(linear) in page.words
    assert 'tr class="ahead"' in text
    assert 'alarm" role' not in report.training_page("a", model, train, test, scores=scores)


def test_the_few_rows_that_make_most_of_an_error():
    errors = np.ones(1000)
    assert Outlying.of_errors(errors) is None
    assert Outlying.of_errors(np.zeros(10)) is None
    errors[[3, 500]] = 1e4, 2e4
    found = Outlying.of_errors(errors)
    assert (found.rows.tolist(), found.rows_held_out) == ([500, 3], 1000)
    assert found.share == pytest.approx(3e4 / (3e4 + 998))
    told = found.told(data.open(np.ones((1000, 2))))
    assert told.startswith("2 of 1,000 rows make 97 % of the squared error (namely ")


def test_a_classifier_below_the_largest_class_needs_no_baseline_to_be_told():
    X = RNG.normal(size=(200, 2))
    model = KernelClassifier(n_components=8, loss="squared", random_state=0, kernel=None, C=1.0, preparation=None).fit(
        X, X[:, 0] > 0.0
    )
    (found,) = report.concerns(model, data.open(X, target=X[:, 0] < 0.3))  # the labels belong to other classes
    assert "always predicting True would have" in found.message
    assert report.concerns(model, data.open(X, target=X[:, 0] > 0.0)) == []
    weighed = KernelClassifier(
        n_components=8, loss="squared", class_weight="balanced", random_state=0, kernel=None, C=1.0, preparation=None
    )
    assert report.concerns(weighed.fit(X, X[:, 0] > 0.0), data.open(X, target=X[:, 0] < 0.3)) == []
