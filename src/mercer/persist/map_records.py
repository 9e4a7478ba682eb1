"""Fitted maps as a record (JSON) and arrays, and back."""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_left
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from .._random import SEED_BITS, Stream, as_seed
from ..choose import AutoMap, PilotTable
from ..kernels import Kernel
from ..maps import FeatureMap
from ..maps.array_layouts import Choice, Leaf, integers_of
from ..maps.construction import Construction
from ..maps.opaque_kernels import Precomputed
from .json_values import (
    ArgumentReader,
    ArgumentWriter,
    NotStoredError,
    learned_value,
    map_class,
    map_name,
    plain_kernel,
    read_kernel,
    read_learned,
)
from .validation import ModelFileError, as_dict, as_list, as_text, as_whole, check_array, check_names, refuse

ENTRIES = ("kernel", "asked", "width", "columns", "learned", "parts")
MOST_DRAWN, MOST_PER_ENTRY = 2**26, 2**10
"""The count of numbers that a seed may draw for any file; a file that contains many coefficients may draw more."""
MOST_BLOCKS = 2**18
"""The count of blocks, each with as many features as columns, that a seed may draw; more if the file is larger."""
OUTER_ENTRIES = (*ENTRIES, "class", "arguments", "names", "seed", "integers")
CHOICE_ENTRIES = ("class", "arguments", "names", "seed", "chosen", "pilot")


class ArraySink:
    """Collects the named arrays of a model; ``from_seed`` leaves out arrays that the seed determines."""

    def __init__(self, from_seed: bool):
        self.from_seed = from_seed
        self.arrays: dict[str, NDArray[Any]] = {}

    def put(self, array: Any, leaf: Leaf, name: str) -> None:
        """Add one array, after the checks that the reader will make."""
        array = np.asarray(array)
        try:
            check_array(array, leaf, name)
        except ModelFileError as error:
            raise ValueError(f"the model cannot be saved: {error}") from error
        self.arrays[name] = array


class ArraySource:
    """Provides the arrays of a model, given their names and a function that fetches them.

    ``memory`` limits the bytes of arrays that the seed determines. ``entries``, the count of numbers in the file
    itself, limits the time that drawing from the seed may take (None for no limit).
    """

    def __init__(
        self,
        names: Collection[str],
        fetch: Callable[[str], NDArray[Any]],
        from_seed: bool,
        memory: int | None = None,
        entries: int | None = None,
    ):
        self.names = names
        self.from_seed = from_seed
        self.memory = memory
        self.entries = entries
        self.columns = 1
        """The number of columns of the map being read: many arrays are drawn in blocks of as many features."""
        self._fetch = fetch
        self._left = self._drawn = 0
        self._blocks = 0.0
        self._sorted = sorted(names)
        self._used: set[str] = set()

    def has(self, name: str) -> bool:
        """Return whether there is an array of this name, or several below it."""
        place = bisect_left(self._sorted, f"{name}.")
        below = place < len(self._sorted) and self._sorted[place].startswith(f"{name}.")
        return name in self.names or below

    def array(self, name: str) -> NDArray[Any]:
        """Return an array by its name."""
        if name not in self.names:
            refuse(f"tensor {name!r} is missing")
        self._used.add(name)
        return self._fetch(name)

    def take(self, leaf: Leaf, name: str) -> NDArray[Any]:
        """Return an array after checking it."""
        array = self.array(name)
        check_array(array, leaf, name)
        return array

    def leave(self, leaf: Leaf) -> None:
        """Count an array that the seed determines: a short file must not take hours of work or too much memory."""
        count = math.prod(length or 1 for length in leaf.shape)
        self._left += np.dtype(leaf.dtypes[0]).itemsize * count
        self._drawn += count
        self._blocks += count / self.columns
        if self.memory is not None and self._left > self.memory:
            refuse(
                f"the seed would draw parameters of at least {self._left} bytes, but only {self.memory} are allowed; "
                "if you trust the file, give load more memory"
            )
        if self.entries is not None and self.takes_long(self.entries):
            refuse(
                f"the seed would draw {self._drawn} numbers for {self.columns} columns, which may take long, but the "
                f"file contains only {self.entries}; if you trust the file, give load trusted=True"
            )

    def takes_long(self, entries: int) -> bool:
        """Return whether a seed draws more than a file that contains ``entries`` numbers seems to need."""
        return self._drawn > max(MOST_DRAWN, MOST_PER_ENTRY * entries) or self._blocks > max(MOST_BLOCKS, entries)

    def check_all_used(self) -> None:
        """Raise an error if the model does not use some tensor."""
        for name in self.names:
            if name not in self._used:
                refuse(f"tensor {name!r:.80} does not belong to the model")


