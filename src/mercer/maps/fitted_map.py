"""A map with its parameters: a frozen value that can be applied to rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .. import _core
from .._array import (
    Array,
    aligned,
    as_tensor,
    canonical_csr,
    feature_array,
    first_overflow,
    has_kernels,
    has_torch,
    is_differentiated,
    is_float32,
    is_sparse,
    on_gpu,
    precision_and_device,
    send,
    tree_to_numpy,
)
from ..gpu.kernels import compiler

if TYPE_CHECKING:
    from .construction import Construction, Gpu, Native


@dataclass(frozen=True, eq=False)
class FittedMap:
    """A construction together with its parameters.

    It owns everything that is derived from the parameters for speed: copies in another precision or on another device,
    and the tables of the compiled core. These are made on first use and never become stale, because parameters are
    read-only.

    Parameters
    ----------
    construction : Construction
        The mathematics of the map.
    parameters : NamedTuple
        A tree of arrays.
    """

    construction: Construction
    parameters: Any
    _copies: dict[Any, FittedMap] = field(default_factory=dict, init=False, repr=False)
    _writers: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)
    _parts: dict[str, FittedMap] = field(default_factory=dict, init=False, repr=False)

    @property
    def kernel(self) -> Any:
        """The kernel that is approximated."""
        return self.construction.kernel

    @property
    def n_components(self) -> int:
        """The width of the output."""
        return self.construction.n_components

    @property
    def keeps_sparse(self) -> bool:
        """Whether sparse rows have sparse features."""
        return self.construction.keeps_sparse

    def on(self, X: Array) -> FittedMap:
        """Return this map with its parameters on the device of X and in its precision."""
        key = precision_and_device(X)
        if key in self._copies:
            return self._copies[key]
        sent = send(self.parameters, X)
        if all(ours is theirs for ours, theirs in zip(_arrays(sent), _arrays(self.parameters), strict=True)):
            return self
        return self._copies.setdefault(key, FittedMap(self.construction, sent))

    def native(self, dtype: DTypeLike) -> Native | None:
        """Return the compiled core's function for NumPy and CSR tiles of this type, if there is one."""
        if not _core.AVAILABLE:
            return None
        key = np.dtype(dtype), _core.ISA
        if key not in self._writers:
            self._writers[key] = self.construction.native(self.parameters, dtype)
        return self._writers[key]

    def gpu(self, X: Array) -> Gpu | None:
        """Return the fused kernel for rows like these, if they are on a GPU and there is one without gradients."""
        if not (on_gpu(X) and is_float32(X) and has_torch() and compiler.is_available()) or is_differentiated(X):
            return None
        key = "gpu", str(X.device)
        if key not in self._writers:
            device = as_tensor(X).device
            self._writers[key] = self.construction.gpu(tree_to_numpy(self.parameters), device)
        return self._writers[key]

    def apply(self, X: Array) -> Array:
        """Compute the features of one tile of rows by the reference."""
        return self.construction.apply(self.parameters, X)

    def pullback(self, X: NDArray[np.float64], G: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the gradient of <g, z(x)> for every row of a tile; see ``Construction.pullback``."""
        return self.construction.pullback(self.parameters, X, G)

    def mapped(self, X: Array) -> Array:
        """Compute the features of one tile of rows, by the compiled core if possible."""
        native = self.native(X.dtype) if has_kernels(X) else None
        if native is None:
            return self.apply(X)
        Z = feature_array(X, self.n_components)
        native(X, Z)
        return Z

    def apply_as_is(self, X: Array) -> Array:
        """Compute the features of one tile of rows, sparse if possible."""
        if not (is_sparse(X) and self.keeps_sparse):
            return self.mapped(X)
        entries = self.construction.native_entries(self.parameters, X.dtype) if _core.AVAILABLE else None
        if entries is None:
            return self.construction.apply_sparse(self.parameters, X)
        X = canonical_csr(X)
        Z = self.construction.sparse_frame(X)
        entries(X.data, Z.data)
        return Z

    def writer(self, dtype: DTypeLike) -> Native:
        """Return a function with which another map writes these features: the compiled core's, or the reference."""
        native = self.native(dtype)
        if native is not None:
            return native

        def write(X: Array, out: NDArray[Any]) -> int | None:
            with np.errstate(over="ignore", invalid="ignore"):
                out[...] = self.apply(X)
            return first_overflow(out)

        return write

    def mean(self, X: Array, Y: Array) -> NDArray[np.float64]:
        """Compute the exact mean of the estimate over seeds."""
        return self.construction.mean(self.parameters, X, Y)

    def variance(self, X: Array, Y: Array) -> NDArray[np.float64]:
        """Compute the exact variance of the estimate over seeds."""
        return self.construction.variance(self.parameters, X, Y)

    def part(self, name: str) -> FittedMap:
        """Return a map inside this one."""
        if name not in self._parts:
            self._parts[name] = self.construction.part(name, self.parameters)
        return self._parts[name]

    def linear(self, coef: NDArray[Any]) -> tuple[FittedMap, NDArray[Any] | None]:
        """Return the cheapest map and coefficients for the linear model ``coef`` on these features."""
        return self.construction.linear(self, coef)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.construction, self.parameters)


def _again(construction: Construction, parameters: Any) -> FittedMap:
    """Rebuild a fitted map from a pickle or a deep copy, in which NumPy forgets that arrays are read-only."""
    return FittedMap(construction, read_only(aligned_tree(parameters)))


def aligned_tree(tree: Any) -> Any:
    """Return a tree of arrays with aligned numbers, which the compiled core needs and other processes may not send."""
    if isinstance(tree, tuple):
        parts = [aligned_tree(part) for part in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)
    return aligned(tree) if isinstance(tree, np.ndarray) else tree


def read_only(tree: Any) -> Any:
    """Return a tree of arrays whose NumPy arrays are read-only; arrays of other libraries are left unchanged."""
    if isinstance(tree, tuple):
        parts = [read_only(part) for part in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)
    if isinstance(tree, np.ndarray) and tree.flags.writeable:
        tree = tree.view()
        tree.flags.writeable = False
    return tree


def equal_parameters(ours: Any, theirs: Any) -> bool:
    """Return whether two trees of arrays are equal."""
    if isinstance(ours, tuple):
        return len(ours) == len(theirs) and all(map(equal_parameters, ours, theirs))
    return np.array_equal(ours, theirs)


def _arrays(tree: Any) -> list[Any]:
    return [array for part in tree for array in _arrays(part)] if isinstance(tree, tuple) else [tree]


def earliest(*reports: int | None) -> int | None:
    """Return the first row that any of several writers has reported, or None."""
    return min((row for row in reports if row is not None), default=None)
