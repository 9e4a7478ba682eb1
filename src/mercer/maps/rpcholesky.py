"""Randomly pivoted Cholesky, which draws rows in proportion to what the previous ones leave unexplained."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from .._memory import check_memory
from .._random import Stream

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Indices = NDArray[np.int64]

PROPOSALS = 64
"""The number of pivots proposed at once. It affects which pivots a seed draws, but not their distribution."""

NOISE = 1e-12
"""A residual below this fraction of k(x, x) is rounding; pivots drawn from it would depend on the last digits."""


class Pivots(NamedTuple):
    """The rows in the order in which they were drawn, and the residual trace after the last of them."""

    pivots: Indices
    trace: float


def explained(residual: Vector, diagonal: Vector, noise: float = NOISE) -> Vector:
    """Return the residual diagonal with rounding errors replaced by 0."""
    return np.where(residual > noise * np.abs(diagonal), residual, 0.0)


class PivotedFactor(Protocol):
    """Abstract interface to the factor of a kernel matrix, to which every pivot adds a row."""

    def at(self, numbers: Indices) -> Matrix:
        """Return its columns with these numbers."""
        ...

    def further(self, chosen: Indices, lower: Matrix) -> Any:
        """Return the rows that these pivots add; ``lower`` is the factor of their residual kernel matrix."""
        ...

    def row_squares(self, rows: Any) -> Vector:
        """Compute the squared norms of rows."""
        ...

    def keep(self, rows: Any) -> Vector:
        """Append these rows, and return the sums of squares of their columns."""
        ...


class HeldFactor:
    """A factor that is held in memory.

    Parameters
    ----------
    count : int
        The largest number of rows.
    n_rows : int
        The number of rows of the kernel matrix.
    columns : callable
        The columns of the kernel matrix at given indices.
    """

    def __init__(self, count: int, n_rows: int, columns: Callable[[Indices], Matrix]):
        check_memory((count, n_rows), 8, "the factor of the kernel matrix")
        self._rows = np.empty((count, n_rows))
        self._found = 0
        self._columns = columns

    def at(self, numbers: Indices) -> Matrix:
        """Return its columns with these numbers."""
        return self._rows[: self._found, numbers]

    def further(self, chosen: Indices, lower: Matrix) -> Matrix:
        """Return the rows that these pivots add."""
        rest = self._columns(chosen).T - self.at(chosen).T @ self._rows[: self._found]
        return solve_triangular(lower, rest, lower=True)

    def row_squares(self, rows: Matrix) -> Vector:
        """Compute the squared norms of rows."""
        return np.einsum("ij,ij->i", rows, rows)

    def keep(self, rows: Matrix) -> Vector:
        """Append these rows, and return the sums of squares of their columns."""
        self._rows[self._found : self._found + len(rows)] = rows
        self._found += len(rows)
        return np.einsum("ij,ij->j", rows, rows)


def rpcholesky(
    rng: Stream,
    diagonal: Vector,
    columns: Callable[[Indices], Matrix],
    block: Callable[[Indices], Matrix],
    count: int,
    tol: float = 0.0,
    noise: float = NOISE,
    factor: PivotedFactor | None = None,
) -> Pivots:
    """Draw at most ``count`` pivots, fewer if the residual trace falls to ``tol`` times the trace or to rounding.

    Proposals are drawn in blocks from the residual diagonal before the block. Each is accepted with the probability by
    which the pivots already accepted in the block have shrunk its residual. The accepted pivots have the distribution
    of the algorithm that draws one pivot at a time, but the matrix is read in blocks.

    Parameters
    ----------
    rng : Stream
        The source of randomness.
    diagonal : ndarray of shape (n_rows,)
        The diagonal of the kernel matrix.
    columns : callable
        The columns of the matrix at given indices.
    block : callable
        Its rows and columns at given indices.
    count : int
        The largest number of pivots.
    tol : float, default=0.0
        The residual trace, relative to the trace, at which to stop.
    noise : float, default=NOISE
        The residual, relative to the diagonal, that counts as rounding.
    factor : PivotedFactor or None, default=None
        Where the factor is stored. None keeps it in memory.

    Returns
    -------
    Pivots
        The pivots and the residual trace.

    References
    ----------
    Chen, Epperly, Tropp and Webber, Randomly pivoted Cholesky, Communications on Pure and Applied Mathematics, 2025.
    Epperly, Tropp and Webber, Embrace rejection: kernel matrix approximation by accelerated randomly pivoted Cholesky,
    SIAM Journal on Matrix Analysis and Applications, 2025.
    """
    factor = HeldFactor(count, len(diagonal), columns) if factor is None else factor
    residual, floor = explained(diagonal, diagonal, noise), noise * np.abs(diagonal)
    enough = tol * float(residual.sum())
    pivots: list[int] = []
    trace, step = float(residual.sum()), 0
    while len(pivots) < count and trace > enough:
        found, stream = len(pivots), rng.child("block", step)
        proposals = stream.child("pivots").categories(residual, PROPOSALS).astype(np.int64)
        part = factor.at(proposals)
        schur = block(proposals) - part.T @ part
        luck = stream.child("acceptance").uniforms((PROPOSALS,)) * schur.diagonal()
        accepted, lower = _accepted(schur, luck, floor[proposals], count - found)
        step += 1
        if not accepted:  # the residual of these rows turned out to be rounding
            residual[proposals] = 0.0
            trace = float(residual.sum())
            continue
        chosen = proposals[accepted]
        new = factor.further(chosen, lower)
        # Drawing one pivot at a time, the loop would have stopped at the first trace that is small enough.
        traces = trace - np.cumsum(factor.row_squares(new))
        needed = min(int(np.count_nonzero(traces > enough)) + 1, len(chosen))
        pivots += chosen[:needed].tolist()
        residual = residual - factor.keep(new[:needed])
        residual[pivots] = 0.0
        residual = explained(residual, diagonal, noise)
        trace = float(residual.sum())
    return Pivots(np.array(pivots, dtype=np.int64), trace)


def _accepted(schur: Matrix, luck: Vector, floor: Vector, most: int) -> tuple[list[int], Matrix]:
    """Return the accepted proposals, and the lower Cholesky factor of their residual matrix."""
    accepted: list[int] = []
    columns: list[Vector] = []
    for place in range(len(schur)):
        pivot = float(schur[place, place])
        if pivot <= floor[place] or luck[place] >= pivot:
            continue
        column = schur[:, place] / np.sqrt(pivot)
        schur = schur - np.outer(column, column)
        accepted.append(place)
        columns.append(column)
        if len(accepted) == most:
            break
    return accepted, np.tril(np.stack(columns, axis=1)[accepted]) if accepted else np.zeros((0, 0))
