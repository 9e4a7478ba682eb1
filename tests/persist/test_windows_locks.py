"""Locks as they are on Windows: a byte of the file is locked, and no open file is removed."""

from __future__ import annotations

import errno
import json
import os
import socket
from pathlib import Path

import pytest

from mercer.persist import OutputInUseError, locks

fcntl = pytest.importorskip("fcntl")


class Msvcrt:
    """Windows' locks imitated by POSIX locks, which are also released with the file."""

    LK_NBLCK = 2

    def __init__(self, refusal=errno.EACCES):
        self.refusal = refusal

    def locking(self, descriptor, mode, count):
        assert (mode, count) == (self.LK_NBLCK, 1)
        assert os.lseek(descriptor, 0, os.SEEK_CUR) > locks.MOST_BYTES  # what the file says stays readable
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OSError(self.refusal, os.strerror(self.refusal)) from None


@pytest.fixture(params=[errno.EACCES, errno.EDEADLK])
def windows(request, monkeypatch):
    monkeypatch.setattr(locks, "fcntl", None)
    monkeypatch.setattr(locks, "msvcrt", Msvcrt(request.param))


def dead(host):
    return json.dumps({"host": host, "pid": 4_000_000, "since": "2026-01-01 00:00:00"})


def test_a_second_run_is_refused_with_a_message_about_the_first(windows, tmp_path):
    path = tmp_path / "model.lock"
    with locks.locked(path):
        assert json.loads(path.read_text())["pid"] == os.getpid()
        with (
            pytest.raises(OutputInUseError, match=rf"another run is writing to this output: process {os.getpid()} on"),
            locks.locked(path),
        ):
            pass
        assert path.exists()
    assert not path.exists()
    with locks.locked(path):
        assert path.exists()


def test_the_lock_of_a_dead_run_is_taken_over(windows, tmp_path):
    path = tmp_path / "model.lock"
    path.write_text(dead(socket.gethostname()))
    with pytest.warns(UserWarning, match="has died; its lock is taken over"), locks.locked(path):
        assert json.loads(path.read_text())["pid"] == os.getpid()
    assert not path.exists()


def test_a_lock_of_another_machine_is_left_alone(windows, tmp_path):
    path = tmp_path / "model.lock"
    path.write_text(dead("elsewhere"))
    with pytest.raises(OutputInUseError, match="process 4000000 on elsewhere"), locks.locked(path):
        pass
    assert path.read_text() == dead("elsewhere")


def test_a_file_that_another_run_has_opened_stays(windows, tmp_path, monkeypatch):
    path = tmp_path / "model.lock"

    def refuse(self, missing_ok=False):
        raise PermissionError(errno.EACCES, "used by another process", str(self))

    with locks.locked(path):
        monkeypatch.setattr(Path, "unlink", refuse)
    assert path.exists()


def test_other_errors_are_raised(windows, tmp_path, monkeypatch):
    def broken(descriptor, mode, count):
        raise OSError(errno.EBADF, "bad file")

    monkeypatch.setattr(locks.msvcrt, "locking", broken)
    with pytest.raises(OSError, match="bad file"), locks.locked(tmp_path / "model.lock"):
        pass


def test_a_file_that_is_not_a_lock_is_not_overwritten(windows, tmp_path):
    path = tmp_path / "model.lock"
    path.write_text("my notes")
    with pytest.raises(FileExistsError, match="is not a lock of mercer"), locks.locked(path):
        pass
    assert path.read_text() == "my notes"
