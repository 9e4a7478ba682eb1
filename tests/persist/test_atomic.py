"""A file appears whole or not at all: full disks, folders that cannot be written to, processes that are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import mercer
from mercer import RandomFourier
from mercer.persist import atomic_write

from .models import fitted_maps, rows

POSIX = pytest.mark.skipif(os.name != "posix", reason="limits, users and signals are those of POSIX")

WRITE = """
import os, signal, sys
sys.path.insert(0, sys.argv[2])
import atomic
{}
try:
    with atomic.atomic_write(sys.argv[1]) as file:
        file.write(b"new")
except OSError as error:
    print(type(error).__name__)
"""


def attempt(before, path):
    """Write in another process, which does not take the time to load anything else."""
    command = [sys.executable, "-c", WRITE.format(before), str(path), str(Path(mercer.persist.__file__).parent)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "model"
    mercer.save(fitted_maps()["fourier"][0], path)
    return path, path.read_bytes()


@POSIX
def test_a_full_disk_leaves_the_old_model_and_nothing_else(old):
    import resource

    path, content = old
    large = RandomFourier(n_components=4096, random_state=0).fit(rows())
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (9999, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            mercer.save(large, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == content
    assert os.listdir(path.parent) == ["model"]


@POSIX
def test_a_folder_that_cannot_be_written_to():
    become_another = "os.getuid() or os.setuid(65534)"  # the superuser may write anywhere
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "model")
        path.write_bytes(b"old")
        path.parent.chmod(0o555)
        result = attempt(become_another, path)
        assert result.stdout.startswith("PermissionError"), result.stderr
        assert path.read_bytes() == b"old"
        assert os.listdir(name) == ["model"]
        path.parent.chmod(0o777)
        assert attempt(become_another, path).stdout == ""
        assert path.read_bytes() == b"new"


@POSIX
def test_a_process_that_is_killed_before_the_rename_leaves_the_old_model(old):
    path, content = old
    result = attempt("os.replace = lambda *names: os.kill(os.getpid(), signal.SIGKILL)", path)
    assert result.returncode == -signal.SIGKILL
    assert path.read_bytes() == content
    (left,) = (name for name in os.listdir(path.parent) if name != "model")
    assert left.startswith(".model.")
    assert left.endswith(".tmp")
    mercer.load(path)


def test_the_disk_has_the_file_before_its_name_and_then_the_folder(tmp_path, monkeypatch):
    done = []
    sync, replace = os.fsync, os.replace

    def synced(descriptor):
        done.append("folder" if os.path.isdir(f"/proc/self/fd/{descriptor}") else "file")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", lambda *names: (done.append("rename"), replace(*names)))
    mercer.save(fitted_maps()["fourier"][0], tmp_path / "model")
    assert done == ["file", "rename", "folder"]


def test_an_error_in_the_block_leaves_nothing(tmp_path):
    path = tmp_path / "note"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), atomic_write(path) as file:  # noqa: PT012 - what is written before matters
        file.write(b"new")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["note"]


def test_permissions_links_and_folders(tmp_path):
    path, link = tmp_path / "note", tmp_path / "link"
    mask = os.umask(0o027)
    try:
        with atomic_write(path) as file:
            file.write(b"new")
        assert path.stat().st_mode & 0o777 == 0o640
    finally:
        os.umask(mask)
    path.chmod(0o600)
    link.symlink_to(path)
    with atomic_write(link) as file:
        file.write(b"newer")
    assert link.is_symlink()
    assert path.read_bytes() == b"newer"
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(IsADirectoryError), atomic_write(tmp_path):
        pass
    with pytest.raises(FileNotFoundError):
        mercer.save(RandomFourier(n_components=2).fit(rows()), tmp_path / "nowhere" / "model")
    assert Path(str(tmp_path / "nowhere")).exists() is False
