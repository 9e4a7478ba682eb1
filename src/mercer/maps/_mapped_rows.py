"""Rows as another map shows them, for a map that learns from its features."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._array import double, stack_rows
from .._tiles import tile_rows, tiles
from ..data import Rows
from ._base import FeatureMap
from ._row_check import check_blocks


class MappedRows(Rows):
    """The features of rows under a map, made when they are asked for, a tile at a time.

    Parameters
    ----------
    map : a map that is specified
    params : its parameters, None where they are still to be drawn
    rows : the rows that the map takes
    """

    def __init__(self, map: FeatureMap, params: Any, rows: Any):
        self._map = map
        self._params = params
        self._rows = rows
        self._checked = False

    @property
    def n_rows(self) -> int:
        return int(self._rows.n_rows)

    @property
    def n_features(self) -> int:
        return self._map.n_components_

    @property
    def dtype(self) -> Any:
        return np.dtype(np.float64)  # whatever the rows have, so that no more is lost on the way

    def choose(self, count: int) -> NDArray[np.int64]:
        """The numbers of at most so many rows: those that the rows themselves would name."""
        return self._rows.choose(count)

    def take(self, numbers: NDArray[np.int64]) -> Any:
        """The features of the rows of these numbers."""
        self._check()
        return stack_rows(list(self._tiles(self._rows.take(numbers))))

    def weighted_blocks(self) -> Iterator[tuple[Any, NDArray[np.float64] | None]]:
        """One pass over the features of all rows in order, in smaller blocks: features are wider than rows."""
        self._check()
        for block, weight in self._rows.weighted_blocks():
            first = 0
            for features in self._tiles(block):
                last = first + features.shape[0]
                yield features, None if weight is None else weight[first:last]
                first = last

    def _tiles(self, X: Any) -> Iterator[Any]:
        for tile in tiles(X.shape[0], tile_rows(self._map._scratch(X.shape[1]))):
            yield self._map._tile(self._params, double(X[tile]), 0, as_is=True)

    def _check(self) -> None:
        """See once that the map's parameters are known and that its kernel takes the rows."""
        if self._checked:
            return
        if self._params is None:
            raise ValueError(
                f"the outer map learns from rows, but the features of {self._map!r} are random and not drawn yet: "
                "give bandwidths as numbers, or take an inner map that is not random"
            )
        check_blocks(self._map.kernel_, self._rows)
        self._checked = True