# -- trees of arrays ---------------------------------------------------------------------------------------------------


def _fields(tree: Any) -> Any:
    return tree._fields if hasattr(tree, "_fields") else range(len(tree))


def put_tree(layout: Any, tree: Any, target: ArraySink, path: str, learned_only: bool = False) -> None:
    """Write the arrays of a tree, or only the arrays that were learned from rows."""
    if isinstance(layout, Choice):
        layout = layout.tree if isinstance(tree, tuple) else layout.leaf
    if isinstance(layout, Leaf):
        if layout.attribute or not learned_only:
            target.put(tree, layout, path)
        return
    for name, below, part in zip(_fields(layout), layout, tree, strict=True):
        put_tree(below, part, target, f"{path}.{name}", learned_only)


def take_tree(layout: Any, source: ArraySource, path: str, learned_only: bool = False) -> Any:
    """Read the arrays of a tree, with None in place of arrays that were left out."""
    if isinstance(layout, Choice):
        layout = layout.leaf if path in source.names else layout.tree
    if isinstance(layout, Leaf):
        if layout.attribute or not learned_only:
            return source.take(layout, path)
        source.leave(layout)
        return None
    parts = [
        take_tree(part, source, f"{path}.{name}", learned_only)
        for name, part in zip(_fields(layout), layout, strict=True)
    ]
    return type(layout)(*parts) if hasattr(layout, "_fields") else tuple(parts)


def _put_parameters(construction: Construction, params: Any, target: ArraySink, path: str) -> None:
    dropped = target.from_seed and not construction.draws_from_rows
    layout = construction.layout()
    for name, below, part in zip(layout._fields, layout, params, strict=True):
        if name in construction.parts:
            _put_parameters(construction.inner_maps[name], part, target, f"{path}.{name}")
        else:
            put_tree(below, part, target, f"{path}.{name}", dropped)


def _take_parameters(construction: Construction, source: ArraySource, path: str) -> tuple[Construction, Any]:
    """Return the parameters of a map, and its construction with the arrays that were learned from rows."""
    dropped = source.from_seed and not construction.draws_from_rows
    layout, learned = construction.layout(), dict[str, Any]()
    taken = dict[str, Any]()
    for name, below in zip(layout._fields, layout, strict=True):
        if name in construction.parts:
            inner = construction.inner_maps[name]
            learned[name], taken[name] = _take_parameters(inner, source, f"{path}.{name}")
            continue
        taken[name] = take_tree(below, source, f"{path}.{name}", dropped)
        if isinstance(below, Leaf) and below.attribute:
            learned[below.attribute] = taken[name]
    return replace(construction, **learned), type(layout)(**taken)


# -- writing -----------------------------------------------------------------------------------------------------------


def write_map(map: FeatureMap, target: ArraySink, path: str = "") -> dict[str, Any]:
    """Return the record of a fitted map, on its own or of a learner."""
    name, seed, params = map_name(map), map.seed_, map.parameters_
    record = {"class": name, "arguments": ArgumentWriter(target.arrays, seed).arguments(map, path), "seed": seed}
    record |= names_of(map)
    if isinstance(map, AutoMap):
        return record | {"chosen": write_map(map.map_, target, f"{path}chosen."), "pilot": learned_value(map.pilot_)}
    if target.from_seed:
        record["integers"] = digest(params)
    construction = map.construction_
    record |= _inner_record(construction, f"{path}kernel")
    _put_parameters(construction, params, target, f"{path}parameters")
    return record


