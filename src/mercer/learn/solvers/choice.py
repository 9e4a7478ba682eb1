"""The choice of the solver for a machine: made once, by arithmetic, from the size of the problem and never by time.

Costs are in operations of a product of large matrices in the precision of the rows, to which the constants at the head
of :mod:`mercer.learn.estimates.time_forecast` convert everything else. The numbers of steps of solvers are below.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..._memory import physical_memory
from ...kernels import Kernel
from ...maps import FeatureMap, Nystrom
from ..estimates.memory_estimates import Extent, known_width
from ..estimates.time_forecast import DECOMPOSITION, DOUBLE, FACTOR_COST, FEATURE_OPERATIONS, PRODUCT_COST
from ..features.design import Design
from ..features.feature_matrix import FeatureMatrix
from ..losses import Loss
from ..map_choice import expected_map, parsed
from ..protocols import LinearMachine
from .active_rows import USUAL_STEPS as MARGIN_STEPS
from .active_rows import step_cost as margin_step_cost
from .conjugate_gradients import MARGIN, descent_cost, factor_cost, is_cheaper, newton_cost, start_curvature
from .landmarks import LandmarkFeatures
from .newton import Report
from .wide_newton import wide_cost
from .wide_ridge import is_near, wide_ridge_cost

LEAST_LANDMARKS = 512
"""With fewer landmarks, whitened features cost almost nothing, and their solver ends with a bound on the distance."""
LANDMARK_PASSES, ACTIVE = 70.0, 0.4
"""The passes that typical problems took on landmarks, and the share of rows that are active in the end.

Seven sets with the C that a pilot chose took 20 passes (C of about 1) to 240 (nearly separable classes).
"""
PASSES_FOR_ONE, HESSIANS = 50.0, 4.0
"""Passes on landmarks with C = 1, and the Hessians of every class that replace more passes than they cost.

Eight sets took 0.4 to 1.5 times as many passes as that times the square root of C, for C from 0.4 to 63.
"""
LEAST_WIDTH = 16384
"""With fewer features, second moments are computed if they fit: their solver ends with a bound on the distance."""
WIDE_PASSES = 60.0
"""The number of passes that typical problems took without second moments."""
CANDIDATE_LANDMARKS = 1024
"""The number of landmarks of the machine that finds the rows of an exact one near the margin."""
MOST_ROWS = 2.0
"""The largest number of rows per feature for which an exact machine may replace a map: predictions take longer."""
LEAST_SHARE = 1e-6
"""The smallest alpha, as a share of k(x, x), for which a kernel matrix is factored unless requested.

With smaller values the result for nearly equal rows depends on rounding, which solvers on features cut off.
"""
WITH_CORNERS = ("quantile", "epsilon_insensitive")
"""Losses that are smoothed less and less, and whose solver on landmarks has a factor for every column."""


class SolverCost(NamedTuple):
    """The solver that a fit has used, and its cost, in operations of a product of large matrices.

    Attributes
    ----------
    name : str
        "sums" of second moments, "newton", "conjugate gradients", "landmarks", "wide", "exact" or "liblinear".
    expected : float
        The expected cost, on which the choice of the solver was based; for a path of penalties, the cost of all its
        fits if each started from the beginning. For the exact machine, the expectation from its candidates, without
        kernel values. NaN in models from files of versions that did not record it.
    operations : float
        The cost by the passes over the rows that were made. For "liblinear", which reports only its iterations, by
        these and the passes that each takes: see :func:`mercer.learn.solvers.liblinear.iteration_cost`.
    """

    name: str
    expected: float
    operations: float

    @classmethod
    def of_exact_squares(cls, n_rows: int, n_factors: int) -> SolverCost:
        """Return the cost of least squares with a coefficient for every row, which is known beforehand."""
        cost = exact_squares_cost(n_rows, n_factors)
        return cls("exact", cost, cost)

    @classmethod
    def of(cls, report: Report) -> SolverCost:
        """Return the cost of an iterative solver."""
        known = report.operations > 0.0
        return cls(report.method, *((report.expected, report.operations) if known else (math.nan, math.nan)))


def has_landmark_values(map: FeatureMap) -> bool:
    """Whether plain kernel values at its landmarks can replace a map that is not fitted."""
    return isinstance(map, Nystrom) and map.rank is None and isinstance(parsed(map.kernel), Kernel)


def has_many_landmarks(map: FeatureMap, n_rows: int, width: int) -> bool:
    """Whether a map has enough landmarks for plain kernel values to pay off, and fewer than rows.

    It has at most ``width``, and fewer if fewer are given, such as all distinct rows of a table of a few categories.
    """
    if not has_landmark_values(map):
        return False
    count = width if isinstance(map.landmarks, str) else min(width, np.shape(map.landmarks)[0])
    return LEAST_LANDMARKS <= count < n_rows


def check_landmark_values(map: FeatureMap) -> None:
    """Refuse a map without such landmarks."""
    if not has_landmark_values(map):
        raise ValueError(
            "solver='landmarks' requires Nystrom without a rank and with a kernel of mercer.kernels, "
            f"found {type(map).__name__} with {map.kernel!r}"
        )


def check_exact_values(map: FeatureMap) -> None:
    """Refuse a kernel whose values at all rows cannot be computed."""
    if not has_landmark_values(map):
        raise ValueError(f"map='exact' requires a kernel of mercer.kernels, found {map.kernel!r}")


def whitened_cost(n_rows: int, width: int, n_columns: int, sums: bool = False) -> float:
    """Return the operations of Newton's method, or of sums, on whitened landmarks, without kernel values."""
    n, D = float(n_rows), float(width)
    whitening = DECOMPOSITION * D**3 + DOUBLE * 2.0 * n * D**2
    return whitening + (factor_cost(n_rows, width) if sums else newton_cost(n_rows, width, n_columns))


