"""A run never overwrites its own rows, or files that do not belong to it."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer.learn import KernelRegressor
from mercer.persist import CheckpointError, train
from mercer.persist.checkpoints import read_checkpoint
from mercer.persist.locks import check_lock, locked

from .small_runs import checkpoint_of, features, problem

pytestmark = [
    pytest.mark.usefixtures("small_blocks"),
    pytest.mark.skipif(os.name != "posix", reason="links and signals are those of POSIX"),
]


def learner():
    return KernelRegressor(map=features(), alpha=1.0, preparation=None)


def content(folder):
    return {path.name: os.readlink(path) if path.is_symlink() else path.read_bytes() for path in folder.iterdir()}


# -- rows --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["output", "checkpoint"])
@pytest.mark.parametrize("ending", ["csv", "parquet", "npz", "npy"])
def test_a_file_of_the_table_is_not_an_output(which, ending, tmp_path, monkeypatch):
    X = problem()[0]
    source = tmp_path / f"rows.{ending}"
    if ending in ("csv", "parquet"):
        frame = pd.DataFrame(X, columns=list("abc")).assign(y=X[:, 0])
        frame.to_csv(source, index=False) if ending == "csv" else frame.to_parquet(source)
    else:
        np.save(source, X) if ending == "npy" else np.savez(source, X=X, y=X[:, 0])
    os.link(source, tmp_path / "hard")
    (tmp_path / "link").symlink_to(source)
    table = mercer.data.open(source, target=1 if ending == "npy" else "y")
    before = content(tmp_path)
    monkeypatch.chdir(tmp_path)
    for name in (source, f"./rows.{ending}", "hard", "link"):
        places = {"output": tmp_path / "model", which: name}
        for rows in (table, *table.split(test=0.5)):
            with pytest.raises(ValueError, match=rf"the {which} '.*' is the same file as the data '.*rows\.{ending}'"):
                train(learner(), rows, **places)
    assert content(tmp_path) == before


def test_files_next_to_the_output_are_not_rows_either(tmp_path):
    X = problem()[0]
    for name in ("model.lock", "model.checkpoint", "model.checkpoint.previous"):
        source = tmp_path / name
        pd.DataFrame(X, columns=list("abc")).to_csv(source, index=False)
        with pytest.raises(ValueError, match="is the same file as the data"):
            train(learner(), mercer.data.open(source, target="a", format="csv"), output=tmp_path / "model")
        assert list(content(tmp_path)) == [name]
        source.unlink()


def test_an_array_that_is_mapped_from_a_file_keeps_it(tmp_path):
    X = problem()[0]
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    for rows in (mapped, mapped[:100], np.asarray(mapped)[10:]):
        with pytest.raises(ValueError, match=r"the output '.*' is the same file as the data '.*X\.npy'"):
            train(learner(), rows, rows[:, 0], output=tmp_path / "X.npy")
    np.save(tmp_path / "w.npy", np.abs(X[:, 1]))
    weights = np.load(tmp_path / "w.npy", mmap_mode="r")
    for name, given in (("X.npy", (X, mapped[:, 0])), ("w.npy", (X, X[:, 0], weights))):
        with pytest.raises(ValueError, match=f"is the same file as the data '.*{name}'"):
            train(learner(), *given, output=tmp_path / name)


def test_another_file_of_the_same_name_size_and_time_is_another(tmp_path):
    """A run is not resumed with the rows of another folder, nor with other rows in the same place."""
    X = problem()[0]
    paths = [tmp_path / folder / "rows.npy" for folder in ("old", "new")]
    for path, held in zip(paths, (X, X[::-1]), strict=True):
        path.parent.mkdir()
        np.save(path, held)
        os.utime(path, ns=(10**18, 10**18))

    def stop(progress):
        if progress.what == "sums":
            raise ArithmeticError

    def go_on(path):
        with pytest.raises(CheckpointError, match="the data's fingerprint is"):
            train(learner(), mercer.data.open(path, target=0), output=tmp_path / "model", resume=True)

    with pytest.raises(ArithmeticError):
        train(learner(), mercer.data.open(paths[0], target=0), output=tmp_path / "model", every=0.0, progress=stop)
    go_on(paths[1])
    kept = paths[0].read_bytes()
    for held in (paths[1].read_bytes(), kept[:2000] + bytes(8) + kept[2008:]):
        paths[0].write_bytes(held)
        os.utime(paths[0], ns=(10**18, 10**18))
        go_on(paths[0])
    paths[1].write_bytes(kept)  # the same rows in another place
    os.utime(paths[1], ns=(10**18, 10**18))
    go_on(paths[1])
    paths[0].write_bytes(kept)
    os.utime(paths[0], ns=(10**18, 10**18))
    (tmp_path / "link.npy").symlink_to(paths[0])
    train(learner(), mercer.data.open(tmp_path / "link.npy", target=0), output=tmp_path / "model", resume=True)


# -- files of others ---------------------------------------------------------------------------------------------------

STRANGERS = {
    "a note": b"remember the milk\n",
    "a lockfile of JSON": b'{"packages": {}}\n',
    "zeros": bytes(200),
    "one byte": b"x",
    "a safetensors file": (64).to_bytes(8, "little") + b'{"__metadata__":{"format":"pt"}}'.ljust(64),
}


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("name", ["model.lock", "model.checkpoint", "model.checkpoint.previous", "kept.lock"])
@pytest.mark.parametrize("what", STRANGERS)
def test_files_that_are_not_of_a_run_are_refused_by_name(what, name, resume, tmp_path):
    X = problem()[0]
    (tmp_path / name).write_bytes(STRANGERS[what])
    before = content(tmp_path)
    checkpoint = {"checkpoint": tmp_path / "kept"} if name == "kept.lock" else {}
    with pytest.raises(FileExistsError, match=rf"/{name}' exists and is not a (lock|checkpoint) of mercer; move it"):
        train(learner(), X, X[:, 0], output=tmp_path / "model", resume=resume, **checkpoint)
    assert content(tmp_path) == before


@pytest.mark.parametrize("name", ["model.lock", "kept.lock"])
def test_a_folder_in_place_of_a_lock_is_refused_by_name(name, tmp_path):
    """Before anything is opened: the system's own message would not say what the name is for."""
    X = problem()[0]
    (tmp_path / name).mkdir()
    checkpoint = {"checkpoint": tmp_path / "kept"} if name == "kept.lock" else {}
    with pytest.raises(FileExistsError, match=rf"/{name}' exists and is not a lock of mercer; move it"):
        train(learner(), X, X[:, 0], output=tmp_path / "model", **checkpoint)
    assert os.listdir(tmp_path) == [name]


