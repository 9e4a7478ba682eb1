"""The argument DATA of commands: its options, and the table that they describe."""

from __future__ import annotations

import difflib
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .._formats import FORMATS, format_of

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from ..choose.learner_choice import Task
    from ..data import Table
    from ..report.unknown_levels import UnknownLevels

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
STANDARD_INPUT = "-"
LOSSES = ("squared_hinge", "logistic", "squared", "huber", "quantile", "epsilon_insensitive", "poisson")
"""The first three are for classifiers, and the third and all later ones for regressors."""
READING = ("format", "delimiter", "encoding", "decimal", "drop")
"""The ``reading_options`` that :func:`table_of` passes on unchanged."""


def check_loss(loss: str | None, task: Task) -> None:
    """Refuse a loss of the other kind of prediction, and say why the rows are not of that kind."""
    losses = LOSSES[:3] if task.name == "classification" else LOSSES[2:]
    if loss in LOSSES and loss not in losses:
        why = "" if task.why == "as requested" else f", which was chosen because {task.why}"
        raise click.UsageError(f"--loss {loss} is not for {task.name}{why}")


def data_argument(function: Decorated) -> Decorated:
    """Add the argument DATA: files, folders, patterns, or - for standard input."""
    return click.argument("data", nargs=-1, required=True, metavar="DATA...")(function)


def exclude_option(function: Decorated) -> Decorated:
    """Add the option for columns that are not features."""
    return click.option(
        "--exclude", multiple=True, callback=all_between_commas, metavar="COLUMN",
        help="Column that is not a feature, such as an id; several separated by commas, or repeat the option.",
    )(function)  # fmt: skip


def class_weight_option(function: Decorated) -> Decorated:
    """Add the option for the weights of classes."""
    return click.option(
        "--class-weight", type=click.Choice(["balanced"]),
        help="For classifiers: balanced gives all classes the same total weight; by default all rows weigh the same.",
    )(function)  # fmt: skip


def target_options(function: Decorated) -> Decorated:
    """Add the options for features, targets and held-out rows."""
    return _with(
        function,
        click.option("--target", help="Column to predict: its name, or its number if columns have no names."),
        click.option("--weight", help="Column with the weight of each row."),
        click.option(
            "--columns", callback=between_commas, help="Features, separated by commas; by default all other columns."
        ),
        exclude_option,
        click.option(
            "--task", type=click.Choice(["auto", "classification", "regression"]), default="auto", show_default=True,
            help="auto is classification if the target is text, a truth value, or an integer with at most 20 values.",
        ),
        click.option(
            "--holdout", type=click.FloatRange(0, 1, max_open=True), default=0.2, show_default=True,
            help="Share of the rows that is kept for scoring instead of training; 0 for none.",
        ),
        gap_options,
        click.option(
            "--unknown", type=click.Choice(["auto", "error", "ignore"]), default="auto", show_default=True,
            help="What to do with categories (levels) that did not occur in training: stop (error), or treat them as "
            "no category at all, with a warning (auto) or without (ignore).",
        ),
    )  # fmt: skip


def gap_options(function: Decorated) -> Decorated:
    """Add the options for missing values and dates."""
    return _with(
        function,
        click.option(
            "--missing", type=click.Choice(["auto", "error", "mean", "indicator"]), default="auto", show_default=True,
            help="What to do with missing values: stop (error), fill them with the mean of the column (mean), or fill "
            "them and mark them in an extra column (indicator). auto is indicator, and warns if a column that was "
            "complete in training has gaps later.",
        ),
        click.option(
            "--dates", type=click.Choice(["auto", "number", "parts"]), default="auto", show_default=True,
            help="Use dates as days since 1970-01-01 (number), or as these with year, month, day, weekday and hour "
            "(parts). auto is parts, unless columns keep their units, as for kernels given with a bandwidth.",
        ),
    )  # fmt: skip


def reading_options(function: Decorated) -> Decorated:
    """Add the options for reading DATA."""
    return _with(
        function,
        click.option(
            "--format", type=click.Choice(list(FORMATS)), help="Format of DATA; by default from the file extension."
        ),
        click.option("--delimiter", help="Delimiter of CSV fields; by default found from the first lines."),
        click.option("--encoding", help="Encoding of CSV files, such as latin-1; UTF-8 by default."),
        click.option(
            "--decimal",
            type=click.Choice([".", ","]),
            help="Decimal mark of numbers in CSV files; by default found from the first rows.",
        ),
        click.option("--drop", is_flag=True, help="Drop rows with missing or infinite values."),
        click.option(
            "--memory", help="Memory for rows and features, such as 2GB; a quarter of the machine's by default."
        ),
    )


