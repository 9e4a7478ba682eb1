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
"""The system's error codes for a lack of space."""
MOST_LINKS = 40
"""The longest chain of links that the system follows."""
ACCESS_LIST = "system.posix_acl_access"


@contextmanager
def atomic_write(path: Any) -> Iterator[BinaryIO]:
    """Open a file that replaces ``path`` when the block ends.

    What is written goes to a temporary name in the same folder, is flushed to disk and only then renamed: a reader of
    ``path`` sees either the old content or the new one, even after a power failure. After an error the old content
    remains and no temporary file is left behind; a process that is killed may leave a file named ``.NAME.*.tmp``.

    A new file has the permissions that the system gives to new files in this folder. A file that replaces another one
    has the permissions of the old one, and its owner and group if the process may set them; set-user-ID and
    set-group-ID bits are dropped. A pipe or a device such as ``/dev/null`` is written to directly and not replaced.

    Parameters
    ----------
    path : str or path-like
        The file to write. If it is a link, the file that it points to is replaced.

    Yields
    ------
    BinaryIO
        The open file.

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
        # Writing continues at the position of the open file; opening it again would start at its first byte.
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
            error.filename = name  # the system does not know the name of an open file
            error.add_note("The previous content is unchanged: make room and try again, or choose another place.")
        raise
    _sync_folder(target.parent)


def descriptor_of(path: str) -> int | None:
    """Return the number of the open file of this process that a name such as ``/dev/stdout`` denotes, or None."""
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
    """Return whether a path is a pipe or a character device, which must not be replaced by a file.

    A block device is a whole disk and a socket cannot be opened, so both are errors.
    """
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return False
    if stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        raise OSError(f"expected the name of a file, found the {'disk' if stat.S_ISBLK(mode) else 'socket'} {path!r}")
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def _temporary(target: Path) -> tuple[int, str]:
    """Open a new file next to the target that differs from it only in name and content."""
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
            # folder's own rules. A replacement stays private until the permissions have been copied.
            descriptor = os.open(name, flags, 0o666 if old is None else 0o600)
        except FileExistsError:
            continue
        except FileNotFoundError as error:
            raise FileNotFoundError(error.errno, "No such folder", str(target.parent)) from None
        except OSError as error:
            raise type(error)(error.errno, error.strerror, str(target)) from None
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
    """Give a file the owner, group, access list and permissions of another, as far as allowed."""
    if not hasattr(os, "fchmod"):
        return
    new, mode = os.fstat(descriptor), old.st_mode & 0o777
    if old.st_gid != new.st_gid:
        try:
            os.fchown(descriptor, -1, old.st_gid)
        except OSError:  # the new group must not get the rights of the old one
            mode = mode & 0o707 | (mode & 0o007) << 3
    if old.st_uid != new.st_uid:
        with suppress(OSError):
            os.fchown(descriptor, old.st_uid, -1)
    _take_access_list(descriptor, target)
    os.fchmod(descriptor, mode)


def _take_access_list(descriptor: int, target: Path) -> None:
    """Copy the access list of a file; if it has none, remove the one inherited from the folder."""
    if not hasattr(os, "getxattr"):
        return
    try:
        held = os.getxattr(target, ACCESS_LIST)
    except OSError:  # there is none, or the file system does not support them
        with suppress(OSError):
            os.removexattr(descriptor, ACCESS_LIST)
        return
    with suppress(OSError):
        os.setxattr(descriptor, ACCESS_LIST, held)


def _sync_folder(folder: Path) -> None:
    """Flush the new name to disk, if folders can be opened (not on Windows)."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
