"""The workers that a client reaches: tasks for them, their results, and an error if they are gone for good."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from typing import Any
from uuid import uuid4

from .parcels import packed, unpacked

LOOK = 2.0
"""Seconds between two looks at the workers while nothing happens."""
HELD_SHARE = 0.5
"""The share of the memory of workers that features may take which are kept between passes."""
PATIENCE = 30.0
"""After this many seconds without any worker, all count as gone: restarting or joining takes less time."""


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
        """The bytes that a task may take on the smallest worker; None if no worker has a limit."""
        limits = [worker["memory_limit"] for worker in self._workers().values() if worker["memory_limit"]]
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

    def opened(self, tables: Sequence[Any]) -> list[Any]:
        """Return small objects as they are known to the cluster."""
        from dask.delayed import delayed

        return self.computed(
            [delayed(unpacked)(packed(table), dask_key_name=f"table-{uuid4().hex}") for table in tables]
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
        try:
            future.result(timeout=PATIENCE)
        except CancelledError as error:
            raise self._gone() from error

    def result(self, future: Any) -> Any:
        """Return the result of a future when it is there."""
        self.wait([future])
        try:
            return future.result(timeout=10 * PATIENCE)
        except CancelledError as error:
            raise self._gone() from error
