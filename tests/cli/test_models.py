"""``mercer predict``, ``evaluate``, ``inspect``, ``maps`` and ``transform``."""

from __future__ import annotations

import hashlib
import io
import json
import shlex
from pathlib import Path

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import choose, data, report
from mercer.cli.command_group import COMMANDS

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "command_line.md"


# -- predict -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["p.csv", "p.parquet", "p.arrow"])
def test_predictions_are_the_librarys(folder, run, tmp_path, frames, name):
    output = tmp_path / name
    result = run(
        "predict", "flowers.mercer", "flowers.csv", "--with", "probabilities", "--with", "decisions", "-o", output
    )
    assert result.exit_code == 0, result.output
    assert result.stdout == f"{output}: 400 rows\n"
    read = {"p.csv": pd.read_csv, "p.parquet": pd.read_parquet, "p.arrow": pd.read_feather}[name]
    found, model = read(output), mercer.load("flowers.mercer")
    X = frames["flowers"][["a", "b"]]
    assert found["prediction"].tolist() == model.predict(X).tolist()
    np.testing.assert_allclose(
        found[[f"probability_{one}" for one in model.classes_]], model.predict_proba(X), rtol=1e-9
    )
    np.testing.assert_allclose(
        found[[f"decision_{one}" for one in model.classes_]], model.decision_function(X), rtol=1e-9
    )


def test_two_classes_have_one_decision(folder, run, tmp_path):
    name = tmp_path / "m.mercer"
    assert run(f"fit counts.csv --target y --features 16 -o {name}").exit_code == 0
    result = run(f"predict {name} counts.csv --with decisions -q")
    found = pd.read_csv(io.StringIO(result.stdout))
    assert list(found) == ["prediction", "decision"]
    assert (found["prediction"] == (found["decision"] > 0)).all()


def test_deviations_and_a_pipe(folder, run, frames):
    text = frames["houses"].drop(columns="price").to_csv(index=False)
    result = run("predict", "houses.mercer", "-", "--with", "deviations", text=text)
    assert (result.exit_code, result.stderr) == (0, "")
    found = pd.read_csv(io.StringIO(result.stdout))
    y, deviation = mercer.load("houses.mercer").predict(data.open("houses.csv", target="price"), return_std=True)
    np.testing.assert_allclose(found["prediction"], y, rtol=1e-12)
    np.testing.assert_allclose(found["deviation"], deviation, rtol=1e-12)


def test_columns_are_found_by_name(folder, run, tmp_path, frames):
    frames["houses"].assign(floor=1)[["town", "price", "rooms", "size", "floor"]].to_parquet(tmp_path / "h.parquet")
    other = run(f"predict houses.mercer {tmp_path}/h.parquet")
    assert other.stdout == run("predict houses.mercer houses.csv").stdout
    assert other.stderr == "note: ignored, because the model has no columns with these names: 'floor'\n"
    assert run(f"predict houses.mercer {tmp_path}/h.parquet --quiet").stderr == ""


def test_unavailable_predictions_are_refused(folder, fails, tmp_path, frames):
    assert "only a regressor has standard" in fails("predict flowers.mercer flowers.csv --with deviations -q")
    assert "only a classifier has decisions" in fails("predict houses.mercer houses.csv --with decisions -q")
    assert "has no column 'a'" in fails("predict flowers.mercer houses.csv -q")
    assert "end it in .csv" in fails(f"predict houses.mercer houses.csv -o {tmp_path}/p.xls")
    assert "give one with -o" in fails("predict houses.mercer houses.csv --json", code=2)
    assert "there is no folder" in fails(f"predict houses.mercer houses.csv -o {tmp_path}/no/p.csv")
    frames["houses"].assign(size="large").to_csv(tmp_path / "text.csv", index=False)
    assert "column 'size' contained numbers in fit, but contains levels now" in fails(
        f"predict houses.mercer {tmp_path}/text.csv -q -o {tmp_path}/p.csv"
    )
    frames["houses"].assign(town="paris").to_csv(tmp_path / "town.csv", index=False)
    message = fails(f"predict houses.mercer {tmp_path}/town.csv --unknown error -q -o {tmp_path}/p.csv")
    assert "'paris'" in message
    assert not (tmp_path / "p.csv").exists()


