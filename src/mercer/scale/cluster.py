"""The workers that a client reaches: tasks for them, their results, and an error if they are gone for good."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from typing import Any
from uuid import uuid4

from dask.delayed import delayed

from ..data.partitioned_files import BlockRange
from .parcels import packed, unpacked

LOOK = 2.0
"""Seconds between two looks at the workers while nothing happens."""
HELD_SHARE = 0.5
"""The share of the memory of workers that features may take which are kept between passes."""
USED_SHARE = 0.95
"""The share of its memory limit that a worker may use: by default, Dask kills it beyond."""
PROCESS_BYTES = 2**28
"""What a worker takes for Python, Dask, Mercer and what they import; measured."""
PATIENCE = 30.0
"""After this many seconds without any worker, all count as gone: restarting or joining takes less time."""
SENT_BYTES = 4 * 2**20
"""What is sent in one message: the scheduler keeps it, so that a task can be repeated anywhere."""


def as_it_is(value: Any) -> Any:
    return value


class WorkersGoneError(RuntimeError):
    """Raised when there is nobody left to do the work."""


class Cluster:
    """The workers that a Dask client reaches.

    Parameters
    ----------
    client : distributed.Client
        The client.
    """

    def __init__(self, client: Any):
        self.client = client

    @classmethod
    def current(cls) -> Cluster | None:
        """Return the cluster of the current client; None if there is none."""
        import sys

        distributed = sys.modules.get("distributed")
        if distributed is None:
            return None
        try:
            client = distributed.default_client()
        except ValueError:
            return None
        if client.asynchronous:
            raise ValueError("the current Dask client is asynchronous, but a fit waits: give it asynchronous=False")
        return cls(client) if client.status == "running" else None

    def _workers(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = self.client.scheduler_info(n_workers=-1)["workers"]
        except TypeError:  # of versions that show all of them anyway
            found = self.client.scheduler_info()["workers"]
        return found

    @property
    def n_threads(self) -> int:
        """The threads of all workers now."""
        return sum(worker["nthreads"] for worker in self._workers().values())

    @property
    def memory(self) -> int | None:
        """The bytes that a task may take where there are the fewest for each thread; None if no worker has a limit."""
        limits = [
            max(0, int(USED_SHARE * worker["memory_limit"]) - PROCESS_BYTES) // worker["nthreads"]
            for worker in self._workers().values()
            if worker["memory_limit"]
        ]
        return min(limits, default=None)

    @property
    def room(self) -> int | None:
        """The bytes that what stays on workers may take on all of them; None if not every worker has a limit."""
        limits = [worker["memory_limit"] for worker in self._workers().values()]
        return int(HELD_SHARE * sum(limits)) if limits and all(limits) else None

    def computed(self, tasks: Sequence[Any]) -> list[Any]:
        """Return futures of tasks, which begin at once."""
        found: list[Any] = self.client.compute(list(tasks), optimize_graph=False)
        return found

    def _gone(self) -> WorkersGoneError:
        if self.client.status == "running" and self._workers():
            return WorkersGoneError("the tasks of this fit were cancelled, perhaps by another client: fit again")
        if self.client.status == "running":
            return WorkersGoneError(
                f"no worker was there for {PATIENCE:g} seconds: the cluster at {self.client.scheduler.address} has "
                "none left. Start workers and fit again; a fit by mercer.persist.train continues with resume=True"
            )
        return WorkersGoneError(
            "the connection to the scheduler was lost: connect a client to a running cluster and fit again; a fit by "
            "mercer.persist.train continues with resume=True"
        )

    def parcel(self, content: bytes, name: str) -> Any:
        """Return bytes as a task, so that every worker gets them once; many are sent in pieces of moderate size."""
        if len(content) <= SENT_BYTES:
            return delayed(as_it_is)(content, dask_key_name=f"parcel-{name}")
        pieces: list[Any] = []
        for first in range(0, len(content), SENT_BYTES):
            piece = delayed(as_it_is)(content[first : first + SENT_BYTES], dask_key_name=f"piece-{name}-{first}")
            pieces += self.computed([piece])
        return self.computed([delayed(b"".join)(pieces, dask_key_name=f"parcel-{name}")])[0]

    def ranges(self, source: Any, ranges: Sequence[BlockRange]) -> list[Any]:
        """Return ranges of a table of files as they are known to the cluster, to which the table is sent once."""
        name = uuid4().hex
        table = delayed(unpacked)(self.parcel(packed(source), f"files-{name}"), dask_key_name=f"files-{name}")
        make = delayed(BlockRange.apart)
        return self.computed(
            [
                make(table, part.first, part.stop, dask_key_name=f"range-{name}-{place}")
                for place, part in enumerate(ranges)
            ]
        )

    def wait(
        self, futures: Sequence[Any], done: Callable[[int], None] = lambda number: None, keep: bool = True
    ) -> None:
        """Wait for futures and report the number of each that is done; the error of the first that fails is raised.

        Those that are not to be kept are released as soon as they are done: other tasks may still use them.
        """
        ready: queue.SimpleQueue[int] = queue.SimpleQueue()
        for number, future in enumerate(futures):
            future.add_done_callback(lambda _, number=number: ready.put(number))
        left, alone = len(futures), time.monotonic()
        while left:
            try:
                number = ready.get(timeout=LOOK)
            except queue.Empty:
                if self.client.status != "running":
                    raise self._gone() from None
                if self._workers():
                    alone = time.monotonic()
                elif time.monotonic() - alone > PATIENCE:
                    raise self._gone() from None
                continue
            alone, left = time.monotonic(), left - 1
            if futures[number].status != "finished":
                self._raise(futures[number])
            if not keep:
                futures[number].release()
            done(number)

    def _raise(self, future: Any) -> None:
        """Raise the error of a future, or say that the cluster is gone."""
        from distributed import KilledWorker

        try:
            future.result(timeout=PATIENCE)
        except CancelledError as error:
            raise self._gone() from error
        except KilledWorker as error:
            raise WorkersGoneError(
                f"{error.allowed_failures + 1} workers died one after another while they worked on the same partition, "
                "probably because it needs more memory than they have: use smaller partitions, fewer features or fewer "
                f"threads per worker. The task was {error.task}"
            ) from error

    def result(self, future: Any) -> Any:
        """Return the result of a future when it is there."""
        self.wait([future])
        try:
            return future.result(timeout=10 * PATIENCE)
        except CancelledError as error:
            raise self._gone() from error
