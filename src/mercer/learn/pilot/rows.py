"""The rows of a pilot, in an order determined by their contents and the seed.

Usually equal rows with equal targets count as one row with their total weight: otherwise a row that was copied would be
learned from its copies when it is left out, and any kernel that is narrow enough would seem perfect. A pilot therefore
treats weights like repeated rows. But if rows were drawn again rather than copied, new rows will be equal to known
ones, too, and each is left out by itself. Left out together, all rows of a class would be missing at a place where
other classes remain, or a large part of the table, and the flattest model would seem best. :func:`drawn_again` tells
which rows these are. Tables may also contain each of them once, with the number of times that it occurs as its weight.
It is then used in a few equal parts, only one of which is left out at a time.

Rows of weight 0 do not count, and the result does not depend on the order of the rows.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from statistics import median_low
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._array import Array, canonical_csr

Matrix = NDArray[np.float64]

HELD_SHARE = 0.25
"""The share of the rows that is held out of everything, for the final decision about learned columns."""
OFTEN = 2
"""If rows occur at least so many times on average, they are drawn from few possible ones."""
FEW = 2
"""A column has few values if there are at least this many times as many different rows."""
DIFFERING = 0.05
"""If the targets of more than this share of the repeated rows differ, repeated rows are not copies."""
LARGE_SHARE, MORE_OFTEN = 0.02, 10
"""A row that makes up at least this share of a table, and occurs so many times as often as the usual row with its
targets, is no copy: rows are copied to balance classes or by chance, and then those of a class about equally often."""
MOST_PARTS = 4
"""The largest number of rows for which a row counts whose weight says how often it occurs, as in tables of counts."""
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


def pilot_rows(X: Array, Y: Matrix, weight: Matrix, seed: int) -> PilotRows:
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
    pairs = [(contents[number][0], Y[number].tobytes()) for number in used]
    one_by_one = drawn_again(pairs, have_few_values(X[used]))
    counts_rows = len(set(pairs)) == len(pairs) and np.array_equal(weight, np.floor(weight))
    found: dict[bytes, tuple[bytes, int]] = {}
    total: dict[bytes, float] = {}
    times: Counter[bytes] = Counter()
    for number in used:
        whole, rounded = contents[number]
        row, parts = whole + Y[number].tobytes(), 1
        if whole in one_by_one:
            row += weight[number].tobytes()
            rounded += Y[number].astype(np.float32).tobytes()
            parts = int(min(weight[number], MOST_PARTS)) if counts_rows else 1
        for _ in range(parts):
            place = b""
            if whole in one_by_one:
                times[row] += 1
                place = times[row].to_bytes(8)
            total[row + place] = total.get(row + place, 0.0) + float(weight[number]) / parts
            if row + place not in found:
                found[row + place] = hashlib.blake2b(rounded + place, digest_size=DIGEST, key=key).digest(), number
    order = sorted(found, key=lambda row: (found[row][0], row))
    numbers = np.array([found[row][1] for row in order], dtype=np.int64)
    return PilotRows(numbers, np.array([total[row] for row in order]))


def drawn_again(pairs: Sequence[tuple[bytes, bytes]], from_few_values: bool = True) -> set[bytes]:
    """Return the rows that occur again because they were drawn again, rather than copied.

    These are all rows if their columns have few values, and if most of them, or of the class with the most different
    rows, occur again and again, as in tables of a few categories; rarer classes may have been balanced by copies. They
    are also all rows if the targets of many repeated rows differ, which those of copies never do. Otherwise they are
    the repeated rows whose targets differ, and those that make up a large share of the table, such as rows of zeros.

    Parameters
    ----------
    pairs : sequence of (bytes, bytes)
        The contents of every row and of its targets.
    from_few_values : bool, default=True
        Whether every column has much fewer different values than there are different rows.

    Returns
    -------
    set of bytes
        The contents of these rows.

    Examples
    --------
    >>> drawn_again([(b"x", b"0"), (b"x", b"1"), (b"y", b"0"), (b"z", b"0")]) == {b"x", b"y", b"z"}
    True
    >>> drawn_again([(b"x", b"0"), (b"x", b"0"), (b"y", b"1"), (b"y", b"1")])
    set()
    """
    times = Counter(pairs)
    rows = Counter(row for row, _ in pairs)
    repeated = sum(count > 1 for count in rows.values())
    targets = Counter(row for row, _ in times)
    differing = {row for row, count in targets.items() if count > 1}
    by_target: dict[bytes, list[int]] = {}
    for (_, target), count in times.items():
        by_target.setdefault(target, []).append(count)
    # Numbers as targets mostly belong to one row each.
    alone = [count for counts in by_target.values() if len(counts) == 1 for count in counts]
    are_few = from_few_values and are_drawn_from_few(max([alone, *by_target.values()], key=len))
    if are_few or len(differing) > DIFFERING * repeated:
        return set(rows)
    of_all = median_low(times.values()) if times else 0
    usual = {target: median_low(counts) if len(counts) > 1 else of_all for target, counts in by_target.items()}
    least = LARGE_SHARE * len(pairs)
    often = {row for (row, target), count in times.items() if count >= max(least, MORE_OFTEN * usual[target])}
    return differing | often


def are_drawn_from_few(counts: Collection[int]) -> bool:
    """Whether rows are draws from a few possible ones, given how often each of them occurs.

    Not so if a table was copied, which repeats all rows equally often. In bootstrap samples, rows occur less than twice
    on average.

    Examples
    --------
    >>> are_drawn_from_few([7, 5, 12, 1]), are_drawn_from_few([1, 2, 1, 3]), are_drawn_from_few([5, 5, 5])
    (True, False, False)
    """
    most, total = max(counts, default=0), sum(counts)
    return total >= OFTEN * len(counts) and total < most * len(counts)


def have_few_values(X: Array) -> bool:
    """Whether every column has much fewer different values than there are different rows.

    Columns of categories do; a column of numbers has about as many values as there are different rows.

    Examples
    --------
    >>> have_few_values(np.array([[0, 0], [0, 1], [1, 0], [1, 1]])), have_few_values(np.array([[0.3, 1], [0.1, 0]]))
    (True, False)
    """
    different = len(set(row_bytes(X, np.float64)))
    return all(FEW * len(np.unique(column)) <= different for column in columns_of(X))


def columns_of(X: Array) -> Iterator[NDArray[np.floating]]:
    """The entries of every column; of a sparse matrix those that are stored, and a zero if there are others."""
    if not sp.issparse(X):
        yield from np.asarray(X).T
        return
    X = X.tocsc()
    for first, last in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        yield np.append(X.data[first:last], np.zeros(int(last - first < X.shape[0])))


def row_bytes(X: Array, dtype: type[np.floating]) -> Iterator[bytes]:
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
