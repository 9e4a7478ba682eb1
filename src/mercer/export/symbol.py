"""Arrays without values, whose operations become nodes of a graph.

A map's ``apply`` is a pure function in any array namespace. Applied to a symbol, it writes its own program, so that no
mathematics is written twice. NumPy arrays that are combined with a symbol become constants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .._array import Traced
from .errors import NotExportedError
from .graph import Graph

Shape = tuple[int, ...]
ROWS = -1
"""The size of an axis whose length depends on the number of rows."""


class Tracing:
    """The state that the symbols of one model share: the graph, its rows, and the condition for refused rows.

    Parameters
    ----------
    namespace : module
        The array namespace of the symbols.
    operations : mapping from str to callable
        Operations that no array namespace has, by their names.
    """

    def __init__(self, namespace: ModuleType, operations: Mapping[str, Callable[..., Any]]):
        self.namespace = namespace
        self.operations = operations
        self.graph = Graph()
        self.rows: Symbol | None = None
        self.refused: list[Symbol] = []

    def begin(self, n_features: int, dtype: DTypeLike) -> Symbol:
        """Return the rows of the model: the input ``X``."""
        self.graph.add_input("X", dtype, ("rows", n_features))
        self.rows = Symbol(self, "X", (ROWS, n_features), np.dtype(dtype))
        return self.rows

    def constant(self, values: Any) -> Symbol:
        """Return a constant as a symbol."""
        values = np.asarray(values)
        return Symbol(self, self.graph.constant(values), values.shape, values.dtype)

    def filled(self, shape: Shape, value: NDArray[Any]) -> Symbol:
        """Return an array of this shape with one value everywhere; an open first length is the number of rows."""
        if ROWS not in shape:
            return self.constant(np.full(shape, value[0]))
        assert self.rows is not None
        count = self.rows.node("Shape", shape=(1,), dtype=np.int64, start=0, end=1)
        sizes = count.node("Concat", numbers(shape[1:]), shape=(len(shape),), axis=0)
        return self.constant(value).node("Expand", sizes, shape=shape)

    def refuse(self, rows: Symbol) -> None:
        """Make the outputs NaN for rows that satisfy this condition, for which the library would raise an error."""
        self.refused.append(rows)


class Symbol(Traced):
    """An array whose values are those of a node.

    Parameters
    ----------
    tracing : Tracing
        The trace to which it belongs.
    name : str
        The name of the node.
    shape : tuple of int
        The shape; ``ROWS`` stands for a length that depends on the number of rows.
    dtype : dtype
        The type of the entries.
    """

    __array_ufunc__ = None  # a NumPy array on the left leaves the operation to the symbol

    def __init__(self, tracing: Tracing, name: str, shape: Shape, dtype: np.dtype[Any]):
        self.tracing = tracing
        self.name = name
        self.shape = shape
        self.dtype = dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def device(self) -> Tracing:
        """The device on which new arrays are created, which means the same graph."""
        return self.tracing

    def __array_namespace__(self, api_version: str | None = None) -> ModuleType:
        return self.tracing.namespace

    def record(self, operation: str, *arguments: Any) -> Any:
        return self.tracing.operations[operation](self, *arguments)

    def node(
        self,
        operator: str,
        *others: Any,
        shape: Shape | None = None,
        dtype: DTypeLike | None = None,
        **attributes: Any,
    ) -> Symbol:
        """Return the output of an operator on this array and others, by default with the shape and type of this one."""
        inputs = [self.name, *(self.tracing.constant(one).name if not _is_symbol(one) else one.name for one in others)]
        name = self.tracing.graph.node(operator, *inputs, **attributes)
        return Symbol(
            self.tracing, name, self.shape if shape is None else shape, np.dtype(self.dtype if dtype is None else dtype)
        )

    # -- arithmetic ----------------------------------------------------------------------------------------------------

    def __add__(self, other: Operand) -> Symbol:
        return binary("Add", self, other)

    def __radd__(self, other: Operand) -> Symbol:
        return binary("Add", other, self)

    def __sub__(self, other: Operand) -> Symbol:
        return binary("Sub", self, other)

    def __rsub__(self, other: Operand) -> Symbol:
        return binary("Sub", other, self)

    def __mul__(self, other: Operand) -> Symbol:
        return binary("Mul", self, other)

    def __rmul__(self, other: Operand) -> Symbol:
        return binary("Mul", other, self)

    def __truediv__(self, other: Operand) -> Symbol:
        return binary("Div", self, other)

    def __rtruediv__(self, other: Operand) -> Symbol:
        return binary("Div", other, self)

    def __pow__(self, power: int) -> Symbol:
        """Return a whole power by products, as an operator for powers would go through logarithms."""
        if power == 0:
            return self * 0.0 + 1.0
        half = self ** (power // 2) if power > 1 else None
        squared = None if half is None else half * half
        return self if squared is None else squared * self if power % 2 else squared

    def __neg__(self) -> Symbol:
        return self.node("Neg")

    def __abs__(self) -> Symbol:
        return self.node("Abs")

    def __matmul__(self, other: Symbol | NDArray[Any]) -> Symbol:
        other = self.tracing.constant(other) if isinstance(other, np.ndarray) else other
        if other.ndim == 1:  # onnxruntime has no products of a vector with no rows at all
            return (self @ other[:, None]).reshape(*self.shape[:-1])
        ours, theirs = common(self, other)
        return ours.node("MatMul", theirs, shape=(*self.shape[:-1], *other.shape[1:]))

    def __gt__(self, other: Any) -> Symbol:
        return binary("Greater", self, other, np.bool_)

    def __lt__(self, other: Any) -> Symbol:
        return binary("Less", self, other, np.bool_)

    def __ge__(self, other: Operand) -> Symbol:
        return binary("GreaterOrEqual", self, other, np.bool_)

    def __or__(self, other: Symbol) -> Symbol:
        return binary("Or", self, other)

    def __invert__(self) -> Symbol:
        return self.node("Not")

    def __bool__(self) -> bool:
        raise NotExportedError("a step depends on the values of the rows, which are unknown in a graph")

    # -- shapes --------------------------------------------------------------------------------------------------------

    def reshape(self, *shape: int) -> Symbol:
        """Return the same entries in another shape, of which one length may be -1."""
        return self.node("Reshape", np.array(shape, dtype=np.int64), shape=self._settled(shape))

    def _settled(self, shape: Shape) -> Shape:
        """Return a shape whose open length is a number where that is known."""
        if ROWS not in shape or ROWS in self.shape:
            return tuple(shape)
        rest = int(np.prod([size for size in shape if size != ROWS]))
        return tuple(int(np.prod(self.shape)) // rest if size == ROWS else size for size in shape)

    def __getitem__(self, key: Any) -> Symbol:
        """Return a part of the array, selected by slices, integers and new axes."""
        keys = list(key) if isinstance(key, tuple) else [key]
        found, axis, squeezed, unsqueezed, place = self, 0, [], [], 0
        for one in keys:
            if one is None:
                unsqueezed.append(place)
                place += 1
                continue
            if isinstance(one, slice):
                place += 1
                if one != slice(None):
                    found = found._sliced(axis, one)
            else:
                found = found._sliced(axis, slice(int(one), int(one) + 1))
                squeezed.append(axis)
            axis += 1
        if squeezed:
            shape = tuple(size for place, size in enumerate(found.shape) if place not in squeezed)
            found = found.node("Squeeze", np.array(squeezed, dtype=np.int64), shape=shape)
        if unsqueezed:
            lengths = list(found.shape)
            for place in unsqueezed:
                lengths.insert(place, 1)
            found = found.node("Unsqueeze", np.array(unsqueezed, dtype=np.int64), shape=tuple(lengths))
        return found

    def _sliced(self, axis: int, part: slice) -> Symbol:
        size = self.shape[axis]
        if size == ROWS or part.step not in (None, 1):
            raise NotExportedError("rows are selected from a tile, but their number is unknown in a graph")
        start, stop, _ = part.indices(size)
        if (start, stop) == (0, size):
            return self
        shape = (*self.shape[:axis], max(0, stop - start), *self.shape[axis + 1 :])
        bounds = (np.array([place], dtype=np.int64) for place in (start, max(start, stop), axis))
        return self.node("Slice", *bounds, shape=shape)

    def astype(self, dtype: DTypeLike) -> Symbol:
        """Return the same numbers in another type."""
        from onnx import helper

        dtype = np.dtype(dtype)
        if dtype == self.dtype:
            return self
        return self.node("Cast", dtype=dtype, to=helper.np_dtype_to_tensor_dtype(dtype))


Operand = Symbol | NDArray[Any] | float
"""What a symbol can be combined with."""


def _is_symbol(value: object) -> bool:
    return isinstance(value, Symbol)


def tracing_of(*values: Any) -> Tracing:
    """Return the trace to which the symbols among some values belong."""
    return next(value.tracing for value in values if isinstance(value, Symbol))


def common(*values: Any, beside: Any = None) -> list[Symbol]:
    """Return values as symbols of one type, by NumPy's rules: a Python number takes the type of the arrays.

    If none of them is a symbol, they become constants in the graph of ``beside``.
    """
    tracing = tracing_of(*values, beside)
    dtype = np.result_type(*(value if isinstance(value, int | float | bool) else value.dtype for value in values))
    return [
        value.astype(dtype) if isinstance(value, Symbol) else tracing.constant(np.asarray(value, dtype=dtype))
        for value in values
    ]


def broadcast(*shapes: Shape) -> Shape:
    """Return the shape of arrays of these shapes side by side."""
    width = max(map(len, shapes))
    padded = [(1,) * (width - len(shape)) + shape for shape in shapes]
    return tuple(
        ROWS if ROWS in sizes else max(sizes, key=abs) if 0 not in sizes else 0 for sizes in zip(*padded, strict=True)
    )


def binary(operator: str, left: Operand, right: Operand, dtype: DTypeLike | None = None) -> Symbol:
    """Return the output of an operator for two arrays, entry by entry."""
    if operator in ("Mul", "Div"):
        left, right = (_spread(one, other) for one, other in ((left, right), (right, left)))
    ours, theirs = common(left, right)
    return ours.node(operator, theirs, shape=broadcast(ours.shape, theirs.shape), dtype=dtype)


def _spread(value: Any, beside: Any) -> Any:
    """Return a number that is combined with float64, as one number for every column.

    onnxruntime merges a scalar factor into an adjacent matrix product, in float32 regardless of its type.
    """
    if isinstance(value, Symbol) or np.size(value) != 1 or beside.dtype != np.float64 or not beside.shape:
        return value
    number = np.asarray(value, dtype=np.float64).reshape(())
    return np.full(beside.shape[-1], number) if beside.shape[-1] > 1 else value


def is_traced(*values: Any) -> bool:
    """Return whether there is a symbol among some values."""
    return any(isinstance(value, Symbol) for value in values)


def numbers(values: Any) -> NDArray[np.int64]:
    """Return integers in the form that operators expect."""
    return np.asarray(values, dtype=np.int64)
