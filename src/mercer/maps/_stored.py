"""What a model file asks of a map: which arrays it has, and what else was learned in ``fit``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._random import Stream
from .._tiles import single_threaded_blas


@dataclass(frozen=True)
class Leaf:
    """How an array must look: its type, its shape (None for any length) and the least and the largest entry.

    ``attribute`` names the attribute that holds the array, where rows and not the seed gave it; ``values`` are the
    entries where nothing else will do.
    """

    dtypes: tuple[str, ...]
    shape: tuple[int | None, ...]
    least: float = -np.inf
    most: float = np.inf
    finite: bool = True
    zero: bool = True
    attribute: str = ""
    values: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Choice:
    """An array, or in its place a tuple of them."""

    leaf: Leaf
    tree: Any


class Columns:
    """All that drawing needs to know of rows, where nothing is learned from them."""

    def __init__(self, n_features: int):
        self.n_features = n_features


# What stands in the place of an array is Any to the types of parameters.


def floats(*shape: int | None, **bounds: Any) -> Any:
    """Finite numbers."""
    return Leaf(("float64",), shape, **bounds)


def signs(*shape: int | None) -> Any:
    """+1 and -1."""
    return Leaf(("int8",), shape, -1, 1, zero=False)


def quarter_turns(*shape: int | None) -> Any:
    """The exponents 0 to 3 of i."""
    return Leaf(("int8",), shape, 0, 3)


def places(count: int, *shape: int | None) -> Any:
    """Whole numbers from 0 to ``count`` - 1."""
    return Leaf(("int32",), shape, 0, count - 1)


def exactly(values: Any) -> Any:
    """These whole numbers."""
    return Leaf(("int64",), (len(values),), values=tuple(int(value) for value in values))


class StoredMap:
    """How a fitted map is taken apart and put together again."""

    _parts: ClassVar[tuple[str, ...]] = ()
    """Maps inside this one: names of arguments, of streams and of fields of the parameters; with _ of fitted maps."""

    _learned: ClassVar[dict[str, Any]] = {}
    """Attributes that were learned from rows, beside arrays, with their types."""

    @property
    def _inner_maps(self) -> dict[str, Any]:
        return {part: getattr(self, f"{part}_") for part in self._parts}

    @property
    def _draws_from_rows(self) -> bool:
        """Whether ``_draw`` looks at rows, so that the seed alone does not give the parameters again."""
        return any(inner._draws_from_rows for inner in self._inner_maps.values())

    def _columns_of(self, part: str, n_features: int) -> int:
        """How many columns the rows of a map inside have."""
        return n_features

    def _settle(self, n_features: int) -> None:
        """What follows from arguments, ``kernel_``, ``n_components_`` as it was asked for, and maps inside."""

    def _layout(self, n_features: int) -> Any:
        """The parameters with a :class:`Leaf` in the place of every array."""
        raise NotImplementedError(f"{type(self).__name__} does not say what its parameters look like")

    def _check_learned(self, n_features: int) -> None:
        """Raise a ValueError where what was learned contradicts itself."""

    def _check_parameters(self, params: Any, n_features: int) -> None:
        """Raise a ValueError where arrays that fit their leaves contradict one another."""

    def _redrawn(self, rng: Stream, n_features: int, kept: Any) -> Any:
        """The parameters from the seed, and from the arrays that rows gave."""
        if not self._draws_from_rows:
            with single_threaded_blas():  # as in fit: the last digits of a decomposition depend on the threads
                return self._draw(rng, Columns(n_features))  # type: ignore[attr-defined]
        again = {
            part: inner._redrawn(rng.child(part), self._columns_of(part, n_features), getattr(kept, part))
            for part, inner in self._inner_maps.items()
        }
        return kept._replace(**again) if again else kept


def integers_of(params: Any) -> list[NDArray[Any]]:
    """The arrays of whole numbers in a tree, in order."""
    if isinstance(params, tuple):
        return [array for part in params for array in integers_of(part)]
    return [params] if params.dtype.kind == "i" else []