def test_a_model_that_is_named_as_a_checkpoint_stays(tmp_path):
    X = problem()[0]
    for name in ("model.checkpoint", "model.checkpoint.previous"):
        mercer.save(features().fit(X), tmp_path / name)
        for resume in (False, True):
            with pytest.raises(FileExistsError, match="not a checkpoint of mercer"):
                train(learner(), X, X[:, 0], output=tmp_path / "model", resume=resume)
        mercer.load(tmp_path / name)
        (tmp_path / name).unlink()


def test_links_of_these_names_are_not_followed(tmp_path):
    X = problem()[0]
    theirs = tmp_path / "theirs"
    for text in ("", "precious"):
        theirs.write_text(text)
        for name in ("model.lock", "model.checkpoint.previous"):
            (tmp_path / name).symlink_to(theirs)
            with pytest.raises(FileExistsError, match=f"{name}' exists and is not a"):
                train(learner(), X, X[:, 0], output=tmp_path / "model")
            assert (theirs.read_text(), (tmp_path / name).is_symlink()) == (text, True)
            (tmp_path / name).unlink()
    (tmp_path / "model.lock").symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileExistsError, match=r"model\.lock' exists"):
        train(learner(), X, X[:, 0], output=tmp_path / "model")
    assert not (tmp_path / "nowhere").exists()


def test_a_link_that_comes_after_the_check_is_not_followed_either(tmp_path, monkeypatch):
    X, lock = problem()[0], tmp_path / "model.lock"
    (tmp_path / "theirs").touch()
    monkeypatch.setattr("mercer.persist.training.check_lock", lambda path: None)
    for name in ("theirs", "nowhere"):
        lock.symlink_to(tmp_path / name)
        with pytest.raises(FileExistsError, match=r"model\.lock' exists and is not a lock"):
            train(learner(), X, X[:, 0], output=tmp_path / "model")
        lock.unlink()
    assert (tmp_path / "theirs").read_bytes() == b""
    assert os.listdir(tmp_path) == ["theirs"]


@pytest.mark.parametrize(
    "text", ["", '{"ho', '{"host": "somewhere", "pi', '{"host": "HERE", "pid": 1, "since": "2026-01-01"}']
)
def test_a_lock_that_is_ours_is_taken_over(text, tmp_path):
    X = problem()[0]
    (tmp_path / "model.lock").write_text(text.replace("HERE", socket.gethostname()))
    if text.endswith("}"):
        assert json.loads(text)["pid"] == 1
        with pytest.warns(UserWarning, match="its lock is taken over"):
            train(learner(), X, X[:, 0], output=tmp_path / "model")
    else:
        train(learner(), X, X[:, 0], output=tmp_path / "model")
    assert os.listdir(tmp_path) == ["model"]