def test_towns_that_the_model_does_not_know(folder, run, tmp_path, frames):
    frames["houses"].assign(town="paris").to_csv(tmp_path / "town.csv", index=False)
    result = run(f"predict houses.mercer {tmp_path}/town.csv -o {tmp_path}/p.csv")
    assert (
        "400 entries have levels that did not occur in fit, and are treated as having no level (town: 400)"
        in result.stderr
    )
    assert np.isfinite(pd.read_csv(tmp_path / "p.csv")["prediction"]).all()


def test_files_that_are_not_models(folder, fails, tmp_path):
    for command in ("predict {} houses.csv", "evaluate {} houses.csv --target price", "inspect {}"):
        assert "not a model file of mercer" in fails(command.format("houses.csv"))
        assert "none.mercer: no such file or directory; is the name correct?" in fails(command.format("none.mercer"))
    (tmp_path / "empty.mercer").write_bytes(b"")
    assert "not a model file of mercer" in fails(f"inspect {tmp_path}/empty.mercer")
    whole = bytearray((folder / "houses.mercer").read_bytes())
    whole[-3] ^= 1
    (tmp_path / "flipped.mercer").write_bytes(whole)
    assert "SHA-256 differs" in fails(f"inspect {tmp_path}/flipped.mercer")
    assert "a damaged one" in fails(f"predict {tmp_path}/flipped.mercer houses.csv")


# -- export ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_exported_model_answers_as_the_file(folder, run, tmp_path, frames, dtype):
    output = tmp_path / "flowers.onnx"
    result = run("export", "flowers.mercer", "--dtype", dtype, "-o", output)
    assert result.exit_code == 0, result.output
    assert result.stdout.endswith("outputs label, decision_values, probabilities\n")
    X = frames["flowers"][["a", "b"]].to_numpy(dtype=dtype)
    label, _, probabilities = onnxruntime.InferenceSession(output).run(None, {"X": X})
    model = mercer.load("flowers.mercer")
    assert label.tolist() == model.predict(frames["flowers"][["a", "b"]].astype(dtype)).tolist()
    np.testing.assert_allclose(probabilities, model.predict_proba(frames["flowers"][["a", "b"]]), atol=1e-5)


def test_models_that_cannot_be_exported(folder, fails, tmp_path):
    assert "column 'town' has levels" in fails(f"export houses.mercer -o {tmp_path}/m.onnx")
    assert not (tmp_path / "m.onnx").exists()
    assert "nothing was done" in fails("export flowers.mercer -o flowers.mercer", code=2)


# -- evaluate ----------------------------------------------------------------------------------------------------------


def test_scores_are_the_librarys(folder, run):
    result = run("evaluate flowers.mercer flowers.csv --target kind --json --resamples 50 --level 0.8 --seed 2")
    found = json.loads(result.stdout)
    table = data.open("flowers.csv", target="kind")
    scores = report.evaluate(mercer.load("flowers.mercer"), table, resamples=50, level=0.8, random_state=2)
    assert list(found["scores"]) == ["accuracy", "balanced accuracy", "AUC", "log loss"]
    assert found["scores"] == {one.name: {"value": one.value, "low": one.low, "high": one.high} for one in scores}
    printed = run("evaluate houses.mercer houses.csv --target price --level 0.9").stdout
    for text in ("R2", "RMSE", "MAE", "90 % interval", "houses.mercer on 400 rows"):
        assert text in printed


