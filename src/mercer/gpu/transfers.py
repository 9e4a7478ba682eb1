"""Rows on their way to a device: gathered in pinned memory, and copied while the rows before them are worked on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .device import Device, Tensor

SLOTS = 2
"""Blocks that are there at once: one that is worked on, and the next one."""
BLOCK_BYTES = 2**27
"""What a block of rows may take."""
LEAST_ROWS, MOST_ROWS = 256, 65536


def block_rows(width: int, itemsize: int) -> int:
    """Rows that are sent together: many, so that a device has enough to do."""
    rows = MOST_ROWS
    while rows > LEAST_ROWS and rows * width * itemsize > BLOCK_BYTES:
        rows //= 2
    return rows


class RowCopies:
    """Sends blocks of rows to a device.

    Each slot has memory on either side. It is filled again when its copy has left the processor, and copied to again
    when the device is done with the rows in it; both are waited for no sooner than that.

    Parameters
    ----------
    device : Device
    rows : int
        Rows of a block at most.
    width : int
        Columns.
    dtype : dtype
    """

    def __init__(self, device: Device, rows: int, width: int, dtype: DTypeLike):
        self.device = device
        torch, shape = device.torch, (rows, width)
        kind = device.type_of(dtype)
        self._staged = [torch.empty(shape, dtype=kind, pin_memory=device.is_cuda) for _ in range(SLOTS)]
        self._there = [torch.empty(shape, dtype=kind, device=device.place) for _ in range(SLOTS)]
        self._stream = torch.cuda.Stream(device.place) if device.is_cuda else None
        self._copied = [torch.cuda.Event() for _ in range(SLOTS)] if device.is_cuda else []
        self._used = [torch.cuda.Event() for _ in range(SLOTS)] if device.is_cuda else []
        self._next = 0

    def block(self, parts: Iterable[NDArray[Any]]) -> tuple[int, Tensor]:
        """These rows on the device, which stay there until the block after the next one, and the slot that they are in.

        When work on them is under way, :meth:`used` is to be told.
        """
        slot = self._next
        self._next = (slot + 1) % SLOTS
        staged, there, count = self._staged[slot], self._there[slot], 0
        if self.device.is_cuda:
            self._copied[slot].synchronize()  # done at once where nothing was copied yet
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
        """What is under way is the last that reads the rows of a slot."""
        if self.device.is_cuda:
            self._used[slot].record(self.device.torch.cuda.current_stream(self.device.place))


def sent_blocks(
    device: Device, parts: Iterable[tuple[NDArray[Any], Any]], rows: int, width: int, dtype: DTypeLike
) -> Iterator[tuple[Tensor, list[Any]]]:
    """Rows in order, gathered to blocks of up to ``rows`` rows, with what came along with each part."""
    copies: RowCopies | None = None
    for waiting in gathered(parts, rows):
        if copies is None:
            copies = RowCopies(device, rows, width, dtype)
        slot, block = copies.block([np.asarray(X) for X, _ in waiting])
        yield block, [beside for _, beside in waiting]
        copies.used(slot)


def gathered(parts: Iterable[tuple[Any, Any]], rows: int) -> Iterator[list[tuple[Any, Any]]]:
    """Consecutive parts, as many together as have no more than ``rows`` rows; each has no more itself."""
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
