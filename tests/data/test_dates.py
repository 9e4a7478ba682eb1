"""Dates, times of day and durations become numbers of days, whatever the source of the rows."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mercer
from mercer import KernelClassifier, KernelRegressor, data
from mercer.data.block import Block, concatenated
from mercer.data.frames import kind_of, numbers, settled
from mercer.data.times import parts
from mercer.learn.prepare.preparation import Preparation

from ..tables import every_value

DAY = dt.datetime(2024, 2, 29, 18, 0)
DAYS = 19782.75


def days(column):
    return numbers(column).tolist()


@pytest.mark.parametrize(
    ("column", "kind", "expected"),
    [
        (pd.Series(pd.to_datetime([DAY, None])), "date", DAYS),
        (pd.Series(pd.to_datetime([DAY, None]).astype("datetime64[s]")), "date", DAYS),
        (pd.Series(pd.to_datetime([DAY, None])).dt.tz_localize("Europe/Oslo"), "date", DAYS - 1 / 24),
        (pd.Series(pd.PeriodIndex(["2024-02-29", None], freq="D")), "date", 19782.0),
        (pd.Series([DAY, None], dtype=pd.ArrowDtype(pa.timestamp("us"))), "date", DAYS),
        (pd.Series([DAY.date(), None], dtype=pd.ArrowDtype(pa.date32())), "date", 19782.0),
        (pd.Series(pd.to_timedelta(["36h", None])), "duration", 1.5),
        (pl.Series([DAY, None]), "date", DAYS),
        (pl.Series([DAY, None]).cast(pl.Datetime("ns")), "date", DAYS),
        (pl.Series([DAY, None]).dt.replace_time_zone("Europe/Oslo"), "date", DAYS - 1 / 24),
        (pl.Series([DAY.date(), None]), "date", 19782.0),
        (pl.Series([DAY.time(), None]), "duration", 0.75),
        (pl.Series([dt.timedelta(hours=36), None]), "duration", 1.5),
        (pa.array([DAY, None], pa.timestamp("ns")), "date", DAYS),
        (pa.array([DAY, None], pa.timestamp("s", tz="Europe/Oslo")), "date", DAYS),  # Arrow holds UTC
        (pa.array([DAY.date(), None], pa.date32()), "date", 19782.0),
        (pa.array([DAY.date(), None], pa.date64()), "date", 19782.0),
        (pa.array([DAY.time(), None], pa.time32("s")), "duration", 0.75),
        (pa.array([DAY.time(), None], pa.time64("ns")), "duration", 0.75),
        (pa.array([dt.timedelta(hours=36), None], pa.duration("s")), "duration", 1.5),
        (pa.array([DAY, None], pa.timestamp("us")).dictionary_encode(), "date", DAYS),
        (np.array([DAY, None], dtype="datetime64[m]"), "date", DAYS),
        (np.array([36, "NaT"], dtype="timedelta64[h]"), "duration", 1.5),
    ],
    ids=str,
)
def test_days_of_every_column(column, kind, expected):
    assert kind_of(column) == kind
    found = days(column)
    assert found[0] == pytest.approx(expected, abs=1e-9)
    assert np.isnan(found[1])
    assert len(found) == 2


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([DAY, None], "date", DAYS),
        ([DAY.date(), DAY], "date", 19782.0),
        ([DAY.replace(tzinfo=dt.timezone(dt.timedelta(hours=2))), None], "date", DAYS - 2 / 24),
        ([np.datetime64("2024-02-29"), pd.NaT], "date", 19782.0),
        ([dt.timedelta(days=2), np.nan], "duration", 2.0),
        ([dt.time(6), None], "duration", 0.25),
        ([Decimal("1.25"), None], "float64", 1.25),
        ([3, 2.5], "float64", 3.0),
        ([2**70, pd.NA], "float64", 2.0**70),
        ([np.float32(0.5), None], "float64", 0.5),
    ],
    ids=str,
)
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_of_objects_have_the_kind_of_their_values(frame, values, kind, expected):
    if frame is pl.DataFrame and any(value is pd.NaT or value is pd.NA for value in values):
        values = [values[0], None]
    column = pd.Series(values, dtype=object) if frame is pd.DataFrame else pl.Series("a", values, dtype=pl.Object)
    column = settled(frame({"a": column}))["a"]
    assert kind_of(column) == kind
    assert days(column)[0] == pytest.approx(expected)


@pytest.mark.parametrize("values", [["a", "b"], [1, "a"], [True, False], [DAY, "a"], [None, None], [DAY, 1]])
def test_other_objects_stay_levels(values):
    frame = pd.DataFrame({"a": pd.Series(values, dtype=object)})
    assert kind_of(settled(frame)["a"]) == "text"
    assert settled(frame) is frame


def test_parts_of_dates_are_those_of_pandas():
    found = pd.date_range("1899-12-30 23:59", periods=3000, freq="31h7min")
    expected = np.column_stack([found.year, found.month, found.day, found.day_of_week, found.hour])
    np.testing.assert_array_equal(parts(found.to_numpy().astype("datetime64[us]")), expected)
    assert np.isnan(parts(np.array(["NaT"], dtype="datetime64[us]"))).all()


def visits(n=600):
    """Rows whose target has a trend over years and a weekly rhythm."""
    rng = np.random.default_rng(0)
    when = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.uniform(0, 1000, n), unit="D").round("s")
    frame = pd.DataFrame({"when": when, "size": rng.normal(size=n).round(6)})
    frame["visits"] = frame["when"].dt.day_of_week + (when - pd.Timestamp("2020-01-01")).days / 500.0
    return frame


FORMS = {
    "pandas": lambda frame, path: frame,
    "polars": lambda frame, path: pl.from_pandas(frame),
    "arrow": lambda frame, path: pa.Table.from_pandas(frame, preserve_index=False),
    "zoned": lambda frame, path: frame.assign(when=frame["when"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")),
    "objects": lambda frame, path: frame.assign(when=pd.Series(list(frame["when"].dt.to_pydatetime()), dtype=object)),
    "csv": lambda frame, path: frame.to_csv(path / "a.csv", index=False) or path / "a.csv",
    "parquet": lambda frame, path: (
        pq.write_table(pa.Table.from_pandas(frame), path / "a.parquet") or path / "a.parquet"
    ),
}


@every_value(form=FORMS, dates=["number", "parts"])
def test_a_model_takes_dates_from_anywhere(tmp_path, form, dates):
    frame = visits()
    X, y = frame[["when", "size"]], frame["visits"]
    arguments = {"n_components": 128, "scale": "standard", "dates": dates, "random_state": 0}
    model = KernelRegressor("gaussian('median')", **({"alpha": 1.0, "preparation": None} | arguments)).fit(X, y)
    assert model.map_.n_features_in_ == (2 if dates == "number" else 7)
    source = FORMS[form](frame, tmp_path)
    table = data.open(source, target="visits")
    assert table.times == {"when": "date"}
    np.testing.assert_allclose(model.predict(table), model.predict(X), rtol=1e-9)
    other = KernelRegressor("gaussian('median')", **({"alpha": 1.0, "preparation": None} | arguments)).fit(table)
    np.testing.assert_allclose(other.predict(X), model.predict(X), rtol=1e-6, atol=1e-6)
    if not isinstance(source, type(tmp_path)):
        columns = source.select(["when", "size"]) if hasattr(source, "select") else source[["when", "size"]]
        np.testing.assert_allclose(model.predict(columns), model.predict(X), rtol=1e-9)
    mercer.save(other, tmp_path / "m.mercer")
    loaded = mercer.load(tmp_path / "m.mercer")
    assert (loaded.dates, loaded.preparation_.dates, loaded.preparation_.dated) == (dates, dates, True)
    np.testing.assert_array_equal(loaded.predict(X), other.predict(X))


def test_parts_help_where_weekdays_matter():
    frame = visits(2000)
    scores = [
        KernelRegressor(
            "gaussian('median')",
            n_components=512,
            scale="standard",
            dates=dates,
            random_state=0,
            alpha=1.0,
            preparation=None,
        )
        .fit(frame[["when"]][:1500], frame["visits"][:1500])
        .score(frame[["when"]][1500:], frame["visits"][1500:])
        for dates in ("number", "parts")
    ]
    assert scores[0] < 0.5
    assert scores[1] > 0.9


def test_weekdays_are_learned_with_nothing_set():
    frame = visits(800)
    model = KernelRegressor(random_state=0).fit(frame[["when"]][:600], frame["visits"][:600])
    told = "column when is a date, whose year, month, day, weekday and hour are used as well"
    assert told in model.preparation_.describe()
    assert model.score(frame[["when"]][600:], frame["visits"][600:]) > 0.9


@pytest.mark.parametrize(
    ("arguments", "dates"),
    [
        ({}, "parts"),
        ({"dates": "number"}, "number"),
        ({"kernel": "gaussian('scale')"}, "parts"),
        ({"kernel": "gaussian(0.5)"}, "number"),  # this bandwidth is in the units of the columns
        ({"kernel": None, "preparation": None}, "number"),
    ],
)
def test_automatic_dates_have_parts_where_columns_are_prepared(arguments, dates):
    for learner in (KernelRegressor, KernelClassifier):
        assert learner(**arguments).asked_dates == dates


def test_a_date_with_its_parts_counts_as_one_column():
    frame = visits()
    preparation = Preparation.automatic(dates="parts")
    X = frame[["when", "size"]]
    preparation.learn_columns([X])
    preparation.take_scale(preparation.summed_up([(X, None)]), lambda: Block(X, None, None))
    variances = preparation(X).var(axis=0)
    assert variances[-1] == pytest.approx(1.0)
    assert variances[:-1].sum() == pytest.approx(1.0)
    assert variances[:-1] == pytest.approx(1.0 / (len(variances) - 1))


def test_dates_beside_numbers_and_levels_are_told_apart(tmp_path):
    frame = visits()
    X, y = frame[["when", "size"]], frame["visits"]
    model = KernelRegressor(n_components=16, random_state=0, kernel=None, alpha=1.0, preparation=None).fit(X, y)
    for when, words in ((1.0, "numbers"), ("soon", "levels"), (pd.Timedelta("1h"), "durations")):
        for given in (X.assign(when=when), data.open(X.assign(when=when))):
            with pytest.raises(ValueError, match=f"column 'when' contained dates in fit, but contains {words} now"):
                model.predict(given)
    plain = KernelRegressor(n_components=16, random_state=0, kernel=None, alpha=1.0, preparation=None).fit(
        X[["size"]].assign(when=1.0)[["when", "size"]], y
    )
    for given in (X, data.open(X)):
        with pytest.raises(ValueError, match="column 'when' contained numbers in fit, but contains dates now"):
            plain.predict(given)


def test_dates_may_be_missing():
    frame = visits(50)
    frame.loc[7, "when"] = pd.NaT
    X, y = frame[["when", "size"]], frame["visits"].fillna(0.0)
    with pytest.raises(ValueError, match="Input X contains NaN: row 7, column 'when' is missing"):
        KernelRegressor(n_components=8, kernel=None, alpha=1.0, preparation=None).fit(X, y)
    filled = KernelRegressor(
        n_components=8, missing="mean", scale="standard", random_state=0, kernel=None, alpha=1.0, preparation=None
    ).fit(X, y)
    np.testing.assert_allclose(filled.preparation_(X)[7, 0], 0.0, atol=1e-9)
    table = data.open(frame.assign(visits=y), target="visits", drop=True)
    assert (table.n_rows, table.dropped) == (49, 1)


def test_dates_as_targets_and_in_matrices():
    frame = visits(100)
    block = concatenated(list(data.open(frame, target="when").blocks()))
    np.testing.assert_allclose(block.y, numbers(frame["when"]))
    X = frame[["when"]].to_numpy()
    expected = KernelRegressor(n_components=8, random_state=0, kernel=None, alpha=1.0, preparation=None).fit(
        numbers(frame["when"])[:, None], frame["size"]
    )
    for unit in ("s", "us"):
        matrix = X.astype(f"datetime64[{unit}]")
        for given in (matrix, data.open(matrix), data.Blocks([matrix])):
            np.testing.assert_allclose(expected.predict(given), expected.predict(matrix))
        found = KernelRegressor(n_components=8, random_state=0, kernel=None, alpha=1.0, preparation=None).fit(
            matrix, frame["size"]
        )
        np.testing.assert_allclose(found.coef_, expected.coef_)


def test_days_follow_dates_in_one_csv(tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.data.csv.READ_BYTES", 200)
    lines = [f"2024-01-{day:02},1" for day in range(1, 29)] + ["2024-02-01 12:00:00,2", "2024-02-02T06:00:00.5,2"]
    (tmp_path / "a.csv").write_text("\n".join(["when,y", *lines]) + "\n")
    table = data.open(tmp_path / "a.csv", target="y")
    assert table.times == {"when": "date"}
    found = numbers(concatenated(list(table.blocks())).X.parts["when"])
    np.testing.assert_allclose(found[[0, -2, -1]], [19723.0, 19754.5, 19755.25 + 0.5 / 86400])


@pytest.mark.parametrize(
    ("first", "late"),
    [
        ("2024-01-01", "9999-12-31"),
        ("2024-01-01", "9999-12-31 12:00:00"),
        ("2024-01-01 06:00:00", "9999-12-31 12:00:00.5"),
        ("2024-01-01 06:00:00.25", "9999-12-31 12:00:00.5"),
        ("2024-01-01", "2024-02-02 06:00:00.123456789"),
        ("2024-01-01 06:00:00.123456789", "2024-02-02"),
    ],
)
def test_dates_beside_a_late_fraction(tmp_path, monkeypatch, first, late):
    monkeypatch.setattr("mercer.data.csv.READ_BYTES", 200)
    lines = [f"{first},{n},1" for n in range(60)] + [f"{late},0.5,1"] + [f"{first},{n},1" for n in range(9)]
    (tmp_path / "a.csv").write_text("\n".join(["when,x,y", *lines]) + "\n")
    table = data.open(tmp_path / "a.csv", target="y")
    parts = concatenated(list(table.blocks())).X.parts
    expected = np.array([first, late], dtype="datetime64[us]").astype(np.int64) / 86_400_000_000
    np.testing.assert_allclose(numbers(parts["when"])[[0, 60]], expected, rtol=1e-13)
    assert parts["x"][60] == 0.5


def test_one_entry_changes_a_fingerprint_of_dates():
    frame = visits(20)
    before = data.open(frame).fingerprint()
    frame.loc[3, "when"] += pd.Timedelta("1s")
    assert data.open(frame).fingerprint() != before


def test_choices_of_dates_are_checked():
    with pytest.raises(ValueError, match=r"dates must be one of \('auto', 'number', 'parts'\), found 'cyclic'"):
        KernelRegressor(dates="cyclic", kernel=None, alpha=1.0, preparation=None).fit(np.eye(3), np.ones(3))


@pytest.mark.parametrize(
    "value", [dt.date(2020, 1, 5), dt.datetime(2020, 1, 5), pd.Timestamp("2020-01-05"), np.datetime64("2020-01-05")]
)
def test_a_split_by_a_date(value):
    frame = pd.DataFrame({"d": pd.date_range("2020-01-01", periods=20).repeat(2), "x": np.arange(40.0)})
    train, test = data.open(frame).split(test=value, column="d")
    assert (train.n_rows, test.n_rows) == (38, 2)
    np.testing.assert_array_equal(concatenated(list(test.blocks())).X[:, 0], [8.0, 9.0])
    assert data.open(frame).split(test=["2020-01-05", "2020-01-07"], column="d")[1].n_rows == 4


OTHER_FORMS = {
    "year first": (["2020/01/05", "2020/12/31"], ["2020-01-05", "2020-12-31"]),
    "day first": (["5.1.2020", "", "31.12.2020"], ["2020-01-05", "NaT", "2020-12-31"]),
    "with a time": (["05.01.2020 6:30", "31.12.2020 23:59"], ["2020-01-05T06:30", "2020-12-31T23:59"]),
    "with seconds": (["2020/01/05 06:30:01", "2020/12/31 00:00:00"], ["2020-01-05T06:30:01", "2020-12-31"]),
}


@pytest.mark.parametrize("name", OTHER_FORMS)
def test_dates_in_other_forms_without_doubt_are_dates(tmp_path, name):
    texts, expected = OTHER_FORMS[name]
    lines = [f"{text},{text or '1.2.3'} ,{place}" for place, text in enumerate(texts)]
    (tmp_path / "a.csv").write_text("\n".join(["a,b,y", *lines]) + "\n")
    found = concatenated(list(data.open(tmp_path / "a.csv", target="y").blocks())).X.parts
    np.testing.assert_array_equal(found["a"].astype("datetime64[us]"), np.array(expected, dtype="datetime64[us]"))
    assert found["b"].dtype == object  # the blank that follows is not of that form


@pytest.mark.parametrize(
    "texts",
    [
        ["01/05/2020", "12/31/2020"],
        ["05.01.20", "31.12.20"],
        ["1.2.3", "1.10.2"],
        ["45.01.2020", "31.12.2020"],
        ["2020/01/05", "31.12.2020"],
        ["2020/01/05", "soon"],
        ["31.12.2020 10:00", "30.12.2020 noon"],
    ],
)
def test_dates_in_forms_with_doubt_are_text(tmp_path, texts):
    (tmp_path / "a.csv").write_text("a,y\n" + "".join(f"{text},1\n" for text in texts))
    found = concatenated(list(data.open(tmp_path / "a.csv", target="y").blocks())).X.parts
    assert found["a"].tolist() == texts
