"""What a person gets who sets nothing: scores beside other learners, on damaged tables, and without each part.

``python benchmarks/defaults.py sets`` holds ``KernelClassifier()`` and ``KernelRegressor()`` against scikit-learn's
kernel machines and maps on standardised columns, and against boosted trees, with all their defaults.
``python benchmarks/defaults.py damage`` damages tables in eight ways and looks for scores that are worse than those of
guessing. ``python benchmarks/defaults.py parts`` takes the parts of the defaults away one by one.

scikit-learn's bundled sets are always there; those in the folder that ``MERCER_DATA`` names join them. LightGBM and
XGBoost take part where they are installed (``pip install 'mercer[bench]'``). Times are of the processor; run it with
``OMP_NUM_THREADS=1``.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from sklearn import datasets as bundled
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC

from mercer import KernelClassifier, KernelRegressor

sys.path.append(str(Path(__file__).parents[1] / "experiments"))

from datasets import archive

BUNDLED = ("wine", "breast_cancer", "digits", "diabetes")
STORED = (
    "spambase",
    "nursery",
    "cpu",
    "cod_rna",
    "uji_indoor_loc",
    "adult",
    "ijcnn1",
    "covertype",
    "blog_feedback",
    "mnist",
)
NUMBERS = ("diabetes", "cpu", "blog_feedback", "uji_indoor_loc")
MOST_TESTED = 10_000
SVM_ROWS = 20_000
"""More rows than these take exact machines too long here."""


class Split(NamedTuple):
    """Rows to learn from, and rows held out."""

    X: Any
    y: Any
    new: Any
    truth: Any
    has_classes: bool


def names() -> list[str]:
    """The sets that are here."""
    return [*BUNDLED, *(STORED if os.environ.get("MERCER_DATA") else ())]


def split(name: str, seed: int, most: int) -> Split:
    """A seeded split: a quarter is held out, and at most so many rows are learned from."""
    if name in BUNDLED:
        loaded = getattr(bundled, f"load_{name}")()
        X, y = loaded.data, loaded.target
    else:
        file = archive(name)
        X, y = np.ascontiguousarray(file["X"], dtype=np.float32), np.asarray(file["y"])
    has_classes = name not in NUMBERS
    y = np.unique(y, return_inverse=True)[1] if has_classes else y.astype(np.float64)
    order = np.random.default_rng(seed).permutation(len(X))
    held = min(len(X) // 4, MOST_TESTED)
    learned = order[held : held + most]
    return Split(X[learned], y[learned], X[order[:held]], y[order[:held]], has_classes)


# -- beside other learners ---------------------------------------------------------------------------------------------


def contestants(has_classes: bool, n_rows: int) -> dict[str, Callable[[], Any]]:
    """Learners with all their defaults, as a user would call them."""
    linear = LinearSVC if has_classes else RidgeCV
    found: dict[str, Callable[[], Any]] = {
        "Mercer": lambda: (KernelClassifier if has_classes else KernelRegressor)(random_state=0),
        "RBFSampler": lambda: make_pipeline(
            StandardScaler(), RBFSampler(gamma="scale", n_components=1024, random_state=0), linear()
        ),
        "Nystroem": lambda: make_pipeline(StandardScaler(), Nystroem(n_components=1024, random_state=0), linear()),
        "HistGradientBoosting": HistGradientBoostingClassifier if has_classes else HistGradientBoostingRegressor,
    }
    if n_rows <= SVM_ROWS:
        found["SVM"] = lambda: make_pipeline(StandardScaler(), SVC() if has_classes else SVR())
        found["unscaled SVM"] = lambda: SVC() if has_classes else SVR()
    try:
        import lightgbm
    except ImportError:
        pass
    else:
        made = lightgbm.LGBMClassifier if has_classes else lightgbm.LGBMRegressor
        found["LightGBM"] = lambda: made(verbose=-1, n_jobs=1, random_state=0)
    try:
        import xgboost
    except ImportError:
        pass
    else:
        boosted = xgboost.XGBClassifier if has_classes else xgboost.XGBRegressor
        found["XGBoost"] = lambda: boosted(n_jobs=1, random_state=0)
    return found


def measured(make: Callable[[], Any], rows: Split) -> tuple[float, float]:
    """The score on rows held out, in percent, and the processor time of the fit."""
    began = process_time()
    model = make().fit(rows.X, rows.y)
    spent = process_time() - began
    return 100.0 * model.score(rows.new, rows.truth), spent


def sets(asked: argparse.Namespace) -> None:
    """Print one line per set and contestant: means and deviations over seeds."""
    print("| set | rows | learner | accuracy or R2, % | deviation | s |\n|---|---:|---|---:|---:|---:|")
    for name in asked.sets or names():
        splits = [split(name, seed, asked.rows) for seed in range(asked.seeds)]
        for learner, make in contestants(splits[0].has_classes, len(splits[0].y)).items():
            if asked.learners and learner not in asked.learners:
                continue
            scores, times = zip(*(measured(make, rows) for rows in splits), strict=True)
            deviation = f"{np.std(scores, ddof=1):.2f}" if len(scores) > 1 else ""
            line = f"{name} | {len(splits[0].y):,} | {learner} | {np.mean(scores):.2f} | {deviation}"
            print(f"| {line} | {np.median(times):.1f} |", flush=True)


# -- damage ------------------------------------------------------------------------------------------------------------


def heavy_tails(rows: Split, rng: Any) -> Split:
    """Every column goes through sinh, which spreads its far values over powers of ten."""
    centre, spread = np.median(rows.X, axis=0), np.std(rows.X, axis=0) + 1e-12
    bent = [np.sinh(np.clip((X - centre) / spread, -12.0, 12.0)) for X in (rows.X, rows.new)]
    return rows._replace(X=bent[0], new=bent[1])


def large_column(rows: Split, rng: Any) -> Split:
    """One column a million times as large."""
    factor = np.ones(rows.X.shape[1])
    factor[rng.integers(len(factor))] = 1e6
    return rows._replace(X=rows.X * factor, new=rows.new * factor)


def constant_and_repeated(rows: Split, rng: Any) -> Split:
    """Five constant columns, and five that are there twice."""
    again = rng.integers(rows.X.shape[1], size=5)
    joined = [np.hstack([X, np.full((len(X), 5), 3.0), X[:, again]]) for X in (rows.X, rows.new)]
    return rows._replace(X=joined[0], new=joined[1])


def outlying_rows(rows: Split, rng: Any) -> Split:
    """One row in a hundred a thousand times as far out, among those held out too."""
    far = []
    for X in (rows.X, rows.new):
        factor = np.where(rng.uniform(size=(len(X), 1)) < 0.01, 1e3, 1.0)
        far.append(X * factor)
    return rows._replace(X=far[0], new=far[1])


def shuffled_targets(rows: Split, rng: Any) -> Split:
    """Targets that have nothing to do with their rows."""
    return rows._replace(y=rng.permutation(rows.y))


def gaps(rows: Split, rng: Any) -> Split:
    """Three entries in ten are missing."""
    holed = [np.where(rng.uniform(size=X.shape) < 0.3, np.nan, X) for X in (rows.X, rows.new)]
    return rows._replace(X=holed[0], new=holed[1])


def noise_columns(rows: Split, rng: Any) -> Split:
    """Fifty columns of noise."""
    joined = [np.hstack([X, rng.normal(size=(len(X), 50)) * np.std(rows.X)]) for X in (rows.X, rows.new)]
    return rows._replace(X=joined[0], new=joined[1])


def id_column(rows: Split, rng: Any) -> Split:
    """A column that numbers the rows, those held out after the others."""
    count = len(rows.X)
    return rows._replace(
        X=np.column_stack([np.arange(count), rows.X]),
        new=np.column_stack([count + np.arange(len(rows.new)), rows.new]),
    )


DAMAGE = (
    heavy_tails,
    large_column,
    constant_and_repeated,
    outlying_rows,
    shuffled_targets,
    gaps,
    noise_columns,
    id_column,
)


def damaged(asked: argparse.Namespace) -> Iterator[tuple[str, str, int, float, float, bool]]:
    """Set, damage, seed, score, what guessing scores, and whether every prediction is a number."""
    for name in asked.sets or names():
        for seed in range(asked.seeds):
            for damage in DAMAGE:
                rows = damage(split(name, seed, asked.rows), np.random.default_rng([seed, len(name)]))
                made = (KernelClassifier if rows.has_classes else KernelRegressor)(random_state=seed)
                model = made.fit(rows.X, rows.y)
                values = model.decision_function(rows.new) if rows.has_classes else model.predict(rows.new)
                guess = float(np.mean(rows.truth == np.bincount(rows.y).argmax())) if rows.has_classes else 0.0
                score = model.score(rows.new, rows.truth)
                yield name, damage.__name__, seed, score, guess, bool(np.isfinite(values).all())


def damage(asked: argparse.Namespace) -> None:
    """Print the worst score of every damage, and those that are worse than guessing by more than is allowed."""
    print("| damage | tables | least score over that of guessing | on | worse than allowed |\n|---|---:|---:|---|---:|")
    found = list(damaged(asked))
    for how in DAMAGE:
        here = [one for one in found if one[1] == how.__name__]
        least = min(here, key=lambda one: one[3] - one[4])
        bad = sum(
            not finite or score - guess < (-0.1 if name in NUMBERS else -0.02)
            for name, _, _, score, guess, finite in here
        )
        print(f"| {how.__name__} | {len(here)} | {least[3] - least[4]:+.3f} | {least[0]} | {bad} |")


# -- parts -------------------------------------------------------------------------------------------------------------

PARTS: dict[str, dict[str, Any]] = {
    "all": {},
    "rows as they are": {"preparation": None},
    "no learned columns": {"columns": None},
    "Gaussian kernel by rule": {"kernel": "gaussian('scale')", "map": "Nystrom"},
    "1,024 features": {"n_components": 1024},
    "random Fourier features": {"map": "OrthogonalFourier"},
}


def parts(asked: argparse.Namespace) -> None:
    """Print what is left of the score without each part of the defaults, and whether columns were learned."""
    print("| set | " + " | ".join(PARTS) + " | columns |\n|---|" + "---:|" * len(PARTS) + "---|")
    for name in asked.sets or names():
        rows = split(name, 0, asked.rows)
        cells, chosen = [], None
        for given in PARTS.values():
            model = (KernelClassifier if rows.has_classes else KernelRegressor)(random_state=0, **given)
            model.fit(rows.X, rows.y)
            chosen = chosen or model.choice_
            cells.append(f"{100.0 * model.score(rows.new, rows.truth):.2f}")
        columns = "learned" if chosen is not None and chosen.learned_columns else "as they are"
        print(f"| {name} | {' | '.join(cells)} | {columns} |", flush=True)


def main(words: list[str] | None = None) -> None:
    """Print one of the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=["sets", "damage", "parts"])
    parser.add_argument("--sets", type=lambda text: text.split(","), help="between commas; all unless given")
    parser.add_argument("--learners", type=lambda text: text.split(","), help="between commas; all unless given")
    parser.add_argument("--rows", type=int, default=20_000, help="to learn from, at most")
    parser.add_argument("--seeds", type=int, default=1)
    asked = parser.parse_args(words)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        {"sets": sets, "damage": damage, "parts": parts}[asked.table](asked)


if __name__ == "__main__":
    main()
