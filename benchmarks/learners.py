"""What the learners do beside scikit-learn's, one figure a subcommand: ``mnist``, ``svc``, ``sets`` and ``rows``.

``python benchmarks/learners.py mnist --csv learners.csv [--only PARTS]`` with ``MERCER_DATA`` set to the folder
of the sets. Every cell is measured in a process of its own on two threads and appended to the CSV when it is done; a
second run measures what is missing, and prints the tables of what is there. ``--tiny`` runs all of it on a few made-up
rows.
"""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "experiments"))  # cells and datasets are shared with these

from cells import THREADS, Figure, Numbers, Record, apart, fill, measured
from digits import mnist, svc
from machine import facts
from many_rows import rows
from sets import sets

FIGURES = {"mnist": mnist, "svc": svc, "sets": sets, "rows": rows}


def here(figure: Figure, _: str, name: str, seed: int, record: Record) -> Numbers:
    return measured(figure, name, seed, record)


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figure", choices=FIGURES)
    parser.add_argument("--only", nargs="+", default=[""], metavar="PART", help="parts of the names of cells")
    parser.add_argument("--csv", type=Path, default=Path("learners.csv"), help="finished cells")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no cell after so long")
    parser.add_argument("--tiny", action="store_true", help="a few made-up rows, all in this process")
    parser.add_argument("--cell", help="measure this cell in this process, and print its numbers")
    parser.add_argument("--seed", type=int, default=0, help="that of --cell")
    arguments = parser.parse_args(given)
    figure, record = FIGURES[arguments.figure](arguments.tiny), Record(arguments.csv)
    if arguments.cell:
        print(json.dumps(measured(figure, arguments.cell, arguments.seed, record)))
        return
    fill(
        figure,
        record,
        arguments.only,
        arguments.seconds,
        partial(here, figure) if arguments.tiny else partial(apart, __file__),
    )
    known = facts()
    print(
        f"{known['processor']}, {known['isa']}, {THREADS} threads, Python {known['python']}, commit {known['commit']}"
    )
    print(", ".join(f"{package} {version}" for package, version in known["versions"].items()) + "\n")
    print(figure.table(record.found(figure.name)))


if __name__ == "__main__":
    main()
