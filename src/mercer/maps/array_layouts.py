"""The expected layout of the arrays of a fitted map or learner, against which model files are checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Leaf:
    """The type, shape and range of one array.

    Parameters
    ----------
    dtypes : tuple of str
        The types that the array may have.
    shape : tuple of int or None
        The lengths of the axes; None stands for any length.
    least : float
        The smallest entry allowed.
    most : float
        The largest entry allowed.
    finite : bool, default=True
        Whether every entry must be finite.
    zero : bool, default=True
        Whether entries may be 0.
    attribute : str, default=""
        The field of the construction that holds the array, if it was learned from rows and not drawn from the seed.
    values : tuple of int or None
        The exact entries, if no others are allowed.
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
    """An array, or a tuple of arrays in its place."""

    leaf: Leaf
    tree: Any


# A leaf stands for an array but does not have its type, hence Any.


def floats(*shape: int | None, **bounds: Any) -> Any:
    """Return the layout of an array of finite numbers."""
    return Leaf(("float64",), shape, **bounds)


def signs(*shape: int | None) -> Any:
    """Return the layout of an array of signs, +1 and -1."""
    return Leaf(("int8",), shape, -1, 1, zero=False)


def quarter_turns(*shape: int | None) -> Any:
    """Return the layout of an array of powers of i, given by their exponents 0 to 3."""
    return Leaf(("int8",), shape, 0, 3)


def places(count: int, *shape: int | None) -> Any:
    """Return the layout of integers from 0 to ``count`` - 1."""
    return Leaf(("int32",), shape, 0, count - 1)


def exactly(values: Any) -> Any:
    """Return the layout of an array that must contain exactly these integers."""
    return Leaf(("int64",), (len(values),), values=tuple(int(value) for value in values))


def integers_of(params: Any) -> list[NDArray[Any]]:
    """Return the integer arrays of a tree, in order."""
    if isinstance(params, tuple):
        return [array for part in params for array in integers_of(part)]
    return [params] if params.dtype.kind == "i" else []
