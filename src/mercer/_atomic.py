"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the system says where there is no room for a file."""
MOST_LINKS = 40
"""Links to links that the system follows."""
ACCESS_LIST = "system.posix_acl_access"


@contextmanager
def atomic_write(path: Any) -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of ``path`` at the end of the block.

    What is written goes to a temporary name in the same folder, to the disk, and only then to its own name: whoever
    reads ``path`` finds the old content or the new one, whenever the power fails. After an error the old content
    stays and nothing else is left; a process that is killed may leave a file named ``.NAME.*.tmp``.

    A new file has the permissions that the system gives to new files of this folder. One that takes the place of
    another has those of the old one, and its owner and group where the process may give them away; bits that let a
    program run as somebody else are not kept. A pipe or a device such as ``/dev/null`` is written to as it is, and
    nothing is put in its place.

    Parameters
    ----------
    path : where the file is to be; what a link points to is replaced, not the link

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(os.path.join(folder, "note")) as file:
    ...         _ = file.write(b"whole")
    ...     os.listdir(folder)
    ['note']
    """
    name = os.fsdecode(path)
    number = descriptor_of(name)
    if number is not None or is_stream(name):
        # The end of an open file is where it was left; opening it again would begin at its first byte.
        with open(name if number is None else os.dup(number), "wb") as file:
            yield file
        return
    target = Path(os.path.realpath(name))
    if target.is_dir():
        raise IsADirectoryError(f"expected the name of a file, found the folder {name!r}")
    descriptor, temporary = _temporary(target)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.errno in FULL and error.filename is None:
            error.filename = name  # which the system does not know of a file that is open
            error.add_note("What was there before is as it was: make room and try again, or give another place.")
        raise
    _sync_folder(target.parent)


def descriptor_of(path: str) -> int | None:
    """The number of the open file of this process that a name such as ``/dev/stdout`` stands for, or None."""
    for _ in range(MOST_LINKS):
        folder, name = os.path.split(os.path.abspath(path))
        if name.isdecimal() and os.path.realpath(folder) in (f"/proc/{os.getpid()}/fd", "/dev/fd"):
            return int(name)
        try:
            path = os.path.join(folder, os.readlink(path))
        except OSError:
            return None
    return None


def is_stream(path: Any) -> bool:
    """Whether a path is a pipe or a character device, which nothing may take the place of.

    A block device is a whole disk, and a socket cannot be opened: both are errors.
    """
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return False
    if stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        raise OSError(f"expected the name of a file, found the {'disk' if stat.S_ISBLK(mode) else 'socket'} {path!r}")
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def _temporary(target: Path) -> tuple[int, str]:
    """A new file beside the target, open, which only differs from it in name and content."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
    for only_there in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, only_there, 0)
    try:
        old = target.stat()
    except FileNotFoundError:
        old = None
    while True:
        name = str(target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp"))
        try:
            # Reading the umask would change it for the whole process, so the system applies it here, together with the
            # folder's own rules. What replaces a file stays private until the permissions are copied.
            descriptor = os.open(name, flags, 0o666 if old is None else 0o600)
        except FileExistsError:
            continue
        break
    try:
        if old is not None:
            _take_after(descriptor, old, target)
    except BaseException:
        os.close(descriptor)
        os.unlink(name)
        raise
    return descriptor, name


def _take_after(descriptor: int, old: os.stat_result, target: Path) -> None:
    """Give a file the owner, group, access list and permissions of another, as far as we may."""
    if not hasattr(os, "fchmod"):
        return
    new, mode = os.fstat(descriptor), old.st_mode & 0o777
    if old.st_gid != new.st_gid:
        try:
            os.fchown(descriptor, -1, old.st_gid)
        except OSError:  # another group has no right to what this one had
            mode = mode & 0o707 | (mode & 0o007) << 3
    if old.st_uid != new.st_uid:
        with suppress(OSError):
            os.fchown(descriptor, old.st_uid, -1)
    _take_access_list(descriptor, target)
    os.fchmod(descriptor, mode)


def _take_access_list(descriptor: int, target: Path) -> None:
    """The access list of a file, where it has one; and none where it has none, whatever the folder says."""
    if not hasattr(os, "getxattr"):
        return
    try:
        held = os.getxattr(target, ACCESS_LIST)
    except OSError:  # none, or no such lists on this disk
        with suppress(OSError):
            os.removexattr(descriptor, ACCESS_LIST)
        return
    with suppress(OSError):
        os.setxattr(descriptor, ACCESS_LIST, held)


def _sync_folder(folder: Path) -> None:
    """Bring the new name to the disk, where folders can be opened (not on Windows)."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
