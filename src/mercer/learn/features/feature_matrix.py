"""The matrix of features of all rows, as solvers use it: products with it, with its transpose, and its second moments.

It is kept in memory if it fits, and otherwise computed again in every pass. One more column, of ones, represents the
intercept.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ..._array import Array, aligned, to_numpy
from ..._memory import check_memory
from ..._tiles import run_tiles, sum_in_order
from ...maps import FeatureMap
from ...maps.executor import features
from ...maps.row_checks import check_rows
from ..losses import Bend
from ..passes.fit_passes import Passes, after_chunks
from ..statistics import chunk_rows
from .chosen_rows import ChosenRows, RowNumbers
from .prepared_rows import Chunk, PreparedRows

if TYPE_CHECKING:
    from ..solvers.landmarks import LandmarkFeatures

Matrix = NDArray[np.float64]


class FeatureChunk(NamedTuple):
    """Rows, in order, with a function that returns their features, and the number of rows done after them."""

    rows: slice | RowNumbers
    features: Callable[[], ChosenRows]
    stop: int


CACHED_BYTES = 4 * 2**20
"""The number of features that stay in a cache between two products."""
LEAST_ROWS = 64
"""The smallest number of rows at a time; fewer would make products slow."""
SUMMED_ROWS = 512
"""The smallest number of rows in a sum that is then added in float64; adding sums of fewer rows takes too long."""
LARGEST = 65535.0
"""The largest 16-bit integer; its inverse is the relative precision of features that are stored in this way."""
AVERAGED = 0.125
"""The factor by which rounding errors of 16-bit integers shrink in sums over rows, where they partly cancel."""
PANEL = 512
"""The number of columns of second moments that a thread computes at a time."""


class FeatureMatrix(ABC):
    """Features Z of n rows, and a column of ones if there is an intercept."""

    n_passes = 0
    """The number of passes over all rows."""
    most_sample_bytes: float | None = None
    """The memory that the features of a sample may take, for a solver without second moments; None for all others."""
    near: Callable[[], LandmarkFeatures] | None = None
    """Computes features of a few landmarks with nearly the same products, for ridge regression without these features.
    """

    def __init__(
        self, n_rows: int, n_features: int, dtype: np.dtype[Any], intercept: bool, n_jobs: int | None, passes: Passes
    ):
        self.n_rows = n_rows
        self.n_features = n_features
        self.dtype = dtype
        self.intercept = intercept
        self.n_jobs = n_jobs
        self.passes = passes
        self.chunk_rows = chunk_rows(n_features, np.dtype(dtype).itemsize)

    @property
    def width(self) -> int:
        return self.n_features + self.intercept

    @abstractmethod
    def chunks(self, rows: RowNumbers | None = None) -> Iterator[FeatureChunk]:
        """Yield the features of all rows in order, or of the rows with these increasing numbers."""

    def whole(self) -> NDArray[Any]:
        """Return the features of all rows, which must be few."""
        return np.concatenate([chunk.features().values() for chunk in self.chunks()])

    @abstractmethod
    def exactly(self, rows: RowNumbers) -> Callable[[slice], Matrix]:
        """Return a function from a slice of these row numbers to the features of the rows in float64."""

    def coefficients(self, W: Matrix) -> Matrix:
        """Return W in terms of the features of the map, which is W itself."""
        return W

    def kept(self, what: str, make: Callable[..., NDArray[Any]], *arguments: Any, passes: int = 1) -> NDArray[Any]:
        """Return the result of ``make``; if it is known already, only count the ``passes`` that it would take."""
        checkpoint = self.passes.context.checkpoint
        if checkpoint is None:
            return make(*arguments)
        self.n_passes += passes if what in checkpoint.found else 0
        return checkpoint.kept(what, lambda: (to_numpy(make(*arguments)),))[0]

    def products(self, W: Matrix, what: str, rows: RowNumbers | None = None) -> NDArray[Any]:
        """Return Z W for all rows, or those with these numbers, in the precision of the features.

        ``what`` is the purpose of the pass.
        """
        self.n_passes += 1
        F = np.empty((self.n_rows, W.shape[1]), dtype=self.dtype)
        columns = np.ascontiguousarray(W[: self.n_features].T, dtype=self.dtype)

        def work(chunk: FeatureChunk) -> tuple[Matrix]:
            F[chunk.rows] = chunk.features().times(columns)
            return (np.zeros(1),)

        sum_in_order(work, self.chunks(rows), self.n_jobs, held=8, after=after_chunks(self.passes.begin(what)))
        F = F if rows is None else F[rows]
        if self.intercept:
            F += W[self.n_features].astype(self.dtype)
        return F

    def decision_values(self, W: Matrix, what: str) -> NDArray[Any]:
        """Return Z W for all rows, in the form that losses expect."""
        return self.products(W, what)

    def row_values(self, F: NDArray[Any]) -> NDArray[Any]:
        """Return decision values in the form that losses expect: unchanged."""
        return F

    def step_values(self, G: Matrix) -> Matrix:
        """Return coefficients in the form that the products of a step expect: unchanged."""
        return G

    def transposed(self, R: NDArray[Any], what: str, rows: RowNumbers | None = None) -> Matrix:
        """Return Z' R; ``what`` is the purpose of the pass. If ``rows`` are given, R is 0 in all others."""
        self.n_passes += 1
        R = R.astype(self.dtype, copy=False)

        def work(chunks: list[FeatureChunk]) -> tuple[Matrix]:
            sums = np.zeros((R.shape[1], self.n_features), dtype=self.dtype)
            for chunk in chunks:
                chunk.features().add_to(sums, R[chunk.rows])
            return (sums.T.astype(np.float64),)

        held, tell = 8 * self.n_features * R.shape[1], after_chunks(self.passes.begin(what))
        after = None if tell is None else lambda chunks: tell(chunks[-1])
        (G,) = sum_in_order(work, joined(self.chunks(rows), self.chunk_rows), self.n_jobs, held, after)
        return np.vstack([G, R.sum(axis=0, dtype=np.float64)]) if self.intercept else G

    def curved(self, W: Matrix, bend: Bend, what: str, rows: RowNumbers | None = None) -> Matrix:
        """Return Z' bend(Z W), in one pass: few rows at a time, which are still in the cache for the second product.

        If ``rows`` are given, all others have no bend.
        """
        self.n_passes += 1
        columns = np.ascontiguousarray(W[: self.n_features].T, dtype=self.dtype)
        offsets = np.zeros(W.shape[1], dtype=self.dtype)
        if self.intercept:
            offsets += W[self.n_features].astype(self.dtype)
        few = self.cached_rows

        def work(chunk: FeatureChunk) -> tuple[Matrix, Matrix]:
            Z, sums = chunk.features(), np.zeros((W.shape[1], self.n_features), dtype=self.dtype)
            if bend.diagonal is not None:
                totals = Z.add_curved(sums, bend.diagonal[chunk.rows], columns, offsets).sum(axis=0, dtype=np.float64)
                return sums.T.astype(np.float64), totals
            totals = np.zeros(W.shape[1])
            for start in range(0, len(Z.numbers), few):
                z = Z.part(start, few)
                R = bend(part_of(chunk.rows, start, len(z.numbers)), z.times(columns) + offsets)
                z.add_to(sums, R)
                totals += R.sum(axis=0)
            return sums.T.astype(np.float64), totals

        held, after = 8 * self.n_features * W.shape[1], after_chunks(self.passes.begin(what))
        G, totals = sum_in_order(work, self.chunks(rows), self.n_jobs, held, after)
        return np.vstack([G, totals]) if self.intercept else G

    def moments(self, h: NDArray[Any], alone: bool) -> NDArray[Any]:
        """Return Z' diag(h) Z over the rows with positive h; ``alone`` if no other threads are running."""
        self.n_passes += 1

        def work(chunk: FeatureChunk) -> tuple[NDArray[Any], ...]:
            chosen = np.flatnonzero(h[chunk.rows])
            return weighted_moments(chunk.features().values()[chosen], h[chunk.rows][chosen], self.intercept)

        n_jobs, after = self.n_jobs if alone else 1, after_chunks(self.passes.begin("curvature"))
        return joined_moments(sum_in_order(work, self.chunks(), n_jobs, self._held_bytes, after))

    def half_moments(self, h: NDArray[Any]) -> NDArray[Any]:
        """Return :meth:`moments` as one matrix, of which only the half above the diagonal is valid."""
        self.n_passes += 1
        whole = np.zeros((self.width, self.width), dtype=self.dtype)
        tell = self.passes.begin("curvature")
        for stop, Z, mine in self.weighted_chunks(h):
            root = np.sqrt(mine)
            scaled = np.empty((len(Z), self.width), dtype=self.dtype)
            np.multiply(Z, root[:, None], out=scaled[:, : self.n_features])
            scaled[:, self.n_features :] = root[:, None]

            def work(columns: slice, scaled: NDArray[Any] = scaled) -> None:
                whole[columns, columns.start :] += scaled[:, columns].T @ scaled[:, columns.start :]

            run_tiles(work, self.width, PANEL, self.n_jobs)
            if tell is not None:
                tell(stop)
        return whole

    def weighted_chunks(self, h: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any], NDArray[Any]]]:
        """Yield the features of rows with positive h, some at a time, with their h and the number of rows passed."""
        for chunk in self.chunks():
            chosen = np.flatnonzero(h[chunk.rows])
            if len(chosen):
                yield chunk.stop, chunk.features().values()[chosen], h[chunk.rows][chosen]

    @property
    def precision(self) -> float:
        """The error of a feature, as a share of the largest."""
        return float(np.finfo(self.dtype).eps)

    @property
    def cached_rows(self) -> int:
        """The number of rows whose features stay in a cache between two products."""
        return max(LEAST_ROWS, CACHED_BYTES // (self.n_features * np.dtype(self.dtype).itemsize))

    @property
    def _held_bytes(self) -> int:
        return self.n_features**2 * np.dtype(self.dtype).itemsize


def among(rows: RowNumbers, first: int, last: int) -> RowNumbers:
    """Return the row numbers from ``first`` on that are below ``last``."""
    return rows[np.searchsorted(rows, first) : np.searchsorted(rows, last)]


def joined(chunks: Iterator[FeatureChunk], rows: int) -> Iterator[list[FeatureChunk]]:
    """Yield chunks grouped for sums in the precision of features, with several small ones in one group.

    Otherwise, adding sums in float64 would take longer than computing the features, if these are wide.
    """
    return iter(lambda: list(islice(chunks, max(1, SUMMED_ROWS // rows))), [])


def part_of(rows: slice | RowNumbers, start: int, count: int) -> slice | RowNumbers:
    """Return some of a chunk's rows, counted from its first."""
    if isinstance(rows, slice):
        return slice(rows.start + start, rows.start + start + count)
    return rows[start : start + count]


def weighted_moments(Z: NDArray[Any], h: NDArray[Any], intercept: bool) -> tuple[NDArray[Any], ...]:
    """Return Z' diag(h) Z and, for an additional column of ones, Z' h and the sum of h."""
    root = np.sqrt(h)
    scaled = Z * root[:, None]
    gram = scaled.T @ scaled
    return (gram, root @ scaled, np.array([h.sum()], dtype=h.dtype)) if intercept else (gram,)


def joined_moments(parts: tuple[NDArray[Any], ...]) -> NDArray[Any]:
    """Return the moments as one matrix."""
    if len(parts) == 1:
        return parts[0]
    gram, sums, total = parts
    whole = np.empty((len(sums) + 1, len(sums) + 1), dtype=gram.dtype)
    whole[:-1, :-1], whole[:-1, -1], whole[-1, :-1], whole[-1, -1] = gram, sums, sums, total[0]
    return whole


Features = Callable[[Any, int], NDArray[Any]]
"""Returns the features of prepared rows, given the rows and the number of the first."""


class HeldFeatures(FeatureMatrix):
    """Features in memory.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_features)
        The features, or 16-bit integers with a unit.
    intercept : bool
        Whether there is an intercept.
    n_jobs : int or None
        The number of threads.
    passes : Passes
        The passes of the fit.
    unit : float, default=1.0
        The value that 1 in Z stands for.
    """

    def __init__(self, Z: NDArray[Any], intercept: bool, n_jobs: int | None, passes: Passes, unit: float = 1.0):
        dtype = ChosenRows.all(Z).dtype
        super().__init__(Z.shape[0], Z.shape[1], dtype, intercept, n_jobs, passes)
        self.Z = Z
        self.unit = unit

    def __sizeof__(self) -> int:
        """Return the bytes of the features too: Dask moves what it takes for small from worker to worker."""
        return object.__sizeof__(self) + self.Z.nbytes

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, Z=aligned(state["Z"]))  # an array from another process may not be contiguous

    @classmethod
    def of(
        cls, rows: PreparedRows, features: Features, width: int, intercept: bool, n_jobs: int | None
    ) -> HeldFeatures:
        """Return the features of all rows, from one pass."""
        held = cls.empty(rows, width, intercept, n_jobs)
        held.fill(rows, features, slice(0, width))
        return held

    @classmethod
    def empty(
        cls, rows: PreparedRows, width: int, intercept: bool, n_jobs: int | None, most: float | None = None
    ) -> HeldFeatures:
        """Allocate the features of all rows. Features between 0 and ``most`` are stored as 16-bit integers."""
        dtype = rows.dtype if most is None else np.dtype(np.uint16)
        check_memory((rows.n_rows, width), dtype.itemsize, "the array of features")
        Z = np.empty((rows.n_rows, width), dtype=dtype)
        return cls(Z, intercept, n_jobs, rows.passes, 1.0 if most is None else most / LARGEST)

    def fill(self, rows: PreparedRows, features: Features, columns: slice) -> None:
        """Write the features of all rows to these columns, in one pass."""
        tell = rows.passes.begin("features")

        def work(chunk: Chunk) -> tuple[Matrix]:
            out, found = self.Z[chunk.first : chunk.last, columns], features(chunk.X, chunk.first)
            if self.is_fixed:
                _core.to_fixed(np.ascontiguousarray(found), 1.0 / self.unit, out)
            else:
                out[...] = found
            return (np.zeros(1),)

        def after(chunk: Chunk) -> None:
            if tell is not None:
                tell(chunk.last)

        size = chunk_rows(self.n_features, rows.dtype.itemsize)
        sum_in_order(work, rows.chunks(size), self.n_jobs, held=8, after=after)

    def first(self, count: int) -> HeldFeatures:
        """Return the first ``count`` features, as a view."""
        return HeldFeatures(self.Z[:, :count], self.intercept, self.n_jobs, self.passes, self.unit)

    @property
    def is_fixed(self) -> bool:
        return self.Z.dtype == np.uint16

    @property
    def precision(self) -> float:
        return AVERAGED * 0.5 / LARGEST if self.is_fixed else super().precision

    def _of(self, rows: RowNumbers) -> ChosenRows:
        return ChosenRows(self.Z, rows, self.unit)

    def chunks(self, rows: RowNumbers | None = None) -> Iterator[FeatureChunk]:
        for start in range(0, self.n_rows, self.chunk_rows):
            stop = min(start + self.chunk_rows, self.n_rows)
            if rows is None:
                yield FeatureChunk(slice(start, stop), partial(self._of, np.arange(start, stop)), stop)
            elif len(some := among(rows, start, stop)):
                yield FeatureChunk(some, partial(self._of, some), stop)

    def exactly(self, rows: RowNumbers) -> Callable[[slice], Matrix]:
        return lambda some: self._of(rows[some]).values().astype(np.float64)

    def moments(self, h: NDArray[Any], alone: bool) -> NDArray[Any]:
        self.n_passes += 1
        chosen = np.flatnonzero(h)  # gathered from all rows, so that products have many rows

        def work(start: int) -> tuple[NDArray[Any], ...]:
            rows = chosen[start : start + self.chunk_rows]
            return weighted_moments(self._of(rows).values(), h[rows], self.intercept)

        tell = self.passes.begin("curvature")

        def after(start: int) -> None:
            stop = start + self.chunk_rows
            if tell is not None:
                tell(int(chosen[stop]) if stop < len(chosen) else self.n_rows)

        starts = range(0, max(len(chosen), 1), self.chunk_rows)
        return joined_moments(sum_in_order(work, starts, self.n_jobs if alone else 1, self._held_bytes, after))

    def weighted_chunks(self, h: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any], NDArray[Any]]]:
        chosen = np.flatnonzero(h)
        for start in range(0, len(chosen), self.chunk_rows):
            rows = chosen[start : start + self.chunk_rows]
            yield int(rows[-1]) + 1, self._of(rows).values(), h[rows]


class StreamedFeatures(FeatureMatrix):
    """Features that are computed again in every pass."""

    def __init__(self, rows: PreparedRows, features: Features, width: int, intercept: bool, n_jobs: int | None):
        super().__init__(rows.n_rows, width, rows.dtype, intercept, n_jobs, rows.passes)
        self._rows = rows
        self._features = features

    def chunks(self, rows: RowNumbers | None = None) -> Iterator[FeatureChunk]:
        for chunk in self._rows.chunks(self.chunk_rows):
            if rows is None:
                yield FeatureChunk(
                    slice(chunk.first, chunk.last), partial(self._made, chunk.X, chunk.first), chunk.last
                )
            elif len(some := among(rows, chunk.first, chunk.last)):
                yield FeatureChunk(some, partial(self._made, chunk.X[some - chunk.first], chunk.first), chunk.last)

    def _made(self, X: Array, first: int) -> ChosenRows:
        return ChosenRows.all(self._features(X, first))

    def exactly(self, rows: RowNumbers) -> Callable[[slice], Matrix]:
        X = self._rows.take(rows).astype(np.float64)
        return lambda some: self._features(X[some], int(rows[some.start]))


def feature_matrix(
    rows: PreparedRows, features: Features, width: int, intercept: bool, n_jobs: int | None, most_bytes: float
) -> FeatureMatrix:
    """Return the features of all rows, kept in memory if they take at most ``most_bytes`` bytes."""
    kind = HeldFeatures.of if rows.n_rows * width * rows.dtype.itemsize <= most_bytes else StreamedFeatures
    return kind(rows, features, width, intercept, n_jobs)


def values_of(map: FeatureMap) -> Features:
    """Return the features of prepared rows by a fitted map."""

    def values(X: Array, first: int) -> NDArray[Any]:
        check_rows(map.kernel_, X, first)
        return features(map.fitted_, X, 1, first)

    return values
