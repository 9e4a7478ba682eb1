"""The benchmarks of learners run on a few artificial rows, and continue where they were interrupted."""

from __future__ import annotations

import csv
import os
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


@pytest.mark.full
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


STREAMS = """
import streams
for figure in streams.FIGURES:
    streams.main([figure, "--tiny", "--csv", {path!r}])
"""


@pytest.mark.full
def test_all_figures_of_streams(tmp_path):
    command = [sys.executable, "-c", STREAMS.format(path=str(tmp_path / "cells.csv"))]
    given = os.environ | {"TMPDIR": str(tmp_path)}
    run = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=True, env=given)
    for title in ("GFLOP/s of Z'Z", "pass of KernelClassifier", "times scikit-learn's", "fresh process, ms"):
        assert run.stdout.count(title) == 1
    assert run.stdout.count("KernelRegressor, 600 rows") == 1


TINY = """
import {module}
for figure in {module}.FIGURES:
    {module}.main([figure, "--tiny", "--csv", {path!r}])
"""


@pytest.mark.full
@pytest.mark.parametrize(
    ("module", "titles"),
    [
        ("certificates", ("error below target", "lowest cell", "regret at most 1.1")),
        ("defaults", ("s of fit", "worse than allowed", "+ bandwidth and penalty", "right where it is clear")),
        ("intervals", ("median width",)),
        ("gaussian_process", ("log density",)),
    ],
)
def test_all_figures_of_defaults_and_certificates(module, titles, tmp_path):
    command = [sys.executable, "-c", TINY.format(module=module, path=str(tmp_path / "cells.csv"))]
    run = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=True)
    for title in titles:
        assert run.stdout.count(title) == 1
