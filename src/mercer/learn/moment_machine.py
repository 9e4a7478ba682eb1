"""Machines whose rows enter by sums alone: rows can be added, merged and taken back."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._checks import check_truth
from ..maps.array_layouts import floats
from .argument_types import WeightArgument
from .context import FitContext
from .machine import KernelMachine, row_stream
from .memory_estimates import Extent, check_after
from .penalty_path import GCV, HOLDOUT, LOO, held_out
from .prepared_rows import Chunk, PreparedRows
from .progress import Reporter
from .solvers.choice import SolverCost, path_cost, sums_cost
from .solvers.landmarks import LandmarkNewton
from .solvers.ridge import LeaveOneOut, Path
from .statistics import Centred, Moments
from .statistics.moments import SAFETY
from .time_forecast import Work, sums_work

Matrix = NDArray[np.float64]
Factor = tuple[Matrix, bool]
Watch = Callable[[NDArray[Any], Chunk], None]
"""Shown the features of every chunk of rows."""


def can_add_rows(model: Any) -> bool:
    """Whether sums are all that a machine needs of rows."""
    return bool(model.sums_suffice)


class Tried(NamedTuple):
    """Several alphas, and the mean squared error that each would have on new rows, one column per target."""

    path: Path
    alphas: Matrix
    scores: Matrix
    hits: dict[str, Matrix]
    """Where they were counted, the share of rows whose class each tells right."""


class AdditiveMachine(KernelMachine, ABC):
    """A machine that is solved from the moments of features and targets."""

    keep_statistics: bool
    statistics_: Moments | None

    @property
    @abstractmethod
    def sums_suffice(self) -> bool:
        """Whether sums are all that it needs of rows, as its arguments are."""

    fit_intercept: bool

    def check_arguments(self) -> None:
        super().check_arguments()
        for name in ("fit_intercept", "keep_statistics"):
            check_truth(name, getattr(self, name))

    @abstractmethod
    def _targets(self, chunk: Chunk) -> tuple[Matrix, Matrix | None]:
        """The targets of rows as numbers, one column per target, and what every row counts; None where that is 1."""

    @abstractmethod
    def _solve(self, moments: Moments, rows: PreparedRows | None, report: Reporter | None) -> Factor | None:
        """Coefficients from moments, and the factor that gave them; ``rows`` for a second pass, where it is asked for.

        ``report`` is told before anything is set: an error that it raises leaves all as it was.
        """

    def bytes_needed(self, extent: Extent, memory: int | None = None) -> int:
        return extent.sums(copies=3)  # sums, the same about the mean, and a factor

    def _check_additive(self) -> None:
        """Refuse arguments with which sums cannot be changed."""

    # -- learning ------------------------------------------------------------------------------------------------------

    @property
    def is_prepared(self) -> bool:
        return hasattr(self, "statistics_")  # not where fit has failed

    @available_if(can_add_rows)
    def prepare(self, X: Any, y: Any = None, sample_weight: WeightArgument = None) -> Self:
        """Learn scales, levels, bandwidths and the map from these rows, and no coefficients.

        What ``partial_fit`` would else learn from its first batch.

        Parameters
        ----------
        X, sample_weight : as for ``fit``
        y : ignored
        """
        self.check_arguments()
        # Few rows now say nothing about how many will come: the map is the one for many.
        table = self._table(X, None, sample_weight, reset=True)
        self._start(table, exact=False, passes=self._begin(table, FitContext()))
        self.statistics_ = None
        return self

    def _make_ready(self, X: Any, y: Any, sample_weight: WeightArgument) -> None:
        """Prepare for ``partial_fit`` unless that is done; say where what ``fit`` has learned is given up."""
        if not self.is_prepared:
            self.prepare(X, y, sample_weight)
        elif self.statistics_ is None and hasattr(self, "coef_"):
            warnings.warn(
                "fit has dropped its sums, and partial_fit begins anew: with keep_statistics=True it would add to them",
                UserWarning,
                stacklevel=3,
            )
            report = getattr(self, "convergence_", None)
            if report is not None and report.method == LandmarkNewton.name:
                self.prepare(X, y, sample_weight)  # its map gives plain kernel values

    def _add(self, X: Any, y: Any, sample_weight: WeightArgument) -> Self:
        """Learn from more rows, with the preparation and the map that are there."""
        more, precision, report = self._more(X, y, sample_weight)
        if self.statistics_ is not None:
            more, precision = summed(self.statistics_, more), max(self._precision, precision)
        self._renew(more, precision, report)
        return self

    @available_if(can_add_rows)
    def forget(self, X: Any, y: Any = None, sample_weight: WeightArgument = None) -> Self:
        """Take back rows that were learned from, as if they had never been seen.

        What ``fit`` or ``prepare`` learned before features (scales, bandwidths, landmarks) stays.

        Parameters
        ----------
        X, y, sample_weight : as they were given
        """
        held = self._held()
        less, precision, report = self._more(X, y, sample_weight)
        if less.rows[0] >= held.rows[0] or less.weight[0] >= held.weight[0]:
            raise ValueError(
                f"{int(less.rows[0])} rows of weight {less.weight[0]:g} cannot be forgotten: "
                f"{int(held.rows[0])} rows of weight {held.weight[0]:g} were learned from"
            )
        self._renew(summed(held, less, sign=-1.0), max(self._precision, precision), report)
        return self

    @available_if(can_add_rows)
    def merge(self, other: Self) -> Self:
        """Learn what another machine with the same map and preparation has learned from its own rows.

        Parameters
        ----------
        other : a learner of the same kind
            With its sums, as ``partial_fit`` and ``keep_statistics=True`` keep them.
        """
        if not isinstance(other, type(self)):
            raise TypeError(f"expected another {type(self).__name__} to merge with, found {type(other).__name__}")
        ours, theirs = self._held(), other._held()
        difference = self._difference(other)
        if difference is not None:
            raise ValueError(f"learners with different features or classes cannot be merged: {difference}")
        self._renew(summed(ours, theirs), max(self._precision, other._precision), None)
        return self

    # -- sums ----------------------------------------------------------------------------------------------------------

    def _held(self) -> Moments:
        check_is_fitted(self)
        self._check_additive()
        if self.statistics_ is None:
            raise ValueError("there are no sums to work on: give keep_statistics=True, or use partial_fit")
        return self.statistics_

    def _more(self, X: Any, y: Any, sample_weight: WeightArgument) -> tuple[Moments, float, Reporter]:
        """The moments of more rows, their precision, and who is told of them."""
        self.check_arguments()
        table = self._labelled(X, y, sample_weight, reset=False)
        passes = self._begin(table, FitContext())
        passes.report.expect(self._expected(table.n_rows, self.map_.n_components_))
        rows = PreparedRows(table, self.preparation_, row_stream(self.map_.seed_), passes)
        return self._moments(rows), self._precision_of(rows), passes.report

    def _expected(self, n_rows: int, width: int) -> list[Work]:
        return [sums_work(n_rows, width), Work("solution", float(width) ** 3 / 3.0)]

    def _moments(self, rows: PreparedRows, watch: Watch | None = None) -> Moments:
        """The sums over all rows; ``watch`` is shown the features that they are made of."""
        width = self.map_.n_components_
        check_after(self, Extent(width, itemsize=rows.dtype.itemsize, n_jobs=self.n_jobs), rows.passes.context.memory)

        def part(Z: NDArray[Any], chunk: Chunk) -> Moments:
            if watch is not None:
                watch(Z, chunk)
            return Moments.of(Z, *self._targets(chunk), exact)

        exact = self._needs_digits(rows)
        return Moments(*self._summed(part, rows, 8 * width * width, "sums"))

    def _needs_digits(self, rows: PreparedRows) -> bool:
        """Whether the least alpha that may be asked for is below what sums in the precision of the rows are off.

        Features are taken to be of norm 1, as those of most kernels are.
        """
        return self._least_alpha <= SAFETY * float(np.finfo(rows.dtype).eps) * rows.n_rows

    @property
    @abstractmethod
    def _least_alpha(self) -> float:
        """The least alpha that is given, 0 where it is chosen."""

    def _precision_of(self, rows: PreparedRows) -> float:
        """That of sums over these rows."""
        return float(np.finfo(np.float64 if self._needs_digits(rows) else rows.dtype).eps)

    def _tried(
        self, rule: str, given: Matrix | None, moments: Moments, rows: PreparedRows | None, report: Reporter | None
    ) -> Tried:
        """What several alphas would do on new rows, by this rule; None gives those that the moments suggest."""
        intercept, held = bool(self.fit_intercept), None
        if rule == HOLDOUT:
            assert rows is not None  # sums that change are not offered for rules that look at rows again
            held = self._held_moments(rows)
            moments = moments.plus(held, -1.0)
            if not min(float(held.weight[0]), float(moments.weight[0])) > 0.0:
                raise ValueError(f"'holdout' leaves no rows on one side of {rows.n_rows}: take 'loo'")
        centred = moments.centred(intercept)
        if not np.isfinite(np.diag(centred.squares)).all():
            raise ValueError("the squares of the targets overflow, so no penalty can be chosen: scale them down")
        path = Path.of(moments, intercept, self._precision)
        if report is not None:
            report.done("decomposition")
        alphas = path.alphas() if given is None else given
        if held is not None:
            coefs = [path.coefficients(alpha) for alpha in alphas.tolist()]
            errors = [held.squared_errors(coef, centred.offset(coef)) for coef in coefs]
            return Tried(path, alphas, np.stack(errors) / float(held.weight[0]), {})
        if rule == LOO:
            assert rows is not None
            return Tried(path, alphas, *self._left_out_errors(path, alphas, centred, rows))
        return Tried(path, alphas, np.stack([path.gcv(alpha) for alpha in alphas.tolist()]), {})

    def _left_out_errors(
        self, path: Path, alphas: Matrix, centred: Centred, rows: PreparedRows
    ) -> tuple[Matrix, dict[str, Matrix]]:
        """The mean squared errors of leaving out rows one by one, and ``hits_`` where the context asks for it."""
        left_out = LeaveOneOut(path, alphas, centred.feature_mean, centred.target_mean)
        counted = rows.passes.context.counts_hits

        def part(Z: NDArray[Any], chunk: Chunk) -> tuple[Matrix, ...]:
            return left_out.errors_and_hits(Z, *self._targets(chunk), counted)

        sums, *hits = self._summed(part, rows, 8 * self.map_.n_components_, "leave-one-out errors")
        return sums / path.weight, {"hits_": hits[0] / path.weight} if counted else {}

    def _held_moments(self, rows: PreparedRows) -> Moments:
        """Those of the rows that are held out."""
        width, seed, exact = self.map_.n_components_, self.map_.seed_, self._needs_digits(rows)

        def part(Z: NDArray[Any], chunk: Chunk) -> Moments:
            held, (Y, weight) = held_out(seed, chunk.first, len(Z)), self._targets(chunk)
            return Moments.of(Z[held], Y[held], None if weight is None else weight[held], exact)

        return Moments(*self._summed(part, rows, 8 * width * width, "held-out sums"))

    def _cost(self, moments: Moments, rule: str | None) -> SolverCost:
        """What sums and their solution take; ``rule`` is that by which a penalty is chosen."""
        n_rows, width = int(moments.rows[0]), self.map_.n_components_
        cost = sums_cost(Extent(width, n_rows)) if rule is None else path_cost(n_rows, width, rule != GCV)
        return SolverCost("sums", cost, cost)

    def _renew(self, moments: Moments, precision: float, report: Reporter | None) -> None:
        """Coefficients from other sums, which are then kept."""
        before, self._precision = getattr(self, "_precision", precision), precision
        try:
            self._solve(moments, None, report)
        except BaseException:
            self._precision = before
            raise
        self.statistics_ = moments

    def _fit_sums(self, rows: PreparedRows, watch: Watch | None = None) -> tuple[Moments, Factor | None]:
        """Coefficients from one pass, and perhaps another; the sums of the first, and their factor."""
        rows.passes.report.expect(self._expected(rows.n_rows, self.map_.n_components_))
        moments, self._precision = self._moments(rows, watch), self._precision_of(rows)
        factor = self._solve(moments, rows, rows.passes.report)
        self.statistics_ = moments if self.keep_statistics else None
        return moments, factor

    # -- model files ---------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def _n_targets(self) -> int | None:
        """Columns of targets as a model file says beside its arrays; None where it does not."""

    def array_layout(self) -> dict[str, Any]:
        width, targets = self.map_.n_components_, self._n_targets
        sums = ((width, width), (width, targets), (targets, targets), (width,), (targets,), (1,), (1,))
        return {"statistics_": Moments(*(floats(*shape) for shape in sums))}

    def check_arrays(self) -> None:
        self.statistics_ = statistics = getattr(self, "statistics_", None)
        if not hasattr(self, "coef_"):  # `prepare` gives none
            self._refuse_unless(statistics is None and not hasattr(self, "intercept_"))
            return
        targets = np.atleast_2d(self.coef_).shape[0]
        self._check_coefficients(targets)
        path = getattr(self, "penalty_path_", None)
        self._refuse_unless(path is None or len({len(path.penalties), *map(len, path[2:])}) == 1)
        if statistics is not None:
            sizes = {*statistics.squares.shape, statistics.cross.shape[1], len(statistics.targets)}
            self._refuse_unless(sizes == {targets} and statistics.weight[0] > 0.0 and hasattr(self, "_precision"))

    @abstractmethod
    def _check_coefficients(self, targets: int) -> None:
        """Raise a ValueError where what belongs to coefficients for so many targets is missing, or of another size."""


def summed(ours: Moments, theirs: Moments, sign: float = 1.0) -> Moments:
    """The moments of both sets of rows; with a sign of -1, those of the first without the second."""
    if ours.cross.shape != theirs.cross.shape:
        raise ValueError(f"expected {ours.cross.shape[1]} targets, found {theirs.cross.shape[1]}")
    return ours.plus(theirs, sign)
