"""Maps side by side with the exact kernel machine."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from mercer import data, kernel_error, report
from mercer.choose import learner_for, task_of
from mercer.report.comparison import EXACT, Comparison, Entry, drawn
from mercer.report.pictures import drawing, width_axis

from .pages import HOSTILE, checked

pytestmark = pytest.mark.xdist_group("comparison")  # on one worker, so that what they share is made once

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 3))


@pytest.fixture(scope="module")
def found():
    table = data.open(X, target=np.sin(X[:, 0]) + X[:, 1])
    return report.compare(table, "regression", features=[16, 64], exact_rows=200, rows=400, test_rows=150)


def test_every_map_that_serves_is_there(found):
    names = [entry.map for entry in found.entries]
    serving = ["OrthogonalFourier", "StructuredFourier", "QuasiFourier", "RandomFourier", "Fastfood", "Nystrom"]
    assert names == [EXACT, *[*serving, "TaylorSketch"] * 2]
    assert found.score == "R2"
    assert found.entries[0].rows == 200
    assert all(entry.rows > 350 for entry in found.entries[1:])


def test_an_entry_is_what_the_learner_does(found):
    table = data.open(X, target=np.sin(X[:, 0]) + X[:, 1])
    train, test = drawn(table, 400, 150, 0)
    given = {"kernel": "gaussian('median')", "scale": "standard", "alpha": "loo"}
    model = learner_for("regression", map="OrthogonalFourier", n_components=64, random_state=0, **given)
    model.fit(train.X, train.y)
    (entry,) = (one for one in found.entries if one.map == "OrthogonalFourier" and one.features == 64)
    assert entry.score == pytest.approx(model.score(test.X, test.y))
    assert entry.low < entry.score < entry.high
    assert entry.error == pytest.approx(kernel_error(model.map_, model.preparation_(test.X)).relative)
    assert entry.bytes == sum(part.nbytes for part in model.map_.parameters_) + model.coef_.nbytes
    assert entry.fit_seconds > 0 < entry.predict_seconds


def test_wider_maps_err_less_and_nothing_beats_the_exact_one(found):
    for name in {entry.map for entry in found.entries} - {EXACT}:
        narrow, wide = (entry for entry in found.entries if entry.map == name)
        assert wide.error < narrow.error
    assert found.entries[0].error == 0.0


def test_the_exact_machine_is_kernel_ridge():
    from sklearn.kernel_ridge import KernelRidge

    y = np.sin(X[:, 0])
    options = {"kernel": "gaussian(0.5)", "maps": [], "scale": None, "alpha": 0.1, "exact_rows": 1000}
    found = report.compare(data.open(X, target=y - y.mean()), "regression", rows=400, test_rows=150, **options)
    train, test = drawn(data.open(X, target=y - y.mean()), 400, 150, 0)
    exact = KernelRidge(kernel="rbf", gamma=0.5, alpha=0.1).fit(train.X, train.y)
    assert found.entries[0].score == pytest.approx(exact.score(test.X, test.y), abs=2e-3)  # except for the intercept


def test_frames_with_levels_and_weights():
    frame = pd.DataFrame({"a": X[:, 0], "t": np.where(X[:, 1] > 0, "x", "y"), "w": 1.0 + (X[:, 2] > 0)})
    frame["y"] = frame["t"] + (X[:, 0] > 0).astype(str)
    table = data.open(frame, target="y", weight="w")
    found = report.compare(table, task_of(table).name, maps=["Nystrom"], features=[16], loss="squared")
    assert found.score == "accuracy"
    assert found.entries[1].score > 0.8


def test_what_cannot_be_compared():
    table = data.open(X, target=X[:, 0])
    with pytest.raises(
        ValueError, match=r"TensorSketch does not support Gaussian\(gamma=1\); choose from OrthogonalFourier, "
    ):
        report.compare(table, "regression", kernel="gaussian(1)", maps=["TensorSketch"])
    with pytest.raises(ValueError, match="rows must be a whole number of at least 1, found 0"):
        report.compare(table, "regression", rows=0)
    with pytest.raises(ValueError, match="2 rows are too few"):
        report.compare(data.open(X[:2], target=X[:2, 0]), "regression", rows=100_000, test_rows=1)
    with pytest.raises(ValueError, match="Negative values in data passed to AdditiveChi2"):
        report.compare(table, "regression", kernel="additive_chi2()", features=[16])


def test_a_map_that_refuses_is_left_out(monkeypatch):
    from mercer import RandomFourier

    def refuse(*_):
        raise ValueError("not today")

    monkeypatch.setattr(RandomFourier.construction, "draw", refuse)
    monkeypatch.setattr("mercer.choose.map_catalogue.serves", lambda map, kernel: True)
    table = data.open(X, target=X[:, 0])
    with pytest.warns(UserWarning, match="RandomFourier was left out: not today"):
        found = report.compare(table, "regression", maps=["RandomFourier"], features=[16])
    assert math.isnan(found.entries[1].score)


def test_the_page_needs_nothing_else(found):
    page = checked(report.comparison_page(found))
    assert page.cells == 9 * len(found.entries)
    assert [name.split(" against")[0] for name, _ in page.pictures] == ["Kernel error", "Score", "Time to fit"]
    best = max(found.entries[1:], key=lambda entry: entry.score)
    assert f"{best.map} with {best.features} features has the best R2: {best.score:.4g}" in page.words


def test_names_are_only_names_on_the_page():
    entries = [Entry(HOSTILE, width, 1, 0.1, 0.1, 0.1, 8, 0.5, 0.4, math.nan) for width in (8, 16)]
    hostile = Comparison(HOSTILE, "R2", 1, entries)
    text = report.comparison_page(hostile)
    assert text == report.comparison_page(hostile)
    page = checked(text)
    assert page.words.count(HOSTILE) == 2 + 1 + 2 + 3  # title, verdict, table, legends
    assert '<td class="number">0.1</td>' in text
    gone = [Entry("a", 8, 1, math.nan, math.nan, math.nan, 0, math.nan, math.nan, math.nan)]
    assert '<td class="number">-</td>' in report.comparison_page(Comparison("k", "R2", 1, gone))


def test_the_picture_has_every_map(found):
    figure = report.comparison_figure(found)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == [*dict.fromkeys(entry.map for entry in found.entries[1:]), "exact kernel, 200 rows"]
    (line,) = (one for one in figure.axes[0].lines if one.get_label() == "Nystrom")
    expected = [(one.features, one.error) for one in found.entries if one.map == "Nystrom"]
    np.testing.assert_array_equal(line.get_xydata(), sorted(expected))


def test_ticks_do_not_touch():
    with drawing() as (_, (axes,)):
        for widths, shown in (([255, 256, 1008, 1024], [256, 1024]), ([16, 32, 64, 128, 256], [16, 64, 256])):
            width_axis(axes, widths)
            assert sorted(axes.get_xticks()) == shown
