"""MODEL on the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def model_argument(function: Callable[..., Any]) -> Callable[..., Any]:
    """A model file that ``mercer fit`` or ``mercer.save`` has written."""
    return click.argument("model", type=click.Path())(function)


def loaded(path: str) -> Any:
    """The model of a file."""
    from .. import load

    return load(path)
