"""The pilot: every map that supports a kernel, tried with increasing widths, and a model of its error at others."""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from .._defaults import WIDEST_CHOSEN
from .._random import Stream
from .._rows import ArrayRows, Rows
from ..kernels import Kernel
from ..maps import FeatureMap, Nystrom
from .gram_errors import Estimate, GramErrors, gram_errors
from .held_out_rows import RowsWithout
from .map_catalogue import maps_for
from .map_costs import work_bytes, work_operations

LEVEL = 0.95
"""The confidence of intervals."""
NARROWEST, WIDEST_TRIED = 4, 1024
"""The widths of the pilot, which double from the first to the last."""
HOPELESS = 4.0
"""A map whose error is this many times the error of the best map of the same width is not tried further."""
TAUGHT_ROWS = 3000
"""The number of rows from which landmarks are drawn, unless three per feature are more."""
STEEPEST, FLATTEST = -3.0, -0.2
"""Limits for the slope of log error against log width beyond the widths that were tried."""
USUAL_SLOPE = -0.5
"""The slope for random features."""
LARGEST_REACH = 3.0
"""The largest ratio of upper limit to error; a larger one only says that there are too few rows."""
NEGLIGIBLE = 1e-9
"""Relative errors below this are rounding errors, which must not decide."""
DIGITS = 6
"""The number of digits of errors that decide; further digits differ from machine to machine."""


class PilotTrial(NamedTuple):
    """A map with some number of features, and its error on rows that it has not seen.

    Attributes
    ----------
    map : str
        The map.
    n_components : int
        The number of features.
    error : float
        The error.
    low : float
        The lower end of its interval.
    high : float
        The upper end of its interval.
    operations : float
        The expected cost of least squares on these features.
    verified : bool
        Whether the rows played no part in the choice.
    chosen : bool
        Whether this is the chosen map.
    """

    map: str
    n_components: int
    error: float
    low: float
    high: float
    operations: float
    verified: bool = False
    chosen: bool = False


class PilotTable(NamedTuple):
    """The trials of a pilot, in order.

    Attributes
    ----------
    error : str
        The kind of error.
    target : float or None
        The error to stay below.
    rows : int
        The number of rows that judged the pilot.
    fresh_rows : int
        The number of rows that verified the choice.
    trials : tuple of PilotTrial
        The trials.
    """

    error: str
    target: float | None
    rows: int
    fresh_rows: int
    trials: tuple[PilotTrial, ...]

    @property
    def chosen(self) -> PilotTrial:
        """The trial of the chosen map."""
        return next(trial for trial in self.trials if trial.chosen)

    def __str__(self) -> str:
        """Return the trials as a table."""
        lines = [f"{'map':<28}{'D':>7}{'error':>11}{'95 % interval':>25}{'operations':>13}"]
        for one in self.trials:
            mark = "chosen" if one.chosen else "verified" if one.verified else ""
            between = f"{one.low:.4g} to {one.high:.4g}"
            lines.append(
                f"{one.map:<28}{one.n_components:>7,}{one.error:>11.4g}{between:>25}{one.operations:>13.3g}  {mark}"
            )
        return "\n".join(line.rstrip() for line in lines)


class Budget(NamedTuple):
    """The limits on the cost of a choice; infinity means no limit."""

    operations: float
    bytes: float
    features: float

    def __str__(self) -> str:
        limits = {
            f"{self.operations:.3g} operations": self.operations,
            f"{self.bytes:.3g} bytes": self.bytes,
            f"{self.features:g} features": self.features,
        }
        return ", ".join(text for text, limit in limits.items() if math.isfinite(limit)) or "no limit"


