"""Checks of AutoMap and certify: whether errors meet their target, intervals cover, and the chosen map is good.

``python benchmarks/certificates.py met --csv certificates.csv`` with ``MERCER_DATA`` set to the folder that holds the
sets; ``cover`` and ``regret`` are the other tables. Cells are appended to the CSV when they are done, so that an
interrupted run can be continued; ``--tiny`` runs all of it on a few rows of scikit-learn's digits.

Rows are standardised, and of unit norm for the polynomial. ``met`` and ``regret`` draw 3,000 rows to fit maps and other
rows to judge them; errors refer to a kernel matrix of as many rows as were fitted. ``met`` requests an error and checks
whether the map meets it, and whether a map of two thirds of the width would meet it too: the chosen map, or landmarks
(the mean of five draws up to a width of 128). Where AutoMap refuses for the first time, landmarks at two thirds of the
rows and the best other map, as wide as the budget allows, are fitted and judged, to see whether it was right. ``cover``
takes samples of 200 rows from 4,000 (60 from about 1,200 digits) and compares their intervals with all of these rows.
``regret`` divides the error of the map that was chosen for a width by that of the best map there, both means over three
draws, or ten up to a width of 128.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve
from scipy.sparse.linalg import eigsh
from sklearn.base import clone
from sklearn.datasets import load_digits

import mercer
from mercer._defaults import SEARCH_SECONDS, WIDEST_CHOSEN
from mercer._random import Stream
from mercer.choose.certificate import ALPHA, codes_of_targets
from mercer.choose.gram_errors import GramErrors, plain_features
from mercer.choose.map_costs import operations_in, work_operations
from mercer.choose.map_pilot import Candidate, candidates_for

sys.path.append(str(Path(__file__).parents[1] / "experiments"))

from cells import Cell, Figure, Found, Numbers, markdown
from datasets import archive
from figures import command

SETS = ("digits", "mnist", "covertype", "cpu", "adult", "ijcnn1")
KERNELS = {
    "gaussian": "gaussian('median')",
    "laplacian": "laplacian('median')",
    "matern": "matern(1.5, length_scale='median')",
    "cauchy": "cauchy('median')",
    "polynomial": "polynomial(3, gamma=1.0, coef0=1.0)",
}
TARGETS = ("0.1", "0.03", "0.01")
WIDTHS = ("32", "128", "512", "1024")
RUNS, CHOICES = 200, 100
ROWS, POOL = 3000, 4000
TINY_ROWS = 400
SAMPLED, SAMPLES, COVER_WIDTH = 1.0 / 20.0, 20, 192
"""The share of the pool that a sample has, so that it hardly differs from one of endless rows; samples of a cell."""
NARROWER = 1.5
DRAWS, NARROW_DRAWS, MORE_DRAWS, NARROW = 3, 5, 10, 128
"""Draws of a map, more of them up to a width."""
INTERVALS = ("relative Frobenius", "spectral", "predictions", "maximum")


class Parts(NamedTuple):
    """Rows to fit, rows to judge by, and the targets of the latter."""

    fit: Any
    judged: Any
    targets: Any


@cache
def rows_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a set, standardised, without constant columns, and their targets."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
    else:
        file = archive(name)
        X, y = np.asarray(file["X"]), np.asarray(file["y"])
    some = np.random.default_rng(0).permutation(len(X))[:20_000]
    X, y = X[some].astype(np.float64), y[some]
    scale = X.std(axis=0)
    return (X - X.mean(axis=0))[:, scale > 0.0] / scale[scale > 0.0], y


def parts(name: str, kernel: str, seed: int, n_fit: int, n_judged: int) -> Parts:
    """Return other rows for every seed; of a small set two thirds are fitted, or a third if more are to be judged."""
    X, y = rows_of(name)
    order = np.random.default_rng(seed).permutation(len(X))
    if n_fit + n_judged > len(X):
        n_fit = len(X) // 3 if n_judged > n_fit else 2 * len(X) // 3
    fit, judged = order[:n_fit], order[n_fit : n_fit + n_judged]
    if kernel == "polynomial":
        X = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
    return Parts(X[fit], X[judged], y[judged])


def relative(map: mercer.FeatureMap, X: Any, K: np.ndarray, size: int) -> float:
    """The relative Frobenius error of matrices of ``size`` rows, from the rows whose kernel matrix is K."""
    return GramErrors.of(plain_features(map, X), K).relative(size, 0.95).value


def drawn(candidate: Any, width: int, rows: Parts, K: np.ndarray, seed: int) -> float:
    """The error of a candidate on rows that it has not seen."""
    return relative(candidate.at(width).set_params(random_state=seed).fit(rows.fit), rows.judged, K, len(rows.fit))


def some_of(names: Sequence[str], runs: int) -> tuple[tuple[str, int], ...]:
    """Return the number of seeds of each cell, for this number of runs over all cells."""
    each, left = divmod(runs, len(names))
    more = set(np.random.default_rng(0).permutation(len(names))[:left])
    return tuple((name, each + (place in more)) for place, name in enumerate(names))


def named(*values: Sequence[str]) -> list[str]:
    return [", ".join(one) for one in product(*values)]


# -- requested errors --------------------------------------------------------------------------------------------------


def met(tiny: bool) -> Figure:
    grid = (("digits",), ("gaussian",), TARGETS[:1]) if tiny else (SETS, tuple(KERNELS), TARGETS)
    cells = [
        Cell(name, partial(asked, *name.split(", "), tiny), seeds)
        for name, seeds in some_of(named(*grid), 2 if tiny else RUNS)
    ]
    return Figure("met", tuple(cells), met_table)


def asked(name: str, kernel: str, target: str, tiny: bool, seed: int, _: Found) -> Numbers:
    """Check whether the error is below the target, and how much narrower the map could have been."""
    count, wanted = TINY_ROWS if tiny else ROWS, float(target)
    rows = parts(name, kernel, seed, count, count)
    resolved = mercer.kernels.parse(KERNELS[kernel]).resolve(rows.fit, seed)
    K = resolved(rows.judged)
    began = process_time()
    try:
        auto = mercer.AutoMap(resolved, target_error=wanted, random_state=seed).fit(rows.fit)
    except mercer.choose.TargetNotMetError as error:
        numbers = {"refused": 1.0, "seconds": process_time() - began}
        # Checking whether the refusal was right takes far longer than everything else: once for every cell.
        return numbers | ({} if seed else {"error": least_error(resolved, error.pilot.trials, rows, K, seed)})
    numbers = {"refused": 0.0, "seconds": process_time() - began, "width": auto.n_components_}
    numbers |= {"limit": auto.error_.high, "error": relative(auto, rows.judged, K, len(rows.fit))}
    less = max(1, int(auto.n_components_ / NARROWER))
    some = len(K) // 2
    rows, K = rows._replace(judged=rows.judged[:some]), K[:some, :some]
    # Among other maps, landmarks may be better; narrow maps vary a lot from draw to draw.
    others = [one for one in candidates_for(resolved) if one.map.has_landmarks]
    draws = range(NARROW_DRAWS if less <= NARROW else 1)
    own = Candidate("own", clone(auto.map_))
    errors = [float(np.mean([drawn(one, less, rows, K, draw) for draw in draws])) for one in (own, *others)]
    numbers |= {"own": errors[0], "any": min(errors)}
    print(f"{name}, {kernel}, {target}: {auto.pilot_.chosen.map}, {numbers}", file=sys.stderr, flush=True)
    return numbers


def least_error(kernel: mercer.kernels.Kernel, trials: Any, rows: Parts, K: np.ndarray, seed: int) -> float:
    """The least error within the budget, of landmarks and of the other map that came nearest.

    Landmarks are two thirds of the rows at most; the others are for verification.
    """
    count, most = len(rows.fit), operations_in(SEARCH_SECONDS)
    other = min((one for one in trials if "Nystrom" not in one.map), key=lambda one: one.error)
    errors = []
    for one in candidates_for(kernel):
        if one.map.has_landmarks or one.name == other.map:
            width = count - count // 3 if one.map.has_landmarks else WIDEST_CHOSEN
            while work_operations(one.map, count, rows.fit.shape[1], width) > most:
                width = int(0.95 * width)
            errors.append(drawn(one, width, rows, K, seed))
    return min(errors)


def met_table(found: Found) -> str:
    lines = []
    for target in (*TARGETS, ""):
        here = [(cell, one) for (cell, _), one in found.items() if cell.endswith(f", {target}") or not target]
        made = [one for _, one in here if not one["refused"]]
        refused = [cell for cell, one in here if one["refused"]]
        right = [one["error"] > float(cell.split(", ")[2]) for cell, one in here if one["refused"] and "error" in one]
        goals = [float(cell.split(", ")[2]) for cell, one in here if not one["refused"]]
        if not made:
            continue
        shares = {
            key: 100.0 * np.mean([(one[key] > goal) == (key != "error") for one, goal in zip(made, goals, strict=True)])
            for key in ("error", "own", "any")
        }
        ratio = [one["error"] / goal for one, goal in zip(made, goals, strict=True)]
        seconds = [one["seconds"] for one in made]
        lines.append(
            (
                target or "all",
                len(made),
                *(f"{shares[key]:.1f}" for key in ("error", "own", "any")),
                f"{np.median(ratio):.2f}, {max(ratio):.2f}",
                f"{np.median(seconds):.1f}, {max(seconds):.1f}",
                f"{len(refused)}; {sum(right)} of {len(right)}",
            )
        )
    head = (
        "target",
        "runs",
        "error below target, %",
        "D at most 1.5 times what this map needs, %",
        "... what any map needs, %",
        "error / target: median, largest",
        "s: median, largest",
        "refused; rightly",
    )
    return markdown(head, lines)


# -- coverage ----------------------------------------------------------------------------------------------------------


def cover(tiny: bool) -> Figure:
    grid = (("digits",), ("gaussian",)) if tiny else (SETS, tuple(KERNELS))
    cells = [Cell(name, partial(covered, *name.split(", "), tiny)) for name in named(*grid, ("rules", "nystrom"))]
    return Figure("cover", tuple(cells), cover_table)


def covered(name: str, kernel: str, which: str, tiny: bool, seed: int, _: Found) -> Numbers:
    """Return how often the intervals of certificates contain the true values."""
    rows = parts(name, kernel, seed, TINY_ROWS if tiny else ROWS, 2 * TINY_ROWS if tiny else POOL)
    resolved = mercer.kernels.parse(KERNELS[kernel]).resolve(rows.fit, seed)
    made = mercer.feature_map(resolved) if which == "rules" else mercer.Nystrom(resolved)
    map = made.set_params(n_components=COVER_WIDTH, random_state=seed).fit(rows.fit)
    Z, K = plain_features(map, rows.judged), resolved(rows.judged)
    estimates = np.asarray(Z @ Z.T)
    count = len(K)
    true = {
        "relative Frobenius": GramErrors.of(Z, K).relative(count, 0.95).value,
        "spectral": largest(estimates - K) / largest(K),
    }
    apart = np.abs((estimates - K)[np.triu_indices(count, 1)])
    hits = dict.fromkeys(INTERVALS, 0)
    for run in range(4 if tiny else SAMPLES):
        sampled = np.random.default_rng([seed, run]).permutation(count)[: int(SAMPLED * count)]
        told = mercer.certify(map, rows.judged[sampled], rows.targets[sampled], n_rows=count, random_state=run)
        true["predictions"] = changed(estimates, K, rows.targets, sampled, run)
        given = (told.relative_frobenius, told.spectral, told.predictions.relative)
        for key, interval in zip(INTERVALS, given, strict=False):
            hits[key] += interval.low <= true[key] <= interval.high
        hits["maximum"] += (apart > told.maximum.bound).mean() <= told.maximum.share
    return {**hits, "runs": run + 1}


def largest(M: np.ndarray) -> float:
    """The spectral norm of a symmetric matrix."""
    return float(abs(eigsh(M, k=1, which="LM", return_eigenvectors=False, v0=np.ones(len(M)))[0]))


def changed(estimates: np.ndarray, K: np.ndarray, y: Any, sampled: np.ndarray, run: int) -> float:
    """Return how much features change the predictions of all rows that the certificate does not learn from."""
    order = Stream(run, "certify").child("order").permutation(len(sampled))
    learned = sampled[order][: len(sampled) // 2]
    others = np.setdiff1d(np.arange(len(K)), learned)
    _, targets = codes_of_targets(y[sampled[order]])
    alpha = ALPHA * float(K[sampled, sampled].mean()) * np.eye(len(learned))
    exact, approximate = (
        M[np.ix_(others, learned)] @ solve(M[np.ix_(learned, learned)] + alpha, targets[: len(learned)], assume_a="pos")
        for M in (K, estimates)
    )
    return float(np.sqrt(((approximate - exact) ** 2).sum() / (exact**2).sum()))


def cover_table(found: Found) -> str:
    lines = []
    for key in INTERVALS:
        runs, hits = (sum(one[field] for one in found.values()) for field in ("runs", key))
        worst = min(found, key=lambda cell: found[cell][key] / found[cell]["runs"])
        least = found[worst][key] / found[worst]["runs"]
        lines.append((key, int(runs), f"{100.0 * hits / runs:.1f}", f"{100.0 * least:.0f} ({worst[0]})"))
    return markdown(("interval", "runs", "covers, %", "lowest cell, %"), lines)


# -- regret ------------------------------------------------------------------------------------------------------------


def regret(tiny: bool) -> Figure:
    grid = (("digits",), ("gaussian",), WIDTHS[:1]) if tiny else (SETS, tuple(KERNELS), WIDTHS)
    cells = [
        Cell(name, partial(regretted, *name.split(", "), tiny), seeds)
        for name, seeds in some_of(named(*grid), 1 if tiny else CHOICES)
    ]
    return Figure("regret", tuple(cells), regret_table)


def regretted(name: str, kernel: str, width: str, tiny: bool, seed: int, _: Found) -> Numbers:
    """The error of the chosen map divided by the error of the best one, at a given width."""
    count, D = TINY_ROWS if tiny else ROWS, int(width)
    rows = parts(name, kernel, seed, count, count // 2)
    auto = mercer.AutoMap(KERNELS[kernel], n_components=D, random_state=seed).fit(rows.fit)
    K = auto.kernel_(rows.judged)
    served = {one.name: one for one in candidates_for(auto.kernel_)}
    draws = {name: [drawn(one, D, rows, K, draw) for draw in range(DRAWS)] for name, one in served.items()}
    best = min(np.mean(values) for values in draws.values())
    for name, values in draws.items():
        if D <= NARROW and np.mean(values) <= 1.5 * best:  # narrow maps vary a lot from draw to draw
            values += [drawn(served[name], D, rows, K, draw) for draw in range(DRAWS, MORE_DRAWS)]
    errors = {name: float(np.mean(values)) for name, values in draws.items()}
    taken = auto.pilot_.chosen.map
    print(f"{name}, {kernel}, {width}: {taken} of {errors}", file=sys.stderr, flush=True)
    return {"taken": errors[taken], "best": min(errors.values())}


def regret_table(found: Found) -> str:
    lines = []
    for width in (*WIDTHS, ""):
        here = [one["taken"] / one["best"] for (cell, _), one in found.items() if not width or cell.endswith(width)]
        if here:
            share = 100.0 * np.mean(np.array(here) <= 1.1)
            lines.append((width or "all", len(here), f"{share:.1f}", f"{np.median(here):.3f}", f"{max(here):.2f}"))
    return markdown(("width", "cells", "regret at most 1.1, %", "median", "largest"), lines)


FIGURES = {"met": met, "cover": cover, "regret": regret}


def main(given: list[str] | None = None) -> None:
    command(FIGURES, __doc__, __file__, given, threads=1, is_apart=False)


if __name__ == "__main__":
    main()