def landmark_cost(n_rows: int, width: int, n_columns: int, passes: float = LANDMARK_PASSES) -> float:
    """Return the operations of Newton's method on kernel values at landmarks, without the values themselves.

    Every product with a row's values comes with a solve by the factor of the landmarks' own kernel matrix, and one by
    the factor of the preconditioner.
    """
    n, D, k = float(n_rows), float(width), float(n_columns)
    factors = (DOUBLE + 2.0) * D**3 / 3.0
    return factors + passes * 4.0 * PRODUCT_COST * (n + 2.0 * D) * D * k


def penalised_landmark_cost(n_rows: int, width: int, n_columns: int, alpha: float) -> float:
    """Return the operations of that method if the penalty is known: the smaller it is, the more steps are needed.

    The number of conjugate gradient steps grows with the square root of the condition number, which is proportional to
    C, until Hessians are computed.

    Parameters
    ----------
    n_rows, width, n_columns : int
    alpha : float
        The ridge penalty, 1 / (2 C).
    """
    n, D = float(n_rows), float(width)
    factors, passes = landmark_cost(n_rows, width, n_columns, 0.0), PASSES_FOR_ONE * math.sqrt(0.5 / alpha)
    hessians = HESSIANS * n_columns * (ACTIVE * n * D**2 + DOUBLE * D**3 / 3.0)
    return min(landmark_cost(n_rows, width, n_columns, passes), factors + hessians)


def sums_cost(extent: Extent) -> float:
    """Return the operations of second moments of all rows, and of their solution."""
    features = FEATURE_OPERATIONS * extent.n_rows * extent.width
    return features + factor_cost(extent.n_rows, extent.width)


def path_cost(n_rows: int, width: int, second_pass: bool) -> float:
    """Return the operations of second moments, their decomposition, and perhaps of a second pass over all rows."""
    extent, again = Extent(width, n_rows), FEATURE_OPERATIONS * n_rows * width + float(n_rows) * width**2
    return sums_cost(extent) + DECOMPOSITION * float(width) ** 3 + (again if second_pass else 0.0)


def exact_squares_cost(n_rows: int, n_factors: int) -> float:
    """Return the operations of least squares with a coefficient for every row.

    Parameters
    ----------
    n_rows : int
        The number of rows.
    n_factors : int
        The number of factors of the kernel matrix, in float64, and of diagonals of their inverses, with which rows are
        left out.

    Returns
    -------
    float
        The number of operations.
    """
    n = float(n_rows)
    return FEATURE_OPERATIONS * n**2 + n_factors * FACTOR_COST * DOUBLE * n**3 / 3.0


def exact_margins_cost(n_rows: int, n_columns: int) -> float:
    """Return the operations of the exact machine of the squared hinge.

    It needs at most the kernel values of all rows, a machine on landmarks, and steps with a factor for the active rows
    of every column.
    """
    active = np.full(n_columns, FACTOR_COST ** (1.0 / 3.0) * ACTIVE * n_rows)
    candidates = landmark_cost(n_rows, min(CANDIDATE_LANDMARKS, n_rows), n_columns)
    return FEATURE_OPERATIONS * float(n_rows) ** 2 + candidates + MARGIN_STEPS * margin_step_cost(n_rows, active)


def least_cost(extent: Extent) -> float:
    """Return the operations of the cheapest solver with second moments, for rows of equal initial weight."""
    size = extent.n_rows, extent.width, extent.columns
    return min(newton_cost(*size), descent_cost(*size, 1.0))


def is_wide(extent: Extent, squared: bool, memory: int | None) -> bool:
    """Whether to use a solver without second moments: if they do not fit in memory, or take far longer.

    Parameters
    ----------
    extent : Extent
    squared : bool
        Whether the loss is the squared loss.
    memory : int or None
        The largest number of bytes that it may take; None means the memory of the machine.
    """
    most = physical_memory() if memory is None else memory
    extent = extent._replace(states_apart=False)  # workers without them learn the same model
    if most is not None and extent.wide(squared) > most:
        return False
    usual_bytes = extent.sums(copies=3) if squared else extent.newton()
    if most is not None and usual_bytes > most:
        return True
    usual_cost = sums_cost(extent) if squared else least_cost(extent)
    return extent.width >= LEAST_WIDTH and MARGIN * wide_solver_cost(extent, squared) < usual_cost


