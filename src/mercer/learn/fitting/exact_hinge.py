"""The exact kernel machine, in which every row may have a coefficient, found from the rows near the margin.

With the squared hinge, rows beyond the margin have no coefficient. A machine on landmarks shows which rows are near the
margin; their kernel matrix is kept in memory, and the exact machine on them is found. It is the exact machine on all
rows if the others are beyond its margin: all of them are checked, those that are not beyond it are added, and the
machine is found again, until there are none. Kernel values of the other rows are computed along the way and never
stored.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ..._tiles import TILE
from ...maps import FeatureMap
from ..left_out.decision_values import coordinates, left_out_each
from ..losses import SquaredHinge
from ..solvers.active_rows import USUAL_STEPS, Margins, MarginSolution, step_cost
from ..solvers.choice import CANDIDATE_LANDMARKS
from ..solvers.landmarks import LandmarkNewton
from ..solvers.newton import Report
from .exact_rows import ExactRows
from .landmark_fit import LandmarkFit

Matrix = NDArray[np.float64]
RowNumbers = NDArray[np.int64]

CANDIDATE_TOL = 0.01
NEAR = 1e-3
"""A row that is within the margin by at most this value counts as beyond it."""
WATCHED = 1.25
"""Rows whose margin is smaller are checked in every round, all others in the first and the last."""
ROUNDS = 20
FEW_ROWS = 4096
"""Up to this number of rows, kernel values are always in float64: float32 has too few digits for a large C."""
LEFT_OUT_STEPS = 2
"""The number of Newton steps for the machine without the left-out rows."""


class ExactMachine(NamedTuple):
    """The map of kernel values at the rows with a coefficient, coefficients with the intercept last, and the report.

    ``left_out`` has decision values of some rows by a machine that has not learned from them.
    """

    map: FeatureMap
    coefficients: Matrix
    report: Report
    left_out: Matrix


class ExactFit(NamedTuple):
    """The search for the exact machine of one fit; :meth:`of` chooses the precision of kernel values.

    Parameters
    ----------
    fit : LandmarkFit
        Provides rows, seed and threads.
    asked : FeatureMap
        Nystrom with the kernel of the machine, not fitted.
    loss : SquaredHinge
    """

    fit: LandmarkFit
    asked: FeatureMap
    loss: SquaredHinge

    @classmethod
    def of(cls, fit: LandmarkFit, asked: FeatureMap, loss: SquaredHinge) -> ExactFit:
        """Return the fit, with kernel values in float64 if there are few rows."""
        few = fit.rows.n_rows <= FEW_ROWS and fit.rows.dtype != np.float64
        return cls(fit._replace(rows=fit.rows.in_float64()) if few else fit, asked, loss)

    def minimise(self, tol: float, max_iter: int, left_out: RowNumbers) -> ExactMachine:
        """Return the machine with the smallest loss, and decision values of ``left_out`` rows from one without them."""
        rows = self.fit.rows
        signs = self.loss.signs
        counted = self.loss.weight > 0.0
        if rows.n_rows <= CANDIDATE_LANDMARKS:  # all of them are candidates
            values, chosen = np.zeros(signs.shape, dtype=rows.dtype), np.flatnonzero(counted)
        else:
            values = self.candidate_values(max_iter)
            chosen = np.flatnonzero(((signs * values).min(axis=1) < 1.0) & counted)
        if len(chosen) == 0:
            chosen = np.flatnonzero(counted)[:TILE]
        gram = self.gram(chosen, np.zeros((0, 0), dtype=rows.dtype))
        alpha, offset = np.zeros((len(chosen), self.loss.n_columns)), np.zeros(self.loss.n_columns)
        first = signs[chosen] * values[chosen] < 1.0
        expected = USUAL_STEPS * step_cost(len(chosen), np.count_nonzero(first, axis=0))
        active: NDArray[np.bool_] | None = first
        n_iter, objectives, operations = 0, [], 0.0
        watched = np.flatnonzero(counted)
        for _ in range(ROUNDS):
            found = self.margins(gram, chosen, self.loss.weight).minimise(alpha, offset, active, tol, max_iter)
            alpha, offset, active = found.alpha, found.offset, None
            n_iter, operations = n_iter + found.n_iter, operations + found.operations
            objectives.append(float(found.objectives.sum()))
            further = self.violators(watched, chosen, found, values)
            if len(further) == 0 and len(watched) < np.count_nonzero(counted):
                further = self.violators(np.flatnonzero(counted), chosen, found, values)
            if len(further) == 0:
                break
            # From here on, rows far beyond the margin are checked only once more, at the end.
            watched = np.flatnonzero(((signs * values).min(axis=1) < WATCHED) & counted)
            chosen = np.concatenate([chosen, further])
            gram = self.gram(chosen, gram)
            alpha = np.vstack([alpha, np.zeros((len(further), len(offset)))])
        gap = float((found.gaps * found.objectives).sum() / max(objectives[-1], np.finfo(np.float64).tiny))
        converged = gap <= max(tol, float(np.finfo(rows.dtype).eps)) and len(further) == 0
        ended = converged, n_iter, len(objectives), tuple(objectives), min(gap, 1.0)
        report = Report(*ended, "exact", expected, operations)
        if len(left_out):
            weight = self.loss.weight.copy()
            weight[left_out] = 0.0
            without = self.margins(gram, chosen, weight).minimise(alpha, offset, None, tol, LEFT_OUT_STEPS)
            values[chosen] = without.values
        used = np.flatnonzero(found.alpha.any(axis=1))
        used = used if len(used) else np.arange(1)
        intercepts = found.offset[None] if self.fit.intercept else np.zeros((0, len(offset)))
        coefficients = np.vstack([found.alpha[used], intercepts])
        return ExactMachine(self.map_at(chosen[used]), coefficients, report, values[left_out].astype(np.float64))

    def each_left_out(self, machine: ExactMachine, share: Matrix) -> Matrix:
        """Return decision values of all rows, which must be few, each left out by a Newton step.

        ``share`` is the part of a row's weight that is left out.
        """
        whole = self.map_at(np.arange(self.fit.rows.n_rows))
        gram = self.exact_rows.gram(whole, np.zeros((0, 0)), np.float64, "rows")
        places = {int(row): place for place, row in enumerate(machine.map.component_indices_)}
        used = np.array([row in places for row in range(len(gram))])
        beta = np.zeros((len(gram), self.loss.n_columns))
        beta[used] = machine.coefficients[[places[row] for row in np.flatnonzero(used).tolist()]]
        offset = machine.coefficients[len(places) :].sum(axis=0)
        return left_out_each(coordinates(gram), gram @ beta + offset, self.loss, share, self.fit.intercept)

    def margins(self, gram: NDArray[Any], chosen: RowNumbers, weight: Matrix) -> Margins:
        """Return the problem on the chosen rows, with these weights of all rows."""
        signs = self.loss.signs[chosen]
        return Margins(gram, signs, weight[chosen], self.fit.intercept, self.fit.n_jobs)

    def candidate_values(self, max_iter: int) -> NDArray[Any]:
        """Return decision values of all rows by a machine on landmarks."""
        rows = self.fit.rows
        asked = clone(self.asked).set_params(n_components=min(CANDIDATE_LANDMARKS, rows.n_rows))

        def make() -> tuple[NDArray[Any], ...]:
            _, design, start = self.fit.grown(asked, self.loss)
            W = LandmarkNewton(design, self.loss).minimise(CANDIDATE_TOL, max_iter, start).W
            return (design.products(W, "decision values"),)

        checkpoint = rows.passes.context.checkpoint
        (values,) = make() if checkpoint is None else checkpoint.settled("candidates", make)
        return values

    @property
    def exact_rows(self) -> ExactRows:
        """The rows with a coefficient."""
        return ExactRows(self.fit.rows, self.fit.seed, self.asked, self.fit.n_jobs)

    def map_at(self, numbers: RowNumbers) -> FeatureMap:
        """Return the map of kernel values at these rows."""
        return self.exact_rows.map_at(numbers)

    def gram(self, numbers: RowNumbers, known: NDArray[Any]) -> NDArray[Any]:
        """Return the kernel matrix of rows, in their precision; the block of the first rows is known already."""
        return self.exact_rows.gram(self.map_at(numbers), known, self.fit.rows.dtype, "rows near the margin")

    def violators(
        self, watched: RowNumbers, chosen: RowNumbers, found: MarginSolution, values: NDArray[Any]
    ) -> RowNumbers:
        """Return the watched rows within the margin that are not chosen; decision values are updated."""
        values[chosen] = found.values
        used, others = np.flatnonzero(found.alpha.any(axis=1)), np.setdiff1d(watched, chosen)
        if len(others) == 0:
            return others
        if len(used) == 0:
            values[others] = found.offset
        else:
            map, rows = self.map_at(chosen[used]), self.fit.rows
            features = self.fit.place.streamed(rows, map, True, self.fit.n_jobs)
            values[others] = features.products(np.vstack([found.alpha[used], found.offset[None]]), "margins", others)
        margins = (self.loss.signs[others] * values[others]).min(axis=1)
        return others[margins < 1.0 - NEAR]
