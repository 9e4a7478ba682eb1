"""Transfer of rows to a device: gathered in pinned memory, and copied while the previous rows are processed."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Iterable, Iterator
from queue import Full, Queue
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .device import Device, Tensor

SLOTS = 2
"""The number of blocks in memory: one being processed, and the next one."""
BLOCK_BYTES = 2**27
"""The largest number of bytes of a block of rows."""
LEAST_ROWS, MOST_ROWS = 256, 65536


def block_rows(width: int, itemsize: int) -> int:
    """Return the number of rows to send together: many, so that the device has enough work."""
    rows = MOST_ROWS
    while rows > LEAST_ROWS and rows * width * itemsize > BLOCK_BYTES:
        rows //= 2
    return rows


Item = TypeVar("Item")


class Ended(NamedTuple):
    """The last entry of a queue, with the error that ended the thread that filled it, if any."""

    error: BaseException | None


def ahead(items: Iterable[Item], count: int = SLOTS) -> Iterator[Item]:
    """Yield items unchanged, while another thread prepares the next ones.

    Parameters
    ----------
    items : iterable
        Used by that thread alone, which ends before the iterator does.
    count : int, default=2
        The largest number of items that wait.

    Yields
    ------
    item
        An error in making one is raised in its place.
    """
    waiting: Queue[Any] = Queue(count)
    is_abandoned = threading.Event()

    def put(item: Any) -> bool:
        while not is_abandoned.is_set():
            try:
                waiting.put(item, timeout=0.1)
            except Full:
                continue
            return True
        return False

    def fill() -> None:
        error: BaseException | None = None
        try:
            for item in items:
                if not put(item):
                    return
        except BaseException as raised:
            error = raised
        put(Ended(error))

    thread = threading.Thread(target=contextvars.copy_context().run, args=(fill,), name="mercer rows", daemon=True)
    thread.start()
    try:
        while not isinstance(item := waiting.get(), Ended):
            yield item
    finally:
        is_abandoned.set()
        thread.join()
    if item.error is not None:
        raise item.error


class RowCopies:
    """Sends blocks of rows to a device.

    Each slot has memory on both sides. It is refilled when its copy has left the CPU, and copied to again when the
    device has finished with the rows in it; the code waits for these events only when necessary.

    Parameters
    ----------
    device : Device
        The device.
    rows : int
        The largest number of rows of a block.
    width : int
        The number of columns.
    dtype : dtype
        The type of the rows.
    """

    def __init__(self, device: Device, rows: int, width: int, dtype: DTypeLike):
        self.device = device
        torch, shape = device.torch, (rows, width)
        kind = device.type_of(dtype)
        self._staged = [torch.empty(shape, dtype=kind, pin_memory=device.is_cuda) for _ in range(SLOTS)]
        self._there = [torch.empty(shape, dtype=kind, device=device.place) for _ in range(SLOTS)]
        self._stream = torch.cuda.Stream(device.place) if device.is_cuda else None
        if self._stream is not None:
            # Work that is still queued may read what was in this memory before.
            self._stream.wait_stream(torch.cuda.current_stream(device.place))
        self._copied = [torch.cuda.Event() for _ in range(SLOTS)] if device.is_cuda else []
        self._used = [torch.cuda.Event() for _ in range(SLOTS)] if device.is_cuda else []
        self._next = 0

    def block(self, parts: Iterable[NDArray[Any]]) -> tuple[int, Tensor]:
        """Return the slot of these rows and the rows on the device, which stay until the block after the next.

        When work on them has been submitted, call :meth:`used`.
        """
        slot = self._next
        self._next = (slot + 1) % SLOTS
        staged, there, count = self._staged[slot], self._there[slot], 0
        if self.device.is_cuda:
            self._copied[slot].synchronize()  # returns at once if nothing was copied yet
        target = staged.numpy()
        for part in parts:
            target[count : count + len(part)] = part
            count += len(part)
        if self._stream is None:
            there[:count].copy_(staged[:count])
            return slot, there[:count]
        torch = self.device.torch
        self._stream.wait_event(self._used[slot])
        with torch.cuda.stream(self._stream):
            there[:count].copy_(staged[:count], non_blocking=True)
            self._copied[slot].record(self._stream)
        torch.cuda.current_stream(self.device.place).wait_event(self._copied[slot])
        return slot, there[:count]

    def used(self, slot: int) -> None:
        """Record that the work submitted so far is the last that reads the rows of a slot."""
        if self.device.is_cuda:
            self._used[slot].record(self.device.torch.cuda.current_stream(self.device.place))


def sent_blocks(
    device: Device, parts: Iterable[tuple[NDArray[Any], Any]], rows: int, width: int, dtype: DTypeLike
) -> Iterator[tuple[Tensor, list[Any]]]:
    """Yield rows in order, gathered into blocks of up to ``rows`` rows, with what belongs to each part."""
    copies: RowCopies | None = None
    for waiting in ahead(gathered(parts, rows)):
        if copies is None:
            copies = RowCopies(device, rows, width, dtype)
        slot, block = copies.block([np.asarray(X) for X, _ in waiting])
        yield block, [beside for _, beside in waiting]
        copies.used(slot)


def gathered(parts: Iterable[tuple[Any, Any]], rows: int) -> Iterator[list[tuple[Any, Any]]]:
    """Yield consecutive parts in groups of at most ``rows`` rows in total, which no single part exceeds."""
    waiting: list[tuple[Any, Any]] = []
    count = 0
    for part in parts:
        if waiting and count + part[0].shape[0] > rows:
            yield waiting
            waiting, count = [], 0
        waiting.append(part)
        count += part[0].shape[0]
    if waiting:
        yield waiting
