"""The identity of a file, whatever path leads to it."""

from __future__ import annotations

import os
import stat
import sys
import unicodedata
from collections.abc import Iterable
from typing import Any


class SameFileError(ValueError):
    """Raised if a file to be written is also read, or written twice; the message names both."""


def place_of(path: Any) -> tuple[Any, ...] | None:
    """Return a key that is equal for two paths to the same file, or None for a pipe, a device or the like.

    An existing file is identified by its number on its disk, so that links and different spellings do not matter; a
    file that does not exist yet, by the number of its folder and its name.
    """
    try:
        status = _status(path)
    except OSError:
        if isinstance(path, int):  # the file is closed
            return None
        folder, name = os.path.split(os.path.realpath(path))
        try:
            above = os.stat(folder)
        except OSError:
            return (os.path.join(folder, name),)
        return (above.st_dev, above.st_ino, folded(name) if ignores_case(folder) else name)
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def _status(path: Any) -> os.stat_result:
    """Return the status of a file, ignoring a trailing slash as the functions that write files do."""
    try:
        return os.stat(path)
    except NotADirectoryError:
        return os.stat(os.path.realpath(path))


def folded(name: str) -> str:
    """Normalise a name for comparison in a folder that ignores case."""
    return unicodedata.normalize("NFC", name).casefold()


def ignores_case(folder: str) -> bool:
    """Return whether a folder treats "A" and "a" as one name, judged by its content or, if empty, by the system."""
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
    """Raise an error if an output is one of the inputs or another output.

    Parameters
    ----------
    outputs : iterable of tuple
        Pairs of a description, for the message, and a path, or a descriptor of an open file.
    inputs : iterable of tuple, default=()
        The same for files that are read.
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
