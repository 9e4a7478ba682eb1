"""One runner for all experiments: it measures cells once, and writes a CSV, a picture, a table and judged claims.

An experiment is a file with an ``EXPERIMENT``; its docstring is what ``README.md`` says of it. Every cell has a name
such as ``adult, (1 + <x, y>)^2, TensorSketch, D = 500`` and gives numbers for a seed. Finished cells are kept in
``results/quick/cells`` or ``results/full/cells``: a run that was interrupted goes on with the next one.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cells import Cell, Figure, Found, Numbers, Record, fill, measured
from claims import Claim

RESULTS = Path(__file__).parent / "results"
SEEDS = 5
"""The number of runs of a random map; exact machines have no seed and run once."""


def nothing(_: Found) -> list[Claim]:
    return []


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper."""

    name: str
    """The name of its files."""
    title: str
    about: str
    """What the paper does, what we chose if it says nothing, and how our figures differ."""
    cells: Callable[[bool], Iterable[Cell]]
    """The cells of the full run or of the quick one."""
    table: Callable[[Found], str]
    """The table in Markdown, in which missing cells are shown as such."""
    picture: Callable[[Found], Any]
    """The matplotlib figure."""
    claims: Callable[[Found], list[Claim]] = nothing
    record: str = ""
    """The name of the file of cells, if experiments share one."""

    def figure(self, full: bool) -> Figure:
        return Figure(self.record or self.name, tuple(self.cells(full)), self.table)


class Progress:
    """Report progress on one line of a terminal, or else on one line per cell."""

    def __init__(self) -> None:
        self.start = time.perf_counter()

    def __call__(self, text: str, done: int, count: int) -> None:
        left = (time.perf_counter() - self.start) * (count / done - 1.0)
        line = f"{done}/{count}, about {left / 60:.0f} min left: {text}"
        if sys.stderr.isatty():
            print(f"\r\x1b[K{line}", end="\n" if done == count else "", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)


def summary(path: Path, found: Found) -> None:
    """Compute mean, standard deviation and median of every quantity of every cell."""
    numbers: dict[tuple[str, str], list[float]] = {}
    for (name, _), cell in sorted(found.items(), key=lambda item: item[0][1]):
        for quantity, value in cell.items():
            numbers.setdefault((name, quantity), []).append(value)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("cell", "quantity", "runs", "mean", "deviation", "median"))
        for (name, quantity), values in numbers.items():
            spread = f"{statistics.stdev(values):.6g}" if len(values) > 1 else ""
            middle = f"{statistics.median(values):.6g}"
            writer.writerow((name, quantity, len(values), f"{statistics.fmean(values):.6g}", spread, middle))


def write(experiment: Experiment, full: bool, folder: Path = RESULTS) -> Found:
    """Write the three files of an experiment from the cells that exist."""
    place = folder / ("full" if full else "quick")
    figure = experiment.figure(full)
    names = {cell.name for cell in figure.cells}
    cells = Record(place / "cells" / f"{figure.name}.csv").found(figure.name)
    found = {key: numbers for key, numbers in cells.items() if key[0] in names}
    summary(place / f"{experiment.name}.csv", found)
    claims = "".join(f"- {claim}\n" for claim in experiment.claims(found))
    text = experiment.table(found) + (f"\n{claims}" if claims else "")
    (place / f"{experiment.name}.md").write_text(text)
    experiment.picture(found).savefig(place / f"{experiment.name}.png", dpi=110, metadata={"Software": None})
    return found


def run(experiment: Experiment, chosen: argparse.Namespace) -> None:
    """Measure the cells that are missing, then write the files."""
    figure, folder = experiment.figure(chosen.full), chosen.results
    wanted = tuple(replace(cell, seeds=min(cell.seeds, chosen.runs)) for cell in figure.cells)
    place = folder / ("full" if chosen.full else "quick") / "cells"
    place.mkdir(parents=True, exist_ok=True)
    record = Record(place / f"{figure.name}.csv")
    record.forget(figure.name, chosen.again)

    def here(_: str, name: str, seed: int, record: Record) -> Numbers:
        # One thread: the papers' programs had one, and the time that the processor spends is then the clock's.
        return measured(figure, name, seed, record, threads=1)

    fill(replace(figure, cells=wanted), record, chosen.only, chosen.seconds, here, Progress())
    write(experiment, chosen.full, folder)


def options(about: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="all sizes of the paper; else the quick form")
    parser.add_argument(
        "--only", nargs="+", default=[""], metavar="PART", help="cells with one of these in their names"
    )
    parser.add_argument("--again", nargs="+", default=[], metavar="PART", help="measure such cells again; '' for all")
    parser.add_argument("--runs", type=int, default=SEEDS, help="of a random map, at most")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no cell after so long")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FOLDER", help="where cells and files lie")
    return parser


def main(experiment: Experiment, given: list[str] | None = None) -> None:
    """Run one experiment from the command line, and print its table and the names of its files."""
    chosen = options(experiment.about).parse_args(given)
    run(experiment, chosen)
    place = chosen.results / ("full" if chosen.full else "quick")
    print((place / f"{experiment.name}.md").read_text())
    print(f"{place / experiment.name}.csv, .md and .png")
