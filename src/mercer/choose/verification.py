"""From a pilot to a map whose error was verified: the cheapest one, with the fewest features that pass."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from .._defaults import WIDEST_CHOSEN
from ..maps import FeatureMap
from .gram_errors import gram_errors
from .map_pilot import LEVEL, Candidate, Pilot, PilotTrial

LARGEST_STEP = 4.0
"""The largest ratio of a width to the largest one tried before: beyond it, the model of the error is a guess."""
LARGEST_GROWTH = 1.25
"""The largest ratio between verifications: a few outlying rows may dominate the limit until the map covers them."""
LARGEST_CUT = 1.5
"""The largest factor by which a map that passes easily is made narrower at once."""
LARGEST_MARGIN = 1.2
"""The largest margin that the pilot must keep below the target: its outlying rows say little about fresh rows."""
EASILY = 0.93
"""If the upper limit is below this share of the target, fewer features are tried."""
CLOSE = 1.05
"""Widths are distinguished only if they differ by at least this factor."""
MOST_STEPS, MOST_CUTS = 12, 4


class Passed(NamedTuple):
    """A fitted map whose upper limit is below the target, with its line in the table."""

    map: FeatureMap
    trial: PilotTrial


class Verification:
    """Looks for the cheapest map whose error is below a target on rows that played no part in the choice.

    Parameters
    ----------
    pilot : Pilot
        The pilot, whose candidates were tried with few features.
    fit : callable
        Fits a map, with the requested seed, to the rows that are not fresh.
    fresh : matrix
        Rows that neither the pilot nor the fit has seen.
    target : float
        The error to stay below.
    most_features : int
        The largest number of features.
    """

    def __init__(
        self, pilot: Pilot, fit: Callable[[FeatureMap], FeatureMap], fresh: Any, target: float, most_features: int
    ):
        self._pilot = pilot
        self._fit = fit
        self._fresh = fresh
        self._K = pilot.kernel(fresh)
        self._target = target
        self._most_features = most_features
        # Intervals shrink as the number of fresh rows exceeds the number of rows that judge the pilot.
        self._shorter = math.sqrt(len(pilot.judged_kernel) / len(self._K))

    def _margin(self, candidate: Candidate) -> float:
        """Return the expected ratio of the upper limit on fresh rows to the error of a map, within reason."""
        return min(candidate.reach**self._shorter, LARGEST_MARGIN)

    def _widest(self, candidate: Candidate) -> int:
        """Return the largest width of a map: by the budget, and by the rows if features belong to landmarks."""
        return int(min(self._pilot.widest(candidate, self._most_features), self._pilot.most_features(candidate)))

    def cheapest(self) -> Passed | None:
        """Return the map and its trial, or None if no map is within the budget."""
        while (found := self._promising()) is not None:
            passed = self._grown(*found)
            if passed is not None:
                return self._cut(*passed)
            self._pilot.candidates.remove(found[0])
        return None

    # -- by the pilot --------------------------------------------------------------------------------------------------

    def _promising(self) -> tuple[Candidate, int] | None:
        """Return the cheapest map that is expected to meet the target, with its width."""
        pilot, target = self._pilot, self._target
        for _ in range(MOST_STEPS):
            options = []
            for one in pilot.known:
                needed = math.ceil(min(one.width_for(target / self._margin(one)), 2.0 * WIDEST_CHOSEN))
                most = self._widest(one)
                # A map that seems to need more is still tried at its largest width: its error may fall faster there.
                near = one.error_at(most) <= LARGEST_STEP * target if 1 <= most < needed else needed <= most
                if near:
                    options.append((pilot.cost(one, needed), one, min(needed, most)))
            if not options:
                return None
            _, best, width = min(options, key=lambda option: option[0])
            step = min(width, math.ceil(LARGEST_STEP * best.widths[-1]), pilot.widest_measured(best))
            if min(abs(math.log(step / known)) for known in best.widths) <= math.log(CLOSE):
                if best.error_at(width) * self._margin(best) <= CLOSE * target:
                    return best, width
                pilot.candidates.remove(best)  # its largest width is not enough
            else:
                pilot.try_at(best, step)
        return None

    # -- on fresh rows -------------------------------------------------------------------------------------------------

    def _look(self, candidate: Candidate, width: int) -> Passed:
        """Return a map of this width with its error on fresh rows, whether it passes or not."""
        map = self._fit(candidate.at(width))
        error = self._pilot.estimate(gram_errors(map, self._fresh, self._K), LEVEL)
        return Passed(map, self._pilot.note(candidate, map.n_components_, error, verified=True))

    def _width_by(self, candidate: Candidate, width: int, high: float, least: float, most: float) -> int:
        """Return the width at which the model expects this upper limit to reach the target, within two factors."""
        factor = (high / self._target) ** (-1.0 / candidate.slope) if high > 0.0 else 0.0
        return math.ceil(width * min(max(factor, least), most))

    def _grown(self, candidate: Candidate, width: int) -> tuple[Passed, Candidate, int, int] | None:
        """Return the first map that passes as the width grows, with its width and the last one that failed."""
        failed, most = 0, self._widest(candidate)
        while failed < width <= most:
            found = self._look(candidate, width)
            if found.trial.high <= self._target:
                return found, candidate, width, failed
            wider = self._width_by(candidate, width, found.trial.high, CLOSE, LARGEST_GROWTH)
            failed, width = width, min(wider, most)
        return None

    def _cut(self, passed: Passed, candidate: Candidate, width: int, failed: int) -> Passed:
        """Return the narrowest map that still passes, if the first one passed easily."""
        for _ in range(MOST_CUTS):
            if passed.trial.high > EASILY * self._target:
                break
            less = self._width_by(candidate, width, passed.trial.high, 1.0 / LARGEST_CUT, 1.0 / CLOSE)
            less = max(less, math.ceil(math.sqrt(failed * width)))
            if not failed < less < width:
                break
            found = self._look(candidate, less)
            if found.trial.high > self._target:
                failed = less
            else:
                passed, width = found, less
        return passed
