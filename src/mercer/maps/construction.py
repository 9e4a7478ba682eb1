"""The mathematics of a map: how its parameters are drawn, and what they do to a tile of rows.

An estimator (:class:`~mercer.FeatureMap`) turns its arguments and the rows into a construction; drawing from a
construction gives a :class:`~mercer.maps.fitted_map.FittedMap`. A construction never changes and knows nothing of
scikit-learn, threads or files.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .._array import Array, namespace, spread
from .._random import Stream
from .._rows import Rows
from .._tiles import TILE, device_tile_rows, single_threaded_blas
from .fitted_map import FittedMap, read_only

if TYPE_CHECKING:
    import torch

Native = Callable[[Any, NDArray[Any]], int | None]
"""Writes the features of a NumPy or CSR tile and returns the first row with an overflow, or None."""

Gpu = Callable[[Array, Array], Array]
"""Writes the features of float32 tensors on a GPU, and marks the rows that the reference has to map."""

Entries = Callable[[NDArray[Any], NDArray[Any]], int | None]
"""Writes the features of stored entries and returns the first entry that cannot be mapped, or None."""


def in_tiles(write: Gpu, floats: int) -> Gpu:
    """Return a function that writes features on a GPU one tile at a time, for maps that need many floats per row."""

    def write_tiles(X: Array, out: Array) -> Array:
        tile = device_tile_rows(floats)
        starts = range(0, X.shape[0], tile)
        return namespace(X).concat([write(X[start : start + tile], out[start : start + tile]) for start in starts])

    return write_tiles


class ColumnCount:
    """Rows of which only the number of columns is known, which is enough to draw what depends on the seed alone."""

    def __init__(self, n_features: int):
        self.n_features = n_features


@dataclass(frozen=True, kw_only=True, eq=False)
class Construction(ABC):
    """A map whose arguments are settled and whose parameters have yet to be drawn.

    A subclass implements ``draw`` and ``apply``, which are all of its mathematics, and ``layout``, which describes the
    parameters to a model file. Fields with the names of the estimator's arguments take their values from it.

    Parameters
    ----------
    name : str
        The name of the map, for messages.
    n_features : int
        The number of columns of the rows.
    n_components : int
        The number of features.
    asked : int or None
        The requested number of features.
    kernel : Kernel
        The kernel that is approximated, with a number in every field.
    """

    name: str
    n_features: int
    n_components: int
    asked: int | None = None
    kernel: Any = None

    parts: ClassVar[tuple[str, ...]] = ()
    """The maps inside this one: for each field that holds a construction, the field that holds its parameters."""

    learned: ClassVar[dict[str, tuple[str, Any]]] = {}
    """Fields that are learned from rows and are not arrays: their types, by their names in model files."""

    largest_tile: ClassVar[int] = TILE
    """The largest number of rows in a tile, a power of two."""

    bias: ClassVar[str] = ""
    """Why the mean of the estimate is unknown, if it is."""

    deterministic: ClassVar[bool] = False
    """Whether the features do not depend on the seed, provided that the same is true of the maps inside."""

    # -- what a subclass implements
    # ----------------------------------------------------------------------------------------------

    @abstractmethod
    def draw(self, rng: Stream, rows: Rows) -> FittedMap:
        """Draw the parameters, a NamedTuple of arrays, and return ``self.fitted(parameters)``."""

    @abstractmethod
    def apply(self, params: Any, X: Array) -> Array:
        """Compute the dense features of one tile of rows: a pure function in any array namespace."""

    def pullback(self, params: Any, X: NDArray[np.float64], G: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the gradient of <g, z(x)> with respect to x for every row x: the chain rule, backwards.

        Parameters
        ----------
        params : NamedTuple
            The parameters.
        X : ndarray of shape (n_rows, n_features)
            A tile of dense rows in float64.
        G : ndarray of shape (n_rows, n_components) or (1, n_components)
            The weights g of the features, one row of weights per row of X or a single one for all of them.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            The gradients. Where a feature has a corner, they are those on one side, or 0.
        """
        raise ValueError(f"{self.name} has no gradient in closed form")

    def layout(self) -> Any:
        """Return the parameters with a :class:`~mercer.maps.array_layouts.Leaf` in place of every array."""
        raise NotImplementedError(f"{self.name} does not describe the layout of its parameters")

    def native(self, params: Any, dtype: DTypeLike) -> Native | None:
        """Return the compiled version of ``apply`` for NumPy and CSR tiles of this type, or None."""
        return None

    def gpu(self, params: Any, device: torch.device) -> Gpu | None:
        """Return a fused version of ``apply`` for float32 rows on this device, a GPU, or None.

        It must mark rows that are not finite, outside the kernel's domain or beyond its precision, because nothing else
        checks them. ``params`` are NumPy arrays.
        """
        return None

    def apply_sparse(self, params: Any, X: Array) -> Any:
        """Compute the features of one CSR tile as CSR."""
        raise NotImplementedError(f"{self.name} has no sparse features")

    def native_entries(self, params: Any, dtype: DTypeLike) -> Entries | None:
        """Return the compiled version of ``apply_sparse``, which writes the features of one stored entry after another.

        It is for maps that keep rows sparse and put the features of a column next to each other. It must report entries
        that are not finite or outside the kernel's domain; no other entry may overflow.
        """
        return None

    def mean(self, params: Any, X: Array, Y: Array) -> NDArray[np.float64]:
        """Compute the mean of the estimate over seeds, which is the kernel unless a map overrides this."""
        if self.bias:
            raise NotImplementedError(f"the mean of {self.name} is not known: {self.bias}")
        return self.kernel(X, Y)

    def variance(self, params: Any, X: Array, Y: Array) -> NDArray[np.float64]:
        """Compute the variance of the estimate over seeds."""
        raise NotImplementedError(
            f"no exact variance is known for {self.name}; mercer.kernel_error over several seeds measures it"
        )

    def check_kernel(self) -> None:
        """Raise a ValueError if this map does not support the kernel."""
        return None

    def settled(self) -> Self:
        """Return this construction with everything that follows from its arguments, such as a rounded width."""
        return self

    def adapted(self, rows: Rows) -> Self:
        """Return this construction with everything that depends on rows but precedes the drawing of parameters."""
        return self

    def linear(self, fitted: FittedMap, coef: NDArray[Any]) -> tuple[FittedMap, NDArray[Any] | None]:
        """Return the cheapest map and coefficients for the linear model ``coef`` on the features of a fitted map.

        If the coefficients are None, the features of the map are themselves the values of the model.
        """
        return fitted, coef

    def finished(self) -> Self:
        """Return this construction without what is needed only right after drawing."""
        inner: dict[str, Any] = {part: construction.finished() for part, construction in self.inner_maps.items()}
        return replace(self, **inner) if inner else self

    evaluates_kernel: ClassVar[bool] = False
    """Whether rows are mapped by evaluating the kernel itself."""

    # -- properties ----------------------------------------------------------------------------------------------------

    @property
    def keeps_sparse(self) -> bool:
        """Whether sparse rows have sparse features, the same number for every stored entry."""
        return False

    @property
    def rows_alone(self) -> bool:
        """Whether ``native`` maps each dense row on its own, without BLAS and without memory other than ``out``.

        Rows may then be cut anywhere. ``native`` must report rows that are not finite or outside the kernel's domain,
        because nothing else checks them.
        """
        return False

    @property
    def paired(self) -> bool:
        """Whether columns 2 i and 2 i + 1 are the cosine and the sine of one frequency and share a weight."""
        return False

    @property
    def is_deterministic(self) -> bool:
        """Whether the features do not depend on the seed."""
        return self.deterministic and all(inner.is_deterministic for inner in self.inner_maps.values())

    @property
    def scratch(self) -> int:
        """The approximate number of floats that one row needs while it is mapped."""
        return 4 * (self.n_features + self.n_components)

    @classmethod
    def row_operations(cls, n_features: int, width: int, degree: int) -> float:
        """Estimate the operations that map one row of ``n_features`` columns to ``width`` features.

        One operation is a multiplication and an addition in a product of large matrices. The factors are measured and
        decide between maps; the default is right for a product with a dense matrix. ``degree`` is that of the kernel.
        """
        return width * (n_features + 50.0)

    def sparse_frame(self, X: Array) -> Any:
        """Return a CSR matrix for the features of CSR rows, whose values have yet to be written."""
        return spread(X, self.n_components // X.shape[1])

    # -- maps inside ---------------------------------------------------------------------------------------------------

    @property
    def inner_maps(self) -> dict[str, Construction]:
        """The constructions of the maps inside this one."""
        return {part: getattr(self, part) for part in self.parts}

    @classmethod
    def takes_rows(cls, part: str) -> bool:
        """Return whether a map inside receives the rows themselves rather than features of another map inside."""
        return True

    def part(self, name: str, params: Any) -> FittedMap:
        """Return a map inside, with its share of the parameters."""
        return FittedMap(getattr(self, name), getattr(params, name))

    # -- fitted maps and model files -----------------------------------------------------------------------------------

    def fitted(self, params: Any, **learned: Any) -> FittedMap:
        """Combine this construction, updated by what was learned while drawing, with its parameters."""
        return FittedMap(replace(self, **learned) if learned else self, read_only(params))

    @property
    def draws_from_rows(self) -> bool:
        """Whether ``draw`` depends on the rows, so that the seed alone does not reproduce the parameters."""
        return any(inner.draws_from_rows for inner in self.inner_maps.values())

    def check_learned(self) -> None:
        """Raise a ValueError if learned values are inconsistent."""
        return None

    def check_parameters(self, params: Any) -> None:
        """Raise a ValueError if arrays that match their leaves are inconsistent."""
        return None

    def redrawn(self, rng: Stream, kept: Any) -> Any:
        """Reproduce the parameters from the seed and from the arrays that were learned from rows."""
        if not self.draws_from_rows:
            with single_threaded_blas():  # as in fit, because the last digits of a decomposition depend on the threads
                return self.draw(rng, cast(Rows, ColumnCount(self.n_features))).parameters
        again = {part: inner.redrawn(rng.child(part), getattr(kept, part)) for part, inner in self.inner_maps.items()}
        return kept._replace(**again) if again else kept
