"""Arguments and learned values as JSON, with tags for types that JSON lacks, and back."""

from __future__ import annotations

import math
import numbers
import types
from collections.abc import Callable
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from .. import maps
from ..choose import AutoMap
from ..kernels import Kernel, Maclaurin, parse
from ..maps import FeatureMap
from ..maps.maclaurin_products import LONGEST_SERIES
from .validation import as_dict, as_list, as_text, as_whole, check_names, refuse

MAPS: dict[str, Any] = {cls.__name__: cls for cls in maps.MAPS} | {"AutoMap": AutoMap}
"""The maps that a file may contain."""
MAX_DEGREE = 10_000
"""The largest degree of a kernel in a file, because a kernel of very high degree takes forever to map."""


NOT_STORED = ("device",)
"""Arguments that say where something runs, since a file may be read on another machine."""


class NotStoredError(TypeError):
    """Raised for something that a model file cannot contain; the message names it and says why."""


# -- kernels -----------------------------------------------------------------------------------------------------------


def plain_kernel(kernel: Kernel, where: str) -> Kernel:
    """Return the kernel with the coefficients of a series in place of the function that computes them."""
    if isinstance(kernel, Maclaurin) and callable(kernel.coefficients):
        series = np.trim_zeros(kernel.series(LONGEST_SERIES), "b")
        return Maclaurin(tuple(series.tolist()) or (0.0,), tol=kernel.tol, radius=kernel.radius)
    inner = {name: value for name, value in kernel.get_params(deep=False).items() if isinstance(value, Kernel)}
    plain = kernel.replace(**{name: plain_kernel(value, where) for name, value in inner.items()}) if inner else kernel
    _check_degrees(plain, where)
    return plain


def _check_degrees(kernel: Kernel, where: str) -> None:
    degree = kernel.max_degree if kernel.is_dot_product else None
    if degree is not None and degree > MAX_DEGREE:
        raise ValueError(f"{where} has degree {degree}, but a model file allows at most {MAX_DEGREE}")
    for value in kernel.get_params(deep=False).values():
        if isinstance(value, Kernel):
            _check_degrees(value, where)


def read_kernel(text: object, where: str) -> Kernel:
    """Return a kernel from its text."""
    kernel = parse(as_text(text, where))
    _check_degrees(kernel, where)
    return kernel


# -- arguments ---------------------------------------------------------------------------------------------------------


class ArgumentWriter:
    """Constructor arguments as JSON; arrays go to ``arrays`` under their names.

    Parameters
    ----------
    arrays : dict
        Receives the arrays.
    seed : int or None
        The integer that replaces a random number generator.
    """

    def __init__(self, arrays: dict[str, NDArray[Any]], seed: int | None):
        self.arrays = arrays
        self.seed = seed

    def arguments(self, estimator: BaseEstimator, where: str) -> dict[str, Any]:
        """Return the values of an estimator; ``where`` is the path to it, for names and messages."""
        given = estimator.get_params(deep=False)
        return {name: self.value(given[name], f"{where}{name}") for name in sorted(given) if name not in NOT_STORED}

    def value(self, value: object, where: str) -> Any:
        """Return one argument."""
        if value is None or isinstance(value, bool | str):
            return str(value) if isinstance(value, str) else value
        if isinstance(value, np.bool_):
            return bool(value)
        if isinstance(value, numbers.Integral):
            return int(value)
        if isinstance(value, numbers.Real):
            return number(float(value))
        if isinstance(value, tuple | list):
            items = [self.value(item, f"{where}.{place}") for place, item in enumerate(value)]
            return {"tuple" if isinstance(value, tuple) else "list": items}
        if isinstance(value, dict):
            return {"dict": [[self.value(part, where) for part in pair] for pair in value.items()]}
        if isinstance(value, Kernel):
            return {"kernel": repr(plain_kernel(value, where))}
        if isinstance(value, FeatureMap):
            return {"map": {"class": map_name(value), "arguments": self.arguments(value, f"{where}.")}}
        if isinstance(value, np.random.Generator | np.random.RandomState):
            return self.seed
        if isinstance(value, np.ndarray) and value.dtype.kind in "fi" and value.dtype.itemsize >= 4:
            self.arrays[f"arguments.{where}"] = value
            return {"array": f"arguments.{where}"}
        raise NotStoredError(f"{where} is {_refusal(value)}")


def _refusal(value: object) -> str:
    if callable(value):
        return f"the function {value!r}, but a model file cannot contain code"
    return f"of type {type(value).__name__}, which a model file cannot contain"


def map_name(map: FeatureMap) -> str:
    """Return the name of a map's class, if it is one of this package."""
    name = type(map).__name__
    if MAPS.get(name) is not type(map):
        raise NotStoredError(f"{name} is not one of the maps of mercer.maps, so a file with it could not be read")
    return name


def number(value: float) -> Any:
    """Return a float as JSON, by name if it is not finite."""
    return value if math.isfinite(value) else {"float": repr(value)}


