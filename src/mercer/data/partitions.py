"""One object for every partition of a table, each where it was made, and what is found in them joined in a fixed tree.

Partitions are numbered, and so are the nodes of the tree: who finishes first, and where, changes no bit of a sum. The
tree joins neighbours, few at a time where what they hold is large, so that no machine has to hold many of them at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from numpy.typing import NDArray

Sums = tuple[NDArray[Any], ...]
Work = Callable[[Any, Any], Any]
"""A pure function of the object of one partition and of the argument that belongs to it."""
Join = Callable[[list[Any]], Any]
"""A pure function of what neighbours hold, in their order."""

GROUP = 32
"""Partitions that a tree joins; what groups hold is joined one after another, so that a checkpoint can lie between."""
FEW, MANY = 2, 8
"""How many neighbours are joined at once: few where what they hold takes more than ``LARGE`` bytes."""
LARGE = 2**24


class Parts(ABC):
    """Objects of partitions, each where it was made.

    Work on them is a pure function, which may run anywhere and any number of times.
    """

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    @abstractmethod
    def memory(self) -> int | None:
        """The bytes that work on one of them may take; None if that is not known."""

    @property
    def room(self) -> int | None:
        """The bytes that objects kept of all partitions may take together; None if it is up to this process."""
        return None

    def threads(self, n_jobs: int | None) -> int | None:
        """Return how many threads work on one of them may use, given how many a learner here may use."""
        return n_jobs

    @abstractmethod
    def kept(self, work: Work, arguments: Sequence[Any] | None = None) -> Parts:
        """Return what ``work`` makes of each, which stays where it is made."""

    @abstractmethod
    def each(
        self, work: Work, arguments: Sequence[Any] | None = None, places: Sequence[int] | None = None
    ) -> Iterator[Any]:
        """Yield what ``work`` makes of each, or of those in some places, in order; few are held at a time."""

    @abstractmethod
    def joined(
        self,
        work: Work,
        join: Join,
        arguments: Sequence[Any] | None,
        held: int,
        before: Any,
        places: range,
        done: Callable[[int], None],
    ) -> Any:
        """Return what a tree over the objects in these places makes of them, joined to what was there ``before``.

        ``held`` is the size in bytes of what one of them gives. ``done`` is told the place of every one that is ready.
        """

    def folded(
        self,
        work: Work,
        join: Join,
        arguments: Sequence[Any] | None = None,
        held: int = 0,
        before: Any = None,
        begin: int = 0,
        done: Callable[[int], None] = lambda place: None,
        grouped: Callable[[Any, int], None] | None = None,
    ) -> Any:
        """Return what a tree makes of all objects from place ``begin`` on, joined to what was there ``before``.

        With ``grouped``, which is called after every group with what there is and the next place, groups are joined one
        at a time; otherwise all at once, with the same result.
        """
        if grouped is None:
            return self.joined(work, join, arguments, held, before, range(begin, len(self)), done)
        for first in range(begin, len(self), GROUP):
            places = range(first, min(first + GROUP, len(self)))
            before = self.joined(work, join, arguments, held, before, places, done)
            grouped(before, places.stop)
        return before


def groups(places: range) -> Iterator[range]:
    """Cut places at multiples of ``GROUP``."""
    for first in range(places.start, places.stop, GROUP):
        yield range(first, min(first + GROUP, places.stop))


def fan_in(held: int) -> int:
    """Return how many neighbours are joined at once if each takes so many bytes."""
    return FEW if held > LARGE else MANY


def added(sums: list[Sums]) -> Sums:
    """Return the sums of tuples of arrays, in order."""
    totals = tuple(part.copy() for part in sums[0])
    for more in sums[1:]:
        for total, part in zip(totals, more, strict=True):
            total += part
    return totals


class HereParts(Parts):
    """Objects in this process.

    Parameters
    ----------
    objects : sequence
        One for every partition.
    """

    def __init__(self, objects: Sequence[Any]):
        self._objects = list(objects)

    def __len__(self) -> int:
        return len(self._objects)

    @property
    def memory(self) -> int | None:
        return None

    def _made(self, work: Work, arguments: Sequence[Any] | None, place: int) -> Any:
        return work(self._objects[place], None if arguments is None else arguments[place])

    def kept(self, work: Work, arguments: Sequence[Any] | None = None) -> HereParts:
        return HereParts([self._made(work, arguments, place) for place in range(len(self))])

    def each(
        self, work: Work, arguments: Sequence[Any] | None = None, places: Sequence[int] | None = None
    ) -> Iterator[Any]:
        for place in range(len(self)) if places is None else places:
            yield self._made(work, arguments, place)

    def joined(
        self,
        work: Work,
        join: Join,
        arguments: Sequence[Any] | None,
        held: int,
        before: Any,
        places: range,
        done: Callable[[int], None],
    ) -> Any:
        def leaf(place: int) -> Any:
            found = self._made(work, arguments, place)
            done(place)
            return found

        for group in groups(places):
            root = tree(group, fan_in(held), leaf, join)
            before = root if before is None else join([before, root])
        return before


def tree(places: range, fan: int, leaf: Callable[[int], Any], join: Callable[[list[Any]], Any]) -> Any:
    """Return the root of a tree over places: each node joins ``fan`` neighbours, from the left.

    Leaves are asked for in order, and each node as soon as its neighbours are there.
    """
    if len(places) == 1:
        return leaf(places.start)
    step = 1
    while step * fan < len(places):
        step *= fan
    below = [range(first, min(first + step, places.stop)) for first in range(places.start, places.stop, step)]
    return join([tree(part, fan, leaf, join) for part in below])
