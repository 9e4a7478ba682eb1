"""Locks that allow one run at a time per output."""

from __future__ import annotations

import errno
import json
import os
import socket
import stat
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

fcntl: Any = None
msvcrt: Any = None
try:
    import fcntl
except ImportError:  # Windows has another interface for locks
    import msvcrt
MOST_BYTES = 4096
BEGINNING = b'{"host": "'
LOCKED_BYTE = 1 << 30
"""The byte that is locked on Windows, where others cannot read locked bytes: far beyond the end of the text."""


class OutputInUseError(RuntimeError):
    """Raised if another run writes to the same output; the message says which."""


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file ``path``, which names this process; the lock of a dead process of this machine is taken over.

    The system releases the lock of a process that ends, however it ends; the file stays and shows what happened.
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
        if fcntl is None:
            os.close(descriptor)
            with suppress(PermissionError):  # Windows removes no open file: another run has it already
                path.unlink(missing_ok=True)
        else:  # no other run may lock the file while it is being removed
            path.unlink(missing_ok=True)
            os.close(descriptor)


def check_lock(path: Path) -> None:
    """Refuse a file of this name that is not a lock, because it would be overwritten and finally removed."""
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
    raise FileExistsError(f"{str(path)!r} exists and is not a lock of mercer; move it, or give another output")


def _is_ours(content: bytes) -> bool:
    """Return whether text is from a lock: the description of a process, complete or partial, or nothing yet."""
    return len(content) <= MOST_BYTES and (content.startswith(BEGINNING) or BEGINNING.startswith(content))


def _write(descriptor: int, content: bytes, path: Path) -> None:
    """Replace the content of the lock file."""
    try:
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        while content:  # a disk that is nearly full writes only a part
            content = content[os.write(descriptor, content) :]
    except OSError as error:
        error.filename = str(path)
        error.add_note("The run needs space for its lock, its checkpoints and its model: choose another output.")
        raise


def _opened(path: Path) -> int:
    """Open and lock the lock file; a symbolic link of its name is never followed."""
    while True:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        try:
            descriptor = os.open(path, flags, 0o644)
        except OSError as error:
            if error.errno == errno.ELOOP:
                check_lock(path)
            raise
        try:
            _take(descriptor)
        except BlockingIOError:
            held = _holder(descriptor)
            os.close(descriptor)
            raise OutputInUseError(
                f"another run is writing to this output: {_named(held)} (lock {str(path)!r})"
            ) from None
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
        os.close(descriptor)  # the process that held it has removed the file in the meantime
        check_lock(path)


def _take(descriptor: int) -> None:
    """Lock an open file until it is closed, or the process ends; a BlockingIOError if another process has it."""
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    os.lseek(descriptor, LOCKED_BYTE, os.SEEK_SET)
    try:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EDEADLK):
            raise
        raise BlockingIOError(error.errno, error.strerror) from error


def _check_content(descriptor: int, path: Path) -> None:
    """Check the opened file again, since another may have taken its place in the meantime."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    if os.fstat(descriptor).st_nlink > 1 or not _is_ours(os.read(descriptor, MOST_BYTES + 1)):
        _refuse(path)


def _is_current(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def _holder(descriptor: int) -> dict[str, Any]:
    """Return what a lock file says about the run that holds or held it; nothing if it has not been written yet."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    try:
        held = json.loads(os.read(descriptor, MOST_BYTES))
    except ValueError:
        return {}
    return held if isinstance(held, dict) else {}


def _named(held: dict[str, Any]) -> str:
    if not held:
        return "one that has just started"
    return f"process {held.get('pid')} on {held.get('host')}, since {held.get('since')}"


def _refuse_other_machines(path: Path, held: dict[str, Any]) -> None:
    """Refuse the free lock of another machine that shares the folder: only the user can tell whether it is in use."""
    if not held:
        return
    if held.get("host") != socket.gethostname():
        raise OutputInUseError(
            f"another run is writing to this output: {_named(held)}; if it has died, remove {str(path)!r}"
        )
    warnings.warn(f"the run of {_named(held)}, has died; its lock is taken over", UserWarning, stacklevel=5)
