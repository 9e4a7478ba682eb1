"""The map that a machine's arguments request."""

from __future__ import annotations

import hashlib
import numbers
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone

from .. import maps
from .._array import canonical_csr
from .._checks import check_choice, check_whole
from .._defaults import LEARNER_WIDTH
from ..data.table_rows import Chunk
from ..kernels import Kernel, parse
from ..kernels.defaults import GAUSSIAN
from ..maps import FeatureMap, Nystrom
from ..maps.rules import feature_map
from .features.prepared_rows import PreparedRows
from .protocols import MapArguments

EXACT = "exact"
"""The argument ``map`` that requests the kernel machine itself, in which every row may have a coefficient."""
OPEN = "auto"
"""The argument that leaves a kernel, a penalty or the like to be chosen from the rows."""
SORTED_ROWS = 4096
"""The number of rows that are compared at a time to find distinct ones."""
NARROW = 32
"""With fewer features than this, models of ten columns are too poor to pass scikit-learn's checks of estimators."""


def exact_map(model: MapArguments, rows: PreparedRows) -> FeatureMap | None:
    """Return the map with all distinct rows as landmarks; None if there are too many, or another map is requested.

    Equal rows and rows of weight 0 are not separate landmarks, so that weights and repeated rows are equivalent.
    """
    if not may_be_exact(model):
        return None
    width = width_asked(model)
    if distinct_rows(rows.sampled_chunks(), width) is None:  # too many even in the sample
        return None
    different = distinct_rows(rows.first_chunks(), width)
    if different is None:
        return None
    return chosen_map(model, "uniform" if len(different) == rows.n_rows else different)


def may_be_exact(model: MapArguments) -> bool:
    """Return whether a machine allows all distinct rows to become landmarks if there are few."""
    if not isinstance(model.map, str) or is_exact(model):
        return False
    return model.map == "auto" or named_map(model.map).has_landmarks


def is_open(argument: object) -> bool:
    """Return whether a kernel, a scaling or a penalty is left to be chosen by the rows."""
    return isinstance(argument, str) and argument == OPEN


def leaves_kernel_open(model: MapArguments) -> bool:
    """Return whether a pilot chooses the kernel of a machine; a FeatureMap has its own."""
    return is_open(model.kernel) and not isinstance(model.map, FeatureMap)


def takes_rows_as_they_are(model: MapArguments) -> bool:
    """Return whether a kernel refers to rows in their own units.

    This holds if it is given with its bandwidths, as a function or by its values, or accepts no negative numbers.
    """
    if isinstance(model.map, FeatureMap):
        given = model.map.get_params(deep=True).items()
        kernels = [parsed(value) for name, value in given if name.split("__")[-1] == "kernel"]
    else:
        kernels = [GAUSSIAN if model.kernel is None or is_open(model.kernel) else parsed(model.kernel)]
    return all(
        not isinstance(kernel, Kernel) or kernel.is_resolved or kernel.domain_is_non_negative for kernel in kernels
    )


def is_exact(model: MapArguments) -> bool:
    """Return whether every row may have a coefficient."""
    return isinstance(model.map, str) and model.map == EXACT


def expected_map(model: MapArguments, n_rows: int) -> FeatureMap:
    """Return the map of a machine for this many rows, if all are distinct, as far as it is known beforehand."""
    return chosen_map(model, "uniform" if may_be_exact(model) and n_rows <= width_asked(model) else None)


def width_asked(model: MapArguments) -> Any:
    """Return the number of features that a machine requests."""
    asked = model.map.n_components if isinstance(model.map, FeatureMap) else model.n_components
    return LEARNER_WIDTH if asked is None else asked


def is_narrow(model: MapArguments) -> bool:
    """Return whether so few features are requested that a linear model of them cannot be expected to be good."""
    width = width_asked(model)
    return isinstance(width, numbers.Integral) and int(width) < NARROW


def chosen_map(model: MapArguments, landmarks: Any = None) -> FeatureMap:
    """Return the map of a machine, not fitted, with these landmarks if there are any."""
    given = {name: getattr(model, name) for name in ("kernel", "n_components", "random_state")}
    if isinstance(model.map, FeatureMap):
        twice = [name for name, value in given.items() if value is not None and not is_open(value)]
        if twice:
            raise ValueError(f"a FeatureMap has its own {', '.join(twice)}: give None for it in the learner")
        return clone(model.map)
    width = width_asked(model)
    kernel = GAUSSIAN if model.kernel is None or is_open(model.kernel) else model.kernel
    arguments = {"kernel": parsed(kernel), "n_components": width, "random_state": model.random_state}
    if is_exact(model):
        return Nystrom(**arguments)
    if landmarks is not None:
        return Nystrom(**arguments, landmarks=landmarks)
    if isinstance(model.map, str) and model.map != "auto":
        return named_map(model.map)(**arguments)
    if is_open(model.kernel):  # kernels are tried with this map
        return Nystrom(**arguments)
    return feature_map(kernel, n_components=width, random_state=model.random_state)


