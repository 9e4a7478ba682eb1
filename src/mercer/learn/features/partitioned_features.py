"""The matrix of features of rows in partitions: computed and kept where the partitions are, and summed in a fixed tree.

What a solver knows about each row, such as its decision value, is kept here; coefficients are sent to the partitions,
which return sums. What is the same in many products, such as the curvatures during a step, is sent once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._array import aligned
from ..._caller import warn_caller
from ..._figures import size
from ...data import PartitionedTable, Parts, Table
from ...data.partitions import Sums, added
from ...maps import FeatureMap
from ..losses import Bend
from ..passes.fit_passes import counting
from .chosen_rows import ChosenRows, RowNumbers
from .feature_matrix import FeatureChunk, FeatureMatrix, Matrix, among
from .prepared_rows import PartRows, PreparedRows

Bent = tuple[Bend, RowNumbers | None]
"""The bend of the loss at rows of a partition, and their numbers in it; None means all of its rows."""


class HeldPart(NamedTuple):
    """The features of the rows of one partition, and the rows, from which more features can be computed."""

    rows: PreparedRows
    features: Any


class PartitionedFeatures(FeatureMatrix):
    """Features of rows in partitions.

    Parameters
    ----------
    parts : Parts
        A :class:`HeldPart` for every partition.
    rows : PreparedRows
        The rows of all partitions.
    n_features : int
        The number of features.
    intercept, n_jobs : as for all features
    precision : float or None
        The error of a feature, as a share of the largest; None means the precision of their type.
    """

    def __init__(
        self,
        parts: Parts,
        rows: PreparedRows,
        n_features: int,
        intercept: bool,
        n_jobs: int | None,
        precision: float | None = None,
    ):
        super().__init__(rows.n_rows, n_features, rows.dtype, intercept, n_jobs, rows.passes)
        self.parts, self._rows, self._precision = parts, rows, precision
        self._bend: Bend | None = None
        self._bends: Parts | None = None

    @property
    def precision(self) -> float:
        return super().precision if self._precision is None else self._precision

    @property
    def table(self) -> PartitionedTable:
        """The table whose partitions these are."""
        assert self.passes.partitions is not None
        return self.passes.partitions

    def first(self, count: int) -> PartitionedFeatures:
        """Return the first ``count`` features."""
        parts = self.parts.kept(partial(first_columns, count))
        return PartitionedFeatures(parts, self._rows, count, self.intercept, self.n_jobs, self._precision)

    def summed(self, what: str, work: Callable[[Any, Any], Sums], arguments: Sequence[Any], held: int) -> Sums:
        """Sum the results of ``work`` on each partition and its argument, in a pass of this name."""
        done = counting(self.passes.begin(what), self.table.slices())
        found: Sums = self.parts.folded(work, added, arguments, held, done=done)
        return found

    def _inside(self, rows: RowNumbers | None) -> list[RowNumbers | None]:
        """Return the rows of these numbers, counted from the first of each partition."""
        slices = self.table.slices()
        if rows is None:
            return [None] * len(slices)
        return [among(rows, part.start, part.stop) - part.start for part in slices]

    def _apart(self, R: NDArray[Any], rows: RowNumbers | None) -> list[tuple[NDArray[Any], RowNumbers | None]]:
        """Return the entries of R for every partition; only those of ``rows`` if these are given."""
        parts = zip(self.table.slices(), self._inside(rows), strict=True)
        return [(R[part] if inside is None else R[part][inside], inside) for part, inside in parts]

    # -- as for all features -------------------------------------------------------------------------------------------

    def chunks(self, rows: RowNumbers | None = None) -> Iterator[FeatureChunk]:
        slices, inside = self.table.slices(), self._inside(rows)
        places = [place for place, some in enumerate(inside) if some is None or len(some)]
        for place, chunks in zip(places, self.parts.each(chunks_of, inside, places), strict=True):
            first = slices[place].start
            for numbers, Z, stop in chunks:
                shifted = slice(numbers.start + first, numbers.stop + first) if rows is None else numbers + first
                yield FeatureChunk(shifted, partial(ChosenRows.all, Z), stop + first)

    def exactly(self, rows: RowNumbers) -> Callable[[slice], Matrix]:
        inside = self._inside(rows)
        places = [place for place, some in enumerate(inside) if some is not None and len(some)]
        Z = np.concatenate([np.zeros((0, self.n_features)), *self.parts.each(exact_values_of, inside, places)])
        return lambda some: Z[some]

    def products(self, W: Matrix, what: str, rows: RowNumbers | None = None) -> NDArray[Any]:
        self.n_passes += 1
        inside, tell = self._inside(rows), self.passes.begin(what)
        places = [place for place, some in enumerate(inside) if some is None or len(some)]
        F = np.empty((self.n_rows if rows is None else len(rows), W.shape[1]), dtype=self.dtype)
        first = 0
        for place, found in zip(places, self.parts.each(partial(products_of, W), inside, places), strict=True):
            F[first : first + len(found)] = found
            first += len(found)
            if tell is not None:
                tell(self.table.slices()[place].stop)
        return F

    def transposed(self, R: NDArray[Any], what: str, rows: RowNumbers | None = None) -> Matrix:
        self.n_passes += 1
        R = R.astype(self.dtype, copy=False)
        return self.summed(what, transposed_of, self._apart(R, rows), 8 * self.width * R.shape[1])[0]

    def curved(self, W: Matrix, bend: Bend, what: str, rows: RowNumbers | None = None) -> Matrix:
        self.n_passes += 1
        if self._bend is not bend:  # the curvature of a step, which is the same in all of its products
            self._bend, self._bends = bend, None
            given = [
                (bend.part(part), some) for part, some in zip(self.table.slices(), self._inside(rows), strict=True)
            ]
            self._bends = self.parts.beside(self.parts.kept(bend_of, given))
        assert self._bends is not None
        done = counting(self.passes.begin(what), self.table.slices())
        found: Sums = self._bends.folded(partial(curved_of, W), added, None, 8 * W.size, done=done)
        return found[0]

    def moments(self, h: NDArray[Any], alone: bool) -> NDArray[Any]:
        self.n_passes += 1
        found = self.summed("curvature", moments_of, [h[part] for part in self.table.slices()], self._held_bytes)
        return found[0]

    def half_moments(self, h: NDArray[Any]) -> NDArray[Any]:
        self.n_passes += 1
        arguments = [h[part] for part in self.table.slices()]
        return self.summed("curvature", half_moments_of, arguments, self._held_bytes)[0]

    def weighted_chunks(self, h: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any], NDArray[Any]]]:
        arguments, slices = [h[part] for part in self.table.slices()], self.table.slices()
        places = [place for place, mine in enumerate(arguments) if mine.any()]
        for place, chunks in zip(places, self.parts.each(weighted_chunks_of, arguments, places), strict=True):
            for stop, Z, mine in chunks:
                yield stop + slices[place].start, Z, mine


class PartitionedRoom:
    """Memory for the features of rows in partitions, filled some columns at a time.

    Parameters
    ----------
    rows : PreparedRows
        The rows of all partitions.
    make : callable
        Allocates memory for the features of one partition.
    fill : callable
        Fills columns of this memory with the features of a map.
    width : int
        The number of features to allocate.
    intercept, n_jobs : as for all features
    precision : float or None
        The error of a feature; None means the precision of their type.
    """

    def __init__(
        self,
        rows: PreparedRows,
        make: Callable[[PreparedRows], Any],
        fill: Callable[[Any, PreparedRows, FeatureMap, slice], None],
        width: int,
        intercept: bool,
        n_jobs: int | None,
        precision: float | None,
    ):
        self._rows, self._make, self._fill, self._width = rows, make, fill, width
        self._rest = intercept, n_jobs, precision
        self._parts: Parts | None = None

    def fill(self, map: FeatureMap, columns: slice) -> None:
        """Write the features of a map to these columns; the others are unchanged."""
        partitions = self._rows.passes.partitions
        assert partitions is not None
        self._rows.passes.count_read()
        if self._parts is None:
            filling = partial(filled, self._make, self._fill, map, columns, self._rows.apart(self._rest[1]))
            self._parts = partitions.parts.kept(filling)
        else:
            self._parts = self._parts.kept(partial(filled_more, self._make, self._fill, map, columns))

    def first(self, count: int) -> PartitionedFeatures:
        """Return the first ``count`` features."""
        assert self._parts is not None
        whole = PartitionedFeatures(self._parts, self._rows, self._width, *self._rest)
        return whole if count == self._width else whole.first(count)


def warn_of_little_room(parts: Parts, needed: int) -> None:
    """Issue a warning if features of so many bytes are to be kept by workers that have less memory."""
    room = parts.room  # it changes when workers come and go
    if room is not None and needed > room:
        warn_caller(
            f"the workers will keep features of {size(needed)} between passes, but have room for {size(room)}: "
            "Dask writes the rest to disk. Give the learner less memory= to compute features again in every pass"
        )


# -- work on the features of one partition -----------------------------------------------------------------------------


def made(how: PartRows, make: Callable[[PreparedRows], Any], table: Table, argument: Any) -> HeldPart:
    """Return the features of a partition, computed from its rows."""
    rows = how.of(table)
    return HeldPart(rows, make(rows))


def filled(
    make: Callable[[PreparedRows], Any],
    fill: Callable[[Any, PreparedRows, FeatureMap, slice], None],
    map: FeatureMap,
    columns: slice,
    how: PartRows,
    table: Table,
    argument: None,
) -> HeldPart:
    """Memory for the features of a partition, with the first of them filled in."""
    rows = how.of(table)
    room = make(rows)
    fill(room, rows, map, columns)
    return HeldPart(rows, room)


def filled_more(
    make: Callable[[PreparedRows], Any],
    fill: Callable[[Any, PreparedRows, FeatureMap, slice], None],
    map: FeatureMap,
    columns: slice,
    part: HeldPart,
    argument: None,
) -> HeldPart:
    """Return a copy of the memory of a partition with more of its features filled in; the original is not changed."""
    room = make(part.rows)
    room.Z[:, : columns.start] = part.features.Z[:, : columns.start]
    fill(room, part.rows, map, columns)
    return HeldPart(part.rows, room)


def first_columns(count: int, part: HeldPart, argument: None) -> HeldPart:
    return part._replace(features=part.features.first(count))


def chunks_of(part: HeldPart, rows: RowNumbers | None) -> list[tuple[Any, NDArray[Any], int]]:
    """Return the features of all or some rows of a partition, chunk by chunk."""
    return [(chunk.rows, chunk.features().values(), chunk.stop) for chunk in part.features.chunks(rows)]


def exact_values_of(part: HeldPart, rows: RowNumbers) -> Matrix:
    found: Matrix = part.features.exactly(rows)(slice(0, len(rows)))
    return found


def products_of(W: Matrix, part: HeldPart, rows: RowNumbers | None) -> NDArray[Any]:
    found: NDArray[Any] = part.features.products(W, "products", rows)
    return found


def transposed_of(part: HeldPart, given: tuple[NDArray[Any], RowNumbers | None]) -> Sums:
    R, rows = given
    if rows is None:
        return (part.features.transposed(R, "gradient"),)
    if not len(rows):
        return (np.zeros((part.features.width, R.shape[1])),)
    whole = np.zeros((part.rows.n_rows, R.shape[1]), dtype=R.dtype)
    whole[rows] = R
    return (part.features.transposed(whole, "gradient", rows),)


def bend_of(part: HeldPart, given: Bent) -> Bent:
    """Return the bend of the loss at the rows of a partition, so that it is kept where their features are."""
    return given


def curved_of(W: Matrix, bent: tuple[HeldPart, Bent], argument: None) -> Sums:
    part, (bend, rows) = bent
    if rows is not None and not len(rows):
        return (np.zeros(W.shape),)
    if bend.diagonal is not None:  # arrays from another worker may not be aligned
        bend = Bend.of(aligned(bend.diagonal))
    return (part.features.curved(W, bend, "products", aligned(rows)),)


def moments_of(part: HeldPart, h: NDArray[Any]) -> Sums:
    return (part.features.moments(h, True),)


def half_moments_of(part: HeldPart, h: NDArray[Any]) -> Sums:
    return (part.features.half_moments(h),)


def weighted_chunks_of(part: HeldPart, h: NDArray[Any]) -> list[tuple[int, NDArray[Any], NDArray[Any]]]:
    return list(part.features.weighted_chunks(h))
