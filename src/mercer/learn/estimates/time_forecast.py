"""Forecast of the time that a fit still takes: the planned work, at the speed of the work done so far."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..._tiles import n_threads

# Relative costs, measured on one core of an x86-64 machine with AVX2, in operations of a product of large matrices in
# the precision of the rows. Decisions depend on the ratios only, which hardly differ between machines.

SPEED = 1e10
"""Assumed operations per second of one thread, until some have been timed."""
PRODUCT_COST = 3.0
"""The time per operation of a product with few columns, relative to a product of large matrices."""
DOUBLE = 2.0
"""The cost of float64 operations relative to float32, if rows are in float32."""
FEATURE_OPERATIONS = 50.0
"""The approximate cost of computing one feature of one row."""
FACTOR_COST = 4.0
"""The time per operation of factoring a kernel matrix, or of the diagonal of its inverse, relative to a product."""
DECOMPOSITION = 40.0
"""Cost of an eigendecomposition, as a multiple of the product of two such matrices."""

PILOT_OPERATIONS, FULL_PILOT = 2e10, 1000
"""The approximate cost of a pilot on this many rows or more; on fewer rows it is proportionally lower."""

SLOWEST = 0.9
"""The largest share of the gap that a step is assumed to leave; a single step without progress says little."""
LEAST = 1e7
"""The least number of operations to count for any piece of work, since starting it takes time too."""


class Work(NamedTuple):
    """A pass over the rows, or a solution, that is still to come, with an estimate of its operations."""

    what: str
    operations: float


def features_work(n_rows: int, width: int) -> float:
    """Return the approximate cost of computing the features of all rows."""
    return FEATURE_OPERATIONS * n_rows * width


def sums_work(n_rows: int, width: int) -> Work:
    """Return the work of a pass that sums second moments."""
    return Work("sums", features_work(n_rows, width) + float(n_rows) * width**2)


def pilot_work(n_rows: int) -> Work:
    """Return the work of a pilot that chooses what is left open."""
    return Work("pilot", PILOT_OPERATIONS * min(1.0, n_rows / FULL_PILOT))


class Forecast:
    """Estimates the seconds that are left of a fit.

    Elapsed time is attributed to the work that ended last; this includes the time between passes, and does not count
    parallel work twice. Work of a kind that was timed before is expected to take as long as before, and other work to
    run at the average speed so far.

    Parameters
    ----------
    now : the time at which the fit begins
    n_jobs : threads, for the speed before anything is timed
    """

    def __init__(self, now: float, n_jobs: int | None = None):
        self.began = self._last = now
        self.share = 0.0
        """How much of the fit is done. It never decreases: if more turns out to be left than expected, it stays the
        same."""
        self._prior = 1.0 / (SPEED * n_threads(n_jobs))
        self._planned: list[Work] = []
        self._under_way: dict[int, Work] = {}
        self._timed: dict[str, tuple[float, float]] = {}
        self._sizes: dict[str, float] = {}
        self._tokens = 0

    def plan(self, works: Sequence[Work]) -> None:
        """Expect this work from now on, instead of what was expected before."""
        self._planned = [Work(what, max(operations, LEAST)) for what, operations in works]
        self._under_way = {}
        self._sizes.update(self._planned)

    def begin(self, what: str, share: float = 1.0) -> int:
        """Record that work of this kind begins, of which this share is left; return a number that identifies it."""
        self._under_way = {key: work for key, work in self._under_way.items() if work.what == what}
        self.drop(what)
        self._tokens += 1
        self._under_way[self._tokens] = Work(what, share * self._sizes.get(what, 0.0))
        return self._tokens

    def drop(self, what: str) -> None:
        """Stop expecting the next work of this kind."""
        place = next((place for place, work in enumerate(self._planned) if work.what == what), None)
        if place is not None:
            del self._planned[place]

    def advance(self, token: int, what: str, share: float, left: float, now: float) -> None:
        """Record how much of a pass of this kind was done since the last call, and how much of it is left."""
        size = self._sizes.get(what, 0.0)
        self._count(what, share * size, now)
        if left > 0.0:
            self._under_way[token] = Work(what, left * size)
        else:
            self._under_way.pop(token, None)

    def done(self, what: str, now: float) -> None:
        """Record that some work was done all at once."""
        self.drop(what)
        self._count(what, self._sizes.get(what, 0.0), now)

    def _count(self, what: str, operations: float, now: float) -> None:
        before, seconds = self._timed.get(what, (0.0, 0.0))
        self._timed[what] = before + operations, seconds + now - self._last
        self._last = now

    def seconds_left(self, unplanned: float = 0.0) -> float:
        """Return the seconds that are left; ``unplanned`` are those of a pass that was not planned."""
        known = {what: seconds / size for what, (size, seconds) in self._timed.items() if size > 0.0}
        sizes, seconds = zip(*(self._timed[what] for what in known), strict=True) if known else ((0.0,), (0.0,))
        others = sum(seconds) / sum(sizes) if sum(seconds) > 0.0 else self._prior
        works = [*self._planned, *self._under_way.values()]
        return unplanned + sum(work.operations * known.get(work.what, others) for work in works)

    def is_planned(self, what: str) -> bool:
        """Return whether work of this kind is planned."""
        return self._sizes.get(what, 0.0) > 0.0

    def share_with(self, left: float, now: float) -> float:
        """Return the share that is done, given the seconds that are left."""
        elapsed = max(now - self.began, 0.0)
        if elapsed + left > 0.0:
            self.share = max(self.share, min(1.0, elapsed / (elapsed + left)))
        return self.share


def steps_left(gaps: Sequence[float], tol: float, usual: float, window: int = 3) -> float:
    """Estimate the steps that bring a gap down to ``tol``, if it falls by the same factor as in the last steps.

    ``usual`` is the total number of steps to assume while there are too few gaps to judge by; ``window`` is the number
    of last steps to consider: one if each step is better than the one before, more if they are uneven.
    """
    found = [gap for gap in gaps if math.isfinite(gap) and gap > 0.0]
    if found and found[-1] <= tol:
        return 0.0
    if len(found) < 2:
        return max(usual - len(gaps), 1.0)
    last = found[-window - 1 :]
    factor = min((last[-1] / last[0]) ** (1.0 / (len(last) - 1)), SLOWEST)
    return max(math.ceil(math.log(last[-1] / tol) / -math.log(factor)), 1.0)


# -- the passes of solvers ---------------------------------------------------------------------------------------------

USUAL_STEPS, USUAL_PRODUCTS = 8, 4
"""The number of Newton steps to expect, and of conjugate gradient steps in each, before there are any to judge by."""


def product_work(n_rows: int, width: int, n_columns: int) -> float:
    """Return the cost of one product with all features, in operations of a product of large matrices."""
    return 2.0 * PRODUCT_COST * n_rows * width * n_columns


def step_works(product: float, products: int) -> list[Work]:
    """Return the passes of a Newton step that takes ``products`` steps of conjugate gradients."""
    inner = products * [Work("conjugate gradients", 2.0 * product)]
    return [Work("gradient", product), *inner, Work("decision values", product)]


def curvature_works(n_rows: int, width: int, count: int) -> list[Work]:
    """Return the passes for ``count`` Hessians and their factors."""
    return count * [Work("curvature", float(n_rows) * width**2 + float(width) ** 3 / 3.0)]


def exact_works(n_rows: int, alphas: int) -> list[Work]:
    """Return the passes of ridge regression on all rows: a factor and the diagonal of its inverse for every alpha."""
    factor = float(n_rows) ** 3 / 3.0
    tried = alphas * [Work("alphas", 2.0 * factor)] if alphas > 1 else []
    return [Work("kernel matrix", features_work(n_rows, n_rows)), *tried, Work("solution", 2.0 * factor)]


def usual_works(n_rows: int, width: int, n_columns: int) -> list[Work]:
    """Return the passes of Newton's method, before there is anything to judge by."""
    hessians = curvature_works(n_rows, width, 1 + n_columns)
    return hessians + USUAL_STEPS * step_works(product_work(n_rows, width, n_columns), USUAL_PRODUCTS)
