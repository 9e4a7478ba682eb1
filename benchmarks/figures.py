"""The command line of scripts that measure figures, cell by cell."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

from cells import THREADS, Figure, Numbers, Record, apart, fill, measured
from machine import facts


def here(figure: Figure, threads: int, _: str, name: str, seed: int, record: Record) -> Numbers:
    return measured(figure, name, seed, record, threads)


def command(
    figures: dict[str, Callable[[bool], Figure]],
    description: str | None,
    script: str,
    given: list[str] | None,
    *,
    threads: int = THREADS,
    is_apart: bool = True,
) -> None:
    """The command line of a script that has figures.

    Each cell has a process of its own unless ``is_apart`` is false: then all of them share this one, which suits many
    short cells whose memory does not matter.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figure", choices=figures)
    parser.add_argument("--only", nargs="+", default=[""], metavar="PART", help="parts of the names of cells")
    parser.add_argument("--again", nargs="+", default=[], metavar="PART", help="cells to forget and measure anew")
    parser.add_argument("--csv", type=Path, default=Path(script).with_suffix(".csv").name, help="finished cells")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no cell after so long")
    parser.add_argument("--tiny", action="store_true", help="a few made-up rows, all in this process")
    parser.add_argument("--cell", help="measure this cell in this process, and print its numbers")
    parser.add_argument("--seed", type=int, default=0, help="that of --cell")
    arguments = parser.parse_args(given)
    figure, record = figures[arguments.figure](arguments.tiny), Record(Path(arguments.csv))
    if arguments.cell:
        print(json.dumps(measured(figure, arguments.cell, arguments.seed, record, threads)))
        return
    record.forget(figure.name, arguments.again)
    run = partial(apart, script) if is_apart and not arguments.tiny else partial(here, figure, threads)
    fill(figure, record, arguments.only, arguments.seconds, run)
    known = facts()
    print(
        f"{known['processor']}, {known['isa']}, {threads} threads, Python {known['python']}, commit {known['commit']}"
    )
    print(", ".join(f"{package} {version}" for package, version in known["versions"].items()) + "\n")
    print(figure.table(record.found(figure.name)))
