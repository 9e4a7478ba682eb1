"""A file appears whole or not at all: full disks, folders that cannot be written to, processes that are killed."""

from __future__ import annotations

import errno
import os
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import mercer
from mercer import RandomFourier
from mercer.persist import atomic_write

from .models import fitted_maps, rows

POSIX = pytest.mark.skipif(os.name != "posix", reason="limits, users and signals are those of POSIX")

WRITE = """
import os, signal, sys
from mercer._atomic import atomic_write
{}
try:
    with atomic_write(sys.argv[1]) as file:
        file.write(b"new")
except OSError as error:
    print(type(error).__name__)
"""


def attempt(before, path):
    """Write in another process, which loads nothing else and therefore starts quickly."""
    command = [sys.executable, "-c", WRITE.format(before), str(path)]
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


@POSIX
def test_concurrent_writes_keep_the_mask_and_permissions(tmp_path):
    """Six threads replace files of six modes while another makes new files, which all have the mode of new ones."""
    modes = (0o600, 0o640, 0o644, 0o660, 0o666, 0o700)
    places = [tmp_path / f"{mode:o}" for mode in modes]
    for place, mode in zip(places, modes, strict=True):
        place.touch()
        place.chmod(mode)
    wrong, done = [], threading.Event()

    def replace(place, mode):
        for number in range(100):
            with atomic_write(place) as file:
                file.write(b"x")
            new = place.with_name(f"new-{mode:o}-{number}")
            with atomic_write(new) as file:
                if os.fstat(file.fileno()).st_mode & 0o777 != 0o640:
                    wrong.append(new.name)
            if place.stat().st_mode & 0o777 != mode:
                wrong.append(place.name)

    def create():
        number = 0
        while not done.is_set():
            number += 1
            descriptor = os.open(tmp_path / f"other-{number}", os.O_CREAT | os.O_WRONLY, 0o666)
            if os.fstat(descriptor).st_mode & 0o777 != 0o640:
                wrong.append(number)
            os.close(descriptor)

    mask = os.umask(0o027)
    try:
        other = threading.Thread(target=create)
        other.start()
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(replace, places, modes))
        done.set()
        other.join()
        left = os.umask(0o027)
    finally:
        done.set()
        os.umask(mask)
    assert left == 0o027
    assert wrong == []


@POSIX
def test_the_mask_is_never_touched(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("it belongs to the whole process"))
    for _ in range(2):
        with atomic_write(tmp_path / "note") as file:
            file.write(b"new")


@POSIX
def test_what_replaces_a_private_file_is_private_from_its_first_byte(tmp_path):
    path = tmp_path / "note"
    path.touch()
    path.chmod(0o4711)
    with atomic_write(path) as file:
        assert os.fstat(file.fileno()).st_mode & 0o7777 == 0o711  # not one that runs as its owner any more
    assert path.stat().st_mode & 0o7777 == 0o711


@POSIX
def test_a_group_that_cannot_be_kept_hands_on_no_rights(tmp_path, monkeypatch):
    path = tmp_path / "note"
    path.touch()
    path.chmod(0o664)
    theirs = os.stat_result([*os.stat(path)[:5], os.stat(path).st_gid + 1, *os.stat(path)[6:]])

    def not_permitted(*_):
        raise PermissionError

    monkeypatch.setattr(os, "fchown", not_permitted)
    monkeypatch.setattr(Path, "stat", lambda self, **_: theirs)
    with atomic_write(path) as file:
        assert os.fstat(file.fileno()).st_mode & 0o777 == 0o644


@POSIX
@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only the superuser gives files away")
def test_owner_and_group_stay(tmp_path):
    path = tmp_path / "note"
    path.touch()
    os.chown(path, 65534, 65533)
    with atomic_write(path) as file:
        file.write(b"new")
    assert (path.stat().st_uid, path.stat().st_gid) == (65534, 65533)


@POSIX
def test_pipes_and_devices_are_written_to_and_stay(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with atomic_write(pipe) as file:
        file.write(b"through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert pipe.is_fifo()
    with atomic_write("/dev/null") as file:
        file.write(b"nowhere")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "s"))
    with listener, pytest.raises(OSError, match=r"found the socket '.*/s'"), atomic_write(tmp_path / "s"):
        pass
    assert sorted(os.listdir(tmp_path)) == ["pipe", "s"]


@POSIX
def test_the_standard_output_continues_where_it_was(tmp_path):
    write = "with atomic_write('/dev/stdout') as file: file.write(b'second')"
    code = f"import os\nfrom mercer._atomic import atomic_write\nos.write(1, b'first ')\n{write}"
    command = [sys.executable, "-c", code]
    path = tmp_path / "all"
    path.write_text("before ")
    with path.open("ab") as file:
        subprocess.run(command, stdout=file, check=True)
    assert path.read_text() == "before first second"
    assert subprocess.run(command, capture_output=True, check=True).stdout == b"first second"


def test_a_full_disk_is_named(tmp_path):
    with pytest.raises(OSError, match=r"No space left on device: '.*note'") as caught, atomic_write(tmp_path / "note"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert caught.value.__notes__ == [
        "The previous content is unchanged: make room and try again, or choose another place."
    ]
    assert os.listdir(tmp_path) == []


def access_list(*entries):
    """A POSIX access list as the system stores it."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="access lists are those of Linux")
def test_access_lists_of_the_folder_are_for_new_files_and_those_of_a_file_stay(tmp_path):
    everybody = 0xFFFFFFFF
    friends = access_list((1, 7, everybody), (2, 6, 1234), (4, 5, everybody), (16, 7, everybody), (32, 0, everybody))
    try:
        os.setxattr(tmp_path, "system.posix_acl_default", friends)
    except OSError:
        pytest.skip("there are no access lists on this disk")
    path, name = tmp_path / "note", "system.posix_acl_access"
    with atomic_write(path) as file:
        file.write(b"new")
    given = os.getxattr(path, name)
    with atomic_write(path) as file:
        file.write(b"newer")
    assert os.getxattr(path, name) == given
    os.removexattr(path, name)
    path.chmod(0o600)
    with atomic_write(path) as file:
        assert name not in os.listxattr(file.fileno())
    assert (name in os.listxattr(path), path.stat().st_mode & 0o777) == (False, 0o600)


def test_a_folder_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="No such folder") as raised, atomic_write(tmp_path / "none" / "file"):
        pass
    assert raised.value.filename == str(tmp_path / "none")
