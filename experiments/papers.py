"""All experiments, one after the other, and the page that shows them: ``python experiments/papers.py [--full]``."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from experiment import RESULTS, Experiment, options, run

PAGE = Path(__file__).parent / "README.md"
HEAD = Path(__file__).parent / "head.md"

EXPERIMENTS = (
    "pham_figure1",
    "pham_figure2",
    "pham_figure3",
    "pham_figure4",
    "pham_table1",
    "pham_table2",
    "pham_table3",
    "pham_lemma6",
    "beyond_time",
    "beyond_sets",
)
"""The files, in the order of the page."""


def experiment_of(name: str) -> Experiment:
    return import_module(name).EXPERIMENT


def section(name: str) -> str:
    """What the page says of an experiment; of the full run."""
    one = experiment_of(name)
    file = RESULTS / "full" / f"{name}.md"
    found = file.read_text() if file.exists() else "Not measured yet.\n"
    picture = f"![{one.title}](results/full/{name}.png)\n\n" if file.exists() else ""
    return f"## {one.title}\n\n`python experiments/{name}.py`\n\n{one.about.strip()}\n\n{picture}{found}"


def page() -> str:
    return HEAD.read_text() + "\n" + "\n".join(section(name) for name in EXPERIMENTS)


def main(given: list[str] | None = None) -> None:
    chosen = options(__doc__ or "").parse_args(given)
    for name in EXPERIMENTS:
        print(name, file=sys.stderr)
        run(experiment_of(name), chosen)
    if chosen.full and chosen.results == RESULTS:
        PAGE.write_text(page())


if __name__ == "__main__":
    main()
