"""Cells of a figure, which are measured separately and appended to a CSV file, so that a run can be continued."""

from __future__ import annotations

import csv
import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

THREADS = 2
FIELDS = ("figure", "cell", "seed", "quantity", "value")

Numbers = dict[str, float]
Found = dict[tuple[str, int], Numbers]
"""The measurements, by the name of a cell and its seed."""


@dataclass(frozen=True)
class Cell:
    """One measurement."""

    name: str
    work: Callable[[int, Found], Numbers]
    """A function of the seed and of the results of earlier cells."""
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
        """Write all lines of a cell at once, so that an interrupted cell leaves none."""
        is_new = not self.path.exists()
        with self.path.open("a", newline="") as file:
            writer = csv.writer(file)
            if is_new:
                writer.writerow(FIELDS)
            writer.writerows((figure, name, seed, quantity, repr(value)) for quantity, value in numbers.items())

    def forget(self, figure: str, parts: Iterable[str]) -> None:
        """Drop the cells whose names contain one of the parts, so that they are measured again."""
        parts = tuple(parts)
        if not self.path.exists():
            return
        with self.path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        kept = [row for row in rows if row["figure"] != figure or not any(part in row["cell"] for part in parts)]
        beside = self.path.with_suffix(".new")
        with beside.open("w", newline="") as file:
            writer = csv.DictWriter(file, FIELDS)
            writer.writeheader()
            writer.writerows(kept)
        beside.replace(self.path)


def measured(figure: Figure, name: str, seed: int, record: Record, threads: int = THREADS) -> Numbers:
    """Measure one cell in this process."""
    cell = next(cell for cell in figure.cells if cell.name == name)
    with threadpool_limits(threads):
        return {key: float(value) for key, value in cell.work(seed, record.found(figure.name)).items()}


def apart(script: str, figure: str, name: str, seed: int, record: Record) -> Numbers:
    """Measure one cell in a separate process, so that its memory is not shared with others."""
    command = [sys.executable, script, figure, "--csv", str(record.path), "--cell", name, "--seed", str(seed)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def fill(
    figure: Figure,
    record: Record,
    parts: Iterable[str],
    seconds: float,
    run: Callable[..., Numbers],
    tell: Callable[[str, int, int], None] | None = None,
) -> None:
    """Measure what is missing among the cells whose names have one of the parts; start none after so many seconds.

    First seeds come first. ``tell`` hears of every cell that is done: its name and seed, and how many are, of how many.
    """
    wanted, start, there = tuple(parts), time.perf_counter(), record.found(figure.name)
    missing = [
        (cell.name, seed)
        for seed in range(max((cell.seeds for cell in figure.cells), default=0))
        for cell in figure.cells
        if seed < cell.seeds and (cell.name, seed) not in there and any(part in cell.name for part in wanted)
    ]
    for done, (name, seed) in enumerate(missing, 1):
        if time.perf_counter() - start > seconds:
            return
        if (name, seed) in record.found(figure.name):  # by another run beside this one
            continue
        try:
            record.add(figure.name, name, seed, run(figure.name, name, seed, record))
        except Exception as error:
            error.add_note(f"in the cell {figure.name}: {name}, seed {seed}")
            raise
        text = f"{figure.name}: {name}, seed {seed}"
        tell(text, done, len(missing)) if tell else print(text, file=sys.stderr, flush=True)


def timed(work: Callable[[], Any]) -> Numbers:
    """Return wall and processor seconds; the latter show whether other processes disturbed the former."""
    clock, spent = time.perf_counter(), time.process_time()
    result = work()
    numbers = {"seconds": time.perf_counter() - clock, "processor": time.process_time() - spent}
    del result  # what was allocated is given back outside of the time
    return numbers


def column(found: Found, name: str, quantity: str) -> list[float]:
    """Return a quantity of a cell for each seed."""
    return [numbers[quantity] for (cell, _), numbers in sorted(found.items()) if cell == name and quantity in numbers]


def median(found: Found, name: str, quantity: str) -> float:
    """NaN where nothing was measured."""
    values = column(found, name, quantity)
    return statistics.median(values) if values else float("nan")


def mean(found: Found, name: str, quantity: str) -> float:
    """NaN where nothing was measured."""
    return statistics.fmean(column(found, name, quantity) or [math.nan])


def slope(points: Iterable[tuple[float, float]]) -> float:
    """Return the power of x that y follows, fitted to the logarithms; NaN for fewer than three points."""
    there = [point for point in points if not math.isnan(point[1])]
    if len(there) < 3:
        return math.nan
    xs, ys = np.log(there).T
    return round(float(np.polyfit(xs, ys, 1)[0]), 9) + 0.0  # no -0.00


def markdown(head: Iterable[str], lines: Iterable[Iterable[Any]]) -> str:
    """Format a table in Markdown."""
    titles = list(head)
    rows = [titles, ["---", *["---:"] * (len(titles) - 1)], *([str(entry) for entry in line] for line in lines)]
    return "\n".join("|" + "|".join(row) + "|" for row in rows) + "\n"


def in_words(seconds: float) -> str:
    return f"{seconds:.3g} s"
