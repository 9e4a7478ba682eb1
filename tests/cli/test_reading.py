"""Common features of users' files: rare levels, dates, gaps, other encodings and delimiters."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import mercer

RNG = np.random.default_rng(0)


@pytest.fixture
def rare(tmp_path):
    """Rows with a level that comes up once, for most rows."""
    frame = pd.DataFrame({"x": RNG.normal(size=300), "zip": RNG.choice(["a", "b"], 300)})
    frame.loc[frame.index % 10 == 0, "zip"] = [f"z{row}" for row in range(30)]
    frame["y"] = np.sin(frame["x"])
    frame.to_csv(tmp_path / "rare.csv", index=False)
    return tmp_path / "rare.csv"


@pytest.mark.parametrize(
    "command", ["fit --features 16", pytest.param("tune --rounds 1 --features 16", marks=pytest.mark.full)]
)
def test_a_rare_level_does_not_end_a_fit(run, rare, tmp_path, command):
    page = tmp_path / "m.html"
    result = run(
        *command.split(), rare, "--target", "y", "-o", tmp_path / "m.mercer", "--report", page, "--json", "--seed", 1
    )
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert 0 < found["unknown_rows"] < 30
    assert found["scores"]["R2"]["value"] > 0.5
    told = f"{found['unknown_rows']} of {found['held_out']} rows have levels that were not in the training rows"
    assert f"note: {told}" in result.stderr
    assert told in page.read_text()


def test_rare_levels_in_scores_and_comparisons(run, fails, rare, tmp_path):
    frame = pd.read_csv(rare)
    frame[frame["zip"].isin(["a", "b"])].to_csv(tmp_path / "common.csv", index=False)
    run("fit", tmp_path / "common.csv", "--target", "y", "--features", 16, "-o", tmp_path / "m.mercer")
    result = run("evaluate", tmp_path / "m.mercer", rare, "--target", "y", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["unknown_rows"] == 30
    assert "note: 30 of 300 rows have levels" in result.stderr
    assert "--unknown ignore" in fails("predict", tmp_path / "m.mercer", rare, "--unknown", "error")
    result = run("compare", rare, "--target", "y", "--maps", "nystrom", "--features", 16, "--json")
    assert json.loads(result.stdout)["unknown_rows"] > 0


def test_predictions_can_ignore_levels_that_the_model_has_not_learned(run, rare, tmp_path):
    frame = pd.read_csv(rare)
    frame[frame["zip"].isin(["a", "b"])].to_csv(tmp_path / "common.csv", index=False)
    for words in (("--unknown", "ignore"), ("--unknown", "error")):  # the other way round, too
        fitted = "fit", tmp_path / "common.csv", "--target", "y", "--features", 16, "-o", tmp_path / "m.mercer"
        assert run(*fitted, *words).exit_code == 0
        asked = () if "ignore" in words else ("--unknown", "ignore")
        result = run("predict", tmp_path / "m.mercer", rare, *asked, "-o", tmp_path / "p.csv")
        assert result.exit_code == 0, result.output
        assert np.isfinite(pd.read_csv(tmp_path / "p.csv")["prediction"]).all()
        assert run("transform", tmp_path / "m.mercer", rare, *asked, "-o", tmp_path / "z.npy").exit_code == 0
    assert run("predict", tmp_path / "m.mercer", rare, "--unknown", "error").exit_code == 1


def test_dates_on_the_command_line(run, tmp_path):
    when = pd.date_range("2020-01-01", periods=400, freq="37h")
    frame = pd.DataFrame({"when": when, "day": when.date, "x": RNG.normal(size=400)})
    frame["y"] = when.day_of_week + 0.1 * frame["x"]
    frame.to_csv(tmp_path / "a.csv", index=False)
    scores = []
    for dates in ("number", "parts"):
        arguments = ("fit", tmp_path / "a.csv", "--target", "y", "--features", 256, "-o", tmp_path / f"{dates}.mercer")
        result = run(*arguments, "--dates", dates, "--json")
        assert result.exit_code == 0, result.output
        scores.append(json.loads(result.stdout)["scores"]["R2"]["value"])
        model = mercer.load(tmp_path / f"{dates}.mercer")
        result = run("predict", tmp_path / f"{dates}.mercer", tmp_path / "a.csv", "-o", tmp_path / "p.csv")
        assert result.exit_code == 0, result.output
        expected = model.predict(frame[["when", "day", "x"]])
        np.testing.assert_allclose(pd.read_csv(tmp_path / "p.csv")["prediction"], expected, rtol=1e-6)
    assert scores[1] > max(0.8, scores[0])
    printed = run("inspect", tmp_path / "parts.mercer").stdout
    assert printed.count("dates, as days since 1970-01-01") == 2
    found = json.loads(run("inspect", tmp_path / "parts.mercer", "--json").stdout)
    assert [one["time"] for one in found["named"]] == ["date", "date", None]


def test_encodings_and_delimiters_can_be_given(run, fails, tmp_path):
    frame = pd.DataFrame({"größe": RNG.normal(size=60), "stadt": ["Köln", "Bonn"] * 30})
    frame["y"] = frame["größe"] * 2.0
    frame.to_csv(tmp_path / "a.csv", index=False, sep=";", encoding="latin-1")
    arguments = ("fit", tmp_path / "a.csv", "--target", "y", "--features", 8, "-o", tmp_path / "m.mercer")
    message = fails(*arguments)
    assert "is not UTF-8 text" in message
    assert "such as --encoding 'latin-1'" in message
    result = run(*arguments, "--encoding", "latin-1")
    assert result.exit_code == 0, result.output
    assert "is read with the delimiter ';'; if this is wrong, give --delimiter ','" in result.stderr
    assert "the delimiter" not in run(*arguments, "--encoding", "latin-1", "--delimiter", ";").stderr


def test_notes_name_the_options_to_use(run, tmp_path):
    frame = pd.DataFrame({"id": [f"n{row}" for row in range(100)], "x": RNG.normal(size=100)})
    frame["y"] = frame["x"]
    frame.to_csv(tmp_path / "a.csv", index=False)
    result = run("fit", tmp_path / "a.csv", "--target", "y", "--features", 8, "-o", tmp_path / "m.mercer")
    assert result.exit_code == 0
    assert "column 'id' has" in result.stderr
    assert "leave it out with --exclude" in result.stderr


@pytest.mark.parametrize(
    "command", ["fit --features 16 --missing error", "tune --rounds 1 --features 16 --missing error"]
)
def test_a_missing_value_in_a_held_out_row_is_reported_before_the_fit(fails, tmp_path, command, monkeypatch):
    frame = pd.DataFrame({"x": RNG.normal(size=200), "town": ["a", "b"] * 100})
    frame["y"] = frame["x"]
    _, test = mercer.data.open(frame, target="y").split(test=0.2, seed=0)
    row = next(row for row in range(200) if frame["x"][row] == next(test.blocks()).X.parts["x"][7])
    frame.loc[row, "town"] = None
    frame.to_csv(tmp_path / "a.csv", index=False)
    monkeypatch.setattr("mercer.KernelRegressor.fit", None)
    message = fails(*command.split(), tmp_path / "a.csv", "--target", "y", "-o", tmp_path / "m.mercer")
    assert f"line {row + 2} of " in message
    assert "column 'town' is missing; --missing mean fills it" in message
    assert not (tmp_path / "m.mercer").exists()


def test_labels_that_were_not_learned_do_not_end_a_fit(run, tmp_path):
    pd.DataFrame({"x": np.arange(60.0), "y": [f"name{row}" for row in range(60)]}).to_csv(
        tmp_path / "a.csv", index=False
    )
    result = run("fit", tmp_path / "a.csv", "--target", "y", "--features", 8, "-o", tmp_path / "m.mercer", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["scores"]["accuracy"]["value"] == 0.0
    assert "labels that the model has not learned" in result.stderr


def test_a_text_target_that_looks_like_numbers_is_reported(run, fails, tmp_path):
    frame = pd.DataFrame({"x": RNG.normal(size=90)}).assign(price=RNG.uniform(1.0, 9.0, 90))
    frame.to_csv(tmp_path / "a.csv", index=False, decimal=",")
    message = fails("fit", tmp_path / "a.csv", "--target", "price", "--features", 8, "-o", tmp_path / "m.mercer")
    assert "the target is text that looks like numbers, such as" in message
    assert "give --task classification" in message
    message = fails("fit", tmp_path / "a.csv", "--target", "price", "--task", "regression", "-o", tmp_path / "m.mercer")
    assert "it looks like numbers, such as" in message


def test_decimal_commas_are_found_in_a_file_with_semicolons(run, fails, tmp_path):
    frame = pd.DataFrame({"x": RNG.normal(size=90)}).assign(price=RNG.uniform(1.0, 9.0, 90))
    frame.to_csv(tmp_path / "a.csv", index=False, sep=";", decimal=",")
    asked = ("fit", tmp_path / "a.csv", "--target", "price", "--features", 8, "-o", tmp_path / "m.mercer")
    result = run(*asked)
    assert "is read with decimal commas, as in column 'x'" in result.stderr
    assert "if this is wrong, give --decimal '.'" in result.stderr
    assert "KernelRegressor" in result.stdout
    assert "give --task classification" in fails(*asked, "--decimal", ".")
