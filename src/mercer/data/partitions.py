"""Objects that belong to partitions, each kept where it was made, and results that are joined in a fixed tree.

Partitions and the nodes of the tree are numbered, so that sums are the same to the bit whichever process finishes
first. The tree joins neighbours, only a few at a time if their results are large, so that no machine has to hold many
at once.
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
"""A pure function of the results of neighbours, in order."""

GROUP = 32
"""The partitions in a group, which a tree joins; groups are joined one by one, with checkpoints between them."""
FEW, MANY = 2, 8
"""The number of neighbours that are joined at once: fewer if their results take more than ``LARGE`` bytes."""
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
        """The bytes that kept objects of all partitions may take together; None if this process decides."""
        return None

    def threads(self, n_jobs: int | None) -> int | None:
        """Return the number of threads that work on one of them may use.

        Parameters
        ----------
        n_jobs : int or None
            The number of threads that a learner in this process may use.

        Returns
        -------
        int or None
            The number of threads.
        """
        return n_jobs

    @abstractmethod
    def chosen(self, places: Sequence[int]) -> Parts:
        """Return the objects at some places.

        Parameters
        ----------
        places : sequence of int
            The numbers of the objects.

        Returns
        -------
        Parts
            These objects.
        """

    @abstractmethod
    def beside(self, others: Parts) -> Parts:
        """Return these objects, each together with another that belongs to the same partition.

        Parameters
        ----------
        others : Parts
            The other objects, of the same kind of parts.

        Returns
        -------
        Parts
            The pairs, without a copy of either.
        """

    @abstractmethod
    def kept(self, work: Work, arguments: Sequence[Any] | None = None) -> Parts:
        """Return the results of ``work`` for each object, which stay where they are made.

        Parameters
        ----------
        work : callable
            A pure function of an object and its argument.
        arguments : sequence or None, default=None
            One argument per object.

        Returns
        -------
        Parts
            The results.
        """

    @abstractmethod
    def each(
        self, work: Work, arguments: Sequence[Any] | None = None, places: Sequence[int] | None = None
    ) -> Iterator[Any]:
        """Yield the results of ``work`` for each object, or for those at some places, in order, with few in memory.

        Parameters
        ----------
        work : callable
            A pure function of an object and its argument.
        arguments : sequence or None, default=None
            One argument per object.
        places : sequence of int or None, default=None
            The numbers of the objects. None means all of them.

        Yields
        ------
        object
            The result for one object.
        """

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
        """Return the results for the objects at these places, joined by a tree and added to the result ``before``.

        Parameters
        ----------
        work : callable
            A pure function of an object and its argument.
        join : callable
            A pure function of the results of neighbours, in order.
        arguments : sequence or None
            One argument per object.
        held : int
            The size in bytes of one result.
        before : object
            The result of earlier places, or None.
        places : range
            The numbers of the objects.
        done : callable
            A function that is called with the number of every object that is ready.

        Returns
        -------
        object
            The joined result.
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
        """Return the results for all objects from place ``begin`` on, joined by a tree and added to ``before``.

        Parameters
        ----------
        work : callable
            A pure function of an object and its argument.
        join : callable
            A pure function of the results of neighbours, in order.
        arguments : sequence or None, default=None
            One argument per object.
        held : int, default=0
            The size in bytes of one result.
        before : object, default=None
            The result of earlier places.
        begin : int, default=0
            The first place.
        done : callable, optional
            A function that is called with the number of every object that is ready.
        grouped : callable or None, default=None
            A function that is called after every group with the result so far and the next place. With it, groups are
            joined one at a time; otherwise all at once, with the same result.

        Returns
        -------
        object
            The joined result.
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
    """Return how many neighbours are joined at once if each takes this many bytes."""
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

    def chosen(self, places: Sequence[int]) -> HereParts:
        return HereParts([self._objects[place] for place in places])

    def beside(self, others: Parts) -> HereParts:
        assert isinstance(others, HereParts)
        return HereParts(list(zip(self._objects, others._objects, strict=True)))

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

    Leaves are requested in order, and a node is joined as soon as its neighbours are available.
    """
    if len(places) == 1:
        return leaf(places.start)
    step = 1
    while step * fan < len(places):
        step *= fan
    below = [range(first, min(first + step, places.stop)) for first in range(places.start, places.stop, step)]
    return join([tree(part, fan, leaf, join) for part in below])
