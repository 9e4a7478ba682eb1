"""Randomly pivoted Cholesky: rows drawn in proportion to what the rows before them leave unexplained."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from .._memory import check_memory
from .._random import Stream

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Indices = NDArray[np.int64]

PROPOSALS = 64
"""Pivots proposed at once. It changes which pivots a seed draws, but not their law."""

NOISE = 1e-12
"""A residual below this fraction of k(x, x) is rounding: drawn from it, pivots would depend on last digits."""


class Pivots(NamedTuple):
    """The rows in the order in which they were drawn, and the residual trace after the last one."""

    pivots: Indices
    trace: float


def explained(residual: Vector, diagonal: Vector, noise: float = NOISE) -> Vector:
    """The residual diagonal with 0 for what is rounding."""
    return np.where(residual > noise * np.abs(diagonal), residual, 0.0)


def rpcholesky(
    rng: Stream,
    diagonal: Vector,
    columns: Callable[[Indices], Matrix],
    block: Callable[[Indices], Matrix],
    count: int,
    tol: float = 0.0,
    noise: float = NOISE,
) -> Pivots:
    """At most ``count`` pivots; fewer where the residual trace falls to ``tol`` times the trace, or to rounding.

    Proposals are drawn a block at a time from the residual diagonal as it stands before the block. One by one they are
    accepted with the probability by which the pivots accepted before it in the block have shrunk its residual. What
    is accepted has the law of the algorithm that draws one pivot after another, and the matrix is read in blocks.

    Parameters
    ----------
    rng : Stream
    diagonal : the diagonal of the kernel matrix
    columns : the columns of the matrix at these indices
    block : its rows and columns at these indices
    count : the most pivots
    tol : the residual trace, relative to the trace, at which to stop
    noise : the residual, relative to the diagonal, that is rounding

    References
    ----------
    Chen, Epperly, Tropp and Webber, Randomly pivoted Cholesky, Communications on Pure and Applied Mathematics, 2025.
    Epperly, Tropp and Webber, Embrace rejection: kernel matrix approximation by accelerated randomly pivoted Cholesky,
    SIAM Journal on Matrix Analysis and Applications, 2025.
    """
    check_memory((count, len(diagonal)), 8, "the factor of the kernel matrix")
    factor = np.empty((count, len(diagonal)))
    residual, floor = explained(diagonal, diagonal, noise), noise * np.abs(diagonal)
    enough = tol * float(residual.sum())
    pivots: list[int] = []
    trace, step = float(residual.sum()), 0
    while len(pivots) < count and trace > enough:
        found, stream = len(pivots), rng.child("block", step)
        proposals = stream.child("pivots").categories(residual, PROPOSALS).astype(np.int64)
        part = factor[:found, proposals]
        schur = block(proposals) - part.T @ part
        luck = stream.child("acceptance").uniforms((PROPOSALS,)) * schur.diagonal()
        accepted, lower = _accepted(schur, luck, floor[proposals], count - found)
        step += 1
        if not accepted:  # what seemed to be left of these rows is rounding
            residual[proposals] = 0.0
            trace = float(residual.sum())
            continue
        chosen = proposals[accepted]
        rest = columns(chosen).T - factor[:found, chosen].T @ factor[:found]
        new = solve_triangular(lower, rest, lower=True)
        # One pivot after another, the loop would have stopped at the first trace that is small enough.
        traces = trace - np.cumsum(np.einsum("ij,ij->i", new, new))
        needed = min(int(np.count_nonzero(traces > enough)) + 1, len(chosen))
        factor[found : found + needed] = new[:needed]
        pivots += chosen[:needed].tolist()
        residual = residual - np.einsum("ij,ij->j", new[:needed], new[:needed])
        residual[pivots] = 0.0
        residual = explained(residual, diagonal, noise)
        trace = float(residual.sum())
    return Pivots(np.array(pivots, dtype=np.int64), trace)


def _accepted(schur: Matrix, luck: Vector, floor: Vector, most: int) -> tuple[list[int], Matrix]:
    """Which proposals are accepted, and the lower Cholesky factor of their residual matrix."""
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
