"""The rows of a pilot: distinct rows, in an order determined by their contents and the seed.

Equal rows with equal targets count as one row with their total weight, and rows of weight 0 do not count. A pilot
therefore treats weights like repeated rows, and its result does not depend on the order of the rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._array import canonical_csr

Matrix = NDArray[np.float64]

HELD_SHARE = 0.25
"""The share of the rows that is held out of everything, for the final decision about learned columns."""
DIGEST = 8
"""The number of bytes of a row's digest, by which rows are ordered."""


class DistinctRows(NamedTuple):
    """The rows of a sample that are used, in their order, and how much each of them counts."""

    numbers: NDArray[np.int64]
    weight: Matrix

    @property
    def n_held(self) -> int:
        """The number of rows at the beginning that are held out."""
        return int(HELD_SHARE * len(self.numbers))


def distinct_rows(X: Any, Y: Matrix, weight: Matrix, seed: int) -> DistinctRows:
    """Return the distinct rows of a sample.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_columns)
        Rows of numbers.
    Y : ndarray of shape (n_rows, n_targets)
        Their targets.
    weight : ndarray of shape (n_rows,)
        Their weights.
    seed : int
        Another seed gives another order.

    Returns
    -------
    DistinctRows
        The rows in their order, with their weights.
    """
    key = hashlib.blake2b(str(seed).encode(), digest_size=16).digest()
    found: dict[bytes, tuple[bytes, int]] = {}
    total: dict[bytes, float] = {}
    # Rows in float64 are ordered like their float32 roundings, so that precision does not change the choice.
    for number, (whole, rounded) in enumerate(zip(row_bytes(X, np.float64), row_bytes(X, np.float32), strict=True)):
        if weight[number] > 0.0:
            row = whole + Y[number].tobytes()
            total[row] = total.get(row, 0.0) + float(weight[number])
            if row not in found:
                found[row] = hashlib.blake2b(rounded, digest_size=DIGEST, key=key).digest(), number
    order = sorted(found, key=lambda row: (found[row][0], row))
    numbers = np.array([found[row][1] for row in order], dtype=np.int64)
    return DistinctRows(numbers, np.array([total[row] for row in order]))


def row_bytes(X: Any, dtype: Any) -> Iterator[bytes]:
    """The contents of every row in a precision; -0 is 0."""
    if sp.issparse(X):
        with np.errstate(over="ignore"):
            X = canonical_csr(X).astype(dtype, copy=True)
        X.eliminate_zeros()
        ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        indices = X.indices.astype(np.int64)
        return (indices[first:last].tobytes() + X.data[first:last].tobytes() for first, last in ends)
    with np.errstate(over="ignore"):
        dense = np.ascontiguousarray(X, dtype=dtype) + dtype(0.0)
    return (row.tobytes() for row in dense)
