"""The array namespace of symbols: the functions that maps need from an array's namespace, as nodes of a graph.

If no argument is a symbol, the result is a NumPy array, so whatever depends only on parameters is a constant.
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from .complex_symbol import ComplexSymbol
from .symbol import ROWS, Shape, Symbol, Tracing, binary, broadcast, common, is_traced, numbers, tracing_of

float32 = np.dtype(np.float32)
float64 = np.dtype(np.float64)


def _entrywise(operator: str) -> Any:
    def function(x: Any) -> Any:
        return x.node(operator) if isinstance(x, Symbol) else getattr(np, operator.lower())(x)

    return function


cos = _entrywise("Cos")
sin = _entrywise("Sin")
exp = _entrywise("Exp")
log = _entrywise("Log")
sqrt = _entrywise("Sqrt")
abs = _entrywise("Abs")
sign = _entrywise("Sign")


def log1p(x: Any) -> Any:
    """Return log(1 + x), as log(u) x / (u - 1) with u = 1 + x rounded, which keeps the digits of small x."""
    if not isinstance(x, Symbol):
        return np.log1p(x)
    u = x + 1.0
    away = u - 1.0
    is_small = binary("Equal", away, 0.0, np.bool_)
    return where(is_small, x, log(u) * (x / where(is_small, away + 1.0, away)))


def arcsinh(x: Any) -> Any:
    """Return asinh(x), which runtimes only provide in float32."""
    if not isinstance(x, Symbol):
        return np.arcsinh(x)
    size = abs(x)
    large = size > 1e150  # beyond which a square overflows
    inside = where(large, size * 0.0, size)
    root = sqrt(inside * inside + 1.0)
    near = log1p(inside + inside * inside / (root + 1.0))
    return sign(x) * where(large, log(where(large, size, size * 0.0 + 1.0)) + np.log(2.0), near)


def isnan(x: Any) -> Any:
    """Return which entries are NaN."""
    return x.node("IsNaN", dtype=np.bool_) if isinstance(x, Symbol) else np.isnan(x)


def astype(x: Any, dtype: DTypeLike) -> Any:
    """Return the same numbers in another type."""
    return x.astype(dtype)


def where(condition: Any, left: Any, right: Any) -> Any:
    """Return the entries of one array where a condition holds, and of another elsewhere."""
    if not is_traced(condition, left, right):
        return np.where(condition, left, right)
    ours, theirs = common(left, right, beside=condition)
    shape = broadcast(condition.shape, ours.shape, theirs.shape)
    return condition.node("Where", ours, theirs, shape=shape, dtype=ours.dtype)


def maximum(left: Any, right: Any) -> Any:
    """Return the larger of two numbers, entry by entry."""
    return binary("Max", left, right) if is_traced(left, right) else np.maximum(left, right)


def minimum(left: Any, right: Any) -> Any:
    """Return the smaller of two numbers, entry by entry."""
    return binary("Min", left, right) if is_traced(left, right) else np.minimum(left, right)


def _reduced(operator: str, x: Symbol, axis: int, keepdims: bool) -> Symbol:
    axis %= x.ndim
    shape = tuple(1 if place == axis else size for place, size in enumerate(x.shape) if keepdims or place != axis)
    return x.node(operator, numbers([axis]), shape=shape, keepdims=int(keepdims))


def sum(x: Any, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """Return sums along an axis."""
    if not isinstance(x, Symbol):
        return np.sum(x, axis=axis, keepdims=keepdims)
    assert axis is not None
    return _reduced("ReduceSum", x, axis, keepdims)


def max(x: Any, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """Return the largest entries along an axis."""
    if not isinstance(x, Symbol):
        return np.max(x, axis=axis, keepdims=keepdims)
    assert axis is not None
    return _reduced("ReduceMax", x, axis, keepdims)


def argmax(x: Symbol, *, axis: int) -> Symbol:
    """Return the places of the largest entries along an axis, the first of equal ones."""
    shape = tuple(size for place, size in enumerate(x.shape) if place != axis)
    return x.node("ArgMax", shape=shape, dtype=np.int64, axis=axis, keepdims=0)


def any(x: Any, **options: Any) -> Any:
    """Return whether a condition holds; for a condition on rows, False, and rows for which it holds are refused.

    Maps call this before they raise an error about rows. A graph cannot raise errors, so it returns NaN for such rows.
    """
    if not isinstance(x, Symbol):
        return np.any(x, **options)
    x.tracing.refuse(x)
    return False


def reshape(x: Any, shape: Shape) -> Any:
    """Return the same entries in another shape."""
    return x.reshape(*shape) if isinstance(x, Symbol) else np.reshape(x, shape)


def concat(arrays: Any, *, axis: int = 0) -> Any:
    """Return arrays concatenated along an axis, without empty ones."""
    arrays = list(arrays)
    if not is_traced(*arrays):
        return np.concatenate(arrays, axis=axis)
    axis %= arrays[0].ndim
    parts = common(*arrays)
    kept = [part for part in parts if part.shape[axis] != 0] or parts[:1]
    if len(kept) == 1:
        return kept[0]
    width = ROWS if axis == 0 else builtins.sum(part.shape[axis] for part in kept)
    shape = tuple(
        width if place == axis else broadcast(*((part.shape[place],) for part in kept))[0]
        for place in range(kept[0].ndim)
    )
    return kept[0].node("Concat", *kept[1:], shape=shape, axis=axis)


def stack(arrays: Any, *, axis: int = 0) -> Any:
    """Return arrays stacked along a new axis."""
    arrays = list(arrays)
    if not is_traced(*arrays):
        return np.stack(arrays, axis=axis)
    key = (*(slice(None),) * axis, None)
    return concat([one[key] for one in common(*arrays)], axis=axis)


def take(x: Any, indices: Any, *, axis: int) -> Any:
    """Return the entries at some places along an axis."""
    if not is_traced(x, indices):
        return np.take(x, indices, axis=axis)
    if not isinstance(x, Symbol):
        x = tracing_of(indices).constant(x)
    shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
    places = indices if isinstance(indices, Symbol) else numbers(indices)
    return x.node("Gather", places, shape=shape, axis=axis)


def zeros(shape: Shape, *, dtype: DTypeLike, device: Tracing) -> Symbol:
    """Return zeros; ``device`` is the device of a symbol."""
    return device.filled(shape, np.zeros(1, dtype))


def ones(shape: Shape, *, dtype: DTypeLike, device: Tracing) -> Symbol:
    """Return ones; ``device`` is the device of a symbol."""
    return device.filled(shape, np.ones(1, dtype))


def ones_like(x: Symbol) -> Symbol:
    """Return ones in the shape of an array."""
    return x * 0.0 + 1.0


def real(x: ComplexSymbol) -> Symbol:
    """Return the real parts."""
    return x.real


def imag(x: ComplexSymbol) -> Symbol:
    """Return the imaginary parts."""
    return x.imaginary


def sort(x: Symbol, *, axis: int) -> Symbol:
    """Return numbers along an axis in ascending order."""
    return x.node("TopK", numbers([x.shape[axis]]), n_outputs=2, axis=axis, largest=0, sorted=1)


def one_hot(places: Symbol, count: int) -> Symbol:
    """Return 1.0 in the column of this number and 0.0 elsewhere."""
    return binary("Equal", places[:, None], numbers(range(count)), np.bool_).astype(float64)


def softmax(x: Symbol) -> Symbol:
    """Return exponentials divided by their sum, along the last axis."""
    return x.node("Softmax", axis=-1)
