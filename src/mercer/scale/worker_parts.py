"""Objects of partitions on the workers of a cluster, and work on them as plain tasks that can be repeated."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from uuid import uuid4

from dask.base import compute
from dask.delayed import Delayed, delayed

from ..data.partitioned_table import naming
from ..data.partitions import HereParts, Join, Parts, Work, fan_in, groups, tree
from .cluster import SENT_BYTES, Cluster, as_it_is
from .parcels import opened, packed

FEWEST = 4
AHEAD = 2
"""The number of results per thread of the cluster that are computed ahead of time."""


def done_on(parcel: bytes, number: int, part: Any, argument: Any) -> Any:
    """Do the work in a parcel on the object of one partition.

    Arguments that are more than a number are packed: arrays in them are then aligned as the compiled core needs them.
    """
    return naming(opened(parcel), number, part, pickle.loads(argument) if isinstance(argument, bytes) else argument)


class WorkerParts(Parts):
    """Objects of partitions on workers.

    Parameters
    ----------
    cluster : Cluster
        The workers.
    objects : sequence of Delayed or Future
        One for every partition.
    numbers : sequence of int
        Their numbers in the collection that the user gave, for messages.
    """

    def __init__(self, cluster: Cluster, objects: Sequence[Any], numbers: Sequence[int]):
        self._cluster, self._objects, self._numbers = cluster, list(objects), list(numbers)

    def __len__(self) -> int:
        return len(self._objects)

    @property
    def memory(self) -> int | None:
        return self._cluster.memory

    @property
    def room(self) -> int | None:
        return self._cluster.room

    def threads(self, n_jobs: int | None) -> int | None:
        return None

    def chosen(self, places: Sequence[int]) -> WorkerParts:
        """Return those in some places."""
        return WorkerParts(self._cluster, [self._objects[i] for i in places], [self._numbers[i] for i in places])

    def beside(self, others: Parts) -> WorkerParts:
        assert isinstance(others, WorkerParts)
        pairs = zip(self._objects, others._objects, strict=True)
        return WorkerParts(self._cluster, [list(pair) for pair in pairs], self._numbers)

    def _tasks(self, work: Work, arguments: Sequence[Any] | None, places: Sequence[int]) -> dict[int, Delayed]:
        """Return a task for every place; the parcel of the work is one more task, so that a worker gets it once."""
        name = f"{task_name(work)}-{uuid4().hex}"
        parcel = self._cluster.parcel(packed(work), name)
        sent: dict[int, Any] = {place: None if arguments is None else as_sent(arguments[place]) for place in places}
        if sum(len(argument) for argument in sent.values() if isinstance(argument, bytes)) > SENT_BYTES:
            sent = self._sent(sent, name)
        do = delayed(done_on, pure=False)
        return {
            place: do(parcel, self._numbers[place], self._objects[place], sent[place], dask_key_name=f"{name}-{place}")
            for place in places
        }

    def _sent(self, arguments: dict[int, Any], name: str) -> dict[int, Any]:
        """Return arguments as they are known to the cluster, sent in messages of moderate size."""
        waiting: list[Delayed] = []
        found: list[Any] = []
        size = 0
        for place, argument in arguments.items():
            waiting.append(delayed(as_it_is)(argument, dask_key_name=f"argument-{name}-{place}"))
            size += len(argument)
            if size > SENT_BYTES:
                found += self._cluster.computed(waiting)
                waiting, size = [], 0
        return dict(zip(arguments, found + self._cluster.computed(waiting), strict=True))

    def kept(self, work: Work, arguments: Sequence[Any] | None = None) -> WorkerParts:
        tasks = self._tasks(work, arguments, range(len(self)))
        futures = self._cluster.computed([tasks[place] for place in range(len(self))])
        self._cluster.wait(futures)
        return WorkerParts(self._cluster, futures, self._numbers)

    def each(
        self, work: Work, arguments: Sequence[Any] | None = None, places: Sequence[int] | None = None
    ) -> Iterator[Any]:
        waiting = deque(range(len(self)) if places is None else places)
        tasks = self._tasks(work, arguments, list(waiting))
        running: deque[Any] = deque()
        most = AHEAD * max(FEWEST, self._cluster.n_threads)
        while waiting or running:
            if waiting and len(running) <= most // 2:
                some = [tasks[waiting.popleft()] for _ in range(min(len(waiting), most - len(running)))]
                running.extend(self._cluster.computed(some))
            yield self._cluster.result(running.popleft())

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
        tasks, node = self._tasks(work, arguments, places), delayed(join, pure=False)
        roots = [tree(group, fan_in(held), tasks.__getitem__, node) for group in groups(places)]
        for place, root in enumerate(roots[1:], 1):
            roots[place] = node([roots[place - 1], root])
        if len(places) == 1:  # the root is the only leaf
            (whole,) = self._cluster.computed(roots)
            self._cluster.wait([whole], lambda number: done(places[number]))
            found = self._cluster.result(whole)
            return found if before is None else join([before, found])
        whole, *leaves = self._cluster.computed([roots[-1], *(tasks[place] for place in places)])
        self._cluster.wait(leaves, lambda number: done(places[number]), keep=False)
        found = self._cluster.result(whole)
        return found if before is None else join([before, found])


class DelayedParts(HereParts):
    """Objects of partitions that are computed in this process, one at a time, on demand.

    Parameters
    ----------
    objects : sequence of Delayed
        One for every partition.
    numbers : sequence of int
        Their numbers in the collection that the user gave, for messages.
    """

    def __init__(self, objects: Sequence[Any], numbers: Sequence[int]):
        super().__init__(objects)
        self._numbers = list(numbers)

    def chosen(self, places: Sequence[int]) -> DelayedParts:
        """Return those in some places."""
        return DelayedParts([self._objects[i] for i in places], [self._numbers[i] for i in places])

    def beside(self, others: Parts) -> DelayedParts:
        assert isinstance(others, HereParts)
        return DelayedParts(list(zip(self._objects, others._objects, strict=True)), self._numbers)

    def _made(self, work: Work, arguments: Sequence[Any] | None, place: int) -> Any:
        (part,) = compute(self._objects[place])
        return naming(work, self._numbers[place], part, None if arguments is None else arguments[place])


def task_name(work: Any) -> str:
    """Return what dashboards call a task."""
    function = getattr(work, "func", work)
    return f"mercer-{getattr(function, '__name__', type(function).__name__).replace('_', '-')}"


def as_sent(argument: Any) -> Any:
    """Return a number or None as it is, and anything else as bytes."""
    return argument if argument is None or isinstance(argument, int) else packed(argument)
