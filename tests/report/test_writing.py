"""``mercer.report(...)``: the page for Python."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array

import mercer
from mercer import KernelClassifier, KernelRegressor, data, report

from .pages import checked

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))
Y = np.sin(2.0 * X[:, 0]) + X[:, 1]
KINDS = np.where(Y > 0.5, "high", "low")
LEARNED, HELD = slice(0, 300), slice(300, 400)


@pytest.fixture(scope="module")
def model():
    return KernelRegressor(
        n_components=64, alpha="loo", scale="standard", random_state=0, kernel=None, preparation=None
    ).fit(X[LEARNED], Y[LEARNED])


@pytest.mark.parametrize(
    "rows",
    ["pandas", *(pytest.param(one, marks=pytest.mark.full) for one in ("table", np.asarray, csr_array, "polars"))],
)
def test_rows_come_in_every_form(rows, tmp_path):
    names = ["a", "b", "c"]
    made = {"pandas": lambda one: pd.DataFrame(one, columns=names), "polars": lambda one: pl.DataFrame(one, names)}
    as_rows = made.get(rows, np.asarray) if isinstance(rows, str) else rows
    learner = KernelRegressor(n_components=64, alpha="loo", random_state=0, kernel=None, preparation=None).fit(
        as_rows(X[LEARNED]), Y[LEARNED]
    )
    given = [(as_rows(X[part]), Y[part]) for part in (LEARNED, HELD)]
    if rows == "table":
        given = [(data.open(X[part], target=Y[part]),) for part in (LEARNED, HELD)]
    test = given[1][0] if rows == "table" else given[1]
    found = mercer.report(learner, *given[0], test=test, path=tmp_path / "page.html")
    assert found.path == tmp_path / "page.html"
    page = checked(found.path.read_text(encoding="utf-8"))
    for words in (
        "Scores on held-out rows",
        "Compared with other models",
        "Errors on held-out rows",
        "More or fewer features",
    ):
        assert words in page.words
    assert found.scores == report.evaluate(learner, data.open(as_rows(X[HELD]), target=Y[HELD]))
    assert [one.name for one in found.baselines] == ["mean", "linear model", "boosted trees"]


def test_frames_with_levels_and_the_name_of_the_target(tmp_path):
    frame = pd.DataFrame({"a": X[:, 0], "t": np.where(X[:, 2] > 0, "x", "y"), "kind": KINDS})
    learner = KernelClassifier(n_components=32, random_state=0, kernel=None, C=1.0, preparation=None).fit(
        frame[["a", "t"]][LEARNED], KINDS[LEARNED]
    )
    found = mercer.report(learner, frame[LEARNED], "kind", test=(frame[HELD], "kind"), path=tmp_path / "p.html")
    again = report.write(
        learner, frame[["a", "t"]][LEARNED], KINDS[LEARNED], test=(frame[["a", "t"]][HELD], KINDS[HELD]),
        path=tmp_path / "p.html",
    )  # fmt: skip
    assert found == again
    assert found.scores[0].value == pytest.approx(learner.score(frame[["a", "t"]][HELD], KINDS[HELD]))


def test_weights_affect_reports(model, tmp_path):
    weight = RNG.uniform(0.5, 2.0, 100)
    given = {"sample_weight": np.ones(300), "path": tmp_path / "p.html", "title": "A <title>"}
    found = mercer.report(model, X[LEARNED], Y[LEARNED], test=(X[HELD], Y[HELD], weight), **given)
    assert found.scores[0].value == pytest.approx(model.score(X[HELD], Y[HELD], weight))
    assert "A <title>" in checked(found.path.read_text(encoding="utf-8")).words


def test_a_notebook_shows_the_scores(model, tmp_path):
    found = mercer.report(model, X[LEARNED], Y[LEARNED], test=(X[HELD], Y[HELD]), path=tmp_path / "p.html")
    shown = found._repr_html_()
    assert f"{found.scores[0].value:.4g}" in shown
    assert "linear model" in shown
    assert "p.html" in shown
    alone = mercer.report(model, X[LEARNED], Y[LEARNED], path=tmp_path / "p.html")
    assert alone.scores == []
    assert "<table" not in alone._repr_html_()


def test_concerns_are_warned_of(tmp_path):
    noise = RNG.normal(size=400)
    learner = KernelRegressor("gaussian(2)", alpha=1e-8, random_state=0).fit(X[LEARNED], noise[LEARNED])
    given = {"test": (X[HELD], noise[HELD]), "path": tmp_path / "p.html"}
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        found = mercer.report(learner, X[LEARNED], noise[LEARNED], **given)
    assert [str(one.message) for one in seen] == [str(one) for one in found.concerns]
    assert "worse than always predicting their mean" in str(found.concerns[0])
    assert len([one for one in found.concerns if one.advice.endswith("or use the other model")]) == 2
    assert 'role="alert"' in found._repr_html_()
    assert 'role="alert"' in found.path.read_text(encoding="utf-8")


def test_what_cannot_be_reported(model, tmp_path):
    with pytest.raises(ValueError, match=r"test has no targets: give y, or for test a tuple \(X, y\)"):
        mercer.report(model, X, Y, test=X, path=tmp_path / "p.html")
    with pytest.raises(ValueError, match="X has no targets"):
        mercer.report(model, X, path=tmp_path / "p.html")
    with pytest.raises(ValueError, match="X is a table, which has its own targets"):
        mercer.report(model, data.open(X, target=Y), Y, path=tmp_path / "p.html")
    with pytest.raises(TypeError, match="found Blocks"):
        mercer.report(model, data.Blocks([(X, Y)]), path=tmp_path / "p.html")
    with pytest.raises(TypeError, match="which predicts no target"):
        mercer.report(object(), X, Y)
    assert list(tmp_path.iterdir()) == []


def test_a_page_does_not_take_the_place_of_the_rows(model, tmp_path):
    pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=Y).to_csv(tmp_path / "rows.csv", index=False)
    before = (tmp_path / "rows.csv").read_bytes()
    table = data.open(tmp_path / "rows.csv", target="y")
    (tmp_path / "link.html").hardlink_to(tmp_path / "rows.csv")
    for name in ("rows.csv", "link.html"):
        for rows, test in ((table, None), (X, table)):
            with pytest.raises(ValueError, match="is the same file as the data"):
                report(model, rows, Y if test is not None else None, test=test, path=tmp_path / name)
    assert (tmp_path / "rows.csv").read_bytes() == before


def test_the_package_is_still_one():
    assert mercer.report is report
    assert inspect.ismodule(mercer.report)
    assert mercer.report.__name__ == "mercer.report"
    ours, theirs = (inspect.signature(one) for one in (mercer.report, report.write))
    assert ours == theirs
    assert all(hasattr(report, name) for name in report.__all__)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mercer.report.evaluate is report.evaluate
