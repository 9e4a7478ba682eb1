"""Pipelines and column transformers around maps and learners as a record (JSON) and arrays, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..learn import ConformalClassifier, ConformalRegressor
from ..learn.machine import KernelMachine
from ..maps import FeatureMap
from .json_values import ArgumentReader, ArgumentWriter, NotStoredError, map_class, map_name
from .learner_records import MACHINES, read_machine, read_unfitted_machine, write_machine
from .map_records import ArraySink, ArraySource, check_unfitted, names_of, read_map, read_names, write_map
from .sklearn_estimators import INSIDE, KNOWN, is_known
from .sklearn_records import Reader, Writer, read_known, read_unfitted, write_arguments, write_known
from .validation import as_dict, as_list, as_text, as_whole, check_names, refuse

PIPELINE = ("class", "arguments", "steps")
COLUMNS = ("class", "arguments", "columns", "names", "transformers", "fitted", "remainder", "sparse")
MOST_COLUMNS = 2**20
"""The largest number of columns of a column transformer, which counts them one by one."""
MOST_MASKED = 2**12
"""The largest number if columns are chosen by truth values, because scikit-learn compares each with all."""
WORDS = ("passthrough", "drop")
OURS = ("steps", "transformers", "remainder", "memory", "n_jobs")
"""Arguments that are stored differently, or not at all: a file does not determine the number of processes."""


# -- writing -----------------------------------------------------------------------------------------------------------


def write_model(model: BaseEstimator, target: ArraySink, path: str = "") -> dict[str, Any]:
    """Return the record of a fitted model of any kind that a file can contain."""
    if isinstance(model, FeatureMap | KernelMachine) and path and _has_output(model):
        raise NotStoredError(f"{path} has set_output, which a model file does not keep for maps and learners: undo it")
    if isinstance(model, FeatureMap):
        check_is_fitted(model)
        return write_map(model, target, path)
    if isinstance(model, KernelMachine):
        if not model.is_prepared:
            check_is_fitted(model)
        return write_machine(model, target, path)
    if type(model) is Pipeline:
        return _write_pipeline(model, target, path)
    if type(model) is ColumnTransformer:
        return _write_columns(model, target, path)
    _check_known(model, path)
    return write_known(model, target, path)


def _has_output(model: BaseEstimator) -> bool:
    """Return whether a model was asked to return data frames instead of arrays."""
    return getattr(model, "_sklearn_output_config", {}).get("transform") not in (None, "default")


def _check_known(model: BaseEstimator, path: str) -> None:
    if not is_known(model) or type(model).__name__ in INSIDE:
        known = ", ".join(name for name in KNOWN if name not in INSIDE)
        raise NotStoredError(
            f"{path}{type(model).__name__} is not an estimator that a model file can contain. Those are the maps and "
            f"learners of mercer and, around them, Pipeline, ColumnTransformer, {known}; use one of these, or apply "
            "the step yourself before the model"
        )


def _write_pipeline(model: Pipeline, target: ArraySink, path: str) -> dict[str, Any]:
    if model.memory is not None:
        raise NotStoredError(
            f"{path}memory is a location on this machine, which a model file does not keep: set it to None"
        )
    arguments = write_arguments(model, target, path, OURS)
    steps = [
        [name, _write_step(step, target, f"{path}steps.{place}.")] for place, (name, step) in enumerate(model.steps)
    ]
    return {"class": "Pipeline", "arguments": arguments, "steps": steps}


def _write_step(step: BaseEstimator, target: ArraySink, path: str) -> Any:
    if step is None or isinstance(step, str):
        return step
    return write_model(step, target, path)


def _write_columns(model: ColumnTransformer, target: ArraySink, path: str) -> dict[str, Any]:
    check_is_fitted(model)
    writer = Writer(target.arrays, None)
    if not isinstance(model.remainder, str):
        raise NotStoredError(f"{path}remainder is an estimator: list its columns among the transformers")
    given = []
    for place, (name, part, columns) in enumerate(model.transformers):
        unfitted = write_unfitted(part, target, f"{path}transformers.{place}.")
        given.append([name, unfitted, writer.value(columns, f"{path}columns.{place}")])
    fitted = [
        [
            name,
            _write_step(part, target, f"{path}fitted.{place}."),
            [int(column) for column in model._transformer_to_input_indices[name]],
            model.output_indices_[name].stop - model.output_indices_[name].start,
        ]
        for place, (name, part, _) in enumerate(model.transformers_)
    ]
    if _has_output(model):
        raise NotStoredError(f"{path}ColumnTransformer has set_output, which a model file does not keep: undo it")
    return {
        "class": "ColumnTransformer",
        "arguments": write_arguments(model, target, path, OURS),
        "columns": int(model.n_features_in_),
        "transformers": given,
        "fitted": fitted,
        "remainder": model.remainder,
        "sparse": bool(model.sparse_output_),
    } | names_of(model)


def write_unfitted(model: BaseEstimator, target: ArraySink, path: str) -> Any:
    """Return the record of an unfitted estimator: its class and its arguments."""
    if isinstance(model, str):
        return model
    if type(model) is Pipeline:
        steps = [
            [name, write_unfitted(step, target, f"{path}steps.{k}.")] for k, (name, step) in enumerate(model.steps)
        ]
        return {"class": "Pipeline", "arguments": write_arguments(model, target, path, OURS), "steps": steps}
    if isinstance(model, FeatureMap | KernelMachine):
        name = map_name(model) if isinstance(model, FeatureMap) else type(model).__name__
        writer = ArgumentWriter(target.arrays, None)
    else:
        _check_known(model, path)
        return {"class": type(model).__name__, "arguments": write_arguments(model, target, path)}
    return {"class": name, "arguments": writer.arguments(model, path)}


# -- reading -----------------------------------------------------------------------------------------------------------


def read_model(record: object, source: ArraySource, path: str = "") -> Any:
    """Return the fitted model of a record."""
    record = as_dict(record, f"{path}model")
    name = as_text(record.get("class"), f"the class of {path}model")
    if name == "Pipeline":
        return _read_pipeline(record, path, lambda held, where: read_model(held, source, where))
    if name == "ColumnTransformer":
        return _read_columns(record, source, path)
    if name in KNOWN and name not in INSIDE:
        return read_known(record, source, path)
    return read_machine(record, source, path) if name in MACHINES else read_map(record, source, path)


def _read_pipeline(record: dict[str, Any], path: str, read: Callable[[Any, str], Any]) -> Pipeline:
    check_names(record, PIPELINE, f"{path}Pipeline")
    steps = []
    for place, entry in enumerate(as_list(record.get("steps"), f"{path}steps")):
        pair = as_list(entry, f"a step of {path}Pipeline")
        if len(pair) != 2:
            refuse(f"a step of {path}Pipeline must have a name and an estimator")
        idle = pair[1] is None or pair[1] == "passthrough"
        steps.append(
            (as_text(pair[0], "the name of a step"), pair[1] if idle else read(pair[1], f"{path}steps.{place}."))
        )
    _check_step_names([name for name, _ in steps], f"{path}Pipeline")
    model = Pipeline(steps, **_read_arguments(Pipeline, record, path))
    if not isinstance(model.verbose, bool) or not isinstance(
        model.get_params(deep=False).get("transform_input"), list | None
    ):
        refuse(f"{path}Pipeline has unknown arguments")
    for name, step in steps[:-1]:
        if not (step is None or isinstance(step, str) or hasattr(step, "transform")):
            refuse(f"step {name!r:.60} of {path}Pipeline must transform rows, like all steps except the last")
    return model


def check_holds_ours(model: BaseEstimator) -> None:
    """Refuse a pipeline that contains no map or learner of this package, as this is no format for other models."""
    if not any(isinstance(part, FeatureMap | KernelMachine) for part in leaves(model)):
        refuse(f"a model file cannot contain a {type(model).__name__} without a map or learner of mercer")


def _check_step_names(names: list[str], where: str) -> None:
    if not names or len(set(names)) != len(names) or any("__" in name or not name for name in names):
        refuse(f"the steps of {where} must have different names, without '__'")


def _read_arguments(cls: Any, record: dict[str, Any], path: str) -> dict[str, Any]:
    given = as_dict(record.get("arguments"), f"the arguments of {path}{cls.__name__}")
    check_names(given, set(cls._get_param_names()) - set(OURS), f"{path}{cls.__name__}")
    reader = Reader(lambda name: refuse(f"tensor {name!r:.80} is not an argument of {cls.__name__}"))
    return {name: reader.value(value, f"{path}{name}") for name, value in given.items()}


def _read_columns(record: dict[str, Any], source: ArraySource, path: str) -> ColumnTransformer:
    where = f"{path}ColumnTransformer"
    check_names(record, COLUMNS, where)
    reader = Reader(source.array)
    transformers = []
    for place, entry in enumerate(as_list(record.get("transformers"), f"transformers of {where}")):
        three = as_list(entry, f"a transformer of {where}")
        if len(three) != 3:
            refuse(f"a transformer of {where} must have a name, an estimator and columns")
        part = read_unfitted_model(three[1], source.array, f"{path}transformers.{place}.")
        columns = reader.value(three[2], f"{path}columns.{place}")
        transformers.append((as_text(three[0], f"a name in {where}"), part, columns))
    _check_step_names([name for name, *_ in transformers], where)
    if record.get("remainder") not in WORDS or not isinstance(record.get("sparse"), bool):
        refuse(f"remainder of {where} must be one of {WORDS}, and sparse true or false")
    model = ColumnTransformer(
        transformers, remainder=record["remainder"], **_read_arguments(ColumnTransformer, record, path)
    )
    model._validate_params()
    model.n_features_in_ = as_whole(record.get("columns"), f"columns of {where}", 1, MOST_COLUMNS)
    read_names(model, record.get("names"), model.n_features_in_)
    model.sparse_output_ = record["sparse"]
    _give_fitted(model, as_list(record.get("fitted"), f"fitted of {where}"), source, path)
    return model


def _give_fitted(model: BaseEstimator, fitted: list[Any], source: ArraySource, path: str) -> None:
    """Set what a column transformer has learned about its parts, and about columns that none of them uses."""
    given = {name: columns for name, _, columns in model.transformers}
    parts, inputs, widths = {}, {}, {}
    for place, entry in enumerate(fitted):
        four = as_list(entry, f"a part of {path}ColumnTransformer")
        if len(four) != 4:
            refuse(f"a part of {path}ColumnTransformer must have a name, an estimator, columns and a width")
        name = as_text(four[0], f"a name in {path}ColumnTransformer")
        where = f"part {name!r:.60} of {path}ColumnTransformer"
        parts[name] = four[1] if isinstance(four[1], str) else read_model(four[1], source, f"{path}fitted.{place}.")
        if not (parts[name] in WORDS if isinstance(parts[name], str) else hasattr(parts[name], "transform")):
            refuse(f"{where} must transform rows")
        last = model.n_features_in_ - 1
        inputs[name] = [as_whole(one, f"a column of {where}", 0, last) for one in as_list(four[2], where)]
        widths[name] = as_whole(four[3], f"the width of {where}")
    if [name for name in parts if name != "remainder"] != list(given) or len(parts) != len(fitted):
        refuse(f"{path}ColumnTransformer must have one fitted part for each of its transformers, in their order")
    masks = any(
        isinstance(columns, list) and any(isinstance(one, bool) for one in columns) for columns in given.values()
    )
    if masks and model.n_features_in_ > MOST_MASKED:
        refuse(f"{path}ColumnTransformer may choose among at most {MOST_MASKED} columns by truth values, found more")
    for name, chosen in given.items():
        if _places(model, chosen, name) != inputs[name]:
            refuse(f"the columns of part {name!r:.60} of {path}ColumnTransformer are not those on which it was fitted")
    rest = inputs.pop("remainder", [])
    model._columns, model._transformer_to_input_indices = list(given.values()), inputs
    model._validate_remainder(None)
    if rest != inputs["remainder"] and "remainder" in parts:
        refuse(f"the remainder of {path}ColumnTransformer must be the columns that no part uses")
    model.transformers_ = [(name, part, given.get(name, model._remainder[2])) for name, part in parts.items()]
    model.output_indices_, start = {}, 0
    gives = {name: None for name, part in parts.items() if part != "drop" and inputs[name]}
    for name in gives:
        model.output_indices_[name] = slice(start, start + widths[name])
        start += widths[name]
    model.output_indices_ |= {name: slice(0, 0) for name in inputs if name not in gives}


def _places(model: BaseEstimator, chosen: Any, name: str) -> list[int]:
    """Return the numbers of columns that a part was given by number, by name, as a slice or by truth values."""
    count = model.n_features_in_
    names = {column: place for place, column in enumerate(getattr(model, "feature_names_in_", ()))}
    numbers = range(count)

    def place(one: Any) -> int:
        if isinstance(one, str) and one in names:
            return names[one]
        if isinstance(one, str | bool) or not isinstance(one, int) or not -count <= one < count:
            refuse(f"the columns of part {name!r:.60} must be among the {count} of the table, found {one!r:.60}")
        return numbers[one]

    if isinstance(chosen, slice):
        if isinstance(chosen.start, str) or isinstance(chosen.stop, str):  # a slice of names includes the last one
            start = 0 if chosen.start is None else place(chosen.start)
            stop = count if chosen.stop is None else place(chosen.stop) + 1
            return list(numbers[start : stop : chosen.step])
        return list(numbers[chosen])
    held = chosen.tolist() if isinstance(chosen, np.ndarray) else chosen
    held = held if isinstance(held, list) else [held]
    if held and all(isinstance(one, bool) for one in held):
        if len(held) != count:
            refuse(f"part {name!r:.60} must have a truth value for each of {count} columns, found {len(held)}")
        return [one for one, taken in zip(numbers, held, strict=True) if taken]
    return [place(one) for one in held]


def read_unfitted_model(record: object, array: Callable[[str], NDArray[Any]], path: str) -> Any:
    """Return an unfitted estimator."""
    if isinstance(record, str):
        return record if record in WORDS else refuse(f"{path} must be an estimator or one of {WORDS}")
    record = as_dict(record, path)
    name = as_text(record.get("class"), f"the class of {path}")
    if name == "Pipeline":
        return _read_pipeline(record, path, lambda held, where: read_unfitted_model(held, array, where))
    check_names(record, ("class", "arguments"), path)
    if name in MACHINES:
        return read_unfitted_machine(record, array, path)
    if name in KNOWN and name not in INSIDE:
        return read_unfitted(record, array, path)
    map = ArgumentReader(array).estimator(map_class(name, path), record.get("arguments"), path)
    check_unfitted(map, path)
    return map


# -- the parts of a pipeline
# ----------------------------------------------------------------------------------------------------


def leaves(model: BaseEstimator) -> Iterator[Any]:
    """Yield the estimators of a pipeline or wrapper that contain no others: ours, and scikit-learn's."""
    parts: list[Any] = []
    if isinstance(model, ConformalClassifier | ConformalRegressor):
        parts = [model.estimator_]
    elif isinstance(model, Pipeline):
        parts = [step for _, step in model.steps]
    elif isinstance(model, ColumnTransformer):
        parts = [part for _, part, _ in model.transformers_]
        yield model
    elif model is not None and not isinstance(model, str):
        yield model
    for part in parts:
        yield from leaves(part)


