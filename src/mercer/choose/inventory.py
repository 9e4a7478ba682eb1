"""Every map: the kernels that it serves, when to take it, and what a row costs."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from .. import maps
from .._defaults import MAP_WIDTH
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


DISTANCE = "those of the distance alone"
MAPS: tuple[MapNote, ...] = (
    MapNote(
        "OrthogonalFourier",
        f"{DISTANCE}: Gaussian, Matern, ...",
        "the one to begin with, to a few thousand columns",
        "D d",
        "no",
    ),
    MapNote("StructuredFourier", "the same", "wide rows: no matrix is stored; a bias below 0.001", "D log d", "no"),
    MapNote("QuasiFourier", "shift-invariant, skewed", "up to 50 columns; Laplacian and Cauchy", "D nnz", "no"),
    MapNote("RandomFourier", "the same, and compositions of them", "the classic, an exact variance", "D nnz", "yes"),
    MapNote("Fastfood", DISTANCE, "for comparisons", "D log d", "no"),
    MapNote(
        "Nystrom",
        "all, any function of two objects, precomputed",
        "few directions carry the kernel; strings, graphs",
        "D kernel values and D^2",
        "no",
    ),
    MapNote(
        "AdditiveMap",
        "additive: chi2, intersection, ...",
        "histograms; sparse features of sparse rows",
        "D, of the entries stored",
        "0",
    ),
    MapNote(
        "TensorSketch",
        "polynomial",
        "the classic for degrees 2 and 3, dense or sparse rows",
        "p (nnz + D log D)",
        "yes",
    ),
    MapNote(
        "HadamardSketch",
        "polynomial",
        "sparse rows; a larger map starts with the smaller one",
        "p (nnz + D log D)",
        "yes",
    ),
    MapNote("ComplexSketch", "polynomial", "dense rows of degree 2 to 4", "p (d + D) log d", "yes"),
    MapNote("TreeSketch", "polynomial", "degree 4 and more", "p (nnz + f D log f D), f = `factor`", "no"),
    MapNote(
        "TaylorSketch",
        "dot-product, Gaussian",
        "rows with a mean, wide Gaussians; it warns of narrow ones",
        "sum of the kept degrees' `ComplexSketch`",
        "yes",
    ),
    MapNote(
        "RandomMaclaurin",
        "dot-product, and `f.of(k)`",
        "whatever the others do not take; baseline of the papers",
        "D nnz times the mean degree",
        "yes",
    ),
    MapNote("RandomRelu", "arc-cosine", "directions of rows matter; neural networks", "D nnz", "yes"),
    MapNote(
        "Calibrated", "those of the map", "rows to come are like those of `fit`", "that of the map", "no", over=True
    ),
    MapNote(
        "Compressed",
        "those of the map",
        "TEFM: the most accuracy a feature; CRAFT: high degrees",
        "the map at f D, then f D^2 or f D log f D",
        "no",
        over=True,
    ),
    MapNote(
        "Stack",
        "the sum of both maps'",
        "kernels that no one map serves",
        "that of both maps",
        "where both are known",
        over=True,
    ),
    MapNote(
        "TensorProduct",
        "the product of both maps'",
        "likewise",
        "both maps at f D, then D log D, f = `factor`",
        "no",
        over=True,
    ),
    MapNote(
        "Composed",
        "`f.of(k)`, `g.of_distance(k)`",
        "kernels of kernels, such as the exponential chi2",
        "that of both maps",
        "over `AdditiveMap`",
        over=True,
    ),
)
"""The table of maps in the README."""


def maps_for(kernel: Any, *, n_components: int = MAP_WIDTH, random_state: Any = None) -> dict[str, FeatureMap]:
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
