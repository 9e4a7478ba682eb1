"""Interfaces through which parts of a fit use a machine: memory estimates, the choice of a map, solvers and others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .._array import Array
from .._random import RandomState
from ..maps import FeatureMap
from .argument_types import KernelArgument, MapArgument, MemoryArgument, PenaltyArgument

if TYPE_CHECKING:
    from .estimates.memory_estimates import Extent
    from .prepare.preparation import Preparation

Matrix = NDArray[np.float64]


class MapArguments(Protocol):
    """The arguments of a machine that specify its map."""

    kernel: KernelArgument
    n_components: int | None
    map: MapArgument
    random_state: RandomState


class Machine(MapArguments, Protocol):
    """A machine as estimates of its memory see it."""

    n_jobs: int | None
    map_: FeatureMap
    n_features_in_: int

    @property
    def holds_rows(self) -> bool:
        """Whether memory is needed for every row."""
        ...

    def iterates(self, n_rows: int, memory: int | None = None) -> bool:
        """Return whether ``fit`` passes over this many rows repeatedly, instead of summing them."""
        ...

    def bytes_needed(self, extent: Extent, memory: int | None = None) -> int:
        """Return the least memory that a fit takes in addition to the map and the rows themselves."""
        ...


class FittedFeatures(Protocol):
    """A machine whose map is fitted."""

    map_: FeatureMap
    preparation_: Preparation

    def features_of(self, X: Array, first_row: int) -> NDArray[Any]:
        """Return the features of prepared rows."""
        ...


class LinearMachine(Machine, FittedFeatures, Protocol):
    """A linear model on features, as an iterative solver sees it."""

    loss: Any
    tol: float
    max_iter: int
    memory: MemoryArgument
    fit_intercept: bool
    coef_: Matrix
    intercept_: Any

    @property
    def solver(self) -> str:
        """The requested solver."""
        ...

    @property
    def n_columns(self) -> int:
        """The number of columns of decision values, as far as it is known."""
        ...

    @property
    def may_iterate(self) -> bool:
        """Whether a solver may pass over the rows repeatedly."""
        ...

    @property
    def has_one_penalty(self) -> bool:
        """Whether there is one positive penalty, so that none has to be chosen from sums over the rows."""
        ...

    @property
    def holds_all_features(self) -> bool:
        """Whether the solver requires all features in memory, and copies them."""
        ...


class LinearClassifier(LinearMachine, Protocol):
    """A classifier as its solver sees it."""

    C: Any
    classes_: Any


class LinearRegressor(LinearMachine, Protocol):
    """A regressor as the fit of its loss sees it."""

    alpha: PenaltyArgument
    delta: float | None
    quantile: float | Sequence[float]
    epsilon: float