def names_of(estimator: BaseEstimator) -> dict[str, list[str]]:
    """Return the names of the columns, if they have names."""
    names = getattr(estimator, "feature_names_in_", None)
    return {} if names is None else {"names": [str(name) for name in names]}


def _inner_record(construction: Construction, where: str) -> dict[str, Any]:
    asked, learned = construction.asked, construction.learned
    return {
        "kernel": _kernel_text(construction, where),
        "asked": None if asked is None else int(asked),
        "width": int(construction.n_components),
        "columns": int(construction.n_features),
        "learned": {name: learned_value(getattr(construction, field)) for name, (field, _) in learned.items()},
        "parts": {name: _inner_record(inner, where) for name, inner in construction.inner_maps.items()},
    }


def _kernel_text(construction: Construction, where: str) -> str:
    kernel = construction.kernel
    if isinstance(kernel, Precomputed):
        return "precomputed"
    if not isinstance(kernel, Kernel):
        raise NotStoredError(f"{where} is a Python function, but a model file cannot contain code")
    plain = plain_kernel(kernel, where)
    if construction.evaluates_kernel and plain != kernel:
        name = construction.name
        raise NotStoredError(
            f"the coefficients of {where} come from a function, and {name} evaluates all of them: give a tuple"
        )
    return repr(plain)


def same_parameters(ours: Any, theirs: Any) -> bool:
    """Return whether integers are equal, and other numbers up to rounding."""
    if isinstance(ours, tuple):
        return len(ours) == len(theirs) and all(map(same_parameters, ours, theirs))
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return False
    return np.array_equal(ours, theirs) or (ours.dtype.kind == "f" and np.allclose(ours, theirs, 1e-12, 1e-14, True))


def digest(params: Any) -> str:
    """Return a hash of all integers, for which a seed draws the same values on every machine."""
    sha = hashlib.sha256()
    for array in integers_of(params):
        sha.update(np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).tobytes())
    return sha.hexdigest()


# -- reading -----------------------------------------------------------------------------------------------------------


def read_map(record: object, source: ArraySource, path: str = "") -> FeatureMap:
    """Return the fitted map of a record."""
    record = as_dict(record, f"{path}map")
    cls = map_class(record.get("class"), f"{path}map")
    check_names(record, CHOICE_ENTRIES if cls is AutoMap else OUTER_ENTRIES, f"{path}map")
    map = ArgumentReader(source.array).estimator(cls, record.get("arguments"), path)
    check_unfitted(map, f"{path}{cls.__name__}")
    map.seed_ = as_whole(record.get("seed"), "seed", 0, 2**SEED_BITS - 1)
    if isinstance(map, AutoMap):
        return _read_choice(map, record, source, path)
    columns = as_whole(record.get("columns"), "columns", 1)
    inner = {name: record.get(name) for name in ENTRIES}
    construction = _construction_of(map, inner, columns, f"{path}{cls.__name__}")
    read_names(map, record.get("names"), columns)
    source.columns = columns
    construction, params = _take_parameters(construction, source, f"{path}parameters")
    if source.from_seed:
        params = construction.redrawn(Stream(map.seed_, cls.__name__), params)
        if record.get("integers") != digest(params):
            refuse(f"the seed {map.seed_} does not draw the parameters of the saved model")
    _check_parameters(construction, params)
    map.adopt(construction.fitted(params))
    return map


def _read_choice(map: AutoMap, record: dict[str, Any], source: ArraySource, path: str) -> AutoMap:
    """Return the map that was chosen, and what was tried before."""
    held = as_dict(record.get("chosen"), f"{path}chosen")
    if held.get("class") == type(map).__name__:
        refuse(f"{path}AutoMap must have chosen a map of another class, found AutoMap")
    chosen = read_map(held, source, f"{path}chosen.")
    read_names(map, record.get("names"), chosen.construction_.n_features)
    pilot = read_learned(PilotTable, record.get("pilot"), f"pilot_ of {path}AutoMap")
    if sum(trial.chosen for trial in pilot.trials) != min(len(pilot.trials), 1):
        refuse(f"pilot_ of {path}AutoMap must have exactly one chosen trial, or no trials")
    map.adopt_choice(chosen, pilot)
    return map