def rows_sampled(map: FeatureMap) -> int:
    """Return the size of the sample of rows that a map needs: for the bandwidths of its kernels, and for landmarks."""
    named = map.get_params(deep=True).items()
    texts = [value for name, value in named if name.split("__")[-1] == "kernel" and isinstance(value, str)]
    kernels = [*(value for _, value in named if isinstance(value, Kernel)), *map_kernels(texts)]
    return max([landmark_rows(map), *(kernel.rows_sampled for kernel in kernels)])


def landmark_rows(map: FeatureMap) -> int:
    """Return the size of a sample that contains the landmarks of a map and their candidates; 0 if it has none."""
    if not map.has_landmarks:
        return 0
    counts = map.n_components, getattr(map, "max_rows", 0)
    return max(int(count) if isinstance(count, numbers.Integral) else 0 for count in counts)


def map_kernels(texts: list[str]) -> list[Kernel]:
    """Return the kernels that texts describe, without "precomputed", which describes none."""
    return [parse(text) for text in texts if text != "precomputed"]


def check_map_choice(kernel: object, n_components: object, map: object, has_pilot: bool) -> None:
    """Refuse arguments that describe no features; ``has_pilot`` says whether the kernel may be "auto"."""
    if n_components is not None:
        check_whole("n_components", n_components, alternatives=" or None")
    if isinstance(map, str) and map not in ("auto", EXACT):
        named_map(map)
    elif not isinstance(map, str | FeatureMap):
        check_choice("map", map, ("auto", "the name of a map", "a FeatureMap"))
    if is_open(kernel):
        if not has_pilot:
            raise ValueError("kernel='auto' requires a learner with a target: give a kernel")
    elif not (kernel is None or isinstance(parsed(kernel), Kernel) or callable(kernel) or kernel == "precomputed"):
        raise TypeError(
            "kernel must be a kernel of mercer.kernels, text that describes one, a function of two rows, 'precomputed' "
            f"or None, found {kernel!r}"
        )


def parsed(kernel: object) -> Any:
    """Return a kernel, which may be given as text."""
    return parse(kernel) if isinstance(kernel, str) and kernel != "precomputed" else kernel


def named_map(name: str) -> Any:
    """Return the class of a map by its name, in its usual form or in lower case with underscores."""
    names = {known.lower(): known for known in maps.__all__ if known not in ("FeatureMap",)}
    found = names.get(name.replace("_", "").lower())
    if found is None:
        raise ValueError(f"map must be 'auto', a FeatureMap or one of {sorted(names.values())}, found {name!r}")
    return getattr(maps, found)


# -- rows that differ --------------------------------------------------------------------------------------------------


def distinct_rows(chunks: Iterable[Chunk], most: int) -> NDArray[np.int64] | None:
    """Return the number of the first of every distinct row of positive weight, or None if there are more than ``most``.

    Repeated rows count as one row, and so does a row of weight 2; rows of weight 0 do not count. Reading stops as soon
    as there are too many.
    """
    found: dict[bytes, int] = {}
    for chunk in chunks:
        counted = None if chunk.weight is None else np.flatnonzero(chunk.weight > 0.0)
        for place, row in _different(chunk.X if counted is None else chunk.X[counted]):
            number = place if counted is None else int(counted[place])
            found.setdefault(hashlib.blake2b(row, digest_size=16).digest(), chunk.first + number)
            if len(found) > most:
                return None
    return np.sort(np.fromiter(found.values(), dtype=np.int64, count=len(found)))


def _different(X: Any) -> Iterator[tuple[int, bytes]]:
    """Yield the positions and bytes of distinct rows, in order; some may be given more than once."""
    if sp.issparse(X):
        X = canonical_csr(X).copy()
        X.eliminate_zeros()
        ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        yield from ((place, X.indices[a:b].tobytes() + X.data[a:b].tobytes()) for place, (a, b) in enumerate(ends))
        return
    if X.dtype == object:
        return
    for start in range(0, X.shape[0], SORTED_ROWS):  # not all rows at once, since reading may end after a few of them
        some = np.ascontiguousarray(X[start : start + SORTED_ROWS]) + 0.0  # turns -0 into 0
        whole = some.view(np.dtype((np.void, some.dtype.itemsize * some.shape[1]))).ravel()
        for place in np.sort(np.unique(whole, return_index=True)[1]):
            yield start + int(place), some[place].tobytes()
