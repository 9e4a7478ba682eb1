"""How a classifier comes to coefficients where sums do not suffice: features, held or not, and their least loss."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from .feature_matrix import Design, HeldDesign, StreamedDesign
from .labels import Codes, Tasks
from .losses import SideBySide, loss_named
from .memory_estimates import Extent, check_after, fit_memory
from .prepared_rows import PreparedRows
from .protocols import LinearClassifier
from .solvers.conjugate_gradients import solver_for
from .solvers.liblinear import check_copies, liblinear
from .solvers.newton import Report

Matrix = NDArray[np.float64]


def class_design(model: LinearClassifier, rows: PreparedRows) -> Design:
    """The features, held where they fit; LIBLINEAR takes no others."""
    width, itemsize = model.map_.n_components_, rows.dtype.itemsize
    arguments = rows, model.features_of, width, bool(model.fit_intercept), model.n_jobs
    extent = Extent(width, rows.n_rows, Tasks(model.classes_).columns[-1].stop, itemsize, model.n_jobs)
    memory = rows.passes.context.memory
    if model.solver == "liblinear":
        check_copies(extent, model.memory)
    else:
        check_after(model, extent, memory)
    return StreamedDesign(*arguments) if fit_memory(model, extent, memory).streamed else HeldDesign.of(*arguments)


def least_loss(
    model: LinearClassifier, design: Design, codes: Codes, weights: list[Matrix], start: Matrix | None
) -> tuple[Matrix, Report | None]:
    """Coefficients from the class of every row in every task, and what it counts there; and how they were found."""
    tasks = list(zip(Tasks(model.classes_).classes, codes.T, weights, strict=True))
    if isinstance(design, HeldDesign) and model.solver == "liblinear":
        return np.hstack([liblinear(model, design, mine, weight) for _, mine, weight in tasks]), None
    losses = [
        loss_named(model.loss, len(classes))(mine, len(classes), float(model.C) * weight)
        for classes, mine, weight in tasks
    ]
    loss = SideBySide(losses) if len(losses) > 1 else losses[0]
    solution = solver_for(design, loss).minimise(float(model.tol), int(model.max_iter), start)
    report = solution.report
    if not report.converged:
        warnings.warn(
            f"after {report.n_iter} steps the objective may be {report.gap:.1g} of itself above the least one: "
            "raise max_iter or tol, or lower C",
            ConvergenceWarning,
            stacklevel=3,
        )
    return solution.W, report
