"""What ``mercer tune`` reaches in two minutes, beside scikit-learn's machines in the same time.

``python benchmarks/tune.py [--only adult cpu] [--minutes 2]`` with ``MERCER_DATA`` set to the folder of the sets. Each
set is written to a file (CSV, and Parquet for cpu), of which ``mercer tune`` holds a fifth out; HistGradientBoosting
with its defaults learns from the same rows, and SVC or SVR, on standardised columns, from twice as many as before as
long as all of that ends in the same time.

``--small`` is quicker: ``mercer.tune`` on at most 8,000 rows of small sets, beside the learner with its defaults and
LightGBM with its own, all scored on a quarter of the rows that none of them has seen.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import mercer

sys.path.append(str(Path(__file__).parents[1] / "experiments"))  # cells and datasets are shared with these

from cells import markdown
from datasets import archive

NAMES = ("adult", "covertype", "cpu")
SMALL, SMALL_ROWS = ("cpu", "spambase", "nursery", "cod_rna"), 8000
ROWS = 100_000
FIRST = 2000
"""Rows that an exact machine has at first."""
TARGET = "target"


def frame_of(name: str) -> pd.DataFrame:
    """A set with its target; covertype is class 2 against the rest, on 100,000 rows."""
    file = archive(name)
    X, y = file["X"], file["y"]
    if name == "covertype":
        rows = np.random.default_rng(0).permutation(len(X))[:ROWS]
        X, y = X[rows], np.where(y[rows] == 2, "two", "other")
    frame = pd.DataFrame(X, columns=[f"x{place}" for place in range(X.shape[1])])
    frame[TARGET] = y
    return frame


def written(name: str, folder: Path) -> Path:
    path = folder / (f"{name}.parquet" if name == "cpu" else f"{name}.csv")
    frame = frame_of(name)
    frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_csv(path, index=False)
    return path


def tuned(path: Path, minutes: float) -> tuple[str, dict[str, Any]]:
    """What the command line says of its model."""
    words = ["tune", str(path), "--target", TARGET, "--minutes", f"{minutes:g}", "-o", str(path.with_suffix(".mercer"))]
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "mercer", *words, "--json"], stdout=subprocess.PIPE, text=True, check=True
    )
    found = json.loads(done.stdout)
    return f"mercer tune {path.name} --target {TARGET} --minutes {minutes:g} -o {path.stem}.mercer", {
        "seconds": time.perf_counter() - began,
        **found,
    }


def halves(path: Path) -> tuple[Any, Any, Any, Any]:
    """The rows that the command line learned from, and those that it held out."""
    parts = mercer.data.open(path, target=TARGET, dtype="float32").split(test=0.2, seed=0)
    (X, y), (X_test, y_test) = (
        [np.concatenate(arrays) for arrays in zip(*((block.X, block.y) for block in part.blocks()), strict=True)]
        for part in parts
    )
    return X, y, X_test, y_test


def boosted(path: Path, is_classes: bool) -> tuple[float, float, int]:
    """Score, seconds and rows of gradient boosting."""
    X, y, X_test, y_test = halves(path)
    model = (HistGradientBoostingClassifier if is_classes else HistGradientBoostingRegressor)(random_state=0)
    began = time.perf_counter()
    model.fit(X, y)
    return model.score(X_test, y_test), time.perf_counter() - began, len(X)


def exact(path: Path, is_classes: bool, seconds: float) -> tuple[float, float, int]:
    """The same of the exact machine, with twice the rows as long as the next fit would end in time."""
    X, y, X_test, y_test = halves(path)
    order = np.random.default_rng(0).permutation(len(X))
    began, rows, score, took = time.perf_counter(), min(FIRST, len(X)), float("nan"), 0.0
    while True:
        here = time.perf_counter()
        few = order[:rows]
        model = make_pipeline(StandardScaler(), SVC() if is_classes else SVR()).fit(X[few], y[few])
        took = time.perf_counter() - here
        wider = min(len(X), 2 * rows)
        growth = (wider / rows) ** 2.2
        if wider == rows or time.perf_counter() - began + took * growth > seconds:
            score = model.score(X_test, y_test)
            return score, took, rows
        rows = wider


def contest(name: str, folder: Path, minutes: float) -> list[tuple[str, ...]]:
    path = written(name, folder)
    is_classes = name != "cpu"
    command, found = tuned(path, minutes)
    print(command, flush=True)
    score = found["scores"]["accuracy" if is_classes else "R2"]
    what = f"{found['kernel']}, {found['scale']}, {found['features']:,} features"
    lines = [("mercer tune", f"{found['rows']:,}", f"{score['value']:.4f}", f"{found['seconds']:.1f}", what)]
    for note in found["notes"]:
        print(f"  {note}", flush=True)
    for label, measured in (
        ("HistGradientBoosting", boosted(path, is_classes)),
        ("SVC" if is_classes else "SVR", exact(path, is_classes, 60.0 * minutes)),
    ):
        value, seconds, rows = measured
        lines.append((label, f"{rows:,}", f"{value:.4f}", f"{seconds:.1f}", "defaults"))
    return [(f"**{name}**" if not place else "", *line) for place, line in enumerate(lines)]


def compared(name: str, seconds: float, seed: int) -> tuple[str, ...]:
    """One line of the table of small sets: scores and seconds of the defaults, the search and LightGBM."""
    import lightgbm

    file = archive(name)
    rows = np.random.default_rng(seed).permutation(len(file["X"]))[:SMALL_ROWS]
    is_classes = name != "cpu"
    X, X_test, y, y_test = train_test_split(file["X"][rows], file["y"][rows], test_size=0.25, random_state=seed)
    default = (mercer.KernelClassifier if is_classes else mercer.KernelRegressor)(random_state=seed)
    boosting = (lightgbm.LGBMClassifier if is_classes else lightgbm.LGBMRegressor)(verbose=-1, random_state=seed)
    cells = [name]
    for learner in (default, boosting):
        began = time.perf_counter()
        learner.fit(X, y)
        took = time.perf_counter() - began
        cells.append(f"{100.0 * learner.score(X_test, y_test):.2f} ({took:.0f} s)")
    began = time.perf_counter()
    task = "classification" if is_classes else "regression"
    found = mercer.tune(X, y, task=task, seconds=seconds, random_state=seed)
    took, last = time.perf_counter() - began, found.fits[-1]
    cells.insert(2, f"{100.0 * found.model.score(X_test, y_test):.2f} ({took:.0f} s)")
    what = f"{last.kernel.split('(')[0]}, {last.scaling}, {last.loss}, {last.features:,}; {len(found.trials)} trials"
    return (*cells, "; ".join([what, *found.notes]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=sorted({*NAMES, *SMALL}))
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=2.0)
    arguments = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "2")
    if arguments.small:
        headers = ("set", "defaults", "tune", "LightGBM", "found")
        lines = []
        for name in arguments.only or SMALL:
            lines.append(compared(name, 60.0 * arguments.minutes, arguments.seed))
            print(*lines[-1], sep=" | ", flush=True)
        print(markdown(headers, lines))
        return
    headers = ("set", "learner", "rows", "accuracy or R2", "seconds", "found")
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.only or NAMES:
            print(markdown(headers, contest(name, Path(folder), arguments.minutes)), flush=True)


if __name__ == "__main__":
    main()
