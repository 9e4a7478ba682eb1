"""The results of a long fit so far, from which another fit can continue.

Passes have names, by which their results are known. A fit that continues prepares rows and fits its map again, which
gives the same bits; known passes are then not repeated, and the one that was under way continues after the last chunk
that was added.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from numpy.typing import NDArray

from ...data import Table

Arrays = tuple[NDArray[Any], ...]

SETTLED = "settled: "
"""The prefix of the names of results that are kept while later stages of the fit produce others."""
STAGE = SETTLED + "stage"
"""The name of the initial state of a solver's stage; a solver that minimises once has no stages."""


class PartialPass(NamedTuple):
    """A pass under way, with the number of rows in its sums, which grow in place."""

    what: str
    rows: int
    sums: list[NDArray[Any]]


class CheckpointState:
    """The results of the passes of one ``fit``; classes that store them derive from this one."""

    def __init__(self) -> None:
        self.seeds: list[int] = []
        self.found: dict[str, Arrays] = {}
        self.begun: PartialPass | None = None
        self.is_fresh = False
        """Whether something has been added since it was last stored."""
        self._drawn = 0

    def begin(self, table: Table) -> None:
        """Record that a fit on these rows starts."""

    def tick(self) -> None:
        """Store the state if it is time, or end; called after every block of rows, and after every result."""

    def seed(self, draw: Callable[[], int]) -> int:
        """Return the seed of the next map; if none was given, the one drawn at first."""
        if self._drawn == len(self.seeds):
            self.seeds.append(draw())
        self._drawn += 1
        return self.seeds[self._drawn - 1]

    def kept(self, what: str, make: Callable[[], Arrays]) -> Arrays:
        """Return the result of passes, computed now or before."""
        if what not in self.found:
            found = make()
            self.begun = None
            self.put(what, found)
        return self.found[what]

    def put(self, what: str, arrays: Arrays) -> None:
        """Keep these arrays under a name, and replace earlier ones with this name."""
        self.found[what], self.is_fresh = arrays, True
        self.tick()

    def anew(self, what: str, arrays: Arrays) -> None:
        """Keep these arrays in place of all earlier results, except the results of settled stages."""
        settled = {name: found for name, found in self.found.items() if name.startswith(SETTLED)}
        self.found, self.is_fresh = settled | {what: arrays}, True
        self.tick()

    @property
    def stage(self) -> Arrays | None:
        """The initial state of the stage under way; None in the first."""
        return self.found.get(STAGE)

    def begin_stage(self, arrays: Arrays) -> None:
        """Start another stage from these arrays; earlier results are no longer needed."""
        self.anew(STAGE, arrays)

    def settled(self, stage: str, make: Callable[[], Arrays]) -> Arrays:
        """Return the result of a stage of the fit, computed now or before; later stages may reuse its names."""
        if self.settled_as(stage) is None:
            self.settle(stage, make())
        return self.found[SETTLED + stage]

    def settled_as(self, stage: str) -> Arrays | None:
        """Return the result of a stage of the fit so far; None if there is none."""
        return self.found.get(SETTLED + stage)

    def settle(self, stage: str, found: Arrays) -> None:
        """Keep the result of a stage of the fit; the intermediate results that led to it are no longer needed."""
        self.begun = None
        self.found.pop(STAGE, None)
        self.anew(SETTLED + stage, found)

    def take_up(self, what: str) -> PartialPass:
        """Return the pass with this name, as it was left."""
        if self.begun is None or self.begun.what != what:
            self.begun = PartialPass(what, 0, [])
        return self.begun

    def added(self, rows: int) -> None:
        """Record the number of rows in the sums of the current pass."""
        assert self.begun is not None
        self.begun, self.is_fresh = self.begun._replace(rows=rows), True


class Unkept(CheckpointState):
    """Keeps nothing of passes that are quickly repeated, but lets another state be stored when it is time.

    Parameters
    ----------
    kept : CheckpointState
        The results of earlier passes, from which a fit that continues returns to this point.
    """

    def __init__(self, kept: CheckpointState):
        super().__init__()
        self._kept = kept

    def tick(self) -> None:
        self._kept.tick()

    def kept(self, what: str, make: Callable[[], Arrays]) -> Arrays:
        return make()

    def put(self, what: str, arrays: Arrays) -> None:
        self.tick()

    def anew(self, what: str, arrays: Arrays) -> None:
        self.tick()
