"""Fitted estimators of scikit-learn as a record (JSON) and arrays, and back."""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import signature
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..maps.array_layouts import Leaf
from .json_values import ArgumentReader, ArgumentWriter, NotStoredError, non_finite, number
from .learner_records import LABELS, MOST_TEXT
from .map_records import ArraySink, ArraySource, names_of, read_names
from .sklearn_estimators import COLUMNS, KNOWN, Numbers, Part, Values, check_function, class_of, floats
from .validation import as_dict, as_list, as_text, as_whole, check_names, refuse

ENTRIES = ("class", "arguments", "columns", "names", "learned", "parts", "output", "gaps")
OUTPUTS = (None, "default", "pandas", "polars")
"""The values that ``set_output`` accepts."""
MOST_ROWS = 2**62
DTYPES = ("float16", *LABELS)
ENTRY_TYPES: dict[str, tuple[type, ...]] = {
    "O": (str, bool, int, float, type(None)),
    "U": (str,),
    "b": (bool,),
    "f": (int, float),
    "i": (int,),
    "u": (int,),
}


# -- writing -----------------------------------------------------------------------------------------------------------


class Writer(ArgumentWriter):
    """Arguments, which may include types of numbers and slices of columns."""

    def value(self, value: object, where: str) -> Any:
        if isinstance(value, type) and issubclass(value, np.generic) and np.dtype(value).name in DTYPES:
            return {"type": np.dtype(value).name}
        if isinstance(value, np.dtype) and value.name in DTYPES:
            return {"dtype": value.name}
        if isinstance(value, slice):
            return {"slice": [self.value(part, where) for part in (value.start, value.stop, value.step)]}
        if isinstance(value, np.random.Generator | np.random.RandomState):
            raise NotStoredError(f"{where} is a random number generator: give an integer before fitting")
        if isinstance(value, BaseEstimator):
            raise NotStoredError(f"{where} is a {type(value).__name__}, which a model file cannot contain there")
        return super().value(value, where)


