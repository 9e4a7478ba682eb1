"""Warnings that point at the line of the user's code that caused them, however deep in this package they arise."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

PACKAGE = str(Path(__file__).parent)
_is_silent = ContextVar("is_silent", default=False)


@contextmanager
def without_warnings() -> Iterator[None]:
    """Suppress this package's warnings in the current thread.

    ``warnings.catch_warnings`` would silence the whole process.
    """
    token = _is_silent.set(True)
    try:
        yield
    finally:
        _is_silent.reset(token)


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that points at the innermost call from outside this package."""
    if _is_silent.get():
        return
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and (
        frame.f_code.co_filename.startswith(PACKAGE)
        or str(frame.f_globals.get("__name__")).startswith("sklearn.callback")  # around fit
    ):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
