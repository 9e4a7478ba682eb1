"""The fit of a loss of classes: its sum over tasks, its minimum, and what decision values say about probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..features.design import Design
from ..features.feature_matrix import HeldFeatures
from ..left_out.calibration import FORGOTTEN, SMALL, Calibration, chosen_rows, learned, learned_sharpness
from ..left_out.decision_values import left_out_each
from ..losses import Loss, SideBySide, loss_named
from ..protocols import LinearClassifier
from ..solvers.conjugate_gradients import solver_for
from ..solvers.landmarks import LandmarkFeatures
from ..solvers.liblinear import joined_reports, liblinear
from ..solvers.newton import Newton, Report
from ..targets.labels import Codes, Tasks
from .loss_fit import features_of_few, minimised
from .penalty_path import unkept

Matrix = NDArray[np.float64]

ADVICE = "raise max_iter or tol, or lower C"


def class_loss(model: LinearClassifier, codes: Codes, weights: list[Matrix]) -> Loss:
    """Return the loss for C = 1, from the class of every row in every task, and its weight there."""
    tasks = zip(Tasks(model.classes_).classes, codes.T, weights, strict=True)
    losses = [loss_named(model.loss, len(classes))(mine, len(classes), weight) for classes, mine, weight in tasks]
    return SideBySide(losses) if len(losses) > 1 else losses[0]


def least_loss(
    model: LinearClassifier, design: Design, loss: Loss, codes: Codes, weights: list[Matrix], start: Matrix | None
) -> tuple[Matrix, Report, Newton | None]:
    """Return the coefficients with the smallest loss, how they were found, and the solver; None for LIBLINEAR."""
    if isinstance(design, HeldFeatures) and model.solver == "liblinear":
        pairs = zip(codes.T, weights, strict=True)
        found, reports = zip(*(liblinear(model, design, mine, weight) for mine, weight in pairs), strict=True)
        return np.hstack(found), joined_reports(reports), None
    solution, solver = minimised(model, design, loss, start, ADVICE)
    return solution.W, solution.report, solver


def calibrated(
    model: LinearClassifier,
    design: Design,
    W: Matrix,
    solver: Newton | None,
    loss: Loss,
    codes: Codes,
    weights: list[Matrix],
    weight: Matrix,
) -> Calibration:
    """Return how decision values become probabilities, learned from the decision values of left-out rows.

    If there are few rows, each is left out by itself. Otherwise some are left out all at once: a few steps from the
    solution bring the objective without them close to its minimum.
    """
    tasks, found = Tasks(model.classes_), learned_sharpness if model.loss == "logistic" else learned
    if design.n_rows <= SMALL:
        with unkept(design):
            F = design.products(W, "decision values")
        Z = features_of_few(design)
        share = 1.0 / np.maximum(weight, 1.0)
        values = left_out_each(Z, F, loss, share, bool(model.fit_intercept))
        counted = np.flatnonzero(weight > 0.0)
        counts = [one[counted] for one in weights]
        method = "leave-one-out" if model.loss == "squared" else "approximate leave-one-out"
        return found(method, tasks, values[counted], codes[counted], counts)
    rows, kept = chosen_rows(model.map_.seed_, weight), np.ones(design.n_rows)
    kept[rows] = 0.0
    if model.loss == "logistic":  # its sharpness depends on the penalty: the other rows take over their weight
        kept *= float(weight.sum()) / max(float(kept @ weight), 1e-300)
    others = loss.scaled(kept)
    again = solver_for(design, others) if solver is None else solver.for_loss(others)
    enough = max(float(model.tol), FORGOTTEN * len(rows) / design.n_rows)
    # On landmarks every step is a full Newton step, and the first one removes almost all influence of these rows.
    steps = 1 if isinstance(design, LandmarkFeatures) else int(model.max_iter)
    with unkept(design):
        forgotten = again.minimise(enough, steps, W).W
        values = design.products(forgotten, "decision values")[rows].astype(np.float64)
    return found("left-out rows", tasks, values, codes[rows], [one[rows] for one in weights])
