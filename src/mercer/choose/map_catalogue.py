"""Every map: the kernels that it serves, when to take it, and what a row costs."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from .. import maps
from .._defaults import MAP_WIDTH
from .._random import RandomState
from ..kernels import Kernel, parse
from ..maps import FeatureMap
from ..maps.rules import feature_map


class MapNote(NamedTuple):
    """What to know of a map; d columns, nnz of them not zero, D features, degree p.

    ``over`` tells that it is made of other maps; ``variance`` whether the exact variance of its estimates is known.
    """

    name: str
    kernels: str
    when: str
    cost: str
    variance: str
    over: bool = False


MAPS: tuple[MapNote, ...] = tuple(
    MapNote(one.__name__, *(getattr(one.description, field) for field in MapNote._fields[1:])) for one in maps.MAPS
)
"""The table of maps in the guide."""


def maps_for(kernel: Any, *, n_components: int = MAP_WIDTH, random_state: RandomState = None) -> dict[str, FeatureMap]:
    """Every map that serves a kernel, by name and not fitted.

    Maps that are made of others are left out, but for the choice of :func:`mercer.feature_map` where no other serves
    the kernel better: that is the first.

    Parameters
    ----------
    kernel : a kernel of :mod:`mercer.kernels`, or text that describes one
    n_components : the width of the maps
    random_state : int, numpy Generator or RandomState, or None

    Examples
    --------
    >>> import mercer
    >>> list(mercer.choose.maps_for("additive_chi2()"))
    ['AdditiveMap', 'Nystrom']
    """
    kernel = parse(kernel) if isinstance(kernel, str) else kernel
    first = feature_map(kernel, n_components=n_components, random_state=random_state)
    found = {type(first).__name__: first}
    for note in MAPS:
        if not note.over and note.name not in found:
            made = getattr(maps, note.name)(kernel, n_components=n_components, random_state=random_state)
            if serves(made, kernel):
                found[note.name] = made
    return found


def serves(map: FeatureMap, kernel: Kernel) -> bool:
    """Whether a map takes a kernel: tried at small width, on a few rows inside of every kernel's domain."""
    rows = np.linspace(0.01, 0.5, 24).reshape(8, 3) / 2.0
    small = type(map)(kernel, n_components=8, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a small width has a large error, which is no matter here
        try:
            small.fit(rows)
        except ValueError:
            return False
    return True
