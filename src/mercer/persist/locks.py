"""One run at a time for one output."""

from __future__ import annotations

import errno
import json
import os
import socket
import stat
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

try:
    import fcntl
except ImportError:  # not on Windows: there the file alone is the lock, and a dead run's must be removed by hand
    fcntl = None  # type: ignore[assignment]

MOST_BYTES = 4096
BEGINNING = b'{"host": "'


class OutputInUseError(RuntimeError):
    """Another run writes to the same output; the message says which."""


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file ``path``, which names this process; that of a dead process of this machine is taken over.

    The system drops the lock of a process that ends, however it ends; its file stays and tells of it.
    """
    descriptor = _opened(path)
    try:
        _refuse_other_machines(path, _holder(descriptor))
    except BaseException:
        os.close(descriptor)
        raise
    try:
        mine = {"host": socket.gethostname(), "pid": os.getpid(), "since": time.strftime("%Y-%m-%d %H:%M:%S")}
        _write(descriptor, json.dumps(mine).encode(), path)
        yield
    finally:
        if fcntl is None:  # Windows removes no open file
            os.close(descriptor)
            path.unlink()
        else:  # nobody may get hold of the file that is removed
            path.unlink(missing_ok=True)
            os.close(descriptor)


def check_lock(path: Path) -> None:
    """Refuse a file of this name that is no lock of ours: it would be written over, and removed in the end."""
    try:
        status = path.lstat()
        ours = stat.S_ISREG(status.st_mode) and status.st_nlink == 1
        if ours:
            with open(path, "rb") as file:
                ours = _is_ours(file.read(MOST_BYTES + 1))
    except FileNotFoundError:
        return
    if not ours:
        _refuse(path)


def _refuse(path: Path) -> NoReturn:
    raise FileExistsError(f"{str(path)!r} exists and is not a lock of mercer: move it, or give another output")


def _is_ours(content: bytes) -> bool:
    """Whether this is what a lock holds: the name of a process, whole or in part, or nothing yet."""
    return len(content) <= MOST_BYTES and (content.startswith(BEGINNING) or BEGINNING.startswith(content))


def _write(descriptor: int, content: bytes, path: Path) -> None:
    """Put this in place of what the lock file says."""
    try:
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        while content:  # a disk that is nearly full takes a part
            content = content[os.write(descriptor, content) :]
    except OSError as error:
        error.filename = str(path)
        error.add_note("The run needs room for its lock, its checkpoints and its model: give another output.")
        raise


def _opened(path: Path) -> int:
    """The lock file, locked; never one that a link of its name points to."""
    while True:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | (0 if fcntl else os.O_EXCL)
        try:
            descriptor = os.open(path, flags, 0o644)
        except FileExistsError:
            raise OutputInUseError(f"{str(path)!r} exists: another run writes to this output, or has died") from None
        except OSError as error:
            if error.errno == errno.ELOOP:
                check_lock(path)
            raise
        if fcntl is None:
            return descriptor
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            held = _holder(descriptor)
            os.close(descriptor)
            raise OutputInUseError(f"another run writes to this output: {_named(held)} (lock {str(path)!r})") from None
        except BaseException:
            os.close(descriptor)
            raise
        if _is_current(descriptor, path):
            try:
                _check_content(descriptor, path)
            except BaseException:
                os.close(descriptor)
                raise
            return descriptor
        os.close(descriptor)  # whoever had it has removed the file in between
        check_lock(path)


def _check_content(descriptor: int, path: Path) -> None:
    """The same for the file that was opened: another may have taken its place since it was looked at."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    if os.fstat(descriptor).st_nlink > 1 or not _is_ours(os.read(descriptor, MOST_BYTES + 1)):
        _refuse(path)


def _is_current(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def _holder(descriptor: int) -> dict[str, Any]:
    """What a lock file says of the run that has it, or had it; nothing where it has not been written yet."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    try:
        held = json.loads(os.read(descriptor, MOST_BYTES))
    except ValueError:
        return {}
    return held if isinstance(held, dict) else {}


def _named(held: dict[str, Any]) -> str:
    if not held:
        return "one that has just begun"
    return f"process {held.get('pid')} on {held.get('host')}, since {held.get('since')}"


def _refuse_other_machines(path: Path, held: dict[str, Any]) -> None:
    """A lock that is free may still be held on another machine, where folders are shared: only a person can tell."""
    if not held:
        return
    if held.get("host") != socket.gethostname():
        raise OutputInUseError(
            f"another run writes to this output: {_named(held)}; if it has died, remove {str(path)!r}"
        )
    warnings.warn(f"the run of {_named(held)}, has died: its lock is taken over", UserWarning, stacklevel=5)
