"""Where a command may write: nowhere that it reads from, and nowhere twice."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from fnmatch import translate
from pathlib import Path
from typing import Any

import click

from .._places import SameFileError, check_apart

STANDARD = "-"
"""The standard input among DATA, and the standard output where a file could be."""


def check_destinations(
    outputs: dict[str, str | None], data: Sequence[str] = (), model: str | None = None, format: str | None = None
) -> None:
    """Refuse outputs that are files of DATA, the model, the file of --config or each other, before anything is read.

    Parameters
    ----------
    outputs : what the options give, by their names; None where one was not given
    data : DATA
    model : the model that is read
    format : what --format gives: files of any name are then read from a folder
    """
    written = list(files_written({name: path for name, path in outputs.items() if path is not None}))
    try:
        check_apart(written, files_read(data, model))
    except SameFileError as error:
        raise click.UsageError(str(error)) from None
    for what, path in written:
        check_not_among(what, path, data, format)


def files_written(outputs: dict[str, str]) -> Iterator[tuple[str, Any]]:
    """What a command writes, with the files that stand beside a model while it is fitted."""
    for name, path in outputs.items():
        if path != STANDARD:
            yield name, path
        elif is_file(1):
            yield "the standard output", "/dev/fd/1"
    if "--checkpoint" in outputs or "checkpoint" in outputs:
        from ..persist.runs import files_beside

        checkpoint = outputs.get("--checkpoint")
        for path in files_beside(outputs["-o"], checkpoint)[1 if checkpoint is None else 2 :]:
            yield "the file beside the model,", path


def files_read(data: Sequence[str], model: str | None) -> Iterator[tuple[str, Any]]:
    """What a command reads."""
    from ..data.opening import paths_of

    config = click.get_current_context().meta.get("config")
    if config is not None:
        yield "the file of --config", config
    if model is not None:
        yield "the model", model
    for name in data:
        if name != STANDARD:
            try:
                paths = paths_of(Path(name), None if os.path.isdir(name) else "any")
            except FileNotFoundError:  # which is told when it is opened
                continue
            yield from (("the input", path) for path in paths)
        elif is_file(0):
            yield "the standard input", "/dev/fd/0"
