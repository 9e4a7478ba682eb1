"""The interface through which kernels, maps and learners read rows, and its implementation for matrices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._array import is_foreign, to_numpy
from ._random import Stream, as_seed
from .gpu.device import Device

BLOCK_ROWS = 4096
"""The number of rows in a block; the last one may have fewer."""


class Rows(ABC):
    """Abstract interface to rows: their number and width, a seeded sample, and repeatable passes over blocks.

    Parameters
    ----------
    rng : Stream
        Determines the sample.
    """

    def __init__(self, rng: Stream):
        self._rng = rng

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """The number of rows."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """The number of columns."""

    @property
    @abstractmethod
    def dtype(self) -> Any:
        """The type of the numbers."""

    @abstractmethod
    def take(self, numbers: NDArray[np.int64]) -> Any:
        """Return the rows with these numbers.

        Parameters
        ----------
        numbers : ndarray of int
            Row numbers in increasing order.

        Returns
        -------
        {ndarray, sparse matrix} of shape (n_numbers, n_features)
            The rows.
        """

    @abstractmethod
    def weighted_blocks(self) -> Iterator[tuple[Any, NDArray[np.float64] | None]]:
        """Pass over all rows in order, with their weights.

        Returns
        -------
        iterator of tuple
            Pairs of a block of rows and their weights, which are None if all are 1.
        """

    @property
    def whole(self) -> Any:
        """All rows if they are in memory, otherwise None."""
        return None

    @property
    def device(self) -> Device | None:
        """The device on which to learn from the rows; None means the CPU."""
        return None

    def where(self, row: int) -> str | None:
        """Return the name by which users know a row, such as a line of a file.

        Parameters
        ----------
        row : int
            The number of the row.

        Returns
        -------
        str or None
            The name of the row; None if that is its number.
        """
        return None

    def blocks(self) -> Iterator[Any]:
        """Pass over all rows in order.

        Yields
        ------
        {ndarray, sparse matrix} of shape (n_rows_of_block, n_features)
            A block of rows.
        """
        for block, _ in self.weighted_blocks():
            yield block

    def choose(self, count: int) -> NDArray[np.int64]:
        """Choose at most ``count`` rows without replacement.

        Row i carries the i-th word of the stream, and the rows with the smallest words are chosen. The choice therefore
        does not depend on blocks, and a smaller choice is part of a larger one.

        Parameters
        ----------
        count : int
            The largest number of rows.

        Returns
        -------
        ndarray of int
            The row numbers in increasing order.
        """
        if count >= self.n_rows:
            return np.arange(self.n_rows, dtype=np.int64)
        keys = self._rng.words(self.n_rows)
        return np.sort(np.argpartition(keys, count)[:count]).astype(np.int64)

    def sample(self, count: int) -> Any:
        """Return the rows that :meth:`choose` chooses.

        Parameters
        ----------
        count : int
            The largest number of rows.

        Returns
        -------
        {ndarray, sparse matrix} of shape (n_chosen, n_features)
            The rows.
        """
        return self.take(self.choose(count))


class ArrayRows(Rows):
    """The rows of a matrix.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_rows, n_features)
        Validated rows, or a one-dimensional array of objects.
    rng : Stream
        Determines the sample.
    """

    def __init__(self, X: Any, rng: Stream):
        super().__init__(rng)
        self._X = to_numpy(X) if is_foreign(X) else X
        self._device = Device.of(X)

    @property
    def device(self) -> Device | None:
        return self._device

    @property
    def n_rows(self) -> int:
        return int(self._X.shape[0])

    @property
    def n_features(self) -> int:
        return int(self._X.shape[1]) if self._X.ndim == 2 else 1

    @property
    def dtype(self) -> Any:
        return self._X.dtype

    @property
    def whole(self) -> Any:
        return self._X

    def take(self, numbers: NDArray[np.int64]) -> Any:
        return self._X[numbers]

    def sample(self, count: int) -> Any:
        """Return the rows that :meth:`choose` chooses, without a copy if they are all rows.

        Parameters
        ----------
        count : int
            The largest number of rows.

        Returns
        -------
        {ndarray, sparse matrix} of shape (n_chosen, n_features)
            The rows.
        """
        return self._X if count >= self.n_rows else super().sample(count)

    def weighted_blocks(self) -> Iterator[tuple[Any, None]]:
        for start in range(0, self.n_rows, BLOCK_ROWS):
            yield self._X[start : start + BLOCK_ROWS], None


def is_rows(X: Any) -> bool:
    """Return whether X already implements the interface of :class:`Rows`.

    Parameters
    ----------
    X : object
        Anything.

    Returns
    -------
    bool
        Whether X can be used as rows.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data import as_rows, is_rows
    >>> is_rows(np.eye(3)), is_rows(as_rows(np.eye(3)))
    (False, True)
    """
    return hasattr(X, "blocks") and hasattr(X, "sample")


def as_rows(X: Any, random_state: Any = None) -> ArrayRows:
    """Wrap a validated matrix as rows.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_rows, n_features)
        The matrix.
    random_state : int, Generator, RandomState, Stream or None, default=None
        Determines the sample.

    Returns
    -------
    ArrayRows
        The rows.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data import as_rows
    >>> as_rows(np.eye(3)).n_features
    3
    """
    rng = random_state if isinstance(random_state, Stream) else Stream(as_seed(random_state))
    return ArrayRows(X, rng.child("rows"))
