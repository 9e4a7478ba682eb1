"""The parts shared by maps that wrap other maps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import get_tags

from .._array import Array, double, stack_rows
from .._random import Stream
from .._tiles import tile_rows, tiles
from ..data import Rows
from ..kernels import Kernel
from .construction import Construction
from .estimator import FeatureMap
from .executor import tile_features
from .fitted_map import FittedMap
from .row_checks import check_domain


def check_map(name: str, map: Any) -> None:
    """Raise a TypeError unless an argument is a feature map."""
    if not isinstance(map, FeatureMap):
        raise TypeError(f"{name} must be a feature map, found {map!r}")


def construction_of(map: FeatureMap, width: int, rows: Rows) -> Construction:
    """Return the construction of a map inside another one, at this width."""
    inner: FeatureMap = clone(map).set_params(n_components=width)
    return inner.construct(rows)


# -- one map inside ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class WrapperConstruction(Construction):
    """A map around another one with the same kernel."""

    map: Construction
    parts: ClassVar[tuple[str, ...]] = ("map",)

    def settled(self) -> Self:
        return replace(self, kernel=self.map.kernel)


class MapWrapper(FeatureMap):
    """An estimator whose first parameter is another map."""

    map: FeatureMap

    def construct(self, rows: Rows) -> Construction:
        check_map("map", self.map)
        self.check_arguments()
        inner = construction_of(self.map, self._inner_width(), rows)
        return self.settled(rows.n_features, map=inner)

    def _inner_width(self) -> int:
        """Return the width of the map inside."""
        return int(self.width())

    def takes_objects(self, X: Array, reset: bool) -> bool:
        return super().takes_objects(X, reset) if reset else self.map_.takes_objects(X, reset)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.map, FeatureMap) and get_tags(self.map).input_tags.pairwise
        return tags


# -- two maps inside ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class PairConstruction(Construction):
    """A map made of the features of two others."""

    left: Construction
    right: Construction
    parts: ClassVar[tuple[str, ...]] = ("left", "right")

    def draw_both(self, rng: Stream, rows: Rows) -> tuple[FittedMap, FittedMap]:
        """Draw both maps from separate streams, so that two copies of the same map differ.

        What depends only on the rows and the seed is shared: bandwidths, and uniform landmarks of two Nystrom maps.
        """
        return self.left.draw(rng.child("left"), rows), self.right.draw(rng.child("right"), rows)


class MapPair(FeatureMap):
    """An estimator whose first two parameters are maps."""

    left: FeatureMap
    right: FeatureMap

    def check_arguments(self) -> None:
        for name in ("left", "right"):
            inner = getattr(self, name)
            check_map(name, inner)
            inner.check_arguments()
        super().check_arguments()

    def construct(self, rows: Rows) -> Construction:
        self.check_arguments()
        if rows.dtype == object:
            raise TypeError(f"{type(self).__name__} takes rows of numbers and kernels of mercer.kernels, found objects")
        both = {}
        for name, width in zip(("left", "right"), self._inner_widths(), strict=True):
            both[name] = inner = construction_of(getattr(self, name), width, rows)
            if not isinstance(inner.kernel, Kernel):
                raise TypeError(f"{name} must be a map of a kernel of mercer.kernels, found one of {inner.kernel!r}")
        return self.settled(rows.n_features, **both)

    def _inner_widths(self) -> tuple[int, int]:
        """Return the widths of both maps inside."""
        raise NotImplementedError


# -- one map on the features of another --------------------------------------------------------------------------------


class MappedRows(Rows):
    """The features of rows under a map, computed one tile at a time on demand.

    Parameters
    ----------
    construction : Construction
        The construction of the map.
    fitted : FittedMap or None
        The map itself, or None until it is drawn.
    rows : Rows
        The rows that the map takes.
    """

    def __init__(self, construction: Construction, fitted: FittedMap | None, rows: Rows):
        self._construction = construction
        self._fitted = fitted
        self._rows = rows
        self._checked = False

    @property
    def n_rows(self) -> int:
        return int(self._rows.n_rows)

    @property
    def n_features(self) -> int:
        return self._construction.n_components

    @property
    def dtype(self) -> Any:
        return np.dtype(np.float64)  # whatever type the rows have, so that no digits are lost

    def choose(self, count: int) -> NDArray[np.int64]:
        """Choose at most ``count`` rows, the same ones that the underlying rows choose.

        Parameters
        ----------
        count : int
            The largest number of rows.

        Returns
        -------
        ndarray of int
            The row numbers.
        """
        return self._rows.choose(count)

    def take(self, numbers: NDArray[np.int64]) -> Any:
        """Compute the features of the rows with these numbers."""
        return stack_rows(list(self._tiles(self._checked_map(), self._rows.take(numbers))))

    def weighted_blocks(self) -> Iterator[tuple[Any, NDArray[np.float64] | None]]:
        """Pass over the features of all rows in order, in smaller blocks because features are wider than rows."""
        fitted = self._checked_map()
        for block, weight in self._rows.weighted_blocks():
            first = 0
            for features in self._tiles(fitted, block):
                last = first + features.shape[0]
                yield features, None if weight is None else weight[first:last]
                first = last

    def _tiles(self, fitted: FittedMap, X: Array) -> Iterator[Any]:
        for tile in tiles(X.shape[0], tile_rows(self._construction.scratch)):
            yield tile_features(fitted, double(X[tile]), 0, as_is=True)

    def _checked_map(self) -> FittedMap:
        """Return the map, after checking that its kernel accepts the rows."""
        if self._fitted is None:
            raise ValueError(
                f"the outer map learns its bandwidth from rows, but the features of {self._construction.name}"
                f"({self._construction.kernel!r}) are random and not drawn yet: give bandwidths as numbers, or take an "
                "inner map that is not random"
            )
        if not self._checked:
            check_domain(self._construction.kernel, self._rows)
            self._checked = True
        return self._fitted
