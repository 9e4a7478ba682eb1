"""Cells of a figure: each is measured in a process of its own and appended to a CSV, so that a run can be continued."""

from __future__ import annotations

import argparse
import csv
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from machine import facts, seconds_of
from threadpoolctl import threadpool_limits

THREADS = 2
FIELDS = ("figure", "cell", "seed", "quantity", "value")

Numbers = dict[str, float]
Found = dict[tuple[str, int], Numbers]
"""What was measured, by the name of a cell and its seed."""


@dataclass(frozen=True)
class Cell:
    """One measurement."""

    name: str
    work: Callable[[int, Found], Numbers]
    """Of the seed and of what earlier cells have found."""
    seeds: int = 1


@dataclass(frozen=True)
class Figure:
    """Measurements that make one set of tables."""

    name: str
    cells: tuple[Cell, ...]
    table: Callable[[Found], str]


class Record:
    """The CSV of finished cells."""

    def __init__(self, path: Path):
        self.path = path

    def found(self, figure: str) -> Found:
        numbers: Found = {}
        if self.path.exists():
            with self.path.open(newline="") as file:
                for row in csv.DictReader(file):
                    if row["figure"] == figure:
                        cell = numbers.setdefault((row["cell"], int(row["seed"])), {})
                        cell[row["quantity"]] = float(row["value"])
        return numbers

    def add(self, figure: str, name: str, seed: int, numbers: Numbers) -> None:
        """All lines of a cell at once: one that was interrupted leaves none."""
        is_new = not self.path.exists()
        with self.path.open("a", newline="") as file:
            writer = csv.writer(file)
            if is_new:
                writer.writerow(FIELDS)
            writer.writerows((figure, name, seed, quantity, repr(value)) for quantity, value in numbers.items())


def measured(figure: Figure, name: str, seed: int, record: Record) -> Numbers:
    """One cell, in this process."""
    cell = next(cell for cell in figure.cells if cell.name == name)
    with threadpool_limits(THREADS):
        return {key: float(value) for key, value in cell.work(seed, record.found(figure.name)).items()}


def apart(script: str, figure: str, name: str, seed: int, record: Record) -> Numbers:
    """One cell, in a process of its own: its peak of memory and its pages are nobody else's."""
    command = [sys.executable, script, figure, "--csv", str(record.path), "--cell", name, "--seed", str(seed)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def fill(figure: Figure, record: Record, parts: Iterable[str], seconds: float, run: Callable[..., Numbers]) -> None:
    """Measure what is missing among the cells whose names have one of the parts; start none after so many seconds."""
    wanted, start = tuple(parts), time.perf_counter()
    for seed in range(max(cell.seeds for cell in figure.cells)):
        for cell in figure.cells:
            if seed >= cell.seeds or (cell.name, seed) in record.found(figure.name):
                continue
            if not any(part in cell.name for part in wanted) or time.perf_counter() - start > seconds:
                continue
            record.add(figure.name, cell.name, seed, run(figure.name, cell.name, seed, record))
            print(f"{figure.name}: {cell.name}, seed {seed}", file=sys.stderr, flush=True)


def timed(work: Callable[[], Any]) -> Numbers:
    """Seconds by the clock, and those that the processors spent: the latter tell where the clock was disturbed."""
    start = time.process_time()
    seconds = seconds_of(work)
    return {"seconds": seconds, "processor": time.process_time() - start}


def column(found: Found, name: str, quantity: str) -> list[float]:
    """A quantity of a cell, over its seeds."""
    return [numbers[quantity] for (cell, _), numbers in sorted(found.items()) if cell == name and quantity in numbers]


def median(found: Found, name: str, quantity: str) -> float:
    """NaN where nothing was measured."""
    values = column(found, name, quantity)
    return statistics.median(values) if values else float("nan")


def markdown(head: Iterable[str], lines: Iterable[Iterable[Any]]) -> str:
    """A table."""
    titles = list(head)
    rows = [titles, ["---", *["---:"] * (len(titles) - 1)], *([str(entry) for entry in line] for line in lines)]
    return "\n".join("|" + "|".join(row) + "|" for row in rows) + "\n"


def in_words(seconds: float) -> str:
    return f"{seconds:.3g} s"


def here(figure: Figure, _: str, name: str, seed: int, record: Record) -> Numbers:
    return measured(figure, name, seed, record)


def command(
    figures: dict[str, Callable[[bool], Figure]], description: str | None, script: str, given: list[str] | None
) -> None:
    """The command line of a script that has figures."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figure", choices=figures)
    parser.add_argument("--only", nargs="+", default=[""], metavar="PART", help="parts of the names of cells")
    parser.add_argument("--csv", type=Path, default=Path(script).with_suffix(".csv").name, help="finished cells")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no cell after so long")
    parser.add_argument("--tiny", action="store_true", help="a few made-up rows, all in this process")
    parser.add_argument("--cell", help="measure this cell in this process, and print its numbers")
    parser.add_argument("--seed", type=int, default=0, help="that of --cell")
    arguments = parser.parse_args(given)
    figure, record = figures[arguments.figure](arguments.tiny), Record(Path(arguments.csv))
    if arguments.cell:
        print(json.dumps(measured(figure, arguments.cell, arguments.seed, record)))
        return
    run = partial(here, figure) if arguments.tiny else partial(apart, script)
    fill(figure, record, arguments.only, arguments.seconds, run)
    known = facts()
    print(
        f"{known['processor']}, {known['isa']}, {THREADS} threads, Python {known['python']}, commit {known['commit']}"
    )
    print(", ".join(f"{package} {version}" for package, version in known["versions"].items()) + "\n")
    print(figure.table(record.found(figure.name)))
