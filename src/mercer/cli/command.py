"""The base of all commands: common options, errors in one sentence, notes on standard error."""

from __future__ import annotations

import difflib
import errno
import shlex
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from .escaping import printable
from .option_names import with_options
from .output import quiet

WRONG_INPUT = 1


GROUPS = {
    "Columns and rows": (
        "target", "weight", "columns", "exclude", "task", "holdout", "missing", "dates", "unknown", "rows", "test-rows",
        "exact-rows", "with", "keep",
    ),
    "Search": ("minutes", "rounds"),
    "Model": (
        "kernel", "map", "maps", "features", "column-scales", "target-error", "time-budget", "scale", "loss", "c",
        "class-weight", "alpha", "delta", "quantile", "epsilon", "deviations", "precision", "dtype",
    ),
    "Scores": ("resamples", "level"),
    "Reading files": ("format", "delimiter", "decimal", "encoding", "drop", "memory"),
    "Running": ("device", "dask", "threads", "seed", "checkpoint", "every", "resume", "dry-run", "config"),
    "Output": ("output", "report", "plot", "html", "spreadsheet-safe", "json", "quiet", "debug", "help"),
}  # fmt: skip
"""The headings of help texts, with the names of the options below each of them."""


class Command(click.Command):
    """A command with --config, --json, --quiet, --threads and --debug, whose help shows options in groups."""

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        self.params += [
            click.Option(["--config"], type=click.Path(dir_okay=False), is_eager=True, expose_value=False,
                         callback=configure, help="TOML file of options; the command line has priority."),
            click.Option(["--threads"], type=click.IntRange(1), help="Number of threads; all cores by default."),
            click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object."),
            click.Option(["--quiet", "-q"], is_flag=True, help="Show no progress and no notes."),
            click.Option(["--debug"], is_flag=True, help="Show the traceback of an error."),
        ]  # fmt: skip

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["typed"] = shlex.join(["mercer", str(ctx.info_name), *args])
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = {named(param): param for param in self.get_params(ctx) if isinstance(param, click.Option)}
        others = [name for name in options if not any(name in names for names in GROUPS.values())]
        for heading, names in {**GROUPS, "Other options": others}.items():
            records = [options[name].get_help_record(ctx) for name in names if name in options]
            if shown := [record for record in records if record is not None]:
                with formatter.section(heading):
                    formatter.write_dl(shown, col_max=26)

    def invoke(self, ctx: click.Context) -> Any:
        debug, threads = ctx.params.pop("debug"), ctx.params.pop("threads")
        ctx.meta["quiet"], ctx.meta["json"] = ctx.params.pop("quiet"), ctx.params.pop("as_json")
        try:
            with noted(), at_most(threads):
                return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            if debug or (isinstance(error, OSError) and error.errno == errno.EPIPE):
                raise
            raise Failure(sentence(error)) from error


class Failure(click.ClickException):
    """An error in the input."""

    exit_code = WRONG_INPUT


def sentence(error: Exception) -> str:
    """Return an error as one line that says what to do."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror.lower()}{HINTS.get(error.errno or 0, '')}"
    text = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    if type(error).__name__ == "ModelFileError":  # by name, since importing its module takes long
        return f"not a model file of mercer, or a damaged one: {text}"
    known = ValueError | TypeError | OSError | MemoryError | ImportError | NotImplementedError
    if isinstance(error, known) or type(error).__name__ == "OutputInUseError":
        return with_options(text)
    return f"{type(error).__name__}: {text}; this is a bug in mercer: run with --debug to see where it happened"


HINTS = {
    errno.ENOENT: "; is the name correct?",
    errno.EACCES: "; choose another location, or ask for permission",
    errno.EROFS: "; choose another location",
    errno.ENOSPC: "; free some space, or choose another location",
    errno.EDQUOT: "; free some space, or choose another location",
    errno.EFBIG: "; choose another location, where files may be larger",
}


@contextmanager
def noted() -> Iterator[None]:
    """Show warnings as lines on standard error, each once."""
    seen: set[str] = set()

    def show(message: Any, *_: Any, **__: Any) -> None:
        text = with_options(" ".join(str(message).split()))
        if text not in seen and not quiet():
            click.echo(f"note: {printable(text)}", err=True)
        seen.add(text)

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.showwarning = show
        yield


@contextmanager
def telling_what_is_left() -> Iterator[None]:
    """Print how to continue a run that ends early for any reason."""
    try:
        yield
    except BaseException as end:
        for note in getattr(end, "__notes__", ()) if not quiet() else ():
            click.echo(f"note: {printable(with_options(note))}", err=True)
        raise


@contextmanager
def at_most(threads: int | None) -> Iterator[None]:
    """Limit the threads of BLAS, which Mercer's own threads follow."""
    if threads is None:
        yield
        return
    import numpy  # noqa: F401  loads BLAS, so that it can be limited
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=threads):
        yield


def configure(ctx: click.Context, option: click.Parameter, path: str | None) -> None:
    """Read options from a TOML file: those at the top level, and those under the name of the command."""
    if path is None:
        return
    import tomllib

    ctx.meta["config"] = path
    try:
        with open(path, "rb") as file:
            held = tomllib.load(file)
    except OSError as error:
        raise click.BadParameter(f"{path}: {(error.strerror or 'cannot be read').lower()}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise click.BadParameter(f"{path} is not TOML: {error}") from error
    mine = held.get(str(ctx.info_name), {})
    if not isinstance(mine, dict):
        raise click.BadParameter(f"{path}: {ctx.info_name} must be a table, found {mine!r}")
    top = {name: value for name, value in held.items() if not isinstance(value, dict)}
    known = {named(param): param for param in ctx.command.params if param is not option}
    found = {}
    for name, value in {**top, **mine}.items():
        if name.replace("_", "-") not in known:
            near = difflib.get_close_matches(name, list(known), n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"the options are {', '.join(sorted(known))}"
            raise click.BadParameter(f"{path} has the unknown option {name!r}; {hint}")
        param = known[name.replace("_", "-")]
        alone = param.multiple and isinstance(value, str)  # otherwise every letter would become a value
        found[str(param.name)] = [value] if alone else value
    ctx.default_map = found


def named(param: click.Parameter) -> str:
    """Return the name of an option in a file: the long one, without its dashes."""
    return max(param.opts, key=len).lstrip("-").replace("_", "-").lower()
