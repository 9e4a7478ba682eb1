"""LIBLINEAR on features in memory, as the papers used it.

If there are at least as many rows as features, it uses Newton's method with a trust region on the primal problem; with
fewer rows it minimises the squared hinge by coordinates of the dual problem.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from ..._memory import as_bytes, physical_memory
from ..argument_types import MemoryArgument
from ..estimates.memory_estimates import Extent
from ..estimates.time_forecast import DOUBLE, USUAL_PRODUCTS, USUAL_STEPS
from ..features.feature_matrix import HeldFeatures
from ..losses import loss_named
from ..protocols import LinearClassifier
from .conjugate_gradients import pass_cost
from .newton import Report

Matrix = NDArray[np.float64]

DUAL_ITERATIONS = 100.0
"""The number of iterations that typical problems took by coordinates of the dual problem."""


def check_copies(extent: Extent, memory: MemoryArgument) -> None:
    """Raise a MemoryError if features and LIBLINEAR's copies of them need more memory than is allowed, or available."""
    needed = extent.liblinear()
    most = physical_memory() if memory is None else as_bytes(memory)
    if most is not None and needed > most:
        allowed = "this machine has" if memory is None else "memory allows"
        raise MemoryError(
            f"solver='liblinear' keeps all features and a copy in memory: {extent.n_rows} x {extent.width} need "
            f"{needed / 2**30:.1f} GiB, but {allowed} {most / 2**30:.1f} GiB; solver='newton' can compute them again "
            "in every pass"
        )


def liblinear(
    model: LinearClassifier, design: HeldFeatures, codes: NDArray[np.int64], weight: Matrix
) -> tuple[Matrix, Report]:
    """Return the coefficients, one column per class, with the intercept as the last row, and LIBLINEAR's report."""
    shared = {"C": model.C, "fit_intercept": bool(model.fit_intercept), "max_iter": max(1000, model.max_iter)}
    columns = [1] if codes.max() == 1 else range(int(codes.max()) + 1)
    found, steps, ends = [], [], []
    n, D = design.n_rows, design.n_features
    for column in columns:  # one class against the rest
        machine: Any = (
            LinearSVC(dual=is_dual(n, D), random_state=0, **shared)
            if model.loss == "squared_hinge"
            else LogisticRegression(solver="liblinear", random_state=0, **shared)
        )
        machine.fit(design.Z, codes == column, weight)
        found.append(np.append(machine.coef_[0], machine.intercept_).astype(np.float64))
        steps.append(int(np.max(machine.n_iter_)))
        ends.append(end_of(model, design, codes == column, weight, found[-1]))
    objectives, bounds = np.array(ends).T
    gap = float((bounds / np.maximum(objectives, np.finfo(np.float64).tiny)).max())
    converged = max(steps) < shared["max_iter"]
    dual = model.loss == "squared_hinge" and is_dual(n, D)
    counted = len(steps) * liblinear_cost(n, D, dual), sum(steps) * iteration_cost(n, D, dual)
    report = Report(converged, max(steps), 0, (float(objectives.sum()),), min(gap, 1.0), "liblinear", *counted)
    return np.stack(found, axis=1), report


def is_dual(n_rows: int, width: int) -> bool:
    """Whether the squared hinge is minimised by coordinates of the dual problem, as scikit-learn chooses."""
    return n_rows < width


def iteration_cost(n_rows: int, width: int, dual: bool) -> float:
    """Return the operations of one iteration, in float64.

    An iteration on the dual problem passes once through the rows, with two products for each. A Newton step has a
    gradient and inner steps of conjugate gradients with two products each. LIBLINEAR does not report their number, so
    the number for typical problems is assumed.
    """
    return DOUBLE * (1.0 if dual else 1.0 + USUAL_PRODUCTS) * pass_cost(n_rows, width, 1)


def liblinear_cost(n_rows: int, width: int, dual: bool = False) -> float:
    """Return the operations that one class against the rest is expected to take."""
    return (DUAL_ITERATIONS if dual else USUAL_STEPS) * iteration_cost(n_rows, width, dual)


def end_of(
    model: LinearClassifier, design: HeldFeatures, is_class: NDArray[np.bool_], weight: Matrix, W: Matrix
) -> tuple[float, float]:
    """Return the objective of one class against the rest, and an upper bound of its distance from the minimum.

    For LIBLINEAR the intercept is a coefficient like the others. Half the squared norm of the gradient is the bound.
    """
    loss = loss_named(model.loss, 2)(is_class.astype(np.int64), 2, weight).scaled(float(model.C))
    values = (design.Z @ W[:-1] + W[-1])[:, None]
    slopes = loss.slope(values).astype(np.float64)[:, 0]
    own = W if model.fit_intercept else W[:-1]
    pulls = design.Z.T @ slopes
    gradient = own + (np.append(pulls, slopes.sum()) if model.fit_intercept else pulls)
    return 0.5 * float(own @ own) + float(loss.value(values).sum()), 0.5 * float(gradient @ gradient)


def joined_reports(reports: Sequence[Report]) -> Report:
    """Return the report of all tasks, each of which LIBLINEAR has solved separately."""
    return Report(
        all(report.converged for report in reports),
        max(report.n_iter for report in reports),
        0,
        (sum(report.objectives[-1] for report in reports),),
        max(report.gap for report in reports),
        "liblinear",
        sum(report.expected for report in reports),
        sum(report.operations for report in reports),
    )
