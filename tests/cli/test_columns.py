"""Columns that commands leave out, carry along and remember."""

from __future__ import annotations

import io
import json

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import data

pytestmark = pytest.mark.xdist_group("columns")  # on one worker, so that what they share is made once


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A folder with rows that have ids, codes with leading zeros, days, and a weight."""
    rng = np.random.default_rng(0)
    n = 9000  # more than two blocks
    frame = pd.DataFrame({"id": np.arange(n) + 2**60, "code": [f"{place:06d}" for place in range(n)]})
    frame["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n) % 400, unit="D")
    frame["a"], frame["b"], frame["w"] = rng.normal(size=n), rng.normal(size=n), rng.uniform(1.0, 2.0, n)
    frame["y"] = frame["a"] + frame["b"] ** 2
    folder = tmp_path_factory.mktemp("people")
    frame.to_parquet(folder / "people.parquet")
    frame.to_csv(folder / "people.csv", index=False)
    frame[["a", "b", "w", "y"]].to_csv(folder / "train.csv", index=False)
    return folder


@pytest.fixture
def fitted(people, run, monkeypatch):
    """The folder as the one that commands run in, with a model of ``y`` by ``a`` and ``b``."""
    monkeypatch.chdir(people)
    if not (people / "m.mercer").exists():
        assert run("fit train.csv --target y --weight w --features 16 -o m.mercer").exit_code == 0
    return people


# -- exclude -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        "--exclude id,code --exclude day",
        pytest.param("--exclude id --exclude code --exclude day", marks=pytest.mark.full),
    ],
)
def test_columns_that_are_no_features(fitted, run, tmp_path, words):
    result = run(f"fit people.parquet --target y {words} --features 8 -o {tmp_path}/m")
    assert result.exit_code == 0, result.output
    assert mercer.load(tmp_path / "m").feature_names_in_.tolist() == ["a", "b", "w"]
    options = "--rounds 1 --kernel gaussian('median') --scale standard"
    assert run(f"tune people.parquet --target y {words} {options} --features 8 -o {tmp_path}/t").exit_code == 0
    assert mercer.load(tmp_path / "t").feature_names_in_.tolist() == ["a", "b", "w"]
    compared = run(f"compare people.parquet --target y {words} --maps nystrom --features 8 --exact-rows 50 --rows 100")
    assert compared.exit_code == 0, compared.output


def test_columns_are_excluded_by_a_file_of_options(fitted, run, tmp_path):
    for text in ('exclude = "id,code,day"', 'exclude = ["id", "code,day"]'):
        (tmp_path / "options.toml").write_text(text)
        command = f"fit people.parquet --target y --features 8 --dry-run --json --config {tmp_path}/options.toml"
        assert json.loads(run(command).stdout)["columns"] == 3


def test_what_cannot_be_excluded(fitted, fails):
    assert "has no column 'cod'; did you mean 'code'?" in fails("fit people.parquet --target y --exclude cod --dry-run")
    assert "column 'y' is excluded, but it is the target" in fails("fit people.csv --target y --exclude y --dry-run")
    with pytest.raises(ValueError, match="has columns 0 to 2 without names, found 3"):
        data.open(np.eye(3), exclude=3)
    with pytest.raises(ValueError, match="column 1 is excluded, but it is the target"):
        data.open(np.eye(3), target=-2, exclude=[1])


def test_columns_without_names_are_excluded_by_number():
    table = data.open(np.arange(12.0).reshape(3, 4), target=0, exclude=[2])
    np.testing.assert_array_equal(next(table.blocks()).X, [[1.0, 3.0], [5.0, 7.0], [9.0, 11.0]])
    chosen = data.open(np.arange(12.0).reshape(3, 4), columns=[3, 2, 1], exclude=-2)
    np.testing.assert_array_equal(next(chosen.blocks()).X[0], [3.0, 1.0])


def test_excluded_columns_of_several_files_need_no_note(tmp_path):
    pd.DataFrame({"a": [1.0], "id": [1]}).to_csv(tmp_path / "1.csv", index=False)
    pd.DataFrame({"a": [2.0], "id": ["x"]}).to_csv(tmp_path / "2.csv", index=False)  # numbers and text do not matter
    assert data.open(str(tmp_path / "*.csv"), exclude="id").names == ("a",)


# -- keep --------------------------------------------------------------------------------------------------------------


def test_kept_columns_stand_before_the_predictions_as_they_are(fitted, run, tmp_path):
    result = run(f"predict m.mercer people.parquet --keep id,code --keep day -q -o {tmp_path}/p.parquet")
    assert result.exit_code == 0, result.output
    found, given = pd.read_parquet(tmp_path / "p.parquet"), pd.read_parquet("people.parquet")
    assert list(found) == ["id", "code", "day", "prediction"]
    for name in ("id", "code", "day"):
        assert found[name].dtype == given[name].dtype
        assert (found[name] == given[name]).all()
    np.testing.assert_array_equal(found["prediction"], mercer.load("m.mercer").predict(given[["a", "b"]]))


def test_fields_of_csv_are_kept_as_their_text(fitted, run):
    result = run("predict m.mercer people.csv --keep code,id,day,a -q")
    found = pd.read_csv(io.StringIO(result.stdout), dtype=str)
    given = pd.read_csv("people.csv", dtype=str)
    for name in ("code", "id", "day", "a"):
        assert found[name].tolist() == given[name].tolist()


def test_kept_columns_belong_to_the_rows_that_are_left(fitted, run, tmp_path):
    frame = pd.read_parquet("people.parquet")
    frame.loc[frame.index % 3 == 0, "a"] = np.nan
    frame.loc[frame.index % 3 == 1, "w"] = np.nan  # which the model does not ask for
    frame.iloc[:5000].to_parquet(tmp_path / "1.parquet")
    frame.iloc[5000:].to_parquet(tmp_path / "2.parquet")
    result = run(f"predict m.mercer {tmp_path}/1.parquet {tmp_path}/2.parquet --drop --keep id,day -q")
    assert result.exit_code == 0, result.output
    found = pd.read_csv(io.StringIO(result.stdout))
    left = frame[frame["a"].notna()]
    assert found["id"].tolist() == left["id"].tolist()
    expected = mercer.load("m.mercer").predict(left[["a", "b"]])
    np.testing.assert_allclose(found["prediction"], expected, rtol=1e-12)


def test_what_cannot_be_kept(fitted, fails, tmp_path):
    assert "has no column 'ids'; did you mean 'id'?" in fails("predict m.mercer people.csv --keep ids -q")
    pd.read_parquet("people.parquet").rename(columns={"code": "prediction"}).to_parquet(tmp_path / "p.parquet")
    message = fails(f"predict m.mercer {tmp_path}/p.parquet --keep prediction,day -q -o {tmp_path}/out.csv")
    assert "column 'prediction' cannot be kept, since the predictions have a column of this name" in message
    assert not (tmp_path / "out.csv").exists()
    np.save(tmp_path / "x.npy", np.eye(2))
    assert "have no names, found 'id'" in fails(f"predict m.mercer {tmp_path}/x.npy --keep id -q")


# -- the target --------------------------------------------------------------------------------------------------------


def test_a_model_remembers_its_target(fitted, run):
    model = mercer.load("m.mercer")
    assert (model.target_name_, model.weight_name_) == ("y", "w")
    scores = json.loads(run("evaluate m.mercer train.csv --json").stdout)
    asked = json.loads(run("evaluate m.mercer train.csv --target y --weight w --json").stdout)
    assert scores == asked
    assert (scores["target"], scores["weight"]) == ("y", "w")
    alike = json.loads(run("evaluate", "m.mercer", "train.csv", "--weight", "", "--json").stdout)
    assert alike["weight"] is None
    assert alike["scores"] != scores["scores"]
    other = json.loads(run("evaluate m.mercer train.csv --target a --json").stdout)
    assert (other["target"], other["weight"]) == ("a", "w")
    assert "9,000 rows, weighted by w" in " ".join(run("evaluate m.mercer train.csv").stdout.split())
    found = json.loads(run("inspect m.mercer --json").stdout)
    assert (found["target"], found["weight"]) == ("y", "w")
    assert [line.split() for line in run("inspect m.mercer").stdout.splitlines() if line.startswith("target")] == [
        ["target", "y"]
    ]


def test_a_remembered_column_may_be_missing(fitted, fails, tmp_path):
    rows = pd.read_csv("train.csv")
    rows.drop(columns="y").to_csv(tmp_path / "no-y.csv", index=False)
    rows.drop(columns="w").to_csv(tmp_path / "no-w.csv", index=False)
    message = fails(f"evaluate m.mercer {tmp_path}/no-y.csv")
    assert "no column 'y'" in message
    assert "'y' is what the model predicts: give the column with the true values by --target" in message
    assert "or none with --weight ''" in fails(f"evaluate m.mercer {tmp_path}/no-w.csv")
    assert "by --target" not in fails(f"evaluate m.mercer {tmp_path}/no-y.csv --target z")


def test_predictions_ignore_the_target_without_a_word(fitted, run):
    result = run("predict m.mercer train.csv")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "'code'" in run("predict m.mercer people.csv --keep id,day").stderr  # other columns still have their note


def test_a_target_without_a_name_is_remembered_by_its_number(run, tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 4))
    X[:, 1] = X[:, 0] ** 2
    np.save(tmp_path / "x.npy", X)
    model = tmp_path / "m.mercer"
    for target in ("1", "-3"):
        assert run(f"fit {tmp_path}/x.npy --target {target} --task regression --features 8 -o {model}").exit_code == 0
        assert mercer.load(model).target_name_ == 1
    assert "column number 1" in run(f"inspect {model}").stdout
    assert run(f"evaluate {model} {tmp_path}/x.npy").exit_code == 0
    predicted = pd.read_csv(io.StringIO(run(f"predict {model} {tmp_path}/x.npy").stdout))["prediction"]
    np.testing.assert_allclose(predicted, mercer.load(model).predict(X[:, [0, 2, 3]]), rtol=1e-12)


def test_labels_beside_rows_are_remembered(run, tmp_path):
    X = np.random.default_rng(0).normal(size=(200, 2))
    np.savez(tmp_path / "x.npz", X=X, labels=(X[:, 0] > 0.0).astype(int))
    assert run(f"fit {tmp_path}/x.npz --target labels --features 8 -o {tmp_path}/m").exit_code == 0
    assert json.loads(run(f"evaluate {tmp_path}/m {tmp_path}/x.npz --json").stdout)["target"] == "labels"
    data.write_libsvm(tmp_path / "x.libsvm", X, (X[:, 0] > 0.0).astype(int))
    found = json.loads(run(f"evaluate {tmp_path}/m {tmp_path}/x.libsvm --json").stdout)  # which brings its own
    assert (found["target"], found["rows"]) == (None, 200)


def test_rows_in_memory_have_targets_without_a_name():
    X = np.random.default_rng(0).normal(size=(50, 2))
    model = mercer.KernelRegressor(n_components=4, random_state=0, kernel=None, alpha=1.0, preparation=None).fit(
        X, X[:, 0]
    )
    assert (model.target_name_, model.weight_name_) == (None, None)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(c=X[:, 0], d=X[:, 1])
    model.fit(data.open(frame, target=["c", "d"]))
    assert model.target_name_ == ("c", "d")
    assert model.fit(X, X[:, 0]).target_name_ is None


def test_faults_in_columns_that_are_not_asked_for_do_not_matter(fitted, run, tmp_path):
    pd.read_csv("train.csv").assign(y=np.inf).to_csv(tmp_path / "new.csv", index=False)
    assert run(f"predict m.mercer {tmp_path}/new.csv -q").stdout == run("predict m.mercer train.csv -q").stdout


# -- names of files that are written -----------------------------------------------------------------------------------


def test_endings_that_can_be_written_are_listed(fitted, fails, tmp_path):
    message = fails(f"predict m.mercer train.csv -o {tmp_path}/p.xlsx")
    assert "end it in .csv, .parquet, .pq, .arrow, .feather" in message
    assert ".npy" not in message  # which contains only a matrix
    assert "--format" not in message
    message = fails(f"transform m.mercer train.csv -o {tmp_path}/z.xlsx")
    assert "end it in .csv, .parquet, .pq, .arrow, .feather, .npy" in message
    assert "--format" not in message
    assert "end it in .csv" in fails(f"predict m.mercer train.csv -o {tmp_path}/p.npy")


# -- columns of files that a model does not know -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["people.csv", "people.parquet"])
def test_columns_unknown_to_a_model_may_contain_anything(fitted, run, tmp_path, name):
    result = run(f"predict m.mercer {name}")
    assert result.exit_code == 0, result.output
    assert result.stderr == "note: ignored, because the model has no columns with these names: 'id', 'code', 'day'\n"
    assert result.stdout == run("predict m.mercer train.csv").stdout
    assert run(f"evaluate m.mercer {name} -q").exit_code == 0
    assert run(f"transform m.mercer {name} -q -o {tmp_path}/z.npy").exit_code == 0


def test_columns_without_names_are_matched_by_their_number(fitted, run, tmp_path):
    rows = pd.read_csv("train.csv")[["a", "b"]]
    (tmp_path / "rows").mkdir()
    np.save(tmp_path / "rows" / "x.npy", rows.to_numpy())
    for source in ("rows/x.npy", "rows"):
        found = pd.read_csv(io.StringIO(run(f"predict m.mercer {tmp_path}/{source}").stdout))["prediction"]
        np.testing.assert_allclose(found, mercer.load("m.mercer").predict(rows), rtol=1e-12)


# -- rows that a model has learned from --------------------------------------------------------------------------------


def test_scores_on_rows_of_the_fit_come_with_a_word(fitted, run, tmp_path):
    assert "the model may have been trained on these rows" in run("evaluate m.mercer train.csv").stderr
    (tmp_path / "copy.csv").write_bytes((fitted / "train.csv").read_bytes())
    assert json.loads(run(f"evaluate m.mercer {tmp_path}/copy.csv --json").stdout)["seen_in_fit"]
    rows = pd.read_csv("train.csv")
    rows.to_parquet(tmp_path / "same.parquet")
    assert json.loads(run(f"evaluate m.mercer {tmp_path}/same.parquet --json").stdout)["seen_in_fit"]
    rows.assign(a=rows["a"] + 1e-3).to_csv(tmp_path / "other.csv", index=False)
    result = run(f"evaluate m.mercer {tmp_path}/other.csv --json")
    assert (result.stderr, json.loads(result.stdout)["seen_in_fit"]) == ("", False)
    assert run("evaluate m.mercer train.csv -q").stderr == ""
    same = tmp_path / "m.mercer"
    assert run(f"fit {tmp_path}/same.parquet --target y --weight w --features 16 -o {same}").exit_code == 0
    assert same.read_bytes() == (fitted / "m.mercer").read_bytes()  # regardless of the name and the format of the file


def test_rows_of_the_fit_are_known_in_any_precision_and_shape(folder, run, tmp_path):
    options = "--rounds 1 --kernel gaussian('median') --scale standard --features 8"
    assert run(f"tune houses.csv --target price {options} -o {tmp_path}/t.mercer").exit_code == 0  # in float32
    assert json.loads(run(f"evaluate {tmp_path}/t.mercer houses.csv --json").stdout)["seen_in_fit"]
    X = np.random.default_rng(0).normal(size=(200, 3)) * [1, 0, 1]
    data.write_libsvm(tmp_path / "x.libsvm", X, np.arange(200) % 2)
    data.write_libsvm(tmp_path / "other.libsvm", X + 0.1, np.arange(200) % 2)
    assert run(f"fit {tmp_path}/x.libsvm --features 8 -o {tmp_path}/l.mercer").exit_code == 0
    for name, seen in (("x", True), ("other", False)):
        found = json.loads(run(f"evaluate {tmp_path}/l.mercer {tmp_path}/{name}.libsvm --json -q").stdout)
        assert found["seen_in_fit"] == seen


def test_maps_are_compared_on_rows_with_missing_values(run, fails, tmp_path):
    X = np.random.default_rng(0).normal(size=(200, 2))
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": X[:, 0] + X[:, 1]})
    frame.loc[::7, "b"] = np.nan
    frame.to_csv(tmp_path / "gaps.csv", index=False)
    command = f"compare {tmp_path}/gaps.csv --target y --maps nystrom --features 8"
    assert "--missing mean fills it" in fails(f"{command} --missing error")
    assert run(f"{command} --missing mean").exit_code == 0
    assert run(command).exit_code == 0
