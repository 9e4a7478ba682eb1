"""Bad inputs, one after the other: each ends with 1 and one sentence that says what is wrong and what to do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest

import mercer

N = 60
ALIKE = ["-S"] if sys.flags.no_site else []  # a process then finds the same package as here
RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def bad(tmp_path_factory):
    """A folder of bad inputs, and a model of good ones."""
    folder = tmp_path_factory.mktemp("bad")
    x, y = RNG.normal(size=N), RNG.normal(size=N)
    frames = {
        "good": {"x": x, "town": ["oslo", "rome"] * (N // 2), "y": y},
        "one_class": {"x": x, "y": ["a"] * N},
        "constant": {"x": np.ones(N), "y": y},
        "same_target": {"x": x, "y": np.full(N, 2.5)},
        "gaps": {"x": np.where(np.arange(N) == 7, np.nan, x), "y": y},
        "no_target": {"x": x, "y": np.where(np.arange(N) == 7, np.nan, y)},
        "text": {"x": x, "name": [f"n{row}" for row in range(N)], "y": y},
        "wrong_type": {"x": ["large"] * N, "town": ["oslo"] * N},
        "new_level": {"x": x, "town": ["paris"] * N},
        "infinite": {"x": np.where(np.arange(N) == 7, np.inf, x), "y": y},
    }
    for name, columns in frames.items():
        pd.DataFrame(columns).to_csv(folder / f"{name}.csv", index=False)
    (folder / "empty.csv").write_text("")
    (folder / "head.csv").write_text("x,y\n")
    (folder / "ragged.csv").write_text("x,y\n1,2\n1,2,3\n")
    (folder / "binary.parquet").write_bytes(b"not parquet at all")
    good = pd.DataFrame(frames["good"])
    model = mercer.KernelRegressor("gaussian(0.5)", n_components=8, random_state=0, alpha=1.0).fit(
        good[["x", "town"]], good["y"]
    )
    mercer.save(model, folder / "good.mercer")
    whole = (folder / "good.mercer").read_bytes()
    (folder / "short.mercer").write_bytes(whole[:-40])
    (folder / "damaged.mercer").write_bytes(whole[:-3] + bytes([whole[-3] ^ 1]) + whole[-2:])
    return folder


LEARNED = {
    "no such column": ("good.csv --target z", "good.csv has no column 'z'; it has 'x', 'town', 'y'"),
    "nearly its name": ("good.csv --target twn", "good.csv has no column 'twn'; did you mean 'town'?"),
    "no such file": ("none.csv --target y", "no files of rows found at none.csv"),
    "empty file": ("empty.csv --target y", "there are no rows in empty.csv"),
    "names alone": ("head.csv --target y", "there are no rows in head.csv"),
    "ragged CSV": ("ragged.csv --target y", "ragged.csv"),
    "not Parquet": ("binary.parquet --target y", "binary.parquet"),
    "one class": ("one_class.csv --target y", "2 classes, found 1 class: 'a'"),
    "constant columns": (
        "constant.csv --target y --kernel gaussian('median') --scale none",
        "all sampled rows are (nearly) equal",
    ),
    "missing value": (
        "gaps.csv --target y --missing error",
        "line 9 of gaps.csv, column 'x' is missing; --missing mean fills it, and --drop",
    ),
    "missing target": ("no_target.csv --target y", "no_target.csv, line 9: the target is missing"),
    "infinity": ("infinite.csv --target y", "infinite.csv, line 9"),
    "text to be told": ("text.csv --target name --task regression", "regression needs a target of numbers, found text"),
    "negative for chi2": ("good.csv --target y --kernel additive_chi2() --columns x", "Negative values in data"),
    "no folder": ("good.csv --target y -o no/m.mercer", "m.mercer cannot be written: there is no folder"),
}
USED = {
    "wrong type": (
        "predict good.mercer wrong_type.csv",
        "column 'x' contained numbers in fit, but contains levels now",
    ),
    "new level": (
        "predict good.mercer new_level.csv --unknown error",
        "column 'town' has the unknown level 'paris' in line 2 of new_level.csv",
    ),
    "a column less": ("predict good.mercer one_class.csv -q", "one_class.csv has no column 'town'"),
    "no model": ("predict good.csv good.csv", "not a model file of mercer, or a damaged one"),
    "cut short": ("predict short.mercer good.csv", "not a model file of mercer, or a damaged one"),
    "damaged": ("inspect damaged.mercer", "not a model file of mercer, or a damaged one"),
    "no such model": ("inspect none.mercer", "none.mercer: no such file or directory; is the name correct?"),
}


@pytest.mark.parametrize("command", ["fit --features 8", "tune --rounds 1 --features 8"])
@pytest.mark.parametrize("what", LEARNED)
def test_what_cannot_be_learned(bad, fails, tmp_path, monkeypatch, command, what):
    monkeypatch.chdir(bad)
    words, message = LEARNED[what]
    output = "" if "-o" in words else f"-o {tmp_path}/m.mercer"
    found = fails(f"{command} {words} {output}")
    assert message in found
    assert not (tmp_path / "m.mercer").exists()


@pytest.mark.parametrize("what", USED)
def test_what_cannot_be_predicted(bad, fails, monkeypatch, what):
    monkeypatch.chdir(bad)
    words, message = USED[what]
    assert message in fails(words)


def test_a_target_that_never_changes(bad, run, fails, tmp_path, monkeypatch):
    monkeypatch.chdir(bad)
    words = f"same_target.csv --target y -o {tmp_path}/m.mercer"
    assert run(f"fit --features 8 {words} -q").exit_code == 0
    message = fails(f"tune --rounds 1 --features 8 {words}")
    assert message == "Error: the target is 2.5 in every row, so there is nothing to learn\n"


@pytest.mark.parametrize("command", ["fit --features 8", "tune --rounds 1 --features 8 --kernel gaussian(1)"])
def test_no_right_and_no_room(bad, fails, tmp_path, monkeypatch, command):
    monkeypatch.chdir(bad)
    words = f"{command} good.csv --target y -o {tmp_path}/m.mercer"
    with monkeypatch.context() as patched:
        patched.setattr(os, "access", lambda *_: False)
        assert "no permission to write in" in fails(words)

    def full(*_, **__):
        raise OSError(28, "No space left on device", "m.mercer")

    monkeypatch.setattr("mercer._atomic.os.fsync", full)
    message = fails(words)
    assert "no space left on device; free some space, or choose another location" in message
    assert list(tmp_path.iterdir()) == []


COMMAND = [sys.executable, *ALIKE, "-m", "mercer"]
PIPES = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}


def test_a_reader_that_has_enough(bad, tmp_path):
    rows = pd.DataFrame({"x": RNG.normal(size=10_000), "town": ["oslo"] * 10_000})
    rows.to_csv(tmp_path / "many.csv", index=False)
    with subprocess.Popen([*COMMAND, "predict", bad / "good.mercer", tmp_path / "many.csv"], **PIPES) as process:
        assert process.stdout.readline() == b'"prediction"\n'
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


@pytest.mark.full
def test_a_closed_reader_ends_the_process_without_an_error():
    with subprocess.Popen([*COMMAND, "maps", "--json"], **PIPES) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


def heed_ctrl_c():
    """Restore the handler of Ctrl-C, which is ignored in tests that a shell runs in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.full
def test_ctrl_c_leaves_the_old_model(tmp_path):
    (tmp_path / "m.mercer").write_bytes(b"old")
    command = [*COMMAND, "tune", "-", "--target", "y", "-o", "m.mercer"]
    with subprocess.Popen(command, cwd=tmp_path, preexec_fn=heed_ctrl_c, stdin=subprocess.PIPE, **PIPES) as process:
        process.stdin.write(b"x,y\n" + b"1.25,2.5\n" * 100_000)  # more than a pipe holds: it is being read
        process.send_signal(signal.SIGINT)
        with suppress(BrokenPipeError):  # a signal that comes just before a read is seen when the buffer is full
            os.write(process.stdin.fileno(), b"1.25,2.5\n" * 100_000)
        errors = process.stderr.read()
        assert (process.wait(), process.stdout.read()) == (130, b"")
    assert errors.decode().strip() == "interrupted"
    assert (tmp_path / "m.mercer").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["m.mercer"]
