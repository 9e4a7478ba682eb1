"""Which map a machine's arguments ask for."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from .. import maps
from .._checks import check_choice, check_whole
from ..choose import feature_map
from ..kernels import Kernel, parse
from ..maps import FeatureMap, Nystrom
from ..maps._default_kernels import GAUSSIAN

DEFAULT_COMPONENTS = 1024


def chosen_map(model: Any, n_rows: int | None) -> FeatureMap:
    """The map of a machine, not fitted; for at most as many rows as features the exact one, where it may be chosen."""
    given = {name: getattr(model, name) for name in ("kernel", "n_components", "random_state")}
    if isinstance(model.map, FeatureMap):
        twice = [name for name, value in given.items() if value is not None]
        if twice:
            raise ValueError(f"a FeatureMap brings its own {', '.join(twice)}: give None beside it")
        return clone(model.map)
    width = DEFAULT_COMPONENTS if model.n_components is None else model.n_components
    kernel = GAUSSIAN if model.kernel is None else model.kernel
    if isinstance(model.map, str) and model.map != "auto":
        arguments = {"kernel": parsed(kernel), "n_components": width, "random_state": model.random_state}
        return named_map(model.map)(**arguments)
    if n_rows is not None and n_rows <= width:
        return Nystrom(parsed(kernel), n_components=width, random_state=model.random_state)
    return feature_map(kernel, n_components=width, random_state=model.random_state)


def check_map_choice(kernel: Any, n_components: Any, map: Any) -> None:
    """Refuse what describes no features."""
    if n_components is not None:
        check_whole("n_components", n_components, alternatives=" or None")
    if isinstance(map, str) and map != "auto":
        named_map(map)
    elif not isinstance(map, FeatureMap):
        check_choice("map", map, ("auto", "the name of a map", "a FeatureMap"))
    if not (kernel is None or isinstance(parsed(kernel), Kernel) or callable(kernel) or kernel == "precomputed"):
        raise TypeError(
            "kernel must be a kernel of mercer.kernels, text that describes one, a function of two rows, 'precomputed' "
            f"or None, found {kernel!r}"
        )


def parsed(kernel: Any) -> Any:
    """A kernel, also where it was given as text."""
    return parse(kernel) if isinstance(kernel, str) and kernel != "precomputed" else kernel


def named_map(name: str) -> Any:
    """The class of a map by its name, as it is written or in lower case with underscores."""
    names = {known.lower(): known for known in maps.__all__ if known not in ("FeatureMap",)}
    found = names.get(name.replace("_", "").lower())
    if found is None:
        raise ValueError(f"map must be 'auto', a FeatureMap or one of {sorted(names.values())}, found {name!r}")
    return getattr(maps, found)
