"""Coverage of predicted quantiles and calibration of probabilities on held-out rows, in two tables.

Run with ``MERCER_DATA`` set to the folder that holds the sets: ``python benchmarks/coverage.py [--width 1024]``. Rows
are split at random, four in five to learn from and at most 50,000 of them. The counts of blog_feedback, two thirds of
which are 0, have no quantile that one row in ten is below: a number between 0 and 1 is added to each, as is usual.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import process_time

import numpy as np

from mercer.learn import KernelClassifier, KernelRegressor

sys.path.append(str(Path(__file__).parents[1] / "experiments"))

from datasets import archive

LEVELS = (0.1, 0.5, 0.9)
NUMBERS, CLASSES = ("cpu", "blog_feedback"), ("adult", "covertype")
LOSSES = ("squared", "squared_hinge", "logistic")
MOST_ROWS, TESTED = 50_000, 20_000
BINS = 15


def split(name: str) -> tuple[np.ndarray, ...]:
    """Return rows and targets for training, and held-out ones."""
    file = archive(name)
    X, y = np.ascontiguousarray(file["X"], dtype=np.float32), file["y"]
    rng = np.random.default_rng(0)
    if name == "blog_feedback":
        y = y + rng.uniform(size=len(y))
    order = rng.permutation(len(X))
    count = min(4 * len(X) // 5, MOST_ROWS)
    learned, tried = order[:count], order[count : count + TESTED]
    return X[learned], y[learned], X[tried], y[tried]


def calibration_error(chances: np.ndarray, right: np.ndarray) -> float:
    """The mean distance of the largest probability and how often it came true, over bins of equal width."""
    places = np.minimum((chances * BINS).astype(int), BINS - 1)
    bins = [places == one for one in range(BINS)]
    return float(sum(abs(chances[part].sum() - right[part].sum()) for part in bins)) / len(chances)


def coverage(width: int) -> None:
    print(
        "| rows held out of | below 10 % | below 50 % | below 90 % | gap | s of processors |\n|---|---|---|---|---|---|"
    )
    for name in NUMBERS:
        X, y, new, truth = split(name)
        began = process_time()
        model = KernelRegressor(
            "gaussian('median')",
            n_components=width,
            loss="quantile",
            quantile=list(LEVELS),
            scale="standard",
            random_state=0,
            alpha=1.0,
            preparation=None,
        ).fit(X, y)
        spent = process_time() - began
        shares = (truth[:, None] <= model.predict(new)).mean(axis=0)
        cells = " | ".join(f"{100 * share:.1f}" for share in shares)
        print(f"| {name} | {cells} | {model.gap_:.1g} | {spent:.1f} |", flush=True)


def calibration(width: int) -> None:
    print("\n| rows held out of | loss | calibration error | log loss | accuracy | learned on | s of processors |")
    print("|---|---|---|---|---|---|---|")
    for name in CLASSES:
        X, y, new, truth = split(name)
        for loss in LOSSES:
            began = process_time()
            model = KernelClassifier(
                "gaussian('scale')",
                n_components=width,
                loss=loss,
                scale="standard",
                random_state=0,
                C=1.0,
                preparation=None,
            ).fit(X, y)
            spent = process_time() - began
            chances = model.predict_proba(new)
            codes = np.searchsorted(model.classes_, truth)
            error = calibration_error(chances.max(axis=1), chances.argmax(axis=1) == codes)
            logs = -np.log(chances[np.arange(len(codes)), codes]).mean()
            how = "its own" if model.calibration_ is None else model.calibration_.method
            right = np.mean(model.predict(new) == truth)
            print(f"| {name} | {loss} | {error:.4f} | {logs:.4f} | {right:.4f} | {how} | {spent:.1f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--width", type=int, default=1024, help="features of the maps")
    width = parser.parse_args().width
    coverage(width)
    calibration(width)


if __name__ == "__main__":
    main()