class Candidate:
    """A map, and a model of its error at other widths.

    Parameters
    ----------
    name : str
        The name of the map.
    map : FeatureMap
        The map, not fitted.
    """

    def __init__(self, name: str, map: FeatureMap):
        self.name = name
        self.map = map
        self.widths: list[int] = []
        self.errors: list[float] = []
        self.reach = 1.0
        """The ratio of the upper end of the interval to the error, on the rows that judge the pilot."""

    def at(self, width: int) -> FeatureMap:
        """Return the map with some number of features, not fitted."""
        made: FeatureMap = clone(self.map).set_params(n_components=width)
        return made

    def learn(self, width: int, error: float) -> None:
        """Add a measured error to the model; the latest one counts if a width was measured before."""
        known = dict(zip(self.widths, self.errors, strict=True)) | {width: error}
        self.widths, self.errors = sorted(known), [known[one] for one in sorted(known)]

    def error_at(self, width: float) -> float:
        """Return the expected error: measured, interpolated, or extrapolated by the slope at the nearest end."""
        x, y = self._logarithms()
        at = math.log(width)
        if x[0] <= at <= x[-1]:
            return float(np.exp(np.interp(at, x, y)))
        end = 0 if at < x[0] else -1
        return float(np.exp(y[end] + self._slope(end) * (at - x[end])))

    def width_for(self, error: float) -> float:
        """Return the smallest width whose expected error is at most this."""
        if self.errors[-1] <= 0.0 or min(self.errors) <= 0.0:
            return float(next(width for width, found in zip(self.widths, self.errors, strict=True) if found <= 0.0))
        x, y = self._logarithms()
        goal = math.log(error)
        below = np.flatnonzero(y <= goal)
        if len(below) == 0:
            return float(np.exp(x[-1] + (goal - y[-1]) / self._slope(-1)))
        place = int(below[0])
        if place == 0:
            return float(self.widths[0])
        share = (goal - y[place - 1]) / (y[place] - y[place - 1])
        return float(np.exp(x[place - 1] + share * (x[place] - x[place - 1])))

    def _logarithms(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        tiny = np.finfo(np.float64).tiny
        return np.log(np.array(self.widths, dtype=np.float64)), np.log(np.maximum(self.errors, tiny))

    @property
    def slope(self) -> float:
        """The slope of log error against log width, at the widest map that was tried."""
        return self._slope(-1)

    def _slope(self, end: int) -> float:
        """Return the slope over widths within a factor of four of an end, so that one uneven step matters little."""
        x, y = self._logarithms()
        near = np.abs(x - x[end]) <= math.log(4.0) + 1e-9
        if np.count_nonzero(near) < 2:
            return USUAL_SLOPE
        return float(np.clip(np.polyfit(x[near], y[near], 1)[0], STEEPEST, FLATTEST))


def candidates_for(kernel: Kernel) -> list[Candidate]:
    """Return every map that supports a kernel; landmarks are drawn in two ways.

    Parameters
    ----------
    kernel : Kernel
        A kernel with a number in every field.

    Returns
    -------
    list of Candidate
        The maps.
    """
    found = [Candidate(name, map) for name, map in maps_for(kernel).items()]
    return [*found, Candidate("Nystrom(rpcholesky)", Nystrom(kernel, landmarks="rpcholesky"))]


class Fold(NamedTuple):
    """Rows on which maps are fitted, other rows that judge them, their kernel matrix, and a seed for the maps."""

    rows: Rows
    judged: Any
    kernel: NDArray[Any]
    seed: int


class Pilot:
    """Tries candidates on rows.

    Parameters
    ----------
    kernel : Kernel
        A kernel with a number in every field.
    rows : Rows
        The rows on which maps may be fitted.
    judged : matrix
        The rows on which errors are measured.
    size : int
        The size of the kernel matrix to which errors refer.
    most_landmarks : int
        The number of rows from which landmarks can be chosen, which is larger than the number of rows of the pilot.
    error : {"relative_frobenius", "max"}
        The kind of error.
    budget : Budget
        The limits on the cost of the choice.
    seed : int
        The seed.
    n_jobs : int or None
        The number of threads.
    """

    def __init__(
        self,
        kernel: Kernel,
        rows: Rows,
        judged: Any,
        *,
        size: int,
        most_landmarks: int,
        error: str,
        budget: Budget,
        seed: int,
        n_jobs: int | None,
    ):
        self.kernel = kernel
        self.candidates = candidates_for(kernel)
        self.trials: list[PilotTrial] = []
        self._rows = rows
        self._judged = judged
        self.judged_kernel = kernel(judged)
        self._size = size
        self._most_landmarks = most_landmarks
        self._error = error
        self._budget = budget
        self._seed = seed
        self._n_jobs = n_jobs
        self._sample: Rows | None = None

    # -- one map at one width ------------------------------------------------------------------------------------------

    def try_at(self, candidate: Candidate, width: int) -> Estimate | None:
        """Return the error of a map at a width; if it cannot map these rows, None, and it is no longer a candidate."""
        map = candidate.at(width).set_params(n_jobs=self._n_jobs)
        try:
            with warnings.catch_warnings():
                # Narrow maps warn about large errors, which are measured here.
                warnings.simplefilter("ignore", UserWarning)
                map.fit_rows(self._taught(width), self._seed)
                found = self.judge(map)
        except (ValueError, MemoryError):
            self.candidates.remove(candidate)
            return None
        self.note(candidate, map.n_components_, found)
        candidate.learn(width, float(f"{found.value:.{DIGITS}g}") if found.value > NEGLIGIBLE else 0.0)
        candidate.reach = min(found.high / found.value, LARGEST_REACH) if found.value > 0.0 else 1.0
        return found

    def judge(self, map: FeatureMap) -> Estimate:
        """Return the error of a fitted map on the rows that judge the pilot."""
        return self.estimate(gram_errors(map, self._judged, self.judged_kernel), LEVEL)

    def note(self, candidate: Candidate, width: int, found: Estimate, verified: bool = False) -> PilotTrial:
        """Add a line to the table."""
        trial = PilotTrial(candidate.name, width, *found, self.cost(candidate, width), verified)
        self.trials.append(trial)
        return trial

    def estimate(self, errors: GramErrors, confidence: float) -> Estimate:
        """Return the requested kind of error."""
        if self._error == "max":
            return errors.maximum(confidence)
        return errors.relative(self._size, confidence)

    def _taught(self, width: int) -> Rows:
        """Return a sample of rows for fitting a map, which is the same for all maps of a width."""
        count = max(TAUGHT_ROWS, 3 * width)
        if self._sample is None or (self._sample.n_rows < count and self._sample.n_rows < self._rows.n_rows):
            self._sample = ArrayRows(self._rows.sample(count), Stream(self._seed, "AutoMap", "pilot"))
        return self._sample

    # -- folds ---------------------------------------------------------------------------------------------------------

    def fold(self, number: int, width: int) -> Fold:
        """Return a fold: a quarter of the rows for maps of a width judge maps that are fitted on the others.

        Parameters
        ----------
        number : int
            The number of the fold, which has its own rows and seed.
        width : int
            The number of features.

        Returns
        -------
        Fold
            The rows and the seed.
        """
        sample, rng = self._taught(width), Stream(self._seed, "AutoMap", "fold", number)
        count = min(max(sample.n_rows // 4, 1), len(self.judged_kernel))
        numbers = np.sort(rng.permutation(sample.n_rows)[:count]).astype(np.int64)
        judged = sample.take(numbers)
        rows = RowsWithout(sample, numbers, rng.child("rows"))
        return Fold(rows, judged, self.kernel(judged), int(rng.child("map").words(1)[0]))

    def try_in(self, fold: Fold, candidate: Candidate, width: int) -> float:
        """Return the error of a map in a fold.

        Parameters
        ----------
        fold : Fold
            The fold.
        candidate : Candidate
            The map.
        width : int
            The number of features.

        Returns
        -------
        float
            The error.
        """
        map = candidate.at(width).set_params(n_jobs=self._n_jobs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about few landmarks, or more landmarks than rows
            map.fit_rows(fold.rows, fold.seed)
        found = self.estimate(gram_errors(map, fold.judged, fold.kernel), LEVEL)
        self.note(candidate, map.n_components_, found)
        return found.value

    # -- what is allowed -----------------------------------------------------------------------------------------------

    def cost(self, candidate: Candidate, width: float) -> float:
        """Return the operations of least squares on these features of all rows."""
        return work_operations(candidate.map, self._size, self._rows.n_features, int(width))

    def most_features(self, candidate: Candidate) -> float:
        """Return the largest useful width of a map: the number of rows if each feature belongs to a landmark."""
        return float(self._most_landmarks) if candidate.map.has_landmarks else math.inf

    def allows(self, candidate: Candidate, width: float) -> bool:
        """Return whether a map of this width is within the budget."""
        if width > self._budget.features:
            return False
        held = work_bytes(candidate.map, self._size, int(width), self._rows.dtype.itemsize)
        return held <= self._budget.bytes and self.cost(candidate, width) <= self._budget.operations

    def widest(self, candidate: Candidate, most: int) -> int:
        """Return the largest width up to ``most`` that is allowed, or 0 if none is."""
        low, high = 0, most
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.allows(candidate, middle) else (low, middle - 1)
        return low

    # -- climbing ------------------------------------------------------------------------------------------------------

    def climb(self, goal: float | None, most: int) -> None:
        """Double the width until a map has an error below the goal, or the largest width of the pilot is reached.

        Parameters
        ----------
        goal : float or None
            The error to reach. None continues up to ``most``.
        most : int
            The largest width.
        """
        last = min(most, WIDEST_TRIED)
        first = NARROWEST if goal is not None else max(last // 4, 1)
        rungs = [*(width for width in _doubling(first, last)), last]
        for width in rungs:
            tried = [one for one in list(self.candidates) if self._is_worth(one, width)]
            found = [self.try_at(candidate, width) for candidate in tried]
            if goal is not None and any(one is not None and one.value <= goal for one in found):
                return

    def _is_worth(self, candidate: Candidate, width: int) -> bool:
        """Return whether to try a map at a width: not if it is too expensive, far behind, or at its largest width."""
        if not self.allows(candidate, width):
            return False
        if not candidate.errors:
            return True
        last = candidate.widths[-1]
        best = min(one.error_at(last) for one in self.known)
        return candidate.errors[-1] <= HOPELESS * best and width <= self.widest_measured(candidate)

    def widest_measured(self, candidate: Candidate) -> int:
        """Return the largest width for which the pilot has enough rows."""
        return self._rows.n_rows if candidate.map.has_landmarks else WIDEST_CHOSEN

    @property
    def known(self) -> list[Candidate]:
        """The candidates with at least one measured error."""
        return [candidate for candidate in self.candidates if candidate.errors]


def _doubling(first: int, last: int) -> list[int]:
    found = []
    while first < last:
        found.append(first)
        first *= 2
    return found
