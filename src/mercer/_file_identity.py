"""Which file a path is, whatever it is called."""

from __future__ import annotations

import os
import stat
import sys
import unicodedata
from collections.abc import Iterable
from typing import Any


class SameFileError(ValueError):
    """A file that is to be written is one that is read, or one that is written already; the message names both."""


def place_of(path: Any) -> tuple[Any, ...] | None:
    """A key that is equal for two paths to the same file; None for what is no file, such as a pipe or a device.

    A file that is there is told by its number on its disk, so that links and other spellings are seen through; one
    that is not there yet by the number of its folder and its name.
    """
    try:
        status = _status(path)
    except OSError:
        if isinstance(path, int):  # closed
            return None
        folder, name = os.path.split(os.path.realpath(path))
        try:
            above = os.stat(folder)
        except OSError:
            return (os.path.join(folder, name),)
        return (above.st_dev, above.st_ino, folded(name) if ignores_case(folder) else name)
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def _status(path: Any) -> os.stat_result:
    """The status of a file, ignoring a trailing slash, which whoever writes to the file does not see either."""
    try:
        return os.stat(path)
    except NotADirectoryError:
        return os.stat(os.path.realpath(path))


def folded(name: str) -> str:
    """A name as it is compared where case does not matter."""
    return unicodedata.normalize("NFC", name).casefold()


def ignores_case(folder: str) -> bool:
    """Whether a folder takes "A" and "a" for one name; what is in it tells, and where nothing is, the system."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                other = entry.name.swapcase()
                if other != entry.name:
                    return os.path.lexists(os.path.join(folder, other)) and os.path.samestat(
                        os.lstat(os.path.join(folder, other)), entry.stat(follow_symlinks=False)
                    )
    except OSError:
        pass
    return sys.platform in ("darwin", "win32")


def check_apart(outputs: Iterable[tuple[str, Any]], inputs: Iterable[tuple[str, Any]] = ()) -> None:
    """Raise where an output is one of the inputs or another output.

    Parameters
    ----------
    outputs : pairs of what a file is, for the message, and its path, or its number where it is open
    inputs : the same of files that are read
    """
    found: dict[tuple[Any, ...], str] = {}
    for what, path in outputs:
        place = place_of(path)
        if place is None:
            continue
        if place in found:
            raise SameFileError(f"{found[place]} and {_named(what, path)} are the same file: give one another name")
        found[place] = _named(what, path)
    for what, path in inputs:
        place = place_of(path)
        if place is not None and place in found:
            raise SameFileError(f"{found[place]} is the same file as {_named(what, path)}, which would be lost")


def _named(what: str, path: Any) -> str:
    return what if isinstance(path, int) else f"{what} {os.fspath(path)!r}"
