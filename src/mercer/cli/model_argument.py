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


def unknown_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """What becomes of levels that a model has not learned."""
    return click.option(
        "--unknown", type=click.Choice(["error", "ignore"]),
        help="Levels that the model has not learned; as it was fitted if not given.",
    )(function)  # fmt: skip


def treating(fitted: Any, unknown: str | None) -> Any:
    """A model for which unknown levels are errors or none, as --unknown says."""
    from ..report.unknown_levels import treating_unknown

    return fitted if unknown is None or not hasattr(fitted, "preparation_") else treating_unknown(fitted, unknown)
