"""Groups of threads that transform one row together, as ``cuda/hadamard.cuh`` sees them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from . import compiler
from .compiler import Kernel

if TYPE_CHECKING:
    import torch

BLOCK = 256
"""The number of threads of a block that several small groups share."""
LEAST_BITS, MOST_BITS = 5, 14


@dataclass(frozen=True)
class ThreadGroup:
    """Threads that hold 2^bits numbers, 2^held in the registers of each.

    Parameters
    ----------
    bits : int
    held : int
    """

    bits: int
    held: int

    @classmethod
    def of(cls, size: int, held: int | None = None) -> ThreadGroup | None:
        """Return the group for rows of this size, a power of two; None if they are too small or too large for one.

        By default a thread holds 16 numbers if that takes no more passes than 32: more threads then hide each other's
        waiting times.
        """
        bits = size.bit_length() - 1
        if not LEAST_BITS <= bits <= MOST_BITS:
            return None
        return cls(bits, held or (4 if -(-bits // 4) == -(-bits // 5) else 5))

    @property
    def threads(self) -> int:
        """The number of threads in the group."""
        return 1 << (self.bits - self.held)

    @property
    def per_block(self) -> int:
        """The number of groups that share a block."""
        return BLOCK // self.threads if self.threads <= 32 else 1

    def kernel(self, name: str, arrays: int, resident: int = 1) -> Kernel:
        """Return a kernel for such groups.

        Parameters
        ----------
        name : str
            The name of its source.
        arrays : int
            The number of copies of its numbers that a group keeps in shared memory.
        resident : int, default=1
            The number of blocks that a processor should hold at once, for which the compiler saves registers.
        """
        threads = self.threads * self.per_block
        shared = self._shared_bytes(arrays)
        resident = resident if threads <= BLOCK else 1
        constants = ("BITS", self.bits), ("HELD", self.held), ("BLOCK", threads), ("RESIDENT", resident)
        return Kernel(name, threads, shared, constants)

    def fits(self, arrays: int, device: torch.device) -> bool:
        """Return whether a device has enough shared memory for a block of such groups."""
        return self._shared_bytes(arrays) <= compiler.most_shared_bytes(device)

    def _shared_bytes(self, arrays: int) -> int:
        return 4 * arrays * self.per_block * self.padded_size

    def blocks(self, rows: int) -> int:
        """Return the number of blocks that map this many rows."""
        return -(-rows // self.per_block)

    # -- tables: register r of thread t has element t * 2^held + r, in the last layout r * threads + t -----------------

    def words(self, flags: NDArray[np.bool_]) -> NDArray[np.int32]:
        """Return one word per thread with a flag for each of its elements, which are the last axis of flags."""
        return _packed(flags.reshape(*flags.shape[:-1], self.threads, 1 << self.held))

    def last_words(self, flags: NDArray[np.bool_]) -> NDArray[np.int32]:
        """Return the words of :meth:`words` for elements in the last layout."""
        return _packed(np.swapaxes(flags.reshape(*flags.shape[:-1], 1 << self.held, self.threads), -1, -2))

    def by_register(self, table: NDArray) -> NDArray:
        """Return the entries of elements, with the entries of one register side by side."""
        parts = table.reshape(*table.shape[:-1], self.threads, 1 << self.held)
        return np.ascontiguousarray(np.swapaxes(parts, -1, -2)).reshape(table.shape)

    def padded(self, places: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return where elements are kept in shared memory, for threads that read the elements of their registers."""
        return places + (places >> self.held)

    @property
    def padded_size(self) -> int:
        """The size of that shared memory, a multiple of four."""
        return -(-((1 << self.bits) + (1 << (self.bits - self.held))) // 4) * 4


def _packed(flags: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return the flags of the last axis as the bits of one word."""
    bits = flags.astype(np.uint32) << np.arange(flags.shape[-1], dtype=np.uint32)
    return bits.sum(axis=-1, dtype=np.uint32).view(np.int32)
