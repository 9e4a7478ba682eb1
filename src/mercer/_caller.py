"""Warnings that point at the line of the user's program that caused them, however deep in this package they arise."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

PACKAGE = str(Path(__file__).parent)


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning whose place is the innermost call from outside this package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
