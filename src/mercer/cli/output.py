"""Results on standard output, as text or JSON, and progress on standard error."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .._figures import size as size
from .escaping import STEERING, printable
from .option_names import with_options

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from sklearn.base import BaseEstimator

    from ..report.assessment import Assessment
    from ..report.baselines import Baseline
    from ..report.concerns import Concern
    from ..report.imbalance import Imbalance
    from ..report.scores import Score

PLAIN_WIDTH = 120
"""The width of lines if the output is not a terminal."""


def quiet() -> bool:
    """Return whether to print results only."""
    ctx = click.get_current_context(silent=True)
    return ctx is not None and bool(ctx.meta.get("quiet"))


def for_machines() -> bool:
    """Return whether --json was given."""
    return bool(click.get_current_context().meta.get("json"))


def show_json(held: object) -> None:
    """Print one JSON object, with null for numbers that are not finite."""
    text = json.dumps(plain(held), indent=2, ensure_ascii=False, allow_nan=False)
    # Replace these by JSON escapes with the same meaning; characters below a space are escaped already.
    click.echo(STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def plain(value: object) -> Any:
    """Return a value that JSON can represent."""
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def show_table(headers: Sequence[str], rows: Sequence[Sequence[Any]], title: str | None = None) -> None:
    """Print a table, with columns of numbers aligned to the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    terminal = sys.stdout.isatty()
    console = Console(file=sys.stdout, width=None if terminal else PLAIN_WIDTH, highlight=False)
    shown = None if title is None else Text(printable(title), style="table.title")
    table = Table(box=box.SIMPLE_HEAD, title=shown, title_justify="left", pad_edge=False, show_edge=False)
    for place, header in enumerate(headers):
        numeric = all(isinstance(row[place], int | float | None) for row in rows)
        table.add_column(header, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell(value)) for value in row))
    table.padding = padding_of(table, console)
    console.print(table)
    console.print()


def padding_of(table: Table, console: Console) -> tuple[int, int]:
    """Return the space around cells: smaller in a narrow terminal if that avoids breaking cells."""
    endless = console.options.update(max_width=10_000)
    roomy, table.padding = table.__rich_measure__(console, endless).maximum, (0, 0)
    tight = table.__rich_measure__(console, endless).maximum
    return (0, 0) if tight <= console.width < roomy else (0, 1)


def cell(value: object) -> str:
    """Return a value as the text of a cell."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else printable(str(value))


def show_scores(scores: Sequence[Score], title: str, level: float = 0.95, baselines: Sequence[Baseline] = ()) -> None:
    """Print scores with their intervals, next to the scores of other models on the same rows."""
    there = [one for one in baselines if one.scores]
    others = [{score.name: score.value for score in one.scores} for one in there]
    rows = [(one.name, one.value, interval(one), *(other[one.name] for other in others)) for one in scores]
    show_table(("score", "value", f"{100 * level:g} % interval", *(one.name for one in there)), rows, title)


def show_concerns(concerns: Sequence[Concern]) -> None:
    """Print what is wrong with a model, on standard error."""
    if not quiet():
        for one in concerns:
            click.secho(f"WARNING: {one}", err=True, fg="red", bold=True)


def show_imbalance(found: Imbalance | None, weighed: bool = False) -> None:
    """Print a line about classes of very different sizes, if there are any."""
    if found is not None:
        click.echo(f"{with_options(found.sentence(weighed))}\n")


def interval(score: Score) -> str:
    return "-" if math.isnan(score.low) else f"{score.low:.4g} to {score.high:.4g}"


def as_dicts(scores: Sequence[Score]) -> dict[str, dict[str, float]]:
    """Return scores for JSON."""
    return {score.name: {"value": score.value, "low": score.low, "high": score.high} for score in scores}


def shares_of(found: Imbalance | None) -> dict[str, Any] | None:
    """Return an imbalance for JSON."""
    return None if found is None else found._asdict()


def as_assessed(assessed: Assessment) -> dict[str, Any]:
    """Return an assessment for JSON, without the numbers of rows."""
    others = {one.name: as_dicts(one.scores) for one in assessed.baselines if one.scores}
    return {
        "imbalance": shares_of(assessed.imbalance),
        "scores": as_dicts(assessed.scores),
        "baselines": others,
        "interval": None if assessed.interval is None else assessed.interval._asdict(),
        "importances": {one.column: one.share for one in assessed.importances},
        "warnings": [str(one) for one in assessed.concerns],
    }


def show_assessed(assessed: Assessment, model: BaseEstimator) -> None:
    """Print an assessment without its concerns, which are printed last."""
    if assessed.scores:
        show_scores(assessed.scores, f"{assessed.held_out:,} held-out rows", baselines=assessed.baselines)
    if assessed.interval is not None:
        click.echo(f"{assessed.interval}.")
    if assessed.importances:
        from ..report.column_importances import in_words

        click.echo(printable(f"What matters: {in_words(assessed.importances)}."))
    show_imbalance(assessed.imbalance, getattr(model, "class_weight", None) is not None)


def say(text: str) -> None:
    """Print a line on standard error if that is a terminal."""
    if sys.stderr.isatty() and not quiet():
        click.echo(printable(text), err=True)


def check_writable(path: str | None) -> None:
    """Raise an error if a requested file cannot be written, before hours of work are lost."""
    if path is None:
        return
    from .._atomic import is_stream

    if is_stream(path):  # a stream is written to directly
        if not os.access(path, os.W_OK):
            raise ValueError(f"{path} cannot be written: no permission; choose another location")
        return
    folder = Path(path).absolute().parent
    if not folder.is_dir():
        raise ValueError(f"{path} cannot be written: there is no folder {str(folder)!r}")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{path} cannot be written: no permission to write in {str(folder)!r}; choose another folder")


def check_pictures(path: str | None, endings: tuple[str, ...] = ()) -> None:
    """Raise an error if a requested picture cannot be drawn, before the work is done."""
    from importlib.util import find_spec

    if path is None:
        return
    if find_spec("matplotlib") is None:
        raise ValueError(f"{path} needs matplotlib, which is not installed: pip install 'mercer[plot]'")
    if endings and not path.lower().endswith(endings):
        raise ValueError(f"the name of a picture must end in {' or '.join(endings)}, found {path}")


@contextmanager
def progress() -> Iterator[Any]:
    """Provide a callback for learners that draws a bar on standard error, or None if that is not a terminal."""
    if quiet() or not sys.stderr.isatty():
        yield None
        return
    from ..learn.passes.progress_bar import Bar

    with Bar() as bar:
        yield bar


@contextmanager
def search_progress() -> Iterator[Any]:
    """Provide a function that shows the lines of a search as one bar with its time, if there is a terminal."""
    from ..choose.search_bar import SearchBar

    with SearchBar(shows=not quiet()) as bar:
        yield bar


@contextmanager
def steps() -> Iterator[Callable[[str], None]]:
    """Provide a function that shows the current step in one line on standard error, if that is a terminal."""
    if quiet() or not sys.stderr.isatty():
        yield lambda what: None
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status("") as line:
        yield lambda what: line.update(escape(printable(what)))