def write_arguments(
    estimator: BaseEstimator, target: ArraySink, path: str, apart: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return the arguments that differ from the defaults, which depend on the version."""
    writer, usual = Writer(target.arrays, None), signature(type(estimator)).parameters
    return {
        name: writer.value(value, f"{path}{name}")
        for name, value in sorted(estimator.get_params(deep=False).items())
        if name not in apart and not _is_usual(value, usual[name].default)
    }


def _is_usual(value: object, usual: object) -> bool:
    if value is usual:
        return True
    return type(value) is type(usual) and isinstance(value, bool | int | float | str) and value == usual


def write_known(estimator: BaseEstimator, target: ArraySink, path: str) -> dict[str, Any]:
    """Return the record of a fitted estimator of the table."""
    name = type(estimator).__name__
    kind = KNOWN[name]
    check_is_fitted(estimator)
    record: dict[str, Any] = {"class": name, "arguments": write_arguments(estimator, target, path)}
    if kind.has_columns:
        record["columns"] = int(estimator.n_features_in_)
        record |= names_of(estimator)
    learned, parts, gaps = {}, {}, {}
    for attribute, spec in kind.learned.items():
        if not hasattr(estimator, attribute):
            continue
        value = getattr(estimator, attribute)
        if isinstance(spec, Part):
            parts[attribute] = write_known(value, target, f"{path}{attribute}.")
        elif getattr(spec, "shapes", ()) and isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "fi":
            target.arrays[f"{path}{attribute}"] = array = np.asarray(value)
            if 0 < _gap(array) <= _most_gap(array):  # the last bits of matrix products depend on it
                gaps[attribute] = _gap(array)
        else:
            learned[attribute] = _plain(value, f"{path}{attribute}")
    if "_sklearn_output_config" in vars(estimator):
        record["output"] = estimator._sklearn_output_config.get("transform")
    return record | {"learned": learned} | ({"parts": parts} if parts else {}) | ({"gaps": gaps} if gaps else {})


def _gap(array: NDArray[Any]) -> int:
    """Return the distance in entries between columns, if the array was cut from a larger one; otherwise 0."""
    if array.ndim != 2 or array.flags.forc or array.strides[0] != array.itemsize or array.strides[1] % array.itemsize:
        return 0
    return array.strides[1] // array.itemsize


def _most_gap(array: NDArray[Any]) -> int:
    """Return the largest gap to restore, since a small file must not ask for much memory."""
    return int(64 * array.shape[0] + 1024)


def _plain(value: object, where: str) -> Any:
    """Return a learned value that is not an array of numbers, as JSON."""
    if isinstance(value, list):
        return [_plain(item, where) for item in value]
    if isinstance(value, np.ndarray):
        items = [number(item) if isinstance(item, float) else item for item in value.tolist()]
        if value.ndim != 1 or any(type(item) not in (str, bool, int, float, dict, type(None)) for item in items):
            raise NotStoredError(f"{where} has entries that a model file cannot contain; use text or numbers")
        return {"dtype": dtype_text(value.dtype, where), "items": items}
    if isinstance(value, np.dtype):
        return dtype_text(value, where)
    if isinstance(value, float):
        return number(float(value))
    if value is None or type(value) in (str, bool, int):
        return value
    raise NotStoredError(f"{where} is of type {type(value).__name__}, which a model file cannot contain")


def dtype_text(dtype: np.dtype[Any], where: str) -> str:
    """Return the name of a type of entries."""
    if dtype.kind == "U":
        return f"<U{dtype.itemsize // 4}"
    if dtype.name != "object" and dtype.name not in DTYPES:
        raise NotStoredError(f"{where} is of type {dtype}, which a model file cannot contain; use text or numbers")
    return str(dtype.name)


# -- reading -----------------------------------------------------------------------------------------------------------


class Reader(ArgumentReader):
    """Arguments, which may include types of numbers and slices of columns, but no kernels and no maps."""

    kinds = ("float", "list", "tuple", "dict", "array", "type", "dtype", "slice")

    def _type(self, held: object, where: str) -> Any:
        return self._dtype(held, where).type

    def _dtype(self, held: Any, where: str) -> np.dtype[Any]:
        if as_text(held, where) not in DTYPES:
            refuse(f"{where} must be the name of a type of numbers, found {held!r:.40}")
        return np.dtype(held)

    def _slice(self, held: object, where: str) -> slice:
        parts = as_list(held, where)
        if len(parts) != 3 or any(type(part) not in (int, str, type(None)) for part in parts):
            refuse(f"{where} must be a slice of columns, found {held!r:.80}")
        return slice(*parts)


def read_unfitted(record: dict[str, Any], array: Callable[[str], NDArray[Any]], path: str) -> Any:
    """Return an unfitted estimator of the table, with arguments that scikit-learn accepts."""
    name = as_text(record.get("class"), f"the class of {path}")
    estimator = Reader(array).estimator(class_of(name), record.get("arguments"), path)
    estimator._validate_params()
    if name == "FunctionTransformer":
        check_function(estimator)
    return estimator


def read_known(record: dict[str, Any], source: ArraySource, path: str) -> Any:
    """Return a fitted estimator of the table."""
    check_names(record, ENTRIES, f"{path}model")
    estimator = read_unfitted(record, source.array, path)
    name = type(estimator).__name__
    kind, lengths = KNOWN[name], {}
    if kind.has_columns:
        estimator.n_features_in_ = columns = as_whole(record.get("columns"), f"columns of {path}{name}", 1)
        read_names(estimator, record.get("names"), columns)
        lengths[COLUMNS] = columns
    learned = as_dict(record.get("learned"), f"learned of {path}{name}")
    parts = as_dict(record.get("parts", {}), f"parts of {path}{name}")
    check_names(learned, kind.learned, f"learned of {path}{name}")
    gaps = as_dict(record.get("gaps", {}), f"gaps of {path}{name}")
    for entries in (parts, gaps):
        check_names(entries, kind.learned, f"{path}{name}")
    for attribute, spec in kind.learned.items():
        where = f"{path}{attribute}"
        if isinstance(spec, Part):
            if attribute in parts:
                setattr(estimator, attribute, _read_part(parts[attribute], spec, source, where))
        elif getattr(spec, "shapes", ()) and where in source.names:
            wanted = spec if isinstance(spec, Numbers) else floats(*spec.shapes, kind="fi", finite=False)
            found = _read_numbers(wanted, source, where, lengths)
            setattr(estimator, attribute, _with_gap(found, gaps[attribute], where) if attribute in gaps else found)
        elif attribute in learned:
            setattr(estimator, attribute, _read_plain(spec, learned[attribute], where))
        if spec.needed and not hasattr(estimator, attribute):
            refuse(f"{path}{name} lacks {attribute}")
    kind.settle(estimator)
    kind.check(estimator)
    if "output" in record:
        if not isinstance(record["output"], str | None) or record["output"] not in OUTPUTS:
            refuse(f"the output of {path}{name} must be one of {OUTPUTS}, found {record['output']!r:.40}")
        estimator._sklearn_output_config = {"transform": record["output"]}
    return estimator


def _read_part(record: object, spec: Part, source: ArraySource, where: str) -> Any:
    record = as_dict(record, where)
    if record.get("class") != spec.name:
        refuse(f"{where} must be a {spec.name}, found {record.get('class')!r:.60}")
    return read_known(record, source, f"{where}.")


def _read_numbers(spec: Numbers, source: ArraySource, where: str, lengths: dict[str, int]) -> Any:
    array = source.array(where)
    shape = next((shape for shape in spec.shapes if _fits(shape, array.shape, lengths)), None)
    if shape is None:
        wanted = " or ".join(str(tuple(lengths.get(letter, "any") for letter in shape)) for shape in spec.shapes)
        refuse(f"tensor {where!r} must have the shape {wanted}, found {array.shape}")
    lengths |= zip(shape, array.shape, strict=True)
    dtypes = (("float64", "float32") if "f" in spec.kind else ()) + (("int64", "int32") if "i" in spec.kind else ())
    source.take(Leaf(dtypes, array.shape, finite=spec.finite and array.dtype.kind == "f"), where)
    return array if array.shape else array[()]


def _with_gap(array: NDArray[Any], gap: Any, where: str) -> NDArray[Any]:
    """Return an array laid out in memory as if it were cut from a larger one."""
    if np.ndim(array) != 2:
        refuse(f"{where} has a gap, but only a matrix can have one")
    rows, columns = array.shape
    larger = np.zeros((columns, as_whole(gap, f"the gap of {where}", rows, _most_gap(array))), dtype=array.dtype)
    larger[:, :rows] = array.T
    return larger[:, :rows].T


def _fits(shape: tuple[str, ...], found: tuple[int, ...], lengths: dict[str, int]) -> bool:
    return len(shape) == len(found) and all(
        lengths.get(letter, length) == length for letter, length in zip(shape, found, strict=True)
    )


def _read_plain(spec: Any, value: Any, where: str) -> Any:
    """Return a learned value that is not an array of numbers."""
    if isinstance(spec, Values):
        if spec.several:
            return [_levels(_read_values(one, where), where) for one in as_list(value, where)]
        if value is None and not spec.needed:
            return None
        values = _read_values(value, where)
        return _classes(values, where) if where.endswith("classes_") else values
    if isinstance(spec, Numbers):
        if value is None and spec.none:
            return None
        value = non_finite(value.get("float"), where) if isinstance(value, dict) and not spec.finite else value
        types = (int,) if spec.kind == "i" else (int, float)
        if () not in spec.shapes or type(value) not in types or (type(value) is int and abs(value) > MOST_ROWS):
            refuse(f"{where} must be a number, found {value!r:.40}")
        return value
    if np.dtype in spec.types:
        return _read_dtype(value, where)
    if type(value) not in spec.types or (type(value) is int and not 0 <= value <= MOST_ROWS):
        refuse(f"{where} must be of type {' or '.join(one.__name__ for one in spec.types)}, found {value!r:.40}")
    return value


def _read_dtype(text: Any, where: str) -> np.dtype[Any]:
    known = as_text(text, where) in (*DTYPES, "object") or re.fullmatch(r"<U[0-9]{1,6}", text)
    return np.dtype(text) if known else refuse(f"{where} must be the name of a type, found {text!r:.40}")


def _read_values(record: object, where: str) -> NDArray[Any]:
    record = as_dict(record, where)
    check_names(record, ("dtype", "items"), where)
    dtype = _read_dtype(record.get("dtype"), where)
    items = [
        non_finite(item.get("float"), where) if isinstance(item, dict) else item
        for item in as_list(record.get("items"), where)
    ]
    if any(type(item) not in ENTRY_TYPES[dtype.kind] for item in items):
        refuse(f"{where} of type {dtype} must have entries of that type")
    if dtype.kind == "U":
        longest = max((len(str(item)) for item in items), default=0)
        if longest * 4 > dtype.itemsize or dtype.itemsize * len(items) > 4 * MOST_TEXT:
            refuse(f"{where}: text of up to {longest} characters does not fit into {dtype}")
    found = np.empty(len(items), dtype=dtype)
    try:
        found[:] = items
    except OverflowError as error:
        refuse(f"{where} does not fit into {dtype}: {error}")
    return found


def _levels(values: NDArray[Any], where: str) -> NDArray[Any]:
    """Return the levels of a column, which encoders search: no two are the same."""
    items = ["nan" if item != item else (type(item).__name__, item) for item in values.tolist()]
    if not items or len(set(items)) != len(items):
        refuse(f"{where} must have different levels for each column")
    return values


def _classes(values: NDArray[Any], where: str) -> NDArray[Any]:
    items = values.tolist()
    alike = all(type(item) is str for item in items) or not any(isinstance(item, str | None) for item in items)
    if len(items) < 2 or not alike or not all(left < right for left, right in pairwise(items)):
        refuse(f"{where} must have at least 2 entries, in increasing order")
    return values
