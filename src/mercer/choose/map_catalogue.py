"""The catalogue of maps: the kernels that each supports, when to use it, and its cost per row."""

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
    """A short description of a map.

    In the costs, d is the number of columns, nnz the number of nonzero entries, D the number of features and p the
    degree.

    Attributes
    ----------
    name : str
        The name of the class.
    kernels : str
        The kernels that it supports.
    when : str
        When to use it.
    cost : str
        The cost per row.
    variance : str
        Whether the exact variance of its estimates is known.
    over : bool
        Whether it is made of other maps.
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
    """Return every map that supports a kernel, by name and not fitted.

    Maps that are made of others are left out, except the choice of :func:`mercer.feature_map` if no other map suits the
    kernel better: that is the first.

    Parameters
    ----------
    kernel : Kernel or str
        A kernel of :mod:`mercer.kernels`, or text that describes one.
    n_components : int, default=256
        The number of features of the maps.
    random_state : int, Generator, RandomState or None, default=None
        The seed of the maps.

    Returns
    -------
    dict of str to FeatureMap
        The maps by name.

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
    """Return whether a map supports a kernel, which is tried with few features on a few rows in its domain."""
    rows = np.linspace(0.01, 0.5, 24).reshape(8, 3) / 2.0
    small = type(map)(kernel, n_components=8, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # few features mean a large error, which does not matter here
        try:
            small.fit(rows)
        except ValueError:
            return False
    return True
