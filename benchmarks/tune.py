"""The scores of ``mercer tune`` after two minutes, compared with those of scikit-learn's machines in the same time.

``python benchmarks/tune.py [--only adult cpu] [--minutes 2]`` with ``MERCER_DATA`` set to the folder of the sets. Each
set is written to a file (CSV, and Parquet for cpu), of which ``mercer tune`` holds a fifth out; HistGradientBoosting
with its defaults learns from the same rows, and SVC or SVR, on standardised columns, from twice as many as before as
long as all of that ends in the same time.

``--boosted`` holds ``mercer.tune`` on at most 20,000 rows of a set against a random search of LightGBM in the same
time, and against both with their defaults, on the splits of ``benchmarks/defaults.py``. ``covertype_2`` is class 2
against the rest with the 80,000 and 20,000 rows of ``experiments/pham.py``. LightGBM tries its parameters on three
quarters of the rows, stops early by the others, and learns from all rows with what was best. Cells are appended to a
CSV (``--csv``) when they are done, and a second run measures what is missing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import mercer

sys.path.append(str(Path(__file__).parents[1] / "experiments"))  # cells and datasets are shared with these

from cells import Cell, Figure, Found, Numbers, Record, column, fill, markdown
from datasets import archive, real_set
from defaults import Split, fitted, light_gbm, mercer_learner, split
from figures import here

NAMES = ("adult", "covertype", "cpu")
BOOSTED = (
    "spambase",
    "cpu",
    "nursery",
    "cod_rna",
    "adult",
    "ijcnn1",
    "covertype",
    "covertype_2",
    "uji_indoor_loc",
    "blog_feedback",
    "mnist",
)
BOOSTED_ROWS = 20_000
PATIENCE, MOST_TREES = 30, 2000
"""Trees without gain after which LightGBM stops, and how many there are at most."""
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
    """Return the scores that the command line prints for its model."""
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
    """The training rows and the held-out rows of the command line."""
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
    """Return score, seconds and rows of the exact machine, doubling the rows as long as the next fit ends in time."""
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


# -- beside tuned boosting ---------------------------------------------------------------------------------------------


def rows_of(name: str, seed: int) -> Split:
    if name != "covertype_2":
        return split(name, seed, BOOSTED_ROWS)
    found = real_set("covertype", 80_000, 20_000)
    return Split(found.X, found.y, found.X_test, found.y_test, True)


def searched_mercer(rows: Split, seconds: float, seed: int) -> tuple[Any, int]:
    """Return the model with which ``mercer.tune`` ends, and how many machines it tried."""
    task = "classification" if rows.has_classes else "regression"
    found = mercer.tune(rows.X, rows.y, task=task, seconds=seconds, random_state=seed, n_jobs=1)
    return found.model, len(found.trials)


def searched_boosting(rows: Split, seconds: float, seed: int) -> tuple[Any, int]:
    """Search at random over the main parameters of LightGBM, with early stopping, while the next fit ends in time."""
    import lightgbm

    began, rng = time.perf_counter(), np.random.default_rng(seed)
    X, held, y, truth = train_test_split(rows.X, rows.y, test_size=0.25, random_state=seed)
    score = accuracy_score if rows.has_classes else r2_score
    best: tuple[float, Any] = (-np.inf, None)
    tried, longest, last = 0, 0.0, 0.0
    while tried == 0 or time.perf_counter() - began + longest + last < seconds:
        here = time.perf_counter()
        drawn = {} if tried == 0 else parameters(rng)
        model = light_gbm(rows.has_classes).set_params(n_estimators=MOST_TREES, **drawn)
        stop = lightgbm.early_stopping(PATIENCE, verbose=False)
        model.fit(X, y, eval_set=[(held, truth)], callbacks=[stop])
        tried, found = tried + 1, score(truth, model.predict(held))
        longest = max(longest, time.perf_counter() - here)
        if found > best[0]:
            best = found, {**drawn, "n_estimators": max(model.best_iteration_, 1)}
            last = (time.perf_counter() - here) / 0.75  # on all rows
    return light_gbm(rows.has_classes).set_params(**best[1]).fit(rows.X, rows.y), tried


def parameters(rng: Any) -> dict[str, Any]:
    """One draw of LightGBM's parameters."""
    return {
        "learning_rate": float(np.exp(rng.uniform(np.log(0.02), np.log(0.3)))),
        "num_leaves": int(np.exp(rng.uniform(np.log(8), np.log(256)))),
        "min_child_samples": int(np.exp(rng.uniform(np.log(2), np.log(100)))),
        "colsample_bytree": float(rng.uniform(0.4, 1.0)),
        "subsample": float(rng.uniform(0.5, 1.0)),
        "subsample_freq": 1,
        "reg_lambda": float(np.exp(rng.uniform(np.log(1e-3), np.log(30.0)))),
    }


SEARCHES = {"mercer tune": searched_mercer, "LightGBM tuned": searched_boosting}
DEFAULTS = {"mercer": lambda has_classes: mercer_learner(has_classes, random_state=0, n_jobs=1), "LightGBM": light_gbm}


def measured(name: str, who: str, seconds: float, seed: int, _: Found) -> Numbers:
    rows, began = rows_of(name, seed), time.perf_counter()
    if who in SEARCHES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model, tried = SEARCHES[who](rows, seconds, seed)
    else:
        (model, _spent), tried = fitted(lambda: DEFAULTS[who](rows.has_classes), rows), 1
    took = time.perf_counter() - began
    return {"score": 100.0 * model.score(rows.new, rows.truth), "seconds": took, "tried": tried, "rows": len(rows.y)}


def boosted_table(found: Found) -> str:
    lines = []
    for name in dict.fromkeys(cell.split(", ")[0] for cell, _ in found):
        line: list[Any] = [name]
        for who in (*DEFAULTS, *SEARCHES):
            scores, times, tried = (column(found, f"{name}, {who}", key) for key in ("score", "seconds", "tried"))
            many = f", {np.mean(tried):.0f} tried" if who in SEARCHES and tried else ""
            line.append(f"{np.mean(scores):.2f} ({np.mean(times):.0f} s{many})" if scores else "")
        lines.append(line)
    return markdown(("set", *DEFAULTS, *SEARCHES), lines)


def beside_boosting(names: list[str], seconds: float, record: Record) -> None:
    cells = [
        Cell(f"{name}, {who}", partial(measured, name, who, seconds))
        for name in names
        for who in (*DEFAULTS, *SEARCHES)
    ]
    figure = Figure("boosted", tuple(cells), boosted_table)
    fill(figure, record, [""], float("inf"), partial(here, figure, 1))
    print(boosted_table(record.found("boosted")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=sorted({*NAMES, *BOOSTED}))
    parser.add_argument("--boosted", action="store_true")
    parser.add_argument("--csv", type=Path, default=Path("tune.csv"), help="finished cells of --boosted")
    parser.add_argument("--minutes", type=float, default=2.0)
    arguments = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "2")
    if arguments.boosted:
        beside_boosting(arguments.only or list(BOOSTED), 60.0 * arguments.minutes, Record(arguments.csv))
        return
    headers = ("set", "learner", "rows", "accuracy or R2", "seconds", "found")
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.only or NAMES:
            print(markdown(headers, contest(name, Path(folder), arguments.minutes)), flush=True)


if __name__ == "__main__":
    main()
