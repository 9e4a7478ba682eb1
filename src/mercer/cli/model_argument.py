"""The argument MODEL of commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def model_argument(function: Decorated) -> Decorated:
    """Add the argument MODEL: a model file that ``mercer fit`` or ``mercer.save`` has written."""
    return click.argument("model", type=click.Path())(function)


def loaded(path: str) -> BaseEstimator:
    """Return the model in a file."""
    from .. import load

    return load(path)


def unknown_option(function: Decorated) -> Decorated:
    """Add the option for levels that a model has not learned."""
    return click.option(
        "--unknown", type=click.Choice(["auto", "error", "ignore"]),
        help="What to do with categories (levels) that did not occur in training; by default as in the fit.",
    )(function)  # fmt: skip


def treating(fitted: BaseEstimator, unknown: str | None) -> BaseEstimator:
    """Return a model for which unknown levels are errors or no level at all, as --unknown says."""
    from ..report.unknown_levels import treating_unknown

    return fitted if unknown is None or not hasattr(fitted, "preparation_") else treating_unknown(fitted, unknown)
