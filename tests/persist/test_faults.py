"""Runs whose processes are killed or terminated, full disks, and folders without write permission."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import mercer
from mercer import RandomFourier
from mercer.kernels import Gaussian
from mercer.learn import KernelClassifier, KernelRegressor
from mercer.persist import CheckpointError, OutputInUseError, train
from mercer.persist.checkpoints import read_checkpoint

from . import killed

POSIX = pytest.mark.skipif(os.name != "posix", reason="signals, limits and locks are those of POSIX")
pytestmark = POSIX


def problem():
    X = np.random.default_rng(0).normal(size=(20_000, 3))
    return X, X[:, 0] ** 2


def learner():
    return KernelRegressor(map=RandomFourier(Gaussian(0.3), n_components=16, random_state=0), alpha=1.0)


# -- processes ---------------------------------------------------------------------------------------------------------


def started(name, output, before=""):
    alike = ["-S"] if sys.flags.no_site else []  # the same package is then found as here
    command = [sys.executable, *alike, "-W", "ignore", killed.__file__, name, str(output), before]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@cache
def whole(name):
    """The model of an uninterrupted run, and the number of its blocks of rows."""
    seen = []
    with tempfile.TemporaryDirectory() as folder:
        train(killed.learner(name), *killed.data(name), output=Path(folder, "model"), progress=seen.append)
        return Path(folder, "model").read_bytes(), len(seen)


def goes_on(name, output):
    """Continue in this process, and return how many blocks of rows that took."""
    rest = []
    with pytest.warns(UserWarning, match=r"the run of process \d+ on .* has died; its lock is taken over"):
        train(killed.learner(name), *killed.data(name), output=output, resume=True, progress=rest.append)
    assert output.read_bytes() == whole(name)[0]
    assert os.listdir(output.parent) == [output.name]
    return len(rest)


def kill_and_go_on(name, seed, folder):
    """Kill a run at a moment that the seed chooses, and resume it; return where that was, and what was left to do."""
    after = int(np.random.default_rng(seed).integers(2, whole(name)[1] - 1))
    process = started(name, folder / "model")
    for _ in range(after):
        process.stdout.readline()
    process.kill()
    assert process.wait() == -signal.SIGKILL, process.stderr.read()
    process.stdout.close(), process.stderr.close()
    assert not (folder / "model").exists()
    return after, whole(name)[1], goes_on(name, folder / "model")


@pytest.mark.full
@pytest.mark.parametrize(("name", "seed"), [("regressor", 1), ("hinge", 2)])
def test_a_run_that_is_killed_continues(name, seed, tmp_path):
    kill_and_go_on(name, seed, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(10))
def test_runs_that_are_killed_at_ten_moments_continue(seed, tmp_path):
    name = ("regressor", "hinge", "softmax")[seed % 3]
    after, blocks, rest = kill_and_go_on(name, 100 + seed, tmp_path)
    print(f"{name}: killed after {after} of {blocks} blocks, then {rest}, the same bytes")


KILL = """
import os, signal
calls, replace = [], os.replace
def killed(*names):
    calls.append(names)
    if len(calls) == {}:
        os.kill(os.getpid(), signal.SIGKILL)
    replace(*names)