def test_unavailable_scores_are_refused(folder, fails, tmp_path):
    nameless = mercer.KernelRegressor(n_components=4, random_state=0, kernel=None, alpha=1.0, preparation=None).fit(
        np.eye(3), np.arange(3.0)
    )
    mercer.save(nameless, tmp_path / "nameless.mercer")
    assert "--target" in fails(f"evaluate {tmp_path}/nameless.mercer houses.csv", code=2)
    assert "did you mean 'kind'?" in fails("evaluate flowers.mercer flowers.csv --target kinds")
    assert "unknown label" in fails("evaluate flowers.mercer flowers.csv --target b")
    mercer.save(mercer.RandomFourier(n_components=4, random_state=0).fit(np.eye(2)), tmp_path / "map.mercer")
    assert "predicts no target" in fails(f"evaluate {tmp_path}/map.mercer flowers.csv --target kind")


# -- inspect and maps --------------------------------------------------------------------------------------------------


def test_what_is_in_a_model(folder, run, tmp_path):
    found = json.loads(run("inspect houses.mercer --json").stdout)
    whole = (folder / "houses.mercer").read_bytes()
    assert (found["bytes"], found["sha256"]) == (len(whole), hashlib.sha256(whole).hexdigest())
    assert found["named"] == [
        {"name": "size", "levels": None, "time": None},
        {"name": "rooms", "levels": None, "time": None},
        {"name": "town", "levels": ["oslo", "rome"], "time": None},
    ]
    printed = run("inspect flowers.mercer").stdout
    for text in ("KernelClassifier", "Nystrom, 64 features, seed 0", "in, left, right", "Matern(nu=1.5"):
        assert text in printed
    map = mercer.TensorSketch(n_components=8, random_state=1).fit(np.eye(3))
    mercer.save(map, tmp_path / "map.mercer", parameters="seed")
    printed = run(f"inspect {tmp_path}/map.mercer").stdout
    assert "needs 3 columns of numbers without names" in printed
    assert "drawn again from the seed" in printed


def test_every_map_is_listed_in_the_order_of_the_inventory(run):
    assert {note.name for note in choose.MAPS} == set(mercer.maps.__all__) - {"FeatureMap"}
    assert [one["name"] for one in json.loads(run("maps --json").stdout)["maps"]] == [one.name for one in choose.MAPS]
    assert "OrthogonalFourier" in run("maps").stdout


@pytest.mark.parametrize(
    ("kernel", "names"),
    [
        ("polynomial(2)", ["TaylorSketch", "Nystrom", "TensorSketch", "HadamardSketch", "ComplexSketch", "TreeSketch"]),
        ("gaussian(1)", ["OrthogonalFourier", "StructuredFourier", "QuasiFourier", "RandomFourier", "Fastfood"]),
        ("laplacian(1)", ["QuasiFourier", "RandomFourier", "Nystrom"]),
        ("vovk_real(3)", ["TaylorSketch", "Nystrom", "RandomMaclaurin"]),
        ("additive_chi2() + linear()", ["Stack", "Nystrom"]),
    ],
)
def test_maps_of_a_kernel(run, kernel, names):
    found = json.loads(run("maps", "--kernel", kernel, "--json").stdout)["maps"]
    assert [one["name"] for one in found][: len(names)] == names


# -- transform ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["z.npy", "z.parquet", "z.csv"])
def test_features_are_those_of_the_map(folder, run, tmp_path, frames, name):
    assert run("transform", "flowers.mercer", "flowers.csv", "-o", tmp_path / name, "-q").exit_code == 0
    path = tmp_path / name
    found = np.load(path) if name == "z.npy" else (pd.read_csv if name == "z.csv" else pd.read_parquet)(path).to_numpy()
    model = mercer.load("flowers.mercer")
    prepared = model.preparation_(frames["flowers"][["a", "b"]].to_numpy())
    np.testing.assert_allclose(found, model.map_.transform(prepared), rtol=1e-12, atol=1e-15)


