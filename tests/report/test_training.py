"""The page about one model."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import calibration_curve

import mercer
from mercer import data, report
from mercer.choose import learner_for
from mercer.report.error_analysis import confusion
from mercer.report.model_charts import calibration
from mercer.report.style import STYLE
from mercer.report.what_if import FACTORS, STUDY_ROWS, as_wide, some

from .models import FRAME, KINDS, made
from .pages import HOSTILE, checked

pytestmark = pytest.mark.xdist_group("pages")  # on one worker, so that what they share is made once

RNG = np.random.default_rng(1)
X = RNG.normal(size=(600, 2))


def test_reports_about_regressors(numbers):
    text, model, train, test, studied = numbers
    page = checked(text)
    assert [name.split(":")[0].split(" by ")[0] for name, _ in page.pictures] == [
        "Observed against predicted values of held-out rows",
        "Residuals against predicted values",
        "Histogram of the target",
        "Score against number of features",
        "Kernel error against number of features",
        "Expected error against alpha,",
    ]
    for words in (
        f"{train.n_rows:,} rows",
        f"{test.n_rows:,} rows",
        repr(model.map_.kernel_),
        "R2",
        "1.5 s",
        "20 ms",
        "2 MB",
    ):
        assert words in page.words
    assert f"{100 * studied.error.relative:.2g} %" in page.words
    assert "5.0 min" in page.words


def test_reports_about_classifiers(classes):
    text, model, _, test, _ = classes
    page = checked(text)
    names = [name.split(":")[0] for name, _ in page.pictures]
    assert names[0].startswith("Calibration curve over 10 bins")
    assert "Scores against C" in names
    y = np.concatenate([block.y for block in test.blocks()])
    counts = confusion(y, model.predict(test), np.ones(len(y)), model.classes_.tolist())
    assert sum(map(sum, counts)) == test.n_rows
    assert counts[0][0] == np.sum((y == HOSTILE) & (model.predict(test) == HOSTILE))
    for row in counts:
        for one in row:
            assert f"{one / sum(row):.3f}" in text


def test_names_are_only_names(classes):
    page = checked(classes[0])
    # the title twice, a column, a level, a class in the bars and twice in the table, the command, an option
    assert page.words.count(HOSTILE) == 9
    assert "mercer fit '" in page.words


def test_the_same_page_twice(numbers):
    _, model, train, test, _ = numbers
    one, other = (report.training_page("a", model, train, test) for _ in range(2))
    assert one == other
    assert "How to reproduce this model" not in one
    assert "Time and memory" not in one
    assert "More or fewer features" not in one


def test_without_rows_held_out_it_says_so(numbers):
    _, model, train, _, _ = numbers
    page = checked(report.training_page("a", model, train))
    assert "No rows were held out" in page.words
    assert "Errors on held-out rows" not in page.words


@pytest.mark.full
def test_every_loss_has_a_calibration_unless_it_learned_in_batches():
    page, model, train, test, _ = made(KINDS == "low", loss="squared")
    assert any(name.startswith("Calibration") for name, _ in checked(page).pictures)
    model.calibration_ = None
    page = checked(report.training_page("a", model, train, test, studied=report.study(model, train, test)))
    assert "gives no probabilities" in page.words


def test_wide_tables_move_in_a_box_with_a_bar():
    rules = [rule.strip().rpartition("{") for rule in STYLE.partition("@media print")[0].replace("\n", "").split("}")]
    declared: dict[str, str] = {}
    for selector, _, body in rules:
        declared.setdefault(selector.rpartition("{")[2], body)
    assert declared[".wide"].startswith("overflow:auto;")
    assert "background:var(--soft)" in declared[".wide::-webkit-scrollbar-thumb"]  # also where bars hide by default
    assert "height:" in declared[".wide::-webkit-scrollbar"]
    assert not [body for body in declared.values() if "overflow:hidden" in body or "overflow:clip" in body]
    assert "min-width:0" in declared[".card"]
    assert "min-width:0" in declared[".figures>*"]


def test_many_names_are_turned(letters, classes):
    assert 'class="confusion many"' in letters[0]
    assert 'class="confusion many"' not in classes[0]


@pytest.mark.full
def test_many_classes_have_no_table():
    y = np.array([f"class {number:02}" for number in np.arange(600) % 40])
    page = checked(made(y, loss="squared")[0])
    assert "40 classes are too many for a confusion matrix" in page.words
    assert "The 30 largest of 40 classes." in page.words


def test_weights_affect_the_confusion_matrix():
    y, told, weight = np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([0.5, 2.0, 3.0])
    assert confusion(y, told, weight, [0, 1]) == [[0.5, 2], [0, 3]]


def test_calibration_is_that_of_scikit_learn():
    chance = RNG.uniform(size=1000)
    right = RNG.uniform(size=1000) < chance**2
    told, true = calibration(chance, right, np.ones(1000))
    shares, means = calibration_curve(right, chance, n_bins=10, strategy="quantile")
    np.testing.assert_allclose(told, means)
    np.testing.assert_allclose(true, shares)
    twice = calibration(np.repeat(chance, 2), np.repeat(right, 2), np.ones(2000))
    np.testing.assert_allclose(calibration(chance, right, np.full(1000, 2.0)), twice)
    np.testing.assert_allclose(
        calibration(np.zeros(3), np.array([True, False, False]), np.array([1.0, 3.0, 0.0]))[1], [1, 0]
    )


def test_maps_have_no_page():
    with pytest.raises(TypeError, match="which predicts no target"):
        report.training_page("", object(), data.open(X))


def test_a_summary_is_that_of_the_rows():
    frame = FRAME.assign(y=KINDS, w=1.0)
    frame.loc[:59, "a"] = np.nan
    frame.loc[300:, "w"] = 3.0
    table = data.open(frame, target="y", weight="w")
    model = learner_for("classification", n_components=16, missing="mean", loss="squared").fit(table)
    found = report.summary(model, table)
    w, a = frame["w"].to_numpy(), frame["a"].to_numpy()
    known = ~np.isnan(a)
    assert found.rows == 600
    assert found.columns[0].gaps == pytest.approx(60 / w.sum())
    mean = np.average(a[known], weights=w[known])
    assert found.columns[0].mean == pytest.approx(mean)
    assert found.columns[0].deviation == pytest.approx(np.sqrt(np.average((a[known] - mean) ** 2, weights=w[known])))
    assert (found.columns[0].least, found.columns[0].most) == (a[known].min(), a[known].max())
    assert found.columns[2].levels["oslo"] == pytest.approx(w[frame["town"] == "oslo"].sum() / w.sum())
    assert found.classes == {label: w[label == KINDS].sum() for label in sorted(set(KINDS))}


def test_a_study_is_what_narrower_learners_do(numbers):
    _, model, train, test, studied = numbers
    assert [one.features for one in studied.widths] == [16, 32, 64]
    assert studied.widths[-1].score.value == pytest.approx(model.score(test))
    assert studied.error.relative == studied.widths[-1].error
    given = {"kernel": model.map_.kernel_, "map": "OrthogonalFourier", "random_state": 0, "scale": "standard"}
    narrow = mercer.KernelRegressor(
        n_components=32,
        alpha="gcv",
        **({"kernel": None, "preparation": None} | given),
    ).fit(train)
    assert studied.widths[1].score.value == pytest.approx(narrow.score(test))
    assert studied.path == []  # the rule has tried alphas
    errors = [one.error for one in studied.widths]
    assert errors == sorted(errors, reverse=True)


def test_a_path_is_what_other_penalties_do(classes):
    _, model, train, test, studied = classes
    assert [one.value for one in studied.path] == pytest.approx([1e-2, 1e-1, 1.0, 1e1, 1e2])
    assert studied.path[2].held_out == pytest.approx(model.score(test))
    assert studied.path[2].learned == pytest.approx(model.score(train))


def test_many_rows_are_thinned(monkeypatch):
    many = RNG.normal(size=(3000, 2))
    table = data.open(many, target=np.sin(many[:, 0]))
    assert len(some(table, 500, 0).y) == pytest.approx(500, abs=80)
    assert len(some(table, STUDY_ROWS, 0).y) == 3000
    monkeypatch.setattr("mercer.report.what_if.STUDY_ROWS", 500)
    train, test = table.split(0.5)
    model = learner_for("regression", n_components=32, random_state=0).fit(train)
    studied = report.study(model, train, test)
    assert studied.rows < 600
    text = report.training_page("a", model, train, test, scores=report.evaluate(model, test), studied=studied)
    assert f"trained on {studied.rows:,} of the {train.n_rows:,} rows" in checked(text).words
    assert "the model, trained on all rows" in text


def test_narrower_models_have_the_penalty_and_the_kernel_that_a_pilot_chose():
    X = np.random.default_rng(0).normal(size=(200, 2))
    model = mercer.KernelClassifier(n_components=32, random_state=0).fit(X, X[:, 0] > 0.0)
    narrower = as_wide(model, 16)
    assert (narrower.C, narrower.kernel, narrower.columns) == (model.C_, model.map_.kernel_, None)


def test_what_a_pilot_chose_is_studied_and_shown():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)) * np.array([1.0, 1e4, 1e-3])
    train, test = data.open(X, target=np.where(np.abs(X[:, 0]) < 0.7, "in", "out")).split(test=0.5)
    model = mercer.KernelClassifier(n_components=64, random_state=0).fit(train)
    studied = report.study(model, train, test)
    assert [one.value for one in studied.path] == pytest.approx([model.C_ * factor for factor in FACTORS])
    # Prepared like the rows of the model: otherwise one column would dominate the others.
    assert studied.path[2].held_out == pytest.approx(model.score(test), abs=0.05)
    assert studied.widths[-2].score.value > 0.8
    shown = checked(report.training_page("a", model, train, test, studied=studied)).words
    assert "How it was chosen" in shown
    assert all(trial.kernel in shown for trial in model.choice_.trials)
    given = mercer.KernelClassifier("gaussian(1)", C=1.0, n_components=16, random_state=0).fit(train)
    assert "How it was chosen" not in checked(report.training_page("a", given, train)).words


@pytest.mark.parametrize(("scale", "words"), [("auto", "mean 0 and variance 1"), ("common", "the same factor")])
def test_the_page_says_how_columns_were_scaled(scale, words):
    X = np.random.default_rng(0).normal(size=(60, 3))
    table = data.open(X, target=2)
    model = mercer.KernelRegressor(n_components=8, scale=scale, random_state=0, kernel=None, alpha=1.0).fit(table)
    assert words in checked(report.training_page("a", model, table)).words


def test_every_kernel_and_map_has_a_sentence():
    from mercer import kernels, maps

    for name in set(kernels.__all__) - {"Kernel", "KernelSyntaxError", "parse"}:
        assert "description" in vars(getattr(kernels, name)), name
    for map in maps.MAPS:
        assert "description" in vars(map), map
        assert all(map.description[:5]), map
