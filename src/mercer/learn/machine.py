"""The base of all kernel machines: arguments, the way from rows to features, and predictions.

``fit`` makes a table of its arguments (``table_to_fit``) and passes it to ``fit_table``, which consists of the same
steps in every learner. ``_begin`` returns the passes over the table, unless they would need too much memory.
``_learn_preparation`` scans the columns and ``_learn_map`` fits the map; ``_start`` is both. Then the learner adds up
what it needs of the features (``feature_sums``), or lets a solver pass over them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from functools import cache, partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .._array import Array, to_numpy
from .._checks import check_choice, check_jobs
from .._random import RandomState, Stream
from .._tiles import run_tiles
from ..data import ArrayTable, SourceTable, Table
from ..data.block import Block, part_of
from ..data.frames import NUMBERS, columns, is_frame, kind_of
from ..data.in_memory import check_extreme_weights
from ..data.partitioned_files import PartitionedFiles
from ..data.table_rows import placed
from ..data.times import TIMES
from ..gpu.device import Device, check_name
from ..kernels import Kernel
from ..maps import FeatureMap
from ..maps.executor import features
from ..maps.fitted_map import equal_parameters
from ..maps.row_checks import check_rows
from ..maps.table_input import adopt_columns, matched_columns
from ..scale import is_collection, lazily, table_of
from .argument_types import KernelArgument, MapArgument, WeightArgument
from .context import FitContext
from .estimates.memory_estimates import Extent, check_before, check_levels, known_width
from .estimates.time_forecast import Work
from .features.prepared_rows import PreparedRows
from .machine_parameters import MachineParameters
from .map_choice import (
    OPEN,
    check_map_choice,
    chosen_map,
    exact_map,
    is_exact,
    is_open,
    rows_sampled,
    takes_rows_as_they_are,
)
from .passes.fit_passes import Passes, limit_of, workers_limit
from .passes.fit_tasks import IN_PROCESS, TellsCallbacks, heard_by
from .passes.progress import Progress
from .passes.scan_plan import RowSample, ScanPlan
from .prepare.input_rows import as_in_fit, checked_rows, refuse_path
from .prepare.preparation import DATES, MISSING, SCALES, UNKNOWN, Found, Preparation, SeenColumns
from .statistics import chunk_rows
from .statistics.device_sums import RowValues
from .training_rows.origin import remember
from .training_rows.region import Extremes, Region, decays

ROUNDED = 1e-4
"""The largest error of predictions through rounding of products, as a share of their size."""
PREDICTED_ROWS = 1024
"""The number of rows that are prepared and mapped at once for a prediction."""
DEVICE_ROWS = 65536
"""The number of rows that are prepared and mapped at once for a prediction on a device."""


def columns_of_rows(blocks: Iterable[Block]) -> SeenColumns | None:
    """Return the kinds and levels of the columns of all rows."""
    return SeenColumns.of(block.X for block in blocks)


def joined_columns(ours: SeenColumns | None, theirs: SeenColumns | None) -> SeenColumns | None:
    """Return the kinds and levels of both sets of rows."""
    return None if ours is None or theirs is None else ours.joined(theirs)


def scales_of_rows(preparation: Preparation, blocks: Iterable[Block]) -> Found:
    """Return the sums over all rows from which a preparation learns its scales."""
    return preparation.summed_up((block.X, block.weight) for block in blocks)


def as_given(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Return rows with targets and weights, as one table if they are in a collection on a cluster."""
    return (table_of(X, y, sample_weight), None, None) if is_collection(X) else (X, y, sample_weight)


class Matched(ArrayTable):
    """Rows of a table, starting with number ``first``, whose columns are already the columns of the model."""

    def __init__(self, table: Table, X: Any, first: int):
        super().__init__(X)
        self._table, self._first = table, first

    def where(self, row: int) -> str | None:
        return self._table.where(self._first + row)


class MapDraft(NamedTuple):
    """A map that is not yet fitted, its seed, and rows that were sampled for it."""

    map: FeatureMap
    seed: int
    sample: RowSample | None


def row_stream(seed: int) -> Stream:
    """Return the stream that samples rows, which is the stream of ``map.fit`` with this seed."""
    return Stream(seed).child("rows")


def has_levels(X: Any) -> bool:
    """Return whether rows come from a data frame with columns of text or truth values."""
    return is_frame(X) and not all(kind_of(column) in (*NUMBERS, *TIMES) for column in columns(X).values())


