"""What a long fit has found so far, so that another one can go on where it was.

Passes have names, and what they found is known by them. A fit that goes on prepares rows and fits its map again, which
gives the same bits; passes that are known are then not made again, and the one that was under way is taken up after the
last chunk that was added.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from numpy.typing import NDArray

from ...data import Table

Arrays = tuple[NDArray[Any], ...]

SETTLED = "settled: "
"""Begins the names of what is kept while later stages of the fit find other things."""
STAGE = SETTLED + "stage"
"""What the stage of a solver begins with is kept as this: one that minimises once has no stages."""


class PartialPass(NamedTuple):
    """A pass under way: how many rows are in its sums, which grow in place."""

    what: str
    rows: int
    sums: list[NDArray[Any]]


class CheckpointState:
    """What the passes of one ``fit`` have found; whoever stores it derives from this class."""

    def __init__(self) -> None:
        self.seeds: list[int] = []
        self.found: dict[str, Arrays] = {}
        self.begun: PartialPass | None = None
        self.is_fresh = False
        """Whether there is something that was not there when it was last stored."""
        self._drawn = 0

    def begin(self, table: Table) -> None:
        """A fit on these rows begins."""

    def tick(self) -> None:
        """Called after every block of rows, and after what was found: the time to store it, or to end."""

    def seed(self, draw: Callable[[], int]) -> int:
        """The seed of the next map: where none was given, the one that was drawn at first."""
        if self._drawn == len(self.seeds):
            self.seeds.append(draw())
        self._drawn += 1
        return self.seeds[self._drawn - 1]

    def kept(self, what: str, make: Callable[[], Arrays]) -> Arrays:
        """What passes find, or have found before."""
        if what not in self.found:
            found = make()
            self.begun = None
            self.put(what, found)
        return self.found[what]

    def put(self, what: str, arrays: Arrays) -> None:
        """Keep this under its name, whatever was there."""
        self.found[what], self.is_fresh = arrays, True
        self.tick()

    def anew(self, what: str, arrays: Arrays) -> None:
        """Keep this in the place of everything before but what earlier stages have settled."""
        settled = {name: found for name, found in self.found.items() if name.startswith(SETTLED)}
        self.found, self.is_fresh = settled | {what: arrays}, True
        self.tick()

    @property
    def stage(self) -> Arrays | None:
        """What the stage under way began with; None in the first."""
        return self.found.get(STAGE)

    def begin_stage(self, arrays: Arrays) -> None:
        """Another stage begins with this, and what was found before is not needed any more."""
        self.anew(STAGE, arrays)

    def settled(self, stage: str, make: Callable[[], Arrays]) -> Arrays:
        """What a stage of the fit finds, or has found before; passes of later stages may have the names of its own."""
        if self.settled_as(stage) is None:
            self.settle(stage, make())
        return self.found[SETTLED + stage]

    def settled_as(self, stage: str) -> Arrays | None:
        """What a stage of the fit has found so far; None where it has not come to anything."""
        return self.found.get(SETTLED + stage)

    def settle(self, stage: str, found: Arrays) -> None:
        """Keep this as what a stage of the fit has found so far; what led there is not needed any more."""
        self.begun = None
        self.found.pop(STAGE, None)
        self.anew(SETTLED + stage, found)

    def take_up(self, what: str) -> PartialPass:
        """The pass of this name, where it was left."""
        if self.begun is None or self.begun.what != what:
            self.begun = PartialPass(what, 0, [])
        return self.begun

    def added(self, rows: int) -> None:
        """Record how many rows the sums of the current pass hold."""
        assert self.begun is not None
        self.begun, self.is_fresh = self.begun._replace(rows=rows), True


class Unkept(CheckpointState):
    """Keeps nothing of passes that are quickly made again, and lets another state be stored when it is time.

    Parameters
    ----------
    kept : CheckpointState
        What the passes before have found, from which a fit that goes on comes here again.
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
