"""What parts of a fit see of a machine: memory estimates, the choice of a map, a warm start, a solver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .._random import RandomState
from ..maps import FeatureMap
from .argument_types import KernelArgument, MapArgument, MemoryArgument

if TYPE_CHECKING:
    from .estimates.memory_estimates import Extent
    from .prepare.preparation import Preparation

Matrix = NDArray[np.float64]


class MapArguments(Protocol):
    """The arguments of a machine that ask for a map."""

    kernel: KernelArgument
    n_components: int | None
    map: MapArgument
    random_state: RandomState


class Machine(MapArguments, Protocol):
    """A machine as far as its size goes."""

    n_jobs: int | None
    map_: FeatureMap
    n_features_in_: int

    @property
    def holds_rows(self) -> bool:
        """Whether something is held of every row."""
        ...

    def iterates(self, n_rows: int, memory: int | None = None) -> bool:
        """Whether ``fit`` makes repeated passes over this many rows, in place of sums."""
        ...

    def bytes_needed(self, extent: Extent, memory: int | None = None) -> int:
        """Bytes that a fit of this extent takes at least, beside the map and the rows themselves."""
        ...


class FittedFeatures(Protocol):
    """A machine whose map is fitted."""

    map_: FeatureMap
    preparation_: Preparation

    def features_of(self, X: Any, first_row: int) -> NDArray[Any]:
        """The features of prepared rows."""
        ...


class LinearMachine(Machine, FittedFeatures, Protocol):
    """A linear model on features, as a solver that goes through them again and again sees it."""

    loss: Any
    tol: float
    max_iter: int
    memory: MemoryArgument
    fit_intercept: bool
    coef_: Matrix
    intercept_: Any

    @property
    def solver(self) -> str:
        """The solver that is asked for."""
        ...

    @property
    def n_columns(self) -> int:
        """Columns of decision values, as far as they are known."""
        ...

    @property
    def may_iterate(self) -> bool:
        """Whether a solver may go over the rows again and again."""
        ...

    @property
    def has_one_penalty(self) -> bool:
        """Whether there is one positive penalty, so that none has to be chosen by sums over the rows."""
        ...

    @property
    def holds_all_features(self) -> bool:
        """Whether the solver takes no features but those that are held, and copies them."""
        ...


class LinearClassifier(LinearMachine, Protocol):
    """A classifier as its solver sees it."""

    C: Any
    classes_: Any
