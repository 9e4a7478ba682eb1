"""From a learner that leaves its kernel to a pilot to one whose arguments are all settled."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..._random import Stream
from ...data.block import Block
from ...kernels import Kernel, parse
from ...kernels.defaults import GAUSSIAN
from ...maps import FeatureMap, Nystrom
from ..map_choice import EXACT, named_map, width_asked
from ..prepare.preparation import Preparation
from ..scan_plan import RowSample
from .choice import Choice
from .rows import distinct_rows
from .search import FEWEST_ROWS, Pilot

Matrix = NDArray[np.float64]

PILOT_ROWS = 4000
"""Rows that a pilot looks at, at most."""


class Open(Protocol):
    """The arguments that a pilot settles, or that tell it what to look at."""

    kernel: Any
    n_components: int | None
    map: Any
    scale: Any
    columns: Any
    random_state: Any
    n_jobs: int | None


class Settled(NamedTuple):
    """What a pilot leaves to the fit that follows."""

    choice: Choice | None
    """None where the rows are too few, or their targets all equal: rules take the place of a search."""
    kernel: Kernel
    preparation: Preparation
    seed: int
    sample: RowSample


def scales_for(preparation: Preparation, asked: Any) -> Sequence[str | None]:
    """The ways of scaling to choose from, the preferred one first."""
    if not (isinstance(asked, str) and asked == "auto"):
        return (asked,)
    preferred = preparation.scale
    return (preferred,) if preferred == "unit" else tuple(dict.fromkeys((preferred, "standard", "common")))


def settled(
    model: Open, preparation: Preparation, sample: RowSample, block: Block, targets: Matrix, seed: int
) -> Settled:
    """Let a pilot choose what a learner leaves open.

    Parameters
    ----------
    model : Open
    preparation : Preparation
        Learned from all rows.
    sample : RowSample
        Rows that were taken along, for the map too.
    block : Block
        Those of the pilot, before preparation.
    targets : ndarray of shape (n_rows, n_targets)
        Their targets, or codes of classes.
    seed : int
        Names the order of rows, and the maps.

    Returns
    -------
    Settled
    """
    weight = np.ones(block.X.shape[0]) if block.weight is None else np.asarray(block.weight, dtype=np.float64)
    rows = distinct_rows(preparation.rescaled(None)(block.X), targets, weight, seed)
    scales = scales_for(preparation, model.scale)
    if len(rows.numbers) < FEWEST_ROWS or not np.ptp(targets[rows.numbers], axis=0).any():
        return Settled(None, GAUSSIAN, preparation.rescaled(scales[0]), seed, sample)

    def make_map(kernel: Kernel, n_components: int) -> FeatureMap:
        maker = Nystrom if model.map in ("auto", EXACT) else named_map(model.map)
        return maker(kernel, n_components=n_components, random_state=seed, n_jobs=model.n_jobs)

    pilot = Pilot(preparation, block.X, targets, rows, make_map, width_asked(model))
    choice, learned = pilot.run(scales, None, model.columns is not None)
    chosen = preparation.rescaled(choice.scale)
    return Settled(
        choice, parse(choice.kernel), chosen if learned is None else chosen.with_column_scales(learned), seed, sample
    )


def pilot_sample(seed: int, width: int) -> RowSample:
    """The sample that a scan takes along: the rows of the pilot, and landmarks for the map."""
    return RowSample(Stream(seed).child("rows"), max(PILOT_ROWS, width))


def with_arguments(model: Any, **arguments: Any) -> Any:
    """A copy of a learner with other arguments, which shares what it has learned."""
    other = copy(model)
    other.__dict__.update(arguments)
    return other