def wide_solver_cost(extent: Extent, squared: bool) -> float:
    """Return the operations that the solver without second moments is expected to take."""
    size = extent.n_rows, extent.width, extent.columns
    return wide_ridge_cost(*size) if squared else wide_cost(*size, WIDE_PASSES)


def expected_cost(design: Design, loss: Loss) -> float:
    """Return the operations that the solver for this design is expected to take."""
    size = design.n_rows, design.n_features, loss.n_columns
    if isinstance(design, LandmarkFeatures):
        return landmark_cost(*size)
    if design.most_sample_bytes is not None:
        assert isinstance(design, FeatureMatrix)
        extent = Extent(design.n_features, design.n_rows, loss.n_columns)
        return wide_solver_cost(extent, is_near(design, loss))
    curvature = start_curvature(design, loss)
    return descent_cost(*size, curvature) if is_cheaper(*size, curvature) else newton_cost(*size)


def takes_landmarks(map: FeatureMap, n_rows: int, width: int, n_columns: int, sums: bool = False) -> bool:
    """Whether kernel values at landmarks are cheaper for this map; ``sums`` if the alternative works by sums."""
    if not has_many_landmarks(map, n_rows, width):
        return False
    return landmark_cost(n_rows, width, n_columns) < whitened_cost(n_rows, width, n_columns, sums)


# -- what a machine takes ----------------------------------------------------------------------------------------------


def works_on_landmarks(model: LinearMachine, map: FeatureMap, n_rows: int) -> bool:
    """Whether a machine uses kernel values at the landmarks of this map, without whitened features."""
    if model.solver not in ("auto", "landmarks") or not model.may_iterate:
        return False
    if model.solver == "landmarks":
        check_landmark_values(map)
        return True
    return takes_landmarks(map, n_rows, known_width(model), model.n_columns, model.loss == "squared")


def cost_on_map(model: LinearMachine, map: FeatureMap, extent: Extent) -> float:
    """Return the operations of the machine that is used for this map, which is not fitted."""
    n_rows, width, squared = extent.n_rows, extent.width, model.loss == "squared"
    if works_on_landmarks(model, map, n_rows):
        return landmark_cost(n_rows, width, extent.columns)
    if map.has_landmarks:
        whitening = DECOMPOSITION * float(width) ** 3 + DOUBLE * 2.0 * n_rows * float(width) ** 2
    else:
        whitening = 0.0
    if not squared:
        return whitening + FEATURE_OPERATIONS * n_rows * width + least_cost(extent)
    return whitening + (sums_cost(extent) if model.has_one_penalty else path_cost(n_rows, width, second_pass=True))


def is_cheaper_exactly(
    model: LinearMachine, extent: Extent, n_factors: int, least_alpha: float, memory: int | None
) -> bool:
    """Whether the exact machine costs no more than the one on the map that "auto" would use.

    The map only approximates the kernel, so the exact machine is then better in every respect but one: it keeps rows
    instead of features, which is why at most ``MOST_ROWS`` rows per feature are allowed.

    Parameters
    ----------
    model : LinearMachine
        The learner, whose arguments are settled except for the map.
    extent : Extent
        How large its fit is on the map.
    n_factors : int
        The number of factors for least squares; see :func:`exact_squares_cost`.
    least_alpha : float
        The smallest penalty relative to squared errors; infinity if it is chosen from values that suit the kernel
        matrix.
    memory : int or None
        The largest number of bytes that it may take; None means the memory of the machine.
    """
    map, squared = expected_map(model, extent.n_rows), model.loss == "squared"
    kernel = parsed(map.kernel)
    if not extent.width < extent.n_rows <= MOST_ROWS * extent.width or not isinstance(kernel, Kernel):
        return False
    if not kernel.is_rotation_invariant or least_alpha < LEAST_SHARE * float(kernel.amplitude):
        return False
    most = physical_memory() if memory is None else memory
    if most is not None and (extent.exact_ridge() if squared else extent.exact_margins()) > most:
        return False
    if squared:
        cost = exact_squares_cost(extent.n_rows, n_factors)
    else:
        cost = exact_margins_cost(extent.n_rows, extent.columns)
    return cost <= cost_on_map(model, map, extent)


def works_wide(model: LinearMachine, extent: Extent, memory: int | None) -> bool:
    """Whether a machine is trained without second moments.

    Parameters
    ----------
    model : LinearMachine
    extent : Extent
        The size of its fit.
    memory : int or None
        The largest number of bytes that it may take; None means the memory of the machine.
    """
    if model.solver == "wide":
        return True
    if model.solver != "auto" or not model.may_iterate or not extent.n_rows:
        return False
    squared = model.loss == "squared"
    if expected_map(model, extent.n_rows).has_landmarks or (squared and not model.has_one_penalty):
        return False
    return is_wide(extent._replace(columns=1) if squared else extent, squared, memory)
