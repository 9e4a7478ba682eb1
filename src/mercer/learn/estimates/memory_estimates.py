"""Estimates of the memory of a fit before it uses it: from the width of the map, and again when the map is known."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np

from ..._memory import as_bytes, check_room
from ..._tiles import n_threads, summing_threads
from ...data import Table
from ...data.block import BLOCK_ROWS
from ..map_choice import is_exact, may_be_exact, width_asked
from ..prepare.preparation import Preparation
from ..protocols import LinearMachine, Machine, MapArguments
from ..solvers.triangular import BLOCK
from ..solvers.wide_newton import LEAST_BLOCKS, block_rows, sample_size
from ..solvers.wide_ridge import landmark_count
from ..statistics import chunk_rows

VECTORS = 10
"""Arrays of the size of the coefficients, in steps of conjugate gradients."""
RIDGE_VECTORS = 5
"""Arrays of the size of the coefficients, if steps are taken in the space of rows."""
COPIES = 5
"""Copies of a block of dense rows: one while it is encoded, and one while it is scaled."""
ENTRY_BYTES = 80
"""Bytes per entry of a block of sparse rows while it is numbered, scaled and sorted; measured."""
LEVEL_BYTES = 400
"""Bytes per level of sparse rows, for its text, its number, its summary and its scale; measured."""
ROW_BYTES = 32
"""Bytes per row for its label, its weights and the number of its class."""
NODE_BYTES = 16
"""Bytes per number in the copy that LIBLINEAR makes, which stores every number with its position."""


class Extent(NamedTuple):
    """The size of a fit, with the smallest possible values of numbers that are not yet known."""

    width: int
    n_rows: int = 0
    columns: int = 1
    """The number of columns of targets or of decision values."""
    itemsize: int = 4
    n_jobs: int | None = None
    states_apart: bool = False
    """Whether the state of every row is kept elsewhere, as it is for workers of a cluster."""

    @property
    def state(self) -> int:
        """The number of bytes of the state of every row: decision values, slopes, curvatures and labels."""
        return 0 if self.states_apart else self.n_rows * (self.columns * (5 * self.itemsize + 16) + ROW_BYTES)

    @property
    def square(self) -> int:
        """The number of entries in a matrix of second moments, including the entries of an intercept."""
        return (self.width + 1) ** 2

    def chunks(self, held: int) -> int:
        """Return the bytes of the features of chunks that are summed in parallel, and of sums of this size."""
        features = chunk_rows(self.width, self.itemsize) * self.width * self.itemsize
        return summing_threads(self.n_jobs, held) * (features + held)

    def sums(self, copies: int, exact: bool = False) -> int:
        """Return the bytes of moments in float64, while they are summed, or solved in ``copies`` copies.

        The moments of a chunk are in the precision of the features; with ``exact``, there are two sets in float64.
        """
        held = 16 if exact and self.itemsize < 8 else self.itemsize
        return max(8 * self.square + self.chunks(held * self.square), 8 * copies * self.square)

    def newton(self) -> int:
        """Return the bytes of Newton's method: the factors of columns, sums for more, and the state of every row."""
        return self.columns * self.itemsize * self.square + self.chunks(self.itemsize * self.square) + self.state

    def left_out(self) -> int:
        """Return the bytes of the Hessians for leaving out rows one by one, in float64, one class per thread."""
        return 16 * min(self.columns, n_threads(self.n_jobs)) * self.square

    def landmarks(self, corners: bool = False) -> int:
        """Return the bytes of the solver on landmarks: five kernel matrices in float64, and the state of every row.

        The solver of a loss with corners needs the factors of Newton's method in addition to the kernel matrix.
        """
        if corners:
            return 8 * self.square + self.chunks(self.itemsize * self.square) + self.newton()
        return (8 + 4 * self.itemsize) * self.square + self.state

    def exact_ridge(self) -> int:
        """Return the bytes of ridge regression on all rows: the kernel matrix, and blocks of its factor's inverse."""
        blocks = (1 + n_threads(self.n_jobs)) * self.n_rows * min(BLOCK, self.n_rows)
        return 8 * (self.n_rows**2 + blocks + 4 * self.n_rows * (self.columns + 1))

    def exact_margins(self) -> int:
        """Return the bytes of the exact machine of the squared hinge, if all rows were active."""
        return 2 * self.itemsize * self.n_rows**2 + self.state

    def wide(self, squared: bool) -> int:
        """Return the bytes of the solver without second moments: vectors, a kernel matrix and row states.

        This assumes the smallest possible block of features of the sample; more are kept if there is memory. With
        ``squared``, for ridge regression, it is the larger of the two methods.
        """
        sample = sample_size(self.n_rows, self.columns)
        vector, block = 8 * self.width * self.columns, min(block_rows(self.width), sample) * self.width * 8
        panel = min(LEAST_BLOCKS * block, 8 * self.width * sample)
        blocks = panel + summing_threads(self.n_jobs, vector) * (block + vector)
        needed = VECTORS * vector + 16 * sample**2 + max(self.chunks(2 * vector), blocks) + self.state
        return max(needed, self._wide_ridge()) if squared else needed

    def _wide_ridge(self) -> int:
        """Return the bytes of that solver for ridge regression: two kernel matrices of landmarks, and vectors."""
        count, vector = landmark_count(self.n_rows, self.width, self.columns), 8 * self.width * self.columns
        whitening = chunk_rows(count, self.itemsize) * count * (8 + 2 * self.itemsize)
        state = 0 if self.states_apart else self.n_rows * (self.columns * 12 * 8 + ROW_BYTES)
        return 16 * count**2 + state + max(whitening, RIDGE_VECTORS * vector + self.chunks(2 * vector))

    def features(self) -> int:
        """Return the bytes of the features of all rows."""
        return self.n_rows * self.width * self.itemsize

    def liblinear(self) -> int:
        """Return the bytes of the features of all rows and of the copies that LIBLINEAR uses."""
        doubles = 0 if self.itemsize == 8 else 8
        return self.n_rows * self.width * (self.itemsize + doubles + NODE_BYTES)