def test_a_checkpoint_that_is_damaged_is_still_ours(tmp_path):
    X = problem()[0]
    path = checkpoint_of(learner(), X, X[:, 0], tmp_path)
    good = path.read_bytes()
    for place in range(60):
        bad = bytearray(good)
        bad[place] ^= 0x10
        path.write_bytes(bad)
        assert mercer.persist.checkpoints._is_ours(path), place
    for cut in (b"", good[:60], good[: len(good) // 2]):
        path.write_bytes(cut)
        train(learner(), X, X[:, 0], output=tmp_path / "model")
        assert os.listdir(tmp_path) == ["model"]


def test_only_what_a_run_has_half_written_is_cleared_away(tmp_path):
    X = problem()[0]
    theirs = {".model.abcdefgh.tmp": b"a draft of a letter", ".model.checkpoint.abcdefgh.tmp": b"\0" * 40}
    for name, held in theirs.items():
        (tmp_path / name).write_bytes(held)
    (tmp_path / "target").touch()
    (tmp_path / ".model.linklink.tmp").symlink_to(tmp_path / "target")
    (tmp_path / ".model.folder00.tmp").mkdir()
    os.link(tmp_path / "target", tmp_path / ".model.hardlink.tmp")
    mercer.save(features().fit(X), tmp_path / ".model.12345678.tmp")
    left = {*os.listdir(tmp_path)} - {".model.12345678.tmp"}
    train(learner(), X, X[:, 0], output=tmp_path / "model")
    assert {*os.listdir(tmp_path)} == left | {"model"}


# -- how a run ends ----------------------------------------------------------------------------------------------------


def test_a_full_disk_leaves_no_lock(tmp_path, monkeypatch):
    X = problem()[0]

    def full(descriptor, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("mercer.persist.locks.os.write", full)
    for checkpoint in ({}, {"checkpoint": tmp_path / "kept"}):
        with pytest.raises(OSError, match=r"No space left on device: '.*model\.lock'") as caught:
            train(learner(), X, X[:, 0], output=tmp_path / "model", **checkpoint)
        assert "choose another output" in caught.value.__notes__[0]
        assert os.listdir(tmp_path) == []


def test_a_limit_on_files_leaves_no_lock(tmp_path):
    import resource

    X = problem()[0]
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))  # the lock begins to be written
    try:
        with pytest.raises(OSError, match=r"File too large: '.*model\.lock'"):
            train(learner(), X, X[:, 0], output=tmp_path / "model")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(("number", "error"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)])
def test_an_exception_that_ends_a_run_says_how_to_continue(number, error, tmp_path):
    X = problem()[0]

    def ask(progress):
        if progress.what == "sums":
            os.kill(os.getpid(), number)

    with pytest.raises(error) as caught:
        train(learner(), X, X[:, 0], output=tmp_path / "model", progress=ask)
    (note,) = caught.value.__notes__
    path = Path(tmp_path, "model.checkpoint")
    assert (
        f"is kept in the checkpoint '{path}', {path.stat().st_size / 1000:.3g} kB: the same call with resume=True"
        in note
    )
    assert read_checkpoint(path).begun.rows > 0


def test_a_run_that_ends_before_any_checkpoint_says_so(tmp_path):
    X = problem()[0]

    def interrupt(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        train(learner(), X, X[:, 0], output=tmp_path / "model", progress=interrupt)
    assert caught.value.__notes__ == ["No checkpoint was written yet: the same call starts over."]
    with pytest.raises(ValueError, match="NaN") as failed:
        train(learner(), np.full_like(X, np.nan), X[:, 0], output=tmp_path / "model")
    assert not hasattr(failed.value, "__notes__")
    assert os.listdir(tmp_path) == []


def test_a_lock_that_is_a_hard_link_is_not_written_through(tmp_path):
    (tmp_path / "victim").write_bytes(b"")
    os.link(tmp_path / "victim", tmp_path / "model.lock")
    with pytest.raises(FileExistsError, match="is not a lock of mercer"), locked(tmp_path / "model.lock"):
        pass
    assert (tmp_path / "victim").read_bytes() == b""
    with pytest.raises(FileExistsError, match="is not a lock of mercer"):
        check_lock(tmp_path / "model.lock")


def test_a_file_that_takes_the_place_of_a_lock_is_checked_again(tmp_path):
    (tmp_path / "model.lock").write_text("mine, and dear to me")  # as if it had come after `check_lock`
    with pytest.raises(FileExistsError, match="is not a lock of mercer"), locked(tmp_path / "model.lock"):
        pass
    assert (tmp_path / "model.lock").read_text() == "mine, and dear to me"
