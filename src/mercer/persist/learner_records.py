"""Fitted kernel machines as a record (JSON) and arrays, and back."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from .. import learn
from .._random import as_seed
from ..learn.cca import View
from ..learn.machine import KernelMachine
from ..maps import FeatureMap
from .json_values import ArgumentReader, ArgumentWriter, NotStoredError, learned_value, read_learned
from .map_records import (
    ArraySink,
    ArraySource,
    check_unfitted,
    names_of,
    put_tree,
    read_map,
    read_names,
    take_tree,
    write_map,
)
from .preparation_records import read_preparation, write_preparation
from .validation import as_dict, as_list, as_text, as_whole, check_names, refuse

MACHINES = tuple(name for name in learn.__all__ if issubclass(getattr(learn, name), KernelMachine))
ENTRIES = (
    "class",
    "arguments",
    "columns",
    "names",
    "preparation",
    "map",
    "learned",
    "classes",
    "view_y",
    "apart",
    "first_rows",
)
VIEW_ENTRIES = ("columns", "names", "preparation", "map")
ROLES = ("target", "weight")
LABELS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
MOST_TEXT = 2**24


# -- writing -----------------------------------------------------------------------------------------------------------


def check_machine(model: BaseEstimator) -> None:
    """Refuse anything that is not one of our learners."""
    name = type(model).__name__
    if name not in MACHINES or getattr(learn, name) is not type(model):
        raise NotStoredError(f"{name} is not one of the learners of mercer.learn, so a file with it could not be read")


def write_machine(model: BaseEstimator, target: ArraySink, path: str = "") -> dict[str, Any]:
    """Return the record of a fitted machine."""
    check_machine(model)
    writer = ArgumentWriter(target.arrays, model.map_.seed_)
    record: dict[str, Any] = {"class": type(model).__name__, "arguments": writer.arguments(model, path)}
    record |= _write_view(model, target, path)
    record["learned"] = {
        name: learned_value(value)
        for name in model.learned_types
        if hasattr(model, name) and not isinstance(value := getattr(model, name), np.ndarray)
    }
    for name, layout in model.array_layout().items():
        value = getattr(model, name, None)
        if value is not None and not isinstance(value, float):
            put_tree(layout, value, target, f"{path}{name}")
    if hasattr(model, "classes_"):
        several = isinstance(model.classes_, list)
        record["classes"] = [*map(write_labels, model.classes_)] if several else write_labels(model.classes_)
    apart = {role: named for role in ROLES if (named := getattr(model, f"{role}_name_", None)) is not None}
    if apart:
        record["apart"] = {role: list(named) if isinstance(named, tuple) else named for role, named in apart.items()}
    if getattr(model, "first_rows_", ()):
        record["first_rows"] = list(model.first_rows_)
    if hasattr(model, "view_y_"):
        record["view_y"] = _write_view(model.view_y_, target, f"{path}view_y.")
    return record


def _write_view(model: BaseEstimator, target: ArraySink, path: str) -> dict[str, Any]:
    record = {
        "columns": int(model.n_features_in_),
        "preparation": write_preparation(model.preparation_, target, f"{path}preparation"),
        "map": write_map(model.map_, target, f"{path}map."),
    }
    return record | names_of(model)


def write_labels(classes: NDArray[Any]) -> dict[str, Any]:
    """Return the labels of classes or groups, in order."""
    kind = classes.dtype.kind
    items = classes.tolist()
    if kind == "O" and all(type(item) is str for item in items):
        return {"dtype": "object", "items": items}
    if kind != "U" and classes.dtype.name not in LABELS:
        raise NotStoredError(
            f"classes_ are of type {classes.dtype}, which a model file cannot contain; use text or numbers"
        )
    dtype = f"<U{classes.dtype.itemsize // 4}" if kind == "U" else classes.dtype.name
    return {"dtype": dtype, "items": items}


# -- reading -----------------------------------------------------------------------------------------------------------


def read_machine(record: object, source: ArraySource, path: str = "") -> Any:
    """Return the fitted machine of a record."""
    record = as_dict(record, "the model")
    check_names(record, ENTRIES, "the model")
    model = read_unfitted_machine(record, source.array, path)
    cls = type(model)
    _read_view(model, record, source, path)
    if "view_y" in record:
        if not hasattr(model, "second_view"):
            refuse(f"{cls.__name__} has no second view")
        model.view_y_ = model.second_view()
        check_names(as_dict(record["view_y"], "view_y"), VIEW_ENTRIES, "view_y")
        _read_view(model.view_y_, record["view_y"], source, f"{path}view_y.")
    if "classes" in record:
        model.classes_ = _read_classes(record["classes"])
    apart = as_dict(record.get("apart", {}), "apart")
    check_names(apart, ROLES, "apart")
    for role in ROLES:
        setattr(model, f"{role}_name_", _read_column_name(apart.get(role), f"the column of the {role}"))
    prints = as_list(record.get("first_rows", []), "first_rows")
    model.first_rows_ = tuple(as_text(one, "the fingerprint of a row") for one in prints)
    learned = as_dict(record.get("learned"), "learned")
    check_names(learned, model.learned_types, "learned")
    for name, value in learned.items():
        setattr(model, name, read_learned(model.learned_types[name], value, name))
    for name, layout in model.array_layout().items():
        if source.has(f"{path}{name}"):
            setattr(model, name, take_tree(layout, source, f"{path}{name}"))
    model.check_arrays()
    return model


def _read_column_name(named: object, what: str) -> str | int | tuple[str, ...] | None:
    """Return a name, several names, or the number of a column without a name."""
    if named is None or isinstance(named, str):
        return named
    if isinstance(named, list):
        return tuple(as_text(name, what) for name in named)
    return as_whole(named, what)


def read_unfitted_machine(record: dict[str, Any], array: Callable[[str], NDArray[Any]], path: str) -> Any:
    """Return the machine of a record, not fitted, with valid arguments."""
    model = ArgumentReader(array).estimator(getattr(learn, record["class"]), record.get("arguments"), path)
    for name, value in model.get_params(deep=False).items():
        if isinstance(value, FeatureMap):
            check_unfitted(value, name)
    model.check_arguments()
    as_seed(model.random_state)
    return model


def _read_view(model: KernelMachine | View, record: dict[str, Any], source: ArraySource, path: str) -> None:
    model.target_name_, model.weight_name_, model.first_rows_ = None, None, ()
    model.n_features_in_ = columns = as_whole(record.get("columns"), f"{path}columns", 1)
    read_names(model, record.get("names"), columns)
    model.map_ = read_map(record.get("map"), source, f"{path}map.")
    names = getattr(model, "feature_names_in_", None)
    taken = model.map_.n_features_in_
    model.preparation_ = read_preparation(
        record.get("preparation"), columns, names, taken, source, f"{path}preparation"
    )


def _read_classes(record: object) -> Any:
    """Return the labels of one task, or of each of several."""
    if not isinstance(record, list):
        return read_labels(record)
    if len(record) < 2:
        refuse(f"a list of classes must cover at least 2 tasks, found {len(record)}")
    return [read_labels(one) for one in record]


def read_labels(record: object, least: int = 2) -> NDArray[Any]:
    """Return labels in order, of which there must be at least ``least``."""
    record = as_dict(record, "classes")
    check_names(record, ("dtype", "items"), "classes")
    dtype, items = as_text(record.get("dtype"), "the type of classes"), as_list(record.get("items"), "classes")
    text = re.fullmatch(r"<U([0-9]{1,6})", dtype)
    if text or dtype == "object":
        wanted: tuple[type, ...] = (str,)
        longest = max(map(len, filter(lambda item: isinstance(item, str), items)), default=0)
        if text and (longest > int(text[1]) or int(text[1]) * len(items) > MOST_TEXT):
            refuse(f"classes of up to {longest} characters do not fit into {dtype}")
    else:
        wanted = {"b": (bool,), "f": (float, int)}.get(dtype[:1], (int,)) if dtype in LABELS else ()
    if not wanted or any(type(item) not in wanted for item in items):
        refuse(f"classes of type {dtype!r:.20} must be text or numbers of that type")
    try:
        classes = np.array(items, dtype=dtype)
    except OverflowError as error:
        refuse(f"the classes do not fit into {dtype}: {error}")
    if len(items) < least or not all(left < right for left, right in pairwise(items)):
        refuse(f"there must be at least {least} classes, in increasing order")
    return classes
