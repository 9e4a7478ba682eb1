"""The learners compared with scikit-learn's, one result per subcommand: ``mnist``, ``svc``, ``sets`` and ``rows``.

``python benchmarks/learners.py mnist --csv learners.csv [--only PARTS]`` with ``MERCER_DATA`` set to the folder
of the sets. Every cell is measured in a process of its own on two threads and appended to the CSV when it is done; a
second run measures what is missing, and prints the tables of what is there. ``--tiny`` runs all of it on a few made-up
rows.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "experiments"))  # cells and datasets are shared with these

from digits import mnist, svc
from figures import command
from many_rows import rows
from sets import sets

FIGURES = {"mnist": mnist, "svc": svc, "sets": sets, "rows": rows}


def main(given: list[str] | None = None) -> None:
    command(FIGURES, __doc__, __file__, given)


if __name__ == "__main__":
    main()
