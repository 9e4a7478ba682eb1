"""Cholesky factors of large matrices: computed, multiplied and solved block by block, on our own threads.

LAPACK's last digits depend on how many threads BLAS has. Here the blocks are the same for any number of threads, and
so are the bits. Almost all of the arithmetic consists of products of large blocks, at the speed of BLAS.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import DTypeLike, NDArray

from ..._tiles import run_tiles
from ..features.chosen_rows import ChosenRows

BLOCK = 512

Values = NDArray[Any]


class Triangular:
    """A lower triangular matrix L with L L' = A.

    Parameters
    ----------
    lower : ndarray of shape (n, n)
        The matrix L; entries above its diagonal are not read.
    n_jobs : int or None
        The number of threads.

    Attributes
    ----------
    inverses : list of ndarrays
        The inverses of the blocks on the diagonal, which turn solves into products.
    """

    def __init__(self, lower: Values, n_jobs: int | None):
        self.lower = lower
        self.n_jobs = n_jobs
        self.inverses = [inverse(lower[block, block]) for block in blocks(len(lower))]

    @classmethod
    def factor(cls, matrix: Values, n_jobs: int | None) -> Triangular:
        """Return the factor of a positive definite matrix, of which the lower half is read and overwritten.

        Raises
        ------
        numpy.linalg.LinAlgError
            If the matrix is not positive definite to within its precision.
        """
        n = len(matrix)
        for block in blocks(n):
            corner = scipy.linalg.cholesky(matrix[block, block], lower=True, check_finite=False)
            if not np.isfinite(corner).all():
                raise np.linalg.LinAlgError("the matrix has entries that are not finite")
            matrix[block, block] = corner + np.triu(matrix[block, block], 1)  # the upper half belongs to the caller
            turn = inverse(corner).T
            below = block.stop

            def panel(rows: slice, block: slice = block, turn: Values = turn, below: int = below) -> None:
                rows = slice(below + rows.start, below + rows.stop)
                matrix[rows, block] = matrix[rows, block] @ turn

            def update(rows: slice, block: slice = block, below: int = below) -> None:
                rows = slice(below + rows.start, below + rows.stop)
                panel, left = matrix[rows, block], slice(below, rows.start)
                matrix[rows, left] -= panel @ matrix[left, block].T
                matrix[rows, rows] -= np.tril(panel @ panel.T)  # as above

            if below < n:
                run_tiles(panel, n - below, BLOCK, n_jobs)
                run_tiles(update, n - below, BLOCK, n_jobs)
        return cls(matrix, n_jobs)

    def __len__(self) -> int:
        return len(self.lower)

    def solve(self, B: Values) -> Values:
        """Return L^-1 B."""
        X = B.astype(self.lower.dtype)
        for block, turn in zip(blocks(len(self)), self.inverses, strict=True):
            before = ChosenRows(self.lower[:, : block.start], np.arange(block.start, block.stop))
            X[block] = turn @ (X[block] - before.times(np.ascontiguousarray(X[: block.start].T)))
        return X

    def solve_transposed(self, B: Values) -> Values:
        """Return L^-T B."""
        X = B.astype(self.lower.dtype)
        for block, turn in reversed(list(zip(blocks(len(self)), self.inverses, strict=True))):
            sums = np.zeros((X.shape[1], block.stop - block.start), dtype=X.dtype)
            ChosenRows(self.lower[:, block], np.arange(block.stop, len(self))).add_to(sums, X[block.stop :])
            X[block] = turn.T @ (X[block] - sums.T)
        return X

    def inverse_times(self, B: Values) -> Values:
        """Return A^-1 B."""
        return self.solve_transposed(self.solve(B))

    def times(self, B: Values) -> Values:
        """Return L B."""
        X = np.empty_like(B)
        for block in blocks(len(self)):
            X[block] = (
                np.tril(self.lower[block, block]) @ B[block] + self.lower[block, : block.start] @ B[: block.start]
            )
        return X

    def transposed_times(self, B: Values) -> Values:
        """Return L' B."""
        X = np.empty_like(B)
        for block in blocks(len(self)):
            X[block] = (
                np.tril(self.lower[block, block]).T @ B[block] + self.lower[block.stop :, block].T @ B[block.stop :]
            )
        return X

    def inverse_diagonal(self) -> Values:
        """Return the diagonal of A^-1: the squared norms of the columns of L^-1, which are computed along the way."""
        n, every = len(self), blocks(len(self))
        found = np.empty(n, dtype=self.lower.dtype)

        def work(columns: slice) -> None:
            place, count = columns.start // BLOCK, columns.stop - columns.start
            column = np.zeros((n - columns.start, count), dtype=self.lower.dtype)
            column[:count] = self.inverses[place]
            for block, turn in zip(every[place + 1 :], self.inverses[place + 1 :], strict=True):
                above = slice(columns.start, block.start)
                here = slice(block.start - columns.start, block.stop - columns.start)
                column[here] = -turn @ (self.lower[block, above] @ column[: here.start])
            found[columns] = (column**2).sum(axis=0)

        run_tiles(work, n, BLOCK, self.n_jobs)
        return found

    def gram(self, dtype: DTypeLike) -> Values:
        """Return the lower half of L' L, in this precision; the entries above are 0, or symmetric."""
        n, lower = len(self), self.lower.astype(dtype)
        for block in blocks(n):
            lower[block, block] = np.tril(lower[block, block])
        product = np.zeros((n, n), dtype=dtype)

        def work(rows: slice) -> None:
            product[rows, : rows.stop] = lower[rows.start :, rows].T @ lower[rows.start :, : rows.stop]

        run_tiles(work, n, BLOCK, self.n_jobs)
        return product


def blocks(n: int) -> list[slice]:
    """The blocks on the diagonal."""
    return [slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK)]


def inverse(corner: Values) -> Values:
    """Return the inverse of a lower triangular matrix."""
    return scipy.linalg.solve_triangular(
        corner, np.eye(len(corner), dtype=corner.dtype), lower=True, check_finite=False
    )
