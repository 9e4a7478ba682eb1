"""Checks of output files: they must be no inputs, no other outputs, and nothing that the next run would read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import click

from .._file_identity import SameFileError, check_apart
from .._formats import format_of

STANDARD = "-"
"""The standard input among DATA, and the standard output in place of a file."""


def check_destinations(
    outputs: dict[str, str | None], data: Sequence[str] = (), model: str | None = None, format: str | None = None
) -> None:
    """Refuse outputs that are files of DATA, the model, the file of --config or each other, before anything is read.

    Parameters
    ----------
    outputs : dict of str to str or None
        The files to write, by the names of the options; None if an option was not given.
    data : sequence of str, default=()
        DATA.
    model : str or None, default=None
        The model file that is read.
    format : str or None, default=None
        The value of --format. If it is given, files with any extension are read from a folder.
    """
    given = {what: path for what, path in outputs.items() if path is not None}
    written = [(what, 1 if path == STANDARD else path) for what, path in given.items()]
    try:
        check_apart(written, files_read(data, model, format))
    except SameFileError as error:
        raise click.UsageError(f"{error}; nothing was done") from None
    for what, path in given.items():
        for name in data if path != STANDARD else ():
            if would_be_read(path, name, format):
                raise click.UsageError(
                    f"{what} {path!r} would be among the files of {name!r}, and the next run would read it as rows: "
                    "choose another location"
                )


def files_of_run(output: str | None, checkpoint: str | None) -> dict[str, str | None]:
    """Return the outputs of a run that can be resumed, including the files next to the model while it is fitted."""
    if output is None:
        return {"--checkpoint": checkpoint}
    from ..persist.training import files_beside

    return {"-o": output, **{what: str(path) for what, path in files_beside(output, checkpoint).items()}}


def files_read(data: Sequence[str], model: str | None, format: str | None) -> Iterator[tuple[str, Any]]:
    """Yield the files that a command reads."""
    from ..data.open import paths_of

    config = click.get_current_context().meta.get("config")
    if config is not None:
        yield "the file of --config", config
    if model is not None:
        yield "the model", model
    for name in data:
        if name == STANDARD:
            yield "standard input", 0
            continue
        try:
            yield from (("the input", path) for path in paths_of(Path(name), format))
        except FileNotFoundError:  # the error is raised when the file is opened
            continue


def would_be_read(path: str, name: str, format: str | None) -> bool:
    """Return whether a file, which may not exist yet, is one of those that a folder or a pattern of DATA names."""
    real, source = Path(os.path.realpath(path)), Path(os.path.realpath(name))
    if os.path.isdir(name):
        seen = (format is not None or format_of(real) is not None) and not real.name.startswith((".", "_"))
        return seen and any(above.is_dir() and os.path.samefile(above, source) for above in real.parents)
    is_pattern = any(sign in name for sign in "*?[") and not os.path.exists(name)
    return is_pattern and matches(real.parts, source.parts)


def matches(parts: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    """Return whether a path matches a pattern, folder by folder; ** is any number of folders."""
    if not pattern or not parts:
        return not pattern and not parts
    if pattern[0] == "**":
        return pattern[1:] == () or matches(parts, pattern[1:]) or matches(parts[1:], pattern)
    hidden = parts[0].startswith(".") and not pattern[0].startswith(".")
    return not hidden and fnmatchcase(parts[0], pattern[0]) and matches(parts[1:], pattern[1:])