def test_features_of_a_map_and_sparse_rows(run, fails, tmp_path):
    X = np.abs(np.random.default_rng(0).normal(size=(50, 3))) * [1, 0, 1]
    data.write_libsvm(tmp_path / "rows.libsvm", X, np.arange(50) % 2)
    map = mercer.AdditiveMap(mercer.kernels.AdditiveChi2()).fit(X)
    mercer.save(map, tmp_path / "map.mercer")
    command = f"transform {tmp_path}/map.mercer {tmp_path}/rows.libsvm --json -o {tmp_path}/z.npy"
    assert json.loads(run(command).stdout)["rows"] == 50
    np.testing.assert_allclose(np.load(tmp_path / "z.npy"), map.transform(X), rtol=1e-12)
    assert "end it in" in fails(f"transform {tmp_path}/map.mercer {tmp_path}/rows.libsvm -o {tmp_path}/z")


# -- help --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMMANDS)
def test_the_examples_of_help_work(stored, run, tmp_path, monkeypatch, name):
    for path in stored.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    shown = run(name, "--help").stdout
    examples = [line.strip() for line in shown.splitlines() if line.startswith("    mercer ")]
    assert examples
    for example in examples:
        result = run(*shlex.split(example)[1:], "--quiet")
        assert result.exit_code == 0, result.output


def test_the_lines_of_the_guide_work(run, tmp_path, monkeypatch):
    lines = [line.strip().removeprefix("$ ") for line in GUIDE.read_text(encoding="utf-8").splitlines()]
    python = next(line for line in lines if line.startswith("python -c "))
    monkeypatch.chdir(tmp_path)
    exec(shlex.split(python)[2], {})
    rows = Path("d.libsvm").read_text().splitlines(keepends=True)
    Path("d.libsvm").write_text("".join(rows[:400]))  # to try out what the page shows, no more
    commands = [line for line in lines if line.startswith("mercer ")]
    assert {shlex.split(line)[1] for line in commands} == {"fit", "evaluate", "predict", "tune", "compare"}
    smaller = {
        "fit": ["--features", 64, "--C", 1],
        "tune": ["--rounds", 1, "--features", 32, "--loss", "squared", "--kernel", "gaussian('median')"],
        "compare": ["--rows", 200, "--test-rows", 50, "--features", 16, "--loss", "squared"],
    }
    for words in (shlex.split(line)[1:] for line in commands):
        result = run(*words, *smaller.get(words[0], ()), "--quiet")
        assert result.exit_code == 0, result.output
    assert (tmp_path / "maps.html").exists()
    assert list(pd.read_csv(tmp_path / "predicted.csv", nrows=1))[:2] == ["prediction", "probability_0"]


def test_inspect_shows_no_more_columns_than_a_screen(run, tmp_path):
    frame = pd.DataFrame({f"c{number}": [0.0, 1.0, 2.0, 3.0] for number in range(25)})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    assert run(f"fit {tmp_path}/rows.csv --target c24 --task regression --holdout 0 -o {tmp_path}/m").exit_code == 0
    printed = run(f"inspect {tmp_path}/m").stdout
    assert "c19" in printed
    assert "c20" not in printed
    assert "and 4 more columns, which --json lists" in printed


def test_inspect_shows_the_steps_of_a_pipeline(run, fails, folder, tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    frame = pd.DataFrame(X, columns=["size", "rooms"])
    model = make_pipeline(StandardScaler(), mercer.RandomFourier(n_components=16, random_state=7), RidgeClassifier())
    mercer.save(model.fit(frame, np.where(X[:, 0] > 0, "big", "small")), tmp_path / "p.mercer")
    shown = run("inspect", tmp_path / "p.mercer").stdout
    for part in (
        "Pipeline: StandardScaler, RandomFourier, RidgeClassifier",
        "16 features, seed 7",
        "big, small",
        "rooms",
    ):
        assert part in shown
    found = json.loads(run("inspect", tmp_path / "p.mercer", "--json").stdout)
    assert (found["kind"], found["steps"]) == ("Pipeline", ["StandardScaler", "RandomFourier", "RidgeClassifier"])
    assert (found["columns"], found["classes"], found["map"]) == (2, ["big", "small"], "RandomFourier")
    assert "found a Pipeline; load it in Python" in fails("predict", tmp_path / "p.mercer", "houses.csv")