class FitMemory(NamedTuple):
    """The least memory that a fit needs, in bytes, in addition to its map and a few blocks of rows."""

    work: int
    """Sums and their solution, or the state of a solver."""
    features: int = 0
    """The features of all rows, if they are kept."""
    streamed: bool = False
    """Whether features are not kept but computed again in every pass."""

    @property
    def total(self) -> int:
        """The bytes of the state and of kept features together."""
        return self.work + self.features


def fit_memory(model: Machine, extent: Extent, memory: int | None = None) -> FitMemory:
    """Return the memory of a fit of this extent: the single source for the fit itself and for estimates before it.

    Parameters
    ----------
    model : Machine
        The learner, fitted or not.
    extent : Extent
        The size of its fit.
    memory : int or None, default=None
        The largest number of bytes for the fit. None means the memory of the machine.

    Returns
    -------
    FitMemory
        The estimate.
    """
    work = model.bytes_needed(extent, memory)
    if not model.iterates(extent.n_rows, memory):
        return FitMemory(work)
    linear = cast("LinearMachine", model)
    if linear.holds_all_features:
        return FitMemory(work, extent.liblinear())
    fits = can_hold_features(linear, extent, work, memory)
    return FitMemory(work, extent.features() if fits else 0, not fits)


def can_hold_features(model: LinearMachine, extent: Extent, work: int, memory: int | None) -> bool:
    """Return whether there is memory for the features of all rows in addition to the bytes of ``work``."""
    return extent.features() <= room_for_features(model, work, memory)


def room_for_features(model: LinearMachine, work: int, memory: int | None) -> float:
    """Return the bytes that features may take in addition to ``work``."""
    left = float("inf") if memory is None else memory - work
    return min(as_bytes(model.memory), left)


def parameter_bytes(params: Any, itemsize: int) -> int:
    """Return the bytes of a map's parameters; matrices of floats are also packed for products."""
    if isinstance(params, tuple):
        return sum(parameter_bytes(part, itemsize) for part in params)
    packed = params.size * itemsize if params.ndim == 2 and params.dtype == np.float64 else 0
    return int(params.nbytes + packed)


def known_width(model: MapArguments) -> int:
    """Return the width of the map as far as it is known beforehand; 0 if it is not a number."""
    width = width_asked(model)
    return int(width) if isinstance(width, int | np.integer) else 0


def check_before(model: Machine, table: Table, memory: int | None, iterates: bool, workers: int | None = None) -> None:
    """Refuse, before any pass, what does not fit in memory; ``iterates`` means several passes over features.

    ``workers`` is the memory that a thread of a worker has; it plays no part in how a machine is trained, only in what
    is refused. The state of rows and exact machines need it here, not there.
    """
    width = known_width(model)
    if width <= 0:
        return
    few = may_be_exact(model) if isinstance(model.map, str) else model.map.has_landmarks
    extent = Extent(width, table.n_rows if iterates else 0, n_jobs=model.n_jobs)
    if is_exact(model):
        check_room(model.bytes_needed(extent, memory), f"map='exact' with {table.n_rows} rows: its factors", memory)
        return
    try:
        _check_width(model, extent, f"the sums over {width} features and their solution", memory, workers)
    except MemoryError:
        if not few or table.n_rows > width:  # there are no more landmarks than rows
            raise
        landmarks = extent._replace(width=table.n_rows)
        _check_width(model, landmarks, f"the sums over {table.n_rows} landmarks", memory, workers)


def _check_width(model: Machine, extent: Extent, what: str, memory: int | None, workers: int | None) -> None:
    check_room(model.bytes_needed(extent, memory), what, memory)
    if workers is not None:
        needed = model.bytes_needed(extent._replace(states_apart=True), memory)
        check_room(needed, what, workers, "a thread of a worker has room for")


def check_levels(model: Machine, preparation: Preparation, memory: int | None) -> None:
    """Refuse what does not fit in memory once the levels of columns are known, each of which becomes a column."""
    most = preparation.most_levels
    if most is not None:
        width = preparation.width(model.n_features_in_)
        needed = COPIES * 8 * BLOCK_ROWS * width
        if preparation.sparse_levels:
            needed = ENTRY_BYTES * BLOCK_ROWS * model.n_features_in_ + LEVEL_BYTES * width
        name = f"column {most.name!r} has {len(most.levels or ()):,} levels, each of which becomes a column of numbers"
        advice = "exclude it with exclude= of mercer.data.open, or join rare levels"
        check_room(needed, f"{name}: {advice}. The levels and blocks of {BLOCK_ROWS:,} rows", memory)


def check_after(model: Machine, extent: Extent, memory: int | None) -> None:
    """Refuse what does not fit in memory once the map is fitted, before the pass over its features."""
    needed = fit_memory(model, extent, memory).work + parameter_bytes(model.map_.parameters_, extent.itemsize)
    check_room(needed, f"the map, the sums over its {extent.width} features and their solution", memory)
