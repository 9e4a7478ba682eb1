"""The columns that matter and the interval of new targets, which every report states."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer import data, report
from mercer.kernels import AdditiveChi2
from mercer.learn import ConformalRegressor, KernelClassifier, KernelRegressor
from mercer.report.column_importances import Importance, RowSampler, importances_among, in_words


def tables(n_rows=900, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.1, 1.0, size=(n_rows, 3))
    y = np.sin(6.0 * X[:, 0]) + 0.3 * X[:, 1] + rng.normal(scale=0.1, size=n_rows)
    return data.open(X, target=y).split(test=0.4), X, y


@pytest.fixture(scope="module")
def assessed():
    (train, test), _, _ = tables()
    model = KernelRegressor("gaussian('scale')", n_components=60, alpha="loo", random_state=0).fit(train)
    return model, train, test, report.assess(model, train, test, trained=False)


def test_the_interval_is_the_conformal_one_of_the_rows_held_out(assessed):
    model, _, test, found = assessed
    rows = next(iter(test.blocks()))
    residuals = np.sort(np.abs(rows.y - model.predict(rows.X)))
    place = int(np.ceil(0.9 * (len(residuals) + 1)))
    assert found.interval == report.Interval(0.9, pytest.approx(residuals[place - 1]), len(residuals))
    assert str(found.interval).startswith("90 % of new targets are within 0.1")


def test_the_interval_covers_new_rows(assessed):
    """Of 20,000 rows; the share that 360 rows lead to has a standard deviation of 1.6 %."""
    *_, found = assessed
    _, X, y = tables(20_000, seed=5)
    inside = np.abs(y - assessed[0].predict(X)) <= found.interval.half_width
    assert inside.mean() == pytest.approx(0.9, abs=0.08)


def test_importances_are_those_of_rows_held_out(assessed):
    model, _, test, found = assessed
    assert [one.column for one in found.importances] == ["0", "1", "2"]
    rows = next(iter(test.blocks())).X
    expected = model.importances(rows[::2])  # of 360 rows every second, as 256 are enough
    np.testing.assert_allclose([one.share for one in found.importances], expected, rtol=1e-12)


def test_a_sample_does_not_depend_on_how_rows_come():
    X = np.arange(1000.0)[:, None]
    whole, parts = RowSampler(1000), RowSampler(1000)
    whole.update(X)
    for part in np.split(X, [1, 2, 300, 301, 950]):
        parts.update(part)
    np.testing.assert_array_equal(whole.rows(), X[::4])
    np.testing.assert_array_equal(parts.rows(), X[::4])


def test_the_page_shows_both(assessed):
    model, train, test, found = assessed
    page = report.training_page(
        "A model", model, train, test, scores=found.scores, interval=found.interval, importances=found.importances
    )
    assert "<h2" in page
    assert "What matters" in page
    assert str(found.interval) in page
    assert f"Importance of columns: {in_words(found.importances)}." in page
    bare = report.training_page("A model", model, train, test, scores=found.scores)
    assert "What matters" not in bare
    assert "new targets" not in bare


def test_many_columns_are_cut_from_the_picture(assessed):
    model, train, test, _ = assessed
    many = [Importance(f"a column with a very long name, number {place}", 1 / 40) for place in range(40)]
    page = report.training_page("A model", model, train, test, importances=many)
    assert "The picture has the first 20 of 40 columns." in page
    assert "number 39" in page
    assert in_words(many) == ", ".join(f"{one.column} 2 %" for one in many[:3]) + " and 37 more"
    assert in_words([Importance("a", 0.9991), Importance("b", 0.0009)]) == "a 100 %"


def test_models_without_derivatives_and_few_rows_have_neither():
    (train, test), _, _ = tables(60)
    model = KernelRegressor(AdditiveChi2(), map="nystrom", alpha=0.1, random_state=0).fit(train)
    found = report.assess(model, train, test, trained=False)
    assert found.importances == []
    few = test.split(test=0.2, seed=1)[1]
    assert few.n_rows < 9
    assert report.assess(model, train, few, trained=False).interval is None
    assert report.assess(model, train, None).importances == []


def test_classifiers_and_quantiles_have_no_interval():
    (train, test), X, y = tables(300)
    quantile = KernelRegressor("gaussian('scale')", loss="quantile", alpha=0.1, n_components=30, random_state=0)
    assert report.assess(quantile.fit(train), train, test, trained=False).interval is None
    train, test = data.open(X[:, ::-1], target=y > 0.0).split(test=0.4)
    classifier = KernelClassifier("gaussian('scale')", C=1.0, n_components=30, random_state=0).fit(train)
    found = report.assess(classifier, train, test, trained=False)
    assert found.interval is None
    assert [one.column for one in found.importances][:2] == ["2", "1"]
    assert sum(one.share for one in found.importances) == pytest.approx(1.0)


def test_large_machines_take_fewer_rows(monkeypatch, assessed):
    model, _, test, _ = assessed
    rows = next(iter(test.blocks())).X
    monkeypatch.setattr("mercer.report.column_importances.OPERATIONS", 1.0)
    found = importances_among(model, test, rows)
    expected = model.importances(rows[:: -(-len(rows) // 16)])
    np.testing.assert_allclose([one.share for one in found], np.sort(expected)[::-1], rtol=1e-12)


def test_a_wrapped_model_has_the_same_interval(assessed):
    """A second method agrees: ConformalRegressor's split of the same rows is equally wide, apart from chance."""
    _, X, y = tables(3000, seed=7)
    model = ConformalRegressor(mercer.KernelRegressor("gaussian('scale')", alpha=1e-3), method="split", random_state=0)
    low, high = model.fit(X, y).predict_interval(X[:1])[0]
    assert (high - low) / 2.0 == pytest.approx(assessed[3].interval.half_width, rel=0.25)
