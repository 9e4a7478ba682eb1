"""Tables in memory: a matrix, a data frame, or blocks from a function that the user provides."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from .._array import as_stored
from .block import BLOCK_ROWS, Block, part_of, recut, rows_of, without_duplicates, without_weightless
from .fingerprints import digest, hashed
from .frames import check_infinite, columns, holds, is_frame, is_missing, kind_of, row_label, settled
from .table import Table
from .times import days_of

MOST_WEIGHT = 1e100
"""The largest weight of a row; the smallest is its reciprocal."""


class ArrayTable(Table):
    """A validated matrix or data frame in memory.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_rows, n_features) or data frame
        The rows.
    y : ndarray of shape (n_rows,) or (n_rows, n_targets), default=None
        The targets.
    weight : ndarray of shape (n_rows,), default=None
        The weights. Rows of weight 0 are dropped.
    square : bool, default=False
        Whether ``X`` is a matrix of kernel values between its rows. Then no row is dropped; rows of weight 0 get the
        target of another row instead.
    """

    def __init__(self, X: Any, y: Any = None, weight: NDArray[np.float64] | None = None, square: bool = False):
        self._given, self._numbers = X, None
        if square and y is not None and weight is not None:
            y = y[np.where(weight > 0.0, np.arange(len(weight)), np.argmax(weight > 0.0))]
        elif weight is not None and not weight.all():
            self._numbers = np.flatnonzero(weight)
        self._all = Block(X, y, weight) if square else without_weightless(Block(X, y, weight))

    @property
    def n_rows(self) -> int:
        return int(self._all.X.shape[0])

    def blocks(self, start: int = 0) -> Iterator[Block]:
        for first in range(start * BLOCK_ROWS, self.n_rows, BLOCK_ROWS):
            yield rows_of(self._all, slice(first, first + BLOCK_ROWS))

    def where(self, row: int) -> str | None:
        return row_label(self._given, row if self._numbers is None else int(self._numbers[row]))

    def fingerprint(self) -> str:
        return digest(*map(hashed, self._all))

    def take(self, numbers: NDArray[np.int64]) -> list[Any]:
        return [part_of(self._all.X, numbers)]


class Blocks(Table):
    """Rows that arrive block by block, for example from files in your own format.

    Parameters
    ----------
    source : iterable or callable
        An iterable of blocks, or a function that returns one. Every iteration must yield the same blocks: X, (X, y) or
        (X, y, weights), where X is a matrix (dense or CSR) or a data frame. An iterator, which can be used only once,
        is refused: pass the function that creates it.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data import Blocks
    >>> def read():
    ...     for number in range(3):
    ...         X = np.random.default_rng(number).normal(size=(100, 4))
    ...         yield X, X[:, 0] ** 2
    >>> Blocks(read).n_rows
    300
    """

    def __init__(self, source: Iterable[Any] | Callable[[], Iterable[Any]]):
        if not callable(source) and iter(source) is source:
            raise TypeError(
                "the source of Blocks is read several times, found an iterator: give a function that returns it, or a "
                "list"
            )
        self._source = source
        self._n_rows: int | None = None

    @property
    def n_rows(self) -> int:
        if self._n_rows is None:
            self._n_rows = sum(block.X.shape[0] for block in self.blocks())
        return self._n_rows

    def blocks(self, start: int = 0) -> Iterator[Block]:
        source = self._source() if callable(self._source) else self._source
        return islice(recut(map(without_weightless, alike(map(as_block, source)))), start, None)


def alike(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield blocks unchanged; raise a ValueError if a column of data frames differs from that in the first."""
    first: dict[str, str] | None = None
    for block in blocks:
        if is_frame(block.X):
            here = {name: holds(kind_of(column)) for name, column in columns(block.X).items()}
            first = here if first is None else first
            for name in [name for name in first if here.get(name) != first[name]]:
                if name not in here:
                    raise ValueError(f"a block has no column {name!r}; it has {', '.join(map(repr, here))}")
                if not is_missing(columns(block.X)[name]):
                    raise ValueError(
                        f"column {name!r} has {first[name]} in the first block and {here[name]} in a later one"
                    )
        yield block


def checked_weights(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights of a block after checking that each is a finite number of at least 0."""
    wrong = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0.0)))
    if len(wrong):
        row = int(wrong[0])
        raise ValueError(f"weights must be finite numbers of at least 0, found {weight[row]} in row {row} of a block")
    check_extreme_weights(weight)
    return weight


def check_extreme_weights(weight: NDArray[np.float64]) -> None:
    """Refuse weights whose products with the squares of features or targets would overflow, or vanish."""
    wrong = np.flatnonzero((weight > MOST_WEIGHT) | ((weight > 0.0) & (weight < 1.0 / MOST_WEIGHT)))
    if len(wrong):
        row = int(wrong[0])
        raise ValueError(
            f"weights must be 0 or from {1.0 / MOST_WEIGHT:g} to {MOST_WEIGHT:g}, found {weight[row]:g} in row {row}: "
            "multiply all by the same number"
        )


def as_block(item: Any) -> Block:
    """Convert one item of a source to a block, checking its rows for what every learner needs."""
    parts = item if isinstance(item, tuple) else (item,)
    if not 1 <= len(parts) <= 3:
        raise ValueError(f"a block must be X, (X, y) or (X, y, weights), found a tuple of {len(parts)}")
    X, y, weight = (*parts, None, None, None)[:3]
    if is_frame(X):
        X = settled(X)
        check_infinite(X)
    else:
        X = without_duplicates(
            check_array(
                days_of(as_stored(X)),
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                ensure_all_finite="allow-nan",
                ensure_min_samples=0,
            )
        )
    y = None if y is None else np.asarray(y)
    weight = None if weight is None else checked_weights(np.asarray(weight, dtype=np.float64))
    for name, part in (("y", y), ("weights", weight)):
        if part is not None and part.shape[0] != X.shape[0]:
            raise ValueError(f"a block of {X.shape[0]} rows has {part.shape[0]} {name}")
    return Block(X, y, weight)
