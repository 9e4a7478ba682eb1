"""All experiments, one after the other, and the page that shows them: ``python experiments/papers.py [--full]``."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path

from cells import Record, markdown
from experiment import RESULTS, Experiment, options, run

PAGE = Path(__file__).parent / "README.md"
VERDICTS = ("holds**", "holds in", "does not hold")
MARK = "<!-- What follows is written by papers.py. -->\n"

EXPERIMENTS = (
    "pham_figure1",
    "pham_figure2",
    "pham_figure3",
    "pham_figure4",
    "pham_table1",
    "pham_table2",
    "pham_table3",
    "pham_lemma6",
    "kar_figure1",
    "kar_figure2",
    "kar_table1",
    "chen_figure1",
    "chen_figure2",
    "chen_figure3",
    "chen_table1",
    "bellet_error",
    "bellet_accuracy",
    "bellet_time",
    "bellet_width",
    "beyond_time",
    "beyond_sets",
)
"""The experiments, in the order of the page."""


def experiment_of(name: str) -> Experiment:
    return import_module(name).EXPERIMENT


def section(name: str) -> str:
    """Return the section about an experiment, from the full run."""
    one, place = experiment_of(name), RESULTS / "full"
    if not (place / f"{name}.md").exists():
        return f"## {one.title}\n\n`python experiments/{name}.py`\n\nNot measured yet.\n"
    figure = one.figure(True)
    found = Record(place / "cells" / f"{figure.name}.csv").found(figure.name)
    wanted = [(cell.name, seed) for cell in figure.cells for seed in range(cell.seeds)]
    missing = sum(run not in found for run in wanted)
    count = f"{missing} of {len(wanted)} runs are not measured yet.\n\n" if missing else ""
    return (
        f"## {one.title}\n\n`python experiments/{name}.py`\n\n{one.about.strip()}\n\n{count}"
        f"![{one.title}](results/full/{name}.png)\n\n{(place / f'{name}.md').read_text()}"
    )


def claims_of(name: str) -> list[str]:
    """Return the lines with the claims of an experiment."""
    file = RESULTS / "full" / f"{name}.md"
    return [line for line in file.read_text().splitlines() if line.startswith("- **")] if file.exists() else []


def anchor(title: str) -> str:
    """Return the anchor of a heading, as GitHub names it."""
    return "#" + re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def verdicts() -> str:
    """Count how many claims of the papers hold, and list all of them; our own claims are listed but not counted."""
    counts, lines = [], []
    for name in EXPERIMENTS:
        title, claims = experiment_of(name).title, claims_of(name)
        theirs = [line for line in claims if "**: *ours*: " not in line]
        numbers = [sum(line.startswith(f"- **{verdict}") for line in theirs) for verdict in VERDICTS]
        counts += [(f"[{title}]({anchor(title)})", *numbers)] if theirs else []
        lines += [f"{title}\n", *claims, ""] if claims else []
    total = ("all", *(sum(line[place] for line in counts) for place in (1, 2, 3)))
    table = markdown(("claims of", "hold", "hold in part", "do not hold"), [*counts, total])
    every = "\n".join(lines)
    return f"## What the papers claim\n\n{table}\n<details><summary>Every claim</summary>\n\n{every}\n</details>\n"


def page() -> str:
    """Write the page: an introduction, which is written by hand, and a section for every experiment."""
    head = PAGE.read_text().split(MARK)[0]
    return head + MARK + "\n" + verdicts() + "\n" + "\n".join(section(name) for name in EXPERIMENTS)


def main(given: list[str] | None = None) -> None:
    chosen = options(__doc__ or "").parse_args(given)
    for name in EXPERIMENTS:
        print(name, file=sys.stderr)
        run(experiment_of(name), chosen)
    if chosen.full and chosen.results == RESULTS:
        PAGE.write_text(page())  # after a single experiment: papers.py --full --seconds -1


if __name__ == "__main__":
    main()