os.replace = killed
"""


@pytest.mark.parametrize("call", [6, pytest.param(7, marks=pytest.mark.full)])
def test_a_run_that_is_killed_between_writing_and_renaming_continues(call, tmp_path):
    process = started("regressor", tmp_path / "model", KILL.format(call))
    _, errors = process.communicate()
    assert process.returncode == -signal.SIGKILL, errors
    left = os.listdir(tmp_path)
    assert sum(name.endswith(".tmp") for name in left) == 1
    assert ("model.checkpoint" in left) == (call % 2 == 0)  # the last one is put aside first, then the new one is named
    goes_on("regressor", tmp_path / "model")


# -- signals -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "error"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)])
def test_a_signal_ends_a_run_with_a_checkpoint(number, error, tmp_path):
    X, y = problem()
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    mercer.save(learner().fit(X, y), tmp_path / "whole")
    told = []

    def ask(progress):
        told.append(progress)
        if (progress.what, progress.rows) == ("sums", 8192):
            os.kill(os.getpid(), number)

    with pytest.raises(error) as caught:
        train(learner(), X, y, output=tmp_path / "model", progress=ask)
    assert error is KeyboardInterrupt or caught.value.code == 143
    assert told[-1].rows == 8192  # at the next block
    assert read_checkpoint(tmp_path / "model.checkpoint").begun.rows == 12288
    assert sorted(os.listdir(tmp_path)) == ["model.checkpoint", "whole"]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    train(learner(), X, y, output=tmp_path / "model", resume=True)
    assert (tmp_path / "model").read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_signal_after_the_last_block_ends_a_run_when_it_has_saved(tmp_path, monkeypatch):
    X, y = problem()
    solve = KernelRegressor._solve
    monkeypatch.setattr(KernelRegressor, "_solve", lambda *a: (os.kill(os.getpid(), signal.SIGTERM), solve(*a)))
    with pytest.raises(SystemExit, match="143"):
        train(learner(), X, y, output=tmp_path / "model")
    assert os.listdir(tmp_path) == ["model"]


def test_a_signal_ends_passes_that_run_side_by_side(tmp_path):
    X = problem()[0]
    y = np.digitize(np.linalg.norm(X, axis=1), [1.2, 1.9])
    features = RandomFourier(Gaussian(0.3), n_components=16, random_state=0)
    model = KernelClassifier(map=features, C=100.0, n_jobs=2, memory=1000, kernel=None, preparation=None)
    mercer.save(clone(model).fit(X, y), tmp_path / "whole")
    asked = []

    def ask(progress):  # classes are no longer alike after the first step
        if progress.what == "curvature" and progress.objective is not None and progress.number > 10 and not asked:
            asked.append(threading.current_thread())
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(SystemExit, match="143"):
        train(clone(model), X, y, output=tmp_path / "model", progress=ask)
    assert "iterate" in read_checkpoint(tmp_path / "model.checkpoint").found
    train(clone(model), X, y, output=tmp_path / "model", resume=True)
    assert (tmp_path / "model").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize("ending", ["csv", "npz", "parquet"])
def test_files_with_other_rows_are_refused(ending, tmp_path):
    X, y = problem()
    source, output = tmp_path / f"rows.{ending}", tmp_path / "model"
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=y).round(3)

    def write(frame):
        if ending == "npz":
            np.savez(source, X=frame[list("abc")].to_numpy(), y=frame["y"].to_numpy())
        elif ending == "csv":
            frame.to_csv(source, index=False)
        else:
            frame.to_parquet(source)

    def stop(progress):
        if (progress.what, progress.rows) == ("sums", 8192):
            raise ArithmeticError

    write(frame)
    with pytest.raises(ArithmeticError):
        train(learner(), mercer.data.open(source, target="y"), output=output, every=0.0, progress=stop)
    write(frame[::-1])
    with pytest.raises(CheckpointError, match="the data's fingerprint is"):
        train(learner(), mercer.data.open(source, target="y"), output=output, resume=True)
    write(frame[: len(frame) // 2])
    with pytest.raises(CheckpointError, match="the number of rows is 10000 here and 20000 there"):
        train(learner(), mercer.data.open(source, target="y"), output=output, resume=True)
    assert not output.exists()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_run_over_a_file_continues_to_the_same_bytes(ending, tmp_path):
    X, y = problem()
    source, output = tmp_path / f"rows.{ending}", tmp_path / "model"
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=y)
    frame.to_csv(source, index=False) if ending == "csv" else frame.to_parquet(source)
    mercer.save(learner().fit(mercer.data.open(source, target="y")), tmp_path / "whole")
    rest = []

    def stop(progress):
        if (progress.what, progress.rows) == ("sums", 8192):
            raise ArithmeticError

    with pytest.raises(ArithmeticError):
        train(learner(), mercer.data.open(source, target="y"), output=output, every=0.0, progress=stop)
    train(learner(), mercer.data.open(source, target="y"), output=output, resume=True, progress=rest.append)
    assert next(one.rows for one in rest if one.what == "sums") == 12288
    assert output.read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_second_signal_ends_a_run_at_once(tmp_path, monkeypatch):
    X, y = problem()
    done = []

    def solve(*arguments):
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)
        done.append(True)

    monkeypatch.setattr(KernelRegressor, "_solve", solve)
    with pytest.raises(KeyboardInterrupt):
        train(learner(), X, y, output=tmp_path / "model")
    assert done == []


def test_a_run_on_another_thread_hears_no_signals_and_ends_well(tmp_path):
    X, y = problem()
    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=train, args=(learner(), X, y), kwargs={"output": tmp_path / "model"})
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGTERM) is before
    mercer.load(tmp_path / "model")


# -- disks and folders -------------------------------------------------------------------------------------------------


def test_a_full_disk_leaves_the_old_model_and_the_run_continues_later(tmp_path):
    import resource

    X, y = problem()
    output = tmp_path / "model"
    mercer.save(RandomFourier(random_state=0).fit(X), output)
    old = output.read_bytes()
    mercer.save(learner().fit(X, y), tmp_path / "whole")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(progress):  # the first checkpoint is written, no other
        if (progress.what, progress.rows) == ("sums", 4096):
            resource.setrlimit(resource.RLIMIT_FSIZE, (512, limits[1]))

    try:
        with (
            pytest.warns(UserWarning, match="no checkpoint could be written, the run continues: .*File too large"),
            pytest.raises(OSError, match="File too large"),
        ):
            train(learner(), X, y, output=output, every=0.0, progress=fill)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert output.read_bytes() == old
    assert sorted(os.listdir(tmp_path)) == ["model", "model.checkpoint", "whole"]
    assert read_checkpoint(tmp_path / "model.checkpoint").begun.rows == 4096
    train(learner(), X, y, output=output, resume=True)
    assert output.read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize("which", ["output", "checkpoint"])
def test_folders_that_cannot_be_written_to_are_refused_before_the_fit(which, tmp_path):
    X, y = problem()
    model = learner()
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as other:
        places = {"output": Path(other, "model"), which: Path(name, "model")}
        os.chmod(name, 0o555)
        os.chmod(other, 0o777)
        user = os.geteuid()
        if user == 0:  # the superuser may write anywhere
            os.seteuid(65534)
        try:
            with pytest.raises(PermissionError, match=name):
                train(model, X, y, **places)
        finally:
            os.seteuid(user)
        os.chmod(name, 0o777)
        assert os.listdir(name) == os.listdir(other) == []
    assert not hasattr(model, "map_")


# -- two runs ----------------------------------------------------------------------------------------------------------


def test_a_second_run_on_the_same_output_is_refused(tmp_path):
    X, y = problem()
    (tmp_path / "link").symlink_to(tmp_path / "model")
    refused = []

    def second(progress):
        for name in ("model", "link"):
            with pytest.raises(
                OutputInUseError, match=rf"is writing to this output: process {os.getpid()} on .*, since 20"
            ):
                train(learner(), X, y, output=tmp_path / name)
            refused.append(name)

        with pytest.raises(OutputInUseError, match=r"lock '.*/here\.lock'"):
            train(learner(), X, y, output=tmp_path / "other", checkpoint=tmp_path / "here")

    train(learner(), X, y, output=tmp_path / "model", checkpoint=tmp_path / "here", progress=second)
    assert len(refused) > 4
    assert sorted(os.listdir(tmp_path)) == ["link", "model"]
    train(learner(), X, y, output=tmp_path / "model")  # now it is free


def test_the_lock_of_another_machine_is_left_to_a_person(tmp_path):
    X, y = problem()
    lock = tmp_path / "model.lock"
    lock.write_text(json.dumps({"host": f"not-{socket.gethostname()}", "pid": 1, "since": "2026-01-01"}))
    with pytest.raises(OutputInUseError, match=r"process 1 on not-.*; if it has died, remove '.*model\.lock'"):
        train(learner(), X, y, output=tmp_path / "model")
    lock.write_text("")  # killed before it could write its name
    train(learner(), X, y, output=tmp_path / "model")
    lock.write_text(json.dumps({"host": socket.gethostname(), "pid": 1, "since": "2026-01-01"}))
    with pytest.warns(UserWarning, match="process 1 on .*, since 2026-01-01, has died; its lock is taken over"):
        train(clone(learner()), X, y, output=tmp_path / "model")
    assert os.listdir(tmp_path) == ["model"]