def _with(function: Decorated, *options: Callable[[Decorated], Decorated]) -> Decorated:
    """Add options to a function, in their order."""
    for option in reversed(options):
        function = option(function)
    return function


@contextmanager
def table_of(data: tuple[str, ...], memory: str | None = None, format: str | None = None, **options: Any) -> Iterator:
    """Provide the rows of DATA; what comes from standard input is kept in a temporary file while it is read."""
    from .._memory import as_bytes

    # Training rows take a quarter of it, held-out rows another quarter, and features the rest.
    options["memory"] = max(1, as_bytes(memory) // 4)
    if STANDARD_INPUT not in data:
        table = opened(data[0] if len(data) == 1 else list(data), format, **options)
        yield table
        note_dropped(table)
        return
    if len(data) > 1:
        raise click.UsageError("standard input (-) cannot be combined with files")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "standard-input")
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        table = opened(path, format or "csv", **options)
        yield table
        note_dropped(table)


def opened(
    source: Any, format: str | None, model: BaseEstimator | None = None, keep: tuple[str, ...] = (), **options: Any
) -> Any:
    """Return the table of files, for a model with the columns that it has learned and no others."""
    from .. import data as rows
    from ..maps.table_input import matched_columns

    names = getattr(model, "feature_names_in_", None)
    found = format_found(source, format)
    if names is None or (found is not None and not FORMATS[found].has_names):
        table = rows.open(source, format=format, **options)
        return table if model is None or table.names is not None else matched_columns(model, table)
    table = rows.open(source, format=format, columns=list(names), **options)
    known = (*keep, *(getattr(model, f"{role}_name_", None) for role in ("target", "weight")))
    table.ignore([name for name in table.others if name not in known])
    return table


def format_found(source: Any, format: str | None) -> str | None:
    """Return the format of files: the one requested, or that of the first file."""
    from ..data.open import paths_of

    first = source[0] if isinstance(source, list | tuple) else source
    return format or format_of(paths_of(Path(first), None)[0])


def note_dropped(table: Any) -> None:
    """Say how many rows were dropped for missing or infinite values, and how many were kept."""
    if table.dropped:
        kept = f"{table.read - table.dropped:,} are kept"
        warnings.warn(
            f"{table.dropped:,} of {table.read:,} rows have missing or infinite values and are dropped; {kept}",
            stacklevel=2,
        )


def note_unknown(strange: UnknownLevels | None) -> None:
    """Say how many rows have levels that were not learned, if any have."""
    if strange is not None and strange.rows:
        warnings.warn(strange.sentence, stacklevel=2)


def brings_labels(data: tuple[str, ...], format: str | None) -> bool:
    """Return whether the rows of DATA include their targets, as in LIBSVM files."""
    found = format or (None if STANDARD_INPUT in data else format_found(data, None))
    return found is not None and FORMATS[found].has_labels


def check_target(table: Table, target: str | None) -> None:
    """Raise an error if rows have no target; LIBSVM files include theirs."""
    if target is None and next(table.targets()).y is None:
        names = "" if table.names is None else f"; the columns are {', '.join(map(repr, table.names[:20]))}"
        raise click.UsageError(f"name the column to predict with --target{names}")


def between_commas(ctx: click.Context, option: click.Parameter, text: str | None) -> list[str] | None:
    """Return names separated by commas as a list."""
    return None if text is None else [name.strip() for name in str(text).split(",") if name.strip()]


def all_between_commas(ctx: click.Context, option: click.Parameter, texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of an option that may be repeated, each time with names separated by commas."""
    return tuple(dict.fromkeys(name for text in texts for name in between_commas(ctx, option, text) or ()))


SCALES = ["auto", "standard", "common", "log", "unit", "minmax", "none"]


class KernelType(click.ParamType):
    """A kernel as :func:`mercer.kernels.parse` reads it; with ``open`` also "auto", which leaves the choice open."""

    name = "kernel"

    def __init__(self, open: bool = False):
        self.open = open

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from ..kernels.parse import KernelSyntaxError, parse

        if self.open and value == "auto":
            return value
        try:
            return parse(value) if isinstance(value, str) else value
        except KernelSyntaxError as error:
            self.fail(str(error), param, ctx)


class MapType(click.ParamType):
    """ "auto" or the name of a map that wraps no other; with ``exact`` also "exact", which means no map."""

    name = "map"

    def __init__(self, exact: bool = False):
        self.words = ("auto", "exact") if exact else ("auto",)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from ..choose import MAPS

        known = {note.name.lower(): note.name for note in MAPS if not note.over}
        key = str(value).replace("_", "").replace("-", "").lower()
        if key in self.words:
            return key
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            self.fail(f"no map {value!r}; " + (f"did you mean {known[near[0]]!r}?" if near else "see 'mercer maps'"))
        return known[key]