def difference(ours: Any, theirs: Any, where: str = "") -> str | None:
    """Return the first attribute of an estimator of scikit-learn that differs from another's, to the bit, or None."""
    arguments = ours.get_params(deep=False)
    for name in sorted({*vars(ours), *vars(theirs)}):
        if name not in vars(ours) or name not in vars(theirs):
            return f"{where}{name}"
        left, right = getattr(ours, name), getattr(theirs, name)
        if name == "n_jobs" and isinstance(ours, ColumnTransformer):
            continue
        if not (_alike if name in arguments else _same)(left, right):
            return f"{where}{name}"
    return None


def _same(left: Any, right: Any) -> bool:
    """Return whether two values have the same types and bits."""
    if type(left) is not type(right):
        return False
    if isinstance(left, np.ndarray):
        alike = left.dtype == right.dtype and left.shape == right.shape
        return alike and (
            (left.dtype.kind == "O" and _same(left.tolist(), right.tolist())) or left.tobytes() == right.tobytes()
        )
    if isinstance(left, np.generic):
        return left.dtype == right.dtype and left.tobytes() == right.tobytes()
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, dict):
        return list(left) == list(right) and all(map(_same, left.values(), right.values()))
    if hasattr(left, "get_params"):
        ours = isinstance(left, FeatureMap | KernelMachine | Pipeline)
        return ours or difference(left, right) is None
    return bool(left == right or (left != left and right != right))


def _alike(left: Any, right: Any) -> bool:
    """Return whether two arguments have the same meaning."""
    if isinstance(left, list | tuple):
        return isinstance(right, list | tuple) and len(left) == len(right) and all(map(_alike, left, right))
    if hasattr(left, "get_params"):
        return type(left) is type(right)
    if isinstance(left, np.ndarray):
        return np.array_equal(left, right)
    return bool(left == right or (left != left and right != right))
