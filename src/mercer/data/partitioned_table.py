"""Tables whose rows are in partitions that may be anywhere: only results are brought to this process."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .block import Block, concatenated, recut, rows_of
from .fingerprints import digest
from .frames import columns, holds, is_frame, is_missing, kind_of
from .in_memory import ArrayTable, as_block
from .partitions import Parts
from .table import Table


class PartitionError(ValueError):
    """Raised for faulty rows of a partition; the message names it."""


class Partition(ArrayTable):
    """The rows of one partition, in memory.

    Parameters
    ----------
    number : int
        The number of the partition in the collection that the user gave.
    block : Block
        Its rows, with targets and weights as they were given.
    """

    def __init__(self, number: int, block: Block):
        super().__init__(*as_block(tuple(block) if block.weight is not None else tuple(block[:2])))
        self.number = number

    def __sizeof__(self) -> int:
        """Return about the bytes of the rows too: Dask moves what it takes for small from worker to worker."""
        X, *beside = self._all
        arrays = [part for part in beside if part is not None]
        if sp.issparse(X):
            arrays += [X.data, X.indices, X.indptr]
        rows = 8 * X.shape[0] * X.shape[1] if is_frame(X) else 0 if sp.issparse(X) else X.nbytes
        return object.__sizeof__(self) + rows + sum(part.nbytes for part in arrays)

    def where(self, row: int) -> str | None:
        return f"row {row} of partition {self.number}"


class SelectedRows(Partition):
    """Some rows of a partition.

    Parameters
    ----------
    number : int
        The number of the partition in the collection that the user gave.
    block : Block
        These rows.
    rows : ndarray of int
        Their numbers in the partition.
    """

    def __init__(self, number: int, block: Block, rows: NDArray[np.int64]):
        super().__init__(number, block)
        self._rows = rows

    def where(self, row: int) -> str | None:
        return super().where(int(self._rows[row]))


class PartitionedTable(Table):
    """Rows in partitions.

    The rows of a partition are cut into chunks from its own first row on, and the results of partitions are joined in a
    fixed tree: a model depends on the partitions, but not on which process works on them.

    Parameters
    ----------
    parts : Parts
        A :class:`Table` for every partition that has rows.
    sizes : sequence of int
        Their numbers of rows.
    numbers : sequence of int
        The numbers of the partitions in the collection that the user gave, for messages.
    """

    def __init__(self, parts: Parts, sizes: Sequence[int], numbers: Sequence[int]):
        if not len(parts) == len(sizes) == len(numbers):
            raise ValueError(f"expected a size and a number of each of {len(parts)} partitions")
        if not len(parts):
            raise ValueError("there are no rows in any partition")
        self.parts, self.numbers = parts, tuple(numbers)
        self.firsts = np.cumsum([0, *sizes], dtype=np.int64)
        self._head: Block | None = None

    @property
    def n_rows(self) -> int:
        return int(self.firsts[-1])

    @property
    def starts(self) -> list[int]:
        """The number of the first row of every partition."""
        return self.firsts[:-1].tolist()

    def slices(self) -> list[slice]:
        """Return the rows of every partition.

        Returns
        -------
        list of slice
            One slice of row numbers per partition.
        """
        return [slice(*pair) for pair in zip(self.firsts[:-1].tolist(), self.firsts[1:].tolist(), strict=True)]

    def blocks(self, start: int = 0) -> Iterator[Block]:
        return islice(recut(part for blocks in self.parts.each(all_blocks) for part in blocks), start, None)

    def targets(self) -> Iterator[Block]:
        return recut(part for blocks in self.parts.each(all_targets) for part in blocks)

    def head(self) -> Block:
        if self._head is None:
            self._head = next(recut(part for blocks in self.parts.each(first_blocks) for part in blocks))
        return self._head

    def fingerprint(self) -> str:
        return digest(*self.firsts.tolist(), *self.parts.each(fingerprint_of))

    def where(self, row: int) -> str | None:
        place = int(np.searchsorted(self.firsts, row, side="right")) - 1
        return next(self.parts.each(name_of_row, [row - int(self.firsts[place])] * len(self.parts), [place]))

    def _inside(self, numbers: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Return increasing row numbers by partition, counted from its first row."""
        cuts = np.searchsorted(numbers, self.firsts)
        slices = zip(cuts[:-1].tolist(), cuts[1:].tolist(), self.starts, strict=True)
        return [numbers[first:last] - start for first, last, start in slices]

    def selected(self, numbers: NDArray[np.int64]) -> PartitionedTable:
        """Return the rows with these numbers as a table, in the same partitions.

        Parameters
        ----------
        numbers : ndarray of int
            Row numbers in increasing order.

        Returns
        -------
        PartitionedTable
            The table.
        """
        inside = self._inside(numbers)
        parts = self.parts.kept(selected_rows, list(zip(inside, self.numbers, strict=True)))
        places = [place for place, rows in enumerate(inside) if len(rows)]
        sizes, names = [len(inside[place]) for place in places], [self.numbers[place] for place in places]
        return PartitionedTable(parts.chosen(places), sizes, names)

    def take(self, numbers: NDArray[np.int64]) -> list[Any]:
        inside = self._inside(numbers)
        places = [place for place, rows in enumerate(inside) if len(rows)]
        return [part for parts in self.parts.each(taken, inside, places) for part in parts]


def all_blocks(table: Table, argument: None) -> list[Block]:
    return list(table.blocks())


def all_targets(table: Table, argument: None) -> list[Block]:
    """Return targets and weights, with row numbers in place of rows."""
    return [block._replace(X=np.empty((block.X.shape[0], 0))) for block in table.targets()]


def first_blocks(table: Table, argument: None) -> list[Block]:
    return [table.head()]


def fingerprint_of(table: Table, argument: None) -> str:
    return table.fingerprint()


def name_of_row(table: Table, row: int) -> str | None:
    return table.where(row)


def taken(table: Table, numbers: NDArray[np.int64]) -> list[Any]:
    return table.take(numbers)


def selected_rows(table: Table, chosen: tuple[NDArray[np.int64], int]) -> Partition:
    rows, number = chosen
    return SelectedRows(number, rows_of(concatenated(list(table.blocks())), rows), rows)


def n_rows_of(table: Table, argument: None) -> int:
    return table.n_rows


def naming(work: Callable[[Any, Any], Any], number: int, part: Any, argument: Any) -> Any:
    """Do work on a partition; an error names it, unless it does so already."""
    try:
        return work(part, argument)
    except ValueError as error:
        known = re.search(rf"\bpartition {number}\b", str(error)) is not None
        # Without its cause, which may not be one that can be sent from process to process.
        raise PartitionError(str(error) if known else f"partition {number}: {error}") from None


def check_alike(number: int, X: Any, kinds: dict[str, str]) -> None:
    """Raise an error unless a data frame has columns of these names, each holding what is expected."""
    if not is_frame(X):
        raise PartitionError(f"partition {number} is expected to be a data frame, found {type(X).__name__}")
    here = columns(X)
    for name, kind in kinds.items():
        if name not in here:
            raise PartitionError(f"partition {number} has no column {name!r}; it has {', '.join(map(repr, here))}")
        found = holds(kind_of(here[name]))
        if found != kind and not is_missing(here[name]):
            raise PartitionError(f"column {name!r} is expected to have {kind}, found {found} in partition {number}")
