"""AutoMap: the choice of map and number of features for a kernel, rows and a tolerable error."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from .._checks import check_choice, check_jobs, check_positive, check_whole
from .._defaults import LEARNER_WIDTH, MAP_WIDTH, SEARCH_SECONDS, WIDEST_CHOSEN
from .._memory import as_bytes
from .._random import RandomState, Stream
from .._rows import Rows
from .._tiles import single_threaded_blas
from ..kernels import Kernel
from ..kernels.defaults import GAUSSIAN
from ..maps import FeatureMap
from ..maps.construction import Construction
from ..maps.description import MapDescription
from ..maps.row_checks import check_domain
from ..maps.rules import feature_map
from .gram_errors import Estimate
from .held_out_rows import RowsWithout
from .map_costs import operations_in
from .map_pilot import NEGLIGIBLE, Budget, Candidate, Pilot, PilotTable, PilotTrial
from .verification import Passed, Verification

ERRORS = ("relative_frobenius", "max")
FEWEST_ROWS = 32
"""With fewer rows errors cannot be measured, and the rules for the kernel decide."""
JUDGED_ROWS, FRESH_ROWS = 1000, 2000
"""Rows that judge the pilot, and rows that verify its choice: at most a quarter and a third of the rows."""
FINALISTS, NEAR = 4, 1.5
"""The number of maps that are fitted to choose among them, and the largest ratio of their pilot errors."""
MOST_FOLDS, FOLDED_FEATURES = 8, 2048
"""The number of folds in which these maps are compared, and the largest total number of features in all folds."""
AS_GOOD = 1.02
"""Errors that differ by at most this factor count as equal, and the cheaper map is chosen."""


class TargetNotMetError(ValueError):
    """Raised if no map within the budget has an error as small as requested.

    Parameters
    ----------
    message : str
        The requested error, and the best one that was found.
    pilot : PilotTable
        The trials.
    """

    def __init__(self, message: str, pilot: PilotTable):
        super().__init__(message)
        self.pilot = pilot


class AutoMap(FeatureMap):
    r"""The map and the number of features for a kernel, rows and a tolerable error, verified on fresh rows.

    Use it if the error of the kernel matters and the map does not: give ``target_error``, and ``fit`` finds the
    cheapest map and width that meet it, or says how close the budget comes. Give only ``n_components``, and it finds
    the most accurate map of that width. If you know which map you want, name it: the pilot costs a few seconds.

    Parameters
    ----------
    kernel : Kernel or str, default=Gaussian("scale")
        A kernel of :mod:`mercer.kernels`, or text that describes one.
    n_components : int or None, default=None
        The number of features; together with a target, the largest allowed number. None means 256 if nothing else is
        given, and otherwise as many as needed, up to 32,768.
    target_error : float or None, default=None
        The error to stay below, with 95 % confidence.
    time_budget : float or None, default=None
        The number of seconds for least squares on the features of all rows of ``fit``, including the map, on one
        thread. It is converted to a number of operations at a fixed speed and not measured. None means 120 unless only
        ``n_components`` is given.
    memory_budget : int, str or None, default=None
        The number of bytes for the features of all rows of ``fit``, or text such as "2GB". None means no limit.
    error : {"relative_frobenius", "max"}, default="relative_frobenius"
        The kind of error; see Notes.
    random_state : int, Generator, RandomState or None, default=None
        Determines the choice and the map; an int makes them reproducible. See :class:`FeatureMap`.
    n_jobs : int or None, default=None
        The number of threads; see :class:`FeatureMap`.

    Attributes
    ----------
    map_ : FeatureMap
        The chosen map, fitted.
    pilot_ : PilotTable
        The trials: map, width, error with its interval, cost. It is empty for fewer than 32 rows, which are too few
        to measure anything; :func:`mercer.feature_map` then decides.
    error_ : Estimate or None
        The error of the chosen map with its 95 % interval. With a target it was verified on fresh rows. Without one it
        was measured on the rows that also chose among the best maps, before the chosen map was fitted to these rows as
        well. None for fewer than 32 rows.
    n_components_ : int
        The number of features.

    Notes
    -----
    ``fit`` sets rows aside and tries every map that supports the kernel (:func:`mercer.choose.maps_for`, and
    :class:`Nystrom` with both kinds of landmarks) with 4, 8, 16, ... up to 1,024 features. A power law between and
    beyond these widths predicts the width that each map needs. Maps are ranked by what least squares on that many
    features would cost, counted in operations and never timed, so that a seed makes the same choice everywhere.

    The first map in this ranking is fitted with other random numbers than in the pilot, to all rows except up to 2,000
    fresh ones (at most a third), which play no part in the choice or the fit. The number of features grows until the
    upper confidence limit of the error on the fresh rows is below the target. This limit is the upper end of a
    two-sided 95 % interval, which is exceeded once in 40 times; the rest of the 5 % allows for checking the same rows
    again with a wider map, whose errors are similar.

    The error is :math:`\|ZZ^\top - K\|_F / \|K\|_F` for the kernel matrix K of as many new rows as ``fit`` has seen, or
    with ``error="max"`` the largest entry of :math:`|ZZ^\top - K|` among as many new rows as were used for
    verification. Rows from another source than those of ``fit`` are not covered: use :func:`mercer.certify` on such
    rows.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).normal(size=(1500, 4))
    >>> auto = mercer.AutoMap("gaussian('median')", target_error=0.05, random_state=0).fit(X[:1000])
    >>> bool(mercer.kernel_error(auto, X[1000:]).relative < 0.05)
    True
    >>> auto.error_.high < 0.05, auto.pilot_.chosen.verified
    (True, True)
    """

    description = MapDescription(
        features="the features of the map that suits the kernel and the rows best",
        kernels="all of `mercer.kernels`",
        when="you know the tolerable error, but neither map nor width",
        cost="the cost of the chosen map",
        variance="no",
        over=True,
    )
    construction: ClassVar[type[Construction]] = Construction  # type: ignore[type-abstract]  # the chosen map has one
    _choices: ClassVar[dict[str, tuple[Any, ...]]] = {"error": ERRORS}

    map_: FeatureMap
    pilot_: PilotTable

    def __init__(
        self,
        kernel: Kernel | str = GAUSSIAN,
        *,
        n_components: int | None = None,
        target_error: float | None = None,
        time_budget: float | None = None,
        memory_budget: int | str | None = None,
        error: str = "relative_frobenius",
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ):
        self.kernel = kernel
        self.n_components: Any = n_components
        self.target_error = target_error
        self.time_budget = time_budget
        self.memory_budget = memory_budget
        self.error = error
        self.random_state = random_state
        self.n_jobs = n_jobs

    # -- arguments -----------------------------------------------------------------------------------------------------

    def width(self) -> Any:
        return MAP_WIDTH if self.n_components is None else self.n_components

    def width_for(self, n_rows: int) -> int:
        """Return a guess of the number of features, which is known only after ``fit``.

        Parameters
        ----------
        n_rows : int
            The number of rows.

        Returns
        -------
        int
            The guess.
        """
        if self.n_components is None and (self.target_error is not None or self._has_budget):
            return LEARNER_WIDTH
        return int(self.width())

    def check_arguments(self) -> None:
        if self.n_components is not None:
            check_whole("n_components", self.n_components, alternatives=" or None")
        for name in ("target_error", "time_budget"):
            if getattr(self, name) is not None:
                check_positive(name, getattr(self, name), " or None")
        if self.memory_budget is not None:
            as_bytes(self.memory_budget)
        check_choice("error", self.error, ERRORS)
        check_jobs(self.n_jobs)

    def construct(self, rows: Rows) -> Construction:
        """Raise an error, since the choice is known only after ``fit``.

        Parameters
        ----------
        rows : Rows
            The rows; not used.

        Returns
        -------
        Construction
            Never, because it always raises an error.
        """
        raise TypeError(
            "AutoMap cannot be used inside another map, since it chooses in fit; fit it first and use its map_ instead"
        )

    @property
    def _has_budget(self) -> bool:
        return self.time_budget is not None or self.memory_budget is not None

    @property
    def _most_features(self) -> int:
        """The largest number of features of the choice."""
        if self.n_components is not None:
            return int(self.n_components)
        return WIDEST_CHOSEN if self.target_error is not None or self._has_budget else MAP_WIDTH

    def _budget(self) -> Budget:
        seconds = self.time_budget
        if seconds is None:  # a requested width is used at any cost
            alone = self.n_components is not None and self.target_error is None
            seconds = math.inf if alone else SEARCH_SECONDS
        memory = math.inf if self.memory_budget is None else float(as_bytes(self.memory_budget))
        return Budget(operations_in(float(seconds)), memory, float(self._most_features))

    # -- from rows to a choice -----------------------------------------------------------------------------------------

    def fit_rows(self, rows: Rows, seed: int) -> Self:
        self.__dict__.pop("fitted_", None)
        self.check_arguments()
        if rows.dtype == object or self.is_opaque:
            raise TypeError(
                f"AutoMap needs a kernel of mercer.kernels and rows of numbers, found {self.kernel!r}; for functions "
                "and kernel matrices use Nystrom"
            )
        self.seed_ = seed
        kernel = self.resolved_kernel(rows)
        check_domain(kernel, rows)
        with single_threaded_blas():  # so that a choice does not depend on the number of threads
            map, pilot = self._choose(kernel, rows, seed)
        self.adopt_choice(map, pilot)
        return self

    @property
    def is_opaque(self) -> bool:
        """Whether only the values of the kernel are known."""
        return self.kernel == "precomputed" or not isinstance(self.kernel, Kernel | str)

    def _choose(self, kernel: Kernel, rows: Rows, seed: int) -> tuple[FeatureMap, PilotTable]:
        n, wanted = rows.n_rows, self.target_error
        if n < FEWEST_ROWS:
            if wanted is not None:
                raise ValueError(
                    f"AutoMap verifies the error on separate rows and needs at least {FEWEST_ROWS} rows, found "
                    f"n_samples={n}; give more rows, or no target_error"
                )
            rule = feature_map(kernel, n_components=self._most_features)
            return self._fitted(rule, rows, seed), self._table([], None, 0, 0)
        n_fresh = 0 if wanted is None else min(n // 3, FRESH_ROWS)
        n_judged = min(n // 4, JUDGED_ROWS)
        numbers = rows.choose(n_fresh + n_judged)
        order = Stream(seed, "AutoMap", "apart").permutation(len(numbers))
        fresh, judged = (np.sort(numbers[part]) for part in np.split(order, [n_fresh]))
        pilot = Pilot(
            kernel,
            RowsWithout(rows, numbers, Stream(seed, "AutoMap", "taught")),
            rows.take(judged),
            size=n,
            most_landmarks=n - n_fresh,
            error=self.error,
            budget=self._budget(),
            seed=_pilot_seed(seed),
            n_jobs=self.n_jobs,
        )
        if wanted is None:
            left = RowsWithout(rows, judged, Stream(seed, "AutoMap", "fitted"))
            best = self._most_accurate(pilot, left, seed)
            return self._fitted(clone(best.map), rows, seed), self._table(pilot.trials, best.trial, n_judged, 0)
        left = RowsWithout(rows, fresh, Stream(seed, "AutoMap", "fitted"))
        best = self._verified(pilot, left, rows.take(fresh), seed)
        return best.map, self._table(pilot.trials, best.trial, n_judged, n_fresh)

    def _fitted(self, map: FeatureMap, rows: Rows, seed: int) -> FeatureMap:
        map.set_params(random_state=seed, n_jobs=self.n_jobs)
        map.fit_rows(rows, seed)
        return map

    def _table(self, trials: list[PilotTrial], chosen: PilotTrial | None, rows: int, fresh: int) -> PilotTable:
        wanted = None if self.target_error is None else float(self.target_error)
        marked = tuple(one._replace(chosen=one is chosen) for one in trials)
        return PilotTable(self.error, wanted, rows, fresh, marked)

    def _most_accurate(self, pilot: Pilot, left: Rows, seed: int) -> Passed:
        """Return the map with the smallest error at the largest width that the budget allows it.

        The first maps of the pilot are compared in further folds of its rows, since landmarks vary a lot from draw to
        draw and a few outlying rows may dominate the error. The geometric mean decides, so that all folds count
        equally.
        """
        widths = {one.name: pilot.widest(one, self._most_features) for one in pilot.candidates}
        pilot.climb(None, max(widths.values()))
        if not pilot.known:
            raise self._unmet(pilot, "no map fits in the budget")
        expected = sorted(pilot.known, key=lambda one: one.error_at(widths[one.name]))
        most = NEAR * expected[0].error_at(widths[expected[0].name])
        finalists = [one for one in expected[:FINALISTS] if one.error_at(widths[one.name]) <= most]
        found = [self._judged(pilot, one, widths[one.name], left, seed) for one in finalists]
        errors = [[one.error_at(widths[one.name]), two.trial.error] for one, two in zip(finalists, found, strict=True)]
        if len(finalists) > 1:
            widest = max(widths[one.name] for one in finalists)
            for number in range(min(MOST_FOLDS, FOLDED_FEATURES // widest)):
                fold = pilot.fold(number, widest)
                for one, known in zip(finalists, errors, strict=True):
                    known.append(pilot.try_in(fold, one, widths[one.name]))
        means = [float(np.exp(np.log(np.maximum(known, NEGLIGIBLE)).mean())) for known in errors]
        good = [one for one, mean in zip(found, means, strict=True) if mean <= AS_GOOD * min(means)]
        return min(good, key=lambda one: one.trial.operations)

    def _judged(self, pilot: Pilot, candidate: Candidate, width: int, left: Rows, seed: int) -> Passed:
        map = self._fitted(candidate.at(width), left, seed)
        return Passed(map, pilot.note(candidate, map.n_components_, pilot.judge(map)))

    # -- a target ------------------------------------------------------------------------------------------------------

    def _verified(self, pilot: Pilot, left: Rows, fresh: Any, seed: int) -> Passed:
        """Return the cheapest map whose upper limit on fresh rows is below the target."""
        assert self.target_error is not None

        def fit(map: FeatureMap) -> FeatureMap:
            return self._fitted(map, left, seed)

        target = float(self.target_error)
        pilot.climb(target, self._most_features)
        passed = Verification(pilot, fit, fresh, target, self._most_features).cheapest()
        if passed is None:
            raise self._unmet(pilot, "no map meets the target within the budget")
        return passed

    def _unmet(self, pilot: Pilot, what: str) -> TargetNotMetError:
        table = self._table(pilot.trials, None, 0, 0)
        if not pilot.trials:
            return TargetNotMetError(f"{what} ({self._budget()}); allow more time, memory or features", table)
        best = min(pilot.trials, key=lambda one: one.high)
        return TargetNotMetError(
            f"{what} ({self._budget()}): target_error={self.target_error:g} was requested, and the best is "
            f"{best.map} with {best.n_components:,} features and an error of {best.error:.3g} ({best.low:.3g} to "
            f"{best.high:.3g}); give a larger target_error, or allow more time, memory or features",
            table,
        )

    # -- the choice -----------------------------------------------------------------------------------------------

    def adopt_choice(self, map: FeatureMap, pilot: PilotTable) -> None:
        """Adopt a fitted map as the choice, with the trials that led to it.

        Parameters
        ----------
        map : FeatureMap
            The chosen map, fitted.
        pilot : PilotTable
            The trials.
        """
        self.n_features_in_ = map.n_features_in_
        if hasattr(self, "feature_names_in_"):
            map.feature_names_in_ = self.feature_names_in_
        self.map_, self.pilot_, self.fitted_ = map, pilot, map.fitted_

    @property
    def error_(self) -> Estimate | None:
        """The error of the chosen map with its interval, or None if it was not measured."""
        if not self.pilot_.trials:
            return None
        chosen = self.pilot_.chosen
        return Estimate(chosen.error, chosen.low, chosen.high)

    def plot(self) -> Any:
        """Plot the trials: error against width, and error against cost.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, which needs no display and which ``savefig`` writes to a file.
        """
        from .pilot_picture import draw_pilot

        return draw_pilot(self.pilot_)


def _pilot_seed(seed: int) -> int:
    """Return a seed that differs from the seed of the map."""
    return int(Stream(seed, "AutoMap", "pilot").words(1)[0])