class ArgumentReader:
    """Constructor arguments from JSON.

    Parameters
    ----------
    array : callable
        Returns an array for its name.
    """

    kinds: tuple[str, ...] = ("float", "list", "tuple", "dict", "kernel", "map", "array")
    """The kinds of arguments other than text, numbers, truth values and None."""

    def __init__(self, array: Callable[[str], NDArray[Any]]):
        self.array = array

    def estimator(self, cls: Any, record: object, where: str) -> Any:
        """Return an unfitted estimator of this class."""
        given = as_dict(record, f"the arguments of {where}{cls.__name__}")
        check_names(given, cls._get_param_names(), f"{where}{cls.__name__}")
        return cls(**{name: self.value(value, f"{where}{name}") for name, value in given.items()})

    def value(self, value: object, where: str) -> Any:
        """Return one argument."""
        if not isinstance(value, dict):
            return refuse(f"{where} is a list without a kind") if isinstance(value, list) else value
        if len(value) != 1:
            refuse(f"{where} must have exactly one kind, found {sorted(value)!r:.80}")
        ((kind, held),) = value.items()
        read = getattr(self, f"_{kind}", None) if kind in self.kinds else None
        return read(held, where) if read else refuse(f"{where} is of the unknown kind {kind!r:.20}")

    def _float(self, held: object, where: str) -> float:
        return non_finite(held, where)

    def _list(self, held: object, where: str) -> list[Any]:
        return [self.value(item, where) for item in as_list(held, where)]

    def _tuple(self, held: object, where: str) -> tuple[Any, ...]:
        return tuple(self._list(held, where))

    def _dict(self, held: object, where: str) -> dict[Any, Any]:
        pairs = [as_list(pair, where) for pair in as_list(held, where)]
        if any(len(pair) != 2 for pair in pairs):
            refuse(f"{where} must consist of pairs")
        read = [(self.value(key, where), self.value(item, where)) for key, item in pairs]
        if any(not isinstance(key, str | int | float | tuple | None) for key, _ in read):
            refuse(f"{where} has a key that is not a plain value")
        return dict(read)

    def _kernel(self, held: object, where: str) -> Kernel:
        return read_kernel(held, where)

    def _map(self, held: object, where: str) -> FeatureMap:
        record = as_dict(held, where)
        check_names(record, ("class", "arguments"), where)
        return self.estimator(map_class(record.get("class"), where), record.get("arguments"), f"{where}.")

    def _array(self, held: object, where: str) -> NDArray[Any]:
        if held != f"arguments.{where}":
            refuse(f"{where} must be the array 'arguments.{where}', found {held!r:.80}")
        array = self.array(held)
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            refuse(f"tensor {held!r} has an entry that is not finite")
        return array


def map_class(name: Any, where: str) -> Any:
    """Return one of the maps by its name, and nothing else."""
    if as_text(name, f"the class of {where}") not in MAPS:
        refuse(f"{where} must be one of the maps of mercer.maps, found the class {name!r:.60}")
    return MAPS[name]


def non_finite(value: object, where: str) -> float:
    """Return infinity or NaN by its name."""
    if value not in ("inf", "-inf", "nan"):
        refuse(f"{where} must be a number, found {value!r:.40}")
    return float(value)


# -- what was learned --------------------------------------------------------------------------------------------------


def learned_value(value: Any) -> Any:
    """Return a learned value as JSON; the reader knows its type."""
    if hasattr(value, "_fields"):
        # An entry is left out if it has the value that was implied before such entries existed.
        told = {name for name in value._fields if getattr(value, name) != value._field_defaults.get(name, ...)}
        return {name: learned_value(getattr(value, name)) for name in value._fields if name in told}
    if isinstance(value, tuple):
        return [learned_value(item) for item in value]
    if isinstance(value, dict):
        return [[int(key), int(item)] for key, item in value.items()]
    if isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral | bool | np.bool_):
        return number(float(value))
    return value.item() if isinstance(value, np.generic) else value


def read_learned(kind: Any, value: object, where: str) -> Any:
    """Return a learned value of a known type."""
    if get_origin(kind) in (Union, types.UnionType):
        inner = next(one for one in get_args(kind) if one is not type(None))
        return None if value is None else read_learned(inner, value, where)
    if hasattr(kind, "_fields"):
        record, hints = as_dict(value, where), get_type_hints(kind)
        if not set(kind._fields) - kind._field_defaults.keys() <= record.keys() <= set(kind._fields):
            refuse(f"{where} must have the entries {kind._fields}, found {sorted(record)!r:.80}")
        return kind(**{name: read_learned(hints[name], part, f"{where}.{name}") for name, part in record.items()})
    if get_origin(kind) is tuple:
        return tuple(read_learned(get_args(kind)[0], item, where) for item in as_list(value, where))
    if get_origin(kind) is dict:
        pairs = [as_list(pair, where) for pair in as_list(value, where)]
        return {as_whole(pair[0], where): as_whole(pair[1], where) for pair in pairs if len(pair) == 2 or refuse(where)}
    return _scalar(kind, value, where)


def _scalar(kind: Any, value: Any, where: str) -> Any:
    if kind is float and isinstance(value, dict):
        return non_finite(value.get("float"), where)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if kind is int:
        return as_whole(value, where, 0, 2**63 - 1)
    if not isinstance(value, kind):
        refuse(f"{where} must be of type {kind.__name__}, found {value!r:.40}")
    return value
