"""One table of any number of files or objects: everything that does not depend on the format."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .._checks import check_probability
from .._random import as_seed
from .block import BLOCK_ROWS, Block, recut, rows_of
from .columns import Columns, Roles
from .fingerprints import digest, hashed
from .frames import columns, is_missing
from .row_faults import bytes_of, first_fault, negative_weight, sound_rows
from .shuffling import old_number, shuffled
from .sources import FileSource, Source, SourceError
from .split import Group, Share
from .table import Table

HEAD_BYTES = 2**26
"""The first block is kept if it takes at most this number of bytes, because several steps examine it."""
SURVEYED = 1 << 16
"""The number of rows whose random words are drawn at once."""


class Start(NamedTuple):
    """Where a block starts: the number of a source, and of a row in it."""

    source: int
    row: int


class KeptRows(NamedTuple):
    """The rows of a raw block that are kept, with their numbers in their source."""

    source: int
    rows: NDArray[np.int64]
    block: Block


class Given(NamedTuple):
    """Targets and weights that are not in the files, for all rows in order."""

    y: Any = None
    weight: Any = None


@dataclass
class Dropped:
    """The number of rows dropped for missing or infinite values in some columns; None before they are counted."""

    rows: int | None = None


class SourceTable(Table):
    """The concatenated rows of files or objects, as returned by :func:`mercer.data.open`.

    Parameters
    ----------
    columns : Columns
        The columns of the sources and their roles.
    given : Given
        Targets and weights that are not in the sources.
    drop : bool, default=False
        Whether to drop rows with missing or infinite values.
    memory : int, default=0
        The number of bytes of rows that may be kept between passes.
    notes : tuple of str, default=()
        What was ignored, in words.
    named : Roles or None, default=None
        The names of arrays next to the rows in their files.

    Attributes
    ----------
    names : tuple of str or None
        The names of the features, or None if they have no names.
    n_rows : int
        The number of rows.
    notes : tuple of str
        What was ignored, in words.
    dropped : int
        The number of rows dropped for missing or infinite values.
    """

    def __init__(
        self,
        columns: Columns,
        given: Given,
        drop: bool = False,
        memory: int = 0,
        notes: tuple[str, ...] = (),
        named: Roles | None = None,
    ):
        self._columns, self._given, self._drop, self._memory = columns, given, drop, memory
        self._named = named or Roles()
        self._first_rows = np.cumsum([0, *(source.n_rows for source in self.sources)], dtype=np.int64)
        self._group: Group | None = None
        self._shares: tuple[Share, ...] = ()
        self._order: int | None = None
        self.notes = notes
        self._dropped = Dropped()
        self._forget()
        for name, part in (("target", given.y), ("weight", given.weight)):
            if part is not None and len(part) != self._first_rows[-1]:
                raise ValueError(f"{name} has {len(part)} entries, but there are {self._first_rows[-1]} rows")

    def __repr__(self) -> str:
        sources, target = self.sources, self.target_name
        what = sources[0].name if len(sources) == 1 else f"{len(sources)} sources"
        role = "" if target is None else f", target {target!r}"
        return f"<{type(self).__name__} of {what}: {self.width:,} features{role}>"

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the rows that are kept between passes, which another process reads itself."""
        return vars(self) | {"_kept": None, "_head": None}

    def for_ranges(self) -> None:
        """Find out, once for all copies of this table, where reading can start."""
        for source in self.sources:
            source.find_places()

    def apart(self) -> Self:
        """Return the same table with its own record of where blocks start, for another thread.

        Returns
        -------
        SourceTable
            The table.
        """
        other = copy(self)
        other._starts = list(self._starts)
        return other

    def _forget(self) -> None:
        """Discard what earlier passes found."""
        self._starts = [Start(0, 0)]
        self._n_rows: int | None = None
        self._kept: list[Block] | None = None
        self._head: Block | None = None

    def _with(self, columns: Columns, given: Given | None = None) -> Self:
        """Return the same rows with other columns."""
        other = copy(self)
        other._columns, other._given = columns, self._given if given is None else given
        if columns.looked_at != self._columns.looked_at:  # otherwise the counts of one table are valid for the other
            other._dropped = Dropped()
        other._forget()
        return other

    @property
    def dropped(self) -> int:
        """The number of rows dropped for missing or infinite values in the columns of this table.

        The parts of a split have the number of the whole table. Counting takes a pass unless one has been completed.
        """
        if not self._drop:
            return 0
        if self._dropped.rows is None:
            self._n_rows = sum(len(part.rows) for part in self._kept_rows(0))
        assert self._dropped.rows is not None
        return self._dropped.rows

    @property
    def read(self) -> int:
        """The number of rows in the files or objects, including dropped ones."""
        return int(self._first_rows[-1])

    @property
    def sources(self) -> list[Source]:
        """The files or objects from which the rows are read."""
        return self._columns.sources

    @property
    def is_shuffled(self) -> bool:
        """Whether rows come in another order than they are stored in."""
        return self._order is not None

    def kept_by_source(self) -> Iterator[tuple[Source, NDArray[np.int64] | None]]:
        """Yield every file or object, with the numbers of its rows that belong to the table.

        Yields
        ------
        tuple of Source and ndarray or None
            The file or object, and the row numbers; None for all rows.
        """
        if self._all_kept:
            yield from ((source, None) for source in self.sources)
            return
        kept: list[list[NDArray[np.int64]]] = [[np.zeros(0, dtype=np.int64)] for _ in self.sources]
        for part in self._kept_rows(0):
            kept[part.source].append(part.rows)
        yield from ((source, np.concatenate(rows)) for source, rows in zip(self.sources, kept, strict=True))

    @property
    def files(self) -> tuple[Path, ...]:
        """The files from which the rows are read."""
        return tuple(source.path for source in self.sources if isinstance(source, FileSource))

    # -- properties -------------------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...] | None:
        return self._columns.names

    @property
    def target_name(self) -> str | int | tuple[str, ...] | None:
        """The column of the targets: its name, its number if columns have no names, or several names."""
        return self._name_of("target")

    @property
    def weight_name(self) -> str | int | None:
        """The column of the weights: its name, or its number if columns have no names."""
        return self._name_of("weight")

    def _name_of(self, role: str) -> Any:
        """Return the column that has a role, or the name of an array next to the rows in their file."""
        column = getattr(self._columns.roles, role)
        return getattr(self._named, role) if column is None else column

    @property
    def width(self) -> int:
        """The number of features."""
        return self._columns.width

    @property
    def levels(self) -> tuple[str, ...]:
        """The features that are text or truth values."""
        return self._columns.levels

    @property
    def times(self) -> dict[str, str]:
        """The features that are dates or durations, with "date" or "duration" for each name."""
        return self._columns.times

    def is_missing(self, name: str) -> bool:
        """Return whether the type of a feature is unknown, because the first block has no entry of it.

        Parameters
        ----------
        name : str
            The name of the feature.

        Returns
        -------
        bool
            True if all its entries in the first block are missing.
        """
        return is_missing(columns(self.framed().head().X)[name])

    @property
    def _by_number(self) -> bool:
        """Whether row numbers alone determine which rows are in the table, so that counting them needs no pass."""
        weighted = self._columns.roles.weight is not None or self._given.weight is not None
        return not (self._drop or weighted or self._group)

    @property
    def _all_kept(self) -> bool:
        return self._by_number and not self._shares

    @property
    def n_rows(self) -> int:
        if self._all_kept:
            return int(self._first_rows[-1])
        if self._n_rows is None:
            self._n_rows = self._survey() if self._by_number else self._count_rows()
        return self._n_rows

    def _count_rows(self) -> int:
        """Count the rows of the table in a pass over as few columns as possible."""
        deciding = self
        if not self._drop and self.names is not None:
            deciding = self._with(self._columns.only((), self._columns.roles._replace(target=None)))
        count = sum(len(part.rows) for part in deciding._kept_rows(0))
        self._starts = deciding._starts
        return count

    def _survey(self) -> int:
        """Count the rows of the table by their numbers, and record where its blocks start."""
        count = 0
        for source, first in enumerate(self._first_rows[:-1].tolist()):
            n_rows = int(self._first_rows[source + 1]) - first
            for row in range(0, n_rows, SURVEYED):
                rows = row + np.flatnonzero(self._shared(first + row, min(SURVEYED, n_rows - row)))
                self._note_starts(source, rows, count)
                count += len(rows)
        return count

    def _shared(self, first: int, count: int) -> NDArray[np.bool_]:
        """Return which of these rows, by their numbers among all, belong to this table."""
        mask = np.ones(count, dtype=bool)
        for share in self._shares:
            mask &= share.mask(first, count)
        return mask

    def fingerprint(self) -> str:
        """Return a text that depends on the paths, sizes, times and samples of files, or on all rows in memory.

        Returns
        -------
        str
            The fingerprint.
        """
        parts = [source.fingerprint() for source in self.sources]
        chosen = (self._columns.features, self._columns.roles, self._drop, self._group, self._shares, self._order)
        return digest(*parts, *chosen, *map(hashed, self._given))

    def head(self) -> Block:
        for source in self.sources:
            source.check()
        if self._head is not None:
            return self._head
        head = super().head()
        self._head = head if bytes_of(head) <= HEAD_BYTES else None
        return head

    def where(self, row: int) -> str | None:
        if self._order is not None:
            return self._in_order().where(old_number(row, self.n_rows, self._order))
        number, rest = divmod(row, BLOCK_ROWS)
        for part in self._kept_rows(number):
            if rest < len(part.rows):
                source = self.sources[part.source]
                return f"{source.place(int(part.rows[rest]))} of {source.name}"
            rest -= len(part.rows)
        return None

    # -- other tables of the same files --------------------------------------------------------------------------------

    def matched(self, names: Sequence[str] | None, width: int, apart: Sequence[Any] = ()) -> Self:
        """Return the table with these columns in this order, as a model needs them; others are ignored.

        Parameters
        ----------
        names : sequence of str or None
            The names of the model's features, or None if they have no names.
        width : int
            The number of features.
        apart : sequence, default=()
            The model's target and weight columns, which are ignored without a warning.

        Returns
        -------
        SourceTable
            The matching table.
        """
        if self.names is None or names is None:
            columns = self._columns if self.width == width else self._columns.without(apart, width)
            if columns is None:
                raise SourceError(f"{self.sources[0].name} has {self.width} features, but {width} are expected")
            return self if columns is self._columns else self._with(columns)
        if tuple(names) == self.names:
            return self
        self.ignore([name for name in self.names if name not in (*names, *apart)])
        return self._with(self._columns.only(names, self._columns.roles))

    def framed(self) -> Self:
        """Return the table with data frames as blocks if columns have names, even if all of them are numbers.

        Returns
        -------
        SourceTable
            The table.
        """
        return self._with(self._columns.framed())

    def ignore(self, names: Sequence[str]) -> None:
        """Record, with a warning, that a model does not use these columns.

        Parameters
        ----------
        names : sequence of str
            The names of the columns.
        """
        if names:
            self._note(f"ignored, because the model has no columns with these names: {', '.join(map(repr, names))}")

    @property
    def others(self) -> tuple[str, ...]:
        """The columns of the files that were not requested: neither features nor targets nor weights."""
        return self._columns.others

    def split(self, test: Any = 0.2, *, seed: int = 0, column: str | int | None = None) -> tuple[Self, Self]:
        """Split the table into rows to learn from and rows that are held out.

        Parameters
        ----------
        test : float or object, default=0.2
            The approximate share of rows to hold out, between 0 and 1. With ``column``, the value, or several values,
            that held-out rows have in that column.
        seed : int, default=0
            Determines which rows are held out; whether a row is depends only on its number.
        column : str, int or None, default=None
            The name or number of a column to split by. It is not a feature of either table.

        Returns
        -------
        train : SourceTable
            The rows to learn from.
        test : SourceTable
            The rows that are held out.

        Examples
        --------
        >>> import numpy as np
        >>> import mercer
        >>> table = mercer.data.open(np.arange(20.0).reshape(10, 2), target=1)
        >>> train, test = table.split(test=0.3, seed=0)
        >>> train.n_rows + test.n_rows
        10
        """
        if column is None:
            check_probability("test", test)
            share = Share(float(test), as_seed(seed), len(self._shares), held_out=False)
            parts = self._with(self._columns), self._with(self._columns)
            for part, held_out in zip(parts, (False, True), strict=True):
                part._shares = (*self._shares, share._replace(held_out=held_out))
            return parts
        if self._group is not None:
            raise ValueError(f"the table was split by column {self._columns.roles.group!r} already")
        values = tuple(test) if isinstance(test, list | tuple | set | np.ndarray) else (test,)
        columns = self._columns.apart(column)
        parts = self._with(columns), self._with(columns)
        for part, held_out in zip(parts, (False, True), strict=True):
            part._group = Group(values, held_out)
        return parts

    def shuffled(self, seed: int = 0) -> Self:
        """Return the table in a random order, which is the same in every pass.

        Blocks are read in random order, and rows are mixed within 16 of them, which are held at a time. This is cheap
        if a pass can start anywhere: for Parquet, Arrow, LIBSVM and NumPy files and for rows in memory, but not for
        CSV.

        Parameters
        ----------
        seed : int, default=0
            Determines the order.

        Returns
        -------
        SourceTable
            The shuffled table.
        """
        other = self._with(self._columns)
        other._order = as_seed(seed)
        return other

    def _in_order(self) -> Self:
        """Return the table before it was shuffled."""
        other = self._with(self._columns)
        other._order = None
        return other

    def features(self) -> Self:
        """Return the table without targets and weights, in which rows of weight 0 count and only features are read.

        If rows are dropped, it is the table itself, so that the same rows are dropped.

        Returns
        -------
        SourceTable
            The table of features.
        """
        if self._drop or (self._all_kept and self._kept is not None):
            return self
        return self._with(self._columns.only(None, Roles(group=self._columns.roles.group)), Given())

    def targets(self) -> Iterator[Block]:
        if self._drop or self._kept is not None or self.names is None:
            return self.blocks()
        alone = self._with(self._columns.only((), self._columns.roles))
        alone._memory = 0
        return alone.blocks()

    def _note(self, note: str) -> None:
        self.notes = (*self.notes, note)
        warnings.warn(note, UserWarning, stacklevel=5)

    # -- passes --------------------------------------------------------------------------------------------------------

    def blocks(self, start: int = 0) -> Iterator[Block]:
        for source in self.sources:
            source.check()
        if self._kept is not None:
            yield from self._kept[start:]
            return
        held: list[Block] | None = [] if start == 0 and self._memory else None
        size = 0
        for block in self._read(start):
            if held is not None:
                held.append(block)
                size += bytes_of(block)
                held = held if size <= self._memory else None
            yield block
        self._kept = held

    def _read(self, start: int) -> Iterator[Block]:
        if self._order is not None:
            return islice(recut(shuffled(self._in_order(), self._order)), start, None)
        return recut(part.block for part in self._kept_rows(start))

    def _kept_rows(self, start: int) -> Iterator[KeptRows]:
        """Yield the rows that are kept, from the beginning of block number ``start`` on."""
        begin, skipped = self._start_of(start)
        for part in self._kept_rows_from(begin, start - skipped // BLOCK_ROWS):
            fewer = min(skipped, len(part.rows))
            skipped -= fewer
            if fewer:
                rest = slice(fewer, None)
                part = KeptRows(part.source, part.rows[rest], rows_of(part.block, rest))
            if len(part.rows):
                yield part

    def _start_of(self, number: int) -> tuple[Start, int]:
        """Return where a block, or an earlier one, starts, and how many rows to skip from there."""
        if not self._all_kept:
            if self._by_number and number >= len(self._starts):
                self._survey()
            known = min(number, len(self._starts) - 1)
            return self._starts[known], (number - known) * BLOCK_ROWS
        row = number * BLOCK_ROWS
        source = int(np.searchsorted(self._first_rows, row, side="right")) - 1
        return Start(source, row - int(self._first_rows[source])), 0

    def _kept_rows_from(self, begin: Start, number: int) -> Iterator[KeptRows]:
        """Yield the rows that are kept from block ``number`` on, recording where the next blocks start."""
        count, dropped = number * BLOCK_ROWS, 0
        for source in range(begin.source, len(self.sources)):
            row = begin.row if source == begin.source else 0
            for raw in self.sources[source].read(row, self._columns.needed):
                block = self._block(raw, source, row)
                rows = np.arange(row, row + block.X.shape[0])
                row += len(rows)
                fine = self._fine(block, source, row - len(rows))
                dropped += 0 if fine is None else int(np.count_nonzero(~fine))
                kept = self._counted(raw, block, fine, int(self._first_rows[source]) + row - len(rows))
                if kept is not None:
                    rows, block = rows[kept], rows_of(block, kept)
                    block = block if fine is None else block._replace(y=self._columns.without_gaps(block.y))
                    self._note_starts(source, rows, count)
                count += len(rows)
                yield KeptRows(source, rows, block)
        if number == 0:
            self._dropped.rows, self._n_rows = dropped, count

    def _note_starts(self, source: int, rows: NDArray[np.int64], count: int) -> None:
        for place in range(-count % BLOCK_ROWS, len(rows), BLOCK_ROWS):
            if (count + place) // BLOCK_ROWS == len(self._starts):
                self._starts.append(Start(source, int(rows[place])))

    def _block(self, raw: Any, source: int, row: int) -> Block:
        """Convert a raw block to the requested columns, with what was given outside the files."""
        block = self._columns.block(raw)
        first = int(self._first_rows[source]) + row
        y, weight = (None if part is None else part[first : first + block.X.shape[0]] for part in self._given)
        return Block(block.X, block.y if y is None else y, block.weight if weight is None else weight)

    def _fine(self, block: Block, source: int, row: int) -> NDArray[np.bool_] | None:
        """Return which rows have neither missing nor infinite values, if others are to be dropped; otherwise raise."""
        fine = sound_rows(block) if self._drop else None
        fault = first_fault(block, self.names) if fine is None else negative_weight(block.weight)
        if fault is not None:
            found = self.sources[source]
            raise SourceError(f"{found.name}, {found.place(row + fault.row)}: {fault.what}")
        return fine

    def _counted(self, raw: Any, block: Block, fine: NDArray[np.bool_] | None, first: int) -> NDArray[np.bool_] | None:
        """Return which rows, from number ``first`` on, are in the table; None if all are."""
        if self._all_kept:
            return None
        kept = self._shared(first, block.X.shape[0])
        if fine is not None:
            kept &= fine
        if block.weight is not None:
            kept &= block.weight != 0.0
        if self._group is not None:
            kept &= self._group.mask(self._columns.groups(raw))
        return kept
