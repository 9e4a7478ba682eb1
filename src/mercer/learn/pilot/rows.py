"""The rows of a pilot, in an order determined by their contents and the seed.

Usually equal rows with equal targets count as one row with their total weight: otherwise a row that was copied would be
learned from its copies when it is left out, and any kernel that is narrow enough would seem perfect. A pilot therefore
treats weights like repeated rows. Only if most rows occur again and again, as in tables of a few categories, is that
no accident: new rows will be equal to known ones, too, and every row is left out by itself.

Rows of weight 0 do not count, and the result does not depend on the order of the rows.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._array import canonical_csr

Matrix = NDArray[np.float64]

HELD_SHARE = 0.25
"""The share of the rows that is held out of everything, for the final decision about learned columns."""
OFTEN = 3
"""If rows occur at least so many times on average, they are drawn from few possible ones."""
DIGEST = 8
"""The number of bytes of a row's digest, by which rows are ordered."""


class PilotRows(NamedTuple):
    """The rows of a sample that are used, in their order, and how much each of them counts."""

    numbers: NDArray[np.int64]
    weight: Matrix

    @property
    def n_held(self) -> int:
        """The number of rows at the beginning that are held out."""
        return int(HELD_SHARE * len(self.numbers))


def pilot_rows(X: Any, Y: Matrix, weight: Matrix, seed: int) -> PilotRows:
    """Return the rows of a sample that a pilot uses.

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
    PilotRows
        The rows in their order, with their weights.
    """
    key = hashlib.blake2b(str(seed).encode(), digest_size=16).digest()
    # Rows in float64 are ordered like their float32 roundings, so that precision does not change the choice.
    contents = list(zip(row_bytes(X, np.float64), row_bytes(X, np.float32), strict=True))
    used = np.flatnonzero(weight > 0.0).tolist()
    one_by_one = are_drawn_from_few(Counter(contents[number][0] for number in used).values())
    found: dict[bytes, tuple[bytes, int]] = {}
    total: dict[bytes, float] = {}
    times: Counter[bytes] = Counter()
    for number in used:
        whole, rounded = contents[number]
        row = whole + Y[number].tobytes()
        if one_by_one:
            row += weight[number].tobytes()
            times[row] += 1
            place = times[row].to_bytes(8)
            row, rounded = row + place, rounded + Y[number].astype(np.float32).tobytes() + place
        total[row] = total.get(row, 0.0) + float(weight[number])
        if row not in found:
            found[row] = hashlib.blake2b(rounded, digest_size=DIGEST, key=key).digest(), number
    order = sorted(found, key=lambda row: (found[row][0], row))
    numbers = np.array([found[row][1] for row in order], dtype=np.int64)
    return PilotRows(numbers, np.array([total[row] for row in order]))


def are_drawn_from_few(counts: Collection[int]) -> bool:
    """Whether rows are draws from a few possible ones, given how often each of them occurs.

    Not so if a table was copied, which repeats all rows equally often. In bootstrap samples, or if two classes were
    balanced by copies, rows occur less than twice on average.

    Examples
    --------
    >>> are_drawn_from_few([7, 5, 12, 1]), are_drawn_from_few([1, 2, 1, 3]), are_drawn_from_few([5, 5, 5])
    (True, False, False)
    """
    most, total = max(counts, default=0), sum(counts)
    return total >= OFTEN * len(counts) and total < most * len(counts)


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