class KernelMachine(TellsCallbacks, MachineParameters):
    """A linear model on the features of a map.

    Every learner documents its own arguments, including these.

    Attributes
    ----------
    map_ : FeatureMap
        The fitted map.
    preparation_ : Preparation
        What was learned about the columns.
    target_name_ : str, int, tuple of str or None
        The column of the targets in the table from which the rows came: its name, or its number if columns have no
        names; None if there was no such column, or no table.
    weight_name_ : str, int or None
        The column of the weights in that table.
    first_rows_ : tuple of str
        Fingerprints of the first rows of that table, by which they are recognised.
    """

    can_be_exact: ClassVar[bool] = False
    """Whether ``map="exact"`` is supported, with which every row may have a coefficient."""

    device: str | None = None
    """Where to compute, for learners with this argument."""

    has_pilot: ClassVar[bool] = False
    """Whether ``kernel="auto"`` is supported, with which a pilot chooses the kernel."""

    _set_last: ClassVar[str] = "coef_"
    """The attribute that ``fit`` sets last: without it the learner is not fitted."""

    def __init__(
        self,
        kernel: KernelArgument = None,
        *,
        n_components: int | None = None,
        map: MapArgument = "auto",
        scale: str | None = "auto",
        missing: str = "auto",
        unknown: str = "auto",
        dates: str = "number",
        random_state: RandomState = None,
        n_jobs: int | None = None,
        callback: Callable[[Progress], None] | None = None,
    ):
        self.kernel = kernel
        self.n_components = n_components
        self.map = map
        self.scale = scale
        self.missing = missing
        self.unknown = unknown
        self.dates = dates
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback

    def check_arguments(self) -> None:
        """Refuse invalid arguments."""
        check_jobs(self.n_jobs)
        for name, choices in (("scale", SCALES), ("missing", MISSING), ("unknown", UNKNOWN), ("dates", (OPEN, *DATES))):
            check_choice(name, getattr(self, name), choices)
        check_name(self.device)
        check_map_choice(self.kernel, self.n_components, self.map, self.has_pilot)
        if is_exact(self) and not self.can_be_exact:
            raise ValueError(f"map='exact' is for classifiers and regressors, found {type(self).__name__}")
        if not (self.callback is None or callable(self.callback)):
            raise ValueError(f"callback must be a function or None, found {self.callback!r}")

    # -- from X to a table of rows -------------------------------------------------------------------------------------

    def table_to_fit(self, X: Any, y: Any = None, sample_weight: WeightArgument = None) -> Table:
        """Return the training rows as a table, and discard what an earlier ``fit`` has learned.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.
        y : array-like or None, default=None
            The targets, as for ``fit``.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            The weights of the rows, as for ``fit``.

        Returns
        -------
        Table
            The table that :meth:`fit_table` expects.
        """
        self.check_arguments()
        refuse_path(X)
        return self._labelled(*as_given(X, y, sample_weight), reset=True)

    def fit_table(self, table: Table, context: FitContext) -> Self:
        """Fit to rows in a context: ``fit`` is this method with the default context.

        Parameters
        ----------
        table : Table
            The result of :meth:`table_to_fit`.
        context : FitContext
            Progress, checkpoints, memory, and the starting point.

        Returns
        -------
        KernelMachine
            The fitted learner itself.
        """
        raise NotImplementedError

    def _labelled(self, X: Any, y: Any, sample_weight: WeightArgument, reset: bool) -> Table:
        """Return the training rows, with their targets if the learner has some."""
        return self._table(X, None, sample_weight, reset)

    def _checked(self, X: Any, reset: bool) -> Any:
        """Return X as scikit-learn validates it; a data frame with levels or dates is not changed."""
        return checked_rows(self, X, reset)

    def _table(self, X: Any, y: Any, sample_weight: WeightArgument, reset: bool) -> Table:
        """Return the training rows; with ``reset`` nothing of an earlier ``fit`` remains."""
        if reset:
            self._drop_learned()
            self._check_pairwise()
            remember(self, X)
        if isinstance(X, Table):
            if y is not None or sample_weight is not None:
                raise ValueError("the blocks of X contain y and weights: do not give y or sample_weight as well")
            return self._adopted(X, reset)
        X = self._checked(X, reset)
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(to_numpy(sample_weight), X, dtype=np.float64, ensure_non_negative=True)
            if not weight.any():
                raise ValueError("sample_weight must not be all 0")
            check_extreme_weights(weight)
        return ArrayTable(X, y, weight, square=reset and self._is_pairwise)

    @property
    def holds_rows(self) -> bool:
        """Whether memory is needed for every row."""
        return False

    @property
    def may_iterate(self) -> bool:
        """Whether ``fit`` may pass over the rows repeatedly, depending on their number."""
        return self.holds_rows

    def iterates(self, n_rows: int, memory: int | None = None) -> bool:
        """Return whether ``fit`` passes over this many rows repeatedly, instead of summing them, in this much memory.

        Parameters
        ----------
        n_rows : int
            The number of rows.
        memory : int or None, default=None
            The largest number of bytes to use. None means the memory of the machine.

        Returns
        -------
        bool
            True for repeated passes.
        """
        return self.holds_rows

    def bytes_needed(self, extent: Extent, memory: int | None = None) -> int:
        """Return the least memory that a fit takes in addition to the map and the rows themselves.

        Parameters
        ----------
        extent : Extent
            The size of the fit.
        memory : int or None, default=None
            The largest number of bytes to use. None means the memory of the machine.

        Returns
        -------
        int
            The number of bytes.
        """
        return 0

    def _adopted(self, table: Table, reset: bool) -> Table:
        """Return a table as this machine expects it: the columns of files are matched by name."""
        if isinstance(table, Matched):
            return table
        if isinstance(table, PartitionedFiles) and reset:
            self._adopted(table.source, reset)
            return table
        if not isinstance(table, SourceTable):
            validate_data(self, table.head().X, skip_check_array=True, reset=reset)
            return table
        if reset:
            table.head()  # raises the error about missing rows first
            adopt_columns(self, table)
            return table
        matched = matched_columns(self, table)
        matched.head()  # not the error of the table, which may have faults in other columns
        return as_in_fit(matched, self.preparation_)

    # -- from rows to features -----------------------------------------------------------------------------------------

    def _begin(self, table: Table, context: FitContext, iterates: bool = False) -> Passes:
        """Return the passes of a fit over a table, which is refused if it does not fit in memory.

        ``iterates`` says whether there may be several passes over features.
        """
        device = Device.named(self.device) or context.device
        passes = Passes(table, context, heard_by(self), self.n_jobs, device)
        check_before(self, table, limit_of(passes), iterates, workers_limit(passes))
        return passes

    def _begin_fit(self, table: Table, context: FitContext) -> Passes:
        """Return the passes, with the following work as far as it is known."""
        passes = self._begin(table, context, self.may_iterate)
        self._announce(passes, table)
        return passes

    def _announce(self, passes: Passes, table: Table) -> None:
        """Announce the following work."""
        if passes.report.is_heard:
            passes.report.expect(self._expected(table.n_rows, min(known_width(self), table.n_rows)))

    def _start(self, table: Table, exact: bool, passes: Passes) -> PreparedRows:
        """Learn the preparation and the map; ``exact`` allows the map that "auto" uses for few rows."""
        plan = ScanPlan(table, passes)
        return self._learn_map(self._learn_preparation(plan), exact, plan)

    def _learn_preparation(self, plan: ScanPlan) -> MapDraft:
        """Learn the preparation, in scans that serve all pending needs and also take a sample for the map."""
        chosen = chosen_map(self)
        if plan.settled is not None:
            self.preparation_ = plan.settled.preparation
            plan.finish()
            return MapDraft(chosen, plan.settled.seed, plan.settled.sample)
        table, passes = plan.table, plan.passes
        self.preparation_ = copy(passes.context.preparation) or self._new_preparation()
        seed = passes.context.seed(chosen.random_state)
        looked_at = self.preparation_.rows_sampled
        count = looked_at if isinstance(table, ArrayTable) else max(rows_sampled(chosen), self._rows_sampled, looked_at)
        sample = RowSample(row_stream(seed), count) if count else None
        self._scan_columns(plan, sample)
        return MapDraft(chosen, seed, sample)

    @property
    def prepares_columns(self) -> bool:
        """Whether the preparation of columns is chosen by the rows, unless a kernel refers to them as they are."""
        return is_open(self.scale) and not takes_rows_as_they_are(self)

    @property
    def asked_scale(self) -> str | None:
        """The requested scaling of rows."""
        return None if is_open(self.scale) and not self.prepares_columns else self.scale

    @property
    def asked_missing(self) -> str:
        """The requested treatment of missing values."""
        return "error" if is_open(self.missing) and self._is_pairwise else self.missing

    @property
    def asked_unknown(self) -> str:
        """The requested treatment of levels that ``fit`` has not seen."""
        return self.unknown

    @property
    def asked_dates(self) -> str:
        """How dates should become numbers."""
        return self.dates if not is_open(self.dates) else "parts" if self.prepares_columns else "number"

    def _new_preparation(self) -> Preparation:
        """Return the requested preparation, before it has learned anything."""
        names = getattr(self, "feature_names_in_", None)
        make = Preparation.automatic if self.prepares_columns else Preparation
        return make(self.asked_scale, self.asked_missing, self.asked_unknown, self.asked_dates, names)

    def _scan_columns(self, plan: ScanPlan, sample: RowSample | None) -> None:
        """Let the preparation learn from all rows, in scans that serve all pending needs and also take a sample.

        A preparation that is given in the context has learned already.
        """
        table, passes, looked_at = plan.table, plan.passes, self.preparation_.rows_sampled
        if sample is not None:
            plan.add("sample", sample)
        if passes.context.preparation is not None:
            return plan.finish()
        head = table.head().X
        levelled = has_levels(head)  # otherwise the first block determines the kinds of columns
        if levelled:
            self.preparation_.take_columns(plan.found("levels", columns_of_rows, joined_columns))
        else:
            self.preparation_.learn_columns([head])
        if self._is_pairwise and self.preparation_.levelled is not None:
            raise ValueError(
                f"kernel='precomputed' expects kernel values, found levels in column {self.preparation_.levelled!r}"
            )
        check_levels(self, self.preparation_, passes.context.memory)
        if self.preparation_.needs_summary:
            found = plan.found("scales", partial(scales_of_rows, self.preparation_), Found.joined)
            self.preparation_.take_scale(found, None if sample is None else lambda: sample.block(looked_at))
        plan.finish()

    def _learn_map(self, draft: MapDraft, exact: bool, plan: ScanPlan) -> PreparedRows:
        """Fit the map, or the exact one in its place if that is allowed and there are few rows."""
        rows = self._prepared_rows(draft, plan)
        chosen = (exact_map(self, rows) if exact else None) or draft.map
        self.map_: FeatureMap = self._to_fit(chosen, rows.n_rows).fit_rows(rows, draft.seed)
        return rows

    def _to_fit(self, chosen: FeatureMap, n_rows: int) -> FeatureMap:
        """Return the map that is fitted in place of the chosen one."""
        return chosen

    def _prepared_rows(self, draft: MapDraft, plan: ScanPlan) -> PreparedRows:
        """Return the rows to which the map is fitted; their preparation is now settled."""
        self.preparation_.forget()
        stream = row_stream(draft.seed)
        return PreparedRows(plan.table, self.preparation_, stream, plan.passes, draft.sample, self._extremes())

    def _extremes(self) -> Extremes | None:
        """Return the observer that finds the region of the rows; None if it is not needed."""
        return None

    @property
    def _rows_sampled(self) -> int:
        """The size of the sample of rows that the learner itself needs; 0 if it needs none."""
        return 0

    def _expected(self, n_rows: int, width: int) -> list[Work]:
        """Return the work that follows once there is a map, with features of this width."""
        return []

    @property
    def _is_pairwise(self) -> bool:
        """Whether the given rows are rows of a kernel matrix."""
        of_map = self.map.get_params().values() if isinstance(self.map, FeatureMap) else ()
        return any(isinstance(value, str) and value == "precomputed" for value in (self.kernel, *of_map))

    def _check_pairwise(self) -> None:
        if self._is_pairwise and not (self.asked_scale is None and self.asked_missing == "error"):
            raise ValueError(
                "kernel='precomputed' expects kernel values, not columns, which cannot be scaled or filled: give "
                f"scale=None and missing='error', found scale={self.scale!r} and missing={self.missing!r}"
            )

    @staticmethod
    def _refuse_overflow(*learned: NDArray[Any]) -> None:
        """Raise an error if numbers have overflowed, since predictions from them mean nothing."""
        if not all(np.isfinite(one).all() for one in learned):
            raise ValueError("the fitted values overflow: scale the rows, targets or weights down")

    def for_parts(self) -> tuple[Any, ...]:
        """Return a function and arguments that recreate this machine where the partitions are.

        Returns
        -------
        tuple
            A function and its arguments, as for ``__reduce__``.
        """
        kept = {name: value for name, value in vars(self).items() if name not in IN_PROCESS}
        return copied_machine, (type(self), kept | {"callback": None, "statistics_": None})

    def _drop_learned(self) -> None:
        """Return to the state before ``fit``, so that a failed fit leaves no coefficients of another map behind."""
        for name in [name for name in vars(self) if name.endswith("_") and not name.endswith("_in_")]:
            delattr(self, name)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, self._set_last)

    @property
    def is_prepared(self) -> bool:
        """Whether there is a model to save: one that is fitted, or one that can add rows."""
        return hasattr(self, self._set_last)

    def features_of(self, X: Array, first_row: int) -> NDArray[Any]:
        """Return the features of prepared rows.

        Parameters
        ----------
        X : ndarray or sparse matrix
            The prepared rows.
        first_row : int
            The number of the first of them.

        Returns
        -------
        ndarray of shape (n_rows, D)
            The features.
        """
        check_rows(self.map_.kernel_, X, first_row)
        return features(self.map_.fitted_, X, 1, first_row)

    def _difference(self, other: KernelMachine) -> str | None:
        """Describe the difference between the features of two machines."""
        ours, theirs = self.map_, other.map_
        for name, mine, its in (
            ("the map", type(ours).__name__, type(theirs).__name__),
            ("the kernel", ours.kernel_, theirs.kernel_),
            ("the seed", ours.seed_, theirs.seed_),
            ("the width", ours.n_components_, theirs.n_components_),
            ("the number of columns", self.n_features_in_, other.n_features_in_),
        ):
            if mine != its:
                return f"{name} is {mine!r} here and {its!r} there"
        difference = self.preparation_.differs(other.preparation_)
        if difference is None and not equal_parameters(ours.parameters_, theirs.parameters_):
            return "the maps were fitted to different rows"
        return difference

    # -- predictions ---------------------------------------------------------------------------------------------------

    def linear_values(
        self,
        X: Any,
        coef: NDArray[Any],
        intercept: NDArray[Any],
        result: DTypeLike | None = None,
        size: NDArray[Any] | None = None,
        left: Callable[[Array], NDArray[np.float64]] | None = None,
        within: Region | None = None,
    ) -> NDArray[Any]:
        """Return <coef, z> + intercept for every row of X and every row of ``coef``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.
        coef : ndarray of shape (n_outputs, D)
            The coefficients.
        intercept : ndarray of shape (n_outputs,)
            The constants.
        result : dtype or None, default=None
            The type of the result, in which the constants are added. None means the type of the rows.
        size : ndarray of shape (n_outputs,) or None, default=None
            The size of the values: products are computed in float64 if those in float32 would be wrong by more than a
            small share of it.
        left : callable or None, default=None
            Returns, for prepared rows, the factor that <coef, z> is multiplied by.
        within : Region or None, default=None
            Prepared rows outside this region are moved to its surface.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
            The values.
        """
        device = Device.named(self.device) or Device.of(X)
        if device is not None:
            return self._device_values(device, X, coef, intercept, result, size, left, within)
        fitted, weights = self.map_.fitted_.linear(coef)
        digits = np.float32 if size is None or weights is None else self.precision_for(weights, size)

        def products(prepared: Array, first: int) -> NDArray[Any]:
            prepared = prepared if within is None else within.nearest(prepared)
            dtype = prepared.dtype
            Z = features(fitted, prepared.astype(np.result_type(dtype, digits), copy=False), 1, first)
            found = Z if weights is None else Z @ weights.T.astype(Z.dtype)
            if left is not None:
                found = found * left(prepared)[:, None]
            return (found + intercept.astype(np.result_type(Z.dtype, result or dtype))).astype(
                result or dtype, copy=False
            )

        return self._by_rows(X, products)

    def _device_values(
        self,
        device: Device,
        X: Any,
        coef: NDArray[Any],
        intercept: NDArray[Any],
        result: DTypeLike | None,
        size: NDArray[Any] | None,
        left: Callable[[Array], NDArray[np.float64]] | None,
        within: Region | None,
    ) -> NDArray[Any]:
        """Return linear values computed on a device, in blocks that are large enough for it."""
        digits = np.float32 if size is None else self.precision_for(coef, size)
        values = cache(lambda dtype: RowValues.linear(device, self.map_, coef, dtype))

        def products(prepared: Array, first: int) -> NDArray[Any]:
            prepared = prepared if within is None else within.nearest(prepared)
            dtype = prepared.dtype
            used = np.result_type(dtype, digits)
            found = values(used)(prepared, first)
            if left is not None:
                found = found * left(prepared)[:, None]
            return (found + intercept.astype(np.result_type(used, result or dtype))).astype(result or dtype, copy=False)

        return self._by_rows(X, products, DEVICE_ROWS, 1)

    def values_on_device(
        self,
        X: Any,
        values: Callable[[DTypeLike], RowValues],
        finish: Callable[[Array, NDArray[Any]], NDArray[Any]],
    ) -> NDArray[Any]:
        """Return values of rows that are computed from features on a device.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.
        values : callable
            Returns the values that are computed on the device, in the precision that it is given.
        finish : callable
            Returns the results, given prepared rows and the values from the device.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
            The results.
        """
        made = cache(values)
        return self._by_rows(X, lambda rows, first: finish(rows, made(rows.dtype)(rows, first)), DEVICE_ROWS, 1)

    def precision_for(self, weights: NDArray[Any], size: NDArray[Any]) -> type[np.floating]:
        """Return the precision for products with weights, which are large and cancel if features are dependent.

        Parameters
        ----------
        weights : ndarray of shape (n_outputs, D)
            The coefficients.
        size : ndarray of shape (n_outputs,)
            The size of the results.

        Returns
        -------
        dtype
            The type for products: float32 if its errors are small, otherwise float64.
        """
        kernel = self.map_.kernel_
        if not decays(kernel):
            return np.float32
        off = float(np.finfo(np.float32).eps) * float(kernel.amplitude) * np.linalg.norm(weights, axis=1)
        return np.float64 if (off > ROUNDED * size).any() else np.float32

    def _by_rows(
        self,
        X: Any,
        function: Callable[[Array, int], NDArray[Any]],
        together: int | None = None,
        n_jobs: int | None = None,
    ) -> NDArray[Any]:
        """Return the results of a function of prepared rows, called for some of them at a time.

        ``together`` and ``n_jobs`` are the number of rows and of threads; None means the numbers that suit the CPU.
        """
        check_is_fitted(self)
        how = function, together, n_jobs
        if isinstance(X, Table):
            table = self._adopted(X.features(), reset=False)
            return np.concatenate([self._of_rows(table, block.X, n, *how) for n, block in numbered(table)])
        X = self._checked(X, reset=False)
        return self._of_rows(ArrayTable(X), X, 0, *how)

    def _of_rows(
        self,
        table: Table,
        X: Any,
        first: int,
        function: Callable[[Array, int], NDArray[Any]],
        together: int | None = None,
        n_jobs: int | None = None,
    ) -> NDArray[Any]:
        """Return the results of a function for rows of a table, the first of which has this number."""

        def part(rows: slice) -> NDArray[Any]:
            numbers = range(first + rows.start, first + rows.stop)
            prepared = placed(table, self.preparation_, part_of(X, rows), numbers)
            check_rows(self.map_.kernel_, prepared, numbers.start, table.where)
            return function(prepared, numbers.start)

        together = together or min(PREDICTED_ROWS, chunk_rows(self.map_.n_components_, 4))
        threads, n_rows = self.n_jobs if n_jobs is None else n_jobs, X.shape[0]
        if 0 < n_rows <= together:  # one call is enough; for a single row, calls take most of the time
            found: list[NDArray[Any]] = []
            run_tiles(lambda rows: found.append(part(rows)), n_rows, together, threads)
            out = found[0]
        else:
            head = part(slice(0, 1))
            self.preparation_.new_entries.clear()  # this row is processed again
            out = np.empty((n_rows, *head.shape[1:]), dtype=head.dtype)

            def fill(rows: slice) -> None:
                out[rows] = part(rows)

            run_tiles(fill, n_rows, together, threads)
        self.preparation_.new_entries.tell()
        return out

    @available_if(lambda self: hasattr(self, "predict"))
    def predict_blocks(self, table: Table, method: str = "predict") -> Iterator[NDArray[Any]]:
        """Yield predictions block by block, for more rows than their predictions fit in memory.

        Parameters
        ----------
        table : Table
            The rows.
        method : str, default="predict"
            The method whose results are returned, such as "decision_function".

        Yields
        ------
        ndarray
            The predictions for one block of rows.
        """
        check_is_fitted(self)
        table = self._adopted(table.features(), reset=False)
        for first, block in numbered(table):
            yield getattr(self, method)(Matched(table, block.X, first))

    def treating_unknown(self, unknown: str) -> Self:
        """Return the same fitted learner with another treatment of levels that it has not learned.

        Parameters
        ----------
        unknown : {"auto", "error", "ignore"}
            "error" refuses such a level, and "ignore" treats it as none of the known levels; "auto" does so with a
            warning.

        Returns
        -------
        KernelMachine
            A copy.
        """
        other = copy(self)
        other.preparation_ = self.preparation_.treating_unknown(unknown)
        return other

    def matched_table(self, table: Table) -> Table:
        """Return a table with the columns of ``fit``, in their order; raise an error if some are missing.

        Parameters
        ----------
        table : Table
            The table.

        Returns
        -------
        Table
            The same rows with these columns.
        """
        check_is_fitted(self)
        return self._adopted(table, reset=False)

    @lazily
    def features_at(self, X: Any) -> NDArray[Any]:
        """Return the features of rows, which are the input of the linear model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.

        Returns
        -------
        ndarray of shape (n_samples, D)
            The features.
        """
        return self._by_rows(X, self.features_of)

    def feature_blocks(self, table: Table) -> Iterator[NDArray[Any]]:
        """Yield the features of rows, block by block.

        Parameters
        ----------
        table : Table
            The rows.

        Yields
        ------
        ndarray of shape (n_rows, D)
            The features of one block of rows.
        """
        table = self.matched_table(table.features())
        for first, block in numbered(table):
            yield self._of_rows(table, block.X, first, self.features_of)

    def observed(
        self, table: Table, predict: Callable[[Any], Any], each: Callable[[Any], None] = lambda rows: None
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64] | None]:
        """Return the targets of a table, the predictions for the same rows, and their weights.

        Parameters
        ----------
        table : Table
            The rows, with targets.
        predict : callable
            The method that predicts, such as ``predict``.
        each : callable, optional
            A function that is called with the rows of every block, before preparation.

        Returns
        -------
        tuple of ndarray, ndarray and ndarray or None
            The targets, the predictions and the weights.
        """
        table, parts = self.matched_table(table), []
        for first, block in numbered(table):
            each(block.X)
            parts.append((block.y, predict(Matched(table, block.X, first)), block.weight))
        if any(y is None for y, _, _ in parts):
            raise ValueError("the blocks must contain y, found only X")
        y, predicted, weight = zip(*parts, strict=True)
        return np.concatenate(y), np.concatenate(predicted), None if weight[0] is None else np.concatenate(weight)

    # -- model files ---------------------------------------------------------------------------------------------------

    learned_types: ClassVar[dict[str, Any]] = {}
    """Attributes that ``fit`` sets in addition to arrays, the map and the preparation, with their types."""

    def array_layout(self) -> dict[str, Any]:
        """Return the arrays that ``fit`` may set.

        Returns
        -------
        dict
            A Leaf, or a tuple of them, for every attribute.
        """
        return {}

    def check_arrays(self) -> None:
        """Raise a ValueError if arrays are missing or inconsistent; optional ones may be None."""

    def _refuse_unless(self, agree: bool) -> None:
        if not agree:
            raise ValueError(f"the arrays of this {type(self).__name__} are incomplete or do not belong together")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.asked_missing != "error"
        tags.input_tags.pairwise = self._is_pairwise
        parts = (self.known_kernel, self.map)
        tags.input_tags.positive_only = any(
            part.domain_is_non_negative for part in parts if isinstance(part, Kernel | FeatureMap)
        )
        return tags


def copied_machine(kind: type[KernelMachine], attributes: dict[str, Any]) -> KernelMachine:
    """Return a machine with these attributes."""
    machine = kind.__new__(kind)
    machine.__dict__.update(attributes)
    return machine


def numbered(table: Table) -> Iterator[tuple[int, Block]]:
    """Yield the blocks of a table, with the numbers of their first rows."""
    first = 0
    for block in table.blocks():
        yield first, block
        first += block.X.shape[0]