def read_names(estimator: BaseEstimator, names: object, columns: int) -> None:
    """Give an estimator the names of its columns."""
    if names is None:
        return
    texts = [as_text(name, "the name of a column") for name in as_list(names, "names")]
    if len(texts) != columns:
        refuse(f"there must be {columns} column names, found {len(texts)}")
    estimator.feature_names_in_ = np.array(texts, dtype=object)


def _construction_of(map: FeatureMap, record: object, columns: int, where: str) -> Construction:
    """Return the construction of a map and of the maps inside it, as ``fit`` made it."""
    record = as_dict(record, where)
    check_names(record, ENTRIES, where)
    map.check_arguments()
    as_whole(map.width(), f"the width of {where}", 1)
    if record.get("columns") != columns or isinstance(record.get("columns"), bool):
        refuse(f"columns of {where} must be {columns}, found {record.get('columns')!r:.40}")
    names = map.construction.parts
    parts = as_dict(record.get("parts"), f"parts of {where}")
    if set(parts) != set(names):
        refuse(f"{where} has the parts {names}, found {sorted(parts)!r:.80}")
    given: dict[str, Any] = {}
    width = columns
    for part in names:
        inner = clone(getattr(map, part))
        asked = as_dict(parts[part], f"{part} of {where}").get("asked")
        inner.set_params(n_components=asked if asked is None else as_whole(asked, f"asked of {part}", 1))
        seen = columns if map.construction.takes_rows(part) else width
        given[part] = _construction_of(inner, parts[part], seen, f"{where}.{part}")
        width = given[part].n_components
    if not names:
        given["kernel"] = _kernel_of(map, record.get("kernel"), where)
    return _with_learned(map.settled(columns, **given), record, where)


def check_unfitted(map: FeatureMap, where: str) -> None:
    """Check the arguments of a map and of all maps nested inside it."""
    parts = map.construction.parts
    for part in parts:
        inner = getattr(map, part)
        if not isinstance(inner, FeatureMap):
            refuse(f"{part} of {where} must be a map, found {inner!r:.40}")
        check_unfitted(inner, f"{where}.{part}")
    map.check_arguments()
    as_seed(map.random_state)
    if parts or isinstance(map.kernel, Kernel) or map.is_precomputed:
        return
    if not isinstance(map.kernel, str):
        refuse(f"the kernel among the arguments of {where} must be a kernel, found {map.kernel!r:.40}")
    read_kernel(map.kernel, f"the kernel among the arguments of {where}")


def _with_learned(construction: Construction, record: dict[str, Any], where: str) -> Construction:
    learned, known = as_dict(record.get("learned"), f"learned of {where}"), construction.learned
    if set(learned) != set(known):
        refuse(f"learned of {where} must have the entries {sorted(known)}, found {sorted(learned)!r:.80}")
    values = {field: read_learned(kind, learned[name], f"{name} of {where}") for name, (field, kind) in known.items()}
    construction = replace(construction, **values)
    construction.check_learned()
    as_whole(construction.n_components, f"the width of {where}", 1)
    if record.get("width") != construction.n_components:
        refuse(f"the width of {where} must be {construction.n_components}, found {record.get('width')!r:.40}")
    text = _kernel_text(construction, where)
    if record.get("kernel") != text:
        refuse(f"the kernel of {where} must be {text}, found {record.get('kernel')!r:.80}")
    return construction


def _kernel_of(map: FeatureMap, text: object, where: str) -> Any:
    if map.is_precomputed:
        return Precomputed() if text == "precomputed" else refuse(f"the kernel of {where} must be precomputed")
    kernel = read_kernel(text, f"the kernel of {where}")
    kernel.check_resolved()
    return kernel


def _check_parameters(construction: Construction, params: Any) -> None:
    construction.check_parameters(params)
    for part, inner in construction.inner_maps.items():
        _check_parameters(inner, getattr(params, part))
