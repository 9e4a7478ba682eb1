"""Text from files is shown on a terminal but cannot control it."""

from __future__ import annotations

import io
import json
import re
import sys

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import KernelClassifier, KernelRegressor
from mercer.cli import predict
from mercer.cli.escaping import TerminalWriter, printable

from ..persist.hostile import Parts

EVIL = "a\x1b]0;owned\x07\x9b31m\u202eb\r\x08\u2028\x7f"
STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def harmless(result):
    """Check that neither stream contains control characters, and return the output."""
    assert not STEERING.search(result.stdout), result.stdout
    assert not STEERING.search(result.stderr), result.stderr
    return result.stdout + result.stderr


@pytest.fixture
def evil(tmp_path):
    """A model and rows with such names and labels."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({EVIL: rng.normal(size=80), "level": rng.choice([f"one{EVIL}", f"two{EVIL}"], 80)})
    labels = np.where(frame[EVIL] > 0, f"yes{EVIL}", f"no{EVIL}")
    mercer.save(
        KernelClassifier(n_components=8, random_state=0, kernel=None, C=1.0, preparation=None).fit(frame, labels),
        tmp_path / "m.mercer",
    )
    frame.assign(y=labels).to_parquet(tmp_path / "d.parquet")
    return tmp_path


def test_inspect_shows_names_and_levels_of_a_foreign_file(evil, run):
    shown = harmless(run("inspect", evil / "m.mercer"))
    assert r"\x1b]0;owned" in shown.replace("\n", "")
    result = run("inspect", evil / "m.mercer", "--json")
    harmless(result)
    found = json.loads(result.stdout)
    assert found["named"][0]["name"] == EVIL
    assert sorted(found["classes"]) == [f"no{EVIL}", f"yes{EVIL}"]


@pytest.mark.parametrize("place", ["versions", "unknown entry", "class", "tensor", "kernel", "argument"])
def test_control_characters_of_a_header_do_not_steer(evil, run, place):
    parts = Parts((evil / "m.mercer").read_bytes())
    if place == "versions":
        parts.held["versions"] = {EVIL: EVIL}
    elif place == "unknown entry":
        parts.held[EVIL] = 1
    elif place == "class":
        parts.held["class"] = parts.held["model"]["class"] = EVIL
    elif place == "tensor":
        parts.put(EVIL, np.zeros(2))
    elif place == "kernel":
        parts.held["model"]["map"]["kernel"] = EVIL
    else:
        parts.held["model"]["arguments"]["loss"] = EVIL
    (evil / "m.mercer").write_bytes(parts.bytes())
    for arguments in (("inspect", evil / "m.mercer"), ("predict", evil / "m.mercer", evil / "d.parquet")):
        result = run(*arguments)
        if place != "versions":
            assert result.exit_code == 1
            harmless(result)
        elif arguments[0] == "inspect":
            assert r"\x1b" in harmless(result)


def test_names_of_columns_and_files_do_not_steer(evil, run, tmp_path):
    name = f"{EVIL.replace('/', '')}.parquet"
    (tmp_path / name).write_bytes((evil / "d.parquet").read_bytes())
    fit = ("fit", tmp_path / name, "--features", 8, "-o", tmp_path / "x.mercer")
    harmless(run(*fit))
    harmless(run(*fit, "--target", "nothing"))
    harmless(run(*fit, "--target", "y", "--dry-run"))
    harmless(run(*fit, "--target", "y"))
    harmless(run("evaluate", tmp_path / "x.mercer", tmp_path / name, "--target", "y"))
    harmless(run("evaluate", evil / "m.mercer", evil / "d.parquet", "--target", "level"))
    (tmp_path / "c.toml").write_text('"\\u001b[31m" = 1\n')
    harmless(run(*fit, "--config", tmp_path / "c.toml"))


def test_predictions_are_exact_in_files_and_harmless_on_a_terminal(evil, run, monkeypatch):
    assert run("predict", evil / "m.mercer", evil / "d.parquet", "-o", evil / "p.csv").exit_code == 0
    assert EVIL.encode() in (evil / "p.csv").read_bytes()
    assert EVIL in run("predict", evil / "m.mercer", evil / "d.parquet").stdout
    stream = io.StringIO()
    stream.isatty = lambda: True
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", stream)
        file = predict.standard_output()
    table = mercer.data.open(evil / "d.parquet", target="y")
    mercer.data.write(file, mercer.report.predictions(mercer.load(evil / "m.mercer"), table), "csv")
    assert not STEERING.search(stream.getvalue())
    assert len(stream.getvalue().splitlines()) == 81


def test_text_that_is_cut_anywhere_is_shown_whole():
    stream = io.StringIO()
    file = TerminalWriter(stream)
    for byte in "naïve \x1b[31m\u202e\n".encode():
        assert file.write(bytes([byte])) == 1
    file.flush()
    assert stream.getvalue() == "naïve \\x1b[31m\\u202e\n"


def test_plain_text_is_shown_as_it_is():
    plain = "Größe = 3 µm, 漢字, e\u0301, \U0001f600, C:\\data"
    assert printable(plain) == plain
    assert printable("a\n\tb") == r"a\n\tb"
    assert printable("a\n\tb", breaks=True) == "a\n\tb"


# -- spreadsheets ------------------------------------------------------------------------------------------------------

FORMULAS = ["=cmd|' /C calc'!A0", "+1", "-1+1", "@SUM(1)", "\t=1", "\r=1", "plain", "a=b", "'quoted", ""]


def test_formulas_in_labels_are_text_where_it_is_requested(tmp_path, run, fails):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=90)})
    labels = np.array(["=2+2", "+49", "none"])[np.digitize(frame["x"], [-0.5, 0.5])]
    mercer.save(
        KernelClassifier(n_components=8, random_state=0, loss="logistic", kernel=None, C=1.0, preparation=None).fit(
            frame, labels
        ),
        tmp_path / "m",
    )
    frame.to_csv(tmp_path / "d.csv", index=False)
    predicted = ("predict", tmp_path / "m", tmp_path / "d.csv")
    assert '"=2+2"' in run(*predicted).stdout
    safe = run(*predicted, "--spreadsheet-safe", "--with", "probabilities").stdout
    assert {line.split(",")[0] for line in safe.splitlines()[1:]} == {'"\'=2+2"', '"\'+49"', '"none"'}
    message = fails(*predicted, "--spreadsheet-safe", "-o", tmp_path / "p.parquet")
    assert "--spreadsheet-safe is for CSV" in message


def test_numbers_stay_numbers(tmp_path, run):
    frame = pd.DataFrame({"x": np.linspace(-1, 1, 50)})
    mercer.save(
        KernelRegressor(n_components=8, random_state=0, kernel=None, alpha=1.0, preparation=None).fit(
            frame, frame["x"]
        ),
        tmp_path / "m",
    )
    frame.to_csv(tmp_path / "d.csv", index=False)
    predicted = ("predict", tmp_path / "m", tmp_path / "d.csv")
    assert run(*predicted, "--spreadsheet-safe").stdout == run(*predicted).stdout


def test_the_library_writes_text_that_is_not_a_formula():
    for columns in ({"=a": np.array(FORMULAS, dtype=object)}, {"=a": np.array(FORMULAS)}):
        file, safe = io.BytesIO(), io.BytesIO()
        mercer.data.write(file, [columns], "csv")
        mercer.data.write(safe, [columns], "csv", spreadsheet_safe=True)
        assert pd.read_csv(io.BytesIO(file.getvalue()), keep_default_na=False)["=a"][0] == FORMULAS[0]
        found = pd.read_csv(io.BytesIO(safe.getvalue()), keep_default_na=False)["'=a"].tolist()
        assert found == [f"'{one}" for one in FORMULAS[:6]] + FORMULAS[6:]
    with pytest.raises(ValueError, match="spreadsheet_safe is for CSV"):
        mercer.data.write(io.BytesIO(), [np.ones((1, 1))], "npy", spreadsheet_safe=True)


def test_kept_columns_are_not_formulas_either(folder, run, tmp_path):
    frame = pd.read_csv(folder / "houses.csv").head(4).assign(id=["=1+1", "-5", "+x", "plain"])
    frame.to_csv(tmp_path / "rows.csv", index=False)
    words = "predict", folder / "houses.mercer", tmp_path / "rows.csv", "--keep", "id", "-o", tmp_path / "p.csv"
    assert run(*words, "--spreadsheet-safe").exit_code == 0
    assert pd.read_csv(tmp_path / "p.csv", dtype=str)["id"].tolist() == ["'=1+1", "'-5", "'+x", "plain"]
    assert run(*words).exit_code == 0
    assert pd.read_csv(tmp_path / "p.csv", dtype=str)["id"].tolist() == ["=1+1", "-5", "+x", "plain"]
