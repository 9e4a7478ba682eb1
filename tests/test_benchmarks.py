"""The benchmarks of learners run, on a few made-up rows, and go on where they were interrupted."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
TWICE = """
import learners
for figure in learners.FIGURES:
    for _ in range(2):
        learners.main([figure, "--tiny", "--csv", {path!r}])
"""

pytestmark = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peaks are read from Linux's /proc")


def test_all_figures_of_learners(tmp_path):
    path = tmp_path / "cells.csv"
    command = [sys.executable, "-c", TWICE.format(path=str(path))]
    run = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=True)
    done = run.stderr.splitlines()
    assert "sets: cpu, exact KernelRidge, seed 0" in done
    assert len(set(done)) == len(done)  # the second time everything was there already
    with path.open(newline="") as file:
        cells = {(row["figure"], row["cell"], row["seed"]) for row in csv.DictReader(file)}
    assert {figure for figure, _, _ in cells} == {"mnist", "svc", "sets", "rows"}
    for title in ("times faster", "share of SVC's fit", "accuracy or R2", "peak beyond the input"):
        assert run.stdout.count(title) == 2
