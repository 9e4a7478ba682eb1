"""Tables: rows with their targets and weights, before anything is prepared."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .block import Block, part_of
from .fingerprints import digest, hashed
from .frames import is_frame, names_of


class Table(ABC):
    """Blocks of rows in a fixed order, as often as they are asked for."""

    @abstractmethod
    def blocks(self, start: int = 0) -> Iterator[Block]:
        """One pass over all rows in order, from block number ``start`` on.

        Blocks have ``BLOCK_ROWS`` rows, but for the last. Cuts do not depend on how rows arrive, so that sums over them
        have the same bits.
        """

    @property
    @abstractmethod
    def n_rows(self) -> int: ...

    def fingerprint(self) -> str:
        """A short text that other rows do not share; it takes a pass over them where they are not files."""
        return digest(*(hashed(part) for block in self.blocks() for part in block))

    def head(self) -> Block:
        """The first block; an error where there are no rows."""
        block = next(iter(self.blocks()), None)
        if block is None:
            raise ValueError("the table has no rows")
        return block

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the columns, None where they have none."""
        X = self.head().X
        return tuple(names_of(X)) if is_frame(X) else None

    @property
    def target_name(self) -> str | int | tuple[str, ...] | None:
        """The column of the targets, None where it has no name or number."""
        return None

    @property
    def weight_name(self) -> str | int | None:
        """The column of the weights, None where it has no name or number."""
        return None

    def features(self) -> Table:
        """The table without targets and weights, where that is another one."""
        return self

    def targets(self) -> Iterator[Block]:
        """One pass over targets and weights; X may be whatever is cheapest to give."""
        return self.blocks()

    def where(self, row: int) -> str | None:
        """What a person calls the row of this number, such as a line of a file; None where that is its number."""
        return None

    def take(self, numbers: NDArray[np.int64]) -> list[Any]:
        """The rows of these numbers, which rise, in parts."""
        parts, first = [], 0
        for block in self.blocks():
            last = first + block.X.shape[0]
            here = numbers[np.searchsorted(numbers, first) : np.searchsorted(numbers, last)]
            if len(here):
                parts.append(part_of(block.X, here - first))
            first = last
        return parts
