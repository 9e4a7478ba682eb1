"""The base of machines that need only sums over rows, so that rows can be added, merged and removed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import partial, reduce
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._array import to_numpy
from .._caller import warn_caller
from .._checks import check_choice, check_truth
from .._random import as_seed
from ..data import ArrayTable, Table
from ..data.block import Block
from ..data.table_rows import placed
from ..gpu.device import Device
from ..gpu.exchange import in_kind_of_rows
from ..kernels import Kernel
from ..maps import FeatureMap
from ..maps.array_layouts import floats
from ..scale import computed, lazily
from .argument_types import PenaltyArgument, WeightArgument
from .column_effects import ColumnEffects
from .context import FitContext
from .estimates.memory_estimates import Extent, check_after, check_before, known_width, room_for_features
from .estimates.time_forecast import Work, pilot_work, sums_work
from .features.kept_features import KeptFeatures
from .features.prepared_rows import Chunk, PartRows, PreparedRows
from .fitting.penalty_path import EVIDENCE, GCV, HOLDOUT, LOO, held_out, is_several, rule_of
from .left_out.calibration import KeptRows
from .left_out.gcv_check import GcvCheck
from .machine import as_given, row_stream
from .map_choice import EXACT, OPEN, is_open, leaves_kernel_open, parsed, takes_rows_as_they_are
from .passes.fit_passes import workers_limit
from .passes.progress import Reporter
from .passes.scan_plan import EMPTY, Need, ScanPlan
from .pilot.choice import Choice
from .pilot.settled_arguments import PILOT_ROWS, pilot_sample, settled, with_arguments
from .prepare.preparation import Preparation
from .protocols import LinearMachine
from .solvers.choice import SolverCost, is_cheaper_exactly, path_cost, sums_cost
from .solvers.evidence import Evidence, evident_alphas
from .solvers.ridge import LeaveOneOut, Path
from .statistics import Centred, Moments, chunk_rows
from .statistics.feature_sums import feature_sums
from .statistics.moments import SAFETY, precision_of, trace_of
from .targets.regression_targets import checked_targets
from .training_rows.region import MARGIN, Extremes, Region

Matrix = NDArray[np.float64]
PREPARATIONS = (OPEN, None)
LEARNED = "learned"
COLUMNS = (OPEN, LEARNED, None)
NEVER_SEEN = 1e-6
"""How far below 0 the second moments that forgotten rows leave may be, as a share of the largest ones before."""
Factor = tuple[Matrix, bool]
Sample = tuple[NDArray[Any], Matrix, Matrix]
"""Features, targets and weights of some rows."""


def can_add_rows(model: Any) -> bool:
    """Return whether a machine needs only sums over rows."""
    return bool(model.sums_suffice)


class Tried(NamedTuple):
    """Several alphas, and their estimated mean squared errors on new rows, one column per target."""

    path: Path
    alphas: Matrix
    scores: Matrix
    hits: dict[str, Matrix]
    """The share of rows that each alpha classifies correctly, if hits were counted."""


class MomentMachine(ColumnEffects, ABC):
    """A machine whose coefficients follow from the moments of features and targets."""

    keep_statistics: bool
    statistics_: Moments | None
    region_: Region

    _has_number_targets: ClassVar[bool] = False
    """Whether targets are numbers, whose range is recorded."""

    @property
    @abstractmethod
    def sums_suffice(self) -> bool:
        """Whether sums over the rows are sufficient, with the given arguments."""

    fit_intercept: bool
    preparation: str | None
    columns: str | None
    choice_: Choice | None

    has_pilot = True

    def check_arguments(self) -> None:
        super().check_arguments()
        check_choice("preparation", self.preparation, PREPARATIONS)
        check_choice("columns", self.columns, COLUMNS)
        if self.columns == LEARNED and takes_rows_as_they_are(self):
            raise ValueError("columns='learned' requires a kernel that is 'auto' or whose bandwidth is a rule")
        for name in ("fit_intercept", "keep_statistics"):
            check_truth(name, getattr(self, name))

    @abstractmethod
    def predict(self, X: Any) -> Any:
        """Predict the targets of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
            The predictions.
        """

    @abstractmethod
    def _targets(self, chunk: Chunk) -> tuple[Matrix, Matrix | None]:
        """Return the targets of rows as numbers, one column per target, and the weights of rows; None if they are 1."""

    @abstractmethod
    def _solve(
        self,
        moments: Moments,
        rows: PreparedRows | None,
        report: Reporter | None,
        kept: KeptRows | None = None,
    ) -> Factor | None:
        """Set the coefficients from moments, and return their factor; ``rows`` allow a second pass if it is needed.

        ``report`` is called before anything is set: an error that it raises leaves everything unchanged. With ``kept``
        rows, a penalty chosen by generalised cross-validation is checked.
        """

    # -- what is left to a pilot -----------------------------------------------------------------------------------

    @abstractmethod
    def _pilot_targets(self, block: Block) -> Matrix:
        """Return the targets of rows as numbers of similar size, one column per target."""

    @property
    @abstractmethod
    def _penalty_argument(self) -> str:
        """The name of the argument that is the penalty."""

    @abstractmethod
    def _penalty_by_pilot(self, choice: Choice | None, targets: NDArray[Any] | None) -> PenaltyArgument:
        """Return the penalty that follows from a pilot, given the targets of its rows, or None if it saw none."""

    @abstractmethod
    def _penalties_given(self, targets: NDArray[Any]) -> Matrix | None:
        """Return the ridge penalties equivalent to the given ones with these targets; None if they are to be chosen."""

    @abstractmethod
    def _penalty_by_rule(self, n_rows: int, memory: int | None) -> PenaltyArgument | None:
        """Return the penalty if it needs no pilot, otherwise None."""

    @property
    def _penalty_is_open(self) -> bool:
        return is_open(getattr(self, self._penalty_argument))

    def _kept_penalty(self) -> dict[str, Any]:
        """Return the chosen penalty as an argument, for rows that come later; nothing if it was given."""
        if not self._penalty_is_open:
            return {}
        name = self._penalty_argument
        known = getattr(self, f"{name}_", None)
        return {name: self._penalty_by_pilot(getattr(self, "choice_", None), None) if known is None else known}

    @property
    def _is_open(self) -> bool:
        """Whether something is left to be chosen before the fit starts."""
        return self._penalty_is_open or leaves_kernel_open(self) or self.columns == LEARNED

    @property
    def _can_be_tried(self) -> bool:
        """Whether a pilot can compute features: not for a map with its own width, nor for a function of two rows."""
        if isinstance(self.map, FeatureMap):
            return False
        return self.kernel is None or is_open(self.kernel) or isinstance(parsed(self.kernel), Kernel)

    def _fit_open(
        self,
        table: Table,
        context: FitContext,
        fit: Callable[[Self, ScanPlan], Any],
        needs: Mapping[str, Need] = EMPTY,
    ) -> Self:
        """Choose what is left open, and learn what ``fit`` does with the choice.

        The first scan also serves what ``fit`` ``needs``.
        """
        by_rule = None
        if not leaves_kernel_open(self) and self.columns != LEARNED:
            by_rule = self._penalty_by_rule(table.n_rows, context.memory)
        if by_rule is not None:
            machine = with_arguments(self, **{self._penalty_argument: by_rule})
            machine = machine._exact_if_cheaper(machine, table, context, 1)
            fit(machine, ScanPlan(table, machine._begin_fit(table, context), needs))
        else:
            plan = ScanPlan(table, self._begin(table, context, self.may_iterate), needs)
            report, width = plan.passes.report, min(known_width(self), table.n_rows)
            if report.is_heard:
                report.expect([pilot_work(table.n_rows), sums_work(table.n_rows, width)])
            machine = self._piloted(plan)
            report.done("pilot")
            columns = 1 if plan.settled is None else plan.settled.n_columns
            machine = self._exact_if_cheaper(machine, table, context, columns)
            check_before(machine, table, context.memory, machine.may_iterate, workers_limit(plan.passes))
            machine._announce(plan.passes, table)
            fit(machine, plan)
        self._take_over(machine)
        return self

    def _fit_settled(
        self,
        table: Table,
        context: FitContext,
        fit: Callable[[Self, ScanPlan], Any],
        needs: Mapping[str, Need] = EMPTY,
    ) -> Self:
        """Learn with settled arguments; the first scan also serves what ``fit`` ``needs``."""
        machine = self._exact_if_cheaper(self, table, context, 1)
        fit(machine, ScanPlan(table, machine._begin_fit(table, context), needs))
        if machine is not self:
            self._take_over(machine)
        return self

    def foreseen(self, table: Table) -> Self:
        """Return the learner as far as a fit is known beforehand: with ``map="exact"`` if "auto" will choose it.

        A pilot may still choose another width, which can change whether the exact machine is cheaper.

        Parameters
        ----------
        table : Table
            The training rows.

        Returns
        -------
        KernelRegressor or KernelClassifier
            The learner itself, or a copy that is not fitted.
        """
        return self._exact_if_cheaper(self, table, FitContext(), 1)

    def _exact_if_cheaper(self, machine: Self, table: Table, context: FitContext, columns: int) -> Self:
        """Return the exact machine if map and width are left open and it costs no more; otherwise the machine itself.

        ``machine`` has the arguments of this one, settled, and is expected to have this many columns of decision
        values.
        """
        is_asked = self.map == OPEN and self.n_components is None and machine.solver == OPEN
        steered = context.counts_hits or context.warm_start is not None
        if not is_asked or steered or not machine._suits_exactness(np.ndim(table.head().y) > 1):
            return machine
        extent = Extent(known_width(machine), table.n_rows, columns, 8, self.n_jobs)
        counted = machine._n_factors, machine._penalty_beside_squares
        linear = cast("LinearMachine", machine)
        exactly = is_cheaper_exactly(linear, extent, *counted, context.memory)
        return with_arguments(machine, map=EXACT) if exactly else machine

    @abstractmethod
    def _suits_exactness(self, several_tasks: bool) -> bool:
        """Return whether an exact machine supports these arguments, given whether there are several targets."""

    @property
    @abstractmethod
    def _n_factors(self) -> int:
        """The number of factors of the kernel matrix, with diagonals of their inverses, for exact least squares."""

    @property
    @abstractmethod
    def _penalty_beside_squares(self) -> float:
        """The smallest penalty relative to squared errors; infinite if it is chosen from values that suit the rows."""

    def _piloted(self, plan: ScanPlan) -> Self:
        """Return a learner like this one with the arguments and the preparation that a pilot has chosen."""
        seed = plan.passes.context.seed(self.random_state)
        sample = pilot_sample(seed, self, not isinstance(plan.table, ArrayTable))
        tried_with = "Nystrom" if self.map == OPEN and leaves_kernel_open(self) else self.map
        machine = with_arguments(self, random_state=seed, map=tried_with)
        machine.preparation_ = plan.passes.context.preparation or self._new_preparation()
        machine._scan_columns(plan, sample)
        block = sample.block(PILOT_ROWS)
        # If a row is refused, `placed` tells where it is.
        unscaled = placed(plan.table, machine.preparation_.rescaled(None), block.X, sample.numbers(PILOT_ROWS))
        targets = None if block.y is None else self._pilot_targets(block)
        penalties = None if block.y is None else self._penalties_given(block.y)

        def fits(width: int) -> bool:
            wider = with_arguments(machine, n_components=width)
            try:
                check_before(wider, plan.table, plan.passes.context.memory, wider.may_iterate)
            except MemoryError:
                return False
            return True

        plan.settled = found = settled(
            self, machine.preparation_, sample, block, unscaled, targets, penalties, seed, plan.table.n_rows, fits
        )
        machine.__dict__.update(kernel=found.kernel, scale=found.preparation.scale, n_components=found.n_components)
        if self._penalty_is_open:
            setattr(machine, self._penalty_argument, self._penalty_by_pilot(found.choice, block.y))
        machine.choice_ = found.choice
        return machine

    def _take_over(self, machine: Self) -> None:
        """Take over what a learner with settled arguments has learned, and nothing else."""
        arguments = self.get_params(deep=False)
        for name in [name for name in vars(self) if name not in arguments]:
            del self.__dict__[name]
        self.__dict__.update({name: value for name, value in vars(machine).items() if name not in arguments})

    # -- preparation ---------------------------------------------------------------------------------------------------

    def columns_learned(self, table: Table) -> Preparation:
        """Return what is learned about the columns of all rows, before anything is chosen and without using targets.

        Parameters
        ----------
        table : Table
            The result of :meth:`table_to_fit`.

        Returns
        -------
        Preparation
            A preparation with any scale, which a :class:`FitContext` can pass to fits on some of these rows.
        """
        machine = with_arguments(self, preparation_=self._new_preparation())
        plan = ScanPlan(table, self._begin(table, FitContext()))
        sample = pilot_sample(as_seed(self.random_state), self, is_read=False)
        machine._scan_columns(plan, sample)
        return machine.preparation_

    @property
    def prepares_columns(self) -> bool:
        return self.preparation is not None and not takes_rows_as_they_are(self)

    @property
    def asked_missing(self) -> str:
        return "error" if is_open(self.missing) and self.preparation is None else super().asked_missing

    @property
    def asked_unknown(self) -> str:
        return "error" if is_open(self.unknown) and self.preparation is None else super().asked_unknown

    def bytes_needed(self, extent: Extent, memory: int | None = None) -> int:
        return extent.sums(copies=3)  # sums, centred sums, and a factor

    def _check_additive(self) -> None:
        """Refuse arguments that do not allow rows to be added to sums or removed from them."""

    # -- learning ------------------------------------------------------------------------------------------------------

    @property
    def is_prepared(self) -> bool:
        return hasattr(self, "statistics_")  # missing if fit has failed

    @available_if(can_add_rows)
    def prepare(self, X: Any, y: Any = None, sample_weight: WeightArgument = None) -> Self:
        """Learn scales, levels, bandwidths and the map from these rows, but no coefficients.

        Otherwise ``partial_fit`` learns them from its first batch.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.
        y : array-like or None, default=None
            The targets, as for ``fit``. They are needed if the kernel or the penalty is "auto": without them, rules
            replace a pilot.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            The weights of the rows, as for ``fit``.

        Returns
        -------
        MomentMachine
            The learner itself.
        """
        self.check_arguments()
        X, y, sample_weight = as_given(X, y, sample_weight)
        # The number of rows to come is not known, so the map is the one for many rows.
        if not self._is_open:
            table = self._table(X, None, sample_weight, reset=True)
            self._start(table, exact=False, passes=self._begin(table, FitContext()))
        else:
            table = self._table(X, y, sample_weight, reset=True)
            plan = ScanPlan(table, self._begin(table, FitContext()))
            machine = self._piloted(plan) if self._can_be_tried else self
            machine._learn_map(machine._learn_preparation(plan), False, plan)
            if machine is not self:
                self._take_over(machine)
        self.statistics_ = None
        return self

    def _extremes(self) -> Extremes | None:
        return None if self._is_pairwise else Extremes(checked_targets if self._has_number_targets else None)

    def _keep_region(self, rows: PreparedRows, before: Region | None = None) -> None:
        """Record the region of the training rows, and of the rows before them."""
        if rows.extremes is not None:
            found = rows.found_extremes().rows
            self.region_ = found.joined(before)  # type: ignore[union-attr]

    @property
    def column_scales_(self) -> NDArray[np.float64] | None:
        """The learned scales by which prepared columns are multiplied, in their order; None if none are used."""
        scales: NDArray[np.float64] | None = self.preparation_.column_scales
        return None if scales is None else scales.copy()

    @lazily
    @in_kind_of_rows
    def extrapolates(self, X: Any) -> NDArray[np.bool_]:
        """Return which rows are outside the region of the training rows.

        The region is a box, from the smallest to the largest value of every prepared column. A row extrapolates if its
        distance from the box is more than a tenth of the box's diagonal. Rows that are forgotten stay in the region.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.

        Returns
        -------
        bool ndarray of shape (n_samples,)
            True for rows outside the region.
        """
        check_is_fitted(self)
        if not hasattr(self, "region_"):
            raise ValueError(
                "this model cannot tell which rows extrapolate, because kernel='precomputed' has kernel values in "
                "place of columns, or because its file is from an earlier version; fit it again"
            )
        return self._by_rows(X, lambda rows, first: self.region_.distances(rows) > MARGIN)

    def _make_ready(self, X: Any, y: Any, sample_weight: WeightArgument) -> None:
        """Prepare for ``partial_fit`` unless that is done; issue a warning if the results of ``fit`` are discarded."""
        if not self.is_prepared:
            self.prepare(X, y, sample_weight)
        elif self.statistics_ is None and hasattr(self, "coef_"):
            warn_caller(
                "fit kept no sums, so partial_fit starts from the beginning; with keep_statistics=True it adds to them",
            )
            if self.map_.gives_kernel_values:
                self.prepare(X, y, sample_weight)  # the current map gives plain kernel values

    def _add(self, X: Any, y: Any, sample_weight: WeightArgument, decay: float) -> Self:
        """Learn from more rows with the current preparation and map, after multiplying earlier weights by ``decay``."""
        held, before = self.statistics_, self._before()
        if held is not None and float(decay) < 1.0:
            held = held.faded(float(decay))
        rows = self._more(X, y, sample_weight)
        more, precision = self._moments(rows, spent=0.0 if held is None else held.rounding(self._precision))
        if held is not None:
            more, precision = summed(held, self._precision, more, precision)
        self._renew(more, precision, rows.passes.report)
        self._keep_region(rows, before)
        return self

    def _before(self) -> Region | None:
        """Return the region of the rows in the sums; None if there are none."""
        return None if self.statistics_ is None else getattr(self, "region_", None)

    @available_if(can_add_rows)
    def forget(self, X: Any, y: Any = None, sample_weight: WeightArgument = None) -> Self:
        """Remove rows that were learned from, as if they had never been seen.

        What ``fit`` or ``prepare`` learned before computing features (scales, bandwidths, landmarks) stays, and so does
        the region of rows and targets, which contains these rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.
        y : array-like or None, default=None
            Their targets, as they were given before. None if X is a table, which has its own.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            The weights that they have by now: those that were given before, times the ``decay`` of every later call of
            ``partial_fit``.

        Returns
        -------
        MomentMachine
            The learner itself.
        """
        held = self._held()
        rows = self._more(X, y, sample_weight)
        less, precision = self._moments(rows, spent=held.rounding(self._precision))
        if less.rows[0] >= held.rows[0] or less.weight[0] >= held.weight[0]:
            raise ValueError(
                f"{int(less.rows[0])} rows of weight {less.weight[0]:g} cannot be forgotten, because only "
                f"{int(held.rows[0])} rows of weight {held.weight[0]:g} were learned from"
            )
        left, precision = summed(held, self._precision, less, precision, sign=-1.0)
        rounding = left.rounding(precision) + NEVER_SEEN * held.largest()
        if not left.are_of_rows(rounding, NEVER_SEEN * np.diag(held.squares)):
            raise ValueError(
                "rows cannot be forgotten if they were not learned from, with these targets and weights: no rows have "
                "the sums that would be left; the weight of rows includes the decay of later calls of partial_fit"
            )
        self._renew(left, precision, rows.passes.report)
        return self

    @available_if(can_add_rows)
    def merge(self, other: Self) -> Self:
        """Learn what another machine with the same map and preparation has learned from its own rows.

        Parameters
        ----------
        other : MomentMachine
            A learner of the same kind, with its sums, which ``partial_fit`` and ``keep_statistics=True`` keep.

        Returns
        -------
        MomentMachine
            The learner itself.
        """
        if not isinstance(other, type(self)):
            raise TypeError(f"expected another {type(self).__name__} to merge with, found {type(other).__name__}")
        ours, theirs = self._held(), other._held()
        difference = self._difference(other)
        if difference is not None:
            raise ValueError(f"learners with different features or classes cannot be merged: {difference}")
        self._renew(*summed(ours, self._precision, theirs, other._precision), None)
        self._join_regions(other)
        return self

    def _join_regions(self, other: Self) -> None:
        """Record the region of the rows of both; None if the region of the others is not known."""
        if hasattr(self, "region_") and hasattr(other, "region_"):
            self.region_ = self.region_.joined(other.region_)
        else:
            self.__dict__.pop("region_", None)

    def _judged(
        self, X: Any, y: ArrayLike | None, sample_weight: WeightArgument
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
        """Return the true targets of rows, their predictions and their weights, for a score."""
        if isinstance(X, Table):
            return self.observed(X, self.predict)
        predicted, truth, weight = map(to_numpy, computed(self.predict(X), y, sample_weight))
        return truth, predicted, None if weight is None else np.asarray(weight)

    # -- sums ----------------------------------------------------------------------------------------------------------

    def _held(self) -> Moments:
        check_is_fitted(self)
        self._check_additive()
        if self.statistics_ is None:
            raise ValueError("there are no sums: give keep_statistics=True, or use partial_fit")
        return self.statistics_

    def _more(self, X: Any, y: Any, sample_weight: WeightArgument) -> PreparedRows:
        """Return more rows, whose progress is reported to callbacks."""
        self.check_arguments()
        table = self._labelled(*as_given(X, y, sample_weight), reset=False)
        passes = self._begin(table, FitContext(device=Device.of(X)))
        passes.report.expect(self._expected(table.n_rows, self.map_.n_components_))
        stream = row_stream(self.map_.seed_)
        return PreparedRows(table, self.preparation_, stream, passes, extremes=self._extremes())

    def _expected(self, n_rows: int, width: int) -> list[Work]:
        return [sums_work(n_rows, width), Work("solution", float(width) ** 3 / 3.0)]

    def _moments(
        self, rows: PreparedRows, watcher: KeptRows | None = None, spent: float = 0.0
    ) -> tuple[Moments, float]:
        """Return the sums over all rows, and their precision; ``watcher`` is shown the features.

        ``spent`` is the rounding error of the sums to which these will be added.
        """
        width = self.map_.n_components_
        check_after(self, Extent(width, itemsize=rows.dtype.itemsize, n_jobs=self.n_jobs), rows.passes.context.memory)

        n_rows = rows.n_rows

        def part(Z: NDArray[Any], chunk: Chunk) -> tuple[Matrix, ...]:
            return self._rounded_moments(Z, *self._targets(chunk), n_rows, spent)

        *sums, rounded = feature_sums(self, part, rows, 8 * width * width, "sums", watcher)
        moments = Moments(*sums)
        return moments, moments.precision(float(rounded[0]), float(np.finfo(rows.dtype).eps))

    def _rounded_moments(
        self, Z: NDArray[Any], Y: Matrix, weight: Matrix | None, n_rows: int, spent: float = 0.0
    ) -> tuple[Matrix, ...]:
        """Return the moments of a chunk, and the trace of their second moments if these have the precision of float32.

        They are in float64 if float32 sums would have errors above the smallest alpha that may be requested, assuming
        that all rows are like the rows of the chunk, and counting what is ``spent`` already: alpha must never be
        smaller than rounding errors.
        """
        if self._least_alpha <= 0.0:
            return *Moments.of(Z, Y, weight, exact=True), np.zeros(1)
        trace = trace_of(Z, weight)
        off = SAFETY * precision_of(Z) * trace * n_rows / max(len(Z), 1)
        exact = not self._least_alpha > off + spent
        return *Moments.of(Z, Y, weight, exact), np.array([0.0 if exact else trace])

    @property
    @abstractmethod
    def _least_alpha(self) -> float:
        """The smallest given alpha, or 0 if alpha is chosen from the rows."""

    def _tried(
        self, rule: str, given: Matrix | None, moments: Moments, rows: PreparedRows | None, report: Reporter | None
    ) -> Tried:
        """Return the estimated errors of several alphas by this rule; None uses those that the moments suggest."""
        intercept, held = bool(self.fit_intercept), None
        if rule == HOLDOUT:
            assert rows is not None  # rules that need the rows again do not support changing sums
            held = self._held_moments(rows)
            moments = moments.plus(held, -1.0)
            if not min(float(held.weight[0]), float(moments.weight[0])) > 0.0:
                raise ValueError(
                    f"'holdout' leaves no rows to train on or none to score among {rows.n_rows}; use 'loo'"
                )
        centred = moments.centred(intercept)
        if not np.isfinite(np.diag(centred.squares)).all():
            raise ValueError("the squares of the targets overflow, so no penalty can be chosen; scale them down")
        device = Device.named(self.device) if rows is None else rows.passes.device
        path = Path.of(moments, intercept, self._precision, device)
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
        if rule == EVIDENCE:
            if not path.weight > path.intercept:
                found = f"n_samples={int(moments.rows[0])} of weight {path.weight:g}"
                raise ValueError(f"alpha='evidence' needs rows with a total weight above 1, found {found}")
            alphas = evident_alphas(path)
            errors = [Evidence.of_path(path, alpha).errors for alpha in alphas.tolist()]
            return Tried(path, alphas, np.stack(errors), {})
        return Tried(path, alphas, np.stack([path.gcv(alpha) for alpha in alphas.tolist()]), {})

    @staticmethod
    def _check_gcv(name: str, found: Tried, penalties: Matrix, place: int, centred: Centred, rows: Sample) -> None:
        """Issue a warning if the alpha at this position, which "gcv" chose, is bad for left-out rows.

        ``penalties`` are the alphas in the units of the user.
        """
        path, alphas, weight = found.path, found.alphas, rows[2]
        left_out = LeaveOneOut(path, alphas, centred.feature_mean, centred.target_mean)
        errors = left_out.errors_and_hits(*rows, counted=False)[0] / float(weight.sum())
        Z, *targets = rows
        own = left_out._replace(alphas=alphas[[place]]).residuals_and_leverages(left_out.turned(Z), *targets)[1]
        mean, variance = path.freedom(float(alphas[place])) / path.weight, path.squares / path.weight
        check = GcvCheck(errors, found.scores, variance, len(weight), mean, float(own.max()))
        check.warn(name, penalties, place)

    def _left_out_errors(
        self, path: Path, alphas: Matrix, centred: Centred, rows: PreparedRows
    ) -> tuple[Matrix, dict[str, Matrix]]:
        """Return the mean squared errors of leaving out rows one by one, and ``hits_`` if the context requests it."""
        left_out = LeaveOneOut(path, alphas, centred.feature_mean, centred.target_mean).on(rows.passes.device)
        counted = rows.passes.context.counts_hits

        def part(Z: NDArray[Any], chunk: Chunk) -> tuple[Matrix, ...]:
            return left_out.errors_and_hits(Z, *self._targets(chunk), counted)

        sums, *hits = feature_sums(self, part, rows, 8 * self.map_.n_components_, "leave-one-out errors")
        return sums / path.weight, {"hits_": hits[0] / path.weight} if counted else {}

    def _held_moments(self, rows: PreparedRows) -> Moments:
        """Return the moments of the held-out rows."""
        width, seed, n_rows = self.map_.n_components_, self.map_.seed_, rows.n_rows

        def part(Z: NDArray[Any], chunk: Chunk) -> tuple[Matrix, ...]:
            held, (Y, weight) = held_out(seed, chunk.first, len(Z)), self._targets(chunk)
            weight = None if weight is None else weight[held]
            return self._rounded_moments(Z[held], Y[held], weight, n_rows)

        return Moments(*feature_sums(self, part, rows, 8 * width * width, "held-out sums")[:-1])

    def _cost(self, moments: Moments, rule: str | None) -> SolverCost:
        """Return the cost of sums and their solution; ``rule`` is the one that chooses a penalty."""
        n_rows, width = int(moments.rows[0]), self.map_.n_components_
        cost = sums_cost(Extent(width, n_rows)) if rule is None else path_cost(n_rows, width, rule != GCV)
        return SolverCost("sums", cost, cost)

    def _renew(self, moments: Moments, precision: float, report: Reporter | None) -> None:
        """Set coefficients from other sums, which are then kept."""
        machine = with_arguments(self, _precision=precision, **self._kept_penalty())
        machine._solve(moments, None, report)
        self._take_over(machine)
        self.statistics_ = moments

    def _fit_sums(self, rows: PreparedRows, kept: KeptRows | None) -> tuple[Moments, Factor | None]:
        """Set coefficients after one pass, or two if needed; return the sums of the first, and their factor."""
        width, penalty = self.map_.n_components_, getattr(self, self._penalty_argument)
        rows.passes.report.expect(self._expected(rows.n_rows, width))
        if is_several(penalty) and rule_of(penalty) in (LOO, HOLDOUT):
            extent, memory = Extent(width, rows.n_rows, itemsize=rows.dtype.itemsize), rows.passes.context.memory
            room = room_for_features(self, self.bytes_needed(extent, memory), memory)
            rows.kept_features = KeptFeatures(rows.n_rows, extent.features(), room)
        moments, self._precision = self._moments(rows, kept)
        if kept is not None and kept.n_seen < rows.n_rows:  # resumed sums do not include the rows before them
            self._show_again(rows, kept)
        factor = self._solve(moments, rows, rows.passes.report, kept)
        rows.kept_features = None
        self.statistics_ = moments if self.keep_statistics else None
        self._keep_region(rows)
        return moments, factor

    def _show_again(self, rows: PreparedRows, kept: KeptRows) -> None:
        """Show the features of all rows that were not shown yet."""
        if rows.passes.partitions is not None:
            work = partial(shown_part, self, kept, rows.apart(self.n_jobs))
            kept.take_over(rows.passes.folded("kept rows", work, joined_kept))
            return
        for chunk in rows.chunks(chunk_rows(self.map_.n_components_, rows.dtype.itemsize)):
            if chunk not in kept:
                kept.watch(self.features_of(chunk.X, chunk.first), chunk)

    # -- model files ---------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def _n_targets(self) -> int | None:
        """The number of columns of targets according to a model file, apart from its arrays, or None."""

    def array_layout(self) -> dict[str, Any]:
        width, targets = self.map_.n_components_, self._n_targets
        sums = ((width, width), (width, targets), (targets, targets), (width,), (targets,), (1,), (1,))
        columns = int(self.map_.n_features_in_)
        return {
            "statistics_": Moments(*(floats(*shape) for shape in sums)),
            "region_": Region(floats(columns), floats(columns)),
        }

    def check_arrays(self) -> None:
        self.statistics_ = statistics = getattr(self, "statistics_", None)
        if not hasattr(self, "coef_"):  # `prepare` sets none
            self._refuse_unless(statistics is None and not hasattr(self, "intercept_"))
            return
        if hasattr(self, "region_"):  # older files do not have it
            self._refuse_unless(bool((self.region_.least <= self.region_.most).all()))
        targets = np.atleast_2d(self.coef_).shape[0]
        self._check_coefficients(targets)
        path = getattr(self, "penalty_path_", None)
        self._refuse_unless(path is None or len({len(path.penalties), *map(len, path[2:])}) == 1)
        if statistics is not None:
            sizes = {*statistics.squares.shape, statistics.cross.shape[1], len(statistics.targets)}
            self._refuse_unless(sizes == {targets} and statistics.weight[0] > 0.0 and hasattr(self, "_precision"))

    @abstractmethod
    def _check_coefficients(self, targets: int) -> None:
        """Raise a ValueError if attributes for this many targets are missing or have another size."""


def shown_part(machine: MomentMachine, kept: KeptRows, how: PartRows, table: Table, first: int) -> KeptRows:
    """Return the kept rows of one partition."""
    rows, fresh = how.of(table), kept.fresh()
    for chunk in rows.chunks(chunk_rows(machine.map_.n_components_, rows.dtype.itemsize)):
        chunk = chunk._replace(first=first + chunk.first)
        fresh.watch(machine.features_of(chunk.X, chunk.first), chunk)
    return fresh


def joined_kept(parts: list[KeptRows]) -> KeptRows:
    """Return the kept rows of several partitions."""
    return reduce(KeptRows.joined, parts)


def summed(
    ours: Moments, precision: float, theirs: Moments, other_precision: float, sign: float = 1.0
) -> tuple[Moments, float]:
    """Return the sum of both sets of moments, or their difference if the sign is -1, and their precision."""
    if ours.cross.shape != theirs.cross.shape:
        raise ValueError(f"expected {ours.cross.shape[1]} targets, found {theirs.cross.shape[1]}")
    moments = ours.plus(theirs, sign)
    off, largest = precision * ours.largest() + other_precision * theirs.largest(), moments.largest()
    return moments, off / largest if largest > 0.0 else max(precision, other_precision)
