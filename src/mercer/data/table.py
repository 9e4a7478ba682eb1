"""Tables: rows with their targets and weights, before any preparation."""

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
    """Abstract base class of tables: blocks of rows in a fixed order, which can be read any number of times."""

    @abstractmethod
    def blocks(self, start: int = 0) -> Iterator[Block]:
        """Pass over all rows in order.

        Every block except the last has ``BLOCK_ROWS`` rows. Cuts do not depend on how rows arrive, so that sums over
        blocks have the same bits.

        Parameters
        ----------
        start : int, default=0
            The number of the first block.

        Returns
        -------
        iterator of Block
            The blocks.
        """

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """The number of rows."""

    def fingerprint(self) -> str:
        """Return a short text that identifies the rows; unless they are in files, this takes a pass over them.

        Returns
        -------
        str
            The fingerprint.
        """
        return digest(*(hashed(part) for block in self.blocks() for part in block))

    def head(self) -> Block:
        """Return the first block, or raise a ValueError if there are no rows.

        Returns
        -------
        Block
            The first block.
        """
        block = next(iter(self.blocks()), None)
        if block is None:
            raise ValueError("the table has no rows")
        return block

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the columns, or None if they have no names."""
        X = self.head().X
        return tuple(names_of(X)) if is_frame(X) else None

    @property
    def target_name(self) -> str | int | tuple[str, ...] | None:
        """The column of the targets, or None if it has no name or number."""
        return None

    @property
    def weight_name(self) -> str | int | None:
        """The column of the weights, or None if it has no name or number."""
        return None

    def features(self) -> Table:
        """Return the table without targets and weights.

        Returns
        -------
        Table
            The table of features, or the table itself if there is no difference.
        """
        return self

    def targets(self) -> Iterator[Block]:
        """Pass over targets and weights.

        Returns
        -------
        iterator of Block
            The blocks, whose ``X`` may be anything that is cheap to provide.
        """
        return self.blocks()

    def where(self, row: int) -> str | None:
        """Return the name by which users know a row, such as a line of a file.

        Parameters
        ----------
        row : int
            The number of the row.

        Returns
        -------
        str or None
            The name of the row; None if that is its number.
        """
        return None

    def take(self, numbers: NDArray[np.int64]) -> list[Any]:
        """Return the rows with these numbers.

        Parameters
        ----------
        numbers : ndarray of int
            Row numbers in increasing order.

        Returns
        -------
        list
            The rows, in parts.
        """
        parts, first = [], 0
        for block in self.blocks():
            last = first + block.X.shape[0]
            here = numbers[np.searchsorted(numbers, first) : np.searchsorted(numbers, last)]
            if len(here):
                parts.append(part_of(block.X, here - first))
            first = last
        return parts
